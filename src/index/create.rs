//! `minlsh_create_index()`: checks what was asked for, then lets [`build`] build it.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use sketch::{Banding, SlotBits};

use crate::error::{Result, engine, error, invalid_parameter, not_allowed, not_supported};
use crate::functions::Options;
use crate::index::build::{Blueprint, build};
use crate::index::definition::Settings;
use crate::index::home::Home;
use crate::index::registry;
use crate::index::triggers::Firing;
use crate::pg::call::{Call, sql_function};
use crate::pg::names::{relation_name, type_label};
use crate::pg::relation::{Column, Lock, Relation};
use crate::pg::spi::{Access, Parameter, Session};
use crate::pg::{relation, role};

sql_function!(minlsh_create_index, create_index);

fn create_index(call: &Call) -> Result<Option<Datum>> {
    let relation = open_table(table(call)?)?;
    let blueprint = blueprint(call, &relation)?;
    build(&Home::of(call.function()), &relation, &blueprint)
        .map(|storage| Some(Datum::from(storage)))
}

/// The table to be indexed, argument 0.
pub fn table(call: &Call) -> Result<Oid> {
    call.oid(0).ok_or_else(null_table)
}

fn null_table() -> ErrorReport {
    error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "table and column must not be NULL")
}

/// What the arguments of `minlsh_create_index()` ask for.
pub fn blueprint(call: &Call, relation: &Relation) -> Result<Blueprint> {
    let body = body_column(relation, &call.name(1)?.ok_or_else(null_table)?)?;
    let key = match call.name(2)? {
        Some(name) => named_key(relation, &name)?,
        None => primary_key(relation)?,
    };
    let settings = settings(call)?;
    let session = Session::open();
    refuse_children(&session, relation)?;
    let needs_rows = needs_row_triggers(&session, relation)?;
    let firing = Firing::of(&text_argument(call, 11)?, needs_rows)?;
    Ok(Blueprint { name: call.name(10)?, key: key.name, body: body.name, settings, firing })
}

/// The arguments threshold, recall, num_perm, shingle_size, unit, scheme and seed (3 to 9),
/// slot_bits, normalization, stop_words and bag (12 to 15).
fn settings(call: &Call) -> Result<Settings> {
    let null = |name: &str| {
        error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{name} must not be NULL"))
    };
    let threshold = call.float8(3).ok_or_else(|| null("threshold"))?;
    let recall = call.float8(4).ok_or_else(|| null("recall"))?;
    let num_perm = call.int4(5).ok_or_else(|| null("num_perm"))?;
    let shingle_size = call.int4(6).ok_or_else(|| null("shingle_size"))?;
    let seed = call.int8(9).ok_or_else(|| null("seed"))?;
    let config = Options {
        scheme: text_argument(call, 8)?.into(),
        num_perm,
        unit: text_argument(call, 7)?.into(),
        shingle_size,
        seed,
        normalization: text_argument(call, 13)?.into(),
        stop_words: text_argument(call, 14)?.into(),
        bag: call.bool(15).ok_or_else(|| null("bag"))?,
    }
    .config()?;
    // No query asks for less than the index's threshold, so none looks up more bands than that
    // needs: the others would be a fifth of the build and of every write, for nothing.
    let banding = Banding::for_recall(threshold, num_perm.into(), recall)
        .map_err(engine)?
        .trimmed(threshold, recall);
    let slot_bits = call.int4(12).ok_or_else(|| null("slot_bits"))?;
    let slot_bits = SlotBits::new(slot_bits.into(), num_perm.into()).map_err(engine)?;
    Ok(Settings { config, banding, threshold, recall, slot_bits })
}

fn text_argument(call: &Call, index: usize) -> Result<String> {
    call.text(index)?.map(std::borrow::Cow::into_owned).ok_or_else(|| {
        error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "options must not be NULL")
    })
}

/// Opens a table for building an index on it, holding writers off as CREATE INDEX does.
pub fn open_table(table: Oid) -> Result<Relation> {
    let relation =
        Relation::open(table, Lock::HoldWriters).ok_or_else(|| no_such_relation(table))?;
    let name = &relation.name;
    match relation.kind {
        b'r' | b'p' => {}
        b'm' | b'v' | b'f' => {
            return Err(error(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!("\"{name}\" is not a table"),
            )
            .set_detail("An index is kept up to date by triggers, which views, materialized views and foreign tables do not fire.")
            .set_hint("Index the table below it, or copy the rows into a table."));
        }
        _ => {
            return Err(error(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!("\"{name}\" is not a table"),
            ));
        }
    }
    check_owner(relation.oid)?;
    Ok(relation)
}

fn no_such_relation(oid: Oid) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
        format!("relation with OID {} does not exist", oid.to_u32()),
    )
}

/// Only the owner of a table (or a member of that role, or a superuser) may change its indexes.
pub fn check_owner(table: Oid) -> Result<()> {
    if relation::owner_of(table) == Oid::INVALID {
        return Err(no_such_relation(table));
    }
    if relation::is_owned_by(table, role::current()) {
        return Ok(());
    }
    Err(not_allowed(format!("must be owner of table {}", relation_name(table))))
}

fn body_column(relation: &Relation, name: &str) -> Result<Column> {
    let column = column(relation, name)?;
    // SAFETY: a lookup in the system caches.
    if !unsafe { pg_sys::IsBinaryCoercible(column.type_oid, pg_sys::TEXTOID) } {
        return Err(error(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            format!("column \"{name}\" is of type {}, not text", type_label(column.type_oid)),
        )
        .set_hint(
            "Index a column of type text or varchar, or a generated column that casts to it.",
        ));
    }
    refuse_virtual(&column)?;
    Ok(column)
}

fn column(relation: &Relation, name: &str) -> Result<Column> {
    relation.column_named(name).cloned().ok_or_else(|| {
        error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
        )
    })
}

fn refuse_virtual(column: &Column) -> Result<()> {
    if column.generated == b'v' {
        return Err(not_supported(format!(
            "column \"{}\" is a virtual generated column",
            column.name
        ))
        .set_hint("Make it STORED: triggers do not see virtual columns."));
    }
    Ok(())
}

/// The primary key, which must be one column.
fn primary_key(relation: &Relation) -> Result<Column> {
    let session = Session::open();
    let rows = session.query(
        "SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_index i, pg_catalog.pg_attribute a \
         WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND i.indisprimary \
         AND a.attrelid OPERATOR(pg_catalog.=) i.indrelid \
         AND a.attnum OPERATOR(pg_catalog.=) ANY (i.indkey[0:i.indnkeyatts - 1])",
        &[Parameter::oid(relation.oid)],
        Access::Write,
    )?;
    let table = &relation.name;
    match rows.len() {
        1 => named_key(relation, &rows.text(0, 1)?),
        0 => Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("table \"{table}\" has no primary key"),
        )
        .set_hint("Name a unique, NOT NULL column with key => 'column', or add a primary key.")),
        count => Err(not_supported(format!(
            "the primary key of table \"{table}\" has {count} columns"
        ))
        .set_hint("Name one unique, NOT NULL column with key => 'column'; a generated column that combines them will do.")),
    }
}

/// A column that tells documents apart: NOT NULL, and the only column of a unique index that
/// is neither partial nor deferrable (the rule of foreign keys).
fn named_key(relation: &Relation, name: &str) -> Result<Column> {
    let column = column(relation, name)?;
    let session = Session::open();
    let rows = session.query(
        "SELECT FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) $1 \
         AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL \
         AND i.indexprs IS NULL AND i.indnkeyatts OPERATOR(pg_catalog.=) 1 \
         AND i.indkey[0] OPERATOR(pg_catalog.=) $2",
        &[
            Parameter::oid(relation.oid),
            Parameter::new(pg_sys::INT2OID, Some(Datum::from(column.number))),
        ],
        Access::Write,
    )?;
    if rows.is_empty() || !column.not_null {
        return Err(invalid_parameter(format!(
            "column \"{name}\" of table \"{}\" cannot be the key of an index",
            relation.name
        ))
        .set_detail("A key needs a NOT NULL constraint and a unique index of its own, neither partial nor deferrable.")
        .set_hint("Use the primary key, or add the constraints to this column."));
    }
    refuse_virtual(&column)?;
    registry::equality_operator(&session, column.type_oid)?;
    Ok(column)
}

/// Whether statements aimed at other tables change the rows of this one.
pub fn needs_row_triggers(session: &Session, relation: &Relation) -> Result<bool> {
    Ok(relation.is_partitioned() || inherits(session, "inhrelid", relation)?)
}

/// Whether the table stands in that column of pg_inherits.
fn inherits(session: &Session, column: &str, relation: &Relation) -> Result<bool> {
    let rows = session.query(
        &format!(
            "SELECT FROM pg_catalog.pg_inherits i WHERE i.{column} OPERATOR(pg_catalog.=) $1 LIMIT 1"
        ),
        &[Parameter::oid(relation.oid)],
        Access::Write,
    )?;
    Ok(!rows.is_empty())
}

/// Refuses a table whose rows are spread over inheritance children.
fn refuse_children(session: &Session, relation: &Relation) -> Result<()> {
    if !relation.is_partitioned() && inherits(session, "inhparent", relation)? {
        return Err(not_supported(format!("table \"{}\" has inheritance children", relation.name))
            .set_hint("Index the children, or use declarative partitioning."));
    }
    Ok(())
}
