//! Names of database objects, quoted for SQL.

use pgrx::pg_sys::{self, Oid};

use crate::pg::catalog::is_visible;
use crate::pg::sql::{self, Sql};
use crate::pg::text;

/// An identifier, quoted where it must be.
pub fn quoted(name: &str) -> String {
    pgrx::spi::quote_identifier(name)
}

pub fn literal(value: &str) -> String {
    pgrx::spi::quote_literal(value)
}

/// `schema.relation`, quoted; the OID of a relation that does not exist, as `regclass` prints it.
pub fn qualified(relation: Oid) -> String {
    if sql::relation_name(relation).is_empty() {
        return relation.to_u32().to_string();
    }
    String::from_utf8_lossy(Sql::default().relation(relation).as_ref()).into_owned()
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
    sql::relation_name(relation).to_string_lossy().into_owned()
}

/// The name of a type as messages show it.
pub fn type_label(type_oid: Oid) -> String {
    // SAFETY: format_type_be returns a palloc'd string for any oid.
    unsafe { text::from_cstring(pg_sys::format_type_be(type_oid)) }
}

/// The schemas on the search path.
pub fn search_path() -> Vec<Oid> {
    // SAFETY: room for as many as it says, at first none; more are counted, but not written.
    let fetch = |room: &mut [Oid]| unsafe { pg_sys::fetch_search_path_array(room.as_mut_ptr(), room.len() as i32) };
    let mut schemas = vec![Oid::INVALID; fetch(&mut []) as usize];
    fetch(&mut schemas);
    schemas
}
