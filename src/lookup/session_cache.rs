//! Caches indexes and plans in the session, between lookups.
//!
//! A lookup takes a tenth of the time for opening an index and planning a query of its table. Both are cached until
//! PostgreSQL announces a change of a relation that they use, or of a schema, whose name they may contain.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::indexed::Indexed;
use crate::pg::call::Extension;
use crate::pg::names::search_path;
use crate::pg::relation;
use crate::pg::rights::current_role;
use crate::pg::table_query::TableQuery;
use crate::prelude::*;

/// The purpose of a query of a table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Makes the document to search for from the row with a key.
    Document,
    /// Makes the document to search for from an argument.
    Given,
    /// Finds the near-duplicates of a row.
    OfRow,
    /// Finds the near-duplicates of a document that is not stored.
    OfGiven,
    /// Finds near-duplicates among rows with given keys.
    Among,
    /// Reads the indexed values of the row with a key.
    Stored,
    /// Reads the stored form of an equal key.
    StoredKey,
}

/// The key of a query in the cache.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct QueryKey {
    pub index: Oid,
    /// The schema of the extension, which may change.
    pub schema: Oid,
    pub purpose: Purpose,
    /// The type of the argument, if it may have several.
    pub type_oid: Oid,
    /// The search path, if names in the query depend on it.
    pub path: Vec<Oid>,
}

const SCHEMAS: i32 = pg_sys::SysCacheIdentifier::NAMESPACEOID as i32;

/// The relation that a call names; or none, and the current role with the schemas on its search path.
pub type Meant = (Oid, Option<(Oid, Vec<Oid>)>);

thread_local! {
    static INDEXES: RefCell<HashMap<Oid, Rc<Indexed>>> = RefCell::default();
    static QUERIES: RefCell<HashMap<QueryKey, Rc<TableQuery>>> = RefCell::default();
    /// The relations that cached entries use.
    static WATCHED: RefCell<Vec<Oid>> = const { RefCell::new(Vec::new()) };
    static STALE: Cell<bool> = const { Cell::new(false) };
    /// The indexes that calls refer to.
    static FOUND: RefCell<HashMap<Meant, Oid>> = RefCell::default();
    /// True if any relation, schema or role has changed since then.
    static CHANGED: Cell<bool> = const { Cell::new(false) };
    static LISTENING: Cell<bool> = const { Cell::new(false) };
}

/// Locks the table of an index, and returns the index as it is under that lock.
pub fn index(index: Oid, extension: Extension) -> Result<Rc<Indexed>> {
    loop {
        refresh();
        let kept = INDEXES.with_borrow(|indexes| indexes.get(&index).cloned());
        let found = match kept.filter(|kept| kept.extension == extension) {
            Some(found) => found,
            None => {
                watch(index);
                // Opening reads one catalog after another, and another session may change the table in between.
                watch(catalog::table_of_index(index));
                let found = Rc::new(Indexed::open(index, extension)?);
                INDEXES.with_borrow_mut(|indexes| indexes.insert(index, found.clone()));
                found
            }
        };
        // No one can alter a locked table, and taking the lock has delivered the messages about earlier changes.
        if relation::lock(found.table(), Lock::Read) && !STALE.get() {
            return Ok(found);
        }
        STALE.set(true);
    }
}

/// A call that names no relation.
pub fn unnamed() -> Meant {
    (Oid::INVALID, Some((current_role(), search_path())))
}

/// True if any change since [`known`] may affect which index a call means.
pub fn has_changed() -> bool {
    CHANGED.get()
}

/// The cached index of a call, unless anything has changed since. Rights are checked at each use.
pub fn known(meant: &Meant) -> Option<Oid> {
    listen();
    if CHANGED.take() {
        FOUND.take();
    }
    FOUND.with_borrow(|found| found.get(meant).copied())
}

/// Caches the index of a call, unless anything has changed since [`known`].
pub fn keep(meant: Meant, index: Oid) {
    if !has_changed() {
        FOUND.with_borrow_mut(|found| found.insert(meant, index));
    }
}

/// The cached query of a table. If there is none, changes of the table count from now on, so that the query may be
/// planned and [kept](keep_query).
pub fn query(table: Oid, place: &QueryKey) -> Option<Rc<TableQuery>> {
    refresh();
    let found = QUERIES.with_borrow(|queries| queries.get(place).cloned());
    if found.is_none() {
        watch(table);
    }
    found
}

/// Caches a query.
pub fn keep_query(place: QueryKey, query: TableQuery) -> Rc<TableQuery> {
    let query = Rc::new(query);
    QUERIES.with_borrow_mut(|queries| queries.insert(place, query.clone()));
    query
}

/// Empties the cache if some of it may be out of date.
fn refresh() {
    if STALE.take() {
        // Dropped outside of the borrow, because freeing plans may run PostgreSQL code.
        let old = (INDEXES.take(), QUERIES.take());
        WATCHED.take();
        drop(old);
    }
}

fn watch(relation: Oid) {
    WATCHED.with_borrow_mut(|watched| {
        if !watched.contains(&relation) {
            watched.push(relation);
        }
    });
    listen();
}

fn listen() {
    if !LISTENING.replace(true) {
        let (members, roles) = (pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM, pg_sys::SysCacheIdentifier::AUTHOID);
        let none = Datum::from(0);
        // SAFETY: the callbacks are functions of this library, which is never unloaded.
        unsafe {
            pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), none);
            pg_sys::CacheRegisterSyscacheCallback(SCHEMAS, Some(catalog_changed), none);
            pg_sys::CacheRegisterSyscacheCallback(members as i32, Some(catalog_changed), none);
            pg_sys::CacheRegisterSyscacheCallback(roles as i32, Some(catalog_changed), none);
        }
    }
}

/// Callback for a changed relation. PostgreSQL may call it at any time, so it only sets flags.
#[pg_guard]
unsafe extern "C-unwind" fn relation_changed(_argument: Datum, relation: Oid) {
    let concerned = relation == Oid::INVALID
        || WATCHED.with(|watched| watched.try_borrow().map_or(true, |watched| watched.contains(&relation)));
    if concerned {
        STALE.set(true);
    }
    CHANGED.set(true);
}

/// Callback for a changed schema, role or membership; sets flags only.
#[pg_guard]
unsafe extern "C-unwind" fn catalog_changed(_argument: Datum, cache: i32, _hash: u32) {
    if cache == SCHEMAS {
        STALE.set(true);
    }
    CHANGED.set(true);
}
