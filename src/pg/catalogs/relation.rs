//! Relations under a lock, and their columns.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::catalog::{AttributeRow, ClassRow, has_rights_of};
pub use crate::pg::open::Lock;
use crate::pg::open::Open;
use crate::pg::{array, list, text};

/// A description of a relation, valid while it is locked, until the end of the transaction.
///
/// It is a copy. A reference to PostgreSQL's own entry would count as "in use" for each ALTER TABLE that minlsh runs.
#[derive(Clone, Debug)]
pub struct Relation {
    pub oid: Oid,
    /// The name, unquoted.
    pub name: String,
    pub schema: Oid,
    pub owner: Oid,
    pub kind: u8,
    pub persistence: u8,
    /// The live columns.
    pub columns: Vec<Column>,
}

/// Locks `oid`; false if there is no such relation.
pub fn lock(oid: Oid, lock: Lock) -> bool {
    Open::relation(oid, lock).is_some()
}

/// Calls `look`, and releases the locks that it takes. For functions that show everyone something of any relation:
/// their locks must not block its owner until the end of the transaction.
pub fn without_keeping_locks<T>(look: impl FnOnce() -> T) -> T {
    use pg_sys::ResourceReleasePhase::{
        RESOURCE_RELEASE_AFTER_LOCKS, RESOURCE_RELEASE_BEFORE_LOCKS, RESOURCE_RELEASE_LOCKS,
    };
    // SAFETY: PostgreSQL notes each lock with the current resource owner. This one is released and deleted once, after
    // all relations opened under it are closed. An ERROR releases it with its parent, and sets the current one itself.
    unsafe {
        let current = pg_sys::CurrentResourceOwner;
        let own = pg_sys::ResourceOwnerCreate(current, c"minlsh locks".as_ptr());
        pg_sys::CurrentResourceOwner = own;
        let seen = look();
        for phase in [RESOURCE_RELEASE_BEFORE_LOCKS, RESOURCE_RELEASE_LOCKS, RESOURCE_RELEASE_AFTER_LOCKS] {
            pg_sys::ResourceOwnerRelease(own, phase, false, false);
        }
        pg_sys::CurrentResourceOwner = current;
        pg_sys::ResourceOwnerDelete(own);
        seen
    }
}

impl Relation {
    /// Locks `oid` and describes it; `None` if there is no such relation.
    pub fn open(oid: Oid, lock: Lock) -> Option<Self> {
        let open = Open::relation(oid, lock)?;
        let form = open.class();
        let attributes = open.attributes().filter(|attribute| !attribute.attisdropped);
        Some(Self {
            oid,
            name: open.name(),
            schema: form.relnamespace,
            owner: form.relowner,
            kind: form.relkind as u8,
            persistence: form.relpersistence as u8,
            columns: attributes.map(Column::of).collect(),
        })
    }

    pub fn is_partitioned(&self) -> bool {
        self.kind == b'p'
    }

    /// The live column with this number, if there is one.
    pub fn column(&self, number: i16) -> Option<&Column> {
        self.columns.iter().find(|column| column.number == number)
    }

    /// The live column with this name, in the database's encoding, if there is one.
    pub fn column_called(&self, name: &CStr) -> Option<&Column> {
        self.columns.iter().find(|column| column.raw_name.as_c_str() == name)
    }
}

#[derive(Clone, Debug)]
pub struct Column {
    /// Unquoted, for messages.
    pub name: String,
    /// In the database's encoding, for SQL.
    pub raw_name: CString,
    /// `attnum`, from 1.
    pub number: i16,
    pub type_oid: Oid,
    pub collation: Oid,
    pub not_null: bool,
    /// `attgenerated`: 0, `s` (stored) or `v` (virtual).
    pub generated: u8,
}

impl Column {
    /// Reads an attribute of an open relation.
    pub fn of(attribute: &pg_sys::FormData_pg_attribute) -> Self {
        let name = text::of_name(&attribute.attname);
        Self {
            raw_name: name.to_owned(),
            name: name.to_string_lossy().into_owned(),
            number: attribute.attnum,
            type_oid: attribute.atttypid,
            collation: attribute.attcollation,
            not_null: attribute.attnotnull,
            generated: attribute.attgenerated as u8,
        }
    }
}

impl Open {
    /// The live column with this number, if there is one.
    pub fn column(&self, number: i16) -> Option<Column> {
        let mut live = self.attributes().filter(|attribute| !attribute.attisdropped);
        live.find(|attribute| attribute.attnum == number).map(Column::of)
    }
}

/// The owner of a relation; invalid if there is no such relation.
pub fn owner_of(relation: Oid) -> Oid {
    let row = ClassRow::find(relation);
    row.map_or(Oid::INVALID, |row| row.relowner)
}

/// True if a role has the rights of the owner of a relation.
pub fn is_owned_by(relation: Oid, role: Oid) -> bool {
    has_rights_of(role, owner_of(relation))
}

/// True if policies decide which rows of a relation a role sees.
pub fn has_row_security(relation: Oid) -> bool {
    let row = ClassRow::find(relation);
    row.is_some_and(|row| row.relrowsecurity)
}

/// The tables that store the rows of a table: itself, or the leaves of a partitioned table. Locks them.
pub fn leaves(table: &Relation, lock: Lock) -> Vec<Relation> {
    if !table.is_partitioned() {
        return vec![table.clone()];
    }
    let all = inheritors(table.oid, lock);
    let opened = all.into_iter().filter_map(|oid| Relation::open(oid, Lock::Held));
    opened.filter(|relation| relation.kind == b'r').collect()
}

/// A table or index and all that inherit from it, locked.
pub fn inheritors(parent: Oid, lock: Lock) -> Vec<Oid> {
    // SAFETY: looks up the catalogs for any OID, and returns a new list.
    unsafe { list::oids(pg_sys::find_all_inheritors(parent, lock.mode(), std::ptr::null_mut())) }
}

/// The tables or indexes that inherit directly from `parent`, locked.
pub fn children(parent: Oid, lock: Lock) -> Vec<Oid> {
    // SAFETY: looks up the catalogs for any OID, and returns a new list.
    unsafe { list::oids(pg_sys::find_inheritance_children(parent, lock.mode())) }
}

/// The partitioned tables above a partition, from its parent to the root; none for any other relation.
pub fn partition_ancestors(relation: Oid) -> Vec<Oid> {
    // SAFETY: looks up the catalogs for any OID, and returns a new list.
    unsafe { list::oids(pg_sys::get_partition_ancestors(relation)) }
}

/// The roles that have rights on a relation, besides its owner; an invalid OID is PUBLIC.
pub fn grantees(relation: Oid) -> Vec<Oid> {
    let Some(row) = ClassRow::find(relation) else { return Vec::new() };
    let owner = row.relowner;
    let columns = (1..=row.relnatts).filter_map(|number| AttributeRow::of_column(relation, number));
    let columns: Vec<AttributeRow> = columns.collect();
    let of_columns = columns.iter().filter_map(|row| row.column(pg_sys::Anum_pg_attribute_attacl));
    let rights = row.column(pg_sys::Anum_pg_class_relacl).into_iter().chain(of_columns);
    // SAFETY: both lists of rights are arrays of aclitem, read while the rows are held.
    let items = rights.map(|rights| unsafe { array::each_element(rights) });
    // SAFETY: an element of an array of aclitem points to one.
    let grantee = |item: Datum| unsafe { (*item.cast_mut_ptr::<pg_sys::AclItem>()).ai_grantee };
    items.flatten().flatten().map(grantee).filter(|grantee| *grantee != owner).collect()
}
