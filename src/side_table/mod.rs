//! Side tables: signatures and band hashes as rows beside a user's table, kept by triggers, and
//! read and written as relations (as TOAST tables are), never by SQL.
//!
//! There is no registry: an index is found through the triggers of its table ([`watch`]), and its
//! options are those of the index over the bands. Only what [`storage`] has found to be sound, under
//! lock, is read or written.

pub mod arguments;
mod build;
pub mod check;
mod create;
mod drop;
mod fill;
mod find;
mod owner;
mod reindex;
pub mod sign;
mod storage;
mod sync;
mod watch;

use std::rc::Rc;

use pgrx::PgSqlErrorCode;
use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::am::options::Settings;
use crate::error::{Result, error, wrong_state};
use crate::pg::array;
use crate::pg::relation::{Column, Lock, Relation};
use crate::pg::snapshot::Snapshot;
use crate::pg::table::{Continue, Open, Row};
use storage::{Storage, stored};

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
    pub settings: Rc<Settings>,
}

/// What a side table has of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The signature, packed as the option slot_bits says.
    pub signature: Vec<i32>,
    /// The band hashes.
    pub bands: Vec<i64>,
}

/// Visits `(key, signature, bands)` of a document.
pub type Visit<'a> = dyn FnMut(Datum, &[i32], &[i64]) -> Result<()> + 'a;

impl SideTable {
    /// The side tables of a table, or the one that `relation` is (by itself, or by the index over
    /// its bands); none if it is nothing of the kind. Locks what it finds (ACCESS SHARE).
    ///
    /// # Errors
    /// SQLSTATE 55000 if there are some, but none that is sound.
    pub fn find(relation: Oid) -> Result<Vec<Self>> {
        find::find(relation)
    }

    /// What is stored of the document with that key (of the key's base type).
    pub fn get(&self, key: Datum) -> Result<Option<Stored>> {
        let storage = self.open()?;
        let mut found = None;
        storage.of_document(key, &Snapshot::statement(), |row| {
            found = stored(row)?.map(|(_, signature, bands)| Stored {
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
        let mut memory = PgMemoryContexts::new("minlsh candidate");
        storage.bands_index().each_match(&storage.table, operator, value, &snapshot, |row| {
            in_memory(&mut memory, || {
                visit_row(row, &mut |key, signature, bands| {
                    if bands.iter().any(|band| wanted.binary_search(band).is_ok()) {
                        visit(key, signature, bands)?;
                    }
                    Ok(())
                })
            })
        })
    }

    /// Opened again, and checked again: a caller may have altered it since.
    fn open(&self) -> Result<Storage> {
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
    fn is_emptied(&self, storage: &Storage) -> bool {
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

/// Does `work` in a memory context that is emptied afterwards.
fn in_memory<T>(memory: &mut PgMemoryContexts, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // SAFETY: what is detoasted for a row is not used after it: `T` holds no pointer to it.
    unsafe {
        let result = memory.switch_to(|_| work());
        memory.reset();
        result
    }
}

/// A row as it is stored, in the current memory context.
fn row_of(key: Datum, signed: &Stored) -> [Datum; 3] {
    [key, array::write_int4(&signed.signature), array::write_int8(&signed.bands)]
}
