//! The whole-corpus jobs, and their first steps: reading sources, forming groups of documents, and reading the pairs in
//! `apart`, which do not count as similar.

mod boilerplate;
mod clusters;
mod pairs;
mod window;

use std::ffi::CStr;

use sketch::dedup::{ApartPairs, Documents, Groups, Shares};

use crate::corpus::host::{AgreeingSets, AttributeColumns, OriginValues, StoredRows, process, read, report_little};
use crate::corpus::source::arguments::{Arguments, select_given};
use crate::corpus::source::members::{KeyCheck, Members};
use crate::corpus::source::omitted::{Omitted, notice_omitted};
use crate::corpus::source::reader::{Criteria, Own, Reader};
use crate::corpus::source::rows::{RowFilter, RowSpools};
use crate::corpus::source::scopes::Scopes;
use crate::corpus::source::{Source, check_type, common};
use crate::document::kind::Kind;
use crate::indexed::Indexed;
use crate::memory::{of_apart, of_corpus};
use crate::options::IndexOptions;
use crate::pg::job::Progress;
use crate::pg::select::Select;
use crate::prelude::*;
use crate::row_key::{self, Key};

/// The documents that share buckets.
pub struct Work {
    pub rows: StoredRows<'static>,
    pub groups: Groups,
    /// Number of documents that were read to find them.
    pub read: u32,
    /// The rows of each source that take no part.
    omitted: Vec<Omitted>,
}

/// The documents of all sources, and their rows.
struct Reading {
    documents: Documents,
    rows: StoredRows<'static>,
    origins: Option<OriginValues>,
    /// Number of the second source's first document.
    second: u32,
    /// The rows of each source that take no part.
    omitted: Vec<Omitted>,
}

pub struct Question<'a> {
    session: &'a Session,
    sources: Vec<Source>,
    pub criteria: Criteria,
    apart: Option<Apart<'a>>,
}

impl<'a> Question<'a> {
    /// Reads the arguments; `names` are the names of sources. `has_order` is true if rows come in a specific order.
    pub fn new(session: &'a Session, arguments: &Arguments, names: &[&'static str], has_order: bool) -> Result<Self> {
        let apart = Apart::given(session, arguments)?;
        let read = |name: &&'static str| Source::read(session, arguments, name, has_order);
        let sources = names.iter().map(read).collect::<Result<Vec<_>>>()?;
        let criteria = criteria(session, arguments, &sources)?;
        if let [source] = &sources[..] {
            notice_others(source, arguments, &criteria)?;
        }
        Ok(Self { session, sources, criteria, apart })
    }

    /// The source, or the first of two.
    pub fn source(&self) -> &Source {
        &self.sources[0]
    }

    /// The work on all documents, in the order of `keep` if that is given.
    pub fn of_all(&self, keep: Option<&CStr>) -> Result<Work> {
        let buckets = match &self.sources[..] {
            [source] => source.buckets_for(self.session, &self.criteria, keep)?,
            _ => None,
        };
        let fitted = buckets.map(|buckets| buckets.fit(&self.criteria));
        let criteria = fitted.unwrap_or_else(|| self.criteria.clone());
        self.work(criteria, keep, buckets.map_or(RowFilter::All, RowFilter::Buckets))
    }

    /// The work on documents with the given keys, which must be unique in the source.
    pub fn of_keys(&self, key: &Key, keys: &DocumentKeys) -> Result<Work> {
        self.work(self.criteria.clone(), None, RowFilter::Keys(key, keys))
    }

    /// Calls `visit` with the rows of some keys: key, document and scopes.
    pub fn each(&self, key: &Key, keys: &DocumentKeys, visit: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let rows = self.source().rows(self.session, None, RowFilter::Keys(key, keys))?;
        rows.each(&mut |row| visit(row.row))
    }

    fn work(&self, criteria: Criteria, keep: Option<&CStr>, filter: RowFilter) -> Result<Work> {
        let Reading { mut documents, mut rows, second, omitted, .. } =
            self.read(&criteria, keep, filter, of_corpus(self.leaves_out()), false)?;
        let read = documents.len();
        report_little(documents.sign_collected(&mut rows)?);
        let mut groups = Groups::gather(documents, &mut rows, second)?;
        if let Some(apart) = &self.apart {
            groups.set_apart(apart.pairs(&rows.members)?);
        }
        Ok(Work { rows, groups, read, omitted })
    }

    /// True if boilerplate does not count.
    fn leaves_out(&self) -> bool {
        self.sources.iter().any(|source| source.origin.is_some())
    }

    /// Reads all rows, and stores them. Keeps origins as text if `shows_origins`.
    fn read(
        &self,
        criteria: &Criteria,
        keep: Option<&CStr>,
        filter: RowFilter,
        mut shares: Shares,
        shows_origins: bool,
    ) -> Result<Reading> {
        let sources = &self.sources[..];
        let scopes = Scopes::new("scope", &common("scope", sources, Source::scope_types)?)?;
        let origins = self.leaves_out().then(|| {
            let column = common("boilerplate", sources, Source::origin_type)?;
            OriginValues::new(criteria, &column, shows_origins)
        });
        let table = sources.iter().find_map(|source| source.relation);
        let (origins, process) = (origins.transpose()?, process(Progress::start(table)));
        let agreeing = match &common("agree", sources, Source::agreeing_type)?[..] {
            [element] => {
                // The sets share the memory for rows.
                shares.rows /= 2;
                shares.agreeing = Some(shares.rows);
                Some(AgreeingSets::new(*element)?)
            }
            _ => None,
        };
        let mut columns = AttributeColumns { scopes, origins, agreeing, read: 0 };
        let mut documents = Documents::new(criteria.terms(), shares, process)?;
        let mut spools = RowSpools::default();
        let (mut second, mut omitted) = (u32::MAX, Vec::new());
        for source in sources {
            if !spools.0.is_empty() {
                second = documents.len();
            }
            let rows = source.rows(self.session, keep, filter)?;
            let spool = source.spool(&rows, shares.rows / sources.len())?;
            let mut of_source = Omitted::of(source, source.scopes.len());
            let keys = KeyCheck::of(source);
            spools.0.push(read(&mut documents, criteria, &mut columns, (&rows, &keys), spool, &mut of_source)?);
            omitted.push(of_source);
        }
        if columns.read <= criteria.whole {
            documents.compare_each_pair();
        }
        let keys: Vec<_> = sources.iter().map(Source::key_column).collect();
        let rows = StoredRows::new(spools, Members::new(&keys)?, criteria);
        Ok(Reading { documents, rows, origins: columns.origins, second, omitted })
    }
}

/// Decides how the documents of sources are signed, banded and compared. Reads all documents that have their own
/// options.
pub fn criteria(session: &Session, arguments: &Arguments, sources: &[Source]) -> Result<Criteria> {
    let (mut readers, mut owns) = (Vec::new(), Vec::new());
    for source in sources {
        let mut own = None;
        if source.kind == Kind::Document {
            source.rows(session, None, RowFilter::All)?.each(&mut |row| {
                let Some(document) = row.document() else { return Ok(()) };
                Own::add(&mut own, document, source.argument)
            })?;
        }
        readers.push(Reader::new(source.kind, own.as_ref()));
        owns.extend(own);
    }
    if let [first, other] = readers[..]
        && first != other
    {
        return Err(invalid_parameter(format!("a has {first}, but b has {other}"))
            .set_hint("Use documents of the same kind in a and b."));
    }
    let named: Vec<&Indexed> = sources.iter().filter_map(|source| source.named.as_deref()).collect();
    Criteria::new(arguments, readers[0], &named, &owns)
}

/// [`criteria`] for sources that are sampled. Refuses signatures.
pub fn criteria_of_sample(session: &Session, arguments: &Arguments, sources: &[Source]) -> Result<Criteria> {
    let criteria = criteria(session, arguments, sources)?;
    if criteria.reader.kind == Kind::Signature {
        return Err(invalid_parameter("source must return texts, sets or documents, not signatures")
            .set_hint("Pass the name of the text column with body => '...', or write a query."));
    }
    Ok(criteria)
}

/// Reports the indexes of a table with other options in a NOTICE, if no options were passed: the defaults apply.
fn notice_others(source: &Source, arguments: &Arguments, criteria: &Criteria) -> Result<()> {
    let passed = arguments.threshold()?;
    let differs = |options: &IndexOptions| {
        options.config != criteria.config
            || (arguments.recall().is_none() && options.recall != criteria.recall)
            || (passed.is_none() && options.threshold != criteria.threshold)
    };
    let others = source.others.iter().filter(|(_, options)| differs(options));
    let names: Vec<String> = others.map(|(oid, _)| regclass_literal(*oid)).collect();
    if !names.is_empty() && !arguments.has_options() {
        let table = source.relation.map(visible_name).unwrap_or_default();
        notice(format!("{table} is compared with the default options, but some of its indexes have others"))
            .set_hint(format!("Name an index instead of the table to use its options: {}.", names.join(", ")))
            .report();
    }
    Ok(())
}

impl Work {
    /// Reads the sources in `names`, in the order of `keep` if that is given. A NOTICE reports rows that take no part.
    pub fn of(arguments: &Arguments, names: &[&'static str], keep: Option<&CStr>) -> Result<Self> {
        let session = Session::open();
        let work = Question::new(&session, arguments, names, keep.is_some())?.of_all(keep)?;
        notice_omitted(&work.omitted, "");
        Ok(work)
    }
}

/// The HINT about what `apart` accepts.
const APART: &str = "Pass a table, or a query, of two columns of keys, as in apart => 'SELECT a, b FROM decided'.";

struct Apart<'a>(Select<'a>);

impl<'a> Apart<'a> {
    fn given(session: &'a Session, arguments: &Arguments) -> Result<Option<Self>> {
        let Some(datum) = arguments.raw("apart") else { return Ok(None) };
        let select = select_given(session, datum, "apart", APART)?;
        let types: Vec<Oid> = select.columns().iter().map(|column| column.type_oid).collect();
        let count = types.len();
        if count != 2 {
            let message = format!("apart must have two columns of keys, not {count}");
            return Err(invalid_parameter(message).set_hint(APART));
        }
        for type_oid in types.iter().copied() {
            check_type(type_oid, || "a column of apart".to_owned(), APART)?;
        }
        Ok(Some(Self(select.giving(types))))
    }

    /// The pairs with both documents in `members`, at 16 bytes each, and the documents in pairs with only one of them.
    /// An error if they need too much memory.
    fn pairs(&self, members: &Members) -> Result<ApartPairs> {
        let sources = members.each_sorted()?;
        let last = sources.len() - 1;
        let (mut pairs, mut others) = (Vec::new(), Vec::new());
        let mut context = Memory::scratch(c"minlsh keys of apart");
        self.0.each(&[], &mut |row| {
            check_interrupts();
            let (Some(a), Some(b)) = (row.get(1), row.get(2)) else { return Ok(()) };
            let find = |part: usize, key: TypedValue| -> Result<Option<u32>> {
                let (own, sorted) = &sources[part];
                Ok(members.find(part, sorted, row_key::converted(key, *own, row_key::KEY, APART)?))
            };
            // Within one source both directions are the same.
            for (first, second) in [(0, last), (last, 0)].into_iter().take(sources.len()) {
                let (a, b) = context.run_and_reset(|| (find(first, a), find(second, b)));
                match (a?, b?) {
                    (Some(a), Some(b)) => memory::extend(&mut pairs, &[(a, b), (b, a)])?,
                    (a, b) => memory::extend(&mut others, a.or(b).as_slice())?,
                }
                check_room(size_of_val(&*pairs) + size_of_val(&*others))?;
            }
            Ok(())
        })?;
        pairs.sort_unstable();
        pairs.dedup();
        others.sort_unstable();
        Ok(ApartPairs { pairs, others })
    }
}

/// Refuses pairs that take `bytes` bytes, if that is too much.
pub fn check_room(bytes: usize) -> Result<()> {
    if bytes <= of_apart() {
        return Ok(());
    }
    Err(beyond_setting("the pairs that are apart do not fit into maintenance_work_mem")
        .set_detail("They may take a third of it, at 32 bytes for each pair.")
        .set_hint("Raise maintenance_work_mem, or list only pairs that are found without apart."))
}
