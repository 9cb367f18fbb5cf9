//! The places of key, document and scopes in the rows of a source.

use pgrx::pg_sys::{self, Datum};

use crate::pg::row::Row;

/// The columns of the rows that are read.
#[derive(Clone)]
pub struct RowColumns {
    /// The number of the column of keys.
    pub key: i16,
    /// The number of the column of documents.
    pub document: i16,
    /// The numbers of the columns of scopes, and of that of the origin behind them.
    pub scopes: Vec<i16>,
    /// True if they are columns of a table, whose rows have places, and values as they are stored; else those of a
    /// SELECT, behind which may come the place of the row.
    pub are_stored: bool,
}

impl RowColumns {
    /// The columns of a SELECT of key, document and so many scopes and origins.
    pub fn selected(scopes: i16) -> Self {
        Self { key: 1, document: 2, scopes: (3..scopes + 3).collect(), are_stored: false }
    }

    /// The key of a row.
    pub fn key(&self, row: &Row) -> Option<Datum> {
        row.value(self.key)
    }

    /// The document of a row.
    pub fn document(&self, row: &Row) -> Option<Datum> {
        row.value(self.document)
    }

    /// The value of a scope of a row, or behind all of them that of its origin.
    pub fn scope(&self, row: &Row, number: usize) -> Option<Datum> {
        row.value(self.scopes.get(number).copied().unwrap_or(0))
    }

    /// The place of a row in its table.
    ///
    /// # Safety
    /// A SELECT of those columns gives the places of its rows, of type tid.
    pub unsafe fn place(&self, row: &Row) -> Option<pg_sys::ItemPointerData> {
        if self.are_stored {
            return Some(row.place());
        }
        let place = row.value(self.scopes.len() as i16 + 3)?;
        // SAFETY: the caller's promise.
        Some(unsafe { *place.cast_mut_ptr::<pg_sys::ItemPointerData>() })
    }
}
