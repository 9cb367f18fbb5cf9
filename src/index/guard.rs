//! `minlsh_registry_guard()`: who may write the registry.
//!
//! `pg_restore` brings its rows back with an ordinary COPY, also when a database is restored
//! by somebody who is no superuser. So everybody may write it, but only about their own tables,
//! and (with the table's CHECK constraints) only what describes an index.

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::index::create::check_owner;
use crate::index::registry;
use crate::pg::call::{Call, sql_function};
use crate::pg::relation::{Lock, Relation, owner_of};
use crate::pg::trigger::{Event, Fired};

sql_function!(minlsh_registry_guard, guard);

/// Attribute numbers of `minlsh_registry.relation` and `.storage`.
const RELATION: i16 = 1;
const STORAGE: i16 = 3;

fn guard(call: &Call) -> Result<Option<Datum>> {
    let Some(fired) = Fired::of(call) else {
        return Err(error(
            PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
            "minlsh_registry_guard was not called by trigger manager",
        ));
    };
    let removed = fired.event() == Some(Event::Delete);
    for (column, check) in [(RELATION, check_table as Check), (STORAGE, check_side_table)] {
        for table in fired.oids(&[column]) {
            // A row of tables that are gone concerns nobody any more; but none may wait for tables
            // that are yet to come.
            if removed && owner_of(table) == Oid::INVALID {
                continue;
            }
            check_owner(table)?;
            if let (false, Some(table)) = (removed, Relation::open(table, Lock::Read)) {
                check(&table)?;
            }
        }
    }
    Ok(Some(fired.row()))
}

type Check = fn(&Relation) -> Result<()>;

/// A view in the place of a table would run its owner's code with the rights of whoever asks.
fn check_table(table: &Relation) -> Result<()> {
    if matches!(table.kind, b'r' | b'p') {
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("\"{}\" is not a table", table.name),
    ))
}

fn check_side_table(table: &Relation) -> Result<()> {
    if registry::is_side_table(table, None) {
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("\"{}\" is not the side table of a minlsh index", table.name),
    )
    .set_hint("minlsh_create_index() makes and registers one."))
}
