//! SQL in the making, in the database's encoding: there names are bytes, which need not be UTF-8,
//! nor any encoding at all.

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
    /// Begins with that text.
    pub fn new(text: impl AsRef<[u8]>) -> Self {
        Self::default().text(text)
    }

    /// Adds text as it is.
    pub fn text(mut self, text: impl AsRef<[u8]>) -> Self {
        granted(memory::extend(&mut self.0, text.as_ref()));
        self
    }

    /// Adds an identifier, quoted where it must be.
    pub fn name(self, name: &CStr) -> Self {
        // SAFETY: a NUL-terminated name; the result is NUL-terminated.
        let quoted = unsafe { CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr())) };
        self.text(quoted.to_bytes())
    }

    pub fn schema(self, schema: Oid) -> Self {
        // SAFETY: a lookup in the system caches.
        self.name(&unsafe { owned(pg_sys::get_namespace_name(schema)) })
    }

    /// Adds `schema.name`.
    pub fn qualified(self, schema: Oid, name: &CStr) -> Self {
        self.schema(schema).text(".").name(name)
    }

    /// Adds a relation, with its schema. Raises an ERROR if it does not exist: an event trigger may have dropped what
    /// the statement before has made.
    pub fn relation(self, relation: Oid) -> Self {
        let name = relation_name(relation);
        if name.is_empty() {
            raise(dropped_meanwhile(relation));
        }
        self.qualified(relation_schema(relation), &name)
    }

    /// Adds a column of a relation, by its name alone; nothing of one that there is not.
    pub fn column(self, relation: Oid, number: i16) -> Self {
        let Some(column) = AttributeRow::of_column(relation, number) else { return self };
        self.name(text::of_name(&column.attname))
    }

    /// Adds pieces, with something between each two.
    pub fn list(self, pieces: &[Self], between: &str) -> Self {
        let mut between = std::iter::once("").chain(std::iter::repeat(between));
        pieces.iter().fold(self, |sql, piece| sql.text(between.next().unwrap_or_default()).text(piece))
    }

    /// The same as a value of a type.
    pub fn cast(self, type_oid: Oid) -> Self {
        Self::new("(").text(self).text(")::").type_name(type_oid)
    }

    /// Adds the name of a type as the catalog has it: that SQL has for some, such as `bit`, means a length of 1.
    pub fn type_name(self, type_oid: Oid) -> Self {
        let Some(row) = CatalogRow::<pg_sys::FormData_pg_type>::find(type_oid) else { return self };
        self.qualified(row.typnamespace, text::of_name(&row.typname))
    }

    /// Adds a collation, if there is one.
    pub fn collated(self, collation: Oid) -> Self {
        let Some(row) = CatalogRow::<pg_sys::FormData_pg_collation>::find(collation) else {
            return self;
        };
        self.text(" COLLATE ").qualified(row.collnamespace, text::of_name(&row.collname))
    }

    /// Adds an operator with its schema; nothing of one that does not exist.
    pub fn operator(self, operator: Oid) -> Self {
        let Some(row) = CatalogRow::<pg_sys::FormData_pg_operator>::find(operator) else {
            return self;
        };
        let name = text::of_name(&row.oprname);
        // An operator's name is none that could be quoted.
        self.text(" OPERATOR(").schema(row.oprnamespace).text(".").text(name.to_bytes()).text(") ")
    }

    /// Adds a string constant, right whatever standard_conforming_strings is.
    pub fn literal(self, value: &str) -> Self {
        let value = text::write(value);
        // SAFETY: a text value of ours, which holds no NUL.
        let quoted = unsafe {
            let string = pg_sys::text_to_cstring(value.cast_mut_ptr());
            CStr::from_ptr(pg_sys::quote_literal_cstr(string))
        };
        self.text(quoted.to_bytes())
    }

    /// As a C string. What comes from PostgreSQL has no NUL.
    pub fn build(self) -> CString {
        CString::from_vec_with_nul(self.text([0]).0).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Sql {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The identifier that a text is in SQL: folded to lower case, or within double quotes; `None` if it is
/// something else.
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
    // SAFETY: bytes of that length; the result is NUL-terminated.
    let folded = unsafe {
        let name = written.as_ptr().cast();
        CStr::from_ptr(pg_sys::downcase_identifier(name, length, false, false))
    };
    text::c_string(folded.to_bytes()).map(Some)
}

/// The error of a relation that is gone, or was when it was looked for by its name.
pub fn dropped_meanwhile(relation: Oid) -> SqlError {
    let oid = relation.to_u32();
    let which = if oid == 0 { String::new() } else { format!(" with OID {oid}") };
    wrong_state(format!("a relation{which} was dropped while it was used"))
        .set_hint("Repeat the call. If it fails again, look for an event trigger that drops relations.")
}

/// The name of a relation, as bytes; empty if there is none.
pub fn relation_name(relation: Oid) -> CString {
    // SAFETY: a lookup in the system caches.
    unsafe { owned(pg_sys::get_rel_name(relation)) }
}

/// `<first>_<label>`, shortened where it would be too long.
pub fn object_name(first: &CStr, label: &CStr) -> CString {
    // SAFETY: NUL-terminated names; the result is a string of its own.
    unsafe { owned(pg_sys::makeObjectName(first.as_ptr(), std::ptr::null(), label.as_ptr())) }
}

/// The same, or `<first>_<second>_<label>`, with a number behind it where a relation of the schema has that name.
pub fn free_relation_name(schema: Oid, first: &CStr, second: Option<&CStr>, label: &CStr) -> CString {
    let second = second.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: NUL-terminated names, or null for no second one; the result is a string of its own.
    unsafe {
        let (first, label) = (first.as_ptr(), label.as_ptr());
        owned(pg_sys::ChooseRelationName(first, second, label, schema, false))
    }
}
