//! A relation held open under a lock, and its columns.

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

/// An open relation. Its reference is dropped at the end of its scope, its lock with the
/// transaction.
pub struct Relation(pg_sys::Relation);

impl Relation {
    /// Opens `oid` under `lock`; `None` if there is no such relation.
    pub fn open(oid: Oid, lock: Lock) -> Option<Self> {
        let mode = match lock {
            Lock::Read => pg_sys::AccessShareLock,
            Lock::HoldWriters => pg_sys::ShareRowExclusiveLock,
            Lock::Exclusive => pg_sys::AccessExclusiveLock,
        };
        // SAFETY: null for a relation that does not exist, else a reference that `Drop` closes.
        let relation = unsafe { pg_sys::try_relation_open(oid, mode as i32) };
        (!relation.is_null()).then_some(Self(relation))
    }

    fn form(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: an open relation has its pg_class row.
        unsafe { &*(*self.0).rd_rel }
    }

    /// `pg_class.oid`
    pub fn oid(&self) -> Oid {
        // SAFETY: an open relation.
        unsafe { (*self.0).rd_id }
    }

    /// `pg_class.relkind`
    pub fn kind(&self) -> u8 {
        self.form().relkind as u8
    }

    /// `pg_class.relpersistence`
    pub fn persistence(&self) -> u8 {
        self.form().relpersistence as u8
    }

    /// `pg_class.relowner`
    pub fn owner(&self) -> Oid {
        self.form().relowner
    }

    /// `pg_class.relnamespace`
    pub fn schema(&self) -> Oid {
        self.form().relnamespace
    }

    /// The name, unquoted.
    pub fn name(&self) -> String {
        // SAFETY: a name is a NUL-terminated array.
        unsafe { text::from_cstring(self.form().relname.data.as_ptr()) }
    }

    /// The live column of that number, if there is one.
    pub fn column(&self, number: i16) -> Option<Column> {
        self.columns().find(|column| column.number == number)
    }

    /// The live column of that name, if there is one.
    pub fn column_named(&self, name: &str) -> Option<Column> {
        self.columns().find(|column| column.name == name)
    }

    fn columns(&self) -> impl Iterator<Item = Column> {
        // SAFETY: an open relation has a descriptor of `natts` attributes.
        let (descriptor, count) = unsafe { ((*self.0).rd_att, (*(*self.0).rd_att).natts as usize) };
        (0..count).filter_map(move |index| {
            // SAFETY: index < natts.
            let attribute = unsafe { ffi::attribute(descriptor, index) };
            (!attribute.attisdropped).then(|| Column {
                // SAFETY: a name is a NUL-terminated array.
                name: unsafe { text::from_cstring(attribute.attname.data.as_ptr()) },
                number: attribute.attnum,
                type_oid: attribute.atttypid,
                length: attribute.attlen,
                by_value: attribute.attbyval,
                collation: attribute.attcollation,
                not_null: attribute.attnotnull,
                generated: attribute.attgenerated as u8,
            })
        })
    }
}

impl Drop for Relation {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: closes the reference of `open`; the lock stays (NoLock releases none).
            unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) };
        }
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
