//! The whole-corpus jobs, and what they begin with: sources read, and groups formed of their documents.

pub mod apart;
mod clusters;
pub mod linkage;
mod pairs;
mod window;

use std::ffi::CStr;
use std::sync::Arc;

use crate::corpus::groups::{Batches, RowsAgain, VisitDocument};
use crate::corpus::jobs::apart::{Apart, ApartKeys};
use crate::corpus::reading::Documents;
use crate::corpus::reading::boilerplate::Collecting;
use crate::corpus::reading::keys::{KeyCheck, Members};
use crate::corpus::reading::progress::Progress;
use crate::corpus::reading::scopes::Scopes;
use crate::corpus::source::Source;
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::columns::common;
use crate::corpus::source::criteria::criteria;
use crate::corpus::source::reader::Criteria;
use crate::corpus::source::row_spool::{Again, RowSpools};
use crate::corpus::source::rows::RowFilter;
use crate::memory::JobShares;
use crate::pg::document_keys::DocumentKeys;
use crate::prelude::*;
use crate::row_key::Key;

/// The documents that share buckets.
pub struct Work {
    pub members: Members,
    pub batches: Batches,
    /// The number of documents that were read to find them.
    pub read: u32,
}

pub struct Question<'a> {
    session: &'a Session,
    sources: Vec<Source>,
    criteria: Criteria,
    apart: Option<ApartKeys>,
}

impl<'a> Question<'a> {
    /// Reads the arguments, of which those of some names are sources; `has_order` says that rows come in an order of
    /// their own.
    pub fn new(
        session: &'a Session,
        arguments: &Arguments,
        names: &[&'static str],
        has_order: bool,
    ) -> Result<Self> {
        let read = |name: &&'static str| Source::read(session, arguments, name, has_order);
        let sources = names.iter().map(read).collect::<Result<Vec<_>>>()?;
        let criteria = criteria(session, arguments, &sources)?;
        if let [source] = &sources[..] {
            source.notice(arguments, &criteria)?;
        }
        Ok(Self { session, sources, criteria, apart: None })
    }

    /// The same, but documents of these pairs of keys count as not similar.
    pub fn with_apart(self, apart: ApartKeys) -> Self {
        Self { apart: Some(apart), ..self }
    }

    /// True if no other document may stand for that of a key, even if it is the same.
    ///
    /// # Safety
    /// `key` is a non-null value of the type of the keys.
    pub unsafe fn stands_alone(&self, key: Datum) -> bool {
        // SAFETY: the caller promises a value of the type of the keys, which those that are apart are of as well.
        self.apart.as_ref().is_some_and(|apart| unsafe { apart.names(key) })
    }

    /// The source, the first of two.
    pub fn source(&self) -> &Source {
        &self.sources[0]
    }

    pub fn criteria(&self) -> &Criteria {
        &self.criteria
    }

    /// The work of all documents, in the order of `keep` if that is given.
    pub fn of_all(&self, keep: Option<&CStr>) -> Result<Work> {
        let buckets = match &self.sources[..] {
            [source] => source.buckets_for(&self.criteria, keep),
            _ => None,
        };
        let criteria = self.criteria.clone();
        let criteria = buckets.map_or(criteria.clone(), |buckets| buckets.fit(criteria));
        self.work(criteria, keep, buckets.map_or(RowFilter::All, RowFilter::Buckets))
    }

    /// The work of those of some keys, which the source has once at most.
    pub fn of_keys(&self, key: &Key, keys: &DocumentKeys) -> Result<Work> {
        self.work(self.criteria.clone(), None, RowFilter::Keys(key, keys))
    }

    /// Calls `visit` with the rows of some keys: key, document and scopes of each.
    pub fn each(
        &self,
        key: &Key,
        keys: &DocumentKeys,
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let rows = self.source().rows(self.session, None, RowFilter::Keys(key, keys))?;
        rows.each(&mut |row| visit(row.row))
    }

    fn work(&self, criteria: Criteria, keep: Option<&CStr>, filter: RowFilter) -> Result<Work> {
        let sources = &self.sources[..];
        let scopes = Scopes::new(&common("scope", sources, |source| Some(source.scope_types()))?)?;
        let is_collected = sources.iter().any(|source| source.origin.is_some());
        let memory = JobShares::of_corpus(is_collected);
        let collecting = is_collected.then(|| {
            let column = common("boilerplate", sources, Source::origin_type)?;
            Collecting::new(&criteria, &column)
        });
        let table = sources.iter().find_map(|source| source.relation);
        let documents = Documents::new(&criteria, scopes, &memory, Progress::start(table))?;
        let mut documents = documents.collecting(collecting.transpose()?);
        let keys: Vec<_> = sources.iter().map(Source::key_column).collect();
        let members = Members::new(&keys)?;
        let mut spools = RowSpools::default();
        let mut second = u32::MAX;
        for source in sources {
            if !spools.0.is_empty() {
                second = documents.len();
            }
            let rows = source.rows(self.session, keep, filter)?;
            let mut spool = source.spool(&rows, memory.rows / sources.len());
            let without = documents.read(&rows, &KeyCheck::of(source), &mut spool)?;
            spools.0.push((spool, without));
        }
        let read = documents.len();
        documents.sign_collected(&memory, &mut spools)?;
        let mut rows = NamedRows { spools, members };
        let mut batches = Batches::gather(documents, &mut rows, second, criteria, &memory)?;
        if let Some(apart) = &self.apart {
            batches.apart = Arc::new(apart.pairs(&rows.members)?);
        }
        Ok(Work { members: rows.members, batches, read })
    }
}

impl Work {
    /// Reads the sources of those names, in the order of `keep` if that is given.
    pub fn of(arguments: &Arguments, names: &[&'static str], keep: Option<&CStr>) -> Result<Self> {
        let session = Session::open();
        let apart = Apart::given(&session, arguments)?;
        let question = Question::new(&session, arguments, names, keep.is_some())?;
        let mut work = question.of_all(keep)?;
        if let Some(apart) = apart {
            work.batches.apart = Arc::new(apart.pairs(&work.members)?);
        }
        Ok(work)
    }
}

/// Rows that were put aside, and the names of those that are read again.
struct NamedRows {
    spools: RowSpools,
    members: Members,
}

impl RowsAgain for NamedRows {
    fn each(
        &mut self,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut VisitDocument,
    ) -> Result<()> {
        let Self { spools, members } = self;
        spools.each(wanted, &mut |source, row| {
            let name = members.len();
            // SAFETY: the key column of the rows that this source gave, of whose types the members were made.
            unsafe { members.push(source, row.key)? };
            visit(name, row)
        })
    }

    fn again(&self) -> Option<Again> {
        self.spools.again()
    }
}
