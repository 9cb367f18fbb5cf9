//! Rows in slots, of an open table or from the executor. Rows that PostgreSQL stores or sorts, which spill to temporary
//! files beyond a limit of memory.

use std::ffi::c_int;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, internal};
use crate::pg::memory::{Memory, in_transaction, unless_raised, with_files};
use crate::pg::names::type_label;
use crate::pg::open::Open;
use crate::pg::reserve::check_interrupts;
use crate::pg::typed_value::{Parameter, TypedValue};
use crate::pg::value_type::Order;
use crate::pg::{text, versions};

/// Answer of a visitor of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Continue {
    Yes,
    No,
}

/// A visitor without an answer wants all rows.
impl From<()> for Continue {
    fn from((): ()) -> Self {
        Self::Yes
    }
}

/// Refuses a column that does not exist or has an unexpected type.
fn check_type(is: Oid, expected: Oid) -> Result<()> {
    match is {
        Oid::INVALID => Err(internal("an internal query lacks a column")),
        _ if is == expected => Ok(()),
        _ => {
            let (is, expected) = (type_label(is), type_label(expected));
            Err(internal(format!("an internal query gives {is} instead of {expected}")))
        }
    }
}

/// A row: a slot, owned or borrowed.
pub struct Row {
    slot: *mut pg_sys::TupleTableSlot,
    owned: bool,
}

impl Row {
    /// An empty row with the columns of a table.
    pub fn empty(table: &Open) -> Self {
        // SAFETY: the table is open; `drop` frees the slot, which lives in the transaction's memory.
        let slot = in_transaction(|| unsafe {
            let slot = pg_sys::table_slot_create(table.raw(), std::ptr::null_mut());
            (*slot).tts_tableOid = table.oid();
            slot
        });
        Self { slot, owned: true }
    }

    /// An empty row with the columns that `make` describes, into which a sort or a store reads.
    ///
    /// # Safety
    /// `make` returns a valid descriptor without another owner.
    unsafe fn of_columns(make: impl FnOnce() -> pg_sys::TupleDesc) -> Self {
        // SAFETY: the caller promises a valid descriptor without another owner. `drop` frees it and the slot, which
        // live in the transaction's memory.
        let slot = in_transaction(|| unsafe {
            pg_sys::MakeSingleTupleTableSlot(make(), &raw const pg_sys::TTSOpsMinimalTuple)
        });
        Self { slot, owned: true }
    }

    /// An empty row with the same columns.
    fn alike(&self) -> Self {
        // SAFETY: a slot has its descriptor, which is copied.
        unsafe { Self::of_columns(|| pg_sys::CreateTupleDescCopy(self.descriptor())) }
    }

    /// A copy. Values that are stored out of line stay there.
    pub fn copied(&self) -> Self {
        let copy = self.alike();
        // SAFETY: both slots have the same columns; the copy lies in the second slot's memory.
        unsafe {
            let store = (*(*copy.slot).tts_ops).copyslot;
            pg_guard_ffi_boundary(|| store.map(|store| store(copy.slot, self.slot)));
        }
        copy
    }

    /// # Safety
    /// `slot` is a slot that outlives the `Row`.
    pub unsafe fn borrowed(slot: *mut pg_sys::TupleTableSlot) -> Self {
        Self { slot, owned: false }
    }

    /// The slot, for the other modules of `pg`.
    pub fn raw(&self) -> *mut pg_sys::TupleTableSlot {
        self.slot
    }

    fn descriptor(&self) -> pg_sys::TupleDesc {
        // SAFETY: a slot has its descriptor.
        unsafe { (*self.slot).tts_tupleDescriptor }
    }

    /// The type of a column; invalid if there is no such column.
    pub fn type_of(&self, column: i16) -> Oid {
        let place = usize::try_from(column - 1).ok();
        place.and_then(|place| self.columns().get(place)).map_or(Oid::INVALID, |column| column.atttypid)
    }

    fn columns(&self) -> &[pg_sys::FormData_pg_attribute] {
        // SAFETY: a slot has a valid descriptor.
        unsafe { versions::attributes(self.descriptor()) }
    }

    fn types(&self) -> impl Iterator<Item = Oid> {
        self.columns().iter().map(|column| column.atttypid)
    }

    /// The value of column `number` (from 1); `None` for NULL, and if there is no such column. It is valid until the
    /// row changes.
    pub fn value(&self, number: i16) -> Option<Datum> {
        // SAFETY: `slot_getsomeattrs_int` fills the first `number` entries of the slot's arrays.
        unsafe {
            let slot = self.slot;
            if number < 1 || i32::from(number) > (*(*slot).tts_tupleDescriptor).natts {
                return None;
            }
            if (*slot).tts_nvalid < number {
                pg_sys::slot_getsomeattrs_int(slot, number.into());
            }
            let index = number as usize - 1;
            (!*(*slot).tts_isnull.add(index)).then(|| *(*slot).tts_values.add(index))
        }
    }

    /// The value of column `number` with the column's type; `None` for NULL, and if there is no such column.
    pub fn get(&self, number: i16) -> Option<TypedValue<'_>> {
        // SAFETY: the value is of its column's type. It is valid until the row changes, which needs a call of `next` in
        // `each`, or of `fill`, whose caller promises that nothing borrows the row.
        self.value(number).map(|value| unsafe { TypedValue::new(value, self.type_of(number)) })
    }

    /// The value of a column, which must have type `expected`; `None` for NULL.
    pub fn typed(&self, number: i16, expected: Oid) -> Result<Option<TypedValue<'_>>> {
        check_type(self.type_of(number), expected)?;
        Ok(self.get(number))
    }

    /// A copy in `memory` of the value of a column, which must have type `expected`, as a parameter of another query.
    pub fn parameter<'m>(&self, number: i16, expected: Oid, memory: &'m Memory) -> Result<Parameter<'m>> {
        let value = self.typed(number, expected)?;
        Ok(Parameter::new(expected, value.map(|value| value.copied(memory))))
    }

    pub fn bool(&self, number: i16) -> Result<Option<bool>> {
        Ok(self.typed(number, pg_sys::BOOLOID)?.map(|value| value.datum().value() as u8 != 0))
    }

    pub fn text(&self, number: i16) -> Result<Option<&str>> {
        let text = self.typed(number, pg_sys::TEXTOID)?;
        // SAFETY: `typed` has checked that it is a text, which is valid until the row changes.
        text.map(|text| unsafe { text::read(text.datum()) }).transpose()
    }

    pub fn int8(&self, number: i16) -> Result<Option<i64>> {
        Ok(self.typed(number, pg_sys::INT8OID)?.and_then(TypedValue::integer))
    }

    pub fn uuid(&self, number: i16) -> Result<Option<[u8; 16]>> {
        let uuid = self.typed(number, pg_sys::UUIDOID)?;
        // SAFETY: `typed` has checked that it is a uuid, which is passed as a pointer to its 16 bytes.
        Ok(uuid.map(|uuid| unsafe { *uuid.datum().cast_mut_ptr() }))
    }

    /// Calls `visit` with the row after each successful call of `next`, until `visit` returns that it has enough.
    pub(in crate::pg) fn each<A: Into<Continue>>(
        &self,
        mut next: impl FnMut() -> bool,
        mut visit: impl FnMut(&Self) -> Result<A>,
    ) -> Result<()> {
        loop {
            check_interrupts();
            if !next() || visit(self)?.into() == Continue::No {
                return Ok(());
            }
        }
    }

    /// True if it belongs to `table`.
    pub fn is_of(&self, table: &Open) -> bool {
        // SAFETY: every slot has this field. `empty` sets it, and so does PostgreSQL for a row of a table.
        unsafe { (*self.slot).tts_tableOid == table.oid() }
    }

    /// The `ctid` of a row that was fetched from a table.
    pub fn place(&self) -> pg_sys::ItemPointerData {
        // SAFETY: every slot has this field, which is invalid unless the row was fetched from a table.
        unsafe { (*self.slot).tts_tid }
    }

    /// Fills the row with `values`: one for each column, `None` for NULL.
    ///
    /// # Safety
    /// The values have the types of the columns, and live as long as they are in the row. Nothing borrows its values.
    unsafe fn fill(&self, values: &[Option<Datum>]) {
        // SAFETY: the caller promises values of the columns' types. No more are stored than the slot's arrays have
        // entries, one for each column of its descriptor.
        unsafe {
            let slot = self.slot;
            if let Some(clear) = (*(*slot).tts_ops).clear {
                pg_guard_ffi_boundary(|| clear(slot));
            }
            let count = values.len().min((*(*slot).tts_tupleDescriptor).natts as usize);
            for (index, value) in values[..count].iter().enumerate() {
                *(*slot).tts_values.add(index) = value.unwrap_or(Datum::from(0));
                *(*slot).tts_isnull.add(index) = value.is_none();
            }
            pg_sys::ExecStoreVirtualTuple(slot);
        }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if self.owned && !std::thread::panicking() {
            // SAFETY: `empty` or `of_columns` made the slot, which is dropped once. A descriptor without a reference
            // count is the row's own.
            unsafe {
                let descriptor = self.descriptor();
                let is_own = (*descriptor).tdrefcount < 0;
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                if is_own {
                    pg_sys::FreeTupleDesc(descriptor);
                }
            }
        }
    }
}

/// Rows of one type, read in insertion order, which spill to a temporary file beyond a limit of memory. Values that are
/// stored out of line stay there.
pub struct TupleStore {
    store: *mut pg_sys::Tuplestorestate,
    /// The row into which rows are read, once their type is known.
    row: Option<Row>,
}

impl TupleStore {
    /// An empty store with `memory` bytes.
    pub fn new(memory: usize) -> Self {
        let kilobytes = i32::try_from(memory / 1024).unwrap_or(i32::MAX).max(64);
        // SAFETY: the transaction's memory, which holds the store, and the owner of its file outlive this value.
        let store = with_files(|| unsafe { pg_sys::tuplestore_begin_heap(false, false, kilobytes) });
        Self { store, row: None }
    }

    /// Appends a row. All rows have the type of the first one.
    pub fn push(&mut self, row: &Row) {
        let own = self.row.get_or_insert_with(|| row.alike());
        assert!(own.types().eq(row.types()), "a row of the type of the first");
        // SAFETY: the slot holds a row of the store's type, as just asserted; the store copies it.
        unsafe { pg_sys::tuplestore_puttupleslot(self.store, row.raw()) };
    }

    /// Calls `visit` with each row. May be called repeatedly.
    pub fn each(&mut self, visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let Some(row) = &self.row else { return Ok(()) };
        // SAFETY: `new` made the store without flags, and PostgreSQL can rewind such a store.
        unsafe { pg_sys::tuplestore_rescan(self.store) };
        // SAFETY: the store is read forward, into a slot with the columns of its rows.
        let next = || unsafe { pg_sys::tuplestore_gettupleslot(self.store, true, false, row.slot) };
        row.each(next, visit)
    }
}

impl Drop for TupleStore {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Frees the slot first: its row may lie in the store.
            self.row = None;
            // SAFETY: `new` made the store, which is ended once; after an ERROR the abort cleans up.
            unsafe { pg_sys::tuplestore_end(self.store) };
        }
    }
}

/// The type and collation of numbers.
pub const INT8: (Oid, Oid) = (pg_sys::INT8OID, Oid::INVALID);
/// The type and collation of fingerprints.
pub const UUID: (Oid, Oid) = (pg_sys::UUIDOID, Oid::INVALID);

/// Rows that are read in the order of their first columns, NULLs last.
pub struct SortedRows {
    sort: *mut pg_sys::Tuplesortstate,
    /// The row that is appended, and later the row that was read.
    row: Row,
    types: Vec<Oid>,
    is_sorted: bool,
}

impl SortedRows {
    /// An empty sort of rows with columns of these types and collations, ordered by the first `keys` of them, with
    /// `memory` bytes.
    ///
    /// # Errors
    /// If a type has no order.
    pub fn new(columns: &[(Oid, Oid)], keys: usize, memory: usize) -> Result<Self> {
        let types: Vec<Oid> = columns.iter().map(|column| column.0).collect();
        let keys = &columns[..keys];
        let less = |column: &(Oid, Oid)| Ok(Order::of(column.0, column.1)?.less_than);
        let mut less = keys.iter().map(less).collect::<Result<Vec<Oid>>>()?;
        let mut numbers: Vec<i16> = (1..=keys.len() as i16).collect();
        let mut collations: Vec<Oid> = keys.iter().map(|column| column.1).collect();
        let mut nulls_first = vec![false; keys.len()];
        let kilobytes = c_int::try_from(memory / 1024).unwrap_or(c_int::MAX).max(64);
        // SAFETY: the descriptor is made with an attribute for each column, and all of them are set.
        let row = unsafe {
            Row::of_columns(|| {
                let made = pg_sys::CreateTemplateTupleDesc(columns.len() as c_int);
                for (number, &(type_oid, collation)) in (1..).zip(columns) {
                    pg_sys::TupleDescInitEntry(made, number, std::ptr::null(), type_oid, -1, 0);
                    pg_sys::TupleDescInitEntryCollation(made, number, collation);
                }
                versions::finalize(made);
                made
            })
        };
        // SAFETY: each array has an entry for each of the keys, and the sort copies them. It lies in the transaction's
        // memory, which outlives this value.
        let sort = in_transaction(|| unsafe {
            pg_sys::tuplesort_begin_heap(
                row.descriptor(),
                keys.len() as c_int,
                numbers.as_mut_ptr(),
                less.as_mut_ptr(),
                collations.as_mut_ptr(),
                nulls_first.as_mut_ptr(),
                kilobytes,
                std::ptr::null_mut(),
                pg_sys::TUPLESORT_RANDOMACCESS as c_int,
            )
        });
        Ok(Self { sort, row, types, is_sorted: false })
    }

    /// Appends a row. Only valid before the first read.
    ///
    /// # Errors
    /// If its values do not have the types of the columns, or rows were read.
    pub fn push(&mut self, values: &[Parameter]) -> Result<()> {
        let is_of = |(value, type_oid): (&Parameter, &Oid)| value.type_oid() == *type_oid;
        let fits = values.len() == self.types.len() && values.iter().zip(&self.types).all(is_of);
        if self.is_sorted || !fits {
            return Err(internal("a row does not belong to those that are sorted"));
        }
        let values: Vec<Option<Datum>> = values.iter().map(Parameter::datum).collect();
        // SAFETY: the slot has these columns, and the types of the values were just compared; the sort copies the row.
        // Its files belong to the transaction, as the sort does.
        with_files(|| unsafe {
            self.row.fill(&values);
            pg_sys::tuplesort_puttupleslot(self.sort, self.row.raw());
        });
        Ok(())
    }

    /// Calls `visit` with each row in order. May be called repeatedly.
    pub fn each(&mut self, visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        // SAFETY: rows are sorted once, and rescanned after that. Files belong to the transaction.
        with_files(|| unsafe {
            match std::mem::replace(&mut self.is_sorted, true) {
                false => pg_sys::tuplesort_performsort(self.sort),
                true => pg_sys::tuplesort_rescan(self.sort),
            }
        });
        let (slot, none) = (self.row.raw(), std::ptr::null_mut());
        // SAFETY: the slot has the columns of the rows. It holds each row until the next is read, after `visit` has
        // returned.
        let next = || unsafe { pg_sys::tuplesort_gettupleslot(self.sort, true, false, slot, none) };
        self.row.each(next, visit)
    }
}

impl Drop for SortedRows {
    fn drop(&mut self) {
        // SAFETY: `new` made the sort, which is ended once. The slot does not own a row that lies in its memory.
        // After an ERROR the abort cleans up.
        unless_raised(|| unsafe { pg_sys::tuplesort_end(self.sort) });
    }
}
