//! SQL commands that define objects, written in the database's encoding: there names are bytes,
//! which need not be UTF-8, nor any encoding at all.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::text;

/// A command in the making.
#[derive(Default)]
pub struct Command(Vec<u8>);

impl Command {
    /// Begins with `words`, plain SQL.
    pub fn new(words: &'static str) -> Self {
        Self::default().words(words)
    }

    /// Plain SQL.
    pub fn words(mut self, words: &str) -> Self {
        self.0.extend_from_slice(words.as_bytes());
        self
    }

    /// Another command's words.
    pub fn append(mut self, other: Self) -> Self {
        self.0.extend_from_slice(&other.0);
        self
    }

    /// An identifier, quoted where it must be.
    pub fn name(mut self, name: &CStr) -> Self {
        // SAFETY: a NUL-terminated string; the result is one, too.
        let quoted = unsafe { CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr())) };
        self.0.extend_from_slice(quoted.to_bytes());
        self
    }

    /// `schema.name`
    pub fn qualified(self, schema: Oid, name: &CStr) -> Self {
        self.name(&schema_name(schema)).words(".").name(name)
    }

    /// A relation, with its schema.
    pub fn relation(self, relation: Oid) -> Self {
        // SAFETY: lookups in the system caches.
        let schema = unsafe { pg_sys::get_rel_namespace(relation) };
        self.qualified(schema, &relation_name(relation))
    }

    /// A type, with its schema where that is not pg_catalog.
    pub fn type_name(mut self, type_oid: Oid) -> Self {
        // SAFETY: the name of a type that is in use, NUL-terminated.
        let name = unsafe { CStr::from_ptr(pg_sys::format_type_be_qualified(type_oid)) };
        self.0.extend_from_slice(name.to_bytes());
        self
    }

    /// A string constant, right whatever standard_conforming_strings is.
    pub fn literal(mut self, value: &str) -> Self {
        let value = text::write(value);
        // SAFETY: a text value of ours, which holds no NUL.
        let quoted = unsafe {
            let string = pg_sys::text_to_cstring(value.cast_mut_ptr());
            CStr::from_ptr(pg_sys::quote_literal_cstr(string))
        };
        self.0.extend_from_slice(quoted.to_bytes());
        self
    }

    /// Runs it. Rows that it returns are dropped.
    pub fn run(self) -> Result<()> {
        let command = CString::new(self.0).unwrap_or_default();
        // SAFETY: connects, runs and disconnects; an ERROR is cleaned up by the abort.
        let status = unsafe {
            pg_sys::SPI_connect();
            let status = pg_sys::SPI_execute(command.as_ptr(), false, 0);
            pg_sys::SPI_finish();
            status
        };
        if status < 0 {
            let code = PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
            return Err(error(code, format!("internal command failed: {status}")));
        }
        Ok(())
    }
}

/// The name of a schema, as bytes; empty if there is none.
pub fn schema_name(schema: Oid) -> CString {
    // SAFETY: a lookup in the system caches.
    unsafe { bytes(pg_sys::get_namespace_name(schema)) }
}

/// The name of a relation, as bytes; empty if there is none.
pub fn relation_name(relation: Oid) -> CString {
    // SAFETY: a lookup in the system caches.
    unsafe { bytes(pg_sys::get_rel_name(relation)) }
}

/// # Safety
/// `string` must be null or NUL-terminated.
unsafe fn bytes(string: *const std::ffi::c_char) -> CString {
    if string.is_null() {
        return CString::default();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(string) }.to_owned()
}
