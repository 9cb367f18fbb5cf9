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

use pgrx::pg_sys::{self, Datum, NodeTag, Oid};
use pgrx::prelude::*;

use crate::document::constructors::Outline;
use crate::document::kind::Kind;
use crate::index::keys::Keys;
use crate::index::stored_options;
use crate::options::{IndexOptions, Options, Threshold, same_shingling};
use crate::pg::catalog;
use crate::pg::{array, list, text, versions};

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
        let plan = plan(root, path);
        let mut generic = pg_sys::GenericCosts::default();
        pg_sys::genericcostestimate(root, path, loops, &mut generic);
        *selectivity = generic.indexSelectivity;
        *correlation = 0.0;
        if let Some(Plan { bands, searches, risk }) = plan {
            let descent =
                COMPARISONS * pg_sys::cpu_operator_cost + PAGES_READ * pg_sys::random_page_cost;
            let of_all =
                if risk > 0.0 { risk * cost_of_everything((*path).path.parent) } else { 0.0 };
            *startup = bands * descent + of_all;
            // Each row found is compared again, which PostgreSQL takes for free.
            let row = pg_sys::cpu_index_tuple_cost + SIMILAR_COST * pg_sys::cpu_operator_cost;
            let rows = (*selectivity * (*(*path).path.parent).tuples).max(1.0);
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
///
/// # Safety
/// `relation` is one of the planner.
unsafe fn cost_of_everything(relation: *const pg_sys::RelOptInfo) -> f64 {
    // SAFETY: the caller's promise; the rest are settings.
    unsafe {
        let row = pg_sys::cpu_tuple_cost + SIMILAR_COST * pg_sys::cpu_operator_cost;
        f64::from((*relation).pages) * pg_sys::seq_page_cost + (*relation).tuples * row
    }
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
///
/// # Safety
/// As for `amcostestimate`.
unsafe fn plan(root: *mut pg_sys::PlannerInfo, path: *mut pg_sys::IndexPath) -> Option<Plan> {
    // SAFETY: the caller's promise; the index is open until the end of this function.
    unsafe {
        let index = pg_sys::index_open((*(*path).indexinfo).indexoid, pg_sys::NoLock as i32);
        let known = Keys::of(index).and_then(|keys| {
            stored_options::built_of(index)
                .map(|options| (keys.layout().clone(), keys.kind(), options))
        });
        pg_sys::index_close(index, pg_sys::NoLock as i32);
        let (layout, kind, options) = known.ok()?;
        if !options.is_current() {
            return None;
        }
        let mut columns = vec![false; layout.columns()];
        let (mut searches, mut risk) = (1.0, 0.0);
        for clause in list::pointers::<pg_sys::IndexClause>((*path).indexclauses) {
            let column = (*clause).indexcol as usize;
            *columns.get_mut(column)? = true;
            // The index column is on the left, the clause having been commuted where it was not.
            let mut quals = list::pointers::<pg_sys::RestrictInfo>((*clause).indexquals);
            let qual = quals.next()?;
            let certain = hides_rows(root, (*path).path.parent, qual);
            let search = Search { root, kind, options: &options, certain };
            let (of_clause, served) =
                search.clause((*qual).clause.cast(), column == layout.document());
            searches *= of_clause;
            match served {
                Serves::Yes => {}
                Serves::Perhaps if !certain => risk = search.risk(),
                Serves::No | Serves::Perhaps => return None,
            }
        }
        let bands = match options.min_match {
            Some(_) => PASSAGE_ENTRIES,
            None => options.banding.bands() as f64,
        };
        columns.iter().all(|asked| *asked).then_some(Plan { bands, searches, risk })
    }
}

/// True if conditions that the caller cannot see past keep rows of a relation from it: a policy, or a view
/// that is a security barrier.
///
/// # Safety
/// `relation` and `qual` are of the plan of `root`.
unsafe fn hides_rows(
    root: *const pg_sys::PlannerInfo,
    relation: *const pg_sys::RelOptInfo,
    qual: *const pg_sys::RestrictInfo,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        (*relation).baserestrict_min_security < (*qual).security_level || is_behind_barrier(root)
    }
}

/// True if a query is within a view that is a security barrier.
///
/// # Safety
/// `root` is the planner's state of that query.
pub unsafe fn is_behind_barrier(root: *const pg_sys::PlannerInfo) -> bool {
    // SAFETY: the caller's promise; a query within another one has its planner's state as parent.
    unsafe {
        let mut above = (*root).parent_root;
        while !above.is_null() {
            let mut entries = list::pointers::<pg_sys::RangeTblEntry>((*(*above).parse).rtable);
            if entries.any(|entry| (*entry).security_barrier) {
                return true;
            }
            above = (*above).parent_root;
        }
        false
    }
}

/// A search that an index is asked for.
struct Search<'a> {
    root: *mut pg_sys::PlannerInfo,
    kind: Kind,
    options: &'a IndexOptions,
    /// True if only what cannot change before the scan counts as known.
    certain: bool,
}

impl Search<'_> {
    /// The value that an expression will have, as far as it is known.
    ///
    /// # Safety
    /// As for [`Search::clause`].
    unsafe fn estimated(&self, expression: *mut pg_sys::Node) -> *mut pg_sys::Node {
        if self.certain {
            // What is constant is one already; a stable function may have another value at the scan.
            return expression;
        }
        // SAFETY: the caller's promise.
        unsafe { pg_sys::estimate_expression_value(self.root, expression) }
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
    ///
    /// # Safety
    /// `clause` is a condition of an index path of the plan of `root`.
    unsafe fn clause(&self, clause: *mut pg_sys::Node, of_document: bool) -> (f64, Serves) {
        // SAFETY: the caller's promise; nodes are what their tags say, and both kinds of operator have two
        // arguments.
        unsafe {
            let arguments = match (*clause).type_ {
                NodeTag::T_OpExpr => (*clause.cast::<pg_sys::OpExpr>()).args,
                NodeTag::T_ScalarArrayOpExpr => (*clause.cast::<pg_sys::ScalarArrayOpExpr>()).args,
                _ => return (1.0, Serves::Yes),
            };
            let Some(value) = list::pointers::<pg_sys::Node>(arguments).nth(1) else {
                return (1.0, Serves::Yes);
            };
            let is_array = (*clause).type_ == NodeTag::T_ScalarArrayOpExpr;
            match (is_array, of_document) {
                (true, _) => self.each(value, of_document),
                (false, true) => (1.0, self.value(value)),
                (false, false) => (1.0, Serves::Yes),
            }
        }
    }

    /// The number of elements of an array, and whether the index serves a search for each of them.
    ///
    /// # Safety
    /// As for [`Search::clause`]; `array` is the right side of an ANY.
    unsafe fn each(&self, array: *mut pg_sys::Node, of_document: bool) -> (f64, Serves) {
        // SAFETY: the caller's promise; nodes are what their tags say.
        unsafe {
            let array = self.estimated(array);
            let element = catalog::base_element_type(pg_sys::exprType(array));
            let (mut count, mut served) = (0.0, Serves::Yes);
            let mut add = |of_element: &dyn Fn() -> Serves| {
                count += 1.0;
                served = if of_document { served.and(of_element()) } else { Serves::Yes };
            };
            match (*array).type_ {
                NodeTag::T_Const if (*array.cast::<pg_sys::Const>()).constisnull => {}
                NodeTag::T_Const => {
                    let constant = (*array.cast::<pg_sys::Const>()).constvalue;
                    for value in array::each_element(constant).flatten() {
                        add(&|| Serves::of(self.kind.serves(value, element, self.options)));
                    }
                }
                NodeTag::T_ArrayExpr if !(*array.cast::<pg_sys::ArrayExpr>()).multidims => {
                    let elements = (*array.cast::<pg_sys::ArrayExpr>()).elements;
                    for value in list::pointers::<pg_sys::Node>(elements) {
                        add(&|| self.value(value));
                    }
                }
                _ => {
                    add(&|| self.unknown(element));
                    count = UNKNOWN_ELEMENTS;
                }
            }
            (f64::max(count, 1.0), served)
        }
    }

    /// True if the index serves a search for the value of `expression`.
    ///
    /// # Safety
    /// As for [`Search::clause`].
    unsafe fn value(&self, expression: *mut pg_sys::Node) -> Serves {
        // SAFETY: the caller's promise; nodes are what their tags say.
        unsafe {
            let mut value = self.estimated(expression);
            // What a relabelled value counts as: a citext that is cast to text is a text.
            let type_oid = pg_sys::exprType(value);
            while (*value).type_ == NodeTag::T_RelabelType {
                value = (*value.cast::<pg_sys::RelabelType>()).arg.cast();
            }
            match (*value).type_ {
                NodeTag::T_Const => {
                    let constant = value.cast::<pg_sys::Const>();
                    let served = (*constant).constisnull
                        || self.kind.serves((*constant).constvalue, type_oid, self.options);
                    Serves::of(served)
                }
                NodeTag::T_FuncExpr => {
                    let call = value.cast::<pg_sys::FuncExpr>();
                    match outline(call) {
                        Some(outline) => self.made(outline),
                        None => self.unknown(type_oid),
                    }
                }
                _ => self.unknown(type_oid),
            }
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
        // SAFETY: an empty value of a type that an operator of the family takes.
        unsafe {
            if matches!(base, pg_sys::TEXTOID | pg_sys::VARCHAROID) {
                Serves::of(self.kind.serves(text::write(""), base, self.options))
            } else if element != pg_sys::InvalidOid {
                let empty = Datum::from(pg_sys::construct_empty_array(element));
                Serves::of(self.kind.serves(empty, type_oid, self.options))
            } else if self.kind == Kind::Document {
                // Of two documents the greater threshold counts, and their options are the same.
                Serves::Yes
            } else {
                Serves::Perhaps
            }
        }
    }
}

/// The outline of a document that a call of a constructor makes; `None` if it calls another function.
///
/// # Safety
/// `call` is a call of a function in a plan.
unsafe fn outline(call: *const pg_sys::FuncExpr) -> Option<Outline> {
    // SAFETY: the caller's promise; a constant has a value of its type.
    unsafe {
        let arguments = list::pointers::<pg_sys::Node>((*call).args);
        let constants = arguments.map(|argument| {
            let constant = argument.cast::<pg_sys::Const>();
            let known = (*argument).type_ == NodeTag::T_Const && !(*constant).constisnull;
            known.then(|| ((*constant).consttype, (*constant).constvalue))
        });
        Outline::of_call((*call).funcid, &constants.collect::<Vec<_>>())
    }
}
