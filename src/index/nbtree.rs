//! Constants of PostgreSQL's B-tree, whose pages contain the entries, and what its functions need from an index.
//! `tests/integration/tests/access_method.rs` makes every version of PostgreSQL read, split and vacuum pages of the
//! page writer.

use pgrx::pg_sys::BlockNumber;

use crate::pg::guc;
use crate::prelude::*;

// The constants of access/nbtree.h and access/itup.h, with the width of what they are compared with.
pub const META_BLOCK: BlockNumber = pg_sys::BTREE_METAPAGE;
pub const NO_BLOCK: BlockNumber = pg_sys::P_NONE;
/// `P_HIKEY`: number of a page's high key, or of its first item if it has none.
pub const HIGH_KEY: u16 = 1;
pub const LEAF: u16 = pg_sys::BTP_LEAF as u16;
pub const ROOT: u16 = pg_sys::BTP_ROOT as u16;
pub const DELETED: u16 = pg_sys::BTP_DELETED as u16;
pub const META: u16 = pg_sys::BTP_META as u16;
pub const HALF_DEAD: u16 = pg_sys::BTP_HALF_DEAD as u16;
/// The item is a pivot or has a posting list.
pub const ALTERNATIVE_TID: u16 = pg_sys::INDEX_ALT_TID_MASK as u16;
/// An item with an alternative TID that has a posting list.
pub const POSTING_LIST: u16 = pg_sys::BT_IS_POSTING as u16;
/// A pivot ends with a row's address.
pub const PIVOT_HAS_ROW: u16 = pg_sys::BT_PIVOT_HEAP_TID_ATTR as u16;
/// The other bits of such an item's offset: the number of attributes or TIDs.
pub const COUNT_MASK: u16 = pg_sys::BT_OFFSET_MASK as u16;

/// Makes an index look like a B-tree on a server with assertions, where `BTGetFillFactor` and `BTGetDeduplicateItems`
/// of nbtree.h require it. Does nothing on other servers.
///
/// Only an insertion calls these macros. It runs only B-tree code, and takes no lock that would reload the index's
/// relcache entry. Errors unwind through this too, so the index is restored after each of them.
pub struct Disguise<'a>(Option<(&'a Open, pg_sys::Oid)>);

impl<'a> Disguise<'a> {
    /// Makes `index` look like a B-tree until this is dropped.
    pub fn of(index: &'a Open) -> Self {
        // SAFETY: an open relation has its `pg_class` row, this backend's copy.
        Self(guc::has_assertions().then(|| unsafe {
            let method = &mut (*(*index.raw()).rd_rel).relam;
            (index, std::mem::replace(method, pg_sys::BTREE_AM_OID))
        }))
    }
}

impl Drop for Disguise<'_> {
    fn drop(&mut self) {
        if let Some((index, method)) = self.0 {
            // SAFETY: the reference keeps the index open.
            unsafe { (*(*index.raw()).rd_rel).relam = method };
        }
    }
}

/// Counts an index scan in the statistics (`pgstat_count_index_scan`).
pub fn count_search(index: &Open) {
    let index = index.raw();
    // SAFETY: the relation is open, and its pointer to statistics is null or valid.
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
