//! The extension as the catalogs know it: its schema, and what it has there, by OID.

use pgrx::pg_sys::Oid;

use crate::error::{SqlError, wrong_state};
use crate::pg::call::Call;
use crate::pg::catalog;

/// The installed extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    pub schema: Oid,
    /// Its access method; invalid if there is none.
    pub method: Oid,
    /// Its type `minlsh_document`; invalid if there is none.
    pub document: Oid,
}

impl Extension {
    /// The one that a function belongs to.
    pub fn of(call: &Call) -> Self {
        let schema = catalog::function_schema(call.function());
        let document = catalog::type_called(c"minlsh_document", schema);
        Self { schema, method: access_method(), document }
    }
}

/// The access method; invalid if there is none. Only a superuser can make one.
pub fn access_method() -> Oid {
    catalog::access_method_called(c"minlsh")
}

/// The error about what is missing in the extension's schema: its scripts are of another version.
pub fn missing() -> SqlError {
    wrong_state("the loaded library minlsh does not match the installed functions")
        .set_hint("Update them with ALTER EXTENSION minlsh UPDATE.")
}
