//! Side tables: signatures and band hashes in rows beside a user's table, maintained by triggers. They are read and
//! written as relations, like TOAST tables, and never by SQL.
//!
//! There is no registry. A side table is found by the [`Record`](crate::pg::trigger::Record) among the triggers of its
//! documents, and the index on its signatures has the options. Before it is read or written, [`storage`] checks it
//! under lock.

pub mod arguments;
pub mod check;
mod commands;
mod find;
pub mod sign;
mod storage;
mod sync;

use std::ffi::CStr;
use std::rc::Rc;

use crate::document::image::{Content, Document};
use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::options::{IndexOptions, Threshold};
use crate::pg::names::regclass_literal;
use crate::pg::relation::Column;
use crate::prelude::*;

pub use self::find::documents_of;
use self::storage::{Storage, stored};
pub use self::storage::{StoredSketch, check_current};

/// Name of the trigger function.
const SYNC: &CStr = c"minlsh_sync";

/// A side table that was opened under lock and found to be sound.
#[derive(Clone, Debug)]
pub struct SideTable {
    pub table: Relation,
    pub storage: Oid,
    /// The index on its signatures, which has the options.
    pub index: Oid,
    /// The key column of the user's table.
    pub key: Column,
    /// The text column of the user's table.
    pub body: Column,
    /// The options by which documents are split, signed and banded.
    pub options: Rc<IndexOptions>,
}

impl SideTable {
    /// The side table of an index; `None` unless the index is on a side table's signatures.
    ///
    /// # Errors
    /// SQLSTATE 55000 if it is unsound.
    pub fn of_index(info: &Info) -> Result<Option<Self>> {
        if info.kind != Kind::Signature {
            return Ok(None);
        }
        Ok(Self::find(info.index.oid)?.into_iter().next())
    }

    /// The error for a key that is no longer unique.
    pub fn no_key(&self) -> SqlError {
        wrong_state(format!("column \"{}\" of table \"{}\" is no longer unique", self.key.name, self.table.name))
            .set_hint(format!(
                "Add a unique constraint again, or drop the side table with SELECT minlsh_drop_side_table({});",
                regclass_literal(self.storage)
            ))
    }

    /// The signature of the document with key `key`.
    ///
    /// # Safety
    /// `key` is of the base type of [`Self::key`].
    pub unsafe fn signature(&self, key: Datum) -> Result<Option<Vec<i32>>> {
        let mut found = None;
        let visit = |row: &Row| {
            found = stored(row)?.map(|(_, signature, _)| memory::copied(signature));
            Ok(Continue::No)
        };
        // SAFETY: the caller promises a key of the type for which `open` opens the side table.
        unsafe { self.open()?.of_document(key, &Snapshot::statement(), visit)? };
        found.transpose().map_err(Into::into)
    }

    /// Calls `visit(key, signature)` with the results of the index on the signatures: documents that share a band with
    /// `signature`, among as many bands as the recall needs at `threshold`.
    pub fn candidates(
        &self,
        signature: &[i32],
        threshold: Threshold,
        visit: &mut dyn FnMut(Datum, &[i32]) -> Result<()>,
    ) -> Result<()> {
        let storage = self.open()?;
        let content = Content::of_slots(signature)?;
        let (value, snapshot) = (Document { threshold, content }.write(), Snapshot::statement());
        let (index, operator) = (storage.signature_index(), storage.operator);
        let mut memory = Memory::scratch(c"minlsh candidate");
        let visit = |row: &Row| {
            memory.run_and_reset(|| {
                if let Some((key, signature, _)) = stored(row)? {
                    visit(key, signature)?;
                }
                Ok(Continue::Yes)
            })
        };
        // SAFETY: the operator belongs to the index on the signatures: `integer[] ~= minlsh_document`.
        unsafe { index.each_match(&storage.rows.table, operator, value, &snapshot, visit) }
    }

    /// Opens and checks it again, because someone may have altered it.
    fn open(&self) -> Result<Storage> {
        let documents = Open::relation(self.table.oid, Lock::Read)
            .ok_or_else(|| wrong_state(format!("table \"{}\" no longer exists", self.table.name)))?;
        let storage = Storage::open(self.storage, &documents, self.key.type_oid, Lock::Read)?;
        if storage.rows.table.is_older_than(&Snapshot::statement()) {
            return Ok(storage);
        }
        let message =
            format!("side table \"{}\" was built after the snapshot of this transaction", storage.rows.table.name());
        Err(retry_later(message)
            .set_detail("The snapshot does not see its rows.")
            .set_hint("Try again in a new transaction."))
    }
}
