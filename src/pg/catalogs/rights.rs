//! Rights to see relations and rows, and acting as another role.
//!
//! An index of the access method is asked by a query of its table, whose rights the executor
//! checks. A side table is not a table of the caller's: here the caller's rights to the user's table
//! are checked before it is read, and where rows may be held back, or be gone without a trigger
//! having been fired, what was found is looked up in the table as the caller.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::error::{Result, SqlError, error, not_allowed};
use crate::pg::catalog::{self, relation_schema};
use crate::pg::dependency;
use crate::pg::guc::LocalSettings;
use crate::pg::names::relation_name;
use crate::pg::relation::{self, Relation};
use crate::pg::{text, versions};

/// While it lives, the rights are those of another role, in a security-restricted operation with a search path of its
/// own, as when PostgreSQL builds an index: what runs meanwhile can neither change the session nor queue something that
/// would run as somebody else. Drop brings the caller's rights and settings back, and so does an ERROR.
pub struct Restricted {
    role: Oid,
    context: i32,
    /// Dropped before the role comes back, as in core.
    settings: Option<LocalSettings>,
}

/// Acts as `role`.
pub fn restricted_to(role: Oid) -> Restricted {
    let (mut previous, mut context) = (Oid::INVALID, 0);
    // SAFETY: plain reads and writes of backend-local state; `Drop` undoes them.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut previous, &mut context);
        let context = context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
        pg_sys::SetUserIdAndSecContext(role, context);
    }
    let settings = LocalSettings::open();
    settings.set(c"search_path", c"pg_catalog, pg_temp");
    Restricted { role: previous, context, settings: Some(settings) }
}

impl Drop for Restricted {
    fn drop(&mut self) {
        self.settings = None;
        // SAFETY: restores what `restricted_to` read.
        unsafe { pg_sys::SetUserIdAndSecContext(self.role, self.context) }
    }
}

/// The role whose rights apply now.
pub fn current_role() -> Oid {
    // SAFETY: reads backend-local state.
    unsafe { pg_sys::GetUserId() }
}

/// True if the caller may read those columns of a table; 0 stands for the whole row.
pub fn may_read(table: Oid, columns: &[i16]) -> bool {
    let user = current_role();
    versions::may_use_schema(relation_schema(table), user) && may_select(table, columns, user)
}

/// True if a role may read those columns of a table, all of it if there are none; 0 stands for the whole row.
pub fn may_select(table: Oid, columns: &[i16], role: Oid) -> bool {
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let (ok, all) = (pg_sys::AclResult::ACLCHECK_OK, pg_sys::AclMaskHow::ACLMASK_ALL);
    // SAFETY: lookups in the system caches.
    let may_select_column = |column: &i16| unsafe {
        match column {
            0 => pg_sys::pg_attribute_aclcheck_all(table, role, select, all) == ok,
            column => pg_sys::pg_attribute_aclcheck(table, *column, role, select) == ok,
        }
    };
    // SAFETY: a lookup in the system caches.
    let may_select_all = unsafe { pg_sys::pg_class_aclcheck(table, role, select) == ok };
    may_select_all || !columns.is_empty() && columns.iter().all(may_select_column)
}

/// Checks that the caller may read those columns of a table whose side table is to be read. True if that is enough: the
/// caller sees every row of the table. Otherwise what is found must be looked up in the table as the caller: row-level
/// security applies, or the table may have lost rows without a trigger being fired, as a partition.
pub fn check_sees_all(table: &Relation, columns: &[i16]) -> Result<bool> {
    // SAFETY: lookups in the system caches.
    unsafe {
        let user = current_role();
        if !versions::may_use_schema(table.schema, user) {
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
        Ok(security != enabled && !table.is_partitioned())
    }
}

/// The tables that a relation is about, as the catalogs say without a lock: itself, or that of an index, and
/// those whose triggers it is needed by, as a side table is.
fn tables_behind(relation: Oid) -> Vec<Oid> {
    let table = match catalog::relation_kind(relation) {
        b'i' | b'I' => catalog::table_of_index(relation),
        _ => relation,
    };
    std::iter::once(table).chain(dependency::tables_tied_to(table)).collect()
}

/// Refuses whoever may read nothing of the table behind a relation: before a lock stands in the way of others.
pub fn check_before_reading(relation: Oid) -> Result<()> {
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let (ok, any) = (pg_sys::AclResult::ACLCHECK_OK, pg_sys::AclMaskHow::ACLMASK_ANY);
    let user = current_role();
    // SAFETY: lookups in the system caches; nobody may read what is gone.
    let may_read_some = |table: &Oid| unsafe {
        let schema = relation_schema(*table);
        schema != Oid::INVALID
            && versions::may_use_schema(schema, user)
            && (pg_sys::pg_class_aclcheck_ext(*table, user, select, &mut false) == ok
                || pg_sys::pg_attribute_aclcheck_all(*table, user, select, any) == ok)
    };
    let tables = tables_behind(relation);
    if relation::owner_of(tables[0]) == Oid::INVALID {
        return Err(no_such_relation(relation));
    }
    if tables.iter().any(may_read_some) {
        return Ok(());
    }
    Err(not_allowed(format!("permission denied for table {}", relation_name(tables[0]))))
}

/// Refuses whoever does not own the table behind a relation: before a lock stands in the way of others.
pub fn check_owner_before(relation: Oid) -> Result<()> {
    let tables = tables_behind(relation);
    let is_owned = tables.iter().any(|table| check_owner(*table).is_ok());
    if is_owned { Ok(()) } else { check_owner(tables[0]) }
}

/// The error of a relation that is gone.
pub fn no_such_relation(oid: Oid) -> SqlError {
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
