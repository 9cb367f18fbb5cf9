//! Filling a side table from the documents that there are.

use pgrx::pg_sys::Datum;

use crate::document::saturation::Saturated;
use crate::error::Result;
use crate::options::IndexOptions;
use crate::pg::bulk::Bulk;
use crate::pg::lossless;
use crate::pg::memory::Memory;
use crate::pg::names::relation_name;
use crate::pg::open::Open;
use crate::pg::progress::Build;
use crate::pg::relation::{Lock, Relation, leaves};
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::side_table::arguments::no_such_relation;
use crate::side_table::sign::{sign, sign_text};
use crate::side_table::storage::{StoredSketch, row_of};

/// Signs all documents of a table and writes them to an empty side table that has no index, or
/// whose indexes are built afterwards. Returns how many have a shingle.
pub fn fill(
    side: &Open,
    documents: &Relation,
    columns: (&std::ffi::CStr, &std::ffi::CStr),
    options: &IndexOptions,
) -> Result<usize> {
    let mut bulk = Bulk::new(side);
    let mut memory = Memory::child(c"minlsh document");
    let (mut count, mut saturated) = (0, Saturated::default());
    let snapshot = Snapshot::latest();
    let (_shown, mut tuples) = Build::of(documents.oid);
    each_document(documents, columns, &snapshot, &mut |key, body| {
        tuples.count();
        memory.run_and_reset(|| {
            // SAFETY: callers have found that the column is stored as text is.
            let Some(text) = body.map(|body| unsafe { lossless::read(body) }).transpose()? else {
                return Ok(());
            };
            saturated.look(&options.config, &text)?;
            if let Some(signed) = sign_text(options, &text)? {
                // SAFETY: the side table was made for keys of this type, or found to be so.
                unsafe { bulk.push(&row_of(key, &signed)) };
                count += 1;
            }
            Ok(())
        })
    })?;
    bulk.finish();
    saturated.warn(&options.config, &relation_name(side.oid()));
    Ok(count)
}

/// What is stored of a text column's value.
pub fn signed(options: &IndexOptions, body: Option<Datum>) -> Result<Option<StoredSketch>> {
    // SAFETY: callers have found that the column is stored as text is.
    body.map_or(Ok(None), |body| unsafe { sign(options, body) })
}

/// Visits key and text of each document, in all partitions.
pub fn each_document(
    documents: &Relation,
    (key, body): (&std::ffi::CStr, &std::ffi::CStr),
    snapshot: &Snapshot,
    visit: &mut dyn FnMut(Datum, Option<Datum>) -> Result<()>,
) -> Result<()> {
    for leaf in leaves(documents, Lock::Read) {
        let open =
            Open::relation(leaf.oid, Lock::Held).ok_or_else(|| no_such_relation(leaf.oid))?;
        // A partition may number its columns otherwise, but names them alike.
        let number = |name| leaf.column_called(name).map(|column| column.number);
        let (Some(key), Some(body)) = (number(key), number(body)) else { continue };
        open.each(snapshot, |row: &Row| {
            if let Some(key) = row.value(key) {
                visit(key, row.value(body))?;
            }
            Ok(Continue::Yes)
        })?;
    }
    Ok(())
}
