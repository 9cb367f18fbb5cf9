//! Makes the stored row of a text, and fills a side table with the rows of all documents.

use std::ffi::CStr;

use crate::document::to_bands::Saturated;
use crate::options::{IndexOptions, with_sketcher};
use crate::pg::catalog::is_stored_as;
use crate::pg::companion::Companion;
use crate::pg::progress::Build;
use crate::pg::relation::{Column, leaves};
use crate::pg::snapshot::next_command;
use crate::prelude::*;
use crate::side_table::storage::{StoredSketch, row_of};

/// Signs a text that was read as UTF-8; `None` if it has no shingles.
pub fn sign_text(options: &IndexOptions, text: &str) -> Result<Option<StoredSketch>> {
    with_sketcher(&options.config, |sketcher| {
        let signature = sketcher.sketch(text, &mut check_interrupts)?;
        signature.map(|signature| of_signature(options, signature)).transpose()
    })
}

/// Makes the stored sketch of a document from its signature.
pub fn of_signature(options: &IndexOptions, full: &[i32]) -> Result<StoredSketch> {
    let mut bands = Vec::new();
    options.banding.hashes(full, &mut bands)?;
    let signature = memory::copied(full)?;
    Ok(StoredSketch { signature, bands })
}

/// Signs all documents of a table, and writes them to an empty side table without indexes, or whose indexes are built
/// afterwards. Returns how many have shingles.
pub fn fill(side: &Companion, documents: &Relation, columns: (&CStr, &CStr), options: &IndexOptions) -> Result<usize> {
    let mut memory = Memory::scratch(c"minlsh document");
    let (mut count, mut saturated) = (0, Saturated::default());
    let snapshot = Snapshot::latest();
    let open = Open::relation(documents.oid, Lock::Held);
    let rows = open.map_or(0.0, |open| open.class().reltuples);
    let (_shown, mut tuples) = Build::of(documents.oid, rows);
    each_document(documents, columns, &snapshot, &mut |key, body| {
        tuples.count(1);
        memory.run_and_reset(|| {
            let Some(text) = body.map(TypedValue::utf8).transpose()? else { return Ok(()) };
            saturated.look(&options.config, &text)?;
            if let Some(signed) = sign_text(options, &text)? {
                side.insert(&row_of(key, &signed));
                count += 1;
            }
            Ok(())
        })
    })?;
    next_command();
    saturated.warn(&options.config, &side.table.name());
    Ok(count)
}

/// Calls `visit` with key and text of each document, in all partitions.
pub fn each_document(
    documents: &Relation,
    (key, body): (&CStr, &CStr),
    snapshot: &Snapshot,
    visit: &mut dyn FnMut(TypedValue, Option<TypedValue>) -> Result<()>,
) -> Result<()> {
    for leaf in leaves(documents, Lock::Read) {
        let open = Open::relation(leaf.oid, Lock::Held).ok_or_else(|| no_such_relation(leaf.oid))?;
        // A partition may number its columns differently, but has the same names.
        let number = |name| leaf.column_called(name).map(|column| column.number);
        let (Some(key), Some(body)) = (number(key), number(body)) else { continue };
        open.each(snapshot, |row| row.get(key).map_or(Ok(()), |key| visit(key, row.get(body))))?;
    }
    Ok(())
}

/// Refuses a column that is not stored like text.
pub fn check_body(body: &Column) -> Result<()> {
    let is_text = body.type_oid == pg_sys::TEXTOID || is_stored_as(body.type_oid, pg_sys::TEXTOID);
    if !is_text {
        let label = type_label(body.type_oid);
        let hint = "Index a column of type text or varchar, or a generated column that casts to it.";
        return Err(type_mismatch(format!("column \"{}\" is of type {label}, not text", body.name)).set_hint(hint));
    }
    check_stored(body)
}

/// Refuses a column whose values are not stored in the rows.
pub fn check_stored(column: &Column) -> Result<()> {
    if column.generated != b'v' {
        return Ok(());
    }
    let message = format!("column \"{}\" is a virtual generated column", column.name);
    Err(not_supported(message).set_hint("Make the column STORED, because triggers do not see virtual columns."))
}
