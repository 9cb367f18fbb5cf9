//! Changes that triggers do not see.
//!
//! The stamp is a digest of the files of the documents and of the index, of the rows of the catalog that describe them,
//! and of our triggers. It differs after ATTACH and DETACH, TRUNCATE of a partition, DISABLE TRIGGER, VACUUM FULL,
//! REINDEX, a change of owner, and a restore. It has the writers of catalog rows, so it also differs after a change
//! that was taken back.

use std::ffi::CString;
use std::time::Duration;

use sketch::ElementHash;

use crate::clusters::tracked::Tracked;
use crate::index::info::Info;
use crate::pg::catalog::CatalogRow;
use crate::pg::dependency;
use crate::pg::index::Index;
use crate::pg::relation::{inheritors, is_owned_by};
use crate::pg::rights::current_role;
use crate::pg::snapshot::next_command;
use crate::prelude::*;

#[derive(Debug, PartialEq, Eq)]
pub struct Stamp {
    pub digest: String,
    /// The reasons why triggers do not see every row that is written, also by replication.
    pub faults: Vec<String>,
}

/// The stamp of what is tracked by an index. All of it is locked.
pub fn of(tracked: &Tracked, index: &Index) -> Stamp {
    let mut faults = Vec::new();
    let mut parts: Vec<u32> = Vec::new();
    relation(tracked.documents.oid, &mut parts);
    relation(index.oid, &mut parts);
    for leaf in &tracked.leaves {
        relation(leaf.oid, &mut parts);
        for own in Index::of_table(leaf.oid).iter().filter(|own| own.method == index.method) {
            relation(own.oid, &mut parts);
        }
        let Some(open) = Open::relation(leaf.oid, Lock::Held) else { continue };
        let mut watching = 0;
        for trigger in tracked.noting(&open) {
            let written = dependency::writer_of_trigger(trigger.oid).unwrap_or_default();
            parts.extend([trigger.oid.to_u32(), written, trigger.enabled.into()]);
            if !trigger.is_truncate() {
                faults.extend(trigger.fault(&leaf.name, true));
                watching += 1;
            }
        }
        // The record, and the one for what other triggers change.
        if watching < 2 {
            faults.push(format!("table \"{}\" lacks a trigger", leaf.name));
        }
    }
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    Stamp { digest: format!("{:016x}", ElementHash::Xxh3.hash(&bytes)), faults }
}

fn relation(oid: Oid, parts: &mut Vec<u32>) {
    let Some(row) = CatalogRow::<pg_sys::FormData_pg_class>::find(oid) else { return };
    // SAFETY: of a row that is stored the header tells its writer.
    let writer = unsafe { row.header().t_choice.t_heap.t_xmin };
    parts.extend([oid.to_u32(), row.relfilenode.to_u32(), writer.into_inner()]);
}

/// The number of times that a lock is asked for, and the pause in between: writers wait as well.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Has the triggers fire always again that `ALTER TABLE ... ENABLE TRIGGER` has left to fire for this server's sessions
/// alone, and not for replication. Returns true if nothing else has happened since `stamp`.
pub fn enable_triggers(tracked: &Tracked, index: &Info, stamp: &Stamp) -> Result<bool> {
    let tables = inheritors(tracked.documents.oid, Lock::Held);
    if tables.iter().all(|table| half_enabled(tracked, *table).is_empty()) {
        return Ok(false);
    }
    if !tables.iter().all(|table| is_free(*table)) || of(tracked, &index.index) != *stamp {
        return Ok(false);
    }
    for table in tables {
        for trigger in half_enabled(tracked, table) {
            let alter = Sql::new("ALTER TABLE ONLY ").relation(table);
            alter.text(" ENABLE ALWAYS TRIGGER ").name(&trigger).run()?;
        }
    }
    next_command();
    // Before the lock was there, replication may have brought rows.
    let session = Session::open();
    let row = session.query("SELECT FROM pg_catalog.pg_subscription_rel LIMIT 1", &[])?;
    Ok(row.is_none())
}

/// The names of the triggers of a table that do not fire for what replication brings.
fn half_enabled(tracked: &Tracked, table: Oid) -> Vec<CString> {
    let Some(open) = Open::relation(table, Lock::Held) else { return Vec::new() };
    let ours = tracked.noting(&open).into_iter();
    ours.filter(|trigger| trigger.enabled == b'O').map(|trigger| trigger.name).collect()
}

/// Takes the lock that ALTER TABLE needs, unless others hold the table for long; false too if it is not to be altered
/// now, or not by us.
fn is_free(table: Oid) -> bool {
    let lock = Lock::HoldWriters.mode();
    let is_locked = (0..TRIES).any(|_| {
        check_interrupts();
        // SAFETY: takes a lock on a table that is locked already, or not at all.
        let is_locked = unsafe { pg_sys::ConditionalLockRelationOid(table, lock) };
        if !is_locked {
            std::thread::sleep(PAUSE);
        }
        is_locked
    });
    let Some(open) = Open::relation(table, Lock::Held).filter(|_| is_locked) else { return false };
    // SAFETY: an open table; a look at what the session still has to do.
    let is_in_use = unsafe { (*open.raw()).rd_refcnt > 1 || pg_sys::AfterTriggerPendingOnRel(table) };
    !is_in_use && is_owned_by(table, current_role())
}
