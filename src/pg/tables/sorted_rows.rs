//! Rows sorted by PostgreSQL, which spill to temporary files beyond a limit of memory.

use std::ffi::c_int;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, internal};
use crate::pg::memory::{in_transaction, unless_raised, with_files};
use crate::pg::row::{Continue, Row};
use crate::pg::typed_value::Parameter;
use crate::pg::value_type::Order;
use crate::pg::versions;

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

    /// Calls `visit` with each row in order, until it returns that it has enough. May be called repeatedly.
    pub fn each(&mut self, visit: &mut dyn FnMut(&Row) -> Result<Continue>) -> Result<()> {
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
