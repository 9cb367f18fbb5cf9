//! Side tables: signatures and band hashes as rows beside a user's table, kept by triggers, and
//! read and written as relations (as TOAST tables are), never by SQL.

use std::rc::Rc;

use pgrx::pg_sys::{Datum, Oid};

use crate::am::options::Settings;
use crate::error::{Result, wrong_state};
use crate::pg::relation::{Column, Relation};

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
pub struct Stored {
    /// The signature, packed as the option slot_bits says.
    pub signature: Vec<i32>,
    /// The band hashes.
    pub bands: Vec<i64>,
}

impl SideTable {
    /// The side tables of a table, or the one that `relation` is (by itself, or by the index over
    /// its bands); none if it is nothing of the kind. Locks what it finds (ACCESS SHARE).
    ///
    /// # Errors
    /// SQLSTATE 55000 if `relation` is itself a side table that is not sound.
    pub fn find(_relation: Oid) -> Result<Vec<Self>> {
        Err(wrong_state("not there yet"))
    }

    /// What is stored of the document with that key (of the key's base type).
    pub fn get(&self, _key: Datum) -> Result<Option<Stored>> {
        Err(wrong_state("not there yet"))
    }

    /// Calls `visit(key, signature, bands)` with each document that has one of `bands`, once.
    pub fn candidates(
        &self,
        _bands: &[i64],
        _visit: &mut dyn FnMut(Datum, &[i32], &[i64]) -> Result<()>,
    ) -> Result<()> {
        Err(wrong_state("not there yet"))
    }

    /// Calls `visit(key, signature, bands)` with each document.
    pub fn each(&self, _visit: &mut dyn FnMut(Datum, &[i32], &[i64]) -> Result<()>) -> Result<()> {
        Err(wrong_state("not there yet"))
    }
}
