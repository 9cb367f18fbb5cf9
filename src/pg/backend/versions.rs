//! The differences between versions of PostgreSQL, behind one interface. No other file checks the version.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys::{self, NodeTag, Oid, Relation};

unsafe extern "C-unwind" {
    /// `LockBuffer` of storage/bufmgr.h, for locking only. PostgreSQL 19 exports only the function behind it, with the
    /// same arguments. The caller guards the call.
    #[cfg_attr(feature = "pg19", link_name = "LockBufferInternal")]
    pub fn LockBuffer(buffer: pg_sys::Buffer, mode: c_int);
}

/// `tuple_delete` of a table's access method.
///
/// # Safety
/// The caller guards the call. `table` is open, and a snapshot is active.
pub unsafe fn tuple_delete(table: Relation, place: pg_sys::ItemPointer) -> Option<pg_sys::TM_Result::Type> {
    let mut failure = pg_sys::TM_FailureData::default();
    let none = std::ptr::null_mut();
    // SAFETY: the caller holds the table open, which has its methods, and promises an active snapshot.
    unsafe {
        let delete = (*(*table).rd_tableam).tuple_delete?;
        let command = pg_sys::GetCurrentCommandId(true);
        let snapshot = pg_sys::GetActiveSnapshot();
        #[cfg(not(feature = "pg19"))]
        let result = delete(table, place, command, snapshot, none, true, &mut failure, false);
        #[cfg(feature = "pg19")]
        let result = delete(table, place, command, 0, snapshot, none, true, &mut failure);
        Some(result)
    }
}

/// Returns what `make` makes in the current memory context: the result of the handler of an index access method. Up to
/// PostgreSQL 18 each caller frees it. PostgreSQL 19 keeps pointers to it, so there it is made once for the backend.
pub fn access_method(make: impl FnOnce() -> *mut pg_sys::IndexAmRoutine) -> *mut pg_sys::IndexAmRoutine {
    #[cfg(not(feature = "pg19"))]
    return make();
    #[cfg(feature = "pg19")]
    {
        use std::cell::Cell;

        use pgrx::memcxt::PgMemoryContexts;
        thread_local! {
            static MADE: Cell<*mut pg_sys::IndexAmRoutine> =
                const { Cell::new(std::ptr::null_mut()) };
        }
        if MADE.get().is_null() {
            // SAFETY: `TopMemoryContext` lives as long as the backend.
            MADE.set(unsafe { PgMemoryContexts::TopMemoryContext.switch_to(|_| make()) });
        }
        MADE.get()
    }
}

/// True if PostgreSQL calls `aminsertcleanup`.
pub const HAS_INSERT_CLEANUP: bool = cfg!(not(any(feature = "pg15", feature = "pg16")));

/// Sets `aminsertcleanup`, which PostgreSQL 17 and later call at the end of each statement that may insert rows.
pub fn set_insert_cleanup(
    routine: &mut pg_sys::IndexAmRoutine,
    cleanup: unsafe extern "C-unwind" fn(Relation, *mut pg_sys::IndexInfo),
) {
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    {
        routine.aminsertcleanup = Some(cleanup);
    }
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    let _ = (routine, cleanup);
}

/// Refuses IGNORE NULLS and RESPECT NULLS, with which PostgreSQL 19 accepts calls of window functions. The caller
/// guards the call.
///
/// # Safety
/// `window` is the window of `call`.
pub unsafe fn refuse_null_treatment(window: *mut c_void, call: pg_sys::FunctionCallInfo) {
    #[cfg(feature = "pg19")]
    // SAFETY: the caller promises the window and its call; the function is declared as in windowapi.h.
    unsafe {
        unsafe extern "C-unwind" {
            fn WinCheckAndInitializeNullTreatment(window: *mut c_void, allow: bool, call: pg_sys::FunctionCallInfo);
        }
        WinCheckAndInitializeNullTreatment(window, false, call);
    }
    #[cfg(not(feature = "pg19"))]
    let _ = (window, call);
}

/// `index_fetch_begin` of a table's access method; `None` if it has none.
///
/// # Safety
/// The table is open. The caller guards the call.
pub unsafe fn index_fetch_begin(table: Relation) -> Option<*mut pg_sys::IndexFetchTableData> {
    // SAFETY: the caller holds the table open, which has its methods.
    unsafe {
        let begin = (*(*table).rd_tableam).index_fetch_begin?;
        #[cfg(not(feature = "pg19"))]
        return Some(begin(table));
        #[cfg(feature = "pg19")]
        return Some(begin(table, pg_sys::ScanOptions::SO_NONE));
    }
}

/// `index_beginscan` with one key.
///
/// # Safety
/// `index` is an index of `table`, both are open, and the snapshot is registered or active.
pub unsafe fn index_beginscan(table: Relation, index: Relation, snapshot: pg_sys::Snapshot) -> pg_sys::IndexScanDesc {
    // SAFETY: the caller holds both open and the snapshot; the pointer to statistics may be null.
    unsafe {
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        return pg_sys::index_beginscan(table, index, snapshot, 1, 0);
        #[cfg(feature = "pg18")]
        return pg_sys::index_beginscan(table, index, snapshot, std::ptr::null_mut(), 1, 0);
        #[cfg(feature = "pg19")]
        return pg_sys::index_beginscan(
            table,
            index,
            snapshot,
            std::ptr::null_mut(),
            1,
            0,
            pg_sys::ScanOptions::SO_NONE,
        );
    }
}

/// `reindex_relation`, which takes its own locks.
pub fn reindex_relation(table: Oid, flags: i32) {
    let parameters = pg_sys::ReindexParams::default();
    // SAFETY: PostgreSQL opens and locks the relation itself; the parameters live until the call ends, and are only
    // read.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        pg_sys::reindex_relation(table, flags, (&raw const parameters).cast_mut());
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        pg_sys::reindex_relation(std::ptr::null(), table, flags, &parameters);
    }
}

/// Gives a relation a new, empty file.
///
/// # Safety
/// The relation is open under ACCESS EXCLUSIVE lock, and nothing else uses it.
pub unsafe fn set_new_file(relation: Relation) {
    // SAFETY: the caller holds the relation open and alone, as a change of its file needs.
    unsafe {
        let persistence = (*(*relation).rd_rel).relpersistence;
        #[cfg(feature = "pg15")]
        pg_sys::RelationSetNewRelfilenode(relation, persistence);
        #[cfg(not(feature = "pg15"))]
        pg_sys::RelationSetNewRelfilenumber(relation, persistence);
    }
}

#[cfg(feature = "pg15")]
pub type Locator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
pub type Locator = pg_sys::RelFileLocator;

/// Returns where the file of a relation is.
pub fn locator(relation: &pg_sys::RelationData) -> Locator {
    #[cfg(feature = "pg15")]
    return relation.rd_node;
    #[cfg(not(feature = "pg15"))]
    return relation.rd_locator;
}

/// Returns the subtransaction that gave a relation its current file; 0 if that was before this transaction.
pub fn new_file_by(relation: &pg_sys::RelationData) -> pg_sys::SubTransactionId {
    #[cfg(feature = "pg15")]
    return relation.rd_firstRelfilenodeSubid;
    #[cfg(not(feature = "pg15"))]
    return relation.rd_firstRelfilelocatorSubid;
}

/// Returns the attributes of a row type.
///
/// # Safety
/// `descriptor` is a valid descriptor for `'a`.
pub unsafe fn attributes<'a>(descriptor: pg_sys::TupleDesc) -> &'a [pg_sys::FormData_pg_attribute] {
    // SAFETY: a valid descriptor for `'a`, as # Safety asks. Until PostgreSQL 17 the attributes lie in it, and since
    // PostgreSQL 18 behind as many compact ones (TupleDescAttr).
    unsafe {
        let count = (*descriptor).natts as usize;
        #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
        let first = (*descriptor).attrs.as_ptr();
        #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
        let first = (*descriptor).compact_attrs.as_ptr().add(count).cast();
        std::slice::from_raw_parts(first, count)
    }
}

/// Completes a descriptor that was filled attribute by attribute, which PostgreSQL 19 requires.
///
/// # Safety
/// `descriptor` is a valid descriptor whose attributes are all set.
pub unsafe fn finalize(descriptor: pg_sys::TupleDesc) {
    #[cfg(feature = "pg19")]
    // SAFETY: the caller has set all attributes, and nothing else is read.
    unsafe {
        pg_sys::TupleDescFinalize(descriptor);
    }
    #[cfg(not(feature = "pg19"))]
    let _ = descriptor;
}

pub fn may_use_schema(schema: Oid, role: Oid) -> bool {
    let usage = pg_sys::ACL_USAGE as pg_sys::AclMode;
    // SAFETY: a look-up in the system caches, which takes any value.
    let result = unsafe {
        #[cfg(feature = "pg15")]
        let result = pg_sys::pg_namespace_aclcheck(schema, role, usage);
        #[cfg(not(feature = "pg15"))]
        let result = pg_sys::object_aclcheck(pg_sys::NamespaceRelationId, schema, role, usage);
        result
    };
    result == pg_sys::AclResult::ACLCHECK_OK
}

/// Calls `visit` with the status of each backend, as this transaction first saw them.
pub fn each_backend(mut visit: impl FnMut(&pg_sys::PgBackendStatus)) {
    // SAFETY: PostgreSQL copies all slots, and returns null for an entry that has none.
    let count = unsafe { pg_sys::pgstat_fetch_stat_numbackends() };
    for place in 1..=count {
        // SAFETY: an entry of that copy, which stays until the transaction ends; `visit` cannot keep the reference.
        let entry = unsafe {
            #[cfg(feature = "pg15")]
            let entry = pg_sys::pgstat_fetch_stat_local_beentry(place);
            #[cfg(not(feature = "pg15"))]
            let entry = pg_sys::pgstat_get_local_beentry_by_index(place);
            entry.as_ref()
        };
        entry.into_iter().for_each(|entry| visit(&entry.backendStatus));
    }
}

/// Counts an index scan in the statistics of the index.
pub fn count_search(statistics: &mut pg_sys::PgStat_TableStatus) {
    #[cfg(feature = "pg15")]
    {
        statistics.t_counts.t_numscans += 1;
    }
    #[cfg(not(feature = "pg15"))]
    {
        statistics.counts.numscans += 1;
    }
}

/// Counts a search by a scan for EXPLAIN ANALYZE, which shows it since PostgreSQL 18.
///
/// # Safety
/// `scan` is a scan that has begun.
pub unsafe fn count_search_of(scan: pg_sys::IndexScanDesc) {
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    // SAFETY: the caller promises a scan that has begun; its pointer to statistics is null unless EXPLAIN ANALYZE set
    // it.
    unsafe {
        if let Some(instrument) = (*scan).instrument.as_mut() {
            instrument.nsearches += 1;
        }
    }
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    let _ = scan;
}

/// Marks a path as disabled for the planner. Before PostgreSQL 18 only its cost does so.
///
/// # Safety
/// `path` is a path of the query that is planned now.
pub unsafe fn disable(path: *mut pg_sys::IndexPath) {
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    // SAFETY: the caller promises a path of the query that is planned now, which has the description of its index too.
    unsafe {
        (*path).path.disabled_nodes += 2;
        // A bitmap scan takes over neither the prohibitive cost nor this count, so leave it out. The description of the
        // index belongs to this query alone.
        (*(*path).indexinfo).amhasgetbitmap = false;
    }
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    let _ = path;
}

/// Raises an ERROR if a page has changed since a snapshot that `old_snapshot_threshold` has expired, because rows may
/// be gone. PostgreSQL 17 removed that setting. `lsn` returns the page's last change.
///
/// # Safety
/// `index` is open, and the snapshot null or valid.
pub unsafe fn refuse_old(index: Relation, snapshot: pg_sys::Snapshot, lsn: impl FnOnce() -> u64) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: the caller has the index open; the snapshot is read only if it is not null.
    unsafe {
        let is_mvcc = |snapshot: &pg_sys::SnapshotData| snapshot.snapshot_type == pg_sys::SnapshotType::SNAPSHOT_MVCC;
        if pg_sys::old_snapshot_threshold >= 0
            && snapshot.as_ref().is_some_and(is_mvcc)
            && (*snapshot).lsn != 0
            && lsn() > (*snapshot).lsn
        {
            pg_sys::TestForOldSnapshot_impl(snapshot, index);
        }
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    let _ = (index, snapshot, lsn);
}

/// The node tag of JSON_VALUE and its siblings, new in PostgreSQL 17.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub const JSON_EXPRESSION: Option<NodeTag> = Some(NodeTag::T_JsonExpr);
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub const JSON_EXPRESSION: Option<NodeTag> = None;
