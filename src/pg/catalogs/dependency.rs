//! `pg_depend`: which catalog objects belong together.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::relation::owner_of;

/// `pg_depend`, and its index by what is depended on: the bindings do not name them.
const DEPEND: u32 = 2608;
const DEPEND_BY_REFERENCE: u32 = 2674;
const DEPEND_BY_DEPENDENT: u32 = 2673;
/// `pg_constraint`
const CONSTRAINT: u32 = 2606;

/// A catalog object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A table or index as a whole.
    Relation(Oid),
    /// One column of a table.
    Column(Oid, i16),
    /// A trigger.
    Trigger(Oid),
    /// A function.
    Function(Oid),
    /// A constraint.
    Constraint(Oid),
    /// An operator class.
    OperatorClass(Oid),
}

impl Object {
    /// As PostgreSQL addresses it.
    pub fn address(self) -> pg_sys::ObjectAddress {
        let (class, object, column) = match self {
            Self::Relation(oid) => (pg_sys::RelationRelationId, oid, 0),
            Self::Column(oid, number) => (pg_sys::RelationRelationId, oid, number),
            Self::Trigger(oid) => (pg_sys::TriggerRelationId, oid, 0),
            Self::Function(oid) => (pg_sys::ProcedureRelationId, oid, 0),
            Self::Constraint(oid) => (Oid::from(CONSTRAINT), oid, 0),
            Self::OperatorClass(oid) => (pg_sys::OperatorClassRelationId, oid, 0),
        };
        pg_sys::ObjectAddress { classId: class, objectId: object, objectSubId: column.into() }
    }
}

/// A row of `pg_depend`; its layout has been the same since PostgreSQL 7.3.
#[repr(C)]
struct DependencyRow {
    dependent_class: Oid,
    dependent: Oid,
    dependent_column: i32,
    referenced_class: Oid,
    referenced: Oid,
    referenced_column: i32,
    kind: std::ffi::c_char,
}

/// `dependent` is dropped together with `referenced`, silently, as an index is with its table.
pub fn drop_together(dependent: Object, referenced: Object) {
    let automatic = pg_sys::DependencyType::DEPENDENCY_AUTO;
    if !is_recorded(dependent, referenced, Some(automatic)) {
        record(dependent, referenced, automatic);
    }
}

/// Dropping `referenced` needs CASCADE, and then drops `dependent`.
pub fn drop_on_cascade(dependent: Object, referenced: Object) {
    if !depends(dependent, referenced) {
        record(dependent, referenced, pg_sys::DependencyType::DEPENDENCY_NORMAL);
    }
}

fn record(dependent: Object, referenced: Object, kind: pg_sys::DependencyType::Type) {
    // SAFETY: two valid addresses; the catalog is written in the current transaction.
    unsafe { pg_sys::recordDependencyOn(&dependent.address(), &referenced.address(), kind) };
}

/// The triggers that depend on a relation.
fn triggers_of(relation: Oid) -> Vec<Oid> {
    let mut triggers = Vec::new();
    each(DEPEND_BY_REFERENCE, Object::Relation(relation), |form| {
        if form.dependent_class == pg_sys::TriggerRelationId {
            triggers.push(form.dependent);
        }
    });
    triggers
}

/// The relations that depend on an operator class: the indexes that use it.
pub fn indexes_of_class(class: Oid) -> Vec<Oid> {
    let mut indexes = Vec::new();
    each(DEPEND_BY_REFERENCE, Object::OperatorClass(class), |form| {
        if form.dependent_class == pg_sys::RelationRelationId {
            indexes.push(form.dependent);
        }
    });
    indexes
}

/// The relations that something is recorded to need, as a whole or by a column, each once.
pub fn relations_needed_by(dependent: Object) -> Vec<Oid> {
    let mut relations = Vec::new();
    each(DEPEND_BY_DEPENDENT, dependent, |form| {
        if form.referenced_class == pg_sys::RelationRelationId
            && !relations.contains(&form.referenced)
        {
            relations.push(form.referenced);
        }
    });
    relations
}

/// True if `dependent` is recorded to depend on `referenced`, in whatever way.
pub fn depends(dependent: Object, referenced: Object) -> bool {
    is_recorded(dependent, referenced, None)
}

fn is_recorded(
    dependent: Object,
    referenced: Object,
    kind: Option<pg_sys::DependencyType::Type>,
) -> bool {
    let referenced = referenced.address();
    let mut found = false;
    each(DEPEND_BY_DEPENDENT, dependent, |form| {
        found |= form.referenced_class == referenced.classId
            && form.referenced == referenced.objectId
            && form.referenced_column == referenced.objectSubId
            && kind.is_none_or(|kind| form.kind as u8 == kind as u8);
    });
    found
}

/// The tables whose triggers a relation is needed by, as far as they are its owner's, or it is recorded to be dropped
/// with them or a column: anybody can make a trigger that needs it, and lock the table.
pub fn tables_tied_to(relation: Oid) -> Vec<Oid> {
    let owner = owner_of(relation);
    let linked = relations_needed_by(Object::Relation(relation));
    let triggers = triggers_of(relation).into_iter();
    let mut tables: Vec<Oid> = triggers.filter_map(table_of_trigger).collect();
    tables.retain(|table| owner_of(*table) == owner || linked.contains(table));
    tables.sort_unstable_by_key(|table| table.to_u32());
    tables.dedup();
    tables
}

/// Visits the rows of one side's object, by the index of that side.
fn each(index: u32, object: Object, mut visit: impl FnMut(&DependencyRow)) {
    let address = object.address();
    let first = if index == DEPEND_BY_DEPENDENT { 1 } else { 4 };
    let mut keys = [pg_sys::ScanKeyData::default(); 2];
    let lock = pg_sys::AccessShareLock as i32;
    // SAFETY: a scan of a catalog under the catalog's own snapshot, by two oid columns; each tuple
    // is valid until the next one, and begins with the fixed columns.
    unsafe {
        for (offset, value) in [address.classId, address.objectId].into_iter().enumerate() {
            pg_sys::ScanKeyInit(
                &mut keys[offset],
                first + offset as i16,
                pg_sys::BTEqualStrategyNumber as u16,
                Oid::from(pg_sys::F_OIDEQ),
                Datum::from(value),
            );
        }
        let catalog = pg_sys::table_open(Oid::from(DEPEND), lock);
        let snapshot = std::ptr::null_mut();
        let scan = pg_sys::systable_beginscan(
            catalog,
            Oid::from(index),
            true,
            snapshot,
            2,
            keys.as_mut_ptr(),
        );
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            visit(&*pg_sys::GETSTRUCT(tuple).cast::<DependencyRow>());
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, lock);
    }
}

/// The table of a trigger; `None` if there is no such trigger, or if it is a partition's copy.
pub fn table_of_trigger(trigger: Oid) -> Option<Oid> {
    let table = |form: &pg_sys::FormData_pg_trigger| {
        (form.tgparentid == Oid::INVALID).then_some(form.tgrelid)
    };
    with_trigger(trigger, |form, _| table(form)).flatten()
}

/// The transaction that has written the row of a trigger.
pub fn writer_of_trigger(trigger: Oid) -> Option<u32> {
    // SAFETY: of a row that is stored the header tells its writer.
    with_trigger(trigger, |_, header| unsafe { header.t_choice.t_heap.t_xmin.into_inner() })
}

/// Calls `look` with the row of a trigger, if there is one.
fn with_trigger<T>(
    trigger: Oid,
    look: impl FnOnce(&pg_sys::FormData_pg_trigger, &pg_sys::HeapTupleHeaderData) -> T,
) -> Option<T> {
    let mut key = pg_sys::ScanKeyData::default();
    let lock = pg_sys::AccessShareLock as i32;
    // SAFETY: a scan of a catalog by OID under the catalog's own snapshot; the tuple is valid until
    // the scan ends.
    unsafe {
        pg_sys::ScanKeyInit(
            &mut key,
            pg_sys::Anum_pg_trigger_oid as i16,
            pg_sys::BTEqualStrategyNumber as u16,
            Oid::from(pg_sys::F_OIDEQ),
            Datum::from(trigger),
        );
        let catalog = pg_sys::table_open(pg_sys::TriggerRelationId, lock);
        let (index, snapshot) = (Oid::from(pg_sys::TriggerOidIndexId), std::ptr::null_mut());
        let scan = pg_sys::systable_beginscan(catalog, index, true, snapshot, 1, &mut key);
        let tuple = pg_sys::systable_getnext(scan);
        let found = (!tuple.is_null()).then(|| {
            look(
                &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_trigger>(),
                &*(*tuple).t_data,
            )
        });
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, lock);
        found
    }
}

/// Drops something as DROP ... RESTRICT does: what depends on it and is not part of it is named in an error.
/// The caller's rights are not checked.
pub fn drop_restricted(object: Object) {
    let restrict = pg_sys::DropBehavior::DROP_RESTRICT;
    // SAFETY: PostgreSQL looks the object up, and raises an error if there is none.
    unsafe {
        pg_sys::performDeletion(&object.address(), restrict, 0);
        pg_sys::CommandCounterIncrement();
    }
}
