//! A trigger that has fired, and the triggers that a table has.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::call::Call;
use crate::pg::open::Open;
use crate::pg::row::Row;
use crate::pg::sql::Sql;
use crate::pg::type_storage::TypeStorage;
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
    /// TRUNCATE
    Truncate,
}

/// A trigger of a table.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// `pg_trigger.oid`
    pub oid: Oid,
    /// Its name, in the database's encoding.
    pub name: CString,
    /// The function that it calls.
    pub function: Oid,
    /// True if it is a partition's copy of one of the partitioned table.
    pub is_copy: bool,
    /// The relation that it is tied to, by a condition that always holds: [`tie`].
    pub tied_to: Option<Oid>,
    /// The columns of UPDATE OF, in the order in which they were named.
    pub columns: Vec<i16>,
    /// `pg_trigger.tgtype`
    kind: u32,
    /// `pg_trigger.tgenabled`
    pub enabled: u8,
}

impl Trigger {
    /// # Safety
    /// `raw` must be a valid description of a trigger.
    unsafe fn of(raw: &pg_sys::Trigger) -> Self {
        let count = usize::try_from(raw.tgnattr).unwrap_or(0);
        // SAFETY: the name is NUL-terminated, and tgattr has tgnattr entries.
        let (name, columns) = unsafe {
            let columns = (0..count).map(|index| *raw.tgattr.add(index)).collect();
            (CStr::from_ptr(raw.tgname).to_owned(), columns)
        };
        Self {
            oid: raw.tgoid,
            name,
            function: raw.tgfoid,
            is_copy: raw.tgisclone,
            // SAFETY: the caller's promise.
            tied_to: unsafe { tied_to(raw) },
            columns,
            kind: raw.tgtype as u32,
            enabled: raw.tgenabled as u8,
        }
    }

    /// True if it fires after each row that is written.
    pub fn is_after_row(&self) -> bool {
        let timing = pg_sys::TRIGGER_TYPE_BEFORE | pg_sys::TRIGGER_TYPE_INSTEAD;
        self.kind & pg_sys::TRIGGER_TYPE_ROW != 0 && self.kind & timing == 0
    }

    /// The fault in when it fires, which should be always, or as any trigger does.
    pub fn fault(&self, always: bool) -> Option<&'static str> {
        match self.enabled {
            b'D' => Some("is disabled"),
            b'O' if always => Some("does not fire for replicated rows"),
            b'R' => Some("fires only for replicated rows"),
            _ => None,
        }
    }

    /// True if it fires upon TRUNCATE.
    pub fn is_truncate(&self) -> bool {
        self.kind & pg_sys::TRIGGER_TYPE_TRUNCATE != 0
    }

    /// True if it fires upon INSERT, UPDATE and DELETE.
    pub fn is_for_all_rows(&self) -> bool {
        let all =
            pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE | pg_sys::TRIGGER_TYPE_DELETE;
        self.kind & all == all
    }
}

/// The condition that ties a trigger to a relation, to stand behind WHEN. PostgreSQL keeps it right through renames,
/// dumps and restores, and copies it to partitions with the trigger.
pub fn tie(relation: Oid) -> Sql {
    Sql::new("(").literal(&relation.to_u32().to_string()).text("::pg_catalog.regclass IS NOT NULL)")
}

/// The relation in the condition of a trigger, if that is a [`tie`].
///
/// # Safety
/// `raw` must be a valid description of a trigger.
unsafe fn tied_to(raw: &pg_sys::Trigger) -> Option<Oid> {
    if raw.tgqual.is_null() {
        return None;
    }
    // SAFETY: a condition is the text of a tree of nodes.
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
    // SAFETY: an open relation's list of triggers, null if it has none, has `numtriggers` entries.
    unsafe {
        let list = (*table.raw()).trigdesc;
        if list.is_null() {
            return Vec::new();
        }
        let count = usize::try_from((*list).numtriggers).unwrap_or(0);
        (0..count).map(|index| Trigger::of(&*(*list).triggers.add(index))).collect()
    }
}

/// True if the session writes what another server has written: that of a logical-replication worker.
pub fn is_replica() -> bool {
    // SAFETY: reads a backend-local setting.
    unsafe { pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32 }
}

/// A trigger in progress.
pub struct Fired<'a>(&'a pg_sys::TriggerData);

impl<'a> Fired<'a> {
    /// The trigger that calls, `None` if the function was called otherwise.
    pub fn of(call: &'a Call) -> Option<Self> {
        // SAFETY: a valid call; its context is a TriggerData if its tag says so, and lives as
        // long as the call.
        unsafe {
            let context = (*call.raw()).context;
            (!context.is_null() && (*context).type_ == pg_sys::NodeTag::T_TriggerData)
                .then(|| Self(&*context.cast::<pg_sys::TriggerData>()))
        }
    }

    /// The trigger that was fired.
    pub fn trigger(&self) -> Trigger {
        // SAFETY: a trigger in progress has its description.
        unsafe { Trigger::of(&*self.0.tg_trigger) }
    }

    /// The table or partition on which it fired.
    pub fn relation(&self) -> Oid {
        // SAFETY: the relation is open while its trigger runs.
        unsafe { (*self.0.tg_relation).rd_id }
    }

    /// The event that fired it.
    pub fn event(&self) -> Event {
        match self.0.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
            pg_sys::TRIGGER_EVENT_INSERT => Event::Insert,
            pg_sys::TRIGGER_EVENT_DELETE => Event::Delete,
            pg_sys::TRIGGER_EVENT_UPDATE => Event::Update,
            _ => Event::Truncate,
        }
    }

    /// True if it fires for each row.
    pub fn for_each_row(&self) -> bool {
        self.0.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0
    }

    /// True if it fires after what happened.
    pub fn is_after(&self) -> bool {
        self.0.tg_event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_AFTER
    }

    /// True if the UPDATE named this column.
    pub fn names(&self, column: i16) -> bool {
        let member = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
        // SAFETY: a set of the trigger in progress, or null.
        unsafe { pg_sys::bms_is_member(member, self.0.tg_updatedcols) }
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

    /// True if a row has in a column what it had before; not so of a row that is new, or gone.
    pub fn is_unchanged(&self, column: i16) -> bool {
        let (Some(old), Some(new)) = (self.old_row(), self.new_row()) else { return false };
        match (old.value(column), new.value(column)) {
            (Some(old), Some(new)) => {
                // SAFETY: both rows are of the table that fires, whose descriptor has a column of that number, since
                // they have a value of it.
                let descriptor = unsafe { (*self.0.tg_relation).rd_att };
                // SAFETY: as above.
                let attribute = unsafe { versions::attribute(descriptor, column as usize - 1) };
                // SAFETY: two values of that column.
                unsafe { TypeStorage::of_attribute(attribute).same(old, new) }
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// The result of a trigger before a row that has it written, or deleted, as it is.
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
