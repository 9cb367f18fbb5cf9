//! The extension as the catalogs know it: its schema, and what it has there, by OID.

use pgrx::pg_sys::Oid;

use crate::error::{Result, SqlError, wrong_state};
use crate::pg::call::Call;
use crate::pg::catalog;
use crate::pg::expression;

/// The installed extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its schema.
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
        let document = expression::type_named(schema, c"minlsh_document");
        Self { schema, method: access_method(), document: document.unwrap_or(Oid::INVALID) }
    }
}

/// The access method; invalid if there is none. Only a superuser can make one.
pub fn access_method() -> Oid {
    catalog::access_method_called(c"minlsh")
}

/// The OID of something of the extension's own; if it is missing, its scripts are of another version.
pub fn own(found: Option<Oid>) -> Result<Oid> {
    found.ok_or_else(missing)
}

/// The error about what is missing in the extension's schema.
pub fn missing() -> SqlError {
    wrong_state("the loaded library minlsh does not match the installed functions")
        .set_hint("Update them with ALTER EXTENSION minlsh UPDATE.")
}
