//! PostgreSQL's B-tree, whose pages hold our entries: the numbers that those need who write and read its pages, and
//! what its functions want of an index. `tests/integration/tests/access_method.rs` has every version of PostgreSQL
//! read, split and vacuum what the page writer wrote.

use pgrx::pg_sys::BlockNumber;

use crate::pg::guc;
use crate::prelude::*;

// The numbers of access/nbtree.h and access/itup.h, as wide as what they are compared with.
pub const META_BLOCK: BlockNumber = pg_sys::BTREE_METAPAGE;
pub const NO_BLOCK: BlockNumber = pg_sys::P_NONE;
/// `P_HIKEY`: where the high key of a page is, if it has one, else its first item.
pub const HIGH_KEY: u16 = 1;
pub const LEAF: u16 = pg_sys::BTP_LEAF as u16;
pub const ROOT: u16 = pg_sys::BTP_ROOT as u16;
pub const DELETED: u16 = pg_sys::BTP_DELETED as u16;
pub const META: u16 = pg_sys::BTP_META as u16;
pub const HALF_DEAD: u16 = pg_sys::BTP_HALF_DEAD as u16;
/// The item is a pivot or has a posting list.
pub const ALTERNATIVE_TID: u16 = pg_sys::INDEX_ALT_TID_MASK as u16;
/// Of items with an alternative TID, those that have a posting list.
pub const POSTING_LIST: u16 = pg_sys::BT_IS_POSTING as u16;
/// A pivot ends with a row's address.
pub const PIVOT_HAS_ROW: u16 = pg_sys::BT_PIVOT_HEAP_TID_ATTR as u16;
/// The rest of such an item's offset is a number of attributes or TIDs.
pub const COUNT_MASK: u16 = pg_sys::BT_OFFSET_MASK as u16;

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
