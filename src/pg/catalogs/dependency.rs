//! `pg_depend`: dependencies between catalog objects.

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::catching::catching;
use crate::pg::relation::owner_of;

/// The indexes of `pg_depend`: by referenced object, and by dependent object.
const DEPEND_BY_REFERENCE: u32 = pg_sys::DependReferenceIndexId;
const DEPEND_BY_DEPENDENT: u32 = pg_sys::DependDependerIndexId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A table or index as a whole.
    Relation(Oid),
    /// One column of a table.
    Column(Oid, i16),
    Trigger(Oid),
    Function(Oid),
    Constraint(Oid),
    OperatorClass(Oid),
}

impl Object {
    /// As PostgreSQL's `ObjectAddress`.
    pub fn address(self) -> pg_sys::ObjectAddress {
        let (class, object, column) = match self {
            Self::Relation(oid) => (pg_sys::RelationRelationId, oid, 0),
            Self::Column(oid, number) => (pg_sys::RelationRelationId, oid, number),
            Self::Trigger(oid) => (pg_sys::TriggerRelationId, oid, 0),
            Self::Function(oid) => (pg_sys::ProcedureRelationId, oid, 0),
            Self::Constraint(oid) => (pg_sys::ConstraintRelationId, oid, 0),
            Self::OperatorClass(oid) => (pg_sys::OperatorClassRelationId, oid, 0),
        };
        pg_sys::ObjectAddress { classId: class, objectId: object, objectSubId: column.into() }
    }
}

/// Records that `dependent` is dropped together with `referenced`, silently, as an index is with its table.
pub fn drop_together(dependent: Object, referenced: Object) {
    let automatic = pg_sys::DependencyType::DEPENDENCY_AUTO;
    if !is_recorded(dependent, referenced, Some(automatic)) {
        record(dependent, referenced, automatic);
    }
}

/// Records that dropping `referenced` needs CASCADE, and then drops `dependent`.
pub fn drop_on_cascade(dependent: Object, referenced: Object) {
    if !depends(dependent, referenced) {
        record(dependent, referenced, pg_sys::DependencyType::DEPENDENCY_NORMAL);
    }
}

fn record(dependent: Object, referenced: Object, kind: pg_sys::DependencyType::Type) {
    // SAFETY: both addresses are local variables; the row is written in the current transaction.
    unsafe { pg_sys::recordDependencyOn(&dependent.address(), &referenced.address(), kind) };
}

fn dependents(referenced: Object, class: Oid) -> Vec<Oid> {
    let mut dependents = Vec::new();
    each(DEPEND_BY_REFERENCE, referenced, |form| {
        if form.classid == class {
            dependents.push(form.objid);
        }
    });
    dependents
}

/// The relations that depend on an operator class, which are its indexes.
pub fn indexes_of_class(class: Oid) -> Vec<Oid> {
    dependents(Object::OperatorClass(class), pg_sys::RelationRelationId)
}

/// The relations that `dependent` depends on, as a whole or by a column, each once.
pub fn relations_needed_by(dependent: Object) -> Vec<Oid> {
    let mut relations = Vec::new();
    each(DEPEND_BY_DEPENDENT, dependent, |form| {
        if form.refclassid == pg_sys::RelationRelationId && !relations.contains(&form.refobjid) {
            relations.push(form.refobjid);
        }
    });
    relations
}

/// True if `dependent` depends on `referenced` in any way.
pub fn depends(dependent: Object, referenced: Object) -> bool {
    is_recorded(dependent, referenced, None)
}

fn is_recorded(dependent: Object, referenced: Object, kind: Option<pg_sys::DependencyType::Type>) -> bool {
    let referenced = referenced.address();
    let mut found = false;
    each(DEPEND_BY_DEPENDENT, dependent, |form| {
        found |= form.refclassid == referenced.classId
            && form.refobjid == referenced.objectId
            && form.refobjsubid == referenced.objectSubId
            && kind.is_none_or(|kind| form.deptype as u8 == kind as u8);
    });
    found
}

/// The tables with a trigger that depends on `relation`. A table counts only if it has the same owner, or if `relation`
/// is recorded to be dropped with the table or one of its columns. Anyone can create a trigger that depends on a
/// relation, and lock their own table.
pub fn tables_tied_to(relation: Oid) -> Vec<Oid> {
    let owner = owner_of(relation);
    let linked = relations_needed_by(Object::Relation(relation));
    let triggers = dependents(Object::Relation(relation), pg_sys::TriggerRelationId).into_iter();
    let mut tables: Vec<Oid> = triggers.filter_map(table_of_trigger).collect();
    tables.retain(|table| owner_of(*table) == owner || linked.contains(table));
    tables.sort_unstable_by_key(|table| table.to_u32());
    tables.dedup();
    tables
}

/// Calls `visit` with the rows of `pg_depend` that `index` finds for `object`.
fn each(index: u32, object: Object, mut visit: impl FnMut(&pg_sys::FormData_pg_depend)) {
    let address = object.address();
    let first = if index == DEPEND_BY_DEPENDENT { 1 } else { 4 };
    let keys = [(first, address.classId), (first + 1, address.objectId)];
    scan(pg_sys::DependRelationId, Oid::from(index), &keys, |tuple| {
        // SAFETY: `scan` was called for `pg_depend`, so its tuples are rows of that catalog.
        visit(unsafe { &*pg_sys::GETSTRUCT(tuple).cast() });
    });
}

/// Calls `visit` with the rows of a catalog that have the OIDs of `keys` in its columns, found by an index that begins
/// with them. A row is valid until the next one.
fn scan(catalog: Oid, index: Oid, keys: &[(i16, Oid)], mut visit: impl FnMut(pg_sys::HeapTuple)) {
    let lock = pg_sys::AccessShareLock as i32;
    let mut conditions = vec![pg_sys::ScanKeyData::default(); keys.len()];
    // SAFETY: callers in this module pass a catalog and one of its indexes; the scan uses the catalog's own snapshot.
    unsafe {
        for (condition, (column, value)) in conditions.iter_mut().zip(keys) {
            let (equal, function) = (pg_sys::BTEqualStrategyNumber as u16, Oid::from(pg_sys::F_OIDEQ));
            pg_sys::ScanKeyInit(condition, *column, equal, function, Datum::from(*value));
        }
        let catalog = pg_sys::table_open(catalog, lock);
        let (count, keys) = (keys.len() as i32, conditions.as_mut_ptr());
        let snapshot = std::ptr::null_mut();
        let scan = pg_sys::systable_beginscan(catalog, index, true, snapshot, count, keys);
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            visit(tuple);
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, lock);
    }
}

/// The table of a trigger; `None` if there is no such trigger, or if it is a partition's copy.
fn table_of_trigger(trigger: Oid) -> Option<Oid> {
    let (table, copy_of, _) = row_of_trigger(trigger)?;
    (copy_of == Oid::INVALID).then_some(table)
}

/// The transaction that wrote the row of a trigger.
pub fn writer_of_trigger(trigger: Oid) -> Option<u32> {
    row_of_trigger(trigger).map(|(_, _, writer)| writer)
}

/// The table of a trigger, the trigger that it copies on a partition, and the transaction that wrote its row.
fn row_of_trigger(trigger: Oid) -> Option<(Oid, Oid, u32)> {
    let (index, mut found) = (Oid::from(pg_sys::TriggerOidIndexId), None);
    let key = (pg_sys::Anum_pg_trigger_oid as i16, trigger);
    scan(pg_sys::TriggerRelationId, index, &[key], |tuple| {
        // SAFETY: `scan` gives rows of `pg_trigger` as they are stored, and the header of a stored row has its writer.
        found = Some(unsafe {
            let form = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_trigger>();
            let writer = (*(*tuple).t_data).t_choice.t_heap.t_xmin.into_inner();
            (form.tgrelid, form.tgparentid, writer)
        });
    });
    found
}

/// Drops a relation as DROP ... RESTRICT does, with an error that names the objects that depend on it, and the hint
/// that `advice` returns. Does not check the caller's rights.
pub fn drop_restricted(relation: Oid, advice: impl FnOnce() -> String) -> Result<()> {
    let restrict = pg_sys::DropBehavior::DROP_RESTRICT;
    // SAFETY: `performDeletion` takes any address, and raises an ERROR for a relation that does not exist.
    let dropped = catching(|| unsafe {
        pg_sys::performDeletion(&Object::Relation(relation).address(), restrict, 0);
        pg_sys::CommandCounterIncrement();
    });
    let has_dependents = PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST;
    dropped.map_err(|cause| if cause.is(has_dependents) { cause.set_hint(advice()) } else { cause })
}
