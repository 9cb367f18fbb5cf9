//! `ambuild`: CREATE INDEX and REINDEX.
//!
//! PostgreSQL scans the table once, with its snapshots, its rights and its progress report. Each row's keys go to the
//! sorter, and the sorted entries are written page by page.

use std::ffi::c_char;

use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::index::minlsh_index::MinlshIndex;
use crate::index::own_rows;
use crate::index::page_file::{NewPage, PageFile};
use crate::index::sort::Sorter;
use crate::index::stored_options;
use crate::index::table_scan::IndexedRows;
use crate::index::tree_writer::TreeWriter;
use crate::memory::of_entries;
use crate::pg::catalog::base_element_type;
use crate::pg::progress::{self, Phase};
use crate::pg::worker_threads::for_build;
use crate::prelude::*;

/// `ambuild`
#[pg_guard]
pub unsafe extern "C-unwind" fn ambuild(
    heap: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    answer(|| {
        // Rows that the index had before may have moved.
        own_rows::forget();
        // SAFETY: PostgreSQL passes an open table and its open index, whose file is empty and which `info` describes.
        // The result is a plain struct in the current memory context.
        unsafe {
            let (heap, index) = (Open::lent(&heap), MinlshIndex::of(Open::lent(&index))?);
            let operators = (*info).ii_ExclusionOps;
            // A constraint has an operator for each column.
            let operator = (!operators.is_null()).then(|| *operators.add(index.layout.document));
            let rows = IndexedRows::of_build(heap, &index, info);
            let (rows, entries) = build(&index, heap, &rows, operator)?;
            let result = pg_sys::palloc0(size_of::<pg_sys::IndexBuildResult>());
            let result = result.cast::<pg_sys::IndexBuildResult>();
            ((*result).heap_tuples, (*result).index_tuples) = (rows, entries as f64);
            Ok(result)
        }
    })
}

/// `ambuildempty`: the init fork of an unlogged index.
#[pg_guard]
pub unsafe extern "C-unwind" fn ambuildempty(index: pg_sys::Relation) {
    answer(|| {
        // SAFETY: PostgreSQL passes an open index.
        let open = unsafe { Open::lent(&index) };
        let options = MinlshIndex::of(open)?.wanted()?;
        let mut file = PageFile::of(open, pg_sys::ForkNumber::INIT_FORKNUM);
        file.append_one(NewPage::make_meta);
        stored_options::append(&mut file, &options)?;
        file.finish();
        Ok(())
    })
}

/// `ambuildphasename`
#[pg_guard]
pub unsafe extern "C-unwind" fn ambuildphasename(phase: i64) -> *mut c_char {
    progress::phase_name(phase).map_or(std::ptr::null_mut(), |name| name.as_ptr().cast_mut())
}

/// Builds an index of `rows`; `operator` is an exclusion constraint's. Returns the numbers of rows and entries.
fn build(index: &MinlshIndex, heap: &Open, rows: &IndexedRows, operator: Option<Oid>) -> Result<(f64, u64)> {
    let (open, document) = (index.open(), index.layout.document);
    let options = index.wanted()?;
    let memory = of_entries();
    let mut sorter = Sorter::new(memory).with_threads(for_build(heap));
    let info = Info::open(open.oid()).ok_or_else(|| no_such_relation(open.oid()))?;
    refuse_settings(&info, operator)?;
    if index.kind == Kind::Set {
        // Before the first row with elements arrives.
        element::check(base_element_type(info.index.types()[document])).map_err(|report| {
            report.set_hint(
                "Index an array of text, varchar, bytea, uuid or integers, or an expression that casts to text[].",
            )
        })?;
    }
    progress::enter(Phase::Scanning);
    let (rows, saturated) = rows.each_entry(&options, &mut |entries| sorter.extend(entries))?;
    saturated.warn(&options.config, &open.name());
    let mut file = PageFile::of(open, pg_sys::ForkNumber::MAIN_FORKNUM);
    file.append_one(NewPage::make_meta);
    stored_options::append(&mut file, &options)?;
    let mut tree = TreeWriter::new(index, file, memory / 32, sorter.len());
    progress::enter(Phase::Sorting);
    sorter.finish_by(&mut tree)?;
    Ok((rows, tree.finish()?))
}

/// Refuses an exclusion constraint whose operator reads a setting: a constraint must depend on the row alone.
fn refuse_settings(info: &Info, operator: Option<Oid>) -> Result<()> {
    let immutable = pg_sys::PROVOLATILE_IMMUTABLE as c_char;
    // SAFETY: a look-up in the system caches, which takes any value.
    let depends = |operator| unsafe { pg_sys::op_volatile(operator) } != immutable;
    if !operator.is_some_and(depends) {
        return Ok(());
    }
    let name = &info.index.name;
    let document = if info.document() == 0 { "...".to_owned() } else { info.body_name() };
    Err(not_supported(format!("exclusion constraint \"{name}\" depends on minlsh.threshold"))
        .set_detail("The similarity of two plain values depends on that setting, which each session may change.")
        .set_hint(format!("Use minlsh_document({document}, 0.9) WITH ~=, which has its own threshold.")))
}
