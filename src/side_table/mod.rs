//! Side tables: signatures and band hashes in rows beside a user's table, maintained by triggers. They are read and
//! written as relations, like TOAST tables, and never by SQL.
//!
//! There is no registry. A side table is found by the [`Record`](crate::pg::trigger::Record) among the triggers of its
//! documents, and the index on its signatures has the options. Before it is read or written, [`storage`] checks it
//! under lock.

pub mod check;
pub mod commands;
mod find;
pub mod search;
pub mod sign;
mod storage;
mod sync;

use std::ffi::CStr;
use std::rc::Rc;

use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::options::IndexOptions;
use crate::pg::relation::Column;
use crate::prelude::*;

pub use self::find::documents_of;
use self::storage::Storage;
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
