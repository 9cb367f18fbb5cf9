//! The check of a side table by `minlsh_check()`: every difference between it and its table.

use pgrx::pg_sys::{Datum, Oid};
use sketch::ElementHash;

use crate::error::Result;
use crate::index::table_scan::Share;
use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::open_index::OpenIndex;
use crate::pg::output::Output;
use crate::pg::relation::{Lock, leaves};
use crate::pg::result_rows::ResultRows;
use crate::pg::rights::check_owner;
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::text;
use crate::pg::trigger::{Trigger, triggers};
use crate::side_table::sign::{each_document, sign};
use crate::side_table::storage::{DOC_ID, Storage, stored};
use crate::side_table::watch::{self, Watch};
use crate::side_table::{SideTable, find};

/// Takes a problem, and the key of the document that has it.
type Report<'a> = dyn FnMut(Option<Datum>, &str) + 'a;

/// Checks the side tables that a name stands for, each by its rows or a share of them; returns the indexes over their
/// bands, `None` if there is no side table.
pub fn check(name: Oid, share: Option<Share>, result: &ResultRows) -> Result<Option<Vec<Oid>>> {
    let mut indexes = Vec::new();
    let all = find::all(name, Lock::Read);
    if all.is_empty() {
        return Ok(None);
    }
    for found in all {
        check_owner(found.documents)?;
        match found.side {
            Err(report) => result.push(&[None, Some(text::write(report.message()))]),
            Ok(side) => {
                indexes.push(side.index);
                let output = Output::of(side.key.type_oid);
                let mut report = |key: Option<Datum>, problem: &str| {
                    // SAFETY: the key of a document.
                    let key = key.map(|key| unsafe { output.text(key) });
                    result.push(&[key, Some(text::write(problem))]);
                };
                structure(&side, &found.watch, &mut report)?;
                documents(&side, share, &mut report)?;
            }
        }
    }
    Ok(Some(indexes))
}

/// Checks the index as a whole; its problems have no key.
fn structure(side: &SideTable, watch: &Watch, report: &mut Report) -> Result<()> {
    let (Some(documents), Some(storage)) =
        (Open::relation(side.table.oid, Lock::Held), Open::relation(side.storage, Lock::Held))
    else {
        return Ok(());
    };
    if documents.class().relpersistence != storage.class().relpersistence {
        report(None, "only one of the table and the side table is logged");
    }
    let parts = leaves(&side.table, Lock::Read).into_iter().map(|leaf| leaf.oid);
    let parts = parts.filter(|part| *part != documents.oid());
    let tables = [documents.oid(), storage.oid()].into_iter().chain(parts);
    let mut own = 0;
    for table in tables.filter_map(|table| Open::relation(table, Lock::Held)) {
        let is_storage = table.oid() == storage.oid();
        let ours = triggers(&table).into_iter().filter(|trigger| {
            let is_of_side = is_storage || trigger.tied_to == Some(side.storage);
            trigger.function == watch.trigger.function && (is_of_side || trigger.is_truncate())
        });
        for trigger in ours {
            own += usize::from(!trigger.is_copy && (is_storage || !trigger.is_truncate()));
            // TRUNCATE of the side table is not replicated beside that of the table.
            if let Some(fault) = trigger.fault(!(is_storage && trigger.is_truncate())) {
                let (name, table) = (trigger.name.to_string_lossy(), table.name());
                report(None, &format!("trigger \"{name}\" of table \"{table}\" {fault}"));
            }
        }
    }
    // For written rows and for those that other triggers change, and of the side table for rows and for TRUNCATE.
    let truncate =
        |trigger: &Trigger| trigger.function == watch.trigger.function && trigger.is_truncate();
    if own < 4 || !triggers(&documents).iter().any(truncate) {
        report(None, "a trigger is missing");
    }
    if watch::key_index(&documents, watch.key, Lock::Read).is_none() || !side.key.not_null {
        report(None, &format!("column \"{}\" is no longer a key of the table", side.key.name));
    }
    Ok(())
}

/// Signs every document, or a share of them, again and compares.
fn documents(side: &SideTable, share: Option<Share>, report: &mut Report) -> Result<()> {
    let storage = side.open()?;
    if let Err(outdated) = storage.check_current() {
        report(None, outdated.message());
    }
    let snapshot = Snapshot::statement();
    let columns = (side.key.raw_name.as_c_str(), side.body.raw_name.as_c_str());
    let mut memory = Memory::scratch(c"minlsh check");
    let output = Output::of(side.key.type_oid);
    let wanted = |key: Datum| share.is_none_or(|share| has(share, &output, key));
    each_document(&side.table, columns, &snapshot, &mut |key, body| {
        memory.run_and_reset(|| {
            if !wanted(key) {
                return Ok(());
            }
            // SAFETY: the column was found to be stored as text is.
            let expected = body.map(|body| unsafe { sign(&side.options, body) });
            let expected = expected.transpose()?.flatten();
            let (mut found, mut problem) = (false, None);
            let compare = |row: &Row| {
                found = true;
                problem = match (&expected, stored(row)) {
                    (None, _) => Some("indexed, but without shingles"),
                    (Some(expected), Ok(Some((_, signature, _))))
                        if expected.signature != signature =>
                    {
                        Some("signature differs from the text")
                    }
                    (Some(expected), Ok(Some((_, _, bands)))) if expected.bands != bands => {
                        Some("bands differ from the signature")
                    }
                    (Some(_), Ok(Some(_))) => None,
                    (Some(_), _) => Some("row without signature or bands"),
                };
                Ok(Continue::No)
            };
            // SAFETY: a key of the documents, for whose type the side table was opened.
            unsafe { storage.of_document(key, &snapshot, compare)? };
            if !found && expected.is_some() {
                problem = Some("missing from the index");
            }
            if let Some(problem) = problem {
                report(Some(key), problem);
            }
            Ok(())
        })
    })?;
    superfluous(side, &storage, &snapshot, &wanted, report)
}

/// True if a key is of a share.
fn has(share: Share, output: &Output, key: Datum) -> bool {
    // SAFETY: a key of the type that the output is for, looked at and forgotten.
    share.has(ElementHash::Xxh3.hash(unsafe { output.written(key) }.as_bytes()))
}

/// Reports the rows of documents that are not in the table, of those `wanted`.
fn superfluous(
    side: &SideTable,
    storage: &Storage,
    snapshot: &Snapshot,
    wanted: &dyn Fn(Datum) -> bool,
    report: &mut Report,
) -> Result<()> {
    let leaves: Vec<(Open, OpenIndex)> = leaves(&side.table, Lock::Read)
        .into_iter()
        .filter_map(|leaf| {
            let key = leaf.column_called(&side.key.raw_name)?.number;
            let open = Open::relation(leaf.oid, Lock::Held)?;
            let index = watch::key_index(&open, key, Lock::Read)?;
            Some((open, index))
        })
        .collect();
    let mut memory = Memory::scratch(c"minlsh check");
    storage.rows.table.each(snapshot, |row| {
        memory.run_and_reset(|| {
            let Some(key) = row.value(DOC_ID) else {
                report(None, "a row of the side table has no key");
                return Ok(Continue::Yes);
            };
            if !wanted(key) {
                return Ok(Continue::Yes);
            }
            let mut found = false;
            for (leaf, index) in &leaves {
                let find = |_: &Row| {
                    found = true;
                    Ok(Continue::No)
                };
                // SAFETY: a key of the side table, of the type that the documents' keys have.
                unsafe { index.each_equal(leaf, key, snapshot, find) }?;
            }
            if !found {
                report(Some(key), "indexed, but not in the table");
            }
            Ok(Continue::Yes)
        })
    })
}
