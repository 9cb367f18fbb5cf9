//! Reads and checks the arguments of `minlsh_create_side_table()`.

use std::ffi::{CStr, CString};

use crate::error::JOINED;
use crate::options::{IndexOptions, Options, Threshold};
use crate::pg::relation::{Column, inheritors};
use crate::pg::rights::check_owner;
use crate::prelude::*;
use crate::row_key::{Key, NoKey};
use crate::side_table::sign::{check_body, check_stored};

pub struct Blueprint {
    /// Name of the side table; `None` chooses one by PostgreSQL's rules.
    pub name: Option<CString>,
    pub schema: Oid,
    pub key: Column,
    pub body: Column,
    pub options: IndexOptions,
}

/// Opens a table for building an index on it, and blocks writers as CREATE INDEX does.
pub fn open_table(table: Oid) -> Result<Relation> {
    // Only a role that may build an index may block writers.
    check_owner(table)?;
    let relation = Relation::open(table, Lock::HoldWriters).ok_or_else(|| no_such_relation(table))?;
    let wrong = || wrong_object(format!("\"{}\" is not a table", relation.name));
    match relation.kind {
        b'r' | b'p' => {}
        b'm' | b'v' | b'f' => {
            return Err(wrong()
                .set_detail(
                    "Triggers keep a side table up to date, and views, materialized views and foreign tables do not \
                     fire them.",
                )
                .set_hint("Index the underlying table, or copy the rows into a table."));
        }
        _ => return Err(wrong()),
    }
    check_owner(relation.oid)?;
    if let Some(open) = Open::relation(relation.oid, Lock::Held) {
        // SAFETY: `open` holds the table open.
        unsafe { pg_sys::CheckTableNotInUse(open.raw(), c"CREATE INDEX".as_ptr()) };
    }
    refuse_children(&relation)?;
    Ok(relation)
}

/// Refuses a table with rows in inheritance children.
fn refuse_children(relation: &Relation) -> Result<()> {
    if !relation.is_partitioned() && inheritors(relation.oid, Lock::Held).len() > 1 {
        let message = format!("table \"{}\" has inheritance children", relation.name);
        return Err(not_supported(message).set_hint("Index the children, or use declarative partitioning."));
    }
    Ok(())
}

pub fn blueprint(call: &Call, relation: &Relation) -> Result<Blueprint> {
    if relation.persistence == b't' {
        let message = format!("table \"{}\" is temporary", relation.name);
        return Err(not_supported(message)
            .set_detail("COMMIT may empty it, which fires no trigger.")
            .set_hint("Create an index, as in CREATE INDEX ON docs USING minlsh (body)."));
    }
    let body = column(relation, &call.raw_name(1).ok_or_else(null_table)?, "body")?;
    check_body(&body)?;
    let key = match call.raw_name(2) {
        Some(name) => column(relation, &name, "key")?,
        None => only_key(relation, &body)?,
    };
    check_key(relation, &key)?;
    let schema = match call.raw_name(15) {
        Some(name) => catalog::schema_to_use(&name),
        None => relation.schema,
    };
    Ok(Blueprint { name: call.raw_name(10), schema, key, body, options: options(call)? })
}

/// The error for a NULL argument other than name, key and schema.
pub fn null_table() -> SqlError {
    null("table and column")
}

fn null(name: &str) -> SqlError {
    null_not_allowed(format!("{name} must not be NULL"))
}

/// The arguments threshold, recall, num_perm, shingle_size, unit, scheme and seed (3 to 9),
/// normalization, stop_words and bag (11 to 13).
fn options(call: &Call) -> Result<IndexOptions> {
    let is_null = |place: &usize| *place != 10 && call.datum(*place).is_none();
    if let Some(place) = (3..14).find(is_null) {
        let name = call.argument_names().into_iter().nth(place);
        return Err(null(&name.unwrap_or_default()));
    }
    let config = Options {
        num_perm: call.int4(5).given()?,
        scheme: call.text(8).given()?.into(),
        seed: call.int8(9).given()?,
        ..Options::shingling(call, 6, 7, 11)?
    }
    .config()?;
    IndexOptions::new(config, Threshold::new(call.float8(3).given()?)?, call.float8(4).given()?)
}

/// The column that argument `argument` names.
fn column(relation: &Relation, name: &CStr, argument: &str) -> Result<Column> {
    relation.column_called(name).cloned().ok_or_else(|| {
        let (table, name) = (&relation.name, name.to_string_lossy());
        let message = format!("{argument}: table \"{table}\" has no column \"{}\"", shortened(&name));
        undefined_column(message).set_hint(format!(
            "Pass the name of one column. For an expression add a generated column, or create an index, as in USING \
             minlsh (({JOINED}))."
        ))
    })
}

/// The column that is the key for each caller.
fn only_key(relation: &Relation, body: &Column) -> Result<Column> {
    let key = Key::of_table(relation.oid, relation.kind, body.number);
    let column = key.map(|key| relation.column(key.column).cloned());
    column.and_then(|column| column.ok_or(NoKey::Missing)).map_err(|cause| no_key(relation, cause))
}

/// The error for a table without a key of one column.
pub fn no_key(documents: &Relation, cause: NoKey) -> SqlError {
    not_supported(cause.message(&documents.name)).set_hint("Add a column that is unique and NOT NULL.")
}

/// Refuses a column that is not NOT NULL, or has no unique index of its own that is neither partial nor deferrable.
/// Foreign keys have the same rule.
fn check_key(relation: &Relation, column: &Column) -> Result<()> {
    check_stored(column)?;
    let open = Open::relation(relation.oid, Lock::Held);
    let index = open.and_then(|open| open.key_index(column.number, Lock::Read));
    if index.is_some() && column.not_null {
        return Ok(());
    }
    Err(invalid_parameter(format!(
        "column \"{}\" of table \"{}\" cannot be the key of an index",
        column.name, relation.name
    ))
    .set_detail("A key needs a NOT NULL constraint and its own unique index, which is neither partial nor deferrable.")
    .set_hint("Use the primary key, or add the constraints to this column."))
}
