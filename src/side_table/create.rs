//! `minlsh_create_index()`: checks what was asked for, and builds it. All of it is one transaction's work: cancelled,
//! nothing remains.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use sketch::counted;

use crate::error::{Result, error, wrong_state};
use crate::options::IndexOptions;
use crate::pg::beside::{Enabled, NewTrigger, revoke_all};
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::{self, base_type, function_schema};
use crate::pg::names::{self, regclass_literal};
use crate::pg::open::Open;
use crate::pg::relation::{Lock, Relation};
use crate::pg::restricted::restricted_to;
use crate::pg::sql::{Sql, free_relation_name, object_name, relation_name};
use crate::pg::trigger;
use crate::side_table::arguments::{Blueprint, blueprint, null_table, open_table};
use crate::side_table::sign::fill;
use crate::side_table::{SideTable, find, watch};

sql_function!(minlsh_create_index, create_index);

/// A row of a side table is never compressed: signatures are random, so trying is wasted time, and
/// a row is toasted only if it does not fit a page.
const TOAST_TUPLE_TARGET: i32 = 8160;

fn create_index(call: &Call) -> Result<Option<Datum>> {
    let documents = open_table(call.oid(0).ok_or_else(null_table)?)?;
    let blueprint = blueprint(call, &documents)?;
    if let Some(existing) = identical(&documents, &blueprint) {
        return already(&existing, call.bool(14).unwrap_or(false));
    }
    let storage = build(function_schema(call.function()), &documents, &blueprint)?;
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
    let (name, table) = (names::relation_name(existing.storage), &existing.table.name);
    if if_not_exists {
        pgrx::notice!("minlsh index \"{name}\" on table \"{table}\" already exists, skipping");
        return Ok(Some(Datum::from(existing.storage)));
    }
    let message = format!("table \"{table}\" has an identical minlsh index: \"{name}\"");
    Err(error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, message).set_hint(format!(
        "Use it, build it again with SELECT minlsh_reindex({}), or pass if_not_exists => true to get its \
         name.",
        regclass_literal(existing.storage)
    )))
}

/// Says what has been built.
pub fn report(storage: Oid, table: &str, documents: usize, options: &IndexOptions) {
    let banding = &options.banding;
    pgrx::notice!(
        "minlsh index \"{}\" on table \"{table}\": {}, {} of {}, recall {:.3} at threshold {}",
        names::relation_name(storage),
        counted(documents, "document"),
        counted(banding.bands(), "band"),
        counted(banding.rows(), "row"),
        banding.probability(options.threshold.get()),
        options.threshold,
    );
}

/// Builds a side table with its indexes and triggers, as the table's owner, and security-restricted, like CREATE
/// INDEX; reports and returns it. `extension` is the extension's schema.
fn build(extension: Oid, documents: &Relation, blueprint: &Blueprint) -> Result<Oid> {
    let name = side_table_name(documents, blueprint);
    let _rights = restricted_to(documents.owner);
    create_table(documents, blueprint, &name)?;
    let storage = catalog::relation_called(&name, blueprint.schema);
    prepare_table(storage)?;
    let columns = (blueprint.key.raw_name.as_c_str(), blueprint.body.raw_name.as_c_str());
    let count = {
        let side = Open::relation(storage, Lock::Exclusive)
            .ok_or_else(|| wrong_state("the side table was dropped while it was being built"))?;
        fill(&side, documents, columns, &blueprint.options)?
    };
    Sql::new("ALTER TABLE ").relation(storage).text(" ADD PRIMARY KEY (doc_id)").run()?;
    create_signature_index(extension, storage, &blueprint.options)?;
    Sql::new("ANALYZE ").relation(storage).run()?;
    create_triggers(extension, documents, storage, columns)?;
    if let Some((documents, watch)) = watch::documents_of(storage, Lock::Held) {
        watch::link(&documents, &watch);
    }
    report(storage, &documents.name, count, &blueprint.options);
    Ok(storage)
}

fn side_table_name(documents: &Relation, blueprint: &Blueprint) -> CString {
    if let Some(name) = &blueprint.name {
        return name.clone();
    }
    let table = relation_name(documents.oid);
    let choose = |second| free_relation_name(blueprint.schema, &table, second, c"minlsh");
    let plain = choose(None);
    if plain == object_name(&table, c"minlsh") {
        plain
    } else {
        choose(Some(&blueprint.body.raw_name))
    }
}

fn create_table(documents: &Relation, blueprint: &Blueprint, name: &CStr) -> Result<()> {
    let create = match documents.persistence {
        b'u' => "CREATE UNLOGGED TABLE ",
        _ => "CREATE TABLE ",
    };
    let key = &blueprint.key;
    Sql::new(create)
        .qualified(blueprint.schema, name)
        .text(" (doc_id ")
        .type_name(base_type(key.type_oid))
        .collated(key.collation)
        .text(" NOT NULL, signature pg_catalog.int4[] NOT NULL, bands pg_catalog.int8[] NOT NULL)")
        .text(format!(" USING heap WITH (toast_tuple_target = {TOAST_TUPLE_TARGET})"))
        .run()
}

/// Sets how its columns are stored, and lets nobody but the owner read or write it directly: ALTER
/// DEFAULT PRIVILEGES may have granted rights on every new table.
fn prepare_table(storage: Oid) -> Result<()> {
    Sql::new("ALTER TABLE ")
        .relation(storage)
        .text(" ALTER signature SET STORAGE EXTERNAL, ALTER signature SET STATISTICS 0")
        .text(", ALTER bands SET STORAGE EXTERNAL, ALTER bands SET STATISTICS 0")
        .run()?;
    // Without names: they may change.
    Sql::new("COMMENT ON TABLE ")
        .relation(storage)
        .text(
            " IS 'signatures and band hashes of the documents of another table, kept by triggers'",
        )
        .run()?;
    revoke_all(storage)
}

fn create_signature_index(extension: Oid, storage: Oid, options: &IndexOptions) -> Result<()> {
    let (config, table) = (&options.config, storage);
    let options = [
        ("threshold", options.threshold.to_string()),
        ("recall", options.recall.to_string()),
        ("num_perm", config.num_perm().to_string()),
        ("scheme", config.scheme().as_str().to_owned()),
        ("seed", config.seed().to_string()),
        ("shingle_size", config.shingle_size().to_string()),
        ("unit", config.unit().as_str().to_owned()),
        ("normalization", config.normalization().to_string()),
        ("stop_words", config.stop_words().to_string()),
        ("bag", config.bag().to_string()),
    ];
    let mut command = Sql::new("CREATE INDEX ON ")
        .relation(table)
        .text(" USING minlsh (signature ")
        .qualified(extension, c"minlsh_signature_ops")
        .text(") WITH (");
    for (number, (name, value)) in options.iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        command = command.text(comma).text(name).text(" = ").literal(value);
    }
    command.text(")").run()
}

/// Creates the triggers that [`watch`] describes.
fn create_triggers(
    extension: Oid,
    documents: &Relation,
    storage: Oid,
    (key, body): (&CStr, &CStr),
) -> Result<()> {
    let (always, origin) = (Enabled::Always, Enabled::Origin);
    let on = |events: &'static str, table: Oid| Sql::new(events).text(" ON ").relation(table);
    let of_side = |command: Sql| command.text(" FOR EACH ROW WHEN ").text(trigger::tie(storage));
    let of_statement = |command: Sql| command.text(" FOR EACH STATEMENT");
    let (table, mut columns) = (documents.oid, Sql::new("").name(key));
    if key != body {
        columns = columns.text(", ").name(body);
    }
    let written = Sql::new("AFTER INSERT OR UPDATE OF ").text(columns);
    let written = written.text(" OR DELETE ON ").relation(table);
    let triggers = [
        (table, c"sync", of_side(written), always),
        (table, c"update", of_side(on("AFTER UPDATE", table)), always),
        (table, c"truncate", of_statement(on("AFTER TRUNCATE", table)), always),
        (storage, c"truncate", of_statement(on("AFTER TRUNCATE", storage)), origin),
        (
            storage,
            c"rows",
            on("BEFORE INSERT OR UPDATE OR DELETE", storage).text(" FOR EACH ROW"),
            always,
        ),
    ];
    for (table, label, definition, enabled) in triggers {
        let name = (relation_name(storage), label);
        NewTrigger { table, name, definition, enabled }.create(extension, c"minlsh_sync")?;
    }
    Ok(())
}
