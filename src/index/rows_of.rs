//! The rows of some buckets, without a query: for jobs that compare them by themselves.
//!
//! Few buckets are looked up, each by a scan of its own. Of many it is quicker to go through all leaf
//! pages once.

use pgrx::pg_sys::{Datum, Oid, Relation};
use sketch::memory;

use crate::error::{Result, engine};
use crate::index::keys::Keys;
use crate::index::layout::tid_to_u64;
use crate::index::scan::{Probe, visit_rest};
use crate::index::{leaves, nbtree};
use crate::pg::open::Open;
use crate::pg::snapshot::Snapshot;

/// Makes keys of an open index, or of a partitioned one.
pub struct KeyMaker {
    keys: Keys,
    found: Vec<u64>,
}

impl KeyMaker {
    /// Keys of that index.
    pub fn of(index: &Open) -> Result<Self> {
        // SAFETY: an open index.
        Ok(Self { keys: unsafe { Keys::of(index.raw())? }, found: Vec::new() })
    }

    /// Appends the keys of the buckets in which rows with these band hashes and scope values are.
    ///
    /// # Safety
    /// `scopes` has a non-null value for each scope column of the index, in order, as its table stores it.
    pub unsafe fn append(
        &mut self,
        bands: &[i64],
        scopes: &[Datum],
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let layout = self.keys.layout();
        let columns = (0..layout.columns()).filter(|column| *column != layout.document());
        let scopes = columns.zip(scopes).map(|(column, value)| (column, Oid::INVALID, *value));
        let scopes = memory::collect(scopes).map_err(engine)?;
        // SAFETY: the caller's promise: without a type, values are of the columns' own.
        unsafe { self.keys.search(bands, &scopes, &mut self.found)? };
        memory::extend(out, &self.found).map_err(engine)
    }
}

/// Calls `visit` with the rows in the buckets of `keys`, which are ascending, each once. A row may come
/// repeatedly, and may be gone.
pub fn each(
    index: &Open,
    snapshot: &Snapshot,
    keys: &[u64],
    visit: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    if keys.len() > index.pages() as usize {
        among_all(index.oid(), keys, visit)
    } else {
        // SAFETY: an open index.
        unsafe { look_up(index.raw(), snapshot, keys, visit) }
    }
}

/// # Safety
/// `relation` is open.
unsafe fn look_up(
    relation: Relation,
    snapshot: &Snapshot,
    keys: &[u64],
    visit: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise; the tree's scan ends before the index is closed.
    unsafe {
        let own = Keys::of(relation)?;
        let tree = nbtree::begin_scan(relation, own.layout().columns());
        (*tree).xs_snapshot = snapshot.raw();
        let mut probe = Probe::new(tree, own.layout());
        let result = keys.iter().try_for_each(|key| {
            probe.rescan(*key);
            visit_rest(tree, &mut |row| visit(tid_to_u64(row)))
        });
        nbtree::end_scan(tree);
        result
    }
}

/// Both are in the order of keys.
fn among_all(index: Oid, keys: &[u64], visit: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
    let mut next = 0;
    leaves::each(index, &mut |key, row| {
        // A page may come again, and with it lesser keys.
        if next > 0 && keys[next - 1] >= key {
            next = keys.partition_point(|own| *own < key);
        }
        while keys.get(next).is_some_and(|own| *own < key) {
            next += 1;
        }
        if keys.get(next) == Some(&key) { visit(row) } else { Ok(()) }
    })
}
