//! `amcostestimate`: what a scan costs the planner.
//!
//! A search that the index serves reads a few pages for each band. Any other reads all entries and all
//! rows: it is possible, and costs more than anything else.
//!
//! What a search asks for may not be known before it runs. The planner then calls no function with a value
//! that it made up: of the constructors of documents, known by their OIDs, it reads the arguments. A plain
//! text has the default options, and the threshold of the setting. Of any other document the threshold may
//! be below that of the index: such a search costs a share of what reading everything costs, so that the
//! index with the lowest threshold is the cheapest, and a plan made for the value is cheaper still. Where
//! rows are hidden from the caller, it is not served: an EXPLAIN would count those of them that are similar.

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::document::constructors::Outline;
use crate::document::kind::Kind;
use crate::document::value::TypedValue;
use crate::index::minlsh_index::MinlshIndex;
use crate::options::{IndexOptions, Options, Threshold, same_shingling};
use crate::pg::catalog;
use crate::pg::open::Open;
use crate::pg::planner::{Node, Operation, Path, PathCondition, Query};
use crate::pg::relation::Lock;
use crate::pg::{array, text, versions};

/// Pages read for a band that are not in memory yet, as a share: the upper levels always are.
const PAGES_READ: f64 = 0.1;
/// Comparisons on the way down the tree, for each band.
const COMPARISONS: f64 = 50.0;
/// The cost of a search that the index does not serve.
const PROHIBITIVE: f64 = 1e13;
/// The COST of `~=` in `sql/minlsh.sql`.
const SIMILAR_COST: f64 = 200.0;
/// The probability that an unknown document has a threshold below that of the index, for each unit of that.
const RISK_OF_THRESHOLD: f64 = 0.25;
/// The probability that an unknown document has the default options, where those of the index are others.
const RISK_OF_OPTIONS: f64 = 0.05;
/// The probability that an unknown passage is shorter than those of the index, or has other options.
const RISK_OF_PASSAGE: f64 = 0.01;
/// Entries of a passage that a search looks up, roughly: those of 500 characters.
const PASSAGE_ENTRIES: f64 = 25.0;
/// The number of elements that PostgreSQL, and we, assume for an array whose elements are unknown.
const UNKNOWN_ELEMENTS: f64 = 10.0;

/// `amcostestimate`
#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
pub unsafe extern "C-unwind" fn amcostestimate(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    loops: f64,
    startup: *mut pg_sys::Cost,
    total: *mut pg_sys::Cost,
    selectivity: *mut pg_sys::Selectivity,
    correlation: *mut f64,
    pages: *mut f64,
) {
    // SAFETY: PostgreSQL passes a path of an index that is locked, and places for the results.
    unsafe {
        let of_query = Path::of(Query::of(root), path);
        let (plan, relation) = (plan(of_query), of_query.relation());
        let mut generic = pg_sys::GenericCosts::default();
        pg_sys::genericcostestimate(root, path, loops, &mut generic);
        *selectivity = generic.indexSelectivity;
        *correlation = 0.0;
        if let Some(Plan { bands, searches, risk }) = plan {
            let descent =
                COMPARISONS * pg_sys::cpu_operator_cost + PAGES_READ * pg_sys::random_page_cost;
            *startup = bands * descent + risk * cost_of_everything(relation);
            // Each row found is compared again, which PostgreSQL takes for free.
            let row = pg_sys::cpu_index_tuple_cost + SIMILAR_COST * pg_sys::cpu_operator_cost;
            let rows = (*selectivity * relation.tuples).max(1.0);
            *total = searches * *startup + rows * row;
            *pages = searches * bands;
        } else {
            *startup = PROHIBITIVE;
            *total = PROHIBITIVE;
            *pages = generic.numIndexPages;
            versions::disable(path);
        }
    }
}

/// The cost of reading and comparing all rows of a relation.
fn cost_of_everything(relation: &pg_sys::RelOptInfo) -> f64 {
    // SAFETY: settings of this backend.
    let (of_page, of_row) = unsafe {
        let row = pg_sys::cpu_tuple_cost + SIMILAR_COST * pg_sys::cpu_operator_cost;
        (pg_sys::seq_page_cost, row)
    };
    f64::from(relation.pages) * of_page + relation.tuples * of_row
}

/// A scan that the index serves, as far as is known.
struct Plan {
    /// The bands that each search looks up.
    bands: f64,
    /// The number of searches: one for each element of an array.
    searches: f64,
    /// The probability that it has to read everything.
    risk: f64,
}

/// True if an index serves a search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Serves {
    Yes,
    No,
    /// Not known before it runs.
    Perhaps,
}

impl Serves {
    fn of(served: bool) -> Self {
        if served { Self::Yes } else { Self::No }
    }

    /// True if it serves both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Perhaps,
        }
    }
}

/// The plan of a scan; `None` if the index does not serve it, as far as can be known before it runs.
fn plan(path: Path) -> Option<Plan> {
    let open = Open::relation(path.index(), Lock::Held)?;
    let index = MinlshIndex::of(&open).ok()?;
    let (layout, kind, options) = (index.layout(), index.kind(), index.options().ok()?);
    if !options.is_current() {
        return None;
    }
    let mut columns = vec![false; layout.columns()];
    let (mut searches, mut risk) = (1.0, 0.0);
    for PathCondition { column, expression, hides_rows } in path.conditions() {
        *columns.get_mut(column)? = true;
        let search = Search { query: path.query(), kind, options: &options, certain: hides_rows };
        let (of_clause, served) = search.condition(expression, column == layout.document());
        searches *= of_clause;
        match served {
            Serves::Yes => {}
            Serves::Perhaps if !hides_rows => risk = search.risk(),
            Serves::No | Serves::Perhaps => return None,
        }
    }
    let bands = match options.min_match {
        Some(_) => PASSAGE_ENTRIES,
        None => options.banding.bands() as f64,
    };
    columns.iter().all(|asked| *asked).then_some(Plan { bands, searches, risk })
}

/// A search that an index is asked for: each value is the right side of a condition by an operator of its families.
struct Search<'a> {
    query: Query<'a>,
    kind: Kind,
    options: &'a IndexOptions,
    /// True if only what cannot change before the scan counts as known.
    certain: bool,
}

impl<'a> Search<'a> {
    /// The value that an expression will have, as far as it is known.
    fn estimated(&self, expression: Node<'a>) -> Node<'a> {
        // What is constant is one already; a stable function may have another value at the scan.
        if self.certain { expression } else { self.query.estimated(expression) }
    }

    /// The probability that a search has to read everything for a document of which nothing is known.
    fn risk(&self) -> f64 {
        if self.kind == Kind::Passage {
            return RISK_OF_PASSAGE;
        }
        let default = Options::default().config();
        let is_default = default.is_ok_and(|config| same_shingling(&config, &self.options.config));
        let of_options = if is_default || self.kind != Kind::Text { 0.0 } else { RISK_OF_OPTIONS };
        RISK_OF_THRESHOLD * self.options.threshold.get() + of_options
    }

    /// The number of searches that a condition makes, and whether the index serves them.
    fn condition(&self, condition: Node<'a>, of_document: bool) -> (f64, Serves) {
        match condition.operation() {
            Some(Operation { right, is_array: true }) => self.each(right, of_document),
            Some(Operation { right, .. }) if of_document => (1.0, self.value(right)),
            _ => (1.0, Serves::Yes),
        }
    }

    /// The number of elements of an array, the right side of an ANY, and whether the index serves a search for each of
    /// them.
    fn each(&self, array: Node<'a>, of_document: bool) -> (f64, Serves) {
        let array = self.estimated(array);
        let element = catalog::base_element_type(array.type_oid());
        let served: Vec<Serves> = if let Some(constant) = array.constant() {
            if constant.constisnull {
                return (1.0, Serves::Yes);
            }
            // SAFETY: a constant that is not NULL has a value of its type, an array; what is made of it lives until the
            // query is planned. An operator of the index takes its elements.
            unsafe {
                let values = array::each_element(constant.constvalue).flatten();
                let served =
                    |value| self.kind.serves(TypedValue::new(value, element), self.options);
                values.map(|value| Serves::of(!of_document || served(value))).collect()
            }
        } else if let Some(values) = array.elements() {
            let served = |value| if of_document { self.value(value) } else { Serves::Yes };
            values.map(served).collect()
        } else {
            let served = if of_document { self.unknown(element) } else { Serves::Yes };
            return (UNKNOWN_ELEMENTS, served);
        };
        (f64::max(served.len() as f64, 1.0), served.into_iter().fold(Serves::Yes, Serves::and))
    }

    /// True if the index serves a search for the value of `expression`.
    fn value(&self, expression: Node<'a>) -> Serves {
        let value = self.estimated(expression);
        // What a relabelled value counts as: a citext that is cast to text is a text.
        let (type_oid, value) = (value.type_oid(), value.unlabelled());
        if let Some(constant) = value.constant() {
            // SAFETY: a constant that is not NULL has a value of its type, which is stored as that of the label.
            let sought = || unsafe { TypedValue::new(constant.constvalue, type_oid) };
            let served = constant.constisnull || self.kind.serves(sought(), self.options);
            return Serves::of(served);
        }
        match Outline::of_call(value) {
            Some(outline) => self.made(outline),
            None => self.unknown(type_oid),
        }
    }

    /// True if the index serves a search for a document of which that is known.
    fn made(&self, outline: Outline) -> Serves {
        let enough = outline.threshold.is_none_or(|threshold| threshold >= self.options.threshold);
        if !enough && self.kind != Kind::Document {
            return Serves::No;
        }
        // The threshold of a row of documents counts too, and none is below that of the index.
        let known = outline.threshold.is_some() || self.kind == Kind::Document;
        let served =
            outline.with_least(Threshold::clamped(1.0)).map_or(Serves::Perhaps, |document| {
                Serves::of(self.kind.serves_document(&document, self.options))
            });
        served.and(if known { Serves::Yes } else { Serves::Perhaps })
    }

    /// True if the index serves a search for a value of that type, of which nothing is known.
    fn unknown(&self, type_oid: Oid) -> Serves {
        let (base, element) = (catalog::base_type(type_oid), catalog::base_element_type(type_oid));
        let empty = if matches!(base, pg_sys::TEXTOID | pg_sys::VARCHAROID) {
            text::write("")
        } else if element != pg_sys::InvalidOid {
            // SAFETY: an array of any type of elements can be empty.
            Datum::from(unsafe { pg_sys::construct_empty_array(element) })
        } else if self.kind == Kind::Document {
            // Of two documents the greater threshold counts, and their options are the same.
            return Serves::Yes;
        } else {
            return Serves::Perhaps;
        };
        // SAFETY: a value of that type, as just made.
        Serves::of(self.kind.serves(unsafe { TypedValue::new(empty, type_oid) }, self.options))
    }
}
