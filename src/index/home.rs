//! Where the extension lives. It can be installed into any schema and moved to another, so
//! nothing about its place is known before a call: it is read off the function being called.

use pgrx::pg_sys::{self, Oid};

use crate::pg::guc::LocalSettings;
use crate::pg::names::{cstring, schema_of_function};
use crate::pg::role::{ActingAs, act_as};

/// The schema of the extension and the registry in it.
#[derive(Clone)]
pub struct Home {
    /// The schema's name, quoted.
    pub schema: String,
    /// The table of all indexes.
    pub registry: Oid,
    /// The role that owns the registry, and may read it whatever the caller may.
    pub registry_owner: Oid,
}

impl Home {
    /// The home of the extension that `function` belongs to.
    pub fn of(function: Oid) -> Self {
        let name = cstring("minlsh_registry");
        // SAFETY: lookups in the system caches with a valid string.
        let (registry, registry_owner) = unsafe {
            let namespace = pg_sys::get_func_namespace(function);
            let registry = pg_sys::get_relname_relid(name.as_ptr(), namespace);
            (registry, crate::pg::relation::owner_of(registry))
        };
        Self { schema: schema_of_function(function), registry, registry_owner }
    }

    /// The registry, as SQL names it.
    pub fn registry_name(&self) -> String {
        format!("{}.minlsh_registry", self.schema)
    }
}

/// Acting as a role that is not the caller's: the search path is pinned, so that nothing the
/// caller put on theirs runs with the other role's rights.
pub struct Borrowed {
    _role: ActingAs,
    /// For further settings.
    pub settings: LocalSettings,
}

/// Borrows `role`'s rights until the result is dropped.
pub fn borrow_rights(role: Oid) -> Borrowed {
    let settings = LocalSettings::open();
    settings.set("search_path", "pg_catalog, pg_temp");
    Borrowed { _role: act_as(role), settings }
}
