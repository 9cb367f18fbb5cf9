//! PostgreSQL's B-tree, whose pages hold our entries: its functions, which `bthandler` hands out,
//! and the few declarations of headers that those who write and read its pages need and pgrx's bindings lack.
//!
//! `tests/integration/tests/access_method.rs` has every version of PostgreSQL read, split and vacuum
//! what the page writer wrote: a change of what is declared here would show there.

use std::cell::Cell;
use std::ffi::c_void;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, BlockNumber, Datum, IndexTuple, Relation};

use crate::pg::{guc, versions};

/// `BTREE_METAPAGE`
pub const META_BLOCK: BlockNumber = 0;
/// `BTREE_MAGIC`: the first word of a metapage; then come the version, the root, its level and more.
pub const MAGIC: u32 = 0x05_3162;
/// `BTREE_VERSION`
pub const VERSION: u32 = 4;
/// `P_NONE`: no such page.
pub const NO_BLOCK: BlockNumber = 0;
/// `P_HIKEY`: where the high key of a page is, if it has one, else its first item.
pub const HIGH_KEY: u16 = 1;
/// `BTP_LEAF`
pub const LEAF: u16 = 1 << 0;
/// `BTP_ROOT`
pub const ROOT: u16 = 1 << 1;
/// `BTP_DELETED`
pub const DELETED: u16 = 1 << 2;
/// `BTP_META`
pub const META: u16 = 1 << 3;
/// `BTP_HALF_DEAD`
pub const HALF_DEAD: u16 = 1 << 4;
/// `BTP_INCOMPLETE_SPLIT`: the page to the right has no downlink yet.
pub const INCOMPLETE_SPLIT: u16 = 1 << 7;
/// `INDEX_ALT_TID_MASK`: the item is a pivot or has a posting list.
pub const ALTERNATIVE_TID: u16 = 0x2000;
/// `BT_IS_POSTING`: of items with an alternative TID, those that have a posting list.
pub const POSTING_LIST: u16 = 0x2000;
/// `BT_PIVOT_HEAP_TID_ATTR`: a pivot ends with a row's address.
pub const PIVOT_HAS_ROW: u16 = 0x1000;
/// `BT_OFFSET_MASK`: the rest of such an item's offset is a number of attributes or TIDs.
pub const COUNT_MASK: u16 = 0x0fff;
/// `INDEX_SIZE_MASK`
pub const SIZE_MASK: u16 = 0x1fff;

/// `BTPageOpaqueData`: what stands at the end of each page.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Opaque {
    pub previous: BlockNumber,
    pub next: BlockNumber,
    pub level: u32,
    pub flags: u16,
    pub cycle: u16,
}

/// `BTOptions`: what nbtree takes the storage parameters of any index for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BtOptions {
    pub varlena_header: i32,
    pub fillfactor: i32,
    pub vacuum_cleanup_index_scale_factor: f64,
    pub deduplicate_items: bool,
}

mod raw {
    use super::{BlockNumber, IndexTuple, Relation, c_void, pg_sys};

    // access/nbtree.h, the same in PostgreSQL 15 to 19.
    unsafe extern "C-unwind" {
        pub fn _bt_initmetapage(
            page: pg_sys::Page,
            root: BlockNumber,
            level: u32,
            all_equal_image: bool,
        );
        pub fn _bt_mkscankey(index: Relation, tuple: IndexTuple) -> *mut c_void;
        pub fn _bt_truncate(
            index: Relation,
            last_left: IndexTuple,
            first_right: IndexTuple,
            key: *mut c_void,
        ) -> IndexTuple;
    }

    // storage/predicate.h, the same in PostgreSQL 15 to 19.
    unsafe extern "C-unwind" {
        pub fn PredicateLockRelation(relation: Relation, snapshot: pg_sys::Snapshot);
        pub fn PredicateLockPage(
            relation: Relation,
            block: BlockNumber,
            snapshot: pg_sys::Snapshot,
        );
    }
}

thread_local! {
    static ROUTINE: Cell<*const pg_sys::IndexAmRoutine> = const { Cell::new(std::ptr::null()) };
}

/// The B-tree's functions and properties.
pub fn routine() -> &'static pg_sys::IndexAmRoutine {
    let mut routine = ROUTINE.get();
    if routine.is_null() {
        // SAFETY: bthandler takes no argument and returns a node, made here in a context that lives
        // as long as the backend.
        unsafe {
            let previous = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            let handler = pg_sys::OidFunctionCall0Coll(
                pg_sys::Oid::from(pg_sys::F_BTHANDLER),
                pg_sys::InvalidOid,
            );
            pg_sys::MemoryContextSwitchTo(previous);
            routine = handler.cast_mut_ptr::<pg_sys::IndexAmRoutine>();
        }
        ROUTINE.set(routine);
    }
    // SAFETY: made above, and never freed.
    unsafe { &*routine }
}

/// Calls a function of the B-tree: an ERROR in it unwinds through our frames.
///
/// # Safety
/// As for the function; nothing in `call` may need to be dropped.
unsafe fn guarded<T: Copy>(call: impl FnOnce() -> Option<T>) -> Option<T> {
    // SAFETY: the caller's promise.
    unsafe { pg_guard_ffi_boundary(call) }
}

/// Shows an index as a B-tree on a server with assertions, where nbtree.h's `BTGetFillFactor` and
/// `BTGetDeduplicateItems` insist that it is one. On all other servers it does nothing.
///
/// Only an insertion asks for the two. It runs no code but the B-tree's and takes no lock that would have the
/// relation cache load the index again; errors unwind through us, so that the index is shown as what it is
/// after each of them, too.
struct Disguise(Option<(Relation, pg_sys::Oid)>);

impl Disguise {
    /// # Safety
    /// `index` is open and stays so while the result lives.
    unsafe fn of(index: Relation) -> Self {
        // SAFETY: the caller's promise.
        Self(guc::has_assertions().then(|| unsafe {
            let method = &mut (*(*index).rd_rel).relam;
            (index, std::mem::replace(method, pg_sys::BTREE_AM_OID))
        }))
    }
}

impl Drop for Disguise {
    fn drop(&mut self) {
        if let Some((index, method)) = self.0 {
            // SAFETY: the index is still open: the promise of `of`.
            unsafe { (*(*index).rd_rel).relam = method };
        }
    }
}

/// `btinsert`: adds an entry.
///
/// A row has as many entries as bands, and several of them may stand in one leaf page. What deletes entries bottom-up
/// from such a page decides about each by its row, so it does not matter that a row is asked about repeatedly. But it
/// sorts them by a comparison that asserts that no two are equal, so servers with assertions do without.
///
/// # Safety
/// The arguments are those of `aminsert`, with one value for each attribute of the index.
pub unsafe fn insert(
    index: Relation,
    values: &mut [Datum],
    tid: pg_sys::ItemPointer,
    heap: Relation,
    unchanged: bool,
    info: *mut pg_sys::IndexInfo,
) {
    let function = routine().aminsert;
    let mut nulls = [false; pg_sys::INDEX_MAX_KEYS as usize];
    let unique = pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO;
    // SAFETY: the caller's promise.
    unsafe {
        let _disguise = Disguise::of(index);
        let unchanged = unchanged && !guc::has_assertions();
        guarded(|| {
            let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
            Some(function?(index, values, nulls, tid, heap, unique, unchanged, info))
        });
    }
}

/// Counts a search of an index, as the statistics show it (`pgstat_count_index_scan`).
///
/// # Safety
/// `index` is open.
pub unsafe fn count_search(index: Relation) {
    // SAFETY: the caller's promise; what is not null is the relation's own entry.
    unsafe {
        if (*index).pgstat_info.is_null() {
            if !(*index).pgstat_enabled {
                return;
            }
            pg_sys::pgstat_assoc_relation(index);
        }
        versions::count_search((*index).pgstat_info);
    }
}

/// `PredicateLockRelation`: in a SERIALIZABLE transaction a later insertion into the index is a conflict.
///
/// # Safety
/// `index` is open; the snapshot is null or valid.
pub unsafe fn lock_relation_for_serializable(index: Relation, snapshot: pg_sys::Snapshot) {
    if !snapshot.is_null() {
        // SAFETY: the caller's promise.
        unsafe { pg_guard_ffi_boundary(|| raw::PredicateLockRelation(index, snapshot)) }
    }
}

/// `PredicateLockPage`: the same of insertions into a page.
///
/// # Safety
/// `index` is open and has that page, which is locked; the snapshot is null or valid.
pub unsafe fn lock_page_for_serializable(
    index: Relation,
    block: BlockNumber,
    snapshot: pg_sys::Snapshot,
) {
    // SAFETY: reads a word of the backend. A search comes here for each leaf page, and most transactions need nothing.
    let is_serializable = unsafe { pg_sys::XactIsoLevel } == pg_sys::XACT_SERIALIZABLE as i32;
    if is_serializable && !snapshot.is_null() {
        // SAFETY: the caller's promise.
        unsafe { pg_guard_ffi_boundary(|| raw::PredicateLockPage(index, block, snapshot)) }
    }
}

/// `btbuildempty`: writes the metapage of an init fork.
///
/// # Safety
/// As for `ambuildempty`.
pub unsafe fn build_empty(index: Relation) {
    let function = routine().ambuildempty;
    // SAFETY: the caller's promise.
    unsafe {
        guarded(|| {
            function?(index);
            Some(())
        });
    }
}

/// `_bt_initmetapage`: makes the metapage of a tree with that root, in which equal keys have equal
/// bytes.
///
/// # Safety
/// `page` is a page that may be written.
pub unsafe fn init_metapage(page: pg_sys::Page, root: BlockNumber, level: u32) {
    // SAFETY: the caller's promise.
    unsafe { pg_guard_ffi_boundary(|| raw::_bt_initmetapage(page, root, level, true)) }
}

/// Makes pivots: what separates two leaf pages.
pub struct Separator {
    index: Relation,
    key: *mut c_void,
}

impl Separator {
    /// # Safety
    /// `index` is open and stays so while the result is used.
    pub unsafe fn of(index: Relation) -> Self {
        // SAFETY: the caller's promise; without a tuple the key has functions only.
        let key =
            unsafe { pg_guard_ffi_boundary(|| raw::_bt_mkscankey(index, std::ptr::null_mut())) };
        Self { index, key }
    }

    /// `_bt_truncate`: the shortest pivot above `last_left` and not above `first_right`, as a
    /// palloc'd tuple.
    ///
    /// # Safety
    /// Both are leaf tuples of the index, in order.
    pub unsafe fn between(&self, last_left: IndexTuple, first_right: IndexTuple) -> IndexTuple {
        // SAFETY: the caller's promise.
        unsafe {
            pg_guard_ffi_boundary(|| {
                raw::_bt_truncate(self.index, last_left, first_right, self.key)
            })
        }
    }
}
