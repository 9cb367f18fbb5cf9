//! The tables of tracked clusters under lock, found to be what they must be. Whoever owns them can alter
//! them: they are trusted for the types of their columns and their indexes, and for nothing else.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, SqlError, wrong_state};
use crate::memory::of_entries;
use crate::pg::beside::{Beside, is_of_owner};
use crate::pg::bulk::Bulk;
use crate::pg::catalog::base_type;
use crate::pg::open::Open;
use crate::pg::open_index::{OpenIndex, Search};
use crate::pg::relation::{Column, Lock, owner_of};
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::text;

/// The endings of the names of the tables, behind that of the members.
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
pub mod log {
    pub const SEQ: i16 = 1;
    pub const EVENT: i16 = 4;
    pub const CLUSTER: i16 = 5;
    pub const OTHER: i16 = 6;
    pub const DOC_ID: i16 = 7;
}
mod queue {
    pub const DOC_ID: i16 = 1;
    pub const STATE: i16 = 2;
    pub const SINCE: i16 = 3;
}

/// One of the tables.
pub struct Table(Beside);

impl Table {
    /// Opens a table whose columns must be of these types.
    fn open(oid: Oid, lock: Lock, columns: &[Oid], owner: Oid) -> Result<Self> {
        let Some(open) = Open::relation(oid, lock) else {
            return Err(wrong_state("a table of the tracked clusters does not exist").set_hint(
                "Drop the others with minlsh_untrack_clusters(), and track the clusters again.",
            ));
        };
        if open.class().relowner != owner {
            return Err(wrong_state(format!(
                "table \"{}\" is not owned by the owner of the documents",
                open.name()
            ))
            .set_hint("Use ALTER TABLE ... OWNER TO to give it the same owner."));
        }
        Self::checked(open, lock, columns)
    }

    fn checked(open: Open, lock: Lock, columns: &[Oid]) -> Result<Self> {
        let name = open.name();
        if open.class().relhassubclass || open.class().relispartition {
            return Err(altered(&name, "It has inheritance children, or is a partition."));
        }
        Beside::checked(open, lock, columns).map(Self).map_err(|detail| altered(&name, detail))
    }

    /// Calls `visit` with each row.
    pub fn each(
        &self,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        self.0.table.each(snapshot, visit)
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
            self.key_index(column)?.each_equal(&self.0.table, key, snapshot, |row| {
                found = true;
                visit(row)?;
                Ok(Continue::No)
            })?;
        }
        Ok(found)
    }

    /// Begins to look up rows by their keys in column `column`.
    pub fn finder<'a>(&'a self, column: i16, snapshot: &'a Snapshot) -> Result<Finder<'a>> {
        let index = self.key_index(column)?;
        let equal = index.search_operator(pg_sys::BTEqualStrategyNumber as u16);
        // SAFETY: an index of this table, and its own operator.
        Ok(Finder(unsafe { Search::of(index, &self.0.table, equal, snapshot) }))
    }

    fn key_index(&self, column: i16) -> Result<&OpenIndex> {
        let missing = || altered(&self.0.table.name(), "It has no primary key.");
        self.0.key_index(column).ok_or_else(missing)
    }

    /// True if there is a row whose key in column `column` is that or a greater one.
    ///
    /// # Safety
    /// `key` is a non-null value of the column's type.
    pub unsafe fn has_from(&self, column: i16, key: Datum, snapshot: &Snapshot) -> Result<bool> {
        let index = self.key_index(column)?;
        let from = index.search_operator(pg_sys::BTGreaterEqualStrategyNumber as u16);
        let mut found = false;
        // SAFETY: the caller's promise, an index of this table, and an operator of it.
        unsafe {
            index.each_match(&self.0.table, from, key, snapshot, |_| {
                found = true;
                Ok(Continue::No)
            })?;
        }
        Ok(found)
    }

    /// Calls `visit` with the rows that have a value in column `column`, until it says that it has enough.
    /// Returns false if no index finds them.
    ///
    /// # Safety
    /// `value` is a non-null value of the column's type.
    pub unsafe fn of_value(
        &self,
        column: i16,
        value: Datum,
        snapshot: &Snapshot,
        visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<bool> {
        let serves = |index: &&OpenIndex| {
            let form = index.form();
            let is_btree = index.class().relam == pg_sys::BTREE_AM_OID;
            is_btree && form.indisvalid && !form.indcheckxmin && index.only_column() == Some(column)
        };
        let Some(index) = self.0.indexes.iter().find(serves) else { return Ok(false) };
        // SAFETY: the caller's promise, and an index of this table.
        unsafe { index.each_equal(&self.0.table, value, snapshot, visit)? };
        Ok(true)
    }

    /// Inserts a row: a value for each column, of its type.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn insert(&self, values: &[Option<Datum>]) {
        // SAFETY: the caller's promise.
        unsafe { self.0.insert(values) };
    }

    /// Begins to insert many rows, which are there when it is finished.
    pub fn bulk(&self) -> Bulk<'_> {
        self.0.bulk(of_entries())
    }

    /// Puts a row in the place of one of this table.
    ///
    /// # Safety
    /// The values are of the columns' types.
    pub unsafe fn update(&self, old: &Row, values: &[Option<Datum>]) {
        // SAFETY: the caller's promise.
        unsafe { self.0.update(old, values) };
    }

    /// Deletes a row of this table.
    pub fn delete(&self, row: &Row) {
        self.0.table.delete(row);
    }
}

/// Rows by their keys.
pub struct Finder<'a>(Search<'a>);

impl Finder<'_> {
    /// The row of a key, until another one is looked up.
    ///
    /// # Safety
    /// `key` is a non-null value of the column's type.
    pub unsafe fn find(&mut self, key: Datum) -> Option<&Row> {
        // SAFETY: the caller's promise; it is looked for at once.
        unsafe { self.0.start(key) };
        self.0.next_row()
    }
}

fn altered(table: &str, detail: &str) -> SqlError {
    wrong_state(format!("table \"{table}\" has been altered"))
        .set_detail(detail)
        .set_hint("Drop the tracked clusters with minlsh_untrack_clusters(), and track them again.")
}

/// The queue: keys, and a row of state.
pub struct Queue(Table);

/// The kinds of rows in the queue.
pub enum QueueEntry<'a> {
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
        if owner == Oid::INVALID || !is_of_owner(owner, documents) {
            return Ok(None);
        }
        let Some(open) = Open::relation(oid, Lock::Write) else { return Ok(None) };
        // The type of the keys is for `check_key` to look at.
        let key = open.attributes().next().map_or(Oid::INVALID, |key| key.atttypid);
        Self::open(open, Lock::Write, key).map(Some)
    }

    /// Opens a queue to look at, whoever owns it; `None` if it is not one.
    pub fn to_look_at(oid: Oid) -> Option<Self> {
        let open = Open::relation(oid, Lock::Read)?;
        let key = open.attributes().next().map_or(Oid::INVALID, |key| key.atttypid);
        Self::open(open, Lock::Read, key).ok()
    }

    fn open(open: Open, lock: Lock, key: Oid) -> Result<Self> {
        let columns = [key, pg_sys::TEXTOID, pg_sys::TIMESTAMPTZOID];
        Table::checked(open, lock, &columns).map(Self)
    }

    /// Since when the row of an entry is there: the beginning of the transaction that has written it.
    pub fn since(row: &Row) -> Option<i64> {
        row.value(queue::SINCE).map(|since| since.value() as i64)
    }

    /// Refuses keys of another type than those of the queue.
    pub fn check_key(&self, documents: &Open, key: &Column) -> Result<()> {
        let mut attributes = self.0.0.table.attributes();
        let stored =
            attributes.next().map(|attribute| (attribute.atttypid, attribute.attisdropped));
        if stored == Some((base_type(key.type_oid), false)) {
            return Ok(());
        }
        Err(wrong_state(format!(
            "the key of table \"{}\" and queue \"{}\" have different types",
            documents.name(),
            self.0.0.table.name()
        ))
        .set_hint(
            "Drop the tracked clusters with minlsh_untrack_clusters(), and track them again.",
        ))
    }

    /// Adds a key, or that the documents were truncated. The key is of the type that `check_key` has found.
    pub fn note(&self, key: Option<Datum>) {
        // SAFETY: values of the columns' types.
        unsafe { self.0.insert(&[key, None, Some(now())]) };
    }

    /// Puts the state there.
    pub fn put_state(&self, state: &str) {
        // SAFETY: values of the columns' types.
        unsafe { self.0.insert(&[None, Some(text::write(state)), Some(now())]) };
    }

    /// Calls `visit` with each entry and its row.
    pub fn each(
        &self,
        snapshot: &Snapshot,
        visit: &mut dyn FnMut(QueueEntry, &Row) -> Result<()>,
    ) -> Result<()> {
        self.0.each(snapshot, |row| {
            let entry = match (row.value(queue::DOC_ID), row.value(queue::STATE)) {
                // SAFETY: checked to be a text.
                (_, Some(state)) => QueueEntry::State(unsafe { text::read(state)? }),
                (Some(key), None) => QueueEntry::Key(key),
                (None, None) => QueueEntry::Truncated,
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

/// The time when the transaction began.
fn now() -> Datum {
    // SAFETY: within a transaction.
    Datum::from(unsafe { pg_sys::GetCurrentTransactionStartTimestamp() })
}

/// All tables, for a refresh.
pub struct Tables {
    pub members: Table,
    pub list: Table,
    pub log: Table,
    pub queue: Queue,
}

/// The relations of the tables.
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
        let members = Table::open(oids.members, alone, &[key, INT8, pg_sys::UUIDOID], owner)?;
        let event = [INT8, INT8, TIME, pg_sys::TEXTOID, INT8, INT8, key, INT8];
        let log = Table::open(oids.log, write, &event, owner)?;
        let entry = [key, pg_sys::TEXTOID, TIME];
        let queue = Queue(Table::open(oids.queue, write, &entry, owner)?);
        Ok(Self { members, list, log, queue })
    }
}
