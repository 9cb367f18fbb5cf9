//! `minlsh_create_side_table()`, its arguments, `minlsh_rebuild_side_table()` and `minlsh_drop_side_table()`.

use std::ffi::{CStr, CString};

use sketch::counted;

use crate::error::JOINED;
use crate::index::stored_options;
use crate::options::{IndexOptions, Options, Threshold, shingling};
use crate::pg::catalog::{base_type, function_schema};
use crate::pg::companion::{Companion, create_trigger, create_triggers, empty, rebuild_indexes, revoke_all};
use crate::pg::dependency::{self, Object};
use crate::pg::names;
use crate::pg::relation::{Column, inheritors, owner_of};
use crate::pg::rights::{check_owner, restricted_to};
use crate::pg::snapshot::next_command;
use crate::pg::sql::{dropped_meanwhile, free_relation_name, object_name, relation_name};
use crate::pg::trigger::{Record, Trigger, triggers};
use crate::prelude::*;
use crate::row_key::{Key, NoKey};
use crate::side_table::find::{self, documents_of, the_only};
use crate::side_table::sign::{check_body, check_stored, fill};
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

/// The arguments of `minlsh_create_side_table()`, read and checked.
struct Blueprint {
    /// Name of the side table; `None` chooses one by PostgreSQL's rules.
    name: Option<CString>,
    schema: Oid,
    key: Column,
    body: Column,
    options: IndexOptions,
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

fn blueprint(call: &Call, relation: &Relation) -> Result<Blueprint> {
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
fn null_table() -> SqlError {
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
