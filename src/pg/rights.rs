//! Rights to see relations and rows.
//!
//! An index of the access method is asked by a query of its table, whose rights the executor
//! checks. A side table is not a table of the caller's: here the caller's rights to the user's table
//! are checked before it is read, and where rows may be held back, or be gone without a trigger
//! having been fired, what was found is looked up in the table as the caller.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error, not_allowed};
use crate::pg::catalog::relation_schema;
use crate::pg::names::relation_name;
use crate::pg::relation::{self, Relation};
use crate::pg::restricted::current_role;
use crate::pg::text;

/// The source of the rows of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The caller sees every row of the table: the side table is enough.
    All,
    /// The rows that were found must be looked up in the table as the caller: row-level security applies, or
    /// the table may have lost rows without a trigger being fired: a partition, or all those of a
    /// temporary table at COMMIT.
    Joined,
}

/// True if the caller may read those columns of a table; 0 stands for the whole row.
pub fn may_read(table: Oid, columns: &[i16]) -> bool {
    // SAFETY: lookups in the system caches.
    unsafe {
        let user = current_role();
        let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
        let ok = pg_sys::AclResult::ACLCHECK_OK;
        let all = pg_sys::AclMaskHow::ACLMASK_ALL;
        let may_read = |column: &i16| match column {
            0 => pg_sys::pg_attribute_aclcheck_all(table, user, select, all) == ok,
            &column => pg_sys::pg_attribute_aclcheck(table, column, user, select) == ok,
        };
        may_use_schema(relation_schema(table), user)
            && (pg_sys::pg_class_aclcheck(table, user, select) == ok
                || (!columns.is_empty() && columns.iter().all(may_read)))
    }
}

/// True if a role may read a column of a table; 0 stands for the whole row.
pub fn may_select(table: Oid, column: i16, role: Oid) -> bool {
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let ok = pg_sys::AclResult::ACLCHECK_OK;
    // SAFETY: look-ups in the system caches.
    unsafe {
        pg_sys::pg_class_aclcheck(table, role, select) == ok
            || match column {
                0 => {
                    let all = pg_sys::AclMaskHow::ACLMASK_ALL;
                    pg_sys::pg_attribute_aclcheck_all(table, role, select, all) == ok
                }
                _ => pg_sys::pg_attribute_aclcheck(table, column, role, select) == ok,
            }
    }
}

/// Checks that the caller may read those columns of a table whose side table is to be read.
pub fn check(table: &Relation, columns: &[i16]) -> Result<Visibility> {
    // SAFETY: lookups in the system caches.
    unsafe {
        let user = current_role();
        if !may_use_schema(table.schema, user) {
            let name = text::from_cstring(pg_sys::get_namespace_name(table.schema));
            return Err(not_allowed(format!("permission denied for schema {name}")));
        }
        if !may_read(table.oid, columns) {
            let name = relation_name(table.oid);
            return Err(not_allowed(format!("permission denied for table {name}")));
        }
        // With row_security = off this raises the error that a plain SELECT would.
        let security = pg_sys::check_enable_rls(table.oid, Oid::INVALID, false);
        let enabled = pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32;
        let joined = security == enabled || table.is_partitioned() || table.is_temporary();
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

/// The error of a relation that is gone.
pub fn no_such_relation(oid: Oid) -> ErrorReport {
    let code = PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE;
    error(code, format!("relation with OID {} does not exist", oid.to_u32()))
}

/// Only the owner of a table (or a member of that role, or a superuser) may change its indexes.
pub fn check_owner(table: Oid) -> Result<()> {
    if relation::owner_of(table) == Oid::INVALID {
        return Err(no_such_relation(table));
    }
    if relation::is_owned_by(table, current_role()) {
        return Ok(());
    }
    Err(not_allowed(format!("must be owner of table {}", relation_name(table))))
}
