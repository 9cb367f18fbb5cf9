//! `minlsh_create_index()`: checks what was asked for, then lets [`build`] build it.

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use sketch::counted;

use crate::error::{Result, error};
use crate::options::IndexOptions;
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::function_schema;
use crate::pg::names::{regclass_literal, relation_name};
use crate::pg::relation::{Lock, Relation};
use crate::side_table::SideTable;
use crate::side_table::arguments::{Blueprint, blueprint, null_table, open_table};
use crate::side_table::build::build;
use crate::side_table::find;

sql_function!(minlsh_create_index, create_index);

fn create_index(call: &Call) -> Result<Option<Datum>> {
    let documents = open_table(call.oid(0).ok_or_else(null_table)?)?;
    let blueprint = blueprint(call, &documents)?;
    if let Some(existing) = identical(&documents, &blueprint) {
        return already(&existing, call.bool(14).unwrap_or(false));
    }
    let (storage, count) = build(function_schema(call.function()), &documents, &blueprint)?;
    report(storage, &documents.name, count, &blueprint.options);
    Ok(Some(Datum::from(storage)))
}

/// An index of the same columns with the same options.
fn identical(documents: &Relation, wanted: &Blueprint) -> Option<SideTable> {
    let found = find::all(documents.oid, Lock::Read).into_iter();
    let mut sound = found.filter_map(|found| found.side.ok());
    sound.find(|side| {
        side.table.oid == documents.oid
            && side.key.number == wanted.key.number
            && side.body.number == wanted.body.number
            && *side.options == wanted.options
    })
}

fn already(existing: &SideTable, if_not_exists: bool) -> Result<Option<Datum>> {
    let (name, table) = (relation_name(existing.storage), &existing.table.name);
    if if_not_exists {
        pgrx::notice!("minlsh index \"{name}\" on table \"{table}\" already exists, skipping");
        return Ok(Some(Datum::from(existing.storage)));
    }
    let message = format!("table \"{table}\" has an identical minlsh index: \"{name}\"");
    Err(error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message).set_hint(format!(
        "Use it, or build it again with SELECT minlsh_reindex({}); if_not_exists => true returns it.",
        regclass_literal(existing.storage)
    )))
}

/// Says what has been built.
pub fn report(storage: Oid, table: &str, documents: usize, options: &IndexOptions) {
    let banding = &options.banding;
    pgrx::notice!(
        "minlsh index \"{}\" on table \"{table}\": {}, {} of {}, recall {:.3} at threshold {}",
        relation_name(storage),
        counted(documents, "document"),
        counted(banding.bands(), "band"),
        counted(banding.rows(), "row"),
        banding.probability(options.threshold.get()),
        options.threshold,
    );
}
