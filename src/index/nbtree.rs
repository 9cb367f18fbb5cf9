//! PostgreSQL's B-tree, whose pages hold our entries: its functions, which `bthandler` hands out,
//! and the few declarations of headers that those who write and read its pages need and pgrx's bindings lack.
//!
//! `tests/integration/tests/access_method.rs` has every version of PostgreSQL read, split and vacuum
//! what the page writer wrote: a change of what is declared here would show there.

use std::cell::Cell;
use std::ffi::c_void;

use pgrx::pg_sys::{BlockNumber, IndexTuple, Relation};

use crate::pg::guc;
use crate::prelude::*;

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

/// Functions that pgrx's bindings lack. Each may raise an ERROR.
pub mod raw {
    use super::{BlockNumber, IndexTuple, Relation, c_void, pg_sys};

    // access/nbtree.h, the same in PostgreSQL 15 to 19.
    unsafe extern "C-unwind" {
        /// Makes the metapage of a tree with that root.
        pub fn _bt_initmetapage(
            page: pg_sys::Page,
            root: BlockNumber,
            level: u32,
            all_equal_image: bool,
        );
        /// A key by which tuples of an index are compared, as a palloc'd value; without a tuple it has functions only.
        pub fn _bt_mkscankey(index: Relation, tuple: IndexTuple) -> *mut c_void;
        /// The shortest pivot above `last_left` and not above `first_right`, as a palloc'd tuple.
        pub fn _bt_truncate(
            index: Relation,
            last_left: IndexTuple,
            first_right: IndexTuple,
            key: *mut c_void,
        ) -> IndexTuple;
    }

    // storage/predicate.h, the same in PostgreSQL 15 to 19.
    unsafe extern "C-unwind" {
        /// In a SERIALIZABLE transaction, a later insertion into a page is a conflict.
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
        // SAFETY: the handler of an access method; what it gives is made in a context that lives as long as the
        // backend.
        unsafe {
            let previous = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            routine = pg_sys::GetIndexAmRoutine(Oid::from(pg_sys::F_BTHANDLER));
            pg_sys::MemoryContextSwitchTo(previous);
        }
        ROUTINE.set(routine);
    }
    // SAFETY: made above, and never freed.
    unsafe { &*routine }
}

/// Shows an index as a B-tree on a server with assertions, where nbtree.h's `BTGetFillFactor` and
/// `BTGetDeduplicateItems` insist that it is one. On all other servers it does nothing.
///
/// Only an insertion asks for the two. It runs no code but the B-tree's and takes no lock that would have the
/// relation cache load the index again; errors unwind through us, so that the index is shown as what it is
/// after each of them, too.
pub struct Disguise<'a>(Option<(&'a Open, pg_sys::Oid)>);

impl<'a> Disguise<'a> {
    /// Shows that index as a B-tree until this is dropped.
    pub fn of(index: &'a Open) -> Self {
        // SAFETY: an open relation has its pg_class row, which is this backend's copy.
        Self(guc::has_assertions().then(|| unsafe {
            let method = &mut (*(*index.raw()).rd_rel).relam;
            (index, std::mem::replace(method, pg_sys::BTREE_AM_OID))
        }))
    }
}

impl Drop for Disguise<'_> {
    fn drop(&mut self) {
        if let Some((index, method)) = self.0 {
            // SAFETY: the index is still open, as its reference says.
            unsafe { (*(*index.raw()).rd_rel).relam = method };
        }
    }
}

/// Counts a search of an index, as the statistics show it (`pgstat_count_index_scan`).
pub fn count_search(index: &Open) {
    let index = index.raw();
    // SAFETY: an open relation; what is not null is its own entry.
    unsafe {
        if (*index).pgstat_info.is_null() {
            if !(*index).pgstat_enabled {
                return;
            }
            pg_sys::pgstat_assoc_relation(index);
        }
        versions::count_search(&mut *(*index).pgstat_info);
    }
}
