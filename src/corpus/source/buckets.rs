//! The rows of a table that share a bucket of its index with others. A job needs no other rows.
//!
//! The leaf pages of an index have its entries in the order of buckets. They are read once. A bit marks each row that
//! is not alone in a bucket, and each row without bands, which a job reports. Marking a deleted or invisible row does
//! no harm, because rows are signed and joined like rows of any source.

use std::ffi::CString;
use std::rc::Rc;

use sketch::ElementHash;

use crate::corpus::source::reader::Criteria;
use crate::document::kind::Kind;
use crate::index::descent;
use crate::index::info::Info;
use crate::index::keys::NO_BAND;
use crate::index::layout::{tid_to_u64, u64_to_tid};
use crate::options::IndexOptions;
use crate::pg::guc::is_serializable;
use crate::pg::select::Select;
use crate::pg::sql;
use crate::pg::table::RowsAt;
use crate::prelude::*;

const BATCH: usize = 1 << 14;

/// The parameters of a fetching statement: places, and the first and last of them.
pub const PARAMETERS: [Oid; 3] = [pg_sys::TIDARRAYOID, pg_sys::TIDOID, pg_sys::TIDOID];

/// Number of bits in the first word of a page: enough for pages of documents.
const FIRST: usize = u16::BITS as usize;

/// Words of bits for a page of a table. A row takes at least 28 bytes: 24 for its header, and a line pointer.
const WORDS: usize = (pg_sys::BLCKSZ as usize / 28 + 1).div_ceil(FIRST);

/// A bit for each `ctid` on the first pages of a table.
struct Marked {
    /// The first word of each page. Words are short because they are written in hash order: the words for a million
    /// documents fit the second-level cache.
    first: Vec<u16>,
    /// The other words of each page, if a row needs one.
    others: Vec<u16>,
}

/// An index that has all rows of a source, with its documents.
pub struct Buckets {
    info: Info,
    options: Rc<IndexOptions>,
    /// The SQL after FROM for the rows at given places.
    pub from: Sql,
}

impl Buckets {
    /// Uses an index, which is locked like its table; `None` unless its rows are identified by `ctid`.
    pub fn new(info: &Info, options: &Rc<IndexOptions>, from: Sql) -> Option<Self> {
        let table = Open::relation(info.index.table, Lock::Read)?;
        table.has_places().then(|| Self { info: info.clone(), options: options.clone(), from })
    }

    /// True if rows that `criteria` joins share a bucket of this index, on the same documents.
    pub fn serves(&self, criteria: &Criteria) -> bool {
        let options = &self.options;
        // The index always hashes elements by its own function.
        let hash = criteria.config.scheme().element_hash();
        let same_hash = criteria.reader.kind != Kind::Set || hash == ElementHash::default();
        same_hash
            && options.is_current()
            && options.config == criteria.config
            && options.threshold <= criteria.threshold
            && options.recall >= criteria.recall
            // Under SERIALIZABLE PostgreSQL must track reads, but does not track reads of these pages.
            && !is_serializable()
            && is_usable(self.info.index.oid)
    }

    /// `criteria` with the index's first bands alone, as many as the threshold needs. Documents that share one of these
    /// bands share a bucket here.
    pub fn fit(&self, criteria: &Criteria) -> Criteria {
        let banding = self.options.banding.trimmed(criteria.threshold.get(), criteria.recall);
        Criteria { banding, whole: 0, ..criteria.clone() }
    }

    /// Calls `visit` with the visible rows that share a bucket, in the order of the table. `select` fetches them for
    /// [`PARAMETERS`], some at a time.
    pub fn each(&self, select: &Select, visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let snapshot = Snapshot::statement();
        let Some((table, marked)) = self.read(select, &snapshot)? else { return Ok(()) };
        let mut context = Memory::scratch(c"minlsh places");
        let mut show = |places: &mut Vec<pg_sys::ItemPointerData>| {
            table.resolve(&snapshot, places);
            places.sort_unstable_by_key(|place| tid_to_u64(*place));
            let result = context.run_and_reset(|| select.each(&parameters(places), &mut *visit));
            places.clear();
            result
        };
        let mut places = memory::with_capacity(BATCH)?;
        for place in marked.places() {
            places.push(place);
            if places.len() == BATCH {
                show(&mut places)?;
            }
        }
        show(&mut places)
    }

    /// Calls `visit` with these rows as the table stores them, nearly in its order.
    pub fn each_stored(&self, select: &Select, visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let snapshot = Snapshot::statement();
        let Some((table, marked)) = self.read(select, &snapshot)? else { return Ok(()) };
        let Some(mut rows) = RowsAt::of(&table, &snapshot) else { return Ok(()) };
        marked.places().try_for_each(|place| rows.at(place).map_or(Ok(()), &mut *visit))
    }

    /// The table, with the marks of its rows that share a bucket. First runs `select` for no places, so that the
    /// executor checks the caller's rights before the index is read.
    fn read(&self, select: &Select, snapshot: &Snapshot) -> Result<Option<(Open, Marked)>> {
        Memory::scratch(c"minlsh places").run(|| select.each(&parameters(&[]), &mut |_| Ok(())))?;
        let Some(table) = Open::relation(self.info.index.table, Lock::Held) else {
            return Ok(None);
        };
        let marked = self.marked(table.pages(), snapshot)?;
        Ok(Some((table, marked)))
    }

    /// Marks the rows on the first `pages` pages that share a bucket or have no bands. Later pages are newer than the
    /// snapshot.
    fn marked(&self, pages: u32, snapshot: &Snapshot) -> Result<Marked> {
        let mut marked = Marked::new(pages)?;
        let mut mark = |row| marked.mark(row);
        // The first row of a bucket, until a second one follows.
        let (mut bucket, mut first) = (NO_BAND, None);
        descent::each_in_order(self.info.index.oid, snapshot, |key, row| {
            if key == NO_BAND {
                return mark(row);
            }
            if key != bucket {
                (bucket, first) = (key, Some(row));
                return Ok(());
            }
            first.take().map_or(Ok(()), &mut mark)?;
            mark(row)
        })?;
        Ok(marked)
    }
}

impl Marked {
    fn new(pages: u32) -> Result<Self> {
        let first = memory::filled(0, pages as usize)?;
        Ok(Self { first, others: Vec::new() })
    }

    #[inline(always)]
    fn mark(&mut self, row: u64) -> Result<()> {
        let (page, offset) = ((row >> 16) as usize, row as usize & 0xffff);
        match self.first.get_mut(page) {
            Some(word) if offset < FIRST => *word |= 1 << offset,
            Some(_) => self.mark_behind(page, offset)?,
            None => {}
        }
        Ok(())
    }

    /// Marks a row beyond the first word of its page.
    #[cold]
    fn mark_behind(&mut self, page: usize, offset: usize) -> Result<()> {
        if self.others.is_empty() {
            self.others = memory::filled(0, self.first.len() * (WORDS - 1))?;
        }
        let words = &mut self.others[page * (WORDS - 1)..][..WORDS - 1];
        *words.get_mut(offset / FIRST - 1).ok_or_else(damaged)? |= 1 << (offset % FIRST);
        Ok(())
    }

    /// The marked places, in the order of the table.
    fn places(&self) -> impl Iterator<Item = pg_sys::ItemPointerData> {
        self.first.iter().enumerate().flat_map(|(page, first)| {
            let others = self.others.get(page * (WORDS - 1)..).unwrap_or_default();
            let words = std::iter::once(first).chain(others.iter().take(WORDS - 1));
            words.enumerate().flat_map(move |(word, &bits)| {
                let mut left = bits;
                std::iter::from_fn(move || {
                    let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                    left &= left - 1;
                    Some(u64_to_tid((page << 16 | (word * FIRST + bit)) as u64))
                })
            })
        })
    }
}

fn damaged() -> SqlError {
    damaged_index("an entry of the index points to a row that does not exist")
        .set_hint("Use REINDEX to build the index again. minlsh_check() lists what is wrong.")
}

/// The parameters of a statement for rows at `places`, which ascend: an array of all places, the first, and the last.
/// Each is NULL if `places` is empty.
fn parameters(places: &[pg_sys::ItemPointerData]) -> [Parameter<'_>; 3] {
    let all = || Parameter::array(places.iter().map(|place| Some(TypedValue::tid(place))), pg_sys::TIDOID);
    let array = if places.is_empty() { Parameter::null(pg_sys::TIDARRAYOID) } else { all() };
    let [first, last] = [places.first(), places.last()].map(|place| place.map(TypedValue::tid));
    [array, Parameter::new(pg_sys::TIDOID, first), Parameter::new(pg_sys::TIDOID, last)]
}

/// The rows of a table, with expressions of an index as further columns. In an expression PostgreSQL writes the whole
/// row as the name of the table.
pub fn rows(relation: &Relation, table: Sql, condition: Option<Sql>, added: &[(Vec<u8>, CString)]) -> Sql {
    let alias = sql::relation_name(relation.oid);
    let mut from = Sql::default().text("(SELECT ").name(&alias).text(".*");
    for (expression, name) in added {
        from = from.text(", (").text(expression).text(") AS ").name(name);
    }
    from = from.text(" FROM ").text(table).text(" AS ").name(&alias);
    if let Some(condition) = condition {
        from = from.text(" WHERE ").text(condition);
    }
    from.text(")")
}

/// Like [`rows`], restricted to the places `$1`, which lie between `$2` and `$3`: for many of them a scan of that part
/// of the table is faster.
pub fn from_places(relation: &Relation, table: Sql, predicate: Option<&[u8]>, added: &[(Vec<u8>, CString)]) -> Sql {
    let alias = sql::relation_name(relation.oid);
    let place = || Sql::default().name(&alias).text(".ctid OPERATOR(pg_catalog.");
    let mut condition = place().text("=) ANY ($1) AND ").text(place()).text(">=) $2 AND ");
    condition = condition.text(place()).text("<=) $3");
    if let Some(predicate) = predicate {
        condition = condition.text(" AND (").text(predicate).text(")");
    }
    rows(relation, Sql::default().text("ONLY ").text(table), Some(condition), added)
}

/// True if an index has all rows that the statement sees, by the planner's rule. It may lack versions of rows that were
/// updated before it was built.
pub fn is_usable(index: Oid) -> bool {
    let Some(index) = Open::relation(index, Lock::Held) else { return false };
    // SAFETY: an open index has its row of `pg_index`, with a header.
    unsafe {
        let form = &*(*index.raw()).rd_index;
        let header = &*(*(*index.raw()).rd_indextuple).t_data;
        let frozen = pg_sys::HEAP_XMIN_FROZEN as u16;
        let writer = header.t_choice.t_heap.t_xmin;
        form.indisvalid
            && (!form.indcheckxmin
                || header.t_infomask & frozen == frozen
                || pg_sys::TransactionIdPrecedes(writer, pg_sys::TransactionXmin))
    }
}
