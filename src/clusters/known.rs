//! The clusters of the last refresh, looked up.

use std::collections::HashMap;

use ahash::RandomState;
use pgrx::pg_sys::{self, Datum};
use sketch::clusters::ClusterId;
use sketch::memory;

use crate::clusters::components::Fingerprint;
use crate::clusters::places::StoredMembership;
use crate::clusters::tables::{AT_A_TIME, Tables};
use crate::error::{Result, wrong_state};
use crate::pg::document_keys::DocumentKeys;
use crate::pg::memory::Memory;
use crate::pg::row::Continue;
use crate::pg::spi::{Parameter, Rows};

/// The stored state of documents and clusters.
pub struct Known<'a> {
    tables: &'a Tables,
    /// The next new id.
    next: ClusterId,
    /// The sizes of the clusters that were met, by the list.
    sizes: HashMap<ClusterId, u64, RandomState>,
}

impl<'a> Known<'a> {
    /// The stored state that the active snapshot sees.
    pub fn of(tables: &'a Tables, next: ClusterId) -> Self {
        Self { tables, next, sizes: HashMap::default() }
    }

    /// Reads what is stored of each of some documents.
    pub fn members(&mut self, keys: &DocumentKeys) -> Result<Vec<Option<StoredMembership>>> {
        let mut stored = memory::filled(None, keys.len())?;
        let mut memory = Memory::scratch(c"minlsh keys of a statement");
        for first in (0..keys.len()).step_by(AT_A_TIME) {
            let some = first..keys.len().min(first + AT_A_TIME);
            memory.run_and_reset(|| {
                let some = some.map(|at| Some(keys.datum(at as u32)));
                // SAFETY: callers gather keys of the documents, whose type `Tables::open` was given as that of its
                // columns.
                let some = unsafe { Parameter::array(some, self.tables.key) };
                self.tables.each(
                    "SELECT n.at, m.cluster_id, m.fingerprint, l.size
                     FROM unnest($1) WITH ORDINALITY AS n (doc_id, at)
                     JOIN {members} AS m ON m.doc_id {=} n.doc_id
                     LEFT JOIN {list} AS l ON l.cluster_id = m.cluster_id",
                    &[some],
                    |rows, row| {
                        let at = rows.int8(row, 1)?.unwrap_or_default() as usize - 1;
                        let membership = stored_of(rows, (row, 2), self.next)?;
                        let size = rows.int8(row, 4)?.and_then(|size| u32::try_from(size).ok());
                        if let (Some((cluster, _)), Some(size)) = (membership, size) {
                            // Documents are counted by 32 bits: what is more is not a size.
                            memory::insert_at(&mut self.sizes, cluster, size.into())?;
                        }
                        stored[first + at] = membership;
                        Ok(Continue::Yes)
                    },
                )
            })?;
        }
        Ok(stored)
    }

    /// The number of members that a cluster has by the list, of which a member was looked up.
    pub fn size(&self, cluster: ClusterId) -> Option<u64> {
        self.sizes.get(&cluster).copied()
    }
}

/// Calls `visit` with the members of a cluster, until it says that it has enough.
pub fn each_of(
    tables: &Tables,
    cluster: ClusterId,
    visit: &mut dyn FnMut(Datum, Option<Fingerprint>) -> Result<Continue>,
) -> Result<()> {
    tables.each(
        "SELECT doc_id, fingerprint FROM {members} WHERE cluster_id = $1",
        &[Parameter::int8(cluster)],
        |rows, row| match rows.value(row, 1, tables.key)? {
            Some(key) => visit(key, print_of(rows, (row, 2))?),
            None => Ok(Continue::Yes),
        },
    )
}

/// Reads the cluster of a member, and its fingerprint in the next column. Ids that were never given, from `next` on,
/// would be given twice.
pub fn stored_of(
    rows: &Rows,
    (row, column): (usize, i32),
    next: ClusterId,
) -> Result<Option<StoredMembership>> {
    let Some(cluster) = rows.int8(row, column)? else { return Ok(None) };
    if (1..next).contains(&cluster) {
        return Ok(Some((cluster, print_of(rows, (row, column + 1))?)));
    }
    Err(wrong_state(format!("the table of members has cluster {cluster}, which never existed"))
        .set_detail("Somebody has changed the table.")
        .set_hint("Delete its rows from the table of members, and refresh with full => true."))
}

/// Reads a fingerprint.
fn print_of(rows: &Rows, (row, column): (usize, i32)) -> Result<Option<Fingerprint>> {
    let print = rows.value(row, column, pg_sys::UUIDOID)?;
    // SAFETY: a uuid is 16 bytes, in rows that are held.
    Ok(print.map(|print| unsafe { *print.cast_mut_ptr::<Fingerprint>() }))
}
