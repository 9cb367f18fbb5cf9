//! The rows of a source that a job reads: all of them, those that share a bucket of an index, or those with given keys.
//! This has the SELECT that reads them, and the store that keeps them until it is known which are needed again. The
//! store has the rows themselves. For a plain table it has their places, under a snapshot that holds them, and as many
//! keys as memory allows.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::iter::Peekable;

use crate::corpus::source::Source;
use crate::corpus::source::buckets::{Buckets, PARAMETERS};
use crate::corpus::source::reader::Criteria;
use crate::document::kind::Kind;
use crate::index::layout::{tid_to_u64, u64_to_tid};
use crate::pg::foreign_code::runs_restricted;
use crate::pg::guc::cache_pages;
use crate::pg::relation::has_row_security;
use crate::pg::row::TupleStore;
use crate::pg::select::{Select, SelectColumn, Stored, one_statement};
use crate::pg::table::RowsAt;
use crate::pg::window::Window;
use crate::prelude::*;
use crate::row_key::Key;

/// Maximum number of keys in the parameters of a statement.
const AT_A_TIME: u32 = 1 << 12;

#[derive(Clone, Copy)]
pub enum RowFilter<'a> {
    All,
    /// A row behind this number of others, if there are as many.
    Behind(u32),
    /// The rows that share a bucket of an index.
    Buckets(&'a Buckets),
    /// The rows with the given keys, which occur once each.
    Keys(&'a Key, &'a DocumentKeys),
}

/// The columns of the rows that are read.
struct RowColumns {
    /// Numbers of the key, document, scope and origin columns.
    numbers: Vec<i16>,
    /// Number of the array of `agree`, if it was passed.
    agreeing: Option<i16>,
    place: RowPlace,
}

/// Positions in [`RowColumns::numbers`]. The scopes follow.
const KEY: usize = 0;
const DOCUMENT: usize = 1;

/// The way in which the place of a row in its table is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowPlace {
    None,
    /// From the row itself: the columns are a table's, with stored values.
    Own,
    /// From the column with this number, of type `tid`.
    Column(i16),
}

pub struct SourceRows<'a> {
    select: Select<'a>,
    filter: RowFilter<'a>,
    columns: RowColumns,
}

impl SourceRows<'_> {
    pub fn each(&self, visit: &mut dyn FnMut(&SourceRow) -> Result<()>) -> Result<()> {
        let Self { select, filter, columns } = self;
        let visit = &mut |row: &Row| visit(&SourceRow { row, columns });
        match filter {
            RowFilter::All | RowFilter::Behind(_) => select.each(&[], visit),
            RowFilter::Buckets(buckets) if columns.place == RowPlace::Own => buckets.each_stored(select, visit),
            RowFilter::Buckets(buckets) => buckets.each(select, visit),
            RowFilter::Keys(key, keys) => {
                let count = keys.len() as u32;
                (0..count).step_by(AT_A_TIME as usize).try_for_each(|first| {
                    let some = (first..count.min(first + AT_A_TIME)).map(|at| keys.key(at));
                    let some = memory::collect(some)?;
                    let context = Memory::scratch(c"minlsh keys of a statement");
                    let array = context.run(|| key.array(&some));
                    select.each(&[array], visit)
                })
            }
        }
    }
}

impl Source {
    /// The rows that `filter` accepts, in the order of `keep` if that is given.
    pub fn rows<'a>(&self, session: &'a Session, keep: Option<&CStr>, filter: RowFilter<'a>) -> Result<SourceRows<'a>> {
        // In another order, fetching rows by their places would read the table at random.
        let is_plain = match filter {
            RowFilter::All => keep.is_none(),
            // The executor does not read these rows, so it applies no policy of the table, and evaluates no expression
            // for them.
            RowFilter::Buckets(_) => self.agreeing.is_none() && !self.relation.is_none_or(has_row_security),
            RowFilter::Behind(_) | RowFilter::Keys(..) => false,
        };
        let plain = self.plain.as_ref().filter(|_| is_plain);
        let next = self.used().count() as i16 + 1;
        let agreeing = self.agreeing.as_ref().map(|_| next);
        let behind = next + i16::from(agreeing.is_some());
        let (numbers, place) = match (filter, plain) {
            (RowFilter::Buckets(_), Some(numbers)) => (numbers.clone(), RowPlace::Own),
            (_, Some(_)) => ((1..next).collect(), RowPlace::Column(behind)),
            (_, None) => ((1..next).collect(), RowPlace::None),
        };
        let columns = RowColumns { numbers, agreeing, place };
        let select = self.select(session, keep, filter, &columns)?;
        Ok(SourceRows { select, filter, columns })
    }

    /// The SELECT of key, document, scopes and origin, and then the place of the row, if that is a column.
    fn select<'a>(
        &self,
        session: &'a Session,
        keep: Option<&CStr>,
        filter: RowFilter,
        columns: &RowColumns,
    ) -> Result<Select<'a>> {
        // With new names, because an ORDER BY list refers to the columns of the source.
        let name = |number: usize| self.new_name(&format!("minlsh_{number}"));
        let key = &self.columns[self.key];
        let (mut selected, mut gives) = (Vec::new(), Vec::new());
        for (number, place) in self.used().enumerate() {
            let SelectColumn { name: own, type_oid, .. } = &self.columns[place];
            let is_text = number == DOCUMENT && self.kind == Kind::Text;
            let cast = if is_text { "::pg_catalog.text AS " } else { " AS " };
            selected.push(Sql::new("d.").name(own).text(cast).name(&name(number + 1)));
            gives.push(if is_text { pg_sys::TEXTOID } else { *type_oid });
        }
        if let Some(agreeing) = &self.agreeing {
            let name = name(selected.len() + 1);
            selected.push(Sql::default().text(&agreeing.sql).text(" AS ").name(&name));
            gives.push(agreeing.type_oid);
        }
        let mut sql = Sql::new("SELECT ").list(&selected, ", ");
        let (from, condition, types) = match filter {
            RowFilter::All | RowFilter::Behind(_) => (&self.from, None, Vec::new()),
            RowFilter::Buckets(buckets) => (&buckets.from, None, PARAMETERS.to_vec()),
            RowFilter::Keys(by, _) => {
                let condition = by.is_among(Sql::new("d.").name(&key.name), 1);
                (&self.from, Some(condition), vec![by.array_type()])
            }
        };
        if matches!(columns.place, RowPlace::Column(_)) {
            // A table that has begun to inherit from it has places of its own.
            sql = sql.text(", d.ctid FROM ONLY ").text(from);
            gives.push(pg_sys::TIDOID);
        } else {
            sql = sql.text(" FROM ").text(from);
        }
        if self.relation.is_some() {
            sql = sql.text(" AS d");
        }
        if let Some(condition) = condition {
            sql = sql.text(" WHERE ").text(condition);
        }
        if let Some(keep) = keep {
            sql = sql.text(" ORDER BY ").text(order(keep)?.to_bytes()).text("\n, d.").name(&key.name);
        }
        if let RowFilter::Behind(rows) = filter {
            sql = sql.text(format!(" OFFSET {rows} LIMIT 1"));
        }
        let select = Select::prepare(session, &sql.build(), &types).map_err(wrong_order)?;
        let select = select.with_stored(self.stored(columns.agreeing));
        match self.relation {
            Some(relation) if !select.reads(relation) => {
                Err(in_use(format!("{} was renamed while it was being read", self.argument))
                    .set_hint("Retry the statement."))
            }
            _ => Ok(select.giving(gives)),
        }
    }

    /// Makes the store for such rows.
    pub fn spool(&self, rows: &SourceRows, memory: usize) -> Result<RowSpool<'static>> {
        let plain = self.plain.as_ref().filter(|_| rows.columns.place != RowPlace::None);
        let table = self.relation.and_then(|table| Open::relation(table, Lock::Held));
        let (Some(numbers), Some(table)) = (plain, table) else {
            return Ok(RowSpool::Rows(TupleStore::new(memory)));
        };
        let (key, document) = (numbers[KEY], numbers[DOCUMENT]);
        let (type_oid, collation) = self.key_column();
        let keys = Some(DocumentKeys::new(type_oid, collation)?);
        let places = Places { table, key, document, places: Vec::new(), keys, memory };
        Ok(RowSpool::Places(Box::new(places)))
    }

    /// The stored code in its statements: casts of the key, and expressions of an index.
    fn stored(&self, but: Option<i16>) -> Option<Stored> {
        let index = self.named.as_ref().filter(|named| named.is_on_table());
        let of = match index {
            Some(named) => format!("index \"{}\"", named.name()),
            None => self.argument.to_owned(),
        };
        let is_safe = self.relation.is_some_and(runs_restricted);
        (!is_safe).then_some(Stored { of, but, has_expressions: index.is_some() })
    }

    /// The index whose buckets show which rows must be read for `criteria`. `None` if all rows must be read: for a
    /// specific order, a check of their keys, the detection of boilerplate, or a comparison of every pair.
    pub fn buckets_for(&self, session: &Session, criteria: &Criteria, keep: Option<&CStr>) -> Result<Option<&Buckets>> {
        let is_possible = self.key_is_unique && keep.is_none() && self.origin.is_none();
        let serving = self.buckets.iter().find(|buckets| is_possible && buckets.serves(criteria));
        Ok(if serving.is_some() && self.has_more_rows(session, criteria.whole)? { serving } else { None })
    }

    /// True if the caller sees more than `rows` rows.
    pub fn has_more_rows(&self, session: &Session, rows: u32) -> Result<bool> {
        let mut has_more = rows == 0;
        if !has_more {
            self.rows(session, None, RowFilter::Behind(rows))?.each(&mut |_| {
                has_more = true;
                Ok(())
            })?;
        }
        Ok(has_more)
    }
}

/// Checks that `keep` is only an ORDER BY list.
fn order(keep: &CStr) -> Result<CString> {
    const BEFORE: &str = "SELECT ORDER BY ";
    let sql = Sql::default().text(BEFORE).text(keep.to_bytes()).build();
    let (statement, node) = one_statement(&sql).map_err(wrong_order)?;
    // SAFETY: a node of the parser. A node that starts with SELECT is a SelectStmt.
    let only_sorts = unsafe {
        let select = &*node.cast::<pg_sys::SelectStmt>();
        select.type_ == pg_sys::NodeTag::T_SelectStmt
            && !select.sortClause.is_null()
            && select.limitCount.is_null()
            && select.limitOffset.is_null()
            && select.lockingClause.is_null()
    };
    if !only_sorts {
        let cause = wrong_syntax("it must be an ORDER BY list and nothing else");
        return Err(wrong_order(cause));
    }
    text::c_string(&statement.to_bytes()[BEFORE.len()..])
}

fn wrong_order(cause: SqlError) -> SqlError {
    cause.about(
        "keep",
        "Pass an ORDER BY list over the columns of the source, such as 'published_at DESC, length(body) DESC', or NULL \
         to keep the lowest key.",
    )
}

pub struct SourceRow<'a> {
    pub row: &'a Row,
    columns: &'a RowColumns,
}

impl<'a> SourceRow<'a> {
    pub fn key(&self) -> Option<TypedValue<'a>> {
        self.row.get(self.columns.numbers[KEY])
    }

    pub fn document(&self) -> Option<TypedValue<'a>> {
        self.row.get(self.columns.numbers[DOCUMENT])
    }

    /// The value of scope `number`, or, after all scopes, of the origin.
    pub fn scope(&self, number: usize) -> Option<TypedValue<'a>> {
        self.row.get(self.columns.numbers.get(DOCUMENT + 1 + number).copied().unwrap_or(0))
    }

    /// The array of `agree`; `None` if it is NULL, or was not passed.
    pub fn agreeing(&self) -> Option<TypedValue<'a>> {
        self.row.get(self.columns.agreeing?)
    }

    /// Its place in its table.
    fn place(&self) -> Option<pg_sys::ItemPointerData> {
        match self.columns.place {
            RowPlace::None => None,
            RowPlace::Own => Some(self.row.place()),
            RowPlace::Column(number) => {
                let place = self.row.value(number)?;
                // SAFETY: `Source::select` reads `ctid` into this column, and `Select` checks that its type is tid.
                Some(unsafe { *place.cast_mut_ptr::<pg_sys::ItemPointerData>() })
            }
        }
    }
}

/// The rows of a source, stored in the order of reading.
pub enum RowSpool<'a> {
    /// Key and document as the source returned them.
    Rows(TupleStore),
    /// Places in a table.
    Places(Box<Places>),
    /// Positions in the partition of a window, which are the keys. The executor has stored its rows.
    Partition(&'a mut Window<'a>, Vec<u32>),
}

/// Rows of a table, to be fetched by their places.
pub struct Places {
    table: Open,
    /// Column numbers of key and document.
    key: i16,
    document: i16,
    places: Vec<u64>,
    /// The key of each row, unless they take more than `memory` bytes.
    keys: Option<DocumentKeys>,
    memory: usize,
}

/// Fetches rows of a table, one at a time.
struct Fetcher<'a> {
    from: &'a Places,
    rows: RefCell<RowsAt<'a>>,
}

pub struct SpooledRow<'a, 'f> {
    /// Its number among the documents.
    pub number: u32,
    pub key: TypedValue<'a>,
    document: Spooled<'a, 'f>,
}

/// The document of a row that is read again.
enum Spooled<'a, 'f> {
    Read(Option<TypedValue<'a>>),
    /// The document is fetched on demand.
    At(&'a Fetcher<'f>, u64),
}

impl<'a> SpooledRow<'a, '_> {
    /// A row that was read together with its document.
    fn read(number: u32, key: TypedValue<'a>, document: Option<TypedValue<'a>>) -> Self {
        Self { number, key, document: Spooled::Read(document) }
    }

    /// Its document, valid until another row is read.
    pub fn document(&self) -> Result<TypedValue<'_>> {
        match self.document {
            Spooled::Read(document) => document.ok_or_else(gone),
            Spooled::At(fetcher, place) => fetcher.document(place),
        }
    }
}

impl Places {
    fn push(&mut self, row: &SourceRow) -> Result<()> {
        let place = row.place().ok_or_else(gone)?;
        memory::push(&mut self.places, tid_to_u64(place))?;
        let Some(keys) = &mut self.keys else { return Ok(()) };
        keys.push(row.key().ok_or_else(gone)?)?;
        if keys.bytes() > self.memory {
            self.keys = None;
        }
        Ok(())
    }

    fn fetcher<'a>(&'a self, snapshot: &'a Snapshot) -> Result<Fetcher<'a>> {
        let rows = RowsAt::of(&self.table, snapshot).ok_or_else(gone)?;
        Ok(Fetcher { from: self, rows: RefCell::new(rows) })
    }
}

impl Fetcher<'_> {
    /// The value of a column of the row at `place`.
    fn value(&self, place: u64, column: i16) -> Result<TypedValue<'_>> {
        let (mut rows, tid) = (self.rows.borrow_mut(), u64_to_tid(place));
        let is_it = |row: &Row| tid_to_u64(row.place()) == place;
        if !is_it(rows.last()) && !rows.at(tid).is_some_and(is_it) {
            rows.version(tid).ok_or_else(gone)?;
        }
        let value = rows.last().get(column).ok_or_else(gone)?;
        // SAFETY: it is valid until another row is fetched. `RowSpool::each` and `RowSpools::fetch` fetch one after the
        // row's visitor has returned, and meanwhile they fetch only this row.
        Ok(unsafe { TypedValue::new(value.datum(), value.type_oid()) })
    }

    fn document(&self, place: u64) -> Result<TypedValue<'_>> {
        self.value(place, self.from.document)
    }
}

impl RowSpool<'_> {
    /// Adds the next row of a source.
    pub fn push(&mut self, row: &SourceRow) -> Result<()> {
        match self {
            Self::Rows(rows) => rows.push(row.row),
            Self::Places(places) => places.push(row)?,
            // The executor has stored them.
            Self::Partition(..) => {}
        }
        Ok(())
    }

    /// Calls `visit` with the key of each row.
    pub fn each_key(&mut self, visit: &mut dyn FnMut(TypedValue) -> Result<()>) -> Result<()> {
        self.each(&mut |row| Some(row), &mut |row| visit(row.key))
    }

    /// Calls `visit` with each row to which `numbered` gives a number, by its position in the store.
    fn each(
        &mut self,
        numbered: &mut dyn FnMut(u32) -> Option<u32>,
        visit: &mut dyn FnMut(&SpooledRow) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Rows(rows) => {
                let mut all = 0..;
                rows.each(&mut |row| match all.next().and_then(&mut *numbered) {
                    Some(number) => visit(&SpooledRow::read(number, row.get(1).ok_or_else(gone)?, row.get(2))),
                    None => Ok(()),
                })
            }
            Self::Places(spool) => {
                let snapshot = Snapshot::statement();
                let fetcher = spool.fetcher(&snapshot)?;
                for (at, &place) in (0..).zip(&spool.places) {
                    let Some(number) = numbered(at) else { continue };
                    let kept = spool.keys.as_ref().map(|keys| keys.key(at));
                    let key = kept.map_or_else(|| fetcher.value(place, spool.key), Ok)?;
                    let document = Spooled::At(&fetcher, place);
                    visit(&SpooledRow { number, key, document })?;
                }
                Ok(())
            }
            Self::Partition(window, places) => {
                let mut context = Memory::scratch(c"minlsh row");
                for (at, &place) in (0..).zip(&*places) {
                    let Some(number) = numbered(at) else { continue };
                    context.run_and_reset(|| {
                        let document = window.argument_at(0, place);
                        visit(&SpooledRow::read(number, TypedValue::int8(place.into()), document))
                    })?;
                }
                Ok(())
            }
        }
    }
}

/// The stored rows of each source of a job, with the positions of rows that are not documents.
#[derive(Default)]
pub struct RowSpools<'a>(pub Vec<(RowSpool<'a>, Vec<u32>)>);

impl RowSpools<'_> {
    /// Calls `visit` with each document of `numbers`, which ascend, and with the number of its source.
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
            rows.each(&mut numbered, &mut |row| visit(source, row))?;
        }
        Ok(())
    }

    /// True if documents can be fetched in any order: their rows were stored by their places, and no table may be too
    /// large for the cache.
    pub fn can_fetch(&self) -> bool {
        let mut pages = 0;
        self.0.iter().all(|(rows, _)| {
            let RowSpool::Places(spool) = rows else { return false };
            pages += spool.table.pages_and_toast();
            pages <= cache_pages()
        })
    }

    /// Calls `visit` with each document of `wanted`, which ascend, if they [can be fetched](Self::can_fetch). It is
    /// valid until the next call.
    pub fn fetch(
        &self,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut dyn FnMut(u32, TypedValue) -> Result<()>,
    ) -> Result<()> {
        let (mut wanted, snapshot, mut first) = (wanted.peekable(), Snapshot::statement(), 0);
        for (rows, without) in &self.0 {
            let RowSpool::Places(spool) = rows else { return Ok(()) };
            let fetcher = spool.fetcher(&snapshot)?;
            let next = first + (spool.places.len() - without.len()) as u32;
            while let Some(number) = wanted.next_if(|number| *number < next) {
                let at = position(without, number - first);
                visit(number, fetcher.document(spool.places[at as usize])?)?;
            }
            first = next;
        }
        Ok(())
    }
}

/// The position of a document in its store, by its number among the documents there. `without` has the positions of
/// rows that are not documents, ascending.
fn position(without: &[u32], number: u32) -> u32 {
    let (mut from, mut to) = (0, without.len());
    while from < to {
        let middle = from.midpoint(to);
        // The number that would follow the row there.
        if without[middle] - middle as u32 <= number { from = middle + 1 } else { to = middle }
    }
    number + from as u32
}

fn gone() -> SqlError {
    retry_later("a row of the source was removed while the statement read it").set_hint("Retry the statement.")
}
