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
    /// False if it is somebody else's: the statement's, or a constant.
    is_registered: bool,
}

impl Snapshot {
    /// The snapshot of the statement that called us.
    pub fn statement() -> Self {
        // SAFETY: a function is called under an active snapshot, which outlives the call.
        Self { raw: unsafe { pg_sys::GetActiveSnapshot() }, is_registered: false }
    }

    /// All that is committed, and what this transaction has done, even just now.
    pub fn own() -> Self {
        Self { raw: &raw mut pg_sys::SnapshotSelfData, is_registered: false }
    }

    /// All that is committed by now, in any isolation level, and what this transaction has done.
    pub fn latest() -> Self {
        // SAFETY: registered here, given back by `Drop`.
        let raw = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) };
        Self { raw, is_registered: true }
    }

    /// That of the transaction: in READ COMMITTED all that is committed by now.
    pub fn of_transaction() -> Self {
        // SAFETY: registered here, given back by `Drop`.
        let raw = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()) };
        Self { raw, is_registered: true }
    }

    /// That of a scan, which may have none.
    ///
    /// # Safety
    /// `raw` is null, or valid as long as the result is used.
    pub unsafe fn of_scan(raw: pg_sys::Snapshot) -> Option<Self> {
        (!raw.is_null()).then_some(Self { raw, is_registered: false })
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
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if self.is_registered && !std::thread::panicking() {
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
