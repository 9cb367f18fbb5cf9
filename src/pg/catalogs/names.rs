//! Names of database objects, quoted for SQL.

use std::ffi::CString;

use pgrx::pg_sys::{self, Oid};

use crate::pg::catalog::{is_visible, relation_schema};
use crate::pg::text;

/// An identifier, quoted where it must be.
pub fn quoted(name: &str) -> String {
    pgrx::spi::quote_identifier(name)
}

pub fn literal(value: &str) -> String {
    pgrx::spi::quote_literal(value)
}

/// `schema.relation`, quoted. The relation must exist.
pub fn qualified(relation: Oid) -> String {
    // SAFETY: lookups in the system caches; null for an object that does not exist.
    let (schema, name) = unsafe {
        let schema = pg_sys::get_namespace_name(relation_schema(relation));
        (text::from_cstring(schema), text::from_cstring(pg_sys::get_rel_name(relation)))
    };
    format!("{}.{}", quoted(&schema), quoted(&name))
}

/// A relation's name as `regclass` prints it: qualified where the search path does not find it.
pub fn visible_name(relation: Oid) -> String {
    if is_visible(relation) { quoted(&relation_name(relation)) } else { qualified(relation) }
}

/// A relation's [`visible_name`] as a literal: what a HINT names a relation by, so that it can be pasted.
pub fn regclass_literal(relation: Oid) -> String {
    literal(&visible_name(relation))
}

/// The bare name of a relation, as messages show it.
pub fn relation_name(relation: Oid) -> String {
    // SAFETY: a lookup in the system caches; null for a relation that does not exist.
    unsafe { text::from_cstring(pg_sys::get_rel_name(relation)) }
}

/// The name of a type as messages show it.
pub fn type_label(type_oid: Oid) -> String {
    // SAFETY: format_type_be returns a palloc'd string for any oid.
    unsafe { text::from_cstring(pg_sys::format_type_be(type_oid)) }
}

/// A C string; PostgreSQL's names and texts hold no NUL.
pub fn cstring(value: &str) -> CString {
    CString::new(value.replace('\0', "")).unwrap_or_default()
}

/// The schemas on the search path.
pub fn search_path() -> Vec<Oid> {
    // SAFETY: room for as many as it says, at first none; more are counted, but not written.
    let fetch = |room: &mut [Oid]| unsafe {
        pg_sys::fetch_search_path_array(room.as_mut_ptr(), room.len() as i32)
    };
    let mut schemas = vec![Oid::INVALID; fetch(&mut []) as usize];
    fetch(&mut schemas);
    schemas
}
