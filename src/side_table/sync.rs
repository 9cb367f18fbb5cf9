//! `minlsh_sync()`, the trigger function: carries a change of the documents into the side table, in
//! the writer's transaction, without SQL and without anybody's rights.
//!
//! A row that a trigger is told of says which key to look at. What is stored for a key is what the
//! table has now: other triggers may have changed the same row since, a statement may pass a key
//! from one row to another, and the order in which triggers fire does not matter.

use std::cell::RefCell;

use ahash::AHashSet;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, SqlError, error, not_supported, wrong_state};
use crate::pg::bulk;
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::is_stored_as;
use crate::pg::names::{regclass_literal, relation_name};
use crate::pg::open::Open;
use crate::pg::relation::{Column, Lock, Relation, leaves};
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::{Snapshot, next_command};
use crate::pg::trigger::{self, Event, Fired, Trigger, triggers};
use crate::side_table::sign::sign;
use crate::side_table::storage::{
    DOC_ID, Storage, StoredSketch, is_shaped_like_one, row_of, stored,
};
use crate::side_table::watch::{self, Watch};

sql_function!(minlsh_sync, sync);

thread_local! {
    /// The side tables that are known to be linked to their documents.
    static LINKED: RefCell<AHashSet<Oid>> = RefCell::default();
}

fn sync(call: &Call) -> Result<Option<Datum>> {
    let Some(fired) = Fired::of(call) else {
        return Err(protocol("minlsh_sync was not called by trigger manager"));
    };
    match (fired.event(), fired.for_each_row(), fired.is_after()) {
        (Event::Truncate, false, true) => truncated(fired.relation())?,
        (Event::Truncate, ..) | (_, false, _) => return Err(misused("must be fired for each row")),
        (event, true, true) => written(&fired, event)?,
        (event, true, false) => {
            let is_brought = match watch::documents_of(fired.relation(), Lock::Read) {
                Some((documents, watch)) => brought(&fired, event, &documents, &watch)?,
                // Restored without its documents, it is a table as any other.
                None if is_shaped_like_one(fired.relation()) => false,
                None => return Err(misused("must be fired after the rows are written")),
            };
            if !is_brought {
                return Ok(Some(fired.row_as_it_is()));
            }
        }
    }
    Ok(Some(Datum::from(0)))
}

/// True if somebody brings a row to the side table that the triggers of the documents bring as well: replication, and
/// a restore of the data alone, which fires them. Such a row is not written.
fn brought(fired: &Fired, event: Event, documents: &Open, watch: &Watch) -> Result<bool> {
    if trigger::is_replica() {
        return Ok(true);
    }
    let key = fired.new_row().filter(|_| event == Event::Insert);
    let Some(key) = key.as_ref().and_then(|row| row.value(DOC_ID)) else { return Ok(false) };
    let column = key_and_body(documents, watch.key, watch.body)?.0;
    // One that is not sound is not looked at.
    let Ok(storage) = Storage::open(watch.storage, documents, column.type_oid, Lock::Held) else {
        return Ok(false);
    };
    let mut found = false;
    let visit = |_: &Row| {
        found = true;
        Ok(Continue::No)
    };
    // SAFETY: the first column of the row that was brought to this side table, whose type `open` has checked.
    unsafe { storage.of_document(key, &Snapshot::own(), visit)? };
    Ok(found)
}

fn protocol(message: impl Into<String>) -> SqlError {
    error(PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, message)
        .set_hint("Use minlsh_create_index(), which creates the triggers.")
}

fn misused(problem: &str) -> SqlError {
    protocol(format!("trigger function minlsh_sync {problem}"))
}

/// Empties the side tables of a table that has been emptied; refuses a side table that has been
/// emptied by itself, since queries would find nothing and not say so.
fn truncated(relation: Oid) -> Result<()> {
    if let Some((documents, _)) = watch::documents_of(relation, Lock::Read)
        && has_rows(documents.oid())?
    {
        let table = regclass_literal(documents.oid());
        return Err(wrong_state(format!(
            "cannot truncate side table \"{}\" alone",
            relation_name(relation)
        ))
        .set_hint(format!(
            "Use TRUNCATE {}, which also empties the side table, or build it again with SELECT \
             minlsh_reindex({table});",
            crate::pg::names::visible_name(documents.oid())
        )));
    }
    let Some(documents) = Open::relation(relation, Lock::Held) else { return Ok(()) };
    for watch in watch::watches(&documents) {
        let key = key_and_body(&documents, watch.key, watch.body)?.0;
        let lock = Lock::Exclusive;
        let table = Storage::open(watch.storage, &documents, key.type_oid, lock)?.rows.table;
        // The same TRUNCATE may have emptied both.
        if table.pages() > 0 {
            bulk::empty(&table);
        }
    }
    Ok(())
}

fn has_rows(table: Oid) -> Result<bool> {
    let Some(table) = Relation::open(table, Lock::Held) else { return Ok(false) };
    let snapshot = Snapshot::latest();
    let mut found = false;
    for leaf in leaves(&table, Lock::Read) {
        let Some(leaf) = Open::relation(leaf.oid, Lock::Held) else { continue };
        leaf.each(&snapshot, |_| {
            found = true;
            Ok(Continue::No)
        })?;
    }
    Ok(found)
}

/// A row of the documents has been written.
fn written(fired: &Fired, event: Event) -> Result<()> {
    let Some(documents) = Open::relation(fired.relation(), Lock::Held) else { return Ok(()) };
    let trigger = fired.trigger();
    let watch = record_of(&documents, &trigger)?;
    let is_second = trigger.oid != watch.trigger.oid;
    if is_second && (event != Event::Update || fired.names(watch.key) || fired.names(watch.body)) {
        return Ok(());
    }
    let (key, body) = key_and_body(&documents, watch.key, watch.body)?;
    let (old, new) = (fired.old_row(), fired.new_row());
    let value = |row: &Option<Row>, column: &Column| row.as_ref()?.value(column.number);
    let (old_key, new_key) = (value(&old, &key), value(&new, &key));
    let same_key = old_key.is_some() && fired.is_unchanged(key.number);
    if same_key && fired.is_unchanged(body.number) {
        return Ok(());
    }
    let storage = Storage::open(watch.storage, &documents, key.type_oid, Lock::Write)?;
    storage.check_current()?;
    link_once(&documents, &watch);
    let writer = SketchWriter { documents: &documents, storage, key, body };
    if let (Some(old), false) = (old_key, same_key) {
        writer.forget(old)?;
    }
    match (&new, new_key) {
        (Some(new), _) if documents.has_live(new) => writer.refresh(new),
        // Another trigger has changed or deleted it since, perhaps without a change to be told of.
        (Some(_), Some(key)) => writer.forget(key),
        _ => Ok(()),
    }
}

/// The record of the index for which a trigger fires: itself, or the one beside it.
fn record_of(documents: &Open, trigger: &Trigger) -> Result<Watch> {
    let Some(storage) = trigger.tied_to else {
        return Err(misused(
            "needs a side table in its condition, as in WHEN ('side'::regclass IS NOT NULL)",
        ));
    };
    if let Some(watch) = Watch::of(trigger.clone()) {
        return Ok(watch);
    }
    let beside = triggers(documents).into_iter().filter(|other| other.function == trigger.function);
    let mut records = beside.filter_map(Watch::of).filter(|watch| watch.storage == storage);
    match records.next() {
        Some(watch) if trigger.columns.is_empty() => Ok(watch),
        _ => Err(misused("must be fired by INSERT OR UPDATE OF key, text OR DELETE")),
    }
}

fn key_and_body(documents: &Open, key: i16, body: i16) -> Result<(Column, Column)> {
    let column = |number: i16| {
        let mut attributes = documents.attributes();
        attributes.find(|attribute| attribute.attnum == number && !attribute.attisdropped)
    };
    let (Some(key), Some(body)) = (column(key), column(body)) else {
        return Err(misused("is fired for columns that do not exist"));
    };
    check_body(&Column::of(body))?;
    Ok((Column::of(key), Column::of(body)))
}

/// Refuses a column that is not stored as text is.
pub fn check_body(body: &Column) -> Result<()> {
    let is_text = body.type_oid == pg_sys::TEXTOID || is_stored_as(body.type_oid, pg_sys::TEXTOID);
    if !is_text {
        let label = crate::pg::names::type_label(body.type_oid);
        let code = PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH;
        let hint =
            "Index a column of type text or varchar, or a generated column that casts to it.";
        return Err(error(code, format!("column \"{}\" is of type {label}, not text", body.name))
            .set_hint(hint));
    }
    check_stored(body)
}

/// Refuses a column whose values are not in the rows.
pub fn check_stored(column: &Column) -> Result<()> {
    if column.generated != b'v' {
        return Ok(());
    }
    let message = format!("column \"{}\" is a virtual generated column", column.name);
    Err(not_supported(message).set_hint(
        "Make the column STORED, because triggers do not see virtual \
         columns.",
    ))
}

/// The first write of a session mends what a dump did not carry.
fn link_once(documents: &Open, watch: &Watch) {
    if LINKED.with_borrow(|linked| linked.contains(&watch.storage)) {
        return;
    }
    if watch.trigger.is_copy {
        // The record is that of the partitioned table.
        if let Some((documents, watch)) = watch::documents_of(watch.storage, Lock::Read) {
            link(&documents, &watch);
        }
    } else {
        link(documents, watch);
    }
    LINKED.with_borrow_mut(|linked| linked.insert(watch.storage));
}

fn link(documents: &Open, watch: &Watch) {
    if !watch::is_linked(documents.oid(), watch) {
        watch::link(documents, watch);
    }
}

/// Writes rows of a side table.
struct SketchWriter<'a> {
    /// The table, or the partition, that was written.
    documents: &'a Open,
    storage: Storage,
    key: Column,
    body: Column,
}

impl SketchWriter<'_> {
    /// Makes the row of a document what the document says.
    fn refresh(&self, document: &Row) -> Result<()> {
        let Some(key) = document.value(self.key.number) else {
            return Err(wrong_state(format!(
                "key \"{}\" of table \"{}\" is NULL",
                self.key.name,
                self.documents.name()
            ))
            .set_hint("Use a key that is NOT NULL and unique."));
        };
        let body = document.value(self.body.number);
        // SAFETY: `check_body` has found that the column is stored as text is.
        let signed = body.map(|body| unsafe { sign(&self.storage.options, body) });
        self.put(key, signed.transpose()?.flatten())
    }

    /// A row of that key is gone. Another may have the key now.
    fn forget(&self, key: Datum) -> Result<()> {
        let Some(index) = watch::key_index(self.documents, self.key.number, Lock::Read) else {
            return Err(wrong_state(format!(
                "column \"{}\" of table \"{}\" is no longer a key",
                self.key.name,
                self.documents.name()
            ))
            .set_detail("There is no valid unique index of only this column.")
            .set_hint("Add a primary key or a UNIQUE constraint, or drop the index with minlsh_drop_index()."));
        };
        let mut found = false;
        let refresh = |row: &Row| {
            found = true;
            self.refresh(row)?;
            Ok(Continue::No)
        };
        // SAFETY: the key of a row of these documents, and their index of that column.
        unsafe { index.each_equal(self.documents, key, &Snapshot::own(), refresh) }?;
        if found { Ok(()) } else { self.put(key, None) }
    }

    /// Stores `signed` for `key`, or nothing. The key's unique index lets nobody else do so now.
    fn put(&self, key: Datum, signed: Option<StoredSketch>) -> Result<()> {
        let rows = &self.storage.rows;
        let mut done = false;
        let put = |row: &Row| {
            // What is written now must not belong to the command that wrote the old row.
            next_command();
            match &signed {
                None => rows.table.delete(row),
                Some(signed) if self.is_same(row, key, signed) => {}
                // SAFETY: the side table was found to have columns of these types.
                Some(signed) => unsafe { rows.update(row, &row_of(key, signed)) },
            }
            done = true;
            Ok(Continue::No)
        };
        // SAFETY: a key of the documents, for whose type the side table was opened.
        unsafe { self.storage.of_document(key, &Snapshot::dirty(), put)? };
        if let (false, Some(signed)) = (done, &signed) {
            // SAFETY: the side table was found to have columns of these types.
            unsafe { rows.insert(&row_of(key, signed)) };
        }
        Ok(())
    }

    fn is_same(&self, row: &Row, key: Datum, signed: &StoredSketch) -> bool {
        // SAFETY: the side table was found to have keys of this type.
        let same = |stored| unsafe { self.key.storage.same(stored, key) };
        let same_key = row.value(DOC_ID).is_some_and(same);
        same_key
            && stored(row).ok().flatten().is_some_and(|(_, signature, bands)| {
                signature == signed.signature && bands == signed.bands
            })
    }
}
