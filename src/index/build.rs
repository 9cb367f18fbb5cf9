//! Builds what `minlsh_create_index()` and `minlsh_reindex()` have found to be right.
//!
//! The side table is filled by a plain query, which PostgreSQL may run in parallel; then come
//! its primary key, its GIN index, the triggers and the row in the registry. All of it is one
//! transaction's work: cancelled, nothing remains.

use pgrx::pg_sys::{self, Oid};
use sketch::counted;

use crate::error::Result;
use crate::index::definition::{Index, Settings, Source};
use crate::index::home::{Borrowed, Home, borrow_rights};
use crate::index::triggers::{self, Firing};
use crate::index::{registry, sync};
use crate::pg::guc;
use crate::pg::names::{free_relation_name, qualified, quoted, relation_name};
use crate::pg::relation::Relation;
use crate::pg::spi::{Access, Parameter, Session};

/// GIN builds fastest with a small buffer: beyond this its red-black tree no longer fits the
/// processor's caches (500,000 documents: 18 s with 16 to 64 MB, 36 s with 1 GB).
const GIN_BUILD_MEMORY_KB: i32 = 32 * 1024;

/// A side-table row is never compressed: signatures are random, so trying is wasted time, and
/// a row is toasted only if it does not fit a page.
const TOAST_TUPLE_TARGET: i32 = 8160;

/// What to build.
pub struct Blueprint {
    /// The name of the side table and of the index; `None` lets PostgreSQL's rules choose.
    pub name: Option<String>,
    /// The key column.
    pub key: String,
    /// The text column.
    pub body: String,
    /// How documents are cut, signed and banded.
    pub settings: Settings,
    /// The triggers.
    pub firing: Firing,
}

/// When the documents come into the side table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Now, while nobody can write the table.
    Now,
    /// Later: the triggers come first, and the index is not valid.
    Later,
}

/// Builds an index on an open table, with the rights of the table's owner.
pub fn build(home: &Home, relation: &Relation, blueprint: &Blueprint) -> Result<Oid> {
    let (storage, documents) = make(home, relation, blueprint, Fill::Now)?;
    report(storage, &relation.name, documents, &blueprint.settings)?;
    Ok(storage)
}

/// Makes all that an index consists of; returns its side table and number of documents.
pub fn make(
    home: &Home,
    relation: &Relation,
    blueprint: &Blueprint,
    fill: Fill,
) -> Result<(Oid, usize)> {
    let Blueprint { key, body, settings, firing, .. } = blueprint;
    let side_table = side_table_name(relation, blueprint);
    let name = registry::free_name(home, relation.oid, &side_table)?;
    let (storage, documents) = {
        let _rights = builder_rights(relation);
        let session = Session::open();
        let (storage, documents) =
            create_storage(&session, home, relation, &side_table, blueprint, fill)?;
        triggers::create(&session, home, relation, &name, (key, body), *firing)?;
        (storage, documents)
    };
    registry::insert(home, relation.oid, storage, &name, settings, fill == Fill::Now)?;
    sync::link(home, relation.oid, storage, &name, (key, body))?;
    Ok((storage, documents))
}

/// Builds a sound index anew in its own side table, which keeps its name, place and grants, and
/// what depends on it. Its triggers have been dropped.
pub fn rebuild(index: &Index, relation: &Relation, firing: Firing) -> Result<()> {
    let columns = (index.key.name.as_str(), index.body.name.as_str());
    let documents = {
        let _rights = builder_rights(relation);
        let session = Session::open();
        let documents = refill(&session, index, relation)?;
        triggers::create(&session, &index.home, relation, &index.name, columns, firing)?;
        documents
    };
    registry::renew(index)?;
    sync::link(&index.home, relation.oid, index.storage, &index.name, columns)?;
    report(index.storage, &relation.name, documents, &index.settings)
}

/// The rights of the table's owner, and memory for a GIN build.
fn builder_rights(relation: &Relation) -> Borrowed {
    let rights = borrow_rights(relation.owner);
    let memory = guc::maintenance_work_mem().min(GIN_BUILD_MEMORY_KB);
    rights.settings.set("maintenance_work_mem", &memory.to_string());
    let workers = guc::max_parallel_maintenance_workers();
    rights.settings.set("max_parallel_workers_per_gather", &workers.to_string());
    rights
}

fn side_table_name(relation: &Relation, blueprint: &Blueprint) -> String {
    let (table, schema) = (&relation.name, relation.schema);
    blueprint.name.clone().unwrap_or_else(|| {
        let first = free_relation_name(table, None, "minlsh", schema);
        if first == crate::pg::names::object_name(table, "minlsh") {
            first
        } else {
            free_relation_name(table, Some(&blueprint.body), "minlsh", schema)
        }
    })
}

/// Creates the side table; returns it and its number of documents.
fn create_storage(
    session: &Session,
    home: &Home,
    relation: &Relation,
    name: &str,
    blueprint: &Blueprint,
    fill: Fill,
) -> Result<(Oid, usize)> {
    let persistence = match relation.persistence {
        b'u' => "UNLOGGED ",
        b't' => "TEMP ",
        _ => "",
    };
    let table = format!("{}.{}", schema_name(relation), quoted(name));
    let Blueprint { key, body, settings, .. } = blueprint;
    let source = Source {
        home,
        relation: relation.oid,
        partitioned: relation.is_partitioned(),
        key,
        body,
        settings,
    };
    let with_data = if fill == Fill::Now { "" } else { " WITH NO DATA" };
    let documents = session
        .query(
            &format!(
                "CREATE {persistence}TABLE {table} WITH (toast_tuple_target = {TOAST_TUPLE_TARGET}) AS {}{with_data}",
                source.documents_query()
            ),
            &[],
            Access::Latest,
        )?
        .len();
    session.run(&format!(
        "ALTER TABLE {table} \
         ALTER signature SET STORAGE EXTERNAL, ALTER signature SET STATISTICS 0, \
         ALTER signature SET NOT NULL, ALTER bands SET STORAGE EXTERNAL, \
         ALTER bands SET STATISTICS 0, ALTER bands SET NOT NULL, ADD PRIMARY KEY (doc_id)"
    ))?;
    index_bands(session, &table, "", "")?;
    // Without names: they may change.
    session.run(&format!(
        "COMMENT ON TABLE {table} IS 'minlsh index, kept up to date by triggers; see minlsh_indexes'"
    ))?;
    let storage = storage_oid(relation, name);
    revoke_default_privileges(session, storage)?;
    Ok((storage, documents))
}

/// Empties and fills the side table; returns the number of its documents. A GIN index is built
/// from a full table much faster than row by row.
fn refill(session: &Session, index: &Index, relation: &Relation) -> Result<usize> {
    let table = index.storage_name();
    session.run(&format!("TRUNCATE {table}"))?;
    let persistence = match relation.persistence {
        b'u' => Some("UNLOGGED"),
        b'p' => Some("LOGGED"),
        _ => None,
    };
    if let Some(persistence) = persistence {
        session.run(&format!("ALTER TABLE {table} SET {persistence}"))?;
    }
    let old = session.query(
        "SELECT c.oid, quote_ident(c.relname), 'TABLESPACE ' || quote_ident(t.spcname) \
         FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam \
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
         LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace \
         WHERE i.indrelid = $1 AND m.amname = 'gin' AND i.indnatts = 1 AND a.attname = 'bands' \
         ORDER BY c.oid",
        &[Parameter::oid(index.storage)],
        Access::Write,
    )?;
    let (mut name, mut tablespace) = (String::new(), String::new());
    for row in (0..old.len()).rev() {
        (name, tablespace) = (old.text(row, 2)?, old.text(row, 3)?);
        session.run(&format!("DROP INDEX {}", qualified(old.oid(row, 1))))?;
    }
    let fill = format!(
        "INSERT INTO {table} (doc_id, signature, bands) {}",
        index.source().documents_query()
    );
    let documents = session.query(&fill, &[], Access::Latest)?.len();
    index_bands(session, &table, &name, &tablespace)?;
    Ok(documents)
}

/// Builds the GIN index of a side table, and lets the planner know of it.
fn index_bands(session: &Session, table: &str, name: &str, tablespace: &str) -> Result<()> {
    // Without a pending list a lookup costs the same however much was written before it.
    session.run(&format!(
        "CREATE INDEX {name} ON {table} USING gin (bands) WITH (fastupdate = off) {tablespace}"
    ))?;
    session.run(&format!("ANALYZE {table}"))
}

fn schema_name(relation: &Relation) -> String {
    // SAFETY: a lookup in the system caches; the schema of an open relation exists.
    let name =
        unsafe { crate::pg::text::from_cstring(pg_sys::get_namespace_name(relation.schema)) };
    quoted(&name)
}

fn storage_oid(relation: &Relation, name: &str) -> Oid {
    let name = crate::pg::names::cstring(name);
    // SAFETY: a lookup in the system caches with a valid string.
    unsafe { pg_sys::get_relname_relid(name.as_ptr(), relation.schema) }
}

/// `ALTER DEFAULT PRIVILEGES` may have granted rights on every new table: nobody but the owner
/// reads or writes a side table directly.
fn revoke_default_privileges(session: &Session, storage: Oid) -> Result<()> {
    let rows = session.query(
        "SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' \
         ELSE quote_ident(pg_get_userbyid(a.grantee)) END \
         FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = $1 AND a.grantee <> c.relowner",
        &[Parameter::oid(storage)],
        Access::Write,
    )?;
    for row in 0..rows.len() {
        let grantee = rows.text(row, 1)?;
        session.run(&format!("REVOKE ALL ON {} FROM {grantee}", qualified(storage)))?;
    }
    Ok(())
}

/// Says what has been built.
pub fn report(storage: Oid, table: &str, documents: usize, settings: &Settings) -> Result<()> {
    let banding = &settings.banding;
    let size = "SELECT pg_catalog.pg_size_pretty(pg_catalog.pg_total_relation_size($1))";
    let parameters = [Parameter::new(pg_sys::REGCLASSOID, Some(storage.into()))];
    let size = Session::open().query(size, &parameters, Access::Write)?.text(0, 1)?;
    pgrx::notice!(
        "minlsh index \"{}\" on table \"{table}\": {}, {size}, {} of {}, recall {:.3} at threshold {}",
        relation_name(storage),
        counted(documents, "document"),
        counted(banding.bands(), "band"),
        counted(banding.rows(), "row"),
        banding.probability(settings.threshold),
        settings.threshold,
    );
    Ok(())
}
