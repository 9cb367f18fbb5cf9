//! Rows put aside until it is known which of them are needed again: the rows themselves, or of a plain
//! table their places, under a snapshot that holds them, and their keys as long as memory holds them.

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use sketch::memory;

use crate::corpus::row_columns::RowColumns;
use crate::error::{Result, SqlError, error};
use crate::index::layout::{tid_to_u64, u64_to_tid};
use crate::pg::datums::Datums;
use crate::pg::guc::cache_pages;
use crate::pg::interrupts::check_interrupts;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::row::Row;
use crate::pg::snapshot::Snapshot;
use crate::pg::tuple_store::TupleStore;

/// Rows put aside, in the order in which they came.
pub enum Aside {
    /// Key and document as the source gave them.
    Rows(TupleStore),
    /// Places in a table.
    Places(Box<Places>),
}

/// Rows of a table, to be fetched by their places.
pub struct Places {
    from: PlainTable,
    places: Vec<u64>,
    /// The key of each, unless they take more than `memory` bytes.
    keys: Option<Datums>,
    memory: usize,
}

/// A plain table whose rows are fetched by their places.
struct PlainTable {
    table: Open,
    /// The columns of its keys and documents.
    columns: RowColumns,
}

/// The sources of a job, if their rows can be fetched as often as they are needed.
pub struct Again(Vec<PlainTable>);

/// Fetches rows of a table, one after the other.
struct Fetcher<'a> {
    from: &'a PlainTable,
    snapshot: Snapshot,
    row: Row,
}

/// Bits of the place of a row in its table. Above them is the number of its source.
const PLACE_BITS: u32 = 48;
const PLACE: u64 = (1 << PLACE_BITS) - 1;

/// The place of a row among all sources.
pub fn place_of_source(source: usize, place: u64) -> u64 {
    (source as u64) << PLACE_BITS | place
}

impl Places {
    /// No rows yet. Their keys, of that type, may take `memory` bytes.
    pub fn new(table: Open, columns: RowColumns, key_type: Oid, memory: usize) -> Self {
        let keys = Some(Datums::new(key_type));
        Self { from: PlainTable { table, columns }, places: Vec::new(), keys, memory }
    }

    /// Adds a row, which has those columns.
    fn push(&mut self, row: &Row, columns: &RowColumns) -> Result<()> {
        // SAFETY: rows that are put aside by their places have them.
        let place = unsafe { columns.place(row) }.ok_or_else(gone)?;
        memory::push(&mut self.places, tid_to_u64(place))?;
        let Some(keys) = &mut self.keys else { return Ok(()) };
        // SAFETY: the key column of the rows of this source.
        unsafe { keys.push(columns.key(row).ok_or_else(gone)?)? };
        if keys.bytes() > self.memory {
            self.keys = None;
        }
        Ok(())
    }
}

impl PlainTable {
    fn fetcher(&self) -> Fetcher<'_> {
        Fetcher { from: self, snapshot: Snapshot::statement(), row: Row::empty(&self.table) }
    }
}

impl Fetcher<'_> {
    /// The row at a place, which the statement sees.
    fn row(&self, place: u64) -> Result<&Row> {
        let Self { from, snapshot, row } = self;
        let is_it = tid_to_u64(row.place()) == place;
        if !is_it && !from.table.fetch(snapshot, u64_to_tid(place), row) {
            return Err(gone());
        }
        Ok(row)
    }

    /// Its key, valid until another row is fetched.
    fn key(&self, place: u64) -> Result<Datum> {
        self.row(place)?.value(self.from.columns.key).ok_or_else(gone)
    }

    /// Its document, valid until another row is fetched.
    fn document(&self, place: u64) -> Result<Datum> {
        self.row(place)?.value(self.from.columns.document).ok_or_else(gone)
    }
}

impl Again {
    /// The sources whose rows were put aside, unless a table may not be in the cache: then what is needed in another
    /// order than that of the table is rather written into files in that order.
    pub fn of<'a>(sources: impl Iterator<Item = &'a Aside>) -> Option<Self> {
        let (mut all, mut pages) = (Vec::new(), 0);
        for source in sources {
            let Aside::Places(aside) = source else { return None };
            let from = &aside.from;
            pages += from.table.pages_and_toast();
            let table = Open::relation(from.table.oid(), Lock::Held)?;
            all.push(PlainTable { table, columns: from.columns.clone() });
        }
        (pages <= cache_pages()).then_some(Self(all))
    }

    /// Calls `visit` with the documents at places among all sources, in order. Each is valid until the next one comes.
    pub fn each(
        &self,
        places: impl Iterator<Item = u64>,
        visit: &mut dyn FnMut(Datum) -> Result<()>,
    ) -> Result<()> {
        let mut places = places.peekable();
        for (source, from) in (0..).zip(&self.0) {
            let fetcher = from.fetcher();
            // Documents are in the order of sources.
            let own = || places.next_if(|place| place >> PLACE_BITS == source);
            for place in std::iter::from_fn(own) {
                check_interrupts();
                visit(fetcher.document(place & PLACE)?)?;
            }
        }
        Ok(())
    }
}

/// Gives a document, which is fetched if nobody has fetched it.
pub type GiveDocument<'a> = dyn Fn() -> Result<Datum> + 'a;

/// Is called with the place of a row in its table, if that was put aside, its key and its document.
pub type VisitRow<'a> = dyn FnMut(u64, Datum, &GiveDocument) -> Result<()> + 'a;

impl Aside {
    /// Adds a row, which has those columns.
    pub fn push(&mut self, row: &Row, columns: &RowColumns) -> Result<()> {
        match self {
            Self::Rows(rows) => {
                rows.push(row);
                Ok(())
            }
            Self::Places(aside) => aside.push(row, columns),
        }
    }

    /// Has [`Self::each`] begin with the first row again.
    pub fn rewind(&mut self) {
        if let Self::Rows(rows) = self {
            rows.rewind();
        }
    }

    /// Calls `visit` with each row that is wanted, by its number in their order. The values are valid until the next
    /// one comes.
    pub fn each(
        &mut self,
        wanted: &mut dyn FnMut(u32) -> bool,
        visit: &mut VisitRow,
    ) -> Result<()> {
        match self {
            Self::Rows(rows) => {
                let mut number = 0;
                rows.each(&mut |row| {
                    number += 1;
                    if !wanted(number - 1) {
                        return Ok(());
                    }
                    let (key, document) = (row.value(1), row.value(2));
                    visit(0, key.ok_or_else(gone)?, &|| document.ok_or_else(gone))
                })
            }
            Self::Places(aside) => {
                let fetcher = aside.from.fetcher();
                let mut places = (0..).zip(&aside.places).filter(|(number, _)| wanted(*number));
                places.try_for_each(|(number, &place)| {
                    let kept = aside.keys.as_ref().map(|keys| keys.get(number));
                    let key = kept.map_or_else(|| fetcher.key(place), Ok)?;
                    visit(place, key, &|| fetcher.document(place))
                })
            }
        }
    }
}

fn gone() -> SqlError {
    error(
        PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
        "a row of the source was removed while the statement read it",
    )
    .set_hint("Retry the statement.")
}
