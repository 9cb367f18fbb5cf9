//! Names of database objects, quoted for SQL.

use pgrx::pg_sys::{self, Oid};

use crate::pg::catalog::is_visible;
use crate::pg::sql::{self, Sql};
use crate::pg::text;

/// An identifier, quoted if necessary.
pub fn quoted(name: &str) -> String {
    pgrx::spi::quote_identifier(name)
}

pub fn literal(value: &str) -> String {
    pgrx::spi::quote_literal(value)
}

/// `schema.relation`, quoted. For a relation that does not exist, its OID, as `regclass` prints it.
pub fn qualified(relation: Oid) -> String {
    if sql::relation_name(relation).is_empty() {
        return relation.to_u32().to_string();
    }
    String::from_utf8_lossy(Sql::default().relation(relation).as_ref()).into_owned()
}

/// A relation's name as `regclass` prints it: qualified unless the search path finds it.
pub fn visible_name(relation: Oid) -> String {
    if is_visible(relation) { quoted(&relation_name(relation)) } else { qualified(relation) }
}

/// A relation's [`visible_name`] as a literal, which can be pasted from a HINT.
pub fn regclass_literal(relation: Oid) -> String {
    literal(&visible_name(relation))
}

/// The unqualified name of a relation, for messages.
pub fn relation_name(relation: Oid) -> String {
    sql::relation_name(relation).to_string_lossy().into_owned()
}

/// The name of a type, for messages.
pub fn type_label(type_oid: Oid) -> String {
    // SAFETY: `format_type_be` returns an allocated string for any OID.
    unsafe { text::from_cstring(pg_sys::format_type_be(type_oid)) }
}

/// The schemas on the search path.
pub fn search_path() -> Vec<Oid> {
    // SAFETY: PostgreSQL writes at most `room.len()` entries, at first none, and returns how many there are.
    let fetch = |room: &mut [Oid]| unsafe { pg_sys::fetch_search_path_array(room.as_mut_ptr(), room.len() as i32) };
    let mut schemas = vec![Oid::INVALID; fetch(&mut []) as usize];
    fetch(&mut schemas);
    schemas
}
