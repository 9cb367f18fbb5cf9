//! `ambuild`: CREATE INDEX and REINDEX.
//!
//! The table is scanned once by PostgreSQL (with its snapshots, its rights, its progress report); each
//! row's keys go to the sorter; what comes out in order is written page by page.

use pgrx::pg_sys::{self, Relation};
use pgrx::prelude::*;
use std::ffi::c_char;

use crate::document::kind::Kind;
use crate::error::{Result, raise};
use crate::index::keys::Keys;
use crate::index::layout::Entry;
use crate::index::nbtree;
use crate::index::own_rows;
use crate::index::pages;
use crate::index::sort::Sorter;
use crate::index::table_scan::{self, Share};
use crate::index::tree_writer::TreeWriter;
use crate::index::{reloptions, stored_options, validate};
use crate::memory;
use crate::pg::catalog::base_element_type;
use crate::pg::names::relation_name;
use crate::pg::progress::{self, Phase, Tuples};
use crate::pg::{element, list, versions};

/// `ambuild`
#[pg_guard]
pub unsafe extern "C-unwind" fn ambuild(
    heap: Relation,
    index: Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    // Rows that the index had before may not be where they were.
    own_rows::forget();
    // SAFETY: PostgreSQL passes an open table and its index, whose file is empty.
    match unsafe { build(heap, index, info) } {
        Ok((rows, entries)) => {
            // SAFETY: a plain struct, in the current memory context.
            unsafe {
                let result = pg_sys::palloc0(size_of::<pg_sys::IndexBuildResult>())
                    .cast::<pg_sys::IndexBuildResult>();
                (*result).heap_tuples = rows;
                (*result).index_tuples = entries as f64;
                result
            }
        }
        Err(report) => raise(report),
    }
}

/// `ambuildempty`: the init fork of an unlogged index.
#[pg_guard]
pub unsafe extern "C-unwind" fn ambuildempty(index: Relation) {
    // SAFETY: PostgreSQL passes an open index whose init fork is empty.
    let result = unsafe {
        Keys::of(index).and_then(|_| reloptions::wanted(index)).and_then(|options| {
            nbtree::build_empty(index);
            stored_options::store(index, pg_sys::ForkNumber::INIT_FORKNUM, &options)
        })
    };
    if let Err(report) = result {
        raise(report);
    }
}

/// `ambuildphasename`
#[pg_guard]
pub unsafe extern "C-unwind" fn ambuildphasename(phase: i64) -> *mut c_char {
    progress::phase_name(phase).map_or(std::ptr::null_mut(), |name| name.as_ptr().cast_mut())
}

/// # Safety
/// As for `ambuild`.
unsafe fn build(
    heap: Relation,
    index: Relation,
    info: *mut pg_sys::IndexInfo,
) -> Result<(f64, u64)> {
    // SAFETY: the caller's promise; the context is deleted below, or with its parent.
    unsafe {
        let options = reloptions::wanted(index)?;
        let keys = Keys::of(index)?;
        let memory = memory::BuildShares::of_index();
        let mut sorter = Sorter::new(memory.sort).with_threads(table_scan::threads(heap));
        validate::refuse_settings(index, info, keys.layout().document())?;
        if keys.kind() == Kind::Set {
            check_elements(heap, info, keys.layout().document())?;
        }
        progress::enter(Phase::Scanning);
        let mut found = 0;
        let mut take = |entries: &[Entry]| {
            found += entries.len() as i64;
            sorter.extend(entries)
        };
        let scanned = table_scan::each_entry(
            heap,
            index,
            info,
            true,
            std::ptr::null_mut(),
            Share::ALL,
            &keys,
            &options,
            memory.rows,
            &mut take,
        )?;
        scanned.saturated.warn(&options.config, &relation_name((*index).rd_id));
        pages::write_metapage(index);
        stored_options::store(index, pg_sys::ForkNumber::MAIN_FORKNUM, &options)?;
        let mut written = None;
        let mut count = |entries| {
            let tuples = written.get_or_insert_with(|| {
                progress::enter(Phase::Writing);
                Tuples::of(found)
            });
            tuples.count(entries);
        };
        let mut tree = TreeWriter::new(
            index,
            keys.layout(),
            reloptions::fillfactor(index),
            reloptions::deduplicates(index),
            memory.sort / 32,
            &mut count,
        )?;
        progress::enter(Phase::Sorting);
        sorter.finish_by(&mut tree)?;
        Ok((scanned.rows, tree.finish()?))
    }
}

/// Refuses an array whose elements cannot be hashed, before there is a row that has some.
///
/// # Safety
/// As for `ambuild`; the index has that column.
unsafe fn check_elements(
    heap: Relation,
    info: *mut pg_sys::IndexInfo,
    column: usize,
) -> Result<()> {
    // SAFETY: the caller's promise; each column without an attribute of the table has an expression.
    let array = unsafe {
        let attributes = &(&(*info).ii_IndexAttrNumbers)[..=column];
        match usize::try_from(attributes[column] - 1) {
            Ok(attribute) => versions::attribute((*heap).rd_att, attribute).atttypid,
            Err(_) => {
                let before = attributes[..column].iter().filter(|number| **number == 0).count();
                let mut expressions = list::pointers((*info).ii_Expressions);
                expressions.nth(before).map_or(pg_sys::InvalidOid, |node| pg_sys::exprType(node))
            }
        }
    };
    element::check(base_element_type(array)).map_err(|report| {
        report.set_hint(
            "Index an array of text, varchar, bytea, uuid or integers, or an expression that casts to \
             text[].",
        )
    })
}
