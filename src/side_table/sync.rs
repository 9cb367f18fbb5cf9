//! `minlsh_sync()`, the trigger function: copies a change of the documents to the side table, in the writer's
//! transaction, without SQL and without rights of any role.
//!
//! The row that a trigger gets is used only for its key. The side table gets what the table has for that key now: other
//! triggers may have changed the row since, a statement may move a key from one row to another, and triggers fire in
//! any order.
//!
//! The documents have the triggers of any companion. The side table has two. One refuses TRUNCATE of the side table
//! alone. The other drops rows that logical replication or a restore brings, since the documents' triggers write them
//! too.

use crate::pg::companion;
use crate::pg::relation::{Column, leaves};
use crate::pg::snapshot::next_command;
use crate::pg::trigger::{self, Event, Fired, Record};
use crate::prelude::*;
use crate::side_table::SYNC;
use crate::side_table::find::documents_of;
use crate::side_table::sign::{check_body, sign_text};
use crate::side_table::storage::{Storage, StoredSketch, check_current, row_of};

sql_function!(minlsh_sync, sync);

fn sync(call: &Call) -> Result<Option<Datum>> {
    let Some(fired) = Fired::of(call) else {
        return Err(misused("was not called by trigger manager"));
    };
    let Some(table) = Open::relation(fired.relation(), Lock::Held) else { return Ok(None) };
    match (fired.event(), fired.for_each_row(), fired.is_after()) {
        (Event::Truncate, false, true) => truncated(&fired, &table)?,
        (Event::Truncate, ..) | (_, false, _) => return Err(misused("must be fired for each row")),
        (_, true, true) => written(&fired, &table)?,
        (event, true, false) => {
            let is_brought = trigger::is_replica() || event == Event::Insert;
            // Restored without its documents, it is an ordinary table.
            if !is_brought || documents_of(table.oid(), Lock::Read).is_none() {
                return Ok(Some(fired.row_as_it_is()));
            }
        }
    }
    Ok(Some(Datum::from(0)))
}

fn misused(problem: &str) -> SqlError {
    trigger::misused(SYNC, problem, "minlsh_create_side_table()")
}

/// Empties the side table after its table was emptied. Refuses TRUNCATE of the side table alone, since queries would
/// silently find nothing.
fn truncated(fired: &Fired, table: &Open) -> Result<()> {
    if let Some(storage) = fired.trigger().tied_to {
        let Some(record) = Record::find(table, SYNC, storage) else { return Ok(()) };
        let key = key_and_body(table, &record)?.0;
        let storage = Storage::open(storage, table, key.type_oid, Lock::Exclusive)?.rows.table;
        // The same TRUNCATE may have emptied both.
        if storage.pages() > 0 {
            companion::empty(&storage);
        }
        return Ok(());
    }
    let Some((documents, _)) = documents_of(table.oid(), Lock::Read) else { return Ok(()) };
    let parts = Relation::open(documents.oid(), Lock::Held).map(|table| leaves(&table, Lock::Read));
    let open = |part: &Relation| Open::relation(part.oid, Lock::Held);
    if !parts.iter().flatten().filter_map(open).any(|part| part.pages() > 0) {
        return Ok(());
    }
    Err(wrong_state(format!("cannot truncate side table \"{}\" alone", table.name())).set_hint(format!(
        "Use TRUNCATE {}, which also empties the side table, or build it again with \
         SELECT minlsh_rebuild_side_table({});",
        visible_name(documents.oid()),
        regclass_literal(documents.oid())
    )))
}

fn written(fired: &Fired, documents: &Open) -> Result<()> {
    let record = record_of(fired, documents)?;
    let keys = fired.changed_keys(&record);
    let (key, body) = key_and_body(documents, &record)?;
    if fired.new_row().is_some_and(|row| row.value(key.number).is_none()) {
        let (name, table) = (&key.name, documents.name());
        return Err(wrong_state(format!("key \"{name}\" of table \"{table}\" is NULL"))
            .set_hint("Use a key that is NOT NULL and unique."));
    }
    if keys.iter().all(Option::is_none) {
        return Ok(());
    }
    let storage = Storage::open(record.beside, documents, key.type_oid, Lock::Write)?;
    check_current(record.beside, &storage.options)?;
    let Some(index) = documents.key_index(key.number, Lock::Read) else {
        let (name, table) = (&key.name, documents.name());
        return Err(wrong_state(format!("column \"{name}\" of table \"{table}\" is no longer a key"))
            .set_detail("There is no valid unique index of only this column.")
            .set_hint("Add a primary key or a UNIQUE constraint, or drop the index with minlsh_drop_side_table()."));
    };
    for written in keys.into_iter().flatten() {
        let put_found = |row: &Row| {
            let signed = row.get(body.number).map(|body| sign_text(&storage.options, &body.utf8()?));
            put(&storage, row.get(key.number).unwrap_or(written), signed.transpose()?.flatten())
        };
        if index.equal_row(documents, written, &Snapshot::own(), put_found)?.is_none() {
            put(&storage, written, None)?;
        }
    }
    Ok(())
}

/// Replaces the row of `key`; `None` deletes it. The unique index keeps out concurrent writers.
fn put(storage: &Storage, key: TypedValue, signed: Option<StoredSketch>) -> Result<()> {
    let delete = |old: &Row| {
        // The new row must not belong to the command that wrote the old row.
        next_command();
        storage.rows.table.delete(old);
        Ok(())
    };
    storage.of_document(key, &Snapshot::own(), delete)?;
    if let Some(signed) = signed {
        storage.rows.insert(&row_of(key, &signed));
    }
    Ok(())
}

/// The record of a fired trigger's side table: the trigger itself, or another trigger of the documents.
fn record_of(fired: &Fired, documents: &Open) -> Result<Record> {
    let trigger = fired.trigger();
    let Some(storage) = trigger.tied_to else {
        return Err(misused("needs a side table in its condition, as in WHEN ('side'::regclass IS NOT NULL)"));
    };
    let may_be_second = trigger.columns.is_empty();
    Record::of(trigger)
        .or_else(|| Record::find(documents, SYNC, storage).filter(|_| may_be_second))
        .ok_or_else(|| misused("must be fired by INSERT OR UPDATE OF key, text OR DELETE"))
}

/// The key and text columns of a record; a text may be its own key.
fn key_and_body(documents: &Open, record: &Record) -> Result<(Column, Column)> {
    let columns = (documents.column(record.key()), documents.column(record.last()));
    let (Some(key), Some(body)) = columns else {
        return Err(misused("is fired for columns that do not exist"));
    };
    check_body(&body)?;
    Ok((key, body))
}
