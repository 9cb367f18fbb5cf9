//! Who may see what.
//!
//! Side tables are read with their owner's rights, so every query first checks the caller's:
//! SELECT on the key and the text of the user's table. Where row-level security holds rows
//! back from the caller, what was found is joined with the table *as the caller*.

use pgrx::pg_sys::{self, Oid};

use crate::error::{Result, not_allowed};
use crate::index::definition::Index;
use crate::pg::names::relation_name;
use crate::pg::role;

/// Where the rows of a result come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The caller sees every row of the table: the side table is enough.
    All,
    /// The result must be joined with the table as the caller: row-level security applies, or
    /// the table may have lost rows without a trigger being fired: a partition, or all those of
    /// a temporary table at COMMIT.
    Joined,
}

/// Checks that the caller may read what the index knows.
pub fn check(index: &Index) -> Result<Visibility> {
    let user = role::current();
    // SAFETY: lookups in the system caches.
    unsafe {
        let ok = pg_sys::AclResult::ACLCHECK_OK;
        let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
        let column =
            |number| pg_sys::pg_attribute_aclcheck(index.relation, number, user, select) == ok;
        let schema = pg_sys::get_rel_namespace(index.relation);
        if !may_use_schema(schema, user) {
            let name = crate::pg::text::from_cstring(pg_sys::get_namespace_name(schema));
            return Err(not_allowed(format!("permission denied for schema {name}")));
        }
        if pg_sys::pg_class_aclcheck(index.relation, user, select) != ok
            && !(column(index.key.number) && column(index.body.number))
        {
            let table = relation_name(index.relation);
            return Err(not_allowed(format!("permission denied for table {table}")));
        }
        // With row_security = off this raises the error that a plain SELECT would.
        let rls = pg_sys::check_enable_rls(index.relation, Oid::INVALID, false);
        let enabled = pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32;
        let joined = rls == enabled || index.partitioned || index.temporary;
        Ok(if joined { Visibility::Joined } else { Visibility::All })
    }
}

fn may_use_schema(schema: Oid, user: Oid) -> bool {
    let usage = pg_sys::ACL_USAGE as pg_sys::AclMode;
    // SAFETY: a lookup in the system caches.
    #[cfg(feature = "pg15")]
    let result = unsafe { pg_sys::pg_namespace_aclcheck(schema, user, usage) };
    // SAFETY: a lookup in the system caches.
    #[cfg(not(feature = "pg15"))]
    let result =
        unsafe { pg_sys::object_aclcheck(pg_sys::NamespaceRelationId, schema, user, usage) };
    result == pg_sys::AclResult::ACLCHECK_OK
}
