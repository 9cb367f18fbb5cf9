//! The rows of a source that a job reads: all, those that share a bucket of an index, or those of some keys; and their
//! columns.

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::memory;

use crate::corpus::source::buckets::{Buckets, PARAMETERS};
use crate::error::Result;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::memory::Memory;
use crate::pg::row::Row;
use crate::pg::select::Select;
use crate::pg::sql::Sql;
use crate::row_key::{Key, KeyValue};

/// Keys that a statement is given at a time.
const AT_A_TIME: usize = 1 << 12;

/// The rows that are read.
#[derive(Clone, Copy, Default)]
pub enum RowFilter<'a> {
    #[default]
    All,
    /// Those that an index knows to be worth it.
    Buckets(&'a Buckets),
    /// Those of some keys, each of which comes once.
    Keys(&'a Key, &'a DocumentKeys),
}

impl RowFilter<'_> {
    /// The types of the statement's parameters.
    pub fn parameters(&self) -> Vec<Oid> {
        match self {
            Self::All => Vec::new(),
            Self::Buckets(_) => PARAMETERS.to_vec(),
            Self::Keys(key, _) => vec![key.array_type()],
        }
    }

    /// The condition of a statement on its column of keys; `None` if it has none.
    pub fn condition(&self, column: Sql) -> Option<Sql> {
        match self {
            Self::Keys(key, _) => Some(key.is_among(column, 1)),
            _ => None,
        }
    }

    /// The index.
    pub fn buckets(&self) -> Option<&Buckets> {
        match self {
            Self::Buckets(buckets) => Some(buckets),
            _ => None,
        }
    }

    /// Calls `visit` with each of the rows, which have those columns.
    pub fn each(
        &self,
        columns: &RowColumns,
        select: &Select,
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::All => select.each(&[], visit),
            Self::Buckets(buckets) if columns.place == RowPlace::Own => {
                buckets.each_stored(select, visit)
            }
            Self::Buckets(buckets) => buckets.each(&mut |places| select.each(places, visit)),
            Self::Keys(key, keys) => {
                let all = memory::collect((0..keys.len() as u32).map(|at| keys.datum(at)));
                for some in all?.chunks(AT_A_TIME) {
                    // SAFETY: `DocumentKeys` gives values of the type that it was made for, which whoever chooses by
                    // keys has made for those of `key`.
                    let typed = |value: &Datum| unsafe { KeyValue::new(*value, key.base_type) };
                    let some = memory::collect(some.iter().map(typed))?;
                    let context = Memory::scratch(c"minlsh keys of a statement");
                    let array = context.run(|| key.array(&some));
                    select.each(&[array], visit)?;
                }
                Ok(())
            }
        }
    }
}

/// The columns of the rows that are read.
#[derive(Clone)]
pub struct RowColumns {
    /// The number of the column of keys.
    pub key: i16,
    /// The number of the column of documents.
    pub document: i16,
    /// The numbers of the columns of scopes, and of that of the origin behind them.
    pub scopes: Vec<i16>,
    /// The place of a row in its table.
    pub place: RowPlace,
}

/// The way to know the place of a row in its table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RowPlace {
    /// There is none.
    None,
    /// Its own: the columns are those of a table, with values as they are stored.
    Own,
    /// A column of that number, of type `tid`.
    Column(i16),
}

impl RowColumns {
    /// The columns of a SELECT of key, document, so many scopes and origins, and perhaps the place of the row.
    pub fn selected(scopes: i16, has_place: bool) -> Self {
        let place = if has_place { RowPlace::Column(scopes + 3) } else { RowPlace::None };
        Self { key: 1, document: 2, scopes: (3..scopes + 3).collect(), place }
    }
}

/// A row of a source.
pub struct SourceRow<'a> {
    pub row: &'a Row,
    pub columns: &'a RowColumns,
}

impl SourceRow<'_> {
    /// Its key.
    pub fn key(&self) -> Option<Datum> {
        self.row.value(self.columns.key)
    }

    /// Its document.
    pub fn document(&self) -> Option<Datum> {
        self.row.value(self.columns.document)
    }

    /// The value of a scope, or behind all of them that of its origin.
    pub fn scope(&self, number: usize) -> Option<Datum> {
        self.row.value(self.columns.scopes.get(number).copied().unwrap_or(0))
    }

    /// Its place in its table.
    pub fn place(&self) -> Option<pg_sys::ItemPointerData> {
        match self.columns.place {
            RowPlace::None => None,
            RowPlace::Own => Some(self.row.place()),
            RowPlace::Column(number) => {
                let place = self.row.value(number)?;
                // SAFETY: `Source::select` has this column give `ctid`, and `Select` checks that it is of type tid.
                Some(unsafe { *place.cast_mut_ptr::<pg_sys::ItemPointerData>() })
            }
        }
    }
}
