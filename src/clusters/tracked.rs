//! Tracked clusters, found by the name of their members and locked, for a caller who owns them.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::clusters::capture;
use crate::clusters::tables::{LIST, LOG, Oids, QUEUE};
use crate::error::{Result, error, wrong_state};
use crate::index::info::Info;
use crate::pg::catalog;
use crate::pg::dependency::{self, Object};
use crate::pg::names::relation_name;
use crate::pg::open::Open;
use crate::pg::relation::{Lock, Relation, leaves};
use crate::pg::rights::check_owner;
use crate::pg::sql;
use crate::row_key::Key;

/// Tracked clusters, and what they are of.
pub struct Tracked {
    /// The tables.
    pub oids: Oids,
    /// The documents.
    pub documents: Relation,
    /// The tables that have their rows: themselves, or the leaves below.
    pub leaves: Vec<Relation>,
    /// The column that names a document.
    pub key: Key,
}

impl Tracked {
    /// True if a relation is the table of members of something.
    pub fn is_one(relation: Oid) -> bool {
        tables_of(relation).is_ok_and(|oids| !dependency::triggers_of(oids.queue).is_empty())
    }

    /// Finds what `members` is the table of members of, for its owner, and locks the documents.
    pub fn find(members: Oid, lock: Lock) -> Result<Self> {
        let oids = tables_of(members)?;
        let not_tracked = || {
            let message =
                format!("\"{}\" is not a table of tracked clusters", relation_name(members));
            error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message)
                .set_hint("Use minlsh_track_clusters(), which creates one and returns its name.")
        };
        let mut tables: Vec<Oid> = dependency::triggers_of(oids.queue)
            .into_iter()
            .filter_map(dependency::table_of_trigger)
            .collect();
        tables.sort_unstable_by_key(|table| table.to_u32());
        tables.dedup();
        // Others may have made triggers that name the queue: only tables with a record count.
        let mut found = tables.into_iter().filter_map(|table| {
            let open = Open::relation(table, lock)?;
            let mut records = capture::records(&open).into_iter();
            Some((table, records.find(|record| record.queue == oids.queue)?))
        });
        let (table, record) = found.next().ok_or_else(not_tracked)?;
        drop(found);
        check_owner(table)?;
        let documents = Relation::open(table, Lock::Held).ok_or_else(not_tracked)?;
        let leaves = leaves(&documents, if lock == Lock::Exclusive { lock } else { Lock::Read });
        let column = record.columns.first().copied().unwrap_or_default();
        let key = Key::of_column(table, column).ok_or_else(|| {
            wrong_state(format!(
                "the key column of table \"{}\" is no longer a key",
                documents.name
            ))
            .set_hint(
                "Add the primary key again, or drop the tracked clusters with \
                 minlsh_untrack_clusters().",
            )
        })?;
        Ok(Self { oids, documents, leaves, key })
    }

    /// The index; by its name of old if a dump has not carried the link to it.
    pub fn index(&self, name: &str) -> Result<Info> {
        let linked = dependency::relations_needed_by(self.oids.members);
        let all = Info::of_table(self.documents.oid);
        let ours = all.iter().find(|info| linked.contains(&info.index.oid));
        let info = ours.or_else(|| all.iter().find(|info| info.index.name == name));
        let info = info.cloned().ok_or_else(|| {
            wrong_state(format!(
                "table \"{}\" no longer has the minlsh index \"{name}\", which \"{}\" depends on",
                self.documents.name,
                relation_name(self.oids.members)
            ))
            .set_hint("Create the index again, or drop the tracked clusters with minlsh_untrack_clusters().")
        })?;
        info.check_valid()?;
        info.current_options()?;
        Ok(info)
    }

    /// Records what belongs together, as far as the catalogs do not know it yet: after a restore.
    pub fn link(&self, index: Oid) {
        let Oids { members, list, log, queue } = self.oids;
        let object = Object::Relation(members);
        let key = self.key_constraint();
        if dependency::depends(object, Object::Relation(index))
            && key.is_none_or(|key| dependency::depends(object, key))
        {
            return;
        }
        dependency::drop_together(object, Object::Relation(self.documents.oid));
        dependency::drop_on_cascade(object, Object::Relation(index));
        if let Some(key) = key {
            dependency::drop_on_cascade(object, key);
        }
        for table in [list, log, queue] {
            dependency::drop_together(Object::Relation(table), object);
        }
        self.link_triggers();
    }

    /// Has the trigger for TRUNCATE, which names no queue, dropped with it: any one that belongs to none will do.
    pub fn link_triggers(&self) {
        let queue = self.oids.queue;
        let Some(open) = Open::relation(self.documents.oid, Lock::Held) else { return };
        let all = crate::pg::trigger::triggers(&open).into_iter();
        let ours = all.filter(|t| t.is_truncate() && capture::is_capture(t.function));
        let ours: Vec<(Oid, Vec<Oid>)> =
            ours.map(|t| (t.oid, dependency::relations_needed_by_trigger(t.oid))).collect();
        if ours.iter().any(|(_, needed)| needed.contains(&queue)) {
            return;
        }
        let free = |needed: &[Oid]| needed.iter().all(|needed| *needed == self.documents.oid);
        if let Some((trigger, _)) = ours.iter().find(|(_, needed)| free(needed)) {
            dependency::drop_together(Object::Trigger(*trigger), Object::Relation(queue));
        }
    }

    /// The constraint, or the index, that makes the key one.
    fn key_constraint(&self) -> Option<Object> {
        let open = Open::relation(self.documents.oid, Lock::Held)?;
        let mut indexes = open.indexes(Lock::Read).into_iter();
        let index =
            indexes.find(|index| index.is_key() && index.only_column() == Some(self.key.column))?;
        Some(match catalog::constraint_of_index(index.oid()) {
            Oid::INVALID => Object::Relation(index.oid()),
            constraint => Object::Constraint(constraint),
        })
    }
}

/// The tables that stand beside `members`, by their names.
fn tables_of(members: Oid) -> Result<Oids> {
    let name = sql::relation_name(members);
    if name.is_empty() {
        let message = format!("relation with OID {} does not exist", members.to_u32());
        return Err(error(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, message));
    }
    let schema = catalog::relation_schema(members);
    let beside = |suffix: &str| {
        let name = with_suffix(&name, suffix);
        match catalog::relation_called(&name, schema) {
            Oid::INVALID => Err(missing(members, &name)),
            oid => Ok(oid),
        }
    };
    Ok(Oids { members, list: beside(LIST)?, log: beside(LOG)?, queue: beside(QUEUE)? })
}

/// The relations that the members beside a queue are linked to; the index is one of them.
pub fn index_of_queue(queue: Oid) -> Vec<Oid> {
    let name = sql::relation_name(queue);
    let Some(members) = name.to_bytes().strip_suffix(QUEUE.as_bytes()) else { return Vec::new() };
    let members = CString::new(members).unwrap_or_default();
    match catalog::relation_called(&members, catalog::relation_schema(queue)) {
        Oid::INVALID => Vec::new(),
        members => dependency::relations_needed_by(members),
    }
}

fn missing(members: Oid, name: &CStr) -> ErrorReport {
    wrong_state(format!(
        "there is no table \"{}\" in the schema of \"{}\"",
        name.to_string_lossy(),
        relation_name(members)
    ))
    .set_detail("The tables of tracked clusters are found by their names, in one schema.")
    .set_hint(
        "Pass the table that minlsh_track_clusters() returned, and rename its tables together.",
    )
}

/// A name with something behind it.
pub fn with_suffix(name: &CStr, suffix: &str) -> CString {
    CString::new([name.to_bytes(), suffix.as_bytes()].concat()).unwrap_or_default()
}
