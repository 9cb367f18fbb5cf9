//! The clusters of the last refresh, looked up one by one.

use pgrx::pg_sys::Datum;
use sketch::clusters::ClusterId;

use crate::clusters::components::Fingerprint;
use crate::clusters::places::Stored;
use crate::clusters::tables::{Finder, Tables, list, members};
use crate::error::{Result, wrong_state};
use crate::pg::row::Row;
use crate::pg::snapshot::Snapshot;

/// The stored state of documents and clusters.
pub struct Known<'a> {
    members: Finder<'a>,
    list: Finder<'a>,
    /// The next new id.
    next: ClusterId,
}

impl<'a> Known<'a> {
    /// The state that a snapshot sees.
    pub fn of(tables: &'a Tables, snapshot: &'a Snapshot, next: ClusterId) -> Result<Self> {
        let members = tables.members.finder(members::DOC_ID, snapshot)?;
        let list = tables.list.finder(list::CLUSTER, snapshot)?;
        Ok(Self { members, list, next })
    }

    /// Reads what is stored of a document.
    ///
    /// # Safety
    /// A key of the type of the keys.
    pub unsafe fn member(&mut self, key: Datum) -> Result<Option<Stored>> {
        // SAFETY: the caller's promise.
        match unsafe { self.members.find(key) } {
            Some(row) => stored_of(row, self.next),
            None => Ok(None),
        }
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
pub fn stored_of(row: &Row, next: ClusterId) -> Result<Option<Stored>> {
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
