//! Tracked clusters, found by the name of their table of members and locked, for a caller who owns them. Also the
//! number of rows that wait for a refresh.

use std::ffi::{CStr, CString};

use crate::clusters::tables::{CAPTURE, ChangeQueue, ENDINGS, MEMBERS, Oids, QUEUE, RefreshState, Tables, name_beside};
use crate::index::info::Info;
use crate::pg::dependency::{self, Object};
use crate::pg::relation::{Column, is_owned_by, leaves};
use crate::pg::rights::{check_owner, current_role};
use crate::pg::sql;
use crate::pg::trigger::{Record, Trigger, triggers};
use crate::prelude::*;
use crate::row_key::Key;

pub struct Tracked {
    pub oids: Oids,
    pub documents: Relation,
    /// The tables that have the documents' rows: themselves, or the leaves of a partitioned table.
    pub leaves: Vec<Relation>,
    record: Record,
}

impl Tracked {
    /// True if a relation is the table of members of tracked clusters.
    pub fn is_one(relation: Oid) -> bool {
        tables_of(relation).is_ok_and(|oids| !dependency::tables_tied_to(oids[QUEUE]).is_empty())
    }

    /// Finds the tracked clusters whose table of members is `members`, for their owner, and locks the documents.
    pub fn find(members: Oid, lock: Lock) -> Result<Self> {
        let oids = tables_of(members)?;
        let tables = dependency::tables_tied_to(oids[QUEUE]).into_iter();
        // Only the caller's own documents are locked.
        let (tables, others): (Vec<Oid>, Vec<Oid>) = tables.partition(|table| check_owner(*table).is_ok());
        if tables.is_empty() {
            others.into_iter().try_for_each(check_owner)?;
        }
        // Others may have created triggers that name the queue, so only tables with a record count.
        let mut found = tables.into_iter().filter_map(|table| {
            let open = Open::relation(table, lock)?;
            Some((table, Record::find(&open, CAPTURE, oids[QUEUE])?))
        });
        let (table, record) = found.next().ok_or_else(|| not_tracked(members))?;
        check_owner(table)?;
        let documents = Relation::open(table, Lock::Held);
        let documents = documents.ok_or_else(|| not_tracked(members))?;
        let leaves = leaves(&documents, if lock == Lock::Exclusive { lock } else { Lock::Read });
        Ok(Self { oids, documents, leaves, record })
    }

    /// Makes the triggers depend on the queue and on the record: they are dropped with either.
    pub fn link_triggers(&self) {
        if let Some(documents) = Open::relation(self.documents.oid, Lock::Held) {
            self.record.link_triggers(&documents);
        }
    }

    /// The triggers of a table that write to the queue.
    pub fn noting(&self, table: &Open) -> Vec<Trigger> {
        let all = triggers(table).into_iter();
        all.filter(|trigger| self.record.is_followed_by(trigger)).collect()
    }

    fn key(&self) -> Result<Key> {
        let table = self.documents.oid;
        let column = self.record.key();
        let key = Key::of_column(table, column).ok_or_else(|| {
            wrong_state(format!("the key column of table \"{}\" is no longer a key", self.documents.name))
                .set_hint("Add the primary key again, or drop the tracked clusters with minlsh_untrack_clusters().")
        })?;
        // Rows without a key could be neither noted nor shown.
        match self.documents.column(column).filter(|column| !column.not_null) {
            None => Ok(key),
            Some(Column { name, .. }) => Err(wrong_state(format!(
                "the key column \"{name}\" of table \"{}\" is no longer NOT NULL",
                self.documents.name
            ))
            .set_hint(format!(
                "Use ALTER TABLE {} ALTER COLUMN {} SET NOT NULL, or drop the tracked clusters with \
                 minlsh_untrack_clusters().",
                visible_name(table),
                quoted(name)
            ))),
        }
    }

    /// Opens the tables; a refresh waits for a running one.
    pub fn open_tables(&self, lock: Lock) -> Result<Tables> {
        Tables::open(self.oids, self.key()?, self.documents.owner, lock)
    }

    /// The index, by its stored name if a restore has lost the link to it.
    pub fn index(&self, name: &str) -> Result<Info> {
        let linked = dependency::relations_needed_by(Object::Trigger(self.record.trigger));
        let all = Info::of_table(self.documents.oid);
        let ours = all.iter().find(|info| linked.contains(&info.index.oid));
        let info = ours.or_else(|| all.iter().find(|info| info.index.name == name));
        let info = info.cloned().ok_or_else(|| {
            wrong_state(format!(
                "table \"{}\" no longer has the minlsh index \"{name}\", which \"{}\" depends on",
                self.documents.name,
                relation_name(self.oids[MEMBERS])
            ))
            .set_hint("Create the index again, or drop the tracked clusters with minlsh_untrack_clusters().")
        })?;
        info.check_valid()?;
        info.current_options()?;
        Ok(info)
    }

    /// Records dependencies, unless the catalogs have them; after a restore they do not. The tables are dropped with
    /// the documents. The record is dropped with the index or the key, only by CASCADE, and the other triggers with it.
    /// The record depends on these, and no table does, because a dump creates tables before indexes.
    pub fn link(&self, index: Oid) {
        let [members, others @ ..] = self.oids;
        let (tables, record) = (Object::Relation(members), Object::Trigger(self.record.trigger));
        let documents = Open::relation(self.documents.oid, Lock::Held);
        let key = documents.and_then(|documents| self.record.key_constraint(&documents));
        let needed = [Some(Object::Relation(index)), key];
        if needed.into_iter().flatten().all(|needed| dependency::depends(record, needed)) {
            return;
        }
        dependency::drop_together(tables, Object::Relation(self.documents.oid));
        for needed in needed.into_iter().flatten() {
            dependency::drop_on_cascade(record, needed);
        }
        for table in others {
            dependency::drop_together(Object::Relation(table), tables);
        }
        // This keeps the queue recognisable as the documents' after they change their owner.
        dependency::drop_together(Object::Relation(self.oids[QUEUE]), Object::Relation(self.documents.oid));
        self.link_triggers();
    }
}

/// The tables that belong to `members`, by their names.
fn tables_of(members: Oid) -> Result<Oids> {
    let name = sql::relation_name(members);
    if name.is_empty() {
        let message = format!("relation with OID {} does not exist", members.to_u32());
        return Err(undefined_table(message));
    }
    let schema = catalog::relation_schema(members);
    let mut oids = [members; ENDINGS.len()];
    for (table, oid) in oids.iter_mut().enumerate().skip(1) {
        *oid = catalog::relation_called(&name_beside(&name, table), schema);
    }
    let is_missing = |oid: &Oid| *oid == Oid::INVALID;
    match oids.iter().position(is_missing) {
        None => Ok(oids),
        Some(_) if oids[1..].iter().all(is_missing) => Err(not_tracked(members)),
        Some(table) => Err(missing(members, &name_beside(&name, table))),
    }
}

/// The table of members to which another table of tracked clusters belongs.
pub fn members_beside(table: Oid) -> Option<Oid> {
    let name = sql::relation_name(table);
    let mut endings = ENDINGS[1..].iter();
    let name = endings.find_map(|ending| name.to_bytes().strip_suffix(ending.as_bytes()));
    let name = CString::new(name?).unwrap_or_default();
    let members = catalog::relation_called(&name, catalog::relation_schema(table));
    Some(members).filter(|members| Tracked::is_one(*members))
}

/// The error for a relation that is not a table of members. If it is the documents, their index, or another one of the
/// tables, the HINT names the right one.
fn not_tracked(relation: Oid) -> SqlError {
    let table = match catalog::table_of_index(relation) {
        Oid::INVALID => relation,
        table => table,
    };
    let is_own = is_owned_by(table, current_role());
    let documents = is_own.then(|| Open::relation(table, Lock::Read)).flatten();
    let records = documents.iter().flat_map(|documents| Record::all(documents, CAPTURE));
    let tables = records.map(|record| record.beside).chain([relation]);
    let meant: Vec<String> = tables.filter_map(members_beside).map(regclass_literal).collect();
    let hint = if meant.is_empty() {
        "Use minlsh_track_clusters(), which creates one and returns its name.".to_owned()
    } else {
        format!("Pass {}.", meant.join(" or "))
    };
    let message = format!("\"{}\" is not a table of tracked clusters", relation_name(relation));
    undefined_object(message).set_hint(hint)
}

fn missing(members: Oid, name: &CStr) -> SqlError {
    wrong_state(format!(
        "there is no table \"{}\" in the schema of \"{}\"",
        name.to_string_lossy(),
        relation_name(members)
    ))
    .set_detail("The tables of tracked clusters are found by their names, in one schema.")
    .set_hint("Pass the table that minlsh_track_clusters() returned, and rename its tables together.")
}

#[derive(Clone, Copy)]
pub struct Waiting {
    pub rows: i64,
    /// Time at which the transaction of the first waiting key began.
    pub since: Option<i64>,
}

/// Counts the keys in the queues of the clusters that a locked index tracks. `None` if it tracks none, or if the table
/// is not the caller's.
pub fn waiting(info: &Info) -> Option<Waiting> {
    let documents = Open::relation(info.index.table, Lock::Read)?;
    if !is_owned_by(documents.oid(), current_role()) {
        return None;
    }
    let records = Record::all(&documents, CAPTURE).into_iter();
    let found = records.filter_map(|record| {
        let is_linked = dependency::relations_needed_by(Object::Trigger(record.trigger)).contains(&info.index.oid);
        of_queue(&ChangeQueue::open(record.beside, Lock::Read).ok()??, &info.index.name, is_linked)
    });
    found.reduce(|a, b| Waiting { rows: a.rows + b.rows, since: a.since.into_iter().chain(b.since).min() })
}

/// Counts the keys in a queue, if its clusters belong to the index named `index`: a dump has no link to it.
fn of_queue(queue: &ChangeQueue, index: &str, is_linked: bool) -> Option<Waiting> {
    let mut waiting = Waiting { rows: 0, since: None };
    let mut is_of_index = is_linked;
    let read = queue.each(&Snapshot::statement(), &mut |state, row| {
        match state {
            Some(text) => {
                is_of_index |= RefreshState::read(text, "").is_ok_and(|state| state.index == index);
            }
            None => {
                waiting.rows += 1;
                waiting.since = waiting.since.into_iter().chain(ChangeQueue::since(row)).min();
            }
        }
        Ok(())
    });
    (read.is_ok() && is_of_index).then_some(waiting)
}
