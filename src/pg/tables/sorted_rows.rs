//! Rows that PostgreSQL sorts: in memory as far as it goes, in temporary files beyond.

use std::ffi::c_int;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, internal};
use crate::pg::memory::{in_transaction, with_files};
use crate::pg::parameter::Parameter;
use crate::pg::row::{Continue, Row};
use crate::pg::value_type::Order;
use crate::pg::versions;

/// The type and collation of numbers.
pub const INT8: (Oid, Oid) = (pg_sys::INT8OID, Oid::INVALID);
/// Those of fingerprints.
pub const UUID: (Oid, Oid) = (pg_sys::UUIDOID, Oid::INVALID);

/// Rows of some columns, to be read in the order of the first ones, NULLs last.
pub struct SortedRows {
    sort: *mut pg_sys::Tuplesortstate,
    /// The row that is added, and then the one that was read.
    row: Row,
    types: Vec<Oid>,
    is_sorted: bool,
}

impl SortedRows {
    /// No rows yet, of columns of those types and collations, to be ordered by the first `keys` of them in `memory`
    /// bytes.
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
        // SAFETY: a descriptor with as many attributes as there are columns, all of which are set.
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
        // SAFETY: the sort is given as many keys as it is told, and copies them. It is in the transaction's memory,
        // which outlives this.
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

    /// Adds a row, before any is read.
    ///
    /// # Errors
    /// If its values are not of the types of the columns, or rows were read.
    pub fn push(&mut self, values: &[Parameter]) -> Result<()> {
        let is_of = |(value, type_oid): (&Parameter, &Oid)| value.type_oid() == *type_oid;
        let fits = values.len() == self.types.len() && values.iter().zip(&self.types).all(is_of);
        if self.is_sorted || !fits {
            return Err(internal("a row does not belong to those that are sorted"));
        }
        let values = values.iter().map(|value| value.of_type(value.type_oid()));
        let values: Vec<Option<Datum>> = values.collect();
        // SAFETY: a slot of those columns, and values of their types, as was just looked at, which the sort copies.
        // What files it opens belong to the transaction, as it does.
        with_files(|| unsafe {
            self.row.fill(&values);
            pg_sys::tuplesort_puttupleslot(self.sort, self.row.raw());
        });
        Ok(())
    }

    /// Calls `visit` with each row in their order, until it says that it has enough; as often as it is called.
    pub fn each(&mut self, visit: &mut dyn FnMut(&Row) -> Result<Continue>) -> Result<()> {
        // SAFETY: rows are sorted once, and gone through again after that; files as with `push`.
        with_files(|| unsafe {
            match std::mem::replace(&mut self.is_sorted, true) {
                false => pg_sys::tuplesort_performsort(self.sort),
                true => pg_sys::tuplesort_rescan(self.sort),
            }
        });
        let (slot, none) = (self.row.raw(), std::ptr::null_mut());
        // SAFETY: a slot for such rows, which holds each until the next one is read, for which `visit` has returned.
        let next = || unsafe { pg_sys::tuplesort_gettupleslot(self.sort, true, false, slot, none) };
        self.row.each(next, visit)
    }
}

impl Drop for SortedRows {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made in `new`, ended once. A row that lies in its memory is not the slot's to free. On an ERROR
            // the abort cleans up.
            unsafe { pg_sys::tuplesort_end(self.sort) };
        }
    }
}
