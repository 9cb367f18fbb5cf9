//! The rows of some buckets, without a query: for jobs that compare them by themselves.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use pgrx::pg_sys::{Datum, Oid};
use sketch::memory;

use crate::error::Result;
use crate::index::descent::{self, WantedEntries};
use crate::index::keys::Keys;
use crate::index::nbtree;
use crate::pg::open::Open;
use crate::pg::snapshot::Snapshot;

/// Makes keys of an open index, or of a partitioned one.
pub struct KeyMaker<'a> {
    keys: Keys,
    found: Vec<u64>,
    /// The index stays open.
    open: PhantomData<&'a Open>,
}

impl<'a> KeyMaker<'a> {
    /// Keys of that index.
    pub fn of(index: &'a Open) -> Result<Self> {
        // SAFETY: a relation that is open for `'a`.
        let keys = unsafe { Keys::of(index.raw())? };
        Ok(Self { keys, found: Vec::new(), open: PhantomData })
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
        let scopes = memory::collect(scopes)?;
        // SAFETY: the caller's promise: without a type, values are of the columns' own.
        unsafe { self.keys.search(bands, &scopes, &mut self.found)? };
        memory::extend(out, &self.found).map_err(Into::into)
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
    // SAFETY: a relation that is open until the end, found to be an index of the access method; the snapshot is held.
    unsafe {
        let own = Keys::of(index.raw())?;
        let wanted = WantedEntries::Keys(keys);
        nbtree::count_search(index.raw());
        descent::each(index.raw(), own.layout(), snapshot.raw(), wanted, &mut |rows| {
            rows.iter().try_for_each(|row| visit(*row))?;
            Ok(ControlFlow::Continue(()))
        })
    }
}
