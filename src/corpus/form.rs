//! Forms of the rows of a source: the places of key, document and scopes in them.

use pgrx::pg_sys::{self, Datum};

use crate::pg::row::Row;

/// Columns of a table whose rows have places, and values as they are stored.
#[derive(Clone)]
pub struct Plain {
    /// The number of the column of keys.
    pub key: i16,
    /// The number of the column of documents.
    pub document: i16,
    /// The numbers of the columns of scopes, and of that of the origin behind them.
    pub scopes: Vec<i16>,
}

/// The form of the rows that are read.
pub enum Form {
    /// Rows of a SELECT of key, document and so many scopes and origins, behind which may come the place of the row.
    Selected(i16),
    /// Rows of a table.
    Stored(Plain),
}

impl Form {
    /// The key of a row.
    pub fn key(&self, row: &Row) -> Option<Datum> {
        row.value(match self {
            Self::Selected(_) => 1,
            Self::Stored(columns) => columns.key,
        })
    }

    /// The document of a row.
    pub fn document(&self, row: &Row) -> Option<Datum> {
        row.value(match self {
            Self::Selected(_) => 2,
            Self::Stored(columns) => columns.document,
        })
    }

    /// The value of a scope of a row, or behind all of them that of its origin.
    pub fn scope(&self, row: &Row, number: usize) -> Option<Datum> {
        row.value(match self {
            Self::Selected(_) => number as i16 + 3,
            Self::Stored(columns) => columns.scopes.get(number).copied().unwrap_or(0),
        })
    }

    /// The place of a row in its table.
    ///
    /// # Safety
    /// A SELECT of that form gives the places of its rows, of type tid.
    pub unsafe fn place(&self, row: &Row) -> Option<pg_sys::ItemPointerData> {
        match self {
            Self::Selected(scopes) => {
                let place = row.value(scopes + 3)?;
                // SAFETY: the caller's promise.
                Some(unsafe { *place.cast_mut_ptr::<pg_sys::ItemPointerData>() })
            }
            Self::Stored(_) => Some(row.place()),
        }
    }
}
