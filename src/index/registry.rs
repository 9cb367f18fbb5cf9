//! The registry: finding an index, and remembering it for the session.
//!
//! A lookup costs a query over the catalogs; a call of `near_duplicates()` for each row of a
//! table must not pay it. Found indexes are kept until PostgreSQL announces a change of any
//! relation concerned: the user's table, the side table, or the registry itself (whose
//! changes minlsh announces, see [`announce_change`]).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use sketch::{Banding, Config, SlotBits, UNICODE_VERSIONS};

use crate::error::{Result, error, invalid_parameter, wrong_state};
use crate::functions::Options;
use crate::index::definition::{Index, Plans, Settings};
use crate::index::home::{Home, borrow_rights};
use crate::pg::names::{object_name, regclass_literal, relation_name};
use crate::pg::relation::{self, Column, Lock, Relation, owner_of};
use crate::pg::role;
use crate::pg::spi::{Access, Parameter, Rows, Session};

/// How an index is asked for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// The only index of the database, as this role sees it.
    Only(Oid),
    /// A table that has one index, or an index's own name (its side table).
    Named(Oid),
    /// What this trigger passes as its argument.
    Trigger(Oid, String),
}

/// What an index is looked up for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be asked or written to.
    Use,
    /// To be rebuilt or dropped, whatever its side table looks like now.
    Mend,
}

/// An index as the registry has it, in whatever state it is.
pub struct Entry {
    /// The extension's schema and registry.
    pub home: Home,
    /// The user's table.
    pub relation: Oid,
    /// The side table.
    pub storage: Oid,
    /// The name it was given, which its triggers pass as their argument.
    pub name: String,
}

/// An entry, and the index that it describes if it is sound.
struct Found {
    entry: Entry,
    index: Result<Index>,
}

thread_local! {
    static FOUND: RefCell<HashMap<Lookup, Rc<Index>>> = RefCell::default();
    /// The relations on which `FOUND` depends.
    static WATCHED: RefCell<Vec<Oid>> = const { RefCell::new(Vec::new()) };
    static STALE: Cell<bool> = const { Cell::new(false) };
    static LISTENING: Cell<bool> = const { Cell::new(false) };
}

/// The index asked for by the `index` argument of a query: NULL means the only one there is.
pub fn find(function: Oid, index: Option<Oid>) -> Result<Rc<Index>> {
    search(function, index)?
}

/// The same; `None` if it is broken.
pub fn find_sound(function: Oid, index: Option<Oid>) -> Result<Option<Rc<Index>>> {
    Ok(search(function, index)?.ok())
}

/// The index asked for, or what is wrong with it.
fn search(function: Oid, index: Option<Oid>) -> Result<Result<Rc<Index>>> {
    let lookup = index.map_or_else(|| Lookup::Only(role::current()), Lookup::Named);
    loop {
        let index = match remembered(&lookup) {
            Some(index) => index,
            None => match load_one(&Home::of(function), &lookup, Purpose::Use)?.index {
                Ok(index) => remember(lookup.clone(), index),
                Err(broken) => return Ok(Err(broken)),
            },
        };
        // Once the table is locked nobody can drop or rename; had they done so before, the
        // lock has brought us their message.
        if relation::lock(index.relation, Lock::Read) && !STALE.get() {
            return Ok(Ok(index));
        }
    }
}

/// The registry's entry of an index that may be broken, and the index if it is not: for whoever
/// is going to drop it or to build it anew.
pub fn find_to_mend(function: Oid, index: Oid) -> Result<(Entry, Result<Index>)> {
    let (home, lookup) = (Home::of(function), Lookup::Named(index));
    loop {
        let found = load_one(&home, &lookup, Purpose::Mend)?;
        // Whoever was about to drop or replace it has done so once we have the lock.
        relation::lock(found.entry.relation, Lock::Read);
        let now = load_one(&home, &lookup, Purpose::Mend)?;
        if now.entry.storage == found.entry.storage {
            return Ok((now.entry, now.index));
        }
    }
}

fn load_one(home: &Home, lookup: &Lookup, purpose: Purpose) -> Result<Found> {
    let mut found = load(home, lookup, purpose)?;
    if matches!(lookup, Lookup::Only(_)) {
        // What others have broken is no reason to refuse the only index there is.
        found.retain(|f| f.index.is_ok() || role::is_ours(owner_of(f.entry.relation)));
    }
    // One that is still being built is in nobody's way.
    let valid = |f: &Found| f.index.as_ref().is_ok_and(|index| index.valid);
    if found.len() > 1 && found.iter().any(valid) {
        found.retain(|f| {
            let named = matches!(lookup, Lookup::Named(oid) if *oid == f.entry.storage);
            named || f.index.as_ref().map_or(true, |index| index.valid)
        });
    }
    match found.len() {
        0 => Err(missing(lookup)),
        1 => Ok(found.remove(0)),
        _ => Err(ambiguous(lookup, &found)),
    }
}

/// The index that a trigger keeps, `None` if there is none any more.
pub fn find_for_trigger(function: Oid, trigger: Oid, name: &str) -> Result<Option<Rc<Index>>> {
    let lookup = Lookup::Trigger(trigger, name.to_owned());
    if let Some(index) = remembered(&lookup) {
        return Ok(Some(index));
    }
    match load(&Home::of(function), &lookup, Purpose::Use)?.pop() {
        Some(found) => Ok(Some(remember(lookup, found.index?))),
        None => Ok(None),
    }
}

/// `name`, with a number if an index of the table goes by it, though its side table may be called
/// otherwise by now.
pub fn free_name(home: &Home, relation: Oid, name: &str) -> Result<String> {
    let _rights = borrow_rights(home.registry_owner);
    let session = Session::open();
    let query = format!(
        "SELECT FROM {} WHERE relation = $1::regclass AND name = $2::name",
        home.registry_name()
    );
    let mut free = name.to_owned();
    for number in 1.. {
        let parameters = [Parameter::oid(relation), Parameter::text(&free)];
        if session.query(&query, &parameters, Access::Write)?.is_empty() {
            break;
        }
        free = object_name(name, &number.to_string());
    }
    Ok(free)
}

/// Adds an index to the registry. Whoever runs this must have checked that they may.
pub fn insert(
    home: &Home,
    relation: Oid,
    storage: Oid,
    name: &str,
    settings: &Settings,
    valid: bool,
) -> Result<()> {
    let (config, banding) = (&settings.config, &settings.banding);
    let _rights = borrow_rights(home.registry_owner);
    let session = Session::open();
    // Rows of tables that are gone are of no use to anybody.
    let registry = home.registry_name();
    session.run(&format!(
        "DELETE FROM {registry} r WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = r.relation) \
         OR NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = r.storage)"
    ))?;
    session.query(
        &format!(
            "INSERT INTO {registry} (relation, name, storage, scheme, num_perm, unit, \
             shingle_size, seed, version, threshold, recall, bands, rows, slot_bits, valid, \
             normalization, stop_words, bag, unicode) \
             VALUES ($1::regclass, $2, $3::regclass, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
             $16, $17, $18, $19)"
        ),
        &[
            Parameter::oid(relation),
            Parameter::text(name),
            Parameter::oid(storage),
            Parameter::text(config.scheme().as_str()),
            Parameter::int4(config.num_perm() as i32),
            Parameter::text(config.unit().as_str()),
            Parameter::int4(config.shingle_size() as i32),
            Parameter::int8(config.seed()),
            Parameter::int4(Config::VERSION),
            Parameter::float8(settings.threshold),
            Parameter::float8(settings.recall),
            Parameter::int4(banding.bands() as i32),
            Parameter::int4(banding.rows() as i32),
            Parameter::int4(settings.slot_bits.bits() as i32),
            Parameter::bool(valid),
            Parameter::text(&config.normalization().to_string()),
            Parameter::text(&config.stop_words().to_string()),
            Parameter::bool(config.bag()),
            Parameter::text(UNICODE_VERSIONS),
        ],
        Access::Write,
    )?;
    announce_change(home);
    Ok(())
}

/// The indexes of a table that have not been finished.
pub fn unfinished(home: &Home, relation: Oid) -> Result<Vec<Index>> {
    let found = load(home, &Lookup::Named(relation), Purpose::Use)?;
    let sound = found.into_iter().filter_map(|found| found.index.ok());
    Ok(sound.filter(|index| !index.valid && index.relation == relation).collect())
}

/// Notes that all documents are in an index.
pub fn set_valid(home: &Home, storage: Oid) -> Result<()> {
    let _rights = borrow_rights(home.registry_owner);
    Session::open().query(
        &format!("UPDATE {} SET valid = true WHERE storage = $1::regclass", home.registry_name()),
        &[Parameter::oid(storage)],
        Access::Write,
    )?;
    announce_change(home);
    Ok(())
}

/// Notes that all documents of an index were signed anew by this version of the algorithm.
pub fn renew(index: &Index) -> Result<()> {
    let _rights = borrow_rights(index.home.registry_owner);
    Session::open().query(
        &format!(
            "UPDATE {} SET version = $2, unicode = $3, valid = true WHERE storage = $1::regclass",
            index.home.registry_name()
        ),
        &[
            Parameter::oid(index.storage),
            Parameter::int4(Config::VERSION),
            Parameter::text(UNICODE_VERSIONS),
        ],
        Access::Write,
    )?;
    announce_change(&index.home);
    Ok(())
}

/// Takes an index out of the registry.
pub fn remove(entry: &Entry) -> Result<()> {
    let _rights = borrow_rights(entry.home.registry_owner);
    Session::open().query(
        &format!("DELETE FROM {} WHERE storage = $1::regclass", entry.home.registry_name()),
        &[Parameter::oid(entry.storage)],
        Access::Write,
    )?;
    announce_change(&entry.home);
    Ok(())
}

/// Tells all sessions, once the transaction commits, that the registry has changed.
fn announce_change(home: &Home) {
    // SAFETY: queues an invalidation message for an existing relation.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(home.registry) }
}

fn load(home: &Home, lookup: &Lookup, purpose: Purpose) -> Result<Vec<Found>> {
    // The trigger that watches UPDATE OF key, body is the record of which columns an index
    // covers: PostgreSQL keeps it right through renames, dumps and restores.
    let (filter, parameters) = match lookup {
        Lookup::Only(_) => ("NOT pg_is_other_temp_schema(c.relnamespace)", vec![]),
        Lookup::Named(oid) => {
            ("$1 IN (r.relation::oid, r.storage::oid)", vec![Parameter::oid(*oid)])
        }
        // A partition's trigger may be its own, or stand for that of a table above it.
        Lookup::Trigger(oid, name) => (
            "r.name = $2 AND r.relation::oid = (WITH RECURSIVE t AS ( \
             SELECT tgrelid, tgparentid FROM pg_trigger WHERE oid = $1 \
             UNION ALL SELECT p.tgrelid, p.tgparentid FROM t JOIN pg_trigger p ON p.oid = t.tgparentid) \
             SELECT tgrelid FROM t WHERE tgparentid = 0)",
            vec![Parameter::oid(*oid), Parameter::text(name)],
        ),
    };
    let query = format!(
        "SELECT r.relation::oid, r.storage::oid, r.name::text, r.scheme, r.num_perm, r.unit, \
         r.shingle_size, r.seed, r.version, r.threshold, r.recall, r.bands, r.rows, \
         t.columns[1]::int4, t.columns[2]::int4, EXISTS (SELECT FROM pg_depend d \
         WHERE d.classid = 'pg_class'::regclass AND d.objid = r.storage \
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = r.relation AND d.deptype = 'a'), \
         r.slot_bits, r.valid, r.normalization, r.stop_words, r.bag, r.unicode \
         FROM {registry} r JOIN pg_class c ON c.oid = r.relation JOIN pg_class s ON s.oid = r.storage \
         LEFT JOIN LATERAL {schema}.minlsh_covered_columns(r.relation, r.name) AS t(columns) ON true \
         WHERE {filter} ORDER BY r.relation::oid, r.name",
        registry = home.registry_name(),
        schema = home.schema,
    );
    let session = Session::open();
    let rows = {
        let _rights = borrow_rights(home.registry_owner);
        session.query(&query, &parameters, Access::Latest)?
    };
    let mut found = Vec::new();
    for row in 0..rows.len() {
        let (relation, storage) = (rows.oid(row, 1), rows.oid(row, 2));
        // The table may be gone meanwhile.
        let Some(relation) = Relation::open(relation, Lock::Read) else { continue };
        let entry =
            Entry { home: home.clone(), relation: relation.oid, storage, name: rows.text(row, 3)? };
        let index = read(&entry, &relation, &session, &rows, row).and_then(|index| {
            if purpose == Purpose::Use {
                check_storage(storage, &index.key)?;
            }
            Ok(index)
        });
        found.push(Found { entry, index });
    }
    Ok(found)
}

/// Reads one row of the query in `load`.
fn read(
    entry: &Entry,
    relation: &Relation,
    session: &Session,
    rows: &Rows,
    row: usize,
) -> Result<Index> {
    let storage = entry.storage;
    let (key, body) = match (
        relation.column(rows.int4(row, 14) as i16),
        relation.column(rows.int4(row, 15) as i16),
    ) {
        (Some(key), Some(body)) => (key, body),
        _ => {
            return Err(wrong_state(format!(
                "minlsh index \"{}\" has lost its triggers on table \"{}\"",
                relation_name(storage),
                relation.name
            ))
            .set_hint(drop_hint(storage)));
        }
    };
    let broken = |cause: sketch::Error| {
        wrong_state(format!(
            "the registry has impossible options of minlsh index \"{}\"",
            relation_name(storage)
        ))
        .set_detail(cause.to_string())
        .set_hint(drop_hint(storage))
    };
    let options = Options {
        scheme: rows.text(row, 4)?.into(),
        num_perm: rows.int4(row, 5),
        unit: rows.text(row, 6)?.into(),
        shingle_size: rows.int4(row, 7),
        seed: rows.int8(row, 8),
        normalization: rows.text(row, 19)?.into(),
        stop_words: rows.text(row, 20)?.into(),
        bag: rows.bool(row, 21),
    };
    let config = options.read().map_err(broken)?;
    let settings = Settings {
        config,
        banding: Banding::new(rows.int4(row, 12).into(), rows.int4(row, 13).into())
            .map_err(broken)?,
        threshold: rows.float8(row, 10),
        recall: rows.float8(row, 11),
        slot_bits: SlotBits::new(rows.int4(row, 17).into(), rows.int4(row, 5).into())
            .map_err(broken)?,
    };
    let equals = equality_operator(session, key.type_oid)?;
    Ok(Index {
        home: entry.home.clone(),
        relation: relation.oid,
        partitioned: relation.is_partitioned(),
        temporary: relation.is_temporary(),
        storage,
        owner: owner_of(storage),
        name: entry.name.clone(),
        key: key.clone(),
        key_equals: equals,
        body: body.clone(),
        settings,
        version: rows.int4(row, 9),
        linked: rows.bool(row, 16),
        valid: rows.bool(row, 18),
        unicode: rows.text(row, 22)?,
        plans: Plans::default(),
    })
}

fn drop_hint(storage: Oid) -> String {
    format!(
        "Drop it with SELECT minlsh_drop_index({}); and create it again.",
        regclass_literal(storage)
    )
}

/// Whether a table has the columns of a side table. `key` is the type of its keys, if that is known.
pub fn is_side_table(table: &Relation, key: Option<Oid>) -> bool {
    let expected = [
        ("doc_id", key),
        ("signature", Some(pg_sys::INT4ARRAYOID)),
        ("bands", Some(pg_sys::INT8ARRAYOID)),
    ];
    table.kind == b'r'
        && expected.iter().all(|(name, type_oid)| {
            table
                .column_named(name)
                .is_some_and(|column| type_oid.is_none_or(|expected| column.type_oid == expected))
        })
}

/// What reads a side table trusts the types of its columns: they are those that were made.
fn check_storage(storage: Oid, key: &Column) -> Result<()> {
    let sound = Relation::open(storage, Lock::Read)
        .is_some_and(|table| is_side_table(&table, Some(key.type_oid)));
    if sound {
        return Ok(());
    }
    Err(wrong_state(format!(
        "the side table of minlsh index \"{}\" has been altered",
        relation_name(storage)
    ))
    .set_hint(format!("Build it anew with SELECT minlsh_reindex({});", regclass_literal(storage))))
}

/// The equality of a type's default btree operator class, qualified: nothing on anybody's
/// search path can take its place.
pub fn equality_operator(session: &Session, type_oid: Oid) -> Result<String> {
    // SAFETY: the type cache accepts any type and keeps its entry.
    let operator =
        unsafe { (*pg_sys::lookup_type_cache(type_oid, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr };
    operator_name(session, operator, type_oid)
}

/// Likewise the greater-than operator.
pub fn greater_operator(session: &Session, type_oid: Oid) -> Result<String> {
    // SAFETY: the type cache accepts any type and keeps its entry.
    let operator =
        unsafe { (*pg_sys::lookup_type_cache(type_oid, pg_sys::TYPECACHE_GT_OPR as i32)).gt_opr };
    operator_name(session, operator, type_oid)
}

fn operator_name(session: &Session, operator: Oid, type_oid: Oid) -> Result<String> {
    let rows = session.query(
        "SELECT format('OPERATOR(%I.%s)', n.nspname, o.oprname) \
         FROM pg_catalog.pg_operator o \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) o.oprnamespace \
         WHERE o.oid OPERATOR(pg_catalog.=) $1",
        &[Parameter::oid(operator)],
        Access::Read,
    )?;
    if rows.is_empty() {
        return Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
            format!(
                "could not identify an ordering operator for type {}",
                crate::pg::names::type_label(type_oid)
            ),
        ));
    }
    rows.text(0, 1)
}

fn missing(lookup: &Lookup) -> pgrx::pg_sys::panic::ErrorReport {
    let (message, table) = match lookup {
        Lookup::Named(oid) if !relation_name(*oid).is_empty() => {
            let name = relation_name(*oid);
            (format!("table \"{name}\" has no minlsh index"), regclass_literal(*oid))
        }
        Lookup::Named(oid) => {
            (format!("relation with OID {} does not exist", oid.to_u32()), "'docs'".into())
        }
        _ => ("there is no minlsh index in this database".into(), "'docs'".into()),
    };
    error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message)
        .set_hint(format!("Create one with SELECT minlsh_create_index({table}, 'column');"))
}

fn ambiguous(lookup: &Lookup, found: &[Found]) -> pgrx::pg_sys::panic::ErrorReport {
    let names: Vec<String> = found.iter().map(|f| regclass_literal(f.entry.storage)).collect();
    let message = match lookup {
        Lookup::Named(oid) => {
            format!("table \"{}\" has {} minlsh indexes", relation_name(*oid), found.len())
        }
        _ => format!("there are {} minlsh indexes in this database", found.len()),
    };
    invalid_parameter(message)
        .set_hint(format!("Name one with index => {}.", names.join(" or index => ")))
}

fn remembered(lookup: &Lookup) -> Option<Rc<Index>> {
    if STALE.take() {
        // Dropped outside of the borrow: freeing plans may run PostgreSQL code.
        let old = FOUND.take();
        WATCHED.take();
        drop(old);
    }
    FOUND.with_borrow(|found| found.get(lookup).cloned())
}

fn remember(lookup: Lookup, index: Index) -> Rc<Index> {
    listen();
    let index = Rc::new(index);
    WATCHED.with_borrow_mut(|watched| {
        watched.extend([index.relation, index.storage, index.home.registry]);
    });
    FOUND.with_borrow_mut(|found| found.insert(lookup, index.clone()));
    index
}

fn listen() {
    if !LISTENING.replace(true) {
        // SAFETY: the callback is a plain function of this library, which is never unloaded.
        unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::from(0)) };
    }
}

/// PostgreSQL calls this in the middle of anything: it only takes a note.
#[pg_guard]
unsafe extern "C-unwind" fn relation_changed(_argument: Datum, relation: Oid) {
    let concerned = relation == Oid::INVALID
        || WATCHED.with(|watched| {
            watched.try_borrow().map_or(true, |watched| watched.contains(&relation))
        });
    if concerned {
        STALE.set(true);
    }
}
