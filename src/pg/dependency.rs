//! Dependencies between catalog objects that no SQL statement can declare.

use pgrx::pg_sys::{self, Oid};

/// A catalog object.
#[derive(Clone, Copy)]
pub enum Object {
    /// A table as a whole.
    Table(Oid),
    /// One column of a table.
    Column(Oid, i16),
    /// A trigger.
    Trigger(Oid),
    /// A function.
    Function(Oid),
}

impl Object {
    fn address(self) -> pg_sys::ObjectAddress {
        let (class, object, column) = match self {
            Self::Table(oid) => (pg_sys::RelationRelationId, oid, 0),
            Self::Column(oid, number) => (pg_sys::RelationRelationId, oid, number),
            Self::Trigger(oid) => (pg_sys::TriggerRelationId, oid, 0),
            Self::Function(oid) => (pg_sys::ProcedureRelationId, oid, 0),
        };
        pg_sys::ObjectAddress { classId: class, objectId: object, objectSubId: column.into() }
    }
}

/// `dependent` is dropped together with `referenced`, silently, as an index is with its table.
pub fn drop_together(dependent: Object, referenced: Object) {
    record(dependent, referenced, pg_sys::DependencyType::DEPENDENCY_AUTO);
}

/// Dropping `referenced` needs CASCADE, and then drops `dependent`.
pub fn drop_on_cascade(dependent: Object, referenced: Object) {
    record(dependent, referenced, pg_sys::DependencyType::DEPENDENCY_NORMAL);
}

fn record(dependent: Object, referenced: Object, kind: pg_sys::DependencyType::Type) {
    // SAFETY: two valid addresses; the catalog is written in the current transaction.
    unsafe { pg_sys::recordDependencyOn(&dependent.address(), &referenced.address(), kind) };
}
