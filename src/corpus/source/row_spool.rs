//! Rows of a source, put aside until it is known which are needed again: the rows themselves, or of a plain table their
//! places, under a snapshot that holds them, and as many keys as memory holds.

use std::cell::RefCell;
use std::iter::Peekable;

use crate::index::layout::{tid_to_u64, u64_to_tid};
use crate::pg::guc::cache_pages;
use crate::pg::row::TupleStore;
use crate::pg::table::RowsAt;
use crate::pg::type_storage::Datums;
use crate::prelude::*;

#[derive(Clone)]
pub struct RowColumns {
    pub key: i16,
    pub document: i16,
    /// The numbers of the columns of scopes, and of that of the origin behind them.
    pub scopes: Vec<i16>,
    pub place: RowPlace,
}

/// The way to know the place of a row in its table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RowPlace {
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

pub struct SourceRow<'a> {
    pub row: &'a Row,
    pub columns: &'a RowColumns,
}

impl SourceRow<'_> {
    pub fn key(&self) -> Option<Datum> {
        self.row.value(self.columns.key)
    }

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

/// The rows of a source, put aside in the order in which they came.
pub enum RowSpool {
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
    columns: RowColumns,
}

/// The sources of a job, if their rows can be fetched as often as they are needed.
pub struct Again(Vec<PlainTable>);

/// Fetches rows of a table, one after the other.
pub struct Fetcher<'a> {
    columns: &'a RowColumns,
    rows: RefCell<RowsAt<'a>>,
}

pub struct SpooledRow<'a, 'f> {
    /// Its number among those that may be asked for.
    pub number: u32,
    /// The place at which [`Again`] finds it, if that does.
    pub place: u64,
    /// Its key, valid until another row is read.
    pub key: Datum,
    document: Spooled<'a, 'f>,
}

/// The document of a row that is read again.
enum Spooled<'a, 'f> {
    Read(Option<Datum>),
    /// It is fetched if it is asked for.
    At(&'a Fetcher<'f>, u64),
}

impl SpooledRow<'_, '_> {
    /// A row whose document was read with it.
    pub fn read(number: u32, key: Datum, document: Option<Datum>) -> Self {
        Self { number, place: 0, key, document: Spooled::Read(document) }
    }

    /// Its document, valid until another row is read.
    pub fn document(&self) -> Result<Datum> {
        match self.document {
            Spooled::Read(document) => document.ok_or_else(gone),
            Spooled::At(fetcher, place) => fetcher.document(place),
        }
    }
}

/// Bits of the place of a row in its table. Above them is the number of its source.
const PLACE_BITS: u32 = 48;
const PLACE: u64 = (1 << PLACE_BITS) - 1;

impl Places {
    /// No rows yet. Their keys, of that type, may take `memory` bytes.
    pub fn new(table: Open, columns: RowColumns, key_type: Oid, memory: usize) -> Self {
        let keys = Some(Datums::new(key_type));
        Self { from: PlainTable { table, columns }, places: Vec::new(), keys, memory }
    }

    fn push(&mut self, row: &SourceRow) -> Result<()> {
        let place = row.place().ok_or_else(gone)?;
        memory::push(&mut self.places, tid_to_u64(place))?;
        let Some(keys) = &mut self.keys else { return Ok(()) };
        // SAFETY: the key column of the rows of this source, of whose type `new` has made the keys.
        unsafe { keys.push(row.key().ok_or_else(gone)?)? };
        if keys.bytes() > self.memory {
            self.keys = None;
        }
        Ok(())
    }
}

impl PlainTable {
    fn fetcher<'a>(&'a self, snapshot: &'a Snapshot) -> Result<Fetcher<'a>> {
        let rows = RowsAt::of(&self.table, snapshot).ok_or_else(gone)?;
        Ok(Fetcher { columns: &self.columns, rows: RefCell::new(rows) })
    }
}

impl Fetcher<'_> {
    /// The value of a column of the row at a place, valid until another row is fetched.
    fn value(&self, place: u64, column: i16) -> Result<Datum> {
        let (mut rows, tid) = (self.rows.borrow_mut(), u64_to_tid(place));
        let is_it = |row: &Row| tid_to_u64(row.place()) == place;
        if !is_it(rows.last()) && !rows.at(tid).is_some_and(is_it) {
            rows.version(tid).ok_or_else(gone)?;
        }
        rows.last().value(column).ok_or_else(gone)
    }

    fn key(&self, place: u64) -> Result<Datum> {
        self.value(place, self.columns.key)
    }

    fn document(&self, place: u64) -> Result<Datum> {
        self.value(place, self.columns.document)
    }
}

impl Again {
    /// Calls `visit` with the documents at places among all sources, in order. Each is valid until the next one comes.
    pub fn each(
        &self,
        places: impl Iterator<Item = u64>,
        visit: &mut dyn FnMut(Datum) -> Result<()>,
    ) -> Result<()> {
        let (mut places, snapshot) = (places.peekable(), Snapshot::statement());
        for (source, from) in (0..).zip(&self.0) {
            let fetcher = from.fetcher(&snapshot)?;
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

impl RowSpool {
    pub fn push(&mut self, row: &SourceRow) -> Result<()> {
        match self {
            Self::Rows(rows) => {
                rows.push(row.row);
                Ok(())
            }
            Self::Places(places) => places.push(row),
        }
    }

    /// Calls `visit` with the key of each row.
    pub fn each_key(&mut self, visit: &mut dyn FnMut(Datum) -> Result<()>) -> Result<()> {
        self.each(0, &mut |row| Some(row), &mut |row| visit(row.key))
    }

    /// Calls `visit` with each row to which `numbered` gives a number, by its place in their order. They are those of
    /// source `source`.
    fn each(
        &mut self,
        source: usize,
        numbered: &mut dyn FnMut(u32) -> Option<u32>,
        visit: &mut dyn FnMut(&SpooledRow) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Rows(rows) => {
                let mut all = 0..;
                rows.each(&mut |row| match all.next().and_then(&mut *numbered) {
                    Some(number) => visit(&SpooledRow::read(
                        number,
                        row.value(1).ok_or_else(gone)?,
                        row.value(2),
                    )),
                    None => Ok(()),
                })
            }
            Self::Places(spool) => {
                let snapshot = Snapshot::statement();
                let fetcher = spool.from.fetcher(&snapshot)?;
                for (at, &place) in (0..).zip(&spool.places) {
                    let Some(number) = numbered(at) else { continue };
                    let kept = spool.keys.as_ref().map(|keys| keys.get(at));
                    let key = kept.map_or_else(|| fetcher.key(place), Ok)?;
                    let document = Spooled::At(&fetcher, place);
                    let place = (source as u64) << PLACE_BITS | place;
                    visit(&SpooledRow { number, place, key, document })?;
                }
                Ok(())
            }
        }
    }
}

/// The rows of all sources of a job: of each those that were put aside, and the places among them of those that are not
/// documents.
#[derive(Default)]
pub struct RowSpools(pub Vec<(RowSpool, Vec<u32>)>);

impl RowSpools {
    /// Calls `visit` with each document of some numbers, which ascend, and with the number of its source.
    pub fn each(
        &mut self,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut dyn FnMut(usize, &SpooledRow) -> Result<()>,
    ) -> Result<()> {
        let mut wanted: Peekable<_> = wanted.peekable();
        let mut documents = 0..;
        for (source, (rows, without)) in self.0.iter_mut().enumerate() {
            let mut without = without.iter().peekable();
            let mut numbered = |row: u32| {
                if without.next_if_eq(&&row).is_some() {
                    return None;
                }
                let document = documents.next()?;
                wanted.next_if_eq(&document)
            };
            rows.each(source, &mut numbered, &mut |row| visit(source, row))?;
        }
        Ok(())
    }

    /// Has [`Self::each`] begin with the first row again, where rows are to be gone through several times.
    pub fn rewind(&mut self) {
        for (rows, _) in &mut self.0 {
            if let RowSpool::Rows(rows) = rows {
                rows.rewind();
            }
        }
    }

    /// The sources whose rows were put aside by their places; `None` if a table may not be in the cache: then rows that
    /// are needed in another order are rather written into files.
    pub fn again(&self) -> Option<Again> {
        let (mut all, mut pages) = (Vec::new(), 0);
        for (rows, _) in &self.0 {
            let RowSpool::Places(spool) = rows else { return None };
            let PlainTable { table, columns } = &spool.from;
            pages += table.pages_and_toast();
            let table = Open::relation(table.oid(), Lock::Held)?;
            all.push(PlainTable { table, columns: columns.clone() });
        }
        (pages <= cache_pages()).then_some(Again(all))
    }
}

fn gone() -> SqlError {
    error(
        PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
        "a row of the source was removed while the statement read it",
    )
    .set_hint("Retry the statement.")
}
