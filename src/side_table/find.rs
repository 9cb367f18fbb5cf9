//! Finding side tables: through the triggers of the documents, or backwards through `pg_depend`.

use pgrx::pg_sys::Oid;

use crate::error::Result;
use crate::pg::catalog::table_of_index;
use crate::pg::names::regclass_literal;
use crate::pg::open::Open;
use crate::pg::relation::{Lock, Relation};
use crate::side_table::SideTable;
use crate::side_table::storage::Storage;
use crate::side_table::watch::{self, Watch};

/// Whether a table is the side table of another, sound or not.
pub fn is_one(table: Oid) -> bool {
    watch::documents_of(table, Lock::Read).is_some()
}

/// A side table that may be unsound.
pub struct FoundSideTable {
    /// The table of the documents.
    pub documents: Oid,
    pub watch: Watch,
    pub side: Result<SideTable>,
}

impl SideTable {
    /// The side tables of a table, or the one that `relation` is (by itself, or by the index of
    /// its signatures); none if it is nothing of the kind. Locks what it finds (ACCESS SHARE).
    ///
    /// # Errors
    /// SQLSTATE 55000 if there are some, but none that is sound.
    pub fn find(relation: Oid) -> Result<Vec<Self>> {
        let mut broken = None;
        let mut sound = Vec::new();
        for found in all(relation, Lock::Read) {
            match found.side {
                Ok(side) => sound.push(side),
                Err(report) => broken = Some(report),
            }
        }
        match broken {
            Some(report) if sound.is_empty() => Err(report),
            _ => Ok(sound),
        }
    }
}

/// The side tables of a table, or the one that `relation` is, sound or not.
pub fn all(relation: Oid, lock: Lock) -> Vec<FoundSideTable> {
    let Some(opened) = Open::relation(relation, lock) else { return Vec::new() };
    let storage = match opened.class().relkind as u8 {
        b'i' => {
            drop(opened);
            table_of_index(relation)
        }
        _ => {
            let found: Vec<FoundSideTable> =
                watch::watches(&opened).into_iter().map(|watch| describe(&opened, watch)).collect();
            if !found.is_empty() {
                return found;
            }
            relation
        }
    };
    let Some((documents, watch)) = watch::documents_of(storage, lock) else { return Vec::new() };
    let found = describe(&documents, watch);
    match &found.side {
        // Another index of the side table is nothing of ours.
        Ok(side) if relation != storage && relation != side.index => Vec::new(),
        _ => vec![found],
    }
}

fn describe(documents: &Open, watch: Watch) -> FoundSideTable {
    FoundSideTable { documents: documents.oid(), side: side_table(documents, &watch), watch }
}

fn side_table(documents: &Open, watch: &Watch) -> Result<SideTable> {
    let gone = || {
        let name = regclass_literal(watch.storage);
        crate::error::wrong_state(format!(
            "the columns of side table {name} are not in table \"{}\"",
            documents.name()
        ))
    };
    let table = Relation::open(documents.oid(), Lock::Held).ok_or_else(gone)?;
    let column = |number: i16| table.column(number).cloned().ok_or_else(gone);
    let (key, body) = (column(watch.key)?, column(watch.body)?);
    let storage = Storage::open(watch.storage, documents, key.type_oid, Lock::Read)?;
    let (index, options) = (storage.signature_index().oid(), storage.options.clone());
    Ok(SideTable { table, storage: watch.storage, index, key, body, options })
}
