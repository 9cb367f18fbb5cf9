//! Snapshots, which decide which rows a scan sees.

use pgrx::pg_sys;

/// While it lives, what is read is read under a snapshot of its own, that of the transaction: in READ COMMITTED
/// a new one. It sees what the transaction has done before. After an ERROR the abort takes it away.
pub struct ActiveSnapshot(());

impl ActiveSnapshot {
    pub fn of_transaction() -> Self {
        // SAFETY: within a transaction; the copy is on the stack of snapshots until `Drop`.
        unsafe {
            pg_sys::PushCopiedSnapshot(pg_sys::GetTransactionSnapshot());
            pg_sys::UpdateActiveSnapshotCommandId();
        }
        Self(())
    }
}

impl Drop for ActiveSnapshot {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: pushed by `of_transaction`, and what was pushed since is popped.
            unsafe { pg_sys::PopActiveSnapshot() };
        }
    }
}

/// A snapshot of the database.
pub struct Snapshot {
    raw: pg_sys::Snapshot,
    ownership: Ownership,
}

enum Ownership {
    /// Somebody else's: the statement's, or a constant.
    Borrowed,
    Registered,
    /// Rows that others are writing are seen too: their ends have to be waited for.
    Dirty(Box<std::cell::UnsafeCell<pg_sys::SnapshotData>>),
}

impl Snapshot {
    /// The snapshot of the statement that called us.
    pub fn statement() -> Self {
        // SAFETY: a function is called under an active snapshot, which outlives the call.
        Self { raw: unsafe { pg_sys::GetActiveSnapshot() }, ownership: Ownership::Borrowed }
    }

    /// All that is committed, and what this transaction has done, even just now.
    pub fn own() -> Self {
        Self { raw: &raw mut pg_sys::SnapshotSelfData, ownership: Ownership::Borrowed }
    }

    /// All that is committed by now, in any isolation level, and what this transaction has done.
    pub fn latest() -> Self {
        // SAFETY: registered here, given back by `Drop`.
        let raw = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) };
        Self { raw, ownership: Ownership::Registered }
    }

    /// That of the transaction: in READ COMMITTED all that is committed by now.
    pub fn of_transaction() -> Self {
        // SAFETY: registered here, given back by `Drop`.
        let raw = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()) };
        Self { raw, ownership: Ownership::Registered }
    }

    /// That of a scan, which may have none.
    ///
    /// # Safety
    /// `raw` is null, or valid as long as the result is used.
    pub unsafe fn of_scan(raw: pg_sys::Snapshot) -> Option<Self> {
        (!raw.is_null()).then_some(Self { raw, ownership: Ownership::Borrowed })
    }

    /// As [`Snapshot::own`], but a lookup waits for those who are writing the rows it finds.
    pub fn dirty() -> Self {
        let data = pg_sys::SnapshotData {
            snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
            ..Default::default()
        };
        let data = Box::new(std::cell::UnsafeCell::new(data));
        Self { raw: data.get(), ownership: Ownership::Dirty(data) }
    }

    /// As PostgreSQL takes it; valid as long as `self`.
    pub fn raw(&self) -> pg_sys::Snapshot {
        self.raw
    }

    /// True if rows that others are writing are seen too, as a constraint sees them.
    pub fn is_dirty(&self) -> bool {
        // SAFETY: valid as long as `self`.
        unsafe { (*self.raw).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_DIRTY }
    }

    /// Waits for the transaction that is writing the row just found, if one is.
    pub fn waited(&self) -> bool {
        let Ownership::Dirty(data) = &self.ownership else { return false };
        // SAFETY: our own snapshot; the scan that fills it in is not at work now.
        let (inserter, deleter) = unsafe { ((*data.get()).xmin, (*data.get()).xmax) };
        let writer = if inserter.into_inner() == 0 { deleter } else { inserter };
        if writer.into_inner() == 0 {
            return false;
        }
        let (relation, place) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: waits for a transaction in progress.
        unsafe {
            let reason = pg_sys::XLTW_Oper::XLTW_None;
            pg_sys::XactLockTableWait(writer, relation, place, reason);
        }
        true
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if matches!(self.ownership, Ownership::Registered) && !std::thread::panicking() {
            // SAFETY: registered when it was made, given back once.
            unsafe { pg_sys::UnregisterSnapshot(self.raw) };
        }
    }
}

/// Begins another command of the transaction, which sees what those before it have done.
pub fn next_command() {
    // SAFETY: within a transaction.
    unsafe { pg_sys::CommandCounterIncrement() };
}
