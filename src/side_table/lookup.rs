//! A side table that was found to be sound, and what it has of documents.

use std::rc::Rc;

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, error, wrong_state};
use crate::options::IndexOptions;
use crate::pg::array;
use crate::pg::memory::Memory;
use crate::pg::names::regclass_literal;
use crate::pg::open::Open;
use crate::pg::relation::{Column, Lock, Relation};
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::row_key::Key;
use crate::side_table::storage::{Storage, StoredSketch, stored};

/// A side table that was opened under lock and found to be sound.
#[derive(Clone, Debug)]
pub struct SideTable {
    /// The user's table.
    pub table: Relation,
    /// The side table.
    pub storage: Oid,
    /// The index over its bands, which has the options.
    pub index: Oid,
    /// The key column of the user's table.
    pub key: Column,
    /// The text column of the user's table.
    pub body: Column,
    /// How documents are cut, signed and banded.
    pub options: Rc<IndexOptions>,
}

/// Visits `(key, signature, bands)` of a document.
pub type Visit<'a> = dyn FnMut(Datum, &[i32], &[i64]) -> Result<()> + 'a;

impl SideTable {
    /// The key of the documents.
    pub fn row_key(&self) -> Result<Key> {
        Key::of_column(self.table.oid, self.key.number).ok_or_else(|| {
            wrong_state(format!(
                "column \"{}\" of table \"{}\" is no longer unique",
                self.key.name, self.table.name
            ))
            .set_hint(format!(
                "Give it a unique constraint again, or drop the side table with \
                 SELECT minlsh_drop_index({});",
                regclass_literal(self.storage)
            ))
        })
    }

    /// What is stored of the document with that key (of the key's base type).
    pub fn get(&self, key: Datum) -> Result<Option<StoredSketch>> {
        let storage = self.open()?;
        let mut found = None;
        storage.of_document(key, &Snapshot::statement(), |row| {
            found = stored(row)?.map(|(_, signature, bands)| StoredSketch {
                signature: signature.to_vec(),
                bands: bands.to_vec(),
            });
            Ok(Continue::No)
        })?;
        Ok(found)
    }

    /// Calls `visit(key, signature, bands)` with each document that has one of `bands`, once.
    pub fn candidates(&self, bands: &[i64], visit: &mut Visit) -> Result<()> {
        let storage = self.open()?;
        if bands.is_empty() || self.is_emptied(&storage) {
            return Ok(());
        }
        // Part of a hash is enough for the index: it gives rows that have none of the bands, too.
        let mut wanted = bands.to_vec();
        wanted.sort_unstable();
        let operator = (1, Oid::from(pg_sys::F_ARRAYOVERLAP));
        let (value, snapshot) = (array::write_int8(bands), Snapshot::statement());
        let mut memory = Memory::child(c"minlsh candidate");
        let visit = |row: &Row| {
            memory.run_and_reset(|| {
                visit_row(row, &mut |key, signature, bands| {
                    if bands.iter().any(|band| wanted.binary_search(band).is_ok()) {
                        visit(key, signature, bands)?;
                    }
                    Ok(())
                })
            })
        };
        // SAFETY: the operator of the index over the bands, a bigint[], takes another one.
        unsafe {
            storage.bands_index().each_match(&storage.table, operator, value, &snapshot, visit)
        }
    }

    /// Opened again, and checked again: a caller may have altered it since.
    pub(super) fn open(&self) -> Result<Storage> {
        let documents = Open::relation(self.table.oid, Lock::Read).ok_or_else(|| {
            wrong_state(format!("table \"{}\" does not exist any more", self.table.name))
        })?;
        let storage = Storage::open(self.storage, &documents, self.key.type_oid, Lock::Read)?;
        if storage.table.is_older_than(&Snapshot::statement()) {
            return Ok(storage);
        }
        let message = format!(
            "side table \"{}\" was built after the snapshot of this transaction",
            storage.table.name()
        );
        Err(error(PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE, message)
            .set_detail("The snapshot does not see what is in it.")
            .set_hint("Try again in a new transaction."))
    }

    /// Whether COMMIT has emptied a temporary table (ON COMMIT DELETE ROWS fires no trigger): then
    /// it has no page, and what the side table has is left over.
    pub(super) fn is_emptied(&self, storage: &Storage) -> bool {
        self.table.is_temporary()
            && !self.table.is_partitioned()
            && storage.table.pages() > 0
            && Open::relation(self.table.oid, Lock::Read).is_some_and(|table| table.pages() == 0)
    }
}

fn visit_row(row: &Row, visit: &mut Visit) -> Result<Continue> {
    if let Some((key, signature, bands)) = stored(row)? {
        visit(key, signature, bands)?;
    }
    Ok(Continue::Yes)
}
