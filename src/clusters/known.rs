//! The clusters of the last refresh, looked up one by one.

use std::collections::HashMap;

use ahash::RandomState;
use pgrx::pg_sys::{Datum, Oid};
use sketch::clusters::ClusterId;
use sketch::memory;

use crate::clusters::components::Fingerprint;
use crate::clusters::places::StoredMembership;
use crate::clusters::tables::{Finder, Tables, list, members};
use crate::error::{Result, wrong_state};
use crate::pg::document_keys::DocumentKeys;
use crate::pg::interrupts::check_interrupts;
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;

/// So many members of a cluster are looked up one by one. Whoever looks up as many again had better read all.
const MET: u32 = 128;

/// Clusters that are read, at most.
const READ: usize = 4;

/// The stored state of documents and clusters.
pub struct Known<'a> {
    tables: &'a Tables,
    snapshot: &'a Snapshot,
    members: Finder<'a>,
    list: Finder<'a>,
    /// The type and the collation of keys.
    key: (Oid, Oid),
    /// The next new id.
    next: ClusterId,
    /// The number of members of each cluster that were looked up.
    met: HashMap<ClusterId, u32, RandomState>,
    read: Vec<Members>,
}

/// The members of a cluster.
struct Members {
    keys: DocumentKeys,
    /// In the order of keys.
    sorted: Vec<u32>,
    stored: Vec<StoredMembership>,
}

impl<'a> Known<'a> {
    /// The state that a snapshot sees, of keys of that type and collation.
    pub fn of(
        tables: &'a Tables,
        snapshot: &'a Snapshot,
        key: (Oid, Oid),
        next: ClusterId,
    ) -> Result<Self> {
        let members = tables.members.finder(members::DOC_ID, snapshot)?;
        let list = tables.list.finder(list::CLUSTER, snapshot)?;
        let (met, read) = (HashMap::default(), Vec::new());
        Ok(Self { tables, snapshot, members, list, key, next, met, read })
    }

    /// Reads what is stored of a document.
    ///
    /// # Safety
    /// A key of the type of the keys.
    pub unsafe fn member(&mut self, key: Datum) -> Result<Option<StoredMembership>> {
        // SAFETY: the caller's promise.
        match unsafe { self.members.find(key) } {
            Some(row) => stored_of(row, self.next),
            None => Ok(None),
        }
    }

    /// Reads what is stored of one of many documents, of which `left` are still to come: the members of a large
    /// cluster are read at once.
    ///
    /// # Safety
    /// A key of the type of the keys.
    pub unsafe fn one_of(&mut self, key: Datum, left: usize) -> Result<Option<StoredMembership>> {
        for Members { keys, sorted, stored } in &self.read {
            // SAFETY: the caller's promise.
            if let Some(at) = unsafe { keys.find(sorted, key) } {
                return Ok(Some(stored[at as usize]));
            }
        }
        // SAFETY: the caller's promise.
        let stored = unsafe { self.member(key)? };
        if let Some((cluster, _)) = stored {
            let met = self.met.get(&cluster).copied().unwrap_or(0) + 1;
            memory::insert_at(&mut self.met, cluster, met)?;
            if met == MET
                && self.read.len() < READ
                && self.size(cluster).is_some_and(|size| size <= 2 * left as u64)
            {
                self.read(cluster)?;
            }
        }
        Ok(stored)
    }

    /// Reads the members of a cluster.
    fn read(&mut self, cluster: ClusterId) -> Result<()> {
        let Self { tables, snapshot, key, next, .. } = *self;
        let (mut keys, mut stored) = (DocumentKeys::new(key.0, key.1)?, Vec::new());
        // SAFETY: the columns are a bigint, and of the type of the keys.
        unsafe {
            tables.members.of_value(members::CLUSTER, Datum::from(cluster), snapshot, |row| {
                check_interrupts();
                if let (Some(key), Some(of)) = (row.value(members::DOC_ID), stored_of(row, next)?) {
                    keys.push(key)?;
                    memory::push(&mut stored, of)?;
                }
                Ok(Continue::Yes)
            })?;
        }
        let sorted = keys.sorted();
        self.read.push(Members { keys, sorted, stored });
        Ok(())
    }

    /// Reads the number of members that a cluster has by the list.
    pub fn size(&mut self, cluster: ClusterId) -> Option<u64> {
        // SAFETY: the column is a bigint.
        let row = unsafe { self.list.find(Datum::from(cluster))? };
        let size = row.value(list::SIZE)?.value() as i64;
        // Documents are counted by 32 bits: what is more is not a size.
        u32::try_from(size).ok().map(u64::from)
    }
}

/// Reads a row of the members. Ids that were never given, from `next` on, would be given twice.
pub fn stored_of(row: &Row, next: ClusterId) -> Result<Option<StoredMembership>> {
    let Some(cluster) = row.value(members::CLUSTER) else { return Ok(None) };
    let cluster = cluster.value() as i64;
    if (1..next).contains(&cluster) {
        return Ok(Some((cluster, print_of(row))));
    }
    Err(wrong_state(format!("the table of members has cluster {cluster}, which never existed"))
        .set_detail("Somebody has changed the table.")
        .set_hint("Delete its rows from the table of members, and refresh with full => true."))
}

/// The fingerprint that a row of the members has.
pub fn print_of(row: &Row) -> Option<Fingerprint> {
    // SAFETY: the column was found to be a uuid, which is 16 bytes in a row that is held.
    row.value(members::FINGERPRINT).map(|print| unsafe { *print.cast_mut_ptr::<Fingerprint>() })
}
