//! The check of a side table by `minlsh_check()`: all differences between it and its table.

use sketch::ElementHash;

use crate::index::table_scan::Share;
use crate::pg::relation::leaves;
use crate::pg::rights::check_owner;
use crate::pg::table::OpenIndex;
use crate::pg::trigger::{Record, triggers};
use crate::pg::value_type::Output;
use crate::prelude::*;
use crate::side_table::commands::own_triggers;
use crate::side_table::sign::{each_document, sign_text};
use crate::side_table::storage::{DOC_ID, check_current, stored};
use crate::side_table::{SYNC, SideTable, find};

/// Receives a problem, with the key of its document.
type ReportProblem<'a> = dyn FnMut(Option<TypedValue>, &str) + 'a;

/// Checks the side tables that a name stands for, with all rows or a share of them. Returns the indexes on their bands;
/// `None` if there is no side table.
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
                let mut report = |key: Option<TypedValue>, problem: &str| {
                    result.push(&[key.map(|key| output.text(key)), Some(text::write(problem))]);
                };
                structure(&side, &found.record, &mut report);
                rows(&side, share, &mut report)?;
            }
        }
    }
    Ok(Some(indexes))
}

/// Checks the side table as a whole; its problems have no key.
fn structure(side: &SideTable, record: &Record, report: &mut ReportProblem) {
    let parts = leaves(&side.table, Lock::Read).into_iter().map(|leaf| leaf.oid);
    let parts = parts.filter(|part| *part != side.table.oid);
    let tables = [side.table.oid, side.storage].into_iter().chain(parts);
    let tables: Vec<Open> = tables.filter_map(|oid| Open::relation(oid, Lock::Held)).collect();
    let [documents, storage, ..] = &tables[..] else { return };
    if documents.class().relpersistence != storage.class().relpersistence {
        report(None, "only one of the table and the side table is logged");
    }
    for table in &tables {
        let is_storage = table.oid() == side.storage;
        let ours = triggers(table).into_iter();
        for trigger in ours.filter(|t| record.is_followed_by(t) || is_storage && t.calls(SYNC)) {
            // Logical replication does not replicate TRUNCATE of the side table in addition to its documents'.
            let fault = trigger.fault(&table.name(), !(is_storage && trigger.is_truncate()));
            fault.iter().for_each(|fault| report(None, fault));
        }
    }
    // Three triggers of the documents, and two of the side table.
    if own_triggers(documents, record).len() + own_triggers(storage, record).len() < 5 {
        report(None, "a trigger is missing");
    }
    if documents.key_index(record.key(), Lock::Read).is_none() || !side.key.not_null {
        report(None, &format!("column \"{}\" is no longer a key of the table", side.key.name));
    }
}

/// Signs every document or a share of them again, and compares. Then finds rows without a document.
fn rows(side: &SideTable, share: Option<Share>, report: &mut ReportProblem) -> Result<()> {
    let storage = side.open()?;
    if let Err(outdated) = check_current(side.storage, &storage.options) {
        report(None, outdated.message());
    }
    let snapshot = Snapshot::statement();
    let columns = (side.key.raw_name.as_c_str(), side.body.raw_name.as_c_str());
    let mut memory = Memory::scratch(c"minlsh check");
    let output = Output::of(side.key.type_oid);
    let is_wanted = |key: TypedValue| {
        let Some(share) = share else { return Ok(true) };
        output.with_text(key, |key| Ok(share.has(ElementHash::Xxh3.hash(key.as_bytes()))))
    };
    each_document(&side.table, columns, &snapshot, &mut |key, body| {
        memory.run_and_reset(|| {
            if !is_wanted(key)? {
                return Ok(());
            }
            let expected = body.map(|body| sign_text(&side.options, &body.utf8()?));
            let expected = expected.transpose()?.flatten();
            let compare = |row: &Row| {
                Ok(match (&expected, stored(row)) {
                    (None, _) => Some("indexed, but without shingles"),
                    (Some(expected), Ok(Some((_, signature, bands)))) => {
                        let is_same = expected.signature == signature && expected.bands == bands;
                        (!is_same).then_some("signature or bands differ from the text")
                    }
                    (Some(_), _) => Some("row without signature or bands"),
                })
            };
            let missing = expected.as_ref().map(|_| "missing from the index");
            if let Some(problem) = storage.of_document(key, &snapshot, compare)?.unwrap_or(missing) {
                report(Some(key), problem);
            }
            Ok(())
        })
    })?;
    let leaves = leaves(&side.table, Lock::Read).into_iter().filter_map(|leaf| {
        let key = leaf.column_called(&side.key.raw_name)?.number;
        let open = Open::relation(leaf.oid, Lock::Held)?;
        let index = open.key_index(key, Lock::Read)?;
        Some((open, index))
    });
    let leaves: Vec<(Open, OpenIndex)> = leaves.collect();
    storage.rows.table.each(&snapshot, |row| {
        memory.run_and_reset(|| {
            let Some(key) = row.get(DOC_ID) else {
                report(None, "a row of the side table has no key");
                return Ok(());
            };
            let mut is_superfluous = is_wanted(key)?;
            for (leaf, index) in &leaves {
                is_superfluous &= index.equal_row(leaf, key, &snapshot, |_| Ok(()))?.is_none();
            }
            if is_superfluous {
                report(Some(key), "indexed, but not in the table");
            }
            Ok(())
        })
    })
}
