//! The triggers that tie a side table to its documents.
//!
//! A trigger for each row of the documents is the record of an index: its condition names the side table, UPDATE OF the
//! key and the text. PostgreSQL keeps both right through renames, dumps and restores, and the copies of partitions come
//! and go with them. A second one sees to texts that another trigger changed in an UPDATE that did not name them.
//! Statement triggers for TRUNCATE are on both tables; and one of the side table drops rows that logical replication
//! brings, or a restore of the data alone, since those of the documents bring them too.

use pgrx::pg_sys::Oid;

use crate::pg::catalog::{c_function, constraint_of_index};
use crate::pg::dependency::{self, Object};
use crate::pg::open::Open;
use crate::pg::open_index::OpenIndex;
use crate::pg::relation::{Lock, owner_of};
use crate::pg::trigger::{Trigger, triggers};

/// The record of an index: a trigger, and what it ties.
#[derive(Clone, Debug)]
pub struct Watch {
    pub trigger: Trigger,
    /// The side table.
    pub storage: Oid,
    /// The key column of the documents.
    pub key: i16,
    /// Their text column.
    pub body: i16,
}

impl Watch {
    /// Reads what `trigger` records, if it is one that does. Its function is ours.
    pub fn of(trigger: Trigger) -> Option<Self> {
        let storage = trigger.tied_to?;
        let (key, body) = match trigger.columns[..] {
            [key, body] => (key, body),
            // A text may be its own key.
            [both] => (both, both),
            _ => return None,
        };
        (trigger.is_after_row() && trigger.is_for_all_rows()).then_some(Self {
            trigger,
            storage,
            key,
            body,
        })
    }
}

/// The indexes of a table: not those of a partitioned table that it is a partition of.
pub fn watches(documents: &Open) -> Vec<Watch> {
    let ours = triggers(documents).into_iter();
    let ours = ours.filter(|trigger| !trigger.is_copy && is_sync(trigger.function));
    ours.filter_map(Watch::of).collect()
}

/// The table whose documents are in `storage`, locked and open; `None` if it is not a side table.
pub fn documents_of(storage: Oid, lock: Lock) -> Option<(Open, Watch)> {
    dependency::tables_tied_to(storage).into_iter().find_map(|table| {
        let documents = Open::relation(table, lock)?;
        let watch = watches(&documents).into_iter().find(|watch| watch.storage == storage)?;
        Some((documents, watch))
    })
}

/// The tables that are linked to a side table as its documents: one, unless an owner has tied it to others.
pub fn linked_documents(storage: Oid) -> Vec<Oid> {
    let is_linked = |documents: &Open| {
        let mut watches = watches(documents).into_iter();
        watches.any(|watch| watch.storage == storage && is_linked(documents.oid(), &watch))
    };
    let mut tables = dependency::tables_tied_to(storage);
    tables.retain(|table| Open::relation(*table, Lock::Read).as_ref().is_some_and(is_linked));
    tables
}

/// True if a function is `minlsh_sync()`: only a superuser can make one that runs our code.
pub fn is_sync(function: Oid) -> bool {
    c_function(function).is_some_and(|symbol| symbol == b"minlsh_sync")
}

/// The index that tells the rows of an open table apart by `key`.
pub fn key_index(documents: &Open, key: i16, lock: Lock) -> Option<OpenIndex> {
    let mut indexes = documents.indexes(lock).into_iter();
    indexes.find(|index| index.is_key() && index.only_column() == Some(key))
}

/// True if the catalog knows that side table and documents belong together: a dump does not carry
/// that.
pub fn is_linked(documents: Oid, watch: &Watch) -> bool {
    let column = Object::Column(documents, watch.key);
    dependency::depends(Object::Relation(watch.storage), column)
}

/// Records what belongs together, as far as PostgreSQL does not know it from the triggers. The side
/// table is dropped with the columns, as an index would be; and with the extension, but by CASCADE
/// only. The record of the index is dropped with the constraint of the key, also by CASCADE only, and
/// the other triggers go with it. It proves that the side table belongs to the documents, so only
/// those of one owner are linked.
pub fn link(documents: &Open, watch: &Watch) {
    if owner_of(watch.storage) != documents.class().relowner {
        return;
    }
    let (storage, record) = (Object::Relation(watch.storage), Object::Trigger(watch.trigger.oid));
    for column in [watch.key, watch.body] {
        dependency::drop_together(storage, Object::Column(documents.oid(), column));
    }
    dependency::drop_on_cascade(storage, Object::Function(watch.trigger.function));
    if let Some(index) = key_index(documents, watch.key, Lock::Read) {
        let key = match constraint_of_index(index.oid()) {
            Oid::INVALID => Object::Relation(index.oid()),
            constraint => Object::Constraint(constraint),
        };
        dependency::drop_on_cascade(record, key);
    }
    // The side table is needed by its triggers; dropped by itself, it takes them along.
    dependency::drop_together(record, storage);
    for companion in companions(documents, watch) {
        let companion = Object::Trigger(companion);
        dependency::drop_together(companion, record);
        if dependency::depends(companion, storage) {
            dependency::drop_together(companion, storage);
        }
    }
}

/// The other triggers of an index. Those for TRUNCATE of the documents are all alike: any one that
/// belongs to no other index will do.
fn companions(documents: &Open, watch: &Watch) -> Vec<Oid> {
    let ours = |trigger: &Trigger| trigger.function == watch.trigger.function && !trigger.is_copy;
    let all = triggers(documents).into_iter().filter(ours);
    let (truncate, rows): (Vec<_>, Vec<_>) = all.partition(Trigger::is_truncate);
    let own = rows.into_iter().filter(|trigger| {
        trigger.tied_to == Some(watch.storage) && trigger.oid != watch.trigger.oid
    });
    let free = truncate.into_iter().find(|trigger| !dependency::follows_a_trigger(trigger.oid));
    let storage = Open::relation(watch.storage, Lock::Read);
    let of_storage = storage.iter().flat_map(triggers).filter(ours);
    own.chain(free).chain(of_storage).map(|trigger| trigger.oid).collect()
}
