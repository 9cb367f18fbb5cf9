//! Snapshots, which decide which rows a scan sees.

use pgrx::pg_sys;

use crate::pg::memory::unless_raised;

/// Pushes a snapshot of the transaction, in READ COMMITTED a new one, until it is dropped. It sees what the transaction
/// has done before. An abort after an ERROR pops it.
pub struct ActiveSnapshot(());

impl ActiveSnapshot {
    pub fn of_transaction() -> Self {
        // SAFETY: a function runs within a transaction; the stack of snapshots keeps a copy until `drop`.
        unsafe {
            pg_sys::PushCopiedSnapshot(pg_sys::GetTransactionSnapshot());
            pg_sys::UpdateActiveSnapshotCommandId();
        }
        Self(())
    }
}

impl Drop for ActiveSnapshot {
    fn drop(&mut self) {
        // SAFETY: `of_transaction` pushed it, and each snapshot that was pushed since is popped.
        unless_raised(|| unsafe { pg_sys::PopActiveSnapshot() });
    }
}

/// A snapshot of the database.
pub struct Snapshot {
    raw: pg_sys::Snapshot,
    /// False for the statement's snapshot and for constants, which others own.
    is_registered: bool,
}

impl Snapshot {
    /// The snapshot of the calling statement.
    pub fn statement() -> Self {
        // SAFETY: a function runs under an active snapshot, which outlives the call.
        Self { raw: unsafe { pg_sys::GetActiveSnapshot() }, is_registered: false }
    }

    /// Sees all that is committed, and all that this transaction has done up to now.
    pub fn own() -> Self {
        Self { raw: &raw mut pg_sys::SnapshotSelfData, is_registered: false }
    }

    /// Sees all that is committed by now, in any isolation level, and what this transaction has done.
    pub fn latest() -> Self {
        // SAFETY: registered here; `drop` unregisters it.
        let raw = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) };
        Self { raw, is_registered: true }
    }

    /// The transaction's snapshot: in READ COMMITTED it sees all that is committed by now.
    pub fn of_transaction() -> Self {
        // SAFETY: registered here; `drop` unregisters it.
        let raw = unsafe { pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()) };
        Self { raw, is_registered: true }
    }

    /// The snapshot of a scan; `None` if `raw` is null.
    ///
    /// # Safety
    /// `raw` is null, or valid as long as the result is used.
    pub unsafe fn of_scan(raw: pg_sys::Snapshot) -> Option<Self> {
        (!raw.is_null()).then_some(Self { raw, is_registered: false })
    }

    /// PostgreSQL's pointer, valid as long as `self`.
    pub fn raw(&self) -> pg_sys::Snapshot {
        self.raw
    }

    /// True if it also sees rows of transactions in progress, as a constraint does.
    pub fn is_dirty(&self) -> bool {
        // SAFETY: registered by `self`, or promised by its maker to outlive it.
        unsafe { (*self.raw).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_DIRTY }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if self.is_registered && !std::thread::panicking() {
            // SAFETY: registered when it was made, unregistered once.
            unsafe { pg_sys::UnregisterSnapshot(self.raw) };
        }
    }
}

/// Begins another command of the transaction. It sees what earlier commands have done.
pub fn next_command() {
    // SAFETY: a function runs within a transaction.
    unsafe { pg_sys::CommandCounterIncrement() };
}
