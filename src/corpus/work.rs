//! A whole-corpus question at work: its sources read, their groups formed.

use std::ffi::CStr;

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use sketch::corpus::LeftOut;

use crate::corpus::apart::{Apart, ApartKeys, KeepsApart};
use crate::corpus::arguments::{Arguments, Criteria};
use crate::corpus::aside::{Again, Aside, GiveDocument, place_of_source};
use crate::corpus::batches::{Batches, RowsAgain, VisitDocument};
use crate::corpus::boilerplate::{Collecting, VisitPlaced};
use crate::corpus::chosen::Chosen;
use crate::corpus::criteria::criteria;
use crate::corpus::documents::{Documents, Reading};
use crate::corpus::members::Members;
use crate::corpus::progress::Progress;
use crate::corpus::scopes::Scopes;
use crate::corpus::source::Source;
use crate::corpus::unique::Unique;
use crate::error::{Result, error, warning};
use crate::memory::JobShares;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::names::type_label;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::row::Row;
use crate::pg::spi::Session;
use crate::row_key::Key;
use crate::settings::bucket_limit;

/// The rows of a source that are read, and their order.
#[derive(Clone, Copy, Default)]
struct Order<'a> {
    /// An ORDER BY list.
    keep: Option<&'a CStr>,
    /// The rows that are read.
    chosen: Chosen<'a>,
}

/// The documents that share buckets.
pub struct Work {
    /// Their keys.
    pub members: Members,
    /// Their groups.
    pub batches: Batches,
    /// The number of documents that were read to find them.
    pub read: u32,
}

/// A source, and how its documents are compared.
pub struct Question<'a> {
    session: &'a Session,
    source: [Source; 1],
    criteria: Criteria,
    apart: Option<ApartKeys>,
}

impl<'a> Question<'a> {
    /// Reads the arguments; `has_order` says that rows come in an order of their own.
    pub fn new(session: &'a Session, arguments: &Arguments, has_order: bool) -> Result<Self> {
        let source = [Source::read(session, arguments, 0, "source", has_order)?];
        let criteria = criteria(session, arguments, &source)?;
        source[0].notice(arguments, &criteria)?;
        Ok(Self { session, source, criteria, apart: None })
    }

    /// The same, but documents of these pairs of keys, which are of the type of the keys, count as not similar.
    pub fn with_apart(self, apart: ApartKeys) -> Self {
        Self { apart: Some(apart), ..self }
    }

    /// True if no other document may stand for that of a key, even if it is the same.
    ///
    /// # Safety
    /// `key` is a non-null value of the type of the keys.
    pub unsafe fn stands_alone(&self, key: Datum) -> bool {
        // SAFETY: the caller's promise.
        self.apart.as_ref().is_some_and(|apart| unsafe { apart.names(key) })
    }

    /// The source.
    pub fn source(&self) -> &Source {
        &self.source[0]
    }

    /// The criteria by which documents are compared.
    pub fn criteria(&self) -> &Criteria {
        &self.criteria
    }

    /// The work of all documents, in the order of `keep` if that is given.
    pub fn of_all(self, keep: Option<&CStr>) -> Result<Work> {
        let Self { session, source, criteria, apart } = self;
        let buckets = source[0].buckets_for(&criteria, keep);
        let criteria = buckets.map_or(criteria.clone(), |buckets| buckets.fit(criteria));
        let chosen = buckets.map_or(Chosen::All, Chosen::Buckets);
        let work = Work::start(session, &source, criteria, Order { keep, chosen })?;
        work.without(apart.as_ref())
    }

    /// The work of those of some keys, which the source has once at most.
    pub fn of_keys(&self, key: &Key, keys: &DocumentKeys) -> Result<Work> {
        let order = Order { keep: None, chosen: Chosen::Keys(key, keys) };
        let criteria = self.criteria.clone();
        let work = Work::start(self.session, &self.source, criteria, order)?;
        work.without(self.apart.as_ref())
    }

    /// Calls `visit` with the rows of some keys: key, document and scopes of each.
    pub fn each(
        &self,
        key: &Key,
        keys: &DocumentKeys,
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let chosen = Chosen::Keys(key, keys);
        let select = self.source().select(self.session, None, chosen)?;
        chosen.each(&select, visit)
    }
}

impl Work {
    /// Reads one source, in the order of `keep` if that is given.
    pub fn of_one(session: &Session, arguments: &Arguments, keep: Option<&CStr>) -> Result<Self> {
        let apart = Apart::given(session, arguments)?;
        Question::new(session, arguments, keep.is_some())?.of_all(keep)?.without(apart.as_ref())
    }

    /// Reads two sources, to be compared with each other.
    pub fn of_two(session: &Session, arguments: &Arguments) -> Result<Self> {
        let a = Source::read(session, arguments, 0, "a", false)?;
        let b = Source::read(session, arguments, 1, "b", false)?;
        let (sources, apart) = ([a, b], Apart::given(session, arguments)?);
        let criteria = criteria(session, arguments, &sources)?;
        Self::start(session, &sources, criteria, Order::default())?.without(apart.as_ref())
    }

    /// The same, where some pairs count as not similar.
    fn without(mut self, apart: Option<&impl KeepsApart>) -> Result<Self> {
        if let Some(apart) = apart {
            self.batches.keep_apart(apart.pairs(&self.members)?);
        }
        Ok(self)
    }

    fn start(
        session: &Session,
        sources: &[Source],
        criteria: Criteria,
        order: Order,
    ) -> Result<Self> {
        let scopes = Scopes::new(&common("scope", sources, |source| Some(source.scope_types()))?)?;
        let is_collected = sources.iter().any(|source| source.origin.is_some());
        let memory = if is_collected {
            JobShares::of_corpus_without_boilerplate()
        } else {
            JobShares::of_corpus()
        };
        let collecting = is_collected.then(|| {
            let column = common("boilerplate", sources, Source::origin_type)?;
            Collecting::new(&criteria, &column)
        });
        let table = sources.iter().find_map(|source| source.relation);
        let documents = Documents::new(&criteria, scopes, &memory, Progress::start(table))?;
        let mut documents = documents.collecting(collecting.transpose()?);
        let keys: Vec<_> = sources.iter().map(Source::key_column).collect();
        let members = Members::new(&keys)?;
        let mut stores = Vec::new();
        let mut second = u32::MAX;
        for (source, key) in sources.iter().zip(&keys) {
            if !stores.is_empty() {
                second = documents.len();
            }
            let table = source.relation.and_then(|table| Open::relation(table, Lock::Held));
            let mut reading = Reading {
                select: source.select(session, order.keep, order.chosen)?,
                chosen: order.chosen,
                columns: source.columns(order.keep, order.chosen),
                unique: Unique::new(key.0, !source.key_is_unique),
                table: table.as_ref(),
                argument: source.argument,
            };
            let share = memory.rows / sources.len();
            let mut rows = source.aside(order.keep, order.chosen, share);
            let without = documents.read(&mut reading, &mut rows)?;
            stores.push((rows, without));
        }
        let mut rows = Stored { stores, members };
        let read = documents.len();
        let open = table.and_then(|table| Open::relation(table, Lock::Held));
        let again = if is_collected { rows.again() } else { None };
        let mut each = |wanted: &dyn Fn(u32) -> bool, visit: &mut VisitPlaced| {
            rows.each_document(wanted, visit)
        };
        documents.sign_collected(open.as_ref(), &memory, again, &mut each)?;
        let batches = Batches::gather(documents, &mut rows, second, criteria, &memory, table)?;
        Ok(Self { members: rows.members, batches, read })
    }
}

/// The types and collations of columns.
pub type ColumnTypes = Vec<(Oid, Oid)>;

/// The types and collations of the columns that an argument names, the same of all sources.
pub fn common(
    argument: &str,
    sources: &[Source],
    of: fn(&Source) -> Option<ColumnTypes>,
) -> Result<ColumnTypes> {
    let all = || sources.iter().map(|source| of(source).unwrap_or_default());
    let first = all().next().unwrap_or_default();
    let Some(other) = all().find(|other| *other != first) else { return Ok(first) };
    let shown = |scopes: &[(Oid, Oid)]| match scopes {
        [] => "none".to_owned(),
        _ => scopes.iter().map(|(oid, _)| type_label(*oid)).collect::<Vec<_>>().join(", "),
    };
    let (first, other) = (shown(&first), shown(&other));
    let message = format!("{argument} columns have different types, {first} and {other}");
    Err(error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
        .set_hint("Cast them in a query, or compare tables instead of indexes."))
}

/// Is called with the number of a source, all keys, and the place, the key and the document of a row.
type VisitRow<'a> = dyn FnMut(usize, &mut Members, u64, Datum, &GiveDocument) -> Result<()> + 'a;

/// Rows put aside.
struct Stored {
    /// Of each source, and which of them are not documents.
    stores: Vec<(Aside, Vec<u32>)>,
    members: Members,
}

impl Stored {
    /// Calls `visit` with each document that is wanted, in order, before all else: rows that were put aside to be gone
    /// through several times are at their beginning again.
    fn each_document(
        &mut self,
        wanted: &dyn Fn(u32) -> bool,
        visit: &mut VisitPlaced,
    ) -> Result<()> {
        self.each_row(wanted, &mut |part, _, place, _, document| {
            visit(place_of_source(part, place), document)
        })?;
        self.stores.iter_mut().for_each(|(store, _)| store.rewind());
        Ok(())
    }

    /// Calls `visit` with each document that is wanted, in order: the number of its source, the keys of all, and then
    /// its place, its key and what gives it.
    fn each_row(&mut self, wanted: &dyn Fn(u32) -> bool, visit: &mut VisitRow) -> Result<()> {
        let Self { stores, members } = self;
        let mut document = 0;
        for (part, (store, without)) in stores.iter_mut().enumerate() {
            let mut without = without.iter().peekable();
            let mut is_wanted = |place: u32| {
                if without.next_if_eq(&&place).is_some() {
                    return false;
                }
                document += 1;
                wanted(document - 1)
            };
            store.each(&mut is_wanted, &mut |place, key, document| {
                visit(part, members, place, key, document)
            })?;
        }
        Ok(())
    }
}

impl RowsAgain for Stored {
    fn each(&mut self, wanted: &dyn Fn(u32) -> bool, visit: &mut VisitDocument) -> Result<()> {
        self.each_row(wanted, &mut |part, members, place, key, document| {
            let name = members.len();
            // SAFETY: the key column of the rows that this source gave.
            unsafe { members.push(part, key)? };
            visit(name, place_of_source(part, place), document)
        })
    }

    fn again(&self) -> Option<Again> {
        Again::of(self.stores.iter().map(|(aside, _)| aside))
    }
}

/// Reports what a limit has left out, which is never silent.
pub fn report(left_out: LeftOut) {
    if left_out.comparisons > 0 {
        let LeftOut { comparisons, documents } = left_out;
        let limit = bucket_limit();
        warning(format!("up to {comparisons} pairs of similar documents may be missing"))
            .set_detail(format!(
                "In {documents} cases a document was compared with {limit} others without success \
                 (minlsh.bucket_limit), and then with no more, because many documents share parts without being \
                 similar."
            ))
            .set_hint(
                "Raise minlsh.bucket_limit, pass boilerplate => the column that says where a document comes from, or \
                 pass a higher num_perm.",
            )
            .report(PgLogLevel::WARNING);
    }
}
