//! Triggers that `ALTER TABLE ... ENABLE TRIGGER` has left to fire for what this server's sessions write, and not for
//! what replication brings: a refresh of all documents has them fire always again.

use std::time::Duration;

use pgrx::pg_sys::{self, Oid};

use crate::clusters::stamp::{self, Stamp};
use crate::clusters::tracked::Tracked;
use crate::error::Result;
use crate::index::info::Info;
use crate::pg::interrupts::check_interrupts;
use crate::pg::open::Open;
use crate::pg::relation::{Lock, is_owned_by};
use crate::pg::restricted::current_role;
use crate::pg::snapshot::next_command;
use crate::pg::spi::Session;
use crate::pg::sql::Sql;
use crate::pg::trigger::triggers;

/// The number of times that a lock is asked for, and the pause in between: writers wait as well.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Makes those triggers fire always. Returns true if nothing has happened since `stamp` that no trigger has seen: then
/// all is as it was, but for the triggers.
pub fn enable(tracked: &Tracked, index: &Info, stamp: &Stamp) -> Result<bool> {
    let tables = crate::pg::ffi::inheritors(tracked.documents.oid, Lock::Held.mode());
    if tables.iter().all(|table| half_enabled(tracked, *table).is_empty()) {
        return Ok(false);
    }
    if !tables.iter().all(|table| is_free(*table)) || stamp::of(tracked, &index.index) != *stamp {
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
    let rows = session.query("SELECT FROM pg_catalog.pg_subscription_rel LIMIT 1", &[])?;
    Ok(rows.is_empty())
}

/// The names of the triggers of a table that do not fire for what replication brings.
fn half_enabled(tracked: &Tracked, table: Oid) -> Vec<std::ffi::CString> {
    let Some(open) = Open::relation(table, Lock::Held) else { return Vec::new() };
    let ours = triggers(&open).into_iter().filter(|trigger| tracked.is_noting(trigger));
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
    let is_in_use =
        unsafe { (*open.raw()).rd_refcnt > 1 || pg_sys::AfterTriggerPendingOnRel(table) };
    !is_in_use && is_owned_by(table, current_role())
}
