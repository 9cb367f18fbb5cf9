//! A trigger that has fired: what happened, and the rows concerned.

use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::pg::call::Call;
use crate::pg::ffi;
use crate::pg::relation::Column;
use crate::pg::text;

/// Whether two non-null values of a column are the same, byte for byte (after detoasting).
pub fn same_datum(column: &Column, a: Datum, b: Datum) -> bool {
    // SAFETY: two non-null values of the column's type.
    unsafe { ffi::same_image(a, b, column.by_value, column.length.into()) }
}

/// What kind of change it was.
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

    /// The first argument of CREATE TRIGGER.
    pub fn argument(&self) -> Option<String> {
        // SAFETY: tgargs has tgnargs strings.
        unsafe {
            let trigger = &*self.0.tg_trigger;
            (trigger.tgnargs > 0).then(|| text::from_cstring(*trigger.tgargs))
        }
    }

    /// `pg_trigger.oid`
    pub fn oid(&self) -> Oid {
        // SAFETY: a trigger in progress has its description.
        unsafe { (*self.0.tg_trigger).tgoid }
    }

    /// The table or partition on which it fired.
    pub fn relation(&self) -> Oid {
        // SAFETY: the relation is open while its trigger runs.
        unsafe { (*self.0.tg_relation).rd_id }
    }

    /// Whether a statement is about to insert rows.
    pub fn is_before_insert(&self) -> bool {
        let event = self.0.tg_event;
        event & pg_sys::TRIGGER_EVENT_OPMASK == pg_sys::TRIGGER_EVENT_INSERT
            && event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_BEFORE
            && !self.for_each_row()
    }

    /// What happened; `None` for an UPDATE reported without its rows, which another trigger
    /// reports with them.
    pub fn event(&self) -> Option<Event> {
        let event = match self.0.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
            pg_sys::TRIGGER_EVENT_INSERT => Event::Insert,
            pg_sys::TRIGGER_EVENT_DELETE => Event::Delete,
            pg_sys::TRIGGER_EVENT_UPDATE => Event::Update,
            _ => Event::Truncate,
        };
        let rows_known =
            self.for_each_row() || !self.0.tg_oldtable.is_null() || !self.0.tg_newtable.is_null();
        (rows_known || event == Event::Truncate).then_some(event)
    }

    /// The non-null oids in columns `numbers` of the row(s) of a row trigger, old and new.
    pub fn oids(&self, numbers: &[i16]) -> Vec<Oid> {
        let slots = [self.0.tg_trigslot, self.0.tg_newslot];
        let mut oids = Vec::new();
        for slot in slots.into_iter().filter(|slot| !slot.is_null()) {
            for &number in numbers {
                // SAFETY: a row trigger has rows of its relation in its slots.
                let key = unsafe { Columns { key: number, body: number }.read(slot) }.body;
                oids.extend(key.map(|datum| Oid::from(datum.value() as u32)));
            }
        }
        oids
    }

    /// What a BEFORE row trigger returns to let the change happen.
    pub fn row(&self) -> Datum {
        let updated =
            self.0.tg_event & pg_sys::TRIGGER_EVENT_OPMASK == pg_sys::TRIGGER_EVENT_UPDATE;
        Datum::from(if updated { self.0.tg_newtuple } else { self.0.tg_trigtuple })
    }

    fn for_each_row(&self) -> bool {
        self.0.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0
    }

    /// The rows concerned, as documents made of two of their columns.
    pub fn documents(&self, key: &Column, body: &Column) -> Documents<'_> {
        let columns = Columns { key: key.number, body: body.number };
        if self.for_each_row() {
            let updated =
                self.0.tg_event & pg_sys::TRIGGER_EVENT_OPMASK == pg_sys::TRIGGER_EVENT_UPDATE;
            // An INSERT has its row where an UPDATE has its old one.
            let (old, new) = if updated {
                (self.0.tg_trigslot, self.0.tg_newslot)
            } else {
                (self.0.tg_trigslot, self.0.tg_trigslot)
            };
            return Documents { columns, source: Source::Row { old, new }, fired: PhantomData };
        }
        let source = Source::Tables {
            old: Table::of(self, self.0.tg_oldtable),
            new: Table::of(self, self.0.tg_newtable),
        };
        Documents { columns, source, fired: PhantomData }
    }
}

/// One row of the user's table, as far as an index is concerned. Valid until the next row.
pub struct Document {
    /// Never NULL: keys are NOT NULL columns.
    pub key: Datum,
    /// `None` for NULL.
    pub body: Option<Datum>,
}

#[derive(Clone, Copy)]
struct Columns {
    key: i16,
    body: i16,
}

impl Columns {
    /// # Safety
    /// `slot` must hold a row of the relation whose columns these are.
    unsafe fn read(self, slot: *mut pg_sys::TupleTableSlot) -> Document {
        let last = self.key.max(self.body);
        // SAFETY: the slot has at least `last` attributes; after slot_getsomeattrs_int they are
        // deformed into its arrays.
        unsafe {
            if (*slot).tts_nvalid < last {
                pg_sys::slot_getsomeattrs_int(slot, last.into());
            }
            let value = |number: i16| {
                let index = number as usize - 1;
                (!*(*slot).tts_isnull.add(index)).then(|| *(*slot).tts_values.add(index))
            };
            Document { key: value(self.key).unwrap_or(Datum::from(0)), body: value(self.body) }
        }
    }
}

/// The documents of a change, in the order in which they were changed.
pub struct Documents<'a> {
    columns: Columns,
    source: Source,
    /// The slots and tables belong to the trigger in progress.
    fired: PhantomData<&'a Fired<'a>>,
}

enum Source {
    Row { old: *mut pg_sys::TupleTableSlot, new: *mut pg_sys::TupleTableSlot },
    Tables { old: Option<Table>, new: Option<Table> },
}

impl Documents<'_> {
    /// Whether each old row stands beside its new one. PostgreSQL fills both transition tables
    /// row by row; the count is checked all the same.
    pub fn are_paired(&self) -> bool {
        match &self.source {
            Source::Row { .. } => true,
            Source::Tables { old: Some(old), new: Some(new) } => old.len() == new.len(),
            Source::Tables { .. } => false,
        }
    }

    /// Visits the rows as they were.
    pub fn each_old(&self, visit: impl FnMut(Document) -> Result<()>) -> Result<()> {
        match &self.source {
            Source::Row { old, .. } => self.one(*old, visit),
            Source::Tables { old, .. } => self.each(old.as_ref(), visit),
        }
    }

    /// Visits the rows as they are now.
    pub fn each_new(&self, visit: impl FnMut(Document) -> Result<()>) -> Result<()> {
        match &self.source {
            Source::Row { new, .. } => self.one(*new, visit),
            Source::Tables { new, .. } => self.each(new.as_ref(), visit),
        }
    }

    /// Visits old and new rows together; see [`Self::are_paired`].
    pub fn each_pair(&self, mut visit: impl FnMut(Document, Document) -> Result<()>) -> Result<()> {
        match &self.source {
            // SAFETY: an UPDATE row trigger has both rows in its slots.
            Source::Row { old, new } => unsafe {
                visit(self.columns.read(*old), self.columns.read(*new))
            },
            Source::Tables { old: Some(old), new: Some(new) } => {
                let (old, new) = (old.scan(), new.scan());
                while let (Some(old), Some(new)) = (old.next(), new.next()) {
                    // SAFETY: both slots hold a row of the trigger's relation.
                    unsafe { visit(self.columns.read(old), self.columns.read(new))? };
                }
                Ok(())
            }
            Source::Tables { .. } => Ok(()),
        }
    }

    fn one(
        &self,
        slot: *mut pg_sys::TupleTableSlot,
        mut visit: impl FnMut(Document) -> Result<()>,
    ) -> Result<()> {
        // SAFETY: a row trigger has its row in that slot.
        visit(unsafe { self.columns.read(slot) })
    }

    fn each(
        &self,
        table: Option<&Table>,
        mut visit: impl FnMut(Document) -> Result<()>,
    ) -> Result<()> {
        let Some(table) = table else { return Ok(()) };
        let scan = table.scan();
        while let Some(slot) = scan.next() {
            // SAFETY: the slot holds a row of the trigger's relation.
            visit(unsafe { self.columns.read(slot) })?;
        }
        Ok(())
    }
}

/// A transition table, with a read position of our own: other triggers read it too.
struct Table {
    store: *mut pg_sys::Tuplestorestate,
    position: i32,
    descriptor: pg_sys::TupleDesc,
}

impl Table {
    fn of(fired: &Fired, store: *mut pg_sys::Tuplestorestate) -> Option<Self> {
        // SAFETY: a non-null store belongs to the trigger in progress; rewinding is among the
        // abilities with which PostgreSQL creates it.
        (!store.is_null()).then(|| unsafe {
            let position =
                pg_sys::tuplestore_alloc_read_pointer(store, pg_sys::EXEC_FLAG_REWIND as i32);
            // It starts where the store's first position is, which could be anywhere.
            pg_sys::tuplestore_select_read_pointer(store, position);
            pg_sys::tuplestore_rescan(store);
            Self { store, position, descriptor: (*fired.0.tg_relation).rd_att }
        })
    }

    fn len(&self) -> i64 {
        // SAFETY: the store is alive.
        unsafe { pg_sys::tuplestore_tuple_count(self.store) }
    }

    /// A scan from where the last one ended: rows are visited once.
    fn scan(&self) -> Scan<'_> {
        // SAFETY: the slot is of the kind the store reads into.
        unsafe {
            let slot = pg_sys::MakeSingleTupleTableSlot(
                self.descriptor,
                &raw const pg_sys::TTSOpsMinimalTuple,
            );
            Scan { table: self, slot }
        }
    }
}

struct Scan<'a> {
    table: &'a Table,
    slot: *mut pg_sys::TupleTableSlot,
}

impl Scan<'_> {
    /// The next row, valid until the one after it is asked for.
    fn next(&self) -> Option<*mut pg_sys::TupleTableSlot> {
        // SAFETY: store and slot are alive; the read position is ours.
        unsafe {
            pg_sys::tuplestore_select_read_pointer(self.table.store, self.table.position);
            pg_sys::tuplestore_gettupleslot(self.table.store, true, false, self.slot)
                .then_some(self.slot)
        }
    }
}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made in `scan`, dropped once.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
        }
    }
}
