//! Detects changes that triggers do not see.
//!
//! The stamp is a digest of the files of the documents and the index, of the catalog rows that describe them, and of
//! minlsh's triggers. It differs after ATTACH and DETACH, TRUNCATE of a partition, DISABLE TRIGGER, VACUUM FULL,
//! REINDEX, a change of owner, and a restore. It includes the writers of catalog rows, so it also differs after a
//! change that was reverted.

use std::ffi::CString;
use std::time::Duration;

use sketch::ElementHash;

use crate::clusters::tracked::Tracked;
use crate::index::info::Info;
use crate::pg::catalog::ClassRow;
use crate::pg::dependency;
use crate::pg::index::Index;
use crate::pg::relation::{inheritors, is_owned_by};
use crate::pg::rights::current_role;
use crate::pg::snapshot::next_command;
use crate::prelude::*;

#[derive(Debug, PartialEq, Eq)]
pub struct Stamp {
    pub digest: String,
    /// The reasons why triggers do not see every written row, including replicated ones.
    pub faults: Vec<String>,
}

/// The stamp of the documents that an index tracks. All of it is locked.
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
        // The record, and the trigger for changes by other triggers.
        if watching < 2 {
            faults.push(format!("table \"{}\" lacks a trigger", leaf.name));
        }
    }
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    Stamp { digest: format!("{:016x}", ElementHash::Xxh3.hash(&bytes)), faults }
}

fn relation(oid: Oid, parts: &mut Vec<u32>) {
    let Some(row) = ClassRow::find(oid) else { return };
    // SAFETY: the header of a stored row has its writer.
    let writer = unsafe { row.header().t_choice.t_heap.t_xmin };
    parts.extend([oid.to_u32(), row.relfilenode.to_u32(), writer.into_inner()]);
}

/// Number of attempts to lock, and the pause in between, because writers wait too.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Makes triggers fire always again if `ALTER TABLE ... ENABLE TRIGGER` has limited them to sessions of this server,
/// without replication. Returns true if nothing else has changed since `stamp`.
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
    // Before the lock was granted, replication may have brought rows.
    let session = Session::open();
    let row = session.query("SELECT FROM pg_catalog.pg_subscription_rel LIMIT 1", &[])?;
    Ok(row.is_none())
}

/// The names of a table's triggers that do not fire for replicated changes.
fn half_enabled(tracked: &Tracked, table: Oid) -> Vec<CString> {
    let Some(open) = Open::relation(table, Lock::Held) else { return Vec::new() };
    let ours = tracked.noting(&open).into_iter();
    ours.filter(|trigger| trigger.enabled == b'O').map(|trigger| trigger.name).collect()
}

/// Takes the lock that ALTER TABLE needs. False if others hold the table for long, or if it may not be altered now or
/// by this role.
fn is_free(table: Oid) -> bool {
    let lock = Lock::HoldWriters.mode();
    let is_locked = (0..TRIES).any(|_| {
        check_interrupts();
        // SAFETY: takes a lock on a table that is already locked in another mode, or fails.
        let is_locked = unsafe { pg_sys::ConditionalLockRelationOid(table, lock) };
        if !is_locked {
            std::thread::sleep(PAUSE);
        }
        is_locked
    });
    let Some(open) = Open::relation(table, Lock::Held).filter(|_| is_locked) else { return false };
    // SAFETY: `open` holds the table open; the function reads the session's pending triggers.
    let is_in_use = unsafe { (*open.raw()).rd_refcnt > 1 || pg_sys::AfterTriggerPendingOnRel(table) };
    !is_in_use && is_owned_by(table, current_role())
}
