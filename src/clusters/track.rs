//! `minlsh_track_clusters()` creates the tables and triggers as the documents' owner in a security-restricted
//! operation, like an index. `minlsh_untrack_clusters()` drops them.

use std::ffi::{CStr, CString};

use crate::clusters::tables::{CAPTURE, ENDINGS, LIST, MEMBERS, QUEUE, RefreshState, name_beside};
use crate::clusters::tracked::Tracked;
use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::options::Threshold;
use crate::pg::companion::{create_triggers, revoke_all};
use crate::pg::dependency;
use crate::pg::rights::{check_owner, check_owner_before, restricted_to};
use crate::pg::sql::{dropped_meanwhile, object_name, relation_name as raw_name};
use crate::prelude::*;
use crate::row_key::Key;
use crate::side_table::commands::{no_key, open_table};

sql_function!(minlsh_track_clusters, track_clusters);
sql_function!(minlsh_untrack_clusters, untrack_clusters);

/// `minlsh_track_clusters(index, threshold, name, schema) → regclass`
fn track_clusters(call: &Call) -> Result<Option<Datum>> {
    let Some(oid) = call.oid(0) else {
        return Err(null_not_allowed("index must not be NULL").set_hint("Name an index of type minlsh."));
    };
    let info = index_of(oid)?;
    let documents = open_table(info.index.table)?;
    let (key, threshold) = checked(call, &info, &documents)?;
    let schema = match call.raw_name(3) {
        Some(name) => catalog::schema_to_use(&name),
        None => documents.schema,
    };
    let name = name_of(&documents, call.raw_name(2))?;
    let extension = catalog::function_schema(call.function());
    let _rights = restricted_to(documents.owner);
    create_tables(&key, schema, &name)?;
    let columns = watched(&info, &key, &documents);
    let relation = |name: &CStr| catalog::relation_called(name, schema);
    let columns: Vec<&CStr> = columns.iter().map(CString::as_c_str).collect();
    let queue = relation(&name_beside(&name, QUEUE));
    if queue == Oid::INVALID {
        return Err(dropped_meanwhile(queue));
    }
    create_triggers((extension, CAPTURE), (documents.oid, &columns), (queue, c"capture"))?;
    let members = relation(&name);
    let tracked = Tracked::find(members, Lock::Read)?;
    tracked.link(info.index.oid);
    let tables = tracked.open_tables(Lock::Write)?;
    let state = RefreshState::new(info.index.name.clone(), threshold.get());
    tables.queue.put(None, Some(&state));
    Ok(Some(Datum::from(members)))
}

fn index_of(oid: Oid) -> Result<Info> {
    check_owner_before(oid)?;
    let info = Info::open(oid).ok_or_else(|| {
        let of_table = Info::of_table(oid);
        let indexes: Vec<String> = of_table.iter().map(|info| regclass_literal(info.index.oid)).collect();
        let hint = if indexes.is_empty() {
            "Name an index of type minlsh: CREATE INDEX ON docs USING minlsh (body);".to_owned()
        } else {
            format!("Pass an index of the table: {}.", indexes.join(" or "))
        };
        wrong_object(format!("\"{}\" is not a minlsh index", relation_name(oid))).set_hint(hint)
    })?;
    if catalog::is_partition(oid) {
        return Err(not_supported(format!("index \"{}\" belongs to a partition", info.index.name))
            .set_hint("Name the index of the partitioned table."));
    }
    Ok(info)
}

/// Refuses indexes that cannot be tracked.
fn checked(call: &Call, info: &Info, documents: &Relation) -> Result<(Key, Threshold)> {
    info.check_valid()?;
    let index = &info.index;
    if info.kind != Kind::Text {
        return Err(not_supported(format!("index \"{}\" is not an index of texts", index.name))
            .set_detail("Clusters of sets, signatures, documents and side tables cannot be tracked.")
            .set_hint("Create an index of the text, or use near_duplicate_clusters()."));
    }
    if documents.persistence != b'p' {
        let message = format!("table \"{}\" is temporary or unlogged", documents.name);
        return Err(not_supported(message).set_hint("Use near_duplicate_clusters() for such a table."));
    }
    let key =
        Key::of_table(documents.oid, documents.kind, info.document()).map_err(|cause| no_key(documents, cause))?;
    // A refresh passes an array of keys to unnest(), which would expand rows to their columns.
    let is_row = catalog::is_rowtype(key.base_type);
    if is_row || catalog::array_of(key.base_type) == Oid::INVALID {
        let what = if is_row { "a row" } else { "an array" };
        let message = format!("the key of table \"{}\" is {what}", documents.name);
        return Err(not_supported(message).set_hint("Add a column that is unique and NOT NULL."));
    }
    let settings = info.options()?;
    let threshold = call.float8(1).map_or(Ok(settings.threshold), Threshold::new)?;
    info.check_threshold(threshold, settings.threshold)?;
    Ok((key, threshold))
}

/// The name of the table of members, short enough for the suffixes of the others.
fn name_of(documents: &Relation, given: Option<CString>) -> Result<CString> {
    let ending = ENDINGS[QUEUE];
    let longest = pg_sys::NAMEDATALEN as usize - 1 - ending.len();
    match given {
        Some(name) if name.to_bytes().len() > longest => Err(error(
            PgSqlErrorCode::ERRCODE_NAME_TOO_LONG,
            format!("name \"{}\" is longer than {longest} bytes", shortened(&name.to_string_lossy())),
        )
        .set_hint("Pass a shorter name, because the names of the other tables are longer.")),
        Some(name) => Ok(name),
        None => {
            let table = raw_name(documents.oid);
            let label = format!("clusters{ending}");
            let label = CString::new(label).unwrap_or_default();
            // It ends with the label.
            let name = object_name(&table, &label);
            let bytes = name.to_bytes();
            Ok(CString::new(&bytes[..bytes.len() - ending.len()]).unwrap_or_default())
        }
    }
}

/// The columns of the tables in their order, and their comments. `{key}` stands for the type of keys.
const DEFINITIONS: [(&str, &str); 5] = [
    (
        "doc_id {key} NOT NULL PRIMARY KEY, cluster_id pg_catalog.int8 NOT NULL, fingerprint pg_catalog.uuid",
        "members of the near-duplicate clusters of another table, as of the last refresh",
    ),
    (
        "cluster_id pg_catalog.int8 NOT NULL PRIMARY KEY, size pg_catalog.int8 NOT NULL,
         since pg_catalog.timestamptz NOT NULL, changed pg_catalog.int8 NOT NULL,
         least_similar pg_catalog.float8 NOT NULL",
        "near-duplicate clusters of another table, as of the last refresh",
    ),
    (
        "seq pg_catalog.int8 NOT NULL PRIMARY KEY, refresh pg_catalog.int8 NOT NULL,
         at pg_catalog.timestamptz NOT NULL, event pg_catalog.text NOT NULL,
         cluster_id pg_catalog.int8 NOT NULL, other_id pg_catalog.int8, doc_id {key}, size pg_catalog.int8",
        "what happened to the near-duplicate clusters of another table",
    ),
    (
        "doc_id {key}, state pg_catalog.text, since pg_catalog.timestamptz",
        "internal: keys that were written since clusters were refreshed, and their state",
    ),
    (
        "a {key} NOT NULL, b {key} NOT NULL, PRIMARY KEY (a, b)",
        "pairs of rows of another table that somebody decided are not copies",
    ),
];

fn create_tables(key: &Key, schema: Oid, members: &CStr) -> Result<()> {
    for (table, (columns, comment)) in DEFINITIONS.into_iter().enumerate() {
        let name = name_beside(members, table);
        let mut table = Sql::new("CREATE TABLE ").qualified(schema, &name).text(" (");
        for (place, text) in columns.split("{key}").enumerate() {
            if place > 0 {
                table = table.type_name(key.base_type).collated(key.collation());
            }
            table = table.text(text);
        }
        table.text(") USING heap").run()?;
        let on = Sql::new("COMMENT ON TABLE ").qualified(schema, &name);
        on.text(" IS ").literal(comment).run()?;
        revoke_all(catalog::relation_called(&name, schema));
    }
    for (table, columns) in [(MEMBERS, "cluster_id"), (LIST, "size, cluster_id")] {
        let on = Sql::new("CREATE INDEX ON ").qualified(schema, &name_beside(members, table));
        on.text(" USING btree (").text(columns).text(")").run()?;
    }
    Ok(())
}

/// The relevant columns, each once: the key, then the columns of the index.
fn watched(info: &Info, key: &Key, documents: &Relation) -> Vec<CString> {
    let numbers = info.index.columns_read();
    // A reference to the whole row refers to all columns.
    let all = numbers.contains(&0);
    let is_watched = |number: i16| all || numbers.contains(&number);
    let others = documents.columns.iter().filter(|c| c.number != key.column && is_watched(c.number));
    let key = documents.column(key.column);
    key.into_iter().chain(others).map(|column| column.raw_name.clone()).collect()
}

/// `minlsh_untrack_clusters(tracked) → void`
fn untrack_clusters(call: &Call) -> Result<Option<Datum>> {
    let Some(members) = call.oid(0) else { return Ok(None) };
    // The documents first, as a refresh locks them, which avoids deadlocks.
    let tracked = Tracked::find(members, Lock::Exclusive)?;
    let tables = tracked.oids;
    tables.into_iter().try_for_each(check_owner)?;
    tracked.link_triggers();
    for table in tables.into_iter().rev() {
        dependency::drop_restricted(table, || "Drop these first.".to_owned())?;
    }
    Ok(Some(Datum::from(0)))
}
