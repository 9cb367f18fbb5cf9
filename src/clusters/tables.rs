//! The tables of tracked clusters, checked under lock; the SQL that reads and writes them; and the state that a refresh
//! leaves for the next one, in a row of the queue.
//!
//! Owners can alter the tables, so only the names and types of their columns are relied on. SQL runs as the owner in a
//! security-restricted operation, with `pg_catalog` as the search path, so code that an owner has planted runs with the
//! owner's rights. It refers to the tables by name, and does not run if the names refer to other tables by now. Only
//! the queue is written as a relation, because writers of documents have no rights on it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::pg::catalog::{base_type, equality_of};
use crate::pg::companion::{Companion, is_of_owner};
use crate::pg::plan::PreparedPlan;
use crate::pg::relation::{Column, inheritors, owner_of};
use crate::prelude::*;
use crate::row_key::Key;

/// The tables in their order, as they are called in SQL here. The others depend on the members.
const TABLES: [&str; 5] = ["members", "list", "log", "queue", "apart"];
pub const MEMBERS: usize = 0;
pub const LIST: usize = 1;
pub const QUEUE: usize = 3;
pub const APART: usize = 4;

/// The suffixes of their names, after the name of the members.
pub const ENDINGS: [&str; 5] = ["", "_list", "_log", "_queue", "_apart"];

/// The name of table number `table` of the clusters with members `members`.
pub fn name_beside(members: &CStr, table: usize) -> CString {
    let ending = ENDINGS[table].as_bytes();
    CString::new([members.to_bytes(), ending].concat()).unwrap_or_default()
}

/// The name of the trigger function that writes the queue.
pub const CAPTURE: &CStr = c"minlsh_capture";

const STATE: i16 = 2;
const SINCE: i16 = 3;

/// The HINT if the tables are not as they must be.
pub const TRACK_AGAIN: &str = "Drop the tracked clusters with minlsh_untrack_clusters(), and track them again.";

/// Maximum number of rows in the parameters of a statement.
pub const AT_A_TIME: usize = 1 << 12;

/// Events as parameters of a statement, after its first ones: the meaning of `{events}`.
const EVENTS: &str = "unnest($4, $5, $6, $7, $8, $9) WITH ORDINALITY
    AS n (event, cluster_id, other_id, doc_id, fingerprint, size, seq)";

/// Opens one of the tables, whose columns must have these names and types.
fn open(oid: Oid, lock: Lock, columns: &[(&CStr, Oid)], owner: Oid) -> Result<Companion> {
    let Some(open) = Open::relation(oid, lock) else {
        return Err(wrong_state("a table of the tracked clusters does not exist")
            .set_hint("Drop the others with minlsh_untrack_clusters(), and track the clusters again."));
    };
    let name = open.name();
    if open.class().relowner != owner {
        return Err(wrong_state(format!("table \"{name}\" is not owned by the owner of the documents"))
            .set_hint("Use ALTER TABLE ... OWNER TO to give it the same owner."));
    }
    let types: Vec<Oid> = columns.iter().map(|(_, type_oid)| *type_oid).collect();
    let table = checked(open, lock, &types)?;
    let open = &table.table;
    if !open.attributes().zip(columns).all(|(own, column)| text::of_name(&own.attname) == column.0) {
        return Err(altered(&name, "Its columns have other names."));
    }
    // SAFETY: `open` holds the relation open, and its pointer to rules may be read.
    if unsafe { !(*open.raw()).rd_rules.is_null() } {
        return Err(altered(&name, "It has a rule."));
    }
    Ok(table)
}

/// Checks that an open table is an ordinary one with columns of these types.
fn checked(open: Open, lock: Lock, columns: &[Oid]) -> Result<Companion> {
    let name = open.name();
    // The catalog keeps the flag for former children until the next ANALYZE.
    let has_children = || inheritors(open.oid(), Lock::Held).len() > 1;
    if open.class().relispartition || open.class().relhassubclass && has_children() {
        return Err(altered(&name, "It has inheritance children, or is a partition."));
    }
    Companion::checked(open, lock, columns).map_err(|detail| altered(&name, detail))
}

fn altered(table: &str, detail: &str) -> SqlError {
    wrong_state(format!("table \"{table}\" has been altered")).set_detail(detail).set_hint(TRACK_AGAIN)
}

/// The queue: keys, and a row with the state.
pub struct ChangeQueue(Companion);

impl ChangeQueue {
    /// Opens the queue of open documents, or of a partition, to note keys. The key column's type must be the queue's.
    /// `None` if the queue has another owner: the refresh reports that, not the writer.
    pub fn to_write(oid: Oid, documents: &Open, key: Option<&Column>) -> Result<Option<Self>> {
        let owner = owner_of(oid);
        if owner == Oid::INVALID || !is_of_owner(owner, documents) {
            return Ok(None);
        }
        let Some(queue) = Self::open(oid, Lock::Write)? else { return Ok(None) };
        let table = &queue.0.table;
        let stored = table.attributes().next().map(|stored| stored.atttypid);
        if key.is_some_and(|key| stored != Some(base_type(key.type_oid))) {
            let (documents, queue) = (documents.name(), table.name());
            return Err(wrong_state(format!(
                "the key of table \"{documents}\" and queue \"{queue}\" have different types"
            ))
            .set_hint(TRACK_AGAIN));
        }
        Ok(Some(queue))
    }

    /// Opens a queue of any owner; `None` if there is no such relation.
    pub fn open(oid: Oid, lock: Lock) -> Result<Option<Self>> {
        let Some(open) = Open::relation(oid, lock) else { return Ok(None) };
        // `to_write` checks the type of the keys.
        let key = open.attributes().next().map_or(Oid::INVALID, |key| key.atttypid);
        let columns = [key, pg_sys::TEXTOID, pg_sys::TIMESTAMPTZOID];
        checked(open, lock, &columns).and_then(Self::of).map(Some)
    }

    /// Uses a table as a queue. An entry has a key or the state, so neither column can be NOT NULL.
    fn of(queue: Companion) -> Result<Self> {
        if queue.table.attributes().any(|column| column.attnotnull) {
            return Err(altered(&queue.table.name(), "It has a column that is NOT NULL."));
        }
        Ok(Self(queue))
    }

    /// Time at which the transaction that wrote an entry began.
    pub fn since(row: &Row) -> Option<i64> {
        row.value(SINCE).map(|since| since.value() as i64)
    }

    /// Adds a key, or the state, or neither, which means that the documents were truncated.
    pub fn put(&self, key: Option<TypedValue>, state: Option<&RefreshState>) {
        let state = state.map(|state| TypedValue::text(&serde_json::to_string(state).unwrap_or_default()));
        // SAFETY: reads the start of the current transaction.
        let now = TypedValue::time(unsafe { pg_sys::GetCurrentTransactionStartTimestamp() });
        self.0.insert(&[key, state, Some(now)]);
    }

    /// Calls `visit` with each row, and the text of the state in its row.
    pub fn each(&self, snapshot: &Snapshot, visit: &mut dyn FnMut(Option<&str>, &Row) -> Result<()>) -> Result<()> {
        self.0.table.each(snapshot, |row| visit(row.text(STATE)?, row))
    }

    pub fn delete(&self, row: &Row) {
        self.0.table.delete(row);
    }
}

/// The state of tracked clusters, apart from the tables.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RefreshState {
    pub version: u32,
    /// The name of the index, for use after a restore, which loses the link to it.
    pub index: String,
    /// Minimum similarity of an edge.
    pub threshold: f64,
    pub next_id: i64,
    pub last_seq: i64,
    pub refreshes: i64,
    pub clusters: i64,
    /// See [`stamp`](super::stamp); `None` before the first refresh.
    pub stamp: Option<String>,
    /// A digest of the pairs that are marked as apart; `None` before the first refresh.
    pub apart: Option<String>,
    /// The cost of the last job over all documents, in documents read.
    pub whole: f64,
}

const VERSION: u32 = 1;

impl RefreshState {
    pub fn new(index: String, threshold: f64) -> Self {
        Self { version: VERSION, index, threshold, next_id: 1, ..Self::default() }
    }

    /// Parses what [`ChangeQueue::put`] has written; an error if the table's owner has written something else.
    pub fn read(text: &str, tracked: &str) -> Result<Self> {
        let state: Option<Self> = serde_json::from_str(text).ok();
        let sound = state.filter(|state| {
            let numbers = [state.next_id, state.last_seq, state.refreshes, state.clusters];
            state.version == VERSION
                && state.next_id > 0
                && state.threshold > 0.0
                && state.threshold <= 1.0
                && numbers.iter().all(|number| (0..i64::MAX / 2).contains(number))
        });
        sound.ok_or_else(|| {
            wrong_state(format!("the state of \"{tracked}\" was not written by minlsh")).set_hint(TRACK_AGAIN)
        })
    }
}

/// The tables, in their order.
pub type Oids = [Oid; 5];

pub struct Tables {
    pub queue: ChangeQueue,
    pub key: Key,
    oids: Oids,
    plans: RefCell<HashMap<&'static str, Rc<PreparedPlan>>>,
    /// The other tables, kept open so that the results of their checks stay true.
    _others: [Companion; 4],
}

impl Tables {
    /// Opens the tables; a refresh waits for a running one. `owner` owns the documents.
    pub fn open(oids: Oids, key: Key, owner: Oid, lock: Lock) -> Result<Self> {
        let [members, list, log, queue, apart] = oids;
        const INT8: Oid = pg_sys::INT8OID;
        const TIME: Oid = pg_sys::TIMESTAMPTZOID;
        let read = lock == Lock::Read;
        let (alone, write) = if read { (lock, lock) } else { (Lock::Alone, Lock::Write) };
        let (doc_id, cluster_id, size) = ((c"doc_id", key.base_type), (c"cluster_id", INT8), (c"size", INT8));
        let (since, least) = ((c"since", TIME), (c"least_similar", pg_sys::FLOAT8OID));
        let columns = [cluster_id, size, since, (c"changed", INT8), least];
        let list = open(list, alone, &columns, owner)?;
        let columns = [doc_id, cluster_id, (c"fingerprint", pg_sys::UUIDOID)];
        let members = open(members, alone, &columns, owner)?;
        for table in [&list, &members] {
            if !table.indexes.iter().any(|index| index.is_key_of(1)) {
                return Err(altered(&table.table.name(), "It has no primary key."));
            }
        }
        let [seq, refresh, other] = [c"seq", c"refresh", c"other_id"].map(|name| (name, INT8));
        let (at, event) = ((c"at", TIME), (c"event", pg_sys::TEXTOID));
        let columns = [seq, refresh, at, event, cluster_id, other, doc_id, size];
        let log = open(log, write, &columns, owner)?;
        let columns = [doc_id, (c"state", pg_sys::TEXTOID), since];
        let queue = ChangeQueue::of(open(queue, write, &columns, owner)?)?;
        let apart = open(apart, Lock::Read, &[(c"a", key.base_type), (c"b", key.base_type)], owner)?;
        let others = [list, members, log, apart];
        Ok(Self { queue, key, oids, plans: RefCell::default(), _others: others })
    }

    /// Calls `visit` with the rows of a query, until it returns that it has enough. In `sql`, `{members}`, `{list}`,
    /// `{log}`, `{queue}` and `{apart}` stand for the tables, `{events}` for [`EVENTS`], and `{=}` for the equality of
    /// keys.
    pub fn each(
        &self,
        sql: &'static str,
        values: &[Parameter],
        mut visit: impl FnMut(&Row) -> Result<Continue>,
    ) -> Result<()> {
        let session = Session::open();
        let plan = self.plan(&session, sql, values)?;
        let mut memory = Memory::scratch(c"minlsh row");
        session.each(&plan, values, None, &mut |row| {
            check_interrupts();
            memory.run_and_reset(|| visit(row))
        })
    }

    /// Runs a statement that writes, with placeholders as in [`Self::each`]. Returns the number of rows.
    pub fn write(&self, sql: &'static str, values: &[Parameter]) -> Result<u64> {
        let session = Session::open();
        let plan = self.plan(&session, sql, values)?;
        session.write(&plan, values)
    }

    /// A plan that uses these tables only; their names may refer to other tables by now.
    fn plan(&self, session: &Session, sql: &'static str, values: &[Parameter]) -> Result<Rc<PreparedPlan>> {
        let is_sound = |plan: &PreparedPlan| plan.is_of(&self.oids);
        let kept = self.plans.borrow().get(sql).cloned();
        if let Some(plan) = kept.filter(|plan| is_sound(plan)) {
            return Ok(plan);
        }
        let mut text = Sql::default();
        for (place, part) in sql.split(['{', '}']).enumerate() {
            let table = TABLES.iter().position(|called| *called == part);
            text = match (part, table) {
                _ if place % 2 == 0 => text.text(part),
                (_, Some(table)) => text.relation(self.oids[table]),
                ("events", _) => text.text(EVENTS),
                _ => text.operator(equality_of(self.key.base_type)),
            };
        }
        let types: Vec<Oid> = values.iter().map(Parameter::type_oid).collect();
        let plan = Rc::new(session.plan(&text, &types, 0)?.keep());
        if !is_sound(&plan) {
            return Err(
                wrong_state("the tables of the tracked clusters were replaced").set_hint("Retry the statement.")
            );
        }
        self.plans.borrow_mut().insert(sql, Rc::clone(&plan));
        Ok(plan)
    }
}
