//! Rights to see relations and rows, and acting as another role.
//!
//! A query of an indexed table calls the access method, and the executor checks the caller's rights. A side table is
//! not the caller's: here the caller's rights to the user's table are checked before the side table is read. Row-level
//! security may hide rows, and rows may be deleted without a trigger. In these cases what was found is looked up in the
//! table as the caller.

use pgrx::pg_sys::{self, Oid};

use crate::error::{Result, SqlError, not_allowed, undefined_table};
use crate::pg::catalog::{self, relation_schema};
use crate::pg::dependency;
use crate::pg::guc::LocalSettings;
use crate::pg::names::relation_name;
use crate::pg::relation::{self, Relation};
use crate::pg::{text, versions};

/// Acts as another role while it lives: in a security-restricted operation with its own search path, as when PostgreSQL
/// builds an index. Code that runs meanwhile can neither change the session nor queue code that would run as another
/// role. Dropping it restores the caller's rights and settings, and so does an ERROR.
pub struct Restricted {
    role: Oid,
    context: i32,
    /// Dropped before the role is restored, as in core.
    settings: Option<LocalSettings>,
}

/// Acts as `role`.
pub fn restricted_to(role: Oid) -> Restricted {
    let (mut previous, mut context) = (Oid::INVALID, 0);
    // SAFETY: reads and writes globals of this backend; `drop` restores them.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut previous, &mut context);
        let context = context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
        pg_sys::SetUserIdAndSecContext(role, context);
    }
    let settings = LocalSettings::of(&[(c"search_path", c"pg_catalog, pg_temp")]);
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
    // SAFETY: reads a global of this backend.
    unsafe { pg_sys::GetUserId() }
}

/// True if the caller may read `columns` of a table; 0 stands for the whole row.
pub fn may_read(table: Oid, columns: &[i16]) -> bool {
    let user = current_role();
    versions::may_use_schema(relation_schema(table), user) && may_select(table, columns, user)
}

/// True if a role may read `columns` of a table, or the whole table if there are none; 0 stands for the whole row.
pub fn may_select(table: Oid, columns: &[i16], role: Oid) -> bool {
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let (ok, all) = (pg_sys::AclResult::ACLCHECK_OK, pg_sys::AclMaskHow::ACLMASK_ALL);
    // SAFETY: look-ups in the system caches, which take any value.
    let may_select_column = |column: &i16| unsafe {
        match column {
            0 => pg_sys::pg_attribute_aclcheck_all(table, role, select, all) == ok,
            column => pg_sys::pg_attribute_aclcheck(table, *column, role, select) == ok,
        }
    };
    // SAFETY: a look-up in the system caches, which takes any value.
    let may_select_all = unsafe { pg_sys::pg_class_aclcheck(table, role, select) == ok };
    may_select_all || !columns.is_empty() && columns.iter().all(may_select_column)
}

/// Checks that the caller may read `columns` of a table, before its side table is read. True if the caller sees every
/// row of the table. Otherwise results must be looked up in the table as the caller: row-level security applies, or a
/// partition may have lost rows without a trigger.
pub fn check_sees_all(table: &Relation, columns: &[i16]) -> Result<bool> {
    // SAFETY: look-ups in the system caches, which take any value.
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
        // With row_security = off this raises the same error as a plain SELECT.
        let security = pg_sys::check_enable_rls(table.oid, Oid::INVALID, false);
        let enabled = pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32;
        Ok(security != enabled && !table.is_partitioned())
    }
}

/// The tables behind a relation, as the catalogs show without a lock: the table itself, or the table of an index; and
/// the tables whose triggers need it, for a side table. The latter are sought only when the iterator comes to them, as
/// most callers may read the first one.
fn tables_behind(relation: Oid) -> (Oid, impl Iterator<Item = Oid>) {
    let table = match catalog::relation_kind(relation) {
        b'i' | b'I' => catalog::table_of_index(relation),
        _ => relation,
    };
    let tied = std::iter::once_with(move || dependency::tables_tied_to(table)).flatten();
    (table, std::iter::once(table).chain(tied))
}

/// Refuses a caller who may not read any of the table behind a relation, before a lock blocks others.
pub fn check_before_reading(relation: Oid) -> Result<()> {
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let (ok, any) = (pg_sys::AclResult::ACLCHECK_OK, pg_sys::AclMaskHow::ACLMASK_ANY);
    let user = current_role();
    // SAFETY: look-ups in the system caches, which take any value; no rights exist on a relation that is gone.
    let may_read_some = |table| unsafe {
        let schema = relation_schema(table);
        schema != Oid::INVALID
            && versions::may_use_schema(schema, user)
            && (pg_sys::pg_class_aclcheck_ext(table, user, select, &mut false) == ok
                || pg_sys::pg_attribute_aclcheck_all(table, user, select, any) == ok)
    };
    let (table, mut tables) = tables_behind(relation);
    if relation::owner_of(table) == Oid::INVALID {
        return Err(no_such_relation(relation));
    }
    if tables.any(may_read_some) {
        return Ok(());
    }
    Err(not_allowed(format!("permission denied for table {}", relation_name(table))))
}

/// Refuses a caller who does not own the table behind a relation, before a lock blocks others.
pub fn check_owner_before(relation: Oid) -> Result<()> {
    let (table, mut tables) = tables_behind(relation);
    let is_owned = tables.any(|table| check_owner(table).is_ok());
    if is_owned { Ok(()) } else { check_owner(table) }
}

/// The error for a relation that does not exist.
pub fn no_such_relation(oid: Oid) -> SqlError {
    undefined_table(format!("relation with OID {} does not exist", oid.to_u32()))
}

/// Refuses a caller who may not change the indexes of a table: only its owner, members of that role and superusers may.
pub fn check_owner(table: Oid) -> Result<()> {
    if relation::owner_of(table) == Oid::INVALID {
        return Err(no_such_relation(table));
    }
    if relation::is_owned_by(table, current_role()) {
        return Ok(());
    }
    Err(not_allowed(format!("must be owner of table {}", relation_name(table))))
}
