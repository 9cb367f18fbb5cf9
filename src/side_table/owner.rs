//! A side table belongs to the owner of its documents, as an index does, but ALTER TABLE ... OWNER TO does not know of
//! it: it follows when the documents are written next, and is read meanwhile.
//!
//! That it belongs to them is proved by the link in `pg_depend` ([`watch::link`]), which nobody can make by SQL, and
//! which is made only while both have the same owner. It must be the only one: otherwise the former owner, who could
//! have linked a table that he keeps, would see what the new one writes.

use pgrx::pg_sys::{self, Oid};

use crate::error::{Result, wrong_state};
use crate::pg::beside::{is_of_owner, revoke_all};
use crate::pg::ffi;
use crate::pg::names::regclass_literal;
use crate::pg::open::Open;
use crate::pg::relation::{Lock, owner_of};
use crate::pg::restricted::restricted_to;
use crate::pg::snapshot::next_command;
use crate::side_table::watch;

/// Gives the side table to the owner of its documents, for a writer who has no lock on it yet.
pub fn follow(storage: Oid, documents: &Open) -> Result<()> {
    let owner = owner_of(storage);
    if owner != Oid::INVALID
        && !is_of_owner(owner, documents)
        && let Some(table) = only_table(storage, documents)
    {
        give(storage, owner_of(table))?;
    }
    Ok(())
}

/// Refuses a side table, under lock, that does not belong to the documents.
pub fn check(table: &Open, documents: &Open, lock: Lock) -> Result<()> {
    let is_ours = is_of_owner(table.class().relowner, documents)
        || lock == Lock::Read && only_table(table.oid(), documents).is_some();
    if is_ours {
        return Ok(());
    }
    let name = regclass_literal(table.oid());
    Err(wrong_state(format!(
        "side table \"{}\" is not owned by the owner of table \"{}\"",
        table.name(),
        documents.name()
    ))
    .set_hint(format!(
        "Use ALTER TABLE ... OWNER TO to give it the same owner, or drop it with SELECT \
         minlsh_drop_index({name});"
    )))
}

/// The only table to which the side table is linked, if it is `documents` or what that is a part of.
fn only_table(storage: Oid, documents: &Open) -> Option<Oid> {
    match watch::linked_documents(storage)[..] {
        [table] if table == documents.oid() => Some(table),
        [table] if ffi::partition_ancestors(documents.oid()).contains(&table) => Some(table),
        _ => None,
    }
}

/// As ALTER TABLE does with the indexes of the table that it gives away: without asking for rights, since whoever could
/// give the documents away has been asked. The lock is one that keeps out others who do the same, and that does not
/// wait for readers and writers, who would wait for each other.
///
/// Whom the former owner has let read the side table the new one does not know of: they would read what he writes.
fn give(storage: Oid, owner: Oid) -> Result<()> {
    let lock = pg_sys::ShareUpdateExclusiveLock as i32;
    // SAFETY: any OID can be locked.
    unsafe { pg_sys::LockRelationOid(storage, lock) };
    // Another writer may have given it meanwhile, and the owner may have granted rights on it since.
    if [owner, Oid::INVALID].contains(&owner_of(storage)) {
        return Ok(());
    }
    // SAFETY: a table that is there under the lock, and a role that owns the documents.
    unsafe { pg_sys::ATExecChangeOwner(storage, owner, true, lock) };
    // What has been done is seen by the rest of this command.
    next_command();
    let _rights = restricted_to(owner);
    revoke_all(storage)
}
