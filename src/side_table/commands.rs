//! `minlsh_create_side_table()`, `minlsh_rebuild_side_table()` and `minlsh_drop_side_table()`.

use std::ffi::{CStr, CString};

use sketch::counted;

use crate::index::stored_options;
use crate::options::{IndexOptions, shingling};
use crate::pg::catalog::{base_type, function_schema};
use crate::pg::companion::{Companion, create_trigger, create_triggers, empty, rebuild_indexes, revoke_all};
use crate::pg::dependency::{self, Object};
use crate::pg::names;
use crate::pg::relation::owner_of;
use crate::pg::rights::{check_owner, restricted_to};
use crate::pg::snapshot::next_command;
use crate::pg::sql::{dropped_meanwhile, free_relation_name, object_name, relation_name};
use crate::pg::trigger::{Record, Trigger, triggers};
use crate::prelude::*;
use crate::side_table::arguments::{Blueprint, blueprint, null_table, open_table};
use crate::side_table::find::{self, documents_of, the_only};
use crate::side_table::sign::fill;
use crate::side_table::storage::{Storage, follow_owner};
use crate::side_table::{SYNC, SideTable};

sql_function!(minlsh_create_side_table, create);
sql_function!(minlsh_rebuild_side_table, rebuild);
sql_function!(minlsh_drop_side_table, drop_side_table);

/// A row is toasted only if it does not fit on a page. It is never compressed, because signatures are random.
const TOAST_TUPLE_TARGET: i32 = 8160;

fn create(call: &Call) -> Result<Option<Datum>> {
    let documents = open_table(call.oid(0).ok_or_else(null_table)?)?;
    let blueprint = blueprint(call, &documents)?;
    if let Some(existing) = identical(&documents, &blueprint) {
        return already(&existing, call.bool(14).unwrap_or(false));
    }
    let storage = build(function_schema(call.function()), &documents, &blueprint)?;
    Ok(Some(Datum::from(storage)))
}

/// An existing index on the same columns with the same options.
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
        "Use it, build it again with SELECT minlsh_rebuild_side_table({}), or pass if_not_exists => true to get its \
         name.",
        regclass_literal(existing.storage)
    )))
}

fn report(storage: Oid, table: &str, documents: usize, options: &IndexOptions) {
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

/// Builds a side table with its indexes and triggers, as the table's owner in a security-restricted operation, like
/// CREATE INDEX. Reports it, and returns its OID. `extension` is the extension's schema.
fn build(extension: Oid, documents: &Relation, blueprint: &Blueprint) -> Result<Oid> {
    let name = side_table_name(documents, blueprint);
    let _rights = restricted_to(documents.owner);
    create_table(documents, blueprint, &name)?;
    let storage = catalog::relation_called(&name, blueprint.schema);
    prepare_table(storage)?;
    let columns = (blueprint.key.raw_name.as_c_str(), blueprint.body.raw_name.as_c_str());
    let count = {
        let table = Open::relation(storage, Lock::Exclusive).ok_or_else(|| dropped_meanwhile(storage))?;
        fill(&Companion { table, indexes: Vec::new() }, documents, columns, &blueprint.options)?
    };
    Sql::new("ALTER TABLE ").relation(storage).text(" ADD PRIMARY KEY (doc_id)").run()?;
    create_signature_index(extension, storage, &blueprint.options)?;
    Sql::new("ANALYZE ").relation(storage).run()?;
    let (key, body) = columns;
    let columns = if key == body { &[key][..] } else { &[key, body] };
    create_triggers((extension, SYNC), (documents.oid, columns), (storage, c"sync"))?;
    let truncate = Sql::new("AFTER TRUNCATE ON ").relation(storage);
    let rows = Sql::new("BEFORE INSERT OR UPDATE OR DELETE ON ").relation(storage);
    let rows = rows.text(" FOR EACH ROW");
    for (label, definition, always) in [(c"truncate", truncate, false), (c"rows", rows, true)] {
        create_trigger((extension, SYNC), (storage, storage, label), definition, always)?;
    }
    link(storage);
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
    if plain == object_name(&table, c"minlsh") { plain } else { choose(Some(&blueprint.body.raw_name)) }
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

/// Sets the storage of its columns, and revokes all rights but the owner's, since ALTER DEFAULT PRIVILEGES may have
/// granted some.
fn prepare_table(storage: Oid) -> Result<()> {
    Sql::new("ALTER TABLE ")
        .relation(storage)
        .text(" ALTER signature SET STORAGE EXTERNAL, ALTER signature SET STATISTICS 0")
        .text(", ALTER bands SET STORAGE EXTERNAL, ALTER bands SET STATISTICS 0")
        .run()?;
    // Without names, because they may change.
    Sql::new("COMMENT ON TABLE ")
        .relation(storage)
        .text(" IS 'signatures and band hashes of the documents of another table, kept by triggers'")
        .run()?;
    revoke_all(storage);
    Ok(())
}

fn create_signature_index(extension: Oid, storage: Oid, options: &IndexOptions) -> Result<()> {
    let IndexOptions { config, threshold, recall, .. } = options;
    let (num_perm, scheme, seed) = (config.num_perm(), config.scheme(), config.seed());
    let signing = format!("num_perm = {num_perm}, scheme = '{scheme}', seed = '{seed}', {}", shingling(config));
    Sql::new("CREATE INDEX ON ")
        .relation(storage)
        .text(" USING minlsh (signature ")
        .qualified(extension, c"minlsh_signature_ops")
        .text(format!(") WITH (threshold = {threshold}, recall = {recall}, "))
        .text(text::encode(&signing))
        .text(")")
        .run()
}

/// Fills a side table again from the current table, and enables its triggers.
fn rebuild(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else { return Ok(None) };
    let found = the_only(name)?;
    check_owner(found.documents)?;
    let side = found.side?;
    let documents = open_table(found.documents)?;
    let _rights = restricted_to(documents.owner);
    let columns = (side.key.raw_name.as_c_str(), side.body.raw_name.as_c_str());
    let (options, count) = {
        let Some(open) = Open::relation(documents.oid, Lock::Held) else { return Ok(None) };
        let storage = Storage::open(side.storage, &open, side.key.type_oid, Lock::Exclusive)?;
        // ALTER INDEX SET may have changed its options.
        let options = stored_options::wanted(storage.signature_index().oid())?;
        // Nothing may have the indexes open while their files are replaced.
        let Companion { table, indexes } = storage.rows;
        drop(indexes);
        let rows = Companion { table, indexes: Vec::new() };
        empty(&rows.table);
        let count = fill(&rows, &documents, columns, &options)?;
        (options, count)
    };
    rebuild_indexes(side.storage);
    enable_triggers(documents.oid, &found.record)?;
    link(side.storage);
    report(side.storage, &documents.name, count, &options);
    Ok(Some(Datum::from(side.storage)))
}

/// Enables the triggers of a side table as they were created, including the copies on partitions.
fn enable_triggers(documents: Oid, record: &Record) -> Result<()> {
    for table in [documents, record.beside] {
        let triggers = Open::relation(table, Lock::Held).map(|open| own_triggers(&open, record));
        for trigger in triggers.into_iter().flatten() {
            let always = table == documents || !trigger.is_truncate();
            let enable = if always { " ENABLE ALWAYS TRIGGER " } else { " ENABLE TRIGGER " };
            Sql::new("ALTER TABLE ").relation(table).text(enable).name(&trigger.name).run()?;
        }
    }
    Ok(())
}

/// The triggers of a side table on `table`, which is the documents or the side table itself, without copies on
/// partitions.
pub fn own_triggers(table: &Open, record: &Record) -> Vec<Trigger> {
    let is_own = |trigger: &Trigger| match table.oid() == record.beside {
        true => trigger.function == record.function,
        false => record.is_followed_by(trigger) && !trigger.is_copy,
    };
    triggers(table).into_iter().filter(is_own).collect()
}

/// Records dependencies, which a dump does not contain. The side table is dropped with the columns, as an index is, and
/// with the extension only by CASCADE. The record is dropped with the key's constraint, only by CASCADE, and the other
/// triggers with it.
fn link(storage: Oid) {
    let Some((documents, record)) = documents_of(storage, Lock::Read) else { return };
    if owner_of(storage) != documents.class().relowner {
        return;
    }
    let (side, trigger) = (Object::Relation(storage), Object::Trigger(record.trigger));
    for column in [record.key(), record.last()] {
        dependency::drop_together(side, Object::Column(documents.oid(), column));
    }
    dependency::drop_on_cascade(side, Object::Function(record.function));
    if let Some(key) = record.key_constraint(&documents) {
        dependency::drop_on_cascade(trigger, key);
    }
    record.link_triggers(&documents);
    if let Some(open) = Open::relation(storage, Lock::Read) {
        for own in own_triggers(&open, &record) {
            dependency::drop_together(Object::Trigger(own.oid), trigger);
        }
    }
    // Later parts of this command see the dependencies.
    next_command();
}

fn drop_side_table(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else { return Ok(None) };
    let found = the_only(name)?;
    check_owner(found.documents)?;
    let storage = found.record.beside;
    // The documents first, as all other users of an index lock them, which avoids deadlocks.
    if let Some(documents) = Open::relation(found.documents, Lock::Exclusive) {
        follow_owner(storage, &documents)?;
        check_owner(storage)?;
        link(storage);
    }
    dependency::drop_restricted(storage, || {
        format!("Use DROP TABLE {} CASCADE to drop these too.", visible_name(storage))
    })?;
    Ok(Some(Datum::from(0)))
}
