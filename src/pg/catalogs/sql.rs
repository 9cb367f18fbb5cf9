//! SQL under construction, in the database's encoding. Names are bytes there, and need not be valid in any encoding.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};
use sketch::memory;

use crate::error::{Result, SqlError, granted, raise, wrong_state};
use crate::pg::catalog::{AttributeRow, CatalogRow, relation_schema};
use crate::pg::text::{self, owned};

#[derive(Default)]
pub struct Sql(Vec<u8>);

impl Clone for Sql {
    fn clone(&self) -> Self {
        Self::new(self)
    }
}

impl Sql {
    /// Begins with `text`.
    pub fn new(text: impl AsRef<[u8]>) -> Self {
        Self::default().text(text)
    }

    /// Appends text as it is.
    pub fn text(mut self, text: impl AsRef<[u8]>) -> Self {
        granted(memory::extend(&mut self.0, text.as_ref()));
        self
    }

    /// Appends an identifier, quoted if necessary.
    pub fn name(self, name: &CStr) -> Self {
        // SAFETY: both the name and the result end with a NUL.
        let quoted = unsafe { CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr())) };
        self.text(quoted.to_bytes())
    }

    pub fn schema(self, schema: Oid) -> Self {
        // SAFETY: a look-up in the system caches, which takes any value.
        self.name(&unsafe { owned(pg_sys::get_namespace_name(schema)) })
    }

    /// Appends `schema.name`.
    pub fn qualified(self, schema: Oid, name: &CStr) -> Self {
        self.schema(schema).text(".").name(name)
    }

    /// Appends a relation with its schema. Raises an ERROR if it does not exist: an event trigger may have dropped what
    /// the previous statement created.
    pub fn relation(self, relation: Oid) -> Self {
        let name = relation_name(relation);
        if name.is_empty() {
            raise(dropped_meanwhile(relation));
        }
        self.qualified(relation_schema(relation), &name)
    }

    /// Appends the unqualified name of a column; nothing if there is no such column.
    pub fn column(self, relation: Oid, number: i16) -> Self {
        let Some(column) = AttributeRow::of_column(relation, number) else { return self };
        self.name(text::of_name(&column.attname))
    }

    /// Appends `pieces`, separated by `between`.
    pub fn list(self, pieces: &[Self], between: &str) -> Self {
        let mut between = std::iter::once("").chain(std::iter::repeat(between));
        pieces.iter().fold(self, |sql, piece| sql.text(between.next().unwrap_or_default()).text(piece))
    }

    /// Appends a cast of what there is to a type.
    pub fn cast(self, type_oid: Oid) -> Self {
        Self::new("(").text(self).text(")::").type_name(type_oid)
    }

    /// Appends the name of a type from the catalog. SQL's own name of some types, such as `bit`, implies a length of 1.
    pub fn type_name(self, type_oid: Oid) -> Self {
        let Some(row) = CatalogRow::<pg_sys::FormData_pg_type>::find(type_oid) else { return self };
        self.qualified(row.typnamespace, text::of_name(&row.typname))
    }

    /// Appends a collation, if there is one.
    pub fn collated(self, collation: Oid) -> Self {
        let Some(row) = CatalogRow::<pg_sys::FormData_pg_collation>::find(collation) else {
            return self;
        };
        self.text(" COLLATE ").qualified(row.collnamespace, text::of_name(&row.collname))
    }

    /// Appends an operator with its schema; nothing if there is no such operator.
    pub fn operator(self, operator: Oid) -> Self {
        let Some(row) = CatalogRow::<pg_sys::FormData_pg_operator>::find(operator) else {
            return self;
        };
        let name = text::of_name(&row.oprname);
        // An operator's name cannot be quoted.
        self.text(" OPERATOR(").schema(row.oprnamespace).text(".").text(name.to_bytes()).text(") ")
    }

    /// Appends a string constant, correct with any standard_conforming_strings.
    pub fn literal(self, value: &str) -> Self {
        let value = text::write(value);
        // SAFETY: a text datum made of `value` without NULs lives in the current memory context.
        let quoted = unsafe {
            let string = pg_sys::text_to_cstring(value.cast_mut_ptr());
            CStr::from_ptr(pg_sys::quote_literal_cstr(string))
        };
        self.text(quoted.to_bytes())
    }

    /// Returns it as a C string. Names and texts from PostgreSQL contain no NUL.
    pub fn build(self) -> CString {
        CString::from_vec_with_nul(self.text([0]).0).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Sql {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Reads a text as an SQL identifier, folded to lower case or within double quotes; `None` if it is not one.
pub fn identifier(text: &CStr) -> Result<Option<CString>> {
    let written = text.to_bytes().trim_ascii();
    if let [b'"', quoted @ .., b'"'] = written {
        let mut name = memory::with_capacity(quoted.len() + 1)?;
        let mut rest = quoted;
        while let Some((&first, others)) = rest.split_first() {
            rest = match (first, others) {
                (b'"', [b'"', after @ ..]) => after,
                (b'"', _) => return Ok(None),
                _ => others,
            };
            name.push(first);
        }
        name.push(0);
        return Ok(CString::from_vec_with_nul(name).ok().filter(|name| !name.is_empty()));
    }
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_' || !byte.is_ascii();
    let is_part = |byte: &u8| is_letter(byte) || byte.is_ascii_digit() || *byte == b'$';
    if !written.first().is_some_and(is_letter) || !written.iter().all(is_part) {
        return Ok(None);
    }
    let length = written.len() as i32;
    // SAFETY: `text` has that many bytes; the result ends with a NUL.
    let folded = unsafe {
        let name = written.as_ptr().cast();
        CStr::from_ptr(pg_sys::downcase_identifier(name, length, false, false))
    };
    text::c_string(folded.to_bytes()).map(Some)
}

/// The error for a relation that is gone, or was gone when it was looked up by name.
pub fn dropped_meanwhile(relation: Oid) -> SqlError {
    let oid = relation.to_u32();
    let which = if oid == 0 { String::new() } else { format!(" with OID {oid}") };
    wrong_state(format!("a relation{which} was dropped while it was used"))
        .set_hint("Repeat the call. If it fails again, look for an event trigger that drops relations.")
}

/// The name of a relation, as bytes; empty if there is none.
pub fn relation_name(relation: Oid) -> CString {
    // SAFETY: a look-up in the system caches, which takes any value.
    unsafe { owned(pg_sys::get_rel_name(relation)) }
}

/// `<first>_<label>`, shortened where it would be too long.
pub fn object_name(first: &CStr, label: &CStr) -> CString {
    // SAFETY: both names end with a NUL; the result is a new string.
    unsafe { owned(pg_sys::makeObjectName(first.as_ptr(), std::ptr::null(), label.as_ptr())) }
}

/// Returns `<first>_<label>` or `<first>_<second>_<label>`, with a number added if a relation of the schema has that
/// name.
pub fn free_relation_name(schema: Oid, first: &CStr, second: Option<&CStr>, label: &CStr) -> CString {
    let second = second.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: the names end with a NUL, or are null for a missing second one; the result is a new string.
    unsafe {
        let (first, label) = (first.as_ptr(), label.as_ptr());
        owned(pg_sys::ChooseRelationName(first, second, label, schema, false))
    }
}
