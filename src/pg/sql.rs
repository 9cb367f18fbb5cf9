//! SQL text in the making, in the database's encoding: names may be any bytes.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Oid};

/// A piece of SQL.
#[derive(Clone, Default)]
pub struct Sql(Vec<u8>);

impl Sql {
    /// Adds text as it is.
    pub fn text(mut self, text: impl AsRef<[u8]>) -> Self {
        self.0.extend_from_slice(text.as_ref());
        self
    }

    /// Adds an identifier, quoted where it must be.
    pub fn name(self, name: &CStr) -> Self {
        // SAFETY: a NUL-terminated name; the result is NUL-terminated.
        let quoted = unsafe { CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr())) };
        self.text(quoted.to_bytes())
    }

    /// Adds `schema.relation`.
    pub fn relation(self, relation: Oid) -> Self {
        // SAFETY: lookups in the system caches; null for an object that does not exist.
        let (schema, name) = unsafe {
            let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
            (owned(schema), owned(pg_sys::get_rel_name(relation)))
        };
        self.name(&schema).text(".").name(&name)
    }

    /// Adds the name of a type, right on any search path.
    pub fn type_name(self, type_oid: Oid) -> Self {
        // SAFETY: format_type_be_qualified returns a palloc'd string for any oid.
        let name = unsafe { owned(pg_sys::format_type_be_qualified(type_oid)) };
        self.text(name.to_bytes())
    }

    /// As a C string. What comes from PostgreSQL has no NUL.
    pub fn build(self) -> CString {
        CString::new(self.0).unwrap_or_default()
    }

    /// As a piece of another.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// # Safety
/// `string` must be null or a NUL-terminated string.
unsafe fn owned(string: *const std::ffi::c_char) -> CString {
    if string.is_null() {
        return CString::default();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(string) }.to_owned()
}
