//! Rows put aside until it is known which of them are needed again: the rows themselves, or of a plain
//! table their places, under a snapshot that holds them.

use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use sketch::memory;

use crate::corpus::form::{Form, Plain};
use crate::error::{Result, engine, error};
use crate::index::layout::{tid_to_u64, u64_to_tid};
use crate::pg::open::Open;
use crate::pg::row::Row;
use crate::pg::snapshot::Snapshot;
use crate::pg::tuple_store::TupleStore;

/// Rows put aside, in the order in which they came.
pub enum Aside {
    /// Key and document as the source gave them.
    Rows(TupleStore),
    /// Places in a table.
    Places(Places),
}

/// Rows of a table, to be fetched by their places.
pub struct Places {
    table: Open,
    /// The columns of its keys and documents.
    columns: Plain,
    places: Vec<u64>,
}

impl Places {
    /// No rows yet.
    pub fn new(table: Open, columns: Plain) -> Self {
        Self { table, columns, places: Vec::new() }
    }
}

impl Aside {
    /// Adds a row, which is read in that form.
    pub fn push(&mut self, row: &Row, form: &Form) -> Result<()> {
        match self {
            Self::Rows(rows) => {
                rows.push(row);
                Ok(())
            }
            Self::Places(aside) => {
                // SAFETY: rows that are put aside by their places have them.
                let place = unsafe { form.place(row) }.ok_or_else(gone)?;
                memory::push(&mut aside.places, tid_to_u64(place)).map_err(engine)
            }
        }
    }

    /// Calls `visit` with key and document of each row that is wanted, by its place in their order.
    /// The values are valid until the next one comes.
    pub fn each(
        &mut self,
        wanted: &mut dyn FnMut(u32) -> bool,
        visit: &mut dyn FnMut(Option<Datum>, Option<Datum>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Rows(rows) => {
                let mut place = 0;
                rows.each(&mut |row| {
                    place += 1;
                    if wanted(place - 1) { visit(row.value(1), row.value(2)) } else { Ok(()) }
                })
            }
            Self::Places(aside) => {
                let snapshot = Snapshot::statement();
                let row = Row::empty(&aside.table);
                for (place, &tid) in (0..).zip(&aside.places) {
                    if !wanted(place) {
                        continue;
                    }
                    if !aside.table.fetch(&snapshot, u64_to_tid(tid), &row) {
                        return Err(gone());
                    }
                    visit(row.value(aside.columns.key), row.value(aside.columns.document))?;
                }
                Ok(())
            }
        }
    }
}

fn gone() -> pg_sys::panic::ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
        "a row of the source was removed while the statement read it",
    )
    .set_hint("Retry the statement.")
}
