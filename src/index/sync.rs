//! `minlsh_sync()`, the trigger function: carries a change of the user's table into the side
//! table, in the writer's transaction and with the rights of the side table's owner.
//!
//! The rows that a trigger is told of only say which keys to look at. What is stored for a key is
//! always derived from the table as it is now: other triggers may have changed the same rows
//! since, a statement may pass a key from one row to another, and the order does not matter.

use std::rc::Rc;

use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error, invalid_parameter};
use crate::functions::{checkpoint, with_sketcher};
use crate::index::definition::Index;
use crate::index::home::{Borrowed, Home, borrow_rights};
use crate::index::{registry, triggers};
use crate::pg::call::{Call, sql_function};
use crate::pg::dependency::{Object, drop_on_cascade, drop_together};
use crate::pg::names::relation_name;
use crate::pg::relation::{Column, Lock, Relation, owner_of};
use crate::pg::role::act_as;
use crate::pg::spi::{Access, Parameter, Plan, Session};
use crate::pg::trigger::{Document, Event, Fired, same_datum};
use crate::pg::{array, text};
use crate::query::plans;

sql_function!(minlsh_sync, sync);

fn sync(call: &Call) -> Result<Option<Datum>> {
    let Some(fired) = Fired::of(call) else {
        return Err(error(
            PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
            "minlsh_sync was not called by trigger manager",
        )
        .set_hint("minlsh_create_index() makes the triggers that call it."));
    };
    let Some(name) = fired.argument() else {
        return Err(invalid_parameter("minlsh_sync needs the name of an index as its argument"));
    };
    let event = fired.event();
    if event.is_none() && !fired.is_before_insert() {
        return Ok(Some(Datum::from(0)));
    }
    let relation = fired.relation();
    match registry::find_for_trigger(call.function(), fired.oid(), &name)? {
        Some(index) => match event {
            Some(event) => apply(&index, &fired, event)?,
            None => forget_emptied(&index)?,
        },
        None => pgrx::warning!(
            "minlsh index \"{name}\" of table \"{}\" no longer exists; its triggers have nothing to do",
            relation_name(relation)
        ),
    }
    // What an AFTER trigger returns is ignored; a BEFORE statement trigger must return nothing.
    Ok(Some(Datum::from(0)))
}

/// Empties the side table of a temporary table that COMMIT has emptied.
fn forget_emptied(index: &Index) -> Result<()> {
    let _rights = borrow_rights(index.owner);
    let session = Session::open();
    let emptied = session.query(
        "SELECT pg_relation_size($1::regclass) = 0 AND pg_relation_size($2::regclass) > 0",
        &[Parameter::oid(index.relation), Parameter::oid(index.storage)],
        Access::Read,
    )?;
    if emptied.bool(0, 1) {
        session.run(&format!("TRUNCATE {}", index.storage_name()))?;
    }
    Ok(())
}

fn apply(index: &Rc<Index>, fired: &Fired, event: Event) -> Result<()> {
    if !index.linked {
        let columns = (index.key.name.as_str(), index.body.name.as_str());
        link(&index.home, index.relation, index.storage, &index.name, columns)?;
    }
    let rights = borrow_rights(index.owner);
    // Plans are kept for the session: one made while the table was small must not scan it later.
    rights.settings.set("enable_seqscan", "off");
    let session = Session::open();
    if event == Event::Truncate {
        return session.run(&format!("TRUNCATE {}", index.storage_name()));
    }
    let (key, body) = columns_in(index, fired.relation())?;
    let documents = fired.documents(&key, &body);
    let mut writer = Writer::new(index, &session)?;
    match event {
        Event::Insert => documents.each_new(|new| writer.refresh(new.key)),
        Event::Delete => documents.each_old(|old| writer.refresh(old.key)),
        Event::Update if documents.are_paired() => documents.each_pair(|old, new| {
            let same_key = same_datum(&key, old.key, new.key);
            if same_key && same_body(&body, &old, &new) {
                return Ok(());
            }
            if !same_key {
                writer.refresh(old.key)?;
            }
            writer.refresh(new.key)
        }),
        Event::Update => {
            documents.each_old(|old| writer.refresh(old.key))?;
            documents.each_new(|new| writer.refresh(new.key))
        }
        Event::Truncate => Ok(()),
    }
}

fn same_body(column: &Column, old: &Document, new: &Document) -> bool {
    match (old.body, new.body) {
        (Some(old), Some(new)) => same_datum(column, old, new),
        (None, None) => true,
        _ => false,
    }
}

/// The covered columns in the relation whose trigger fired: a partition may number them
/// otherwise than its parent, but names them alike.
fn columns_in(index: &Index, relation: Oid) -> Result<(Column, Column)> {
    if relation == index.relation {
        return Ok((index.key.clone(), index.body.clone()));
    }
    let columns = Relation::open(relation, Lock::Read).and_then(|relation| {
        let column = |name: &str| relation.column_named(name).cloned();
        Some((column(&index.key.name)?, column(&index.body.name)?))
    });
    columns.ok_or_else(|| {
        error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("table \"{}\" lacks a column of its parent", relation_name(relation)),
        )
    })
}

/// Writes rows of a side table.
pub struct Writer<'a> {
    index: &'a Index,
    session: &'a Session,
    /// Reads the user's table, with its owner's rights.
    current: Rc<Plan>,
    table_owner: Oid,
    upsert: Rc<Plan>,
    delete: Rc<Plan>,
    /// What one document needs; emptied after each.
    memory: PgMemoryContexts,
}

impl<'a> Writer<'a> {
    /// A writer to `index`, in whose owner's name `session` runs.
    pub fn new(index: &'a Index, session: &'a Session) -> Result<Self> {
        index.check_version()?;
        let key = index.key.type_oid;
        let row = [key, pg_sys::INT4ARRAYOID, pg_sys::INT8ARRAYOID];
        let upsert = index.plan(session, ("upsert", Oid::INVALID), &row, || {
            format!(
                "INSERT INTO {} (doc_id, signature, bands) VALUES ($1, $2, $3) \
                 ON CONFLICT (doc_id) DO UPDATE \
                 SET doc_id = excluded.doc_id, signature = excluded.signature, \
                 bands = excluded.bands",
                index.storage_name()
            )
        })?;
        let delete = index.plan(session, ("delete", Oid::INVALID), &[key], || {
            format!("DELETE FROM {} WHERE doc_id {} $1", index.storage_name(), index.key_equals)
        })?;
        let current = plans::body(index, session)?;
        Ok(Self {
            index,
            session,
            current,
            table_owner: owner_of(index.relation),
            upsert,
            delete,
            memory: PgMemoryContexts::new("minlsh document"),
        })
    }

    /// Makes the row of a key what the table says now; a document that is gone, or has no
    /// shingle, has none.
    pub fn refresh(&mut self, key: Datum) -> Result<()> {
        checkpoint();
        let (index, session, table_owner) = (self.index, self.session, self.table_owner);
        let (current, upsert, delete) =
            (self.current.clone(), self.upsert.clone(), self.delete.clone());
        self.in_document_memory(|| {
            let rows = {
                let _rights = act_as(table_owner);
                session.execute(&current, &[Some(key)], Access::Write)?
            };
            let body = if rows.is_empty() { None } else { rows.datum(0, 1) };
            // SAFETY: the plan casts the column to text.
            let text = body.map(|body| unsafe { text::read(body) }).transpose()?;
            let row = text.as_deref().and_then(|text| signed(index, text));
            let result = match row.transpose().map_err(crate::error::engine)? {
                Some((signature, bands)) => {
                    let values = [Some(key), Some(signature), Some(bands)];
                    session.execute(&upsert, &values, Access::Latest).map(drop)
                }
                None => {
                    // A backfill may be about to insert this row, unseen by a DELETE: a row of our
                    // own makes one of the two wait for the other.
                    if !index.valid {
                        let [signature, bands] = [array::write_int4(&[]), array::write_int8(&[])];
                        let values = [Some(key), Some(signature), Some(bands)];
                        session.execute(&upsert, &values, Access::Latest)?;
                    }
                    session.execute(&delete, &[Some(key)], Access::Latest).map(drop)
                }
            };
            rows.free();
            result
        })
    }

    fn in_document_memory<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // SAFETY: nothing allocated for one document is used after it: plans copy what they
        // store, and `T` holds no pointer into the context.
        unsafe {
            let result = self.memory.switch_to(|_| work());
            self.memory.reset();
            result
        }
    }
}

/// Signature and bands of a text as datums, `None` if it has no shingle.
fn signed(index: &Index, text: &str) -> Option<std::result::Result<(Datum, Datum), sketch::Error>> {
    let settings = &index.settings;
    with_sketcher(&settings.config, |sketcher| {
        sketcher.sketch(text, &mut checkpoint).map(|signature| {
            let mut bands = Vec::with_capacity(settings.banding.bands());
            let mut stored = Vec::with_capacity(signature.len());
            settings
                .banding
                .hashes(signature, &mut bands)
                .and_then(|()| settings.slot_bits.pack(signature, &mut stored))
                .map(|()| (array::write_int4(&stored), array::write_int8(&bands)))
        })
    })
}

/// Records in the catalog what belongs together: DROP TABLE of the user's table drops the side
/// table, DROP TABLE of the side table drops the triggers, and DROP EXTENSION needs CASCADE.
/// A dump does not carry these; the first write after a restore mends them.
pub fn link(
    home: &Home,
    relation: Oid,
    storage: Oid,
    name: &str,
    columns: (&str, &str),
) -> Result<()> {
    let _rights: Borrowed = borrow_rights(home.registry_owner);
    let session = Session::open();
    let side_table = Object::Table(storage);
    if let Some(table) = Relation::open(relation, Lock::Read) {
        for column in [columns.0, columns.1].iter().filter_map(|name| table.column_named(name)) {
            drop_together(side_table, Object::Column(relation, column.number));
        }
    }
    for trigger in triggers::existing(&session, home, relation, name)? {
        drop_together(Object::Trigger(trigger.oid), side_table);
    }
    let function = session.query(
        &format!("SELECT '{}.minlsh_sync()'::regprocedure::oid", home.schema.replace('\'', "''")),
        &[],
        Access::Read,
    )?;
    drop_on_cascade(side_table, Object::Function(function.oid(0, 1)));
    Ok(())
}
