//! The access method `minlsh`: an index with an entry for each band of a row, in the pages of PostgreSQL's own B-tree.
//!
//! An entry is a pair of (hash of scope values and a band, row). The build writes sorted pages. Core's B-tree code,
//! called as functions, does the rest: insert, page splits, vacuum, WAL, replay and locks. A search looks up the keys
//! of its bands and returns their rows for recheck. It reads the pages itself, for all keys together.

mod build;
pub mod callbacks;
pub mod check;
pub mod descent;
mod estimates;
pub mod info;
mod insert;
pub mod keys;
pub mod layout;
pub mod minlsh_index;
pub mod nbtree;
mod own_rows;
mod page_file;
pub mod partitions;
mod pending;
mod reloptions;
mod scan;
pub mod sort;
pub mod stored_options;
pub mod table_scan;
mod tree_writer;

use crate::prelude::*;

sql_function!(minlsh_handler, handler);

/// The B-tree's support function for options of operator classes (`BTOPTIONS_PROC`). minlsh's classes have none.
const OPTIONS_SUPPORT: u16 = 5;

fn handler(_call: &Call) -> Result<Option<Datum>> {
    Ok(Some(Datum::from(versions::access_method(routine))))
}

fn routine() -> *mut pg_sys::IndexAmRoutine {
    // SAFETY: `F_BTHANDLER` is the handler of the B-tree, which every server has.
    let btree = unsafe { &*pg_sys::GetIndexAmRoutine(Oid::from(pg_sys::F_BTHANDLER)) };
    // SAFETY: `alloc_node` makes a zeroed node of this type.
    let mut routine = unsafe { pgrx::PgBox::<pg_sys::IndexAmRoutine>::alloc_node(pg_sys::NodeTag::T_IndexAmRoutine) };
    routine.amstrategies = 1;
    routine.amsupport = minlsh_index::PASSAGE_HASHES;
    routine.amoptsprocnum = OPTIONS_SUPPORT;
    routine.amcanmulticol = true;
    // Each row has entries, and the first column may be a range.
    routine.amoptionalkey = true;
    routine.amstorage = true;
    routine.ampredlocks = true;
    routine.amusemaintenanceworkmem = true;
    routine.amparallelvacuumoptions = btree.amparallelvacuumoptions;
    routine.amkeytype = Oid::INVALID;
    routine.ambuild = Some(build::ambuild);
    routine.ambuildempty = Some(build::ambuildempty);
    routine.ambuildphasename = Some(build::ambuildphasename);
    routine.aminsert = Some(insert::aminsert);
    versions::set_insert_cleanup(&mut routine, insert::aminsertcleanup);
    // The B-tree wrote the entries, so it removes them.
    routine.ambulkdelete = btree.ambulkdelete;
    routine.amvacuumcleanup = btree.amvacuumcleanup;
    routine.amcostestimate = Some(estimates::amcostestimate);
    routine.amoptions = Some(reloptions::amoptions);
    routine.amvalidate = Some(minlsh_index::amvalidate);
    routine.ambeginscan = Some(scan::ambeginscan);
    routine.amrescan = Some(scan::amrescan);
    routine.amgettuple = Some(scan::amgettuple);
    routine.amgetbitmap = Some(scan::amgetbitmap);
    routine.amendscan = Some(scan::amendscan);
    routine.into_pg()
}
