//! The tables of tracked clusters under lock, found to be what they must be. Whoever owns them can alter
//! them: they are trusted for the types of their columns and their indexes, and for nothing else.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, wrong_state};
use crate::pg::catalog::base_type;
use crate::pg::ffi;
use crate::pg::open::Open;
use crate::pg::open_index::OpenIndex;
use crate::pg::relation::{Column, Lock, owner_of};
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::text;

/// What the names of the tables end in, behind that of the members.
pub const LIST: &str = "_list";
pub const LOG: &str = "_log";
pub const QUEUE: &str = "_queue";

/// Columns by number.
pub mod members {
    pub const DOC_ID: i16 = 1;
    pub const CLUSTER: i16 = 2;
    pub const FINGERPRINT: i16 = 3;
}
pub mod list {
    pub const CLUSTER: i16 = 1;
    pub const SIZE: i16 = 2;
    pub const SINCE: i16 = 3;
}
mod queue {
    pub const DOC_ID: i16 = 1;
    pub const STATE: i16 = 2;
}

/// An open table with its indexes, which is written as a relation.
pub struct Table {
    open: Open,
    indexes: Vec<OpenIndex>,
}

impl Table {
    /// Opens a table whose columns must be of these types.
    fn open(oid: Oid, lock: Lock, columns: &[Oid], owner: Oid) -> Result<Self> {
        let Some(open) = Open::relation(oid, lock) else {
            return Err(wrong_state("a table of the tracked clusters does not exist").set_hint(
                "Drop the others with minlsh_untrack_clusters(), and track them again.",
            ));
        };
        if open.class().relowner != owner {
            return Err(wrong_state(format!(
                "table \"{}\" is not owned by the owner of the documents",
                open.name()
            ))
            .set_hint("ALTER TABLE ... OWNER TO gives it the same owner."));
        }
        check_columns(&open, columns)?;
        let indexes = open.indexes(if lock == Lock::Alone { Lock::Write } else { lock });
        let is_plain = |index: &OpenIndex| index.is_plain() && index.form().indimmediate;
        if !indexes.iter().all(is_plain) {
            let detail =
                "It has an index with an expression, a condition or a deferred constraint.";
            return Err(altered(&open, detail));
        }
        Ok(Self { open, indexes })
    }

    /// The index that tells rows apart by a column.
    fn key(&self, column: i16) -> Result<&OpenIndex> {
        let key = |index: &&OpenIndex| index.is_key() && index.only_column() == Some(column);
        self.indexes.iter().find(key).ok_or_else(|| altered(&self.open, "It has no primary key."))
    }

    /// Calls `visit` with each row.
    pub fn each(
        &self,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        self.open.each(snapshot, visit)
    }

    /// Calls `visit` with the row of a key in column `column`, if there is one.
    ///
    /// # Safety
    /// `key` is a non-null value of the column's type.
    pub unsafe fn of_key(
        &self,
        column: i16,
        key: Datum,
        snapshot: &Snapshot,
        mut visit: impl FnMut(&Row) -> Result<()>,
    ) -> Result<bool> {
        let mut found = false;
        // SAFETY: the caller's promise, and an index of this table.
        unsafe {
            self.key(column)?.each_equal(&self.open, key, snapshot, |row| {
                found = true;
                visit(row)?;
                Ok(Continue::No)
            })?;
        }
        Ok(found)
    }

    /// Inserts a row: a value for each column, of its type.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn insert(&self, values: &[Option<Datum>]) {
        let row = Row::empty(&self.open);
        // SAFETY: the caller's promise.
        unsafe { row.put(values) };
        self.open.insert(&row, &self.indexes);
    }

    /// Puts a row in the place of one of this table.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn update(&self, old: &Row, values: &[Option<Datum>]) {
        let row = Row::empty(&self.open);
        // SAFETY: the caller's promise.
        unsafe { row.put(values) };
        self.open.update(old, &row, &self.indexes);
    }

    /// Deletes a row of this table.
    pub fn delete(&self, row: &Row) {
        self.open.delete(row);
    }
}

fn check_columns(table: &Open, expected: &[Oid]) -> Result<()> {
    let mut sound = table.class().relkind as u8 == b'r'
        && table.attributes().count() == expected.len()
        && !table.class().relhassubclass
        && !table.class().relispartition;
    for (attribute, expected) in table.attributes().zip(expected) {
        let plain = !attribute.attisdropped && attribute.attgenerated == 0;
        sound &= plain && attribute.atttypid == *expected;
    }
    if sound {
        return Ok(());
    }
    Err(altered(table, "Its columns are not those that minlsh_track_clusters() has made."))
}

fn altered(table: &Open, detail: &str) -> ErrorReport {
    wrong_state(format!("table \"{}\" has been altered", table.name()))
        .set_detail(detail)
        .set_hint("Drop it with minlsh_untrack_clusters(), and track the clusters again.")
}

/// The queue: keys, and a row of state.
pub struct Queue(Table);

/// What a row of the queue is.
pub enum Entry<'a> {
    /// The row of a key was written.
    Key(Datum),
    /// The documents were truncated.
    Truncated,
    /// The state.
    State(&'a str),
}

impl Queue {
    /// Opens the queue of open documents, or of a partition of them, to note a key; `None` if it does not belong to
    /// their owner, who then is the only one to learn of it: when refreshing.
    pub fn to_write(oid: Oid, documents: &Open) -> Result<Option<Self>> {
        let owner = owner_of(oid);
        if owner == Oid::INVALID || !belongs_to(owner, documents) {
            return Ok(None);
        }
        let Some(open) = Open::relation(oid, Lock::Write) else { return Ok(None) };
        let columns = open.attributes().count();
        let is_text = open.attributes().nth(1).is_some_and(|a| a.atttypid == pg_sys::TEXTOID);
        if open.class().relkind as u8 != b'r' || columns != 2 || !is_text {
            return Err(altered(
                &open,
                "Its columns are not those that minlsh_track_clusters() has made.",
            ));
        }
        let indexes = open.indexes(Lock::Write);
        if !indexes.iter().all(|index| index.is_plain() && index.form().indimmediate) {
            return Err(altered(&open, "It has an index with an expression or a condition."));
        }
        Ok(Some(Self(Table { open, indexes })))
    }

    /// Refuses keys of another type than those of the queue.
    pub fn check_key(&self, documents: &Open, key: &Column) -> Result<()> {
        let mut attributes = self.0.open.attributes();
        let stored =
            attributes.next().map(|attribute| (attribute.atttypid, attribute.attisdropped));
        if stored == Some((base_type(key.type_oid), false)) {
            return Ok(());
        }
        Err(wrong_state(format!(
            "the key of table \"{}\" is not of the type that queue \"{}\" is of",
            documents.name(),
            self.0.open.name()
        ))
        .set_hint("Drop what is tracked with minlsh_untrack_clusters(), and track it again."))
    }

    /// Adds a key, or that the documents were truncated. The key is of the type that `check_key` has found.
    pub fn note(&self, key: Option<Datum>) {
        // SAFETY: values of the columns' types.
        unsafe { self.0.insert(&[key, None]) };
    }

    /// Puts the state there.
    pub fn put_state(&self, state: &str) {
        // SAFETY: values of the columns' types.
        unsafe { self.0.insert(&[None, Some(text::write(state))]) };
    }

    /// Calls `visit` with each entry and its row.
    pub fn each(
        &self,
        snapshot: &Snapshot,
        visit: &mut dyn FnMut(Entry, &Row) -> Result<()>,
    ) -> Result<()> {
        self.0.each(snapshot, |row| {
            let entry = match (row.value(queue::DOC_ID), row.value(queue::STATE)) {
                // SAFETY: checked to be a text.
                (_, Some(state)) => Entry::State(unsafe { text::read(state)? }),
                (Some(key), None) => Entry::Key(key),
                (None, None) => Entry::Truncated,
            };
            visit(entry, row)?;
            Ok(Continue::Yes)
        })
    }

    /// Deletes one of its rows.
    pub fn delete(&self, row: &Row) {
        self.0.delete(row);
    }
}

/// A partition may belong to somebody else than the partitioned table, to which the queue belongs.
fn belongs_to(owner: Oid, documents: &Open) -> bool {
    if documents.class().relowner == owner {
        return true;
    }
    documents.class().relispartition
        && ffi::partition_ancestors(documents.oid())
            .into_iter()
            .any(|table| owner_of(table) == owner)
}

/// All tables, for a refresh.
pub struct Tables {
    pub members: Table,
    pub list: Table,
    pub log: Table,
    pub queue: Queue,
}

/// Which relations they are.
#[derive(Clone, Copy, Debug)]
pub struct Oids {
    pub members: Oid,
    pub list: Oid,
    pub log: Oid,
    pub queue: Oid,
}

impl Tables {
    /// Opens them; a refresh, which writes, waits for another one. `key` is the type of the documents' keys.
    pub fn open(oids: Oids, key: Oid, owner: Oid, lock: Lock) -> Result<Self> {
        const INT8: Oid = pg_sys::INT8OID;
        const TIME: Oid = pg_sys::TIMESTAMPTZOID;
        let read = lock == Lock::Read;
        let (alone, write) = if read { (lock, lock) } else { (Lock::Alone, Lock::Write) };
        let list = Table::open(oids.list, alone, &[INT8, INT8, TIME, INT8], owner)?;
        let members = Table::open(oids.members, alone, &[key, INT8, pg_sys::BYTEAOID], owner)?;
        let event = [INT8, INT8, TIME, pg_sys::TEXTOID, INT8, INT8, key, INT8];
        let log = Table::open(oids.log, write, &event, owner)?;
        let queue = Queue(Table::open(oids.queue, write, &[key, pg_sys::TEXTOID], owner)?);
        Ok(Self { members, list, log, queue })
    }
}
