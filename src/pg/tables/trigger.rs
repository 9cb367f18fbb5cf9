//! Triggers: as they fire, as a table has them, and as they tie a companion to its table.

use std::ffi::{CStr, CString};

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{SqlError, error};
use crate::pg::call::Call;
use crate::pg::catalog::{self, c_function};
use crate::pg::dependency::{self, Object};
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::row::Row;
use crate::pg::sql::Sql;
use crate::pg::type_storage::TypeStorage;
use crate::pg::typed_value::TypedValue;
use crate::pg::versions;

/// The kinds of changes that fire a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Also COPY, and the inserting part of ON CONFLICT and MERGE.
    Insert,
    /// Also the updating part of ON CONFLICT and MERGE.
    Update,
    /// Also the deleting part of MERGE.
    Delete,
    Truncate,
}

/// A trigger of a table.
#[derive(Clone, Debug)]
pub struct Trigger {
    pub oid: Oid,
    /// Its name, in the database's encoding.
    pub name: CString,
    /// The function that it calls.
    pub function: Oid,
    /// True if it is a partition's copy of one of the partitioned table.
    pub is_copy: bool,
    /// The relation in its condition, if that is a [`tie`].
    pub tied_to: Option<Oid>,
    /// The columns of UPDATE OF, in the order of the definition.
    pub columns: Vec<i16>,
    kind: u32,
    pub enabled: u8,
}

impl Trigger {
    /// # Safety
    /// `raw` is a valid description of a trigger.
    unsafe fn of(raw: &pg_sys::Trigger) -> Self {
        let count = usize::try_from(raw.tgnattr).unwrap_or(0);
        // SAFETY: the name ends with a NUL, and `tgattr` has `tgnattr` entries.
        let (name, columns) = unsafe {
            let columns = (0..count).map(|index| *raw.tgattr.add(index)).collect();
            (CStr::from_ptr(raw.tgname).to_owned(), columns)
        };
        Self {
            oid: raw.tgoid,
            name,
            function: raw.tgfoid,
            is_copy: raw.tgisclone,
            // SAFETY: the caller promises a valid description.
            tied_to: unsafe { tied_to(raw) },
            columns,
            kind: raw.tgtype as u32,
            enabled: raw.tgenabled as u8,
        }
    }

    /// True if it calls the C function `function`. Only a superuser can create a trigger that runs minlsh's code.
    pub fn calls(&self, function: &CStr) -> bool {
        c_function(self.function).is_some_and(|symbol| symbol == function.to_bytes())
    }

    /// The fault of its enabled state, if there is one. It should fire always, or like any trigger; `table` names its
    /// table.
    pub fn fault(&self, table: &str, always: bool) -> Option<String> {
        let fault = match self.enabled {
            b'D' => "is disabled",
            b'O' if always => "does not fire for replicated rows",
            b'R' => "fires only for replicated rows",
            _ => return None,
        };
        Some(format!("trigger \"{}\" of table \"{table}\" {fault}", self.name.to_string_lossy()))
    }

    pub fn is_truncate(&self) -> bool {
        self.kind & pg_sys::TRIGGER_TYPE_TRUNCATE != 0
    }

    /// True if it fires after each row of INSERT, UPDATE and DELETE.
    fn is_for_all_rows(&self) -> bool {
        let timing = pg_sys::TRIGGER_TYPE_BEFORE | pg_sys::TRIGGER_TYPE_INSTEAD;
        let all = pg_sys::TRIGGER_TYPE_ROW
            | pg_sys::TRIGGER_TYPE_INSERT
            | pg_sys::TRIGGER_TYPE_UPDATE
            | pg_sys::TRIGGER_TYPE_DELETE;
        self.kind & (all | timing) == all
    }
}

/// The tie of a table to its documents: a row trigger of the documents. Its condition names the table, and its UPDATE
/// OF names the key and the other relevant columns. PostgreSQL keeps both correct through renames, dumps and restores,
/// and copies the trigger to partitions.
#[derive(Clone, Debug)]
pub struct Record {
    pub trigger: Oid,
    /// The function that it calls.
    pub function: Oid,
    /// True if it is a partition's copy of one of the partitioned table.
    pub is_copy: bool,
    pub beside: Oid,
    /// The key, then the other columns; at least one column.
    pub columns: Vec<i16>,
}

impl Record {
    /// Reads the record that `trigger` is; `None` for other triggers.
    pub fn of(trigger: Trigger) -> Option<Self> {
        let Trigger { oid, function, is_copy, .. } = trigger;
        let is_record = trigger.is_for_all_rows() && !trigger.columns.is_empty();
        let beside = trigger.tied_to.filter(|_| is_record)?;
        Some(Self { trigger: oid, function, is_copy, beside, columns: trigger.columns })
    }

    pub fn key(&self) -> i16 {
        self.columns[0]
    }

    /// The last column, which may be the key.
    pub fn last(&self) -> i16 {
        self.columns[self.columns.len() - 1]
    }

    /// The record of the companion `beside` among [all](Self::all) records.
    pub fn find(documents: &Open, function: &CStr, beside: Oid) -> Option<Self> {
        Self::all(documents, function).into_iter().find(|record| record.beside == beside)
    }

    /// The records of an open table, also as a partition, whose function is `function`.
    pub fn all(documents: &Open, function: &CStr) -> Vec<Self> {
        let ours = triggers(documents).into_iter().filter(|trigger| trigger.calls(function));
        ours.filter_map(Self::of).collect()
    }

    /// True if `trigger` is tied to the same table.
    pub fn is_followed_by(&self, trigger: &Trigger) -> bool {
        trigger.function == self.function && trigger.tied_to == Some(self.beside)
    }

    /// Makes the tied triggers of the documents depend on the table and on the record: they are dropped with either.
    pub fn link_triggers(&self, documents: &Open) {
        let (record, beside) = (Object::Trigger(self.trigger), Object::Relation(self.beside));
        let all = triggers(documents).into_iter();
        for trigger in all.filter(|trigger| self.is_followed_by(trigger) && !trigger.is_copy) {
            let trigger = Object::Trigger(trigger.oid);
            dependency::drop_together(trigger, beside);
            if trigger != record {
                dependency::drop_together(trigger, record);
            }
        }
    }

    /// The constraint, or else the index, that makes the key unique.
    pub fn key_constraint(&self, documents: &Open) -> Option<Object> {
        let index = documents.key_index(self.key(), Lock::Read)?;
        Some(match catalog::constraint_of_index(index.oid()) {
            Oid::INVALID => Object::Relation(index.oid()),
            constraint => Object::Constraint(constraint),
        })
    }
}

/// A condition, to follow WHEN, that ties a trigger to a relation. PostgreSQL keeps it correct through renames, dumps
/// and restores, and copies it to partitions with the trigger.
pub fn tie(relation: Oid) -> Sql {
    Sql::new("(").literal(&relation.to_u32().to_string()).text("::pg_catalog.regclass IS NOT NULL)")
}

/// The relation in a trigger's condition, if that is a [`tie`].
///
/// # Safety
/// `raw` is a valid description of a trigger.
unsafe fn tied_to(raw: &pg_sys::Trigger) -> Option<Oid> {
    if raw.tgqual.is_null() {
        return None;
    }
    // SAFETY: `tgqual` is null, or the text of a tree of nodes.
    unsafe {
        let test = pg_sys::stringToNode(raw.tgqual).cast::<pg_sys::NullTest>();
        if test.is_null()
            || (*test.cast::<pg_sys::Node>()).type_ != pg_sys::NodeTag::T_NullTest
            || (*test).nulltesttype != pg_sys::NullTestType::IS_NOT_NULL
        {
            return None;
        }
        let value = (*test).arg.cast::<pg_sys::Const>();
        let is_relation = (*value.cast::<pg_sys::Node>()).type_ == pg_sys::NodeTag::T_Const
            && (*value).consttype == pg_sys::REGCLASSOID
            && !(*value).constisnull;
        is_relation.then(|| Oid::from((*value).constvalue.value() as u32))
    }
}

/// The triggers of an open table.
pub fn triggers(table: &Open) -> Vec<Trigger> {
    // SAFETY: a relation's list of triggers has `numtriggers` entries; it is null if there are none.
    unsafe {
        let Some(list) = table.entry().trigdesc.as_ref() else { return Vec::new() };
        let all = std::slice::from_raw_parts(list.triggers, list.numtriggers as usize);
        all.iter().map(|trigger| Trigger::of(trigger)).collect()
    }
}

/// True in a logical-replication worker, and in other sessions that write what another server has written.
pub fn is_replica() -> bool {
    // SAFETY: reads a setting of this backend.
    unsafe { pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32 }
}

/// The error of a trigger function in a trigger that `maker` did not make.
pub fn misused(function: &CStr, problem: &str, maker: &str) -> SqlError {
    let code = PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED;
    error(code, format!("trigger function {} {problem}", function.to_string_lossy()))
        .set_hint(format!("Use {maker}, which creates the triggers."))
}

/// A trigger in progress.
pub struct Fired<'a>(&'a pg_sys::TriggerData);

impl<'a> Fired<'a> {
    /// The trigger that calls; `None` if the function was called directly.
    pub fn of(call: &'a Call) -> Option<Self> {
        // SAFETY: `Call::new` promises a valid call. Its context is a TriggerData if its tag says so, and lives as long
        // as the call.
        unsafe {
            let context = (*call.raw()).context;
            (!context.is_null() && (*context).type_ == pg_sys::NodeTag::T_TriggerData)
                .then(|| Self(&*context.cast::<pg_sys::TriggerData>()))
        }
    }

    /// The trigger that fired.
    pub fn trigger(&self) -> Trigger {
        // SAFETY: a trigger that fires has its description.
        unsafe { Trigger::of(&*self.0.tg_trigger) }
    }

    /// The table or partition on which it fired.
    pub fn relation(&self) -> Oid {
        // SAFETY: the relation is open while its trigger runs.
        unsafe { (*self.0.tg_relation).rd_id }
    }

    pub fn event(&self) -> Event {
        match self.0.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
            pg_sys::TRIGGER_EVENT_INSERT => Event::Insert,
            pg_sys::TRIGGER_EVENT_DELETE => Event::Delete,
            pg_sys::TRIGGER_EVENT_UPDATE => Event::Update,
            _ => Event::Truncate,
        }
    }

    pub fn for_each_row(&self) -> bool {
        self.0.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0
    }

    /// True for an AFTER trigger.
    pub fn is_after(&self) -> bool {
        self.0.tg_event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_AFTER
    }

    fn names(&self, column: i16) -> bool {
        let member = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
        // SAFETY: null, or a set that belongs to the running trigger.
        unsafe { pg_sys::bms_is_member(member, self.0.tg_updatedcols) }
    }

    /// The keys that a change affects by `record`, before and after. `None` where there is no row, before if the key
    /// stays the same, and both if no relevant column has changed. An update that names none of these columns is
    /// handled by another trigger than the record.
    pub fn changed_keys(&self, record: &Record) -> [Option<TypedValue<'_>>; 2] {
        // SAFETY: a trigger that fires has its description.
        let is_record = unsafe { (*self.0.tg_trigger).tgoid } == record.trigger;
        let named = self.event() != Event::Update || record.columns.iter().any(|c| self.names(*c));
        let key = record.key();
        let same_key = self.is_unchanged(key);
        let is_changed = !same_key || record.columns.iter().any(|c| !self.is_unchanged(*c));
        if (named && !is_record) || !is_changed {
            return [None, None];
        }
        let old = self.old_row().filter(|_| !same_key);
        // SAFETY: the value is of its column's type, and the row's slot lives as long as the call.
        let typed = |row: Row| row.value(key).map(|value| unsafe { TypedValue::new(value, row.type_of(key)) });
        [old, self.new_row()].map(|row| typed(row?))
    }

    /// The row before an UPDATE or DELETE.
    pub fn old_row(&self) -> Option<Row> {
        (self.event() != Event::Insert).then(|| self.row(self.0.tg_trigslot)).flatten()
    }

    /// The row after an INSERT or UPDATE.
    pub fn new_row(&self) -> Option<Row> {
        match self.event() {
            Event::Insert => self.row(self.0.tg_trigslot),
            Event::Update => self.row(self.0.tg_newslot),
            Event::Delete | Event::Truncate => None,
        }
    }

    /// True if a column has the same value before and after; false for a row that is new or deleted.
    fn is_unchanged(&self, column: i16) -> bool {
        let (Some(old), Some(new)) = (self.old_row(), self.new_row()) else { return false };
        match (old.value(column), new.value(column)) {
            // SAFETY: both rows belong to the trigger's table, whose descriptor has this column, since both have a
            // value for it.
            (Some(old), Some(new)) => unsafe {
                let attributes = versions::attributes((*self.0.tg_relation).rd_att);
                TypeStorage::of_attribute(&attributes[column as usize - 1]).same(old, new)
            },
            (None, None) => true,
            _ => false,
        }
    }

    /// The result of a BEFORE trigger that leaves the row as it is.
    pub fn row_as_it_is(&self) -> Datum {
        Datum::from(match self.event() {
            Event::Update => self.0.tg_newtuple,
            _ => self.0.tg_trigtuple,
        })
    }

    fn row(&self, slot: *mut pg_sys::TupleTableSlot) -> Option<Row> {
        // SAFETY: a row trigger has its rows in these slots, which live as long as the call.
        (self.for_each_row() && !slot.is_null()).then(|| unsafe { Row::borrowed(slot) })
    }
}
