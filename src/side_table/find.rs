//! Finds side tables: by the [records](Record) of the documents, or by `pg_depend` from the side table.

use crate::pg::catalog::table_of_index;
use crate::pg::dependency;
use crate::pg::relation::{self};
use crate::pg::rights::check_owner_before;
use crate::pg::trigger::Record;
use crate::prelude::*;
use crate::side_table::sign::check_body;
use crate::side_table::storage::Storage;
use crate::side_table::{SYNC, SideTable};

/// The records of a table, without records of its partitioned table.
fn records(documents: &Open) -> Vec<Record> {
    let mut records = Record::all(documents, SYNC);
    records.retain(|record| !record.is_copy);
    records
}

/// The table whose documents are in `storage`, locked and open, and its record; `None` if `storage` is not a side
/// table.
pub fn documents_of(storage: Oid, lock: Lock) -> Option<(Open, Record)> {
    dependency::tables_tied_to(storage).into_iter().find_map(|table| {
        let documents = Open::relation(table, lock)?;
        let mut records = records(&documents).into_iter();
        let record = records.find(|record| record.beside == storage)?;
        Some((documents, record))
    })
}

/// A side table that may be unsound.
pub struct FoundSideTable {
    pub documents: Oid,
    pub record: Record,
    pub side: Result<SideTable>,
}

impl SideTable {
    /// The side tables of a table, or the side table that `relation` is, itself or as the index on its signatures.
    /// Locks them (ACCESS SHARE).
    ///
    /// # Errors
    /// SQLSTATE 55000 if there are side tables, but none is sound.
    pub fn find(relation: Oid) -> Result<Vec<Self>> {
        let (mut sound, mut outcome) = (Vec::new(), Ok(()));
        for found in all(relation, Lock::Read) {
            match found.side {
                Ok(side) => sound.push(side),
                Err(report) => outcome = Err(report),
            }
        }
        if sound.is_empty() { outcome.map(|()| sound) } else { Ok(sound) }
    }
}

/// The side tables of a table, or the side table that `relation` is, sound or not.
pub fn all(relation: Oid, lock: Lock) -> Vec<FoundSideTable> {
    // As DROP does, the table before its index, which avoids deadlocks.
    let table = table_of_index(relation);
    if table != Oid::INVALID && !relation::lock(table, lock) {
        return Vec::new();
    }
    let Some(opened) = Open::relation(relation, lock) else { return Vec::new() };
    let storage = match opened.class().relkind as u8 {
        b'i' => {
            drop(opened);
            table
        }
        _ => {
            let found: Vec<FoundSideTable> =
                records(&opened).into_iter().map(|record| describe(&opened, record)).collect();
            if !found.is_empty() {
                return found;
            }
            relation
        }
    };
    let Some((documents, record)) = documents_of(storage, lock) else { return Vec::new() };
    let found = describe(&documents, record);
    match &found.side {
        // Another index on the side table is not minlsh's.
        Ok(side) if relation != storage && relation != side.index => Vec::new(),
        _ => vec![found],
    }
}

fn describe(documents: &Open, record: Record) -> FoundSideTable {
    FoundSideTable { documents: documents.oid(), side: side_table(documents, &record), record }
}

fn side_table(documents: &Open, record: &Record) -> Result<SideTable> {
    let gone = || {
        let name = regclass_literal(record.beside);
        wrong_state(format!("the columns of side table {name} are not in table \"{}\"", documents.name()))
    };
    let table = Relation::open(documents.oid(), Lock::Held).ok_or_else(gone)?;
    let column = |number: i16| table.column(number).cloned().ok_or_else(gone);
    let (key, body) = (column(record.key())?, column(record.last())?);
    // The table's owner can create a trigger that names any two columns.
    check_body(&body)?;
    let storage = Storage::open(record.beside, documents, key.type_oid, Lock::Read)?;
    let (index, options) = (storage.signature_index().oid(), storage.options.clone());
    Ok(SideTable { table, storage: record.beside, index, key, body, options })
}

/// The named side table: by itself, by the index on its signatures, or by its table if there is only one. It may be
/// unsound.
pub fn the_only(name: Oid) -> Result<FoundSideTable> {
    check_owner_before(name)?;
    let mut found = all(name, Lock::Read);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(missing(name)),
        count => {
            let side_tables: Vec<String> = found.iter().map(|found| regclass_literal(found.record.beside)).collect();
            let table = relation_name(name);
            Err(invalid_parameter(format!("table \"{table}\" has {count} minlsh indexes"))
                .set_hint(format!("Name one of them: {}.", side_tables.join(", "))))
        }
    }
}

fn missing(name: Oid) -> SqlError {
    let relation = relation_name(name);
    if relation.is_empty() {
        return no_such_relation(name);
    }
    let hint = match table_of_index(name) {
        Oid::INVALID => {
            format!(
                "Create one with SELECT minlsh_create_side_table({}, 'column'), or use REINDEX INDEX or DROP INDEX \
                 for an index of type minlsh.",
                regclass_literal(name)
            )
        }
        _ => "Use DROP INDEX or REINDEX INDEX for an index of type minlsh.".to_owned(),
    };
    undefined_object(format!("\"{relation}\" has no side table")).set_hint(hint)
}
