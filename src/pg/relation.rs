//! A relation under a lock, and its columns.

use std::time::{Duration, Instant};

use pgrx::pg_sys::{self, Oid};

use crate::pg::{ffi, text};

/// How strongly a relation is locked, until the end of the transaction.
#[derive(Clone, Copy)]
pub enum Lock {
    /// `ACCESS SHARE`: what a SELECT takes.
    Read,
    /// `SHARE ROW EXCLUSIVE`: holds writers off, not readers; what CREATE TRIGGER takes.
    HoldWriters,
    /// `ACCESS EXCLUSIVE`: what DROP takes.
    Exclusive,
}

/// A relation as it is while we hold a lock on it, until the end of the transaction.
///
/// A copy, not PostgreSQL's own entry: a reference to that would be "in use" to every ALTER
/// TABLE that we run.
#[derive(Clone, Debug)]
pub struct Relation {
    /// `pg_class.oid`
    pub oid: Oid,
    /// The name, unquoted.
    pub name: String,
    /// `pg_class.relnamespace`
    pub schema: Oid,
    /// `pg_class.relowner`
    pub owner: Oid,
    /// `pg_class.relkind`
    pub kind: u8,
    /// `pg_class.relpersistence`
    pub persistence: u8,
    /// The live columns.
    pub columns: Vec<Column>,
}

impl Lock {
    fn mode(self) -> i32 {
        let mode = match self {
            Self::Read => pg_sys::AccessShareLock,
            Self::HoldWriters => pg_sys::ShareRowExclusiveLock,
            Self::Exclusive => pg_sys::AccessExclusiveLock,
        };
        mode as i32
    }
}

/// Locks `oid`; false if there is no such relation.
pub fn lock(oid: Oid, lock: Lock) -> bool {
    // SAFETY: null for a relation that does not exist, else a reference that is given back;
    // the lock stays (NoLock releases none).
    unsafe {
        let relation = pg_sys::try_relation_open(oid, lock.mode());
        if relation.is_null() {
            return false;
        }
        pg_sys::relation_close(relation, pg_sys::NoLock as i32);
        true
    }
}

/// Locks `oid` once nobody holds a lock in the way, without standing in a queue that would hold
/// others up: writers come and go as they please meanwhile. A table that is never free is locked
/// as any other command would, after `patience`.
pub fn lock_patiently(oid: Oid, lock: Lock, patience: Duration) {
    /// Microseconds between two tries.
    const PAUSE: std::ffi::c_long = 10_000;
    let start = Instant::now();
    // SAFETY: takes a lock that the end of the transaction releases; the relation may be gone.
    while !unsafe { pg_sys::ConditionalLockRelationOid(oid, lock.mode()) } {
        pgrx::check_for_interrupts!();
        if start.elapsed() > patience {
            // SAFETY: as above.
            unsafe { pg_sys::LockRelationOid(oid, lock.mode()) };
            return;
        }
        // SAFETY: sleeps.
        unsafe { pg_sys::pg_usleep(PAUSE) };
    }
}

/// A lock that outlives the transaction: what CREATE INDEX CONCURRENTLY holds. Two builds of one
/// table exclude each other, and so do a build and DROP, ALTER or VACUUM of the table. An ERROR
/// and the end of the session release it too.
pub struct BuildLock(pg_sys::LockRelId);

impl BuildLock {
    /// Locks a relation of this database, waiting as long as it takes.
    pub fn take(oid: Oid) -> Self {
        // SAFETY: a lock on a relation that may be gone by now, which does no harm.
        unsafe {
            let mut id = pg_sys::LockRelId { relId: oid, dbId: pg_sys::MyDatabaseId };
            pg_sys::LockRelationIdForSession(&mut id, Self::MODE);
            Self(id)
        }
    }

    const MODE: i32 = pg_sys::ShareUpdateExclusiveLock as i32;
}

impl Drop for BuildLock {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: taken by `take`, released once.
            unsafe { pg_sys::UnlockRelationIdForSession(&mut self.0, Self::MODE) };
        }
    }
}

impl Relation {
    /// Locks `oid` and describes it; `None` if there is no such relation.
    pub fn open(oid: Oid, lock: Lock) -> Option<Self> {
        // SAFETY: null for a relation that does not exist, else an open relation with its
        // pg_class row and a descriptor of `natts` attributes. Closing it keeps the lock.
        unsafe {
            let relation = pg_sys::try_relation_open(oid, lock.mode());
            if relation.is_null() {
                return None;
            }
            let form = &*(*relation).rd_rel;
            let descriptor = (*relation).rd_att;
            let attributes = (0..(*descriptor).natts as usize)
                .map(|index| ffi::attribute(descriptor, index))
                .filter(|attribute| !attribute.attisdropped);
            let description = Self {
                oid,
                name: text::from_cstring(form.relname.data.as_ptr()),
                schema: form.relnamespace,
                owner: form.relowner,
                kind: form.relkind as u8,
                persistence: form.relpersistence as u8,
                columns: attributes.map(Column::of).collect(),
            };
            pg_sys::relation_close(relation, pg_sys::NoLock as i32);
            Some(description)
        }
    }

    /// Whether it is a partitioned table.
    pub fn is_partitioned(&self) -> bool {
        self.kind == b'p'
    }

    /// Whether it is a temporary table.
    pub fn is_temporary(&self) -> bool {
        self.persistence == b't'
    }

    /// The live column of that number, if there is one.
    pub fn column(&self, number: i16) -> Option<&Column> {
        self.columns.iter().find(|column| column.number == number)
    }

    /// The live column of that name, if there is one.
    pub fn column_named(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub struct Column {
    /// Unquoted.
    pub name: String,
    /// `attnum`, from 1.
    pub number: i16,
    /// Its type.
    pub type_oid: Oid,
    /// `typlen`
    pub length: i16,
    /// Whether values are passed by value.
    pub by_value: bool,
    /// Its collation, invalid for a type that has none.
    pub collation: Oid,
    /// Declared NOT NULL.
    pub not_null: bool,
    /// `attgenerated`: 0, `s` (stored) or `v` (virtual).
    pub generated: u8,
}

impl Column {
    fn of(attribute: &pg_sys::FormData_pg_attribute) -> Self {
        Self {
            // SAFETY: a name is a NUL-terminated array.
            name: unsafe { text::from_cstring(attribute.attname.data.as_ptr()) },
            number: attribute.attnum,
            type_oid: attribute.atttypid,
            length: attribute.attlen,
            by_value: attribute.attbyval,
            collation: attribute.attcollation,
            not_null: attribute.attnotnull,
            generated: attribute.attgenerated as u8,
        }
    }
}

/// The owner of a relation; invalid if there is no such relation.
pub fn owner_of(relation: Oid) -> Oid {
    // SAFETY: a lookup in the system cache; the tuple is released after the read.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(relation));
        if tuple.is_null() {
            return Oid::INVALID;
        }
        let form = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_class>();
        let owner = (*form).relowner;
        pg_sys::ReleaseSysCache(tuple);
        owner
    }
}

/// Whether `role` has the rights of the relation's owner.
pub fn is_owned_by(relation: Oid, role: Oid) -> bool {
    // SAFETY: a lookup in the system caches.
    #[cfg(feature = "pg15")]
    unsafe {
        pg_sys::pg_class_ownercheck(relation, role)
    }
    // SAFETY: a lookup in the system caches.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, role)
    }
}
