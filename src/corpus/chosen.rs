//! The rows of a source that a job reads: all, those that share a bucket of an index, or those of some keys.

use pgrx::pg_sys::{Datum, Oid};
use sketch::memory;

use crate::corpus::buckets::{Buckets, PARAMETERS};
use crate::corpus::row_columns::RowColumns;
use crate::error::Result;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::memory::Memory;
use crate::pg::row::Row;
use crate::pg::select::Select;
use crate::pg::spi::Parameter;
use crate::pg::sql::Sql;
use crate::row_key::Key;

/// Keys that a statement is given at a time.
const AT_A_TIME: usize = 1 << 12;

/// The rows that are read.
#[derive(Clone, Copy, Default)]
pub enum Chosen<'a> {
    /// All.
    #[default]
    All,
    /// Those that an index knows to be worth it.
    Buckets(&'a Buckets),
    /// Those of some keys, each of which comes once.
    Keys(&'a Key, &'a DocumentKeys),
}

impl Chosen<'_> {
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
    pub fn each_in(
        &self,
        columns: &RowColumns,
        select: &Select,
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Buckets(buckets) if columns.are_stored => buckets.each_stored(select, visit),
            _ => self.each(select, visit),
        }
    }

    /// Calls `visit` with each of the rows as the statement gives them.
    pub fn each(&self, select: &Select, visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        match self {
            Self::All => select.each(&[], visit),
            Self::Buckets(buckets) => buckets.each(&mut |places| select.each(places, visit)),
            Self::Keys(key, keys) => {
                let all = memory::collect((0..keys.len() as u32).map(|at| keys.datum(at)));
                for some in all?.chunks(AT_A_TIME) {
                    let context = Memory::scratch(c"minlsh keys of a statement");
                    let array = context.run(|| array(key, some))?;
                    select.each(&[array], visit)?;
                }
                Ok(())
            }
        }
    }
}

fn array(key: &Key, keys: &[Datum]) -> Result<Parameter> {
    let keys = memory::copied(keys)?;
    // SAFETY: callers choose among keys that the rows of the source gave, whose key `key` is.
    Ok(unsafe { key.array(keys) })
}
