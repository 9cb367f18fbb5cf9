//! Estimates for the planner: `amcostestimate` for the cost of a scan, and the selectivity of `~=`.
//!
//! A search that the index serves reads a few pages for each band. Any other search reads all entries and rows. It is
//! possible, but must cost more than any other plan.
//!
//! The searched document may be unknown before the scan. The planner then does not call functions with an invented
//! value. It reads the arguments of the document constructors, which it knows by their OIDs. A plain text has the
//! default options and the threshold of the setting. Any other document may have a threshold below the index's. Such a
//! search costs a share of a full scan, so that the index with the lowest threshold is cheapest, and a plan for a known
//! value is cheaper still. If rows are hidden from the caller the index does not serve it, because EXPLAIN would count
//! hidden similar rows.
//!
//! For a constant, an index on the compared expression without a predicate gives the number of rows. Near-duplicates
//! share most buckets, so the mean size of the constant's buckets estimates how many rows a search finds. A bounded
//! number of pages is read for it: the posting list of a template with 100,000 copies fills pages of its own. Any other
//! document is assumed to have a few near-duplicates, in a table of any size.
//!
//! If a policy or a security-barrier view hides rows from the caller, the index is not read: EXPLAIN would count the
//! hidden rows that are similar to any text. Nor is it read if the caller may not read the compared expression: a query
//! is planned before its rights are checked.

use sketch::ScopeHash;

use crate::document::constructors::KnownParts;
use crate::document::kind::Kind;
use crate::document::value::BandSearch;
use crate::index::descent;
use crate::index::minlsh_index::MinlshIndex;
use crate::options::{IndexOptions, Options, Threshold, same_shingling};
use crate::pg::planner::{Node, Path, PathCondition, Query, Variable};
use crate::pg::rights::{current_role, may_select};
use crate::prelude::*;

sql_function!(minlsh_similar_sel, restriction);
sql_function!(minlsh_similar_joinsel, join);

/// Share of the pages read for a band that are not cached: the upper levels always are.
const PAGES_READ: f64 = 0.1;
/// Comparisons in a descent, for each band.
const COMPARISONS: f64 = 50.0;
/// Cost of a search that the index does not serve.
const PROHIBITIVE: f64 = 1e13;
/// The COST of `~=` in `sql/minlsh.sql`.
const SIMILAR_COST: f64 = 200.0;
/// Probability that the threshold of an unknown document is below the index's, for each unit of the latter.
const RISK_OF_THRESHOLD: f64 = 0.25;
/// Probability that an unknown document has the default options, if the index has others.
const RISK_OF_OPTIONS: f64 = 0.05;
/// Probability that an unknown passage is shorter than the index's `min_match`, or has other options.
const RISK_OF_PASSAGE: f64 = 0.01;
/// Typical number of entries that a search for a passage looks up, for 500 characters.
const PASSAGE_ENTRIES: f64 = 25.0;
/// Number of elements that PostgreSQL and minlsh assume for an unknown array.
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
    answer(|| {
        // SAFETY: PostgreSQL passes a path of a locked index, and pointers to the results.
        unsafe {
            let of_query = Path::of(Query::of(root), path);
            let (plan, relation) = (plan(of_query), of_query.relation());
            let mut generic = pg_sys::GenericCosts::default();
            pg_sys::genericcostestimate(root, path, loops, &mut generic);
            *selectivity = generic.indexSelectivity;
            *correlation = 0.0;
            if let Some(Plan { bands, searches, risk }) = plan {
                let descent = COMPARISONS * pg_sys::cpu_operator_cost + PAGES_READ * pg_sys::random_page_cost;
                let comparison = SIMILAR_COST * pg_sys::cpu_operator_cost;
                let everything = f64::from(relation.pages) * pg_sys::seq_page_cost
                    + relation.tuples * (pg_sys::cpu_tuple_cost + comparison);
                *startup = bands * descent + risk * everything;
                // Each row found is rechecked, which PostgreSQL does not charge for.
                let rows = (*selectivity * relation.tuples).max(1.0);
                *total = searches * *startup + rows * (pg_sys::cpu_index_tuple_cost + comparison);
                *pages = searches * bands;
            } else {
                *startup = PROHIBITIVE;
                *total = PROHIBITIVE;
                *pages = generic.numIndexPages;
                versions::disable(path);
            }
        }
        Ok(())
    })
}

/// A scan that the index probably serves.
struct Plan {
    /// Bands that each search looks up.
    bands: f64,
    /// Number of searches: one for each element of an array.
    searches: f64,
    /// Probability of a full scan.
    risk: f64,
}

/// Probability that a search becomes a full scan. 0 if the index serves it, `None` if it does not.
type Risk = Option<f64>;

/// The plan of a scan; `None` if it is already known that the index does not serve it.
fn plan(path: Path) -> Option<Plan> {
    let open = Open::relation(path.index(), Lock::Held)?;
    let index = MinlshIndex::of(&open).ok()?;
    let (layout, kind, options) = (&index.layout, index.kind, index.options().ok()?);
    if !options.is_current() {
        return None;
    }
    let mut columns = vec![false; layout.columns()];
    let (mut searches, mut risk) = (1.0, 0.0);
    for PathCondition { column, expression, hides_rows } in path.conditions() {
        *columns.get_mut(column)? = true;
        let search = PlannedSearch { query: path.query, kind, options: &options, certain: hides_rows };
        let (of_clause, own_risk) = search.condition(expression, column == layout.document);
        searches *= of_clause;
        risk = f64::max(risk, own_risk.filter(|risk| !hides_rows || *risk == 0.0)?);
    }
    let bands = match options.min_match {
        Some(_) => PASSAGE_ENTRIES,
        None => options.banding.bands() as f64,
    };
    layout.scopes().chain([layout.document]).all(|column| columns[column]).then_some(Plan { bands, searches, risk })
}

/// A search by the index: each value is the right operand of a condition, by an operator of the index's families.
struct PlannedSearch<'a> {
    query: Query<'a>,
    kind: Kind,
    options: &'a IndexOptions,
    /// True if only values that cannot change before the scan count as known.
    certain: bool,
}

impl<'a> PlannedSearch<'a> {
    /// Simplifies an expression as far as its value is known.
    fn estimated(&self, expression: Node<'a>) -> Node<'a> {
        // A constant needs no estimate, and a stable function may have another value during the scan.
        if self.certain { expression } else { self.query.estimated(expression) }
    }

    /// Risk of a search for a document that is not known well enough.
    fn risk(&self) -> f64 {
        if self.kind == Kind::Passage {
            return RISK_OF_PASSAGE;
        }
        let default = Options::default().config();
        let is_default = default.is_ok_and(|config| same_shingling(&config, &self.options.config));
        let of_options = if is_default || self.kind != Kind::Text { 0.0 } else { RISK_OF_OPTIONS };
        RISK_OF_THRESHOLD * self.options.threshold.get() + of_options
    }

    /// Number of searches for a condition, and their risk.
    fn condition(&self, condition: Node<'a>, of_document: bool) -> (f64, Risk) {
        match condition.right_side() {
            Some((array, true)) => self.each(array, of_document),
            Some((right, false)) if of_document => (1.0, self.value(right)),
            _ => (1.0, Some(0.0)),
        }
    }

    /// Number of elements of an array on the right of ANY, and the risk of a search for each.
    fn each(&self, array: Node<'a>, of_document: bool) -> (f64, Risk) {
        let array = self.estimated(array);
        let element = catalog::base_element_type(array.type_oid());
        let counted = |values: &mut dyn Iterator<Item = Risk>| {
            let greatest = |(all, one): (f64, f64)| all.max(one);
            values.fold((0_u32, Some(0.0)), |(count, all), risk| (count + 1, all.zip(risk).map(greatest)))
        };
        let (count, risk) = if let Some(constant) = array.constant() {
            if constant.constisnull {
                return (1.0, Some(0.0));
            }
            // SAFETY: a constant that is not NULL has a value of its type, here an array. Copies live until the query
            // is planned. An operator of the index accepts the elements.
            unsafe {
                let values = array::each_element(constant.constvalue).flatten();
                let served = |value| self.kind.serves(TypedValue::new(value, element), self.options);
                counted(&mut values.map(|value| (!of_document || served(value)).then_some(0.0)))
            }
        } else if let Some(values) = array.elements() {
            let risk = |value| if of_document { self.value(value) } else { Some(0.0) };
            counted(&mut values.map(risk))
        } else {
            let risk = if of_document { self.unknown(element) } else { Some(0.0) };
            return (UNKNOWN_ELEMENTS, risk);
        };
        (f64::from(count.max(1)), risk)
    }

    /// Risk of a search for the value of `expression`.
    fn value(&self, expression: Node<'a>) -> Risk {
        let value = self.estimated(expression);
        // A relabelled value counts as its new type: a citext cast to text is a text.
        let (type_oid, value) = (value.type_oid(), value.unlabelled());
        if let Some(constant) = value.constant() {
            // SAFETY: a constant that is not NULL has a value of its type, which is stored like the type of the label.
            let sought = || unsafe { TypedValue::new(constant.constvalue, type_oid) };
            let served = constant.constisnull || self.kind.serves(sought(), self.options);
            return served.then_some(0.0);
        }
        match KnownParts::of_call(value) {
            Some(parts) => self.made(parts),
            None => self.unknown(type_oid),
        }
    }

    /// Risk of a search for a document with these parts.
    fn made(&self, parts: KnownParts) -> Risk {
        let enough = parts.threshold.is_none_or(|threshold| threshold >= self.options.threshold);
        if !enough && self.kind != Kind::Document {
            return None;
        }
        // The threshold of an indexed document counts too, and is never below the index's.
        let known = parts.threshold.is_some() || self.kind == Kind::Document;
        match parts.with_least(Threshold::clamped(1.0)) {
            Some(document) if !self.kind.serves_document(&document, self.options) => None,
            Some(_) if known => Some(0.0),
            _ => Some(self.risk()),
        }
    }

    /// Risk of a search for an unknown value of this type.
    fn unknown(&self, type_oid: Oid) -> Risk {
        let (base, element) = (catalog::base_type(type_oid), catalog::base_element_type(type_oid));
        let empty = if matches!(base, pg_sys::TEXTOID | pg_sys::VARCHAROID) {
            text::write("")
        } else if element != pg_sys::InvalidOid {
            // SAFETY: PostgreSQL makes an empty array for any type of elements.
            Datum::from(unsafe { pg_sys::construct_empty_array(element) })
        } else if self.kind == Kind::Document {
            // The greater threshold of two documents counts, and their options are the same.
            return Some(0.0);
        } else {
            return Some(self.risk());
        };
        // SAFETY: `empty` was just made, of this type.
        let sought = unsafe { TypedValue::new(empty, type_oid) };
        self.kind.serves(sought, self.options).then_some(0.0)
    }
}

/// Maximum number of leaf pages counted for a search: about 600,000 rows.
const MOST_PAGES: usize = 512;
/// Assumed number of rows similar to a value, if no index shows it.
const NEAR_DUPLICATES: f64 = 3.0;
/// Assumed share of similar rows in a table of unknown size.
const UNKNOWN: f64 = 1e-6;
/// Assumed share of documents with a near-duplicate: a third is common in crawled text.
const HAS_ONE: f64 = 0.3;

/// `minlsh_similar_sel(internal, oid, internal, integer) → double precision`
fn restriction(call: &Call) -> Result<Option<Datum>> {
    let (Some(root), Some(operator), Some(arguments), Some(relation)) =
        (call.datum(0), call.oid(1), call.datum(2), call.int4(3))
    else {
        return Ok(None);
    };
    // SAFETY: the planner calls a restriction estimator with these arguments.
    let (query, found) = unsafe {
        let query = Query::of(root.cast_mut_ptr());
        (query, Variable::of_restriction(query, arguments.cast_mut_ptr(), relation))
    };
    let share = found.map_or(UNKNOWN, |(variable, other)| share(&variable, similar(query, operator, &variable, other)));
    Ok(Some(float8_datum(share)))
}

/// `minlsh_similar_joinsel(internal, oid, internal, smallint, internal) → double precision`
fn join(call: &Call) -> Result<Option<Datum>> {
    let (Some(root), Some(arguments), Some(join)) = (call.datum(0), call.datum(2), call.datum(4)) else {
        return Ok(None);
    };
    let join = join.cast_mut_ptr::<pg_sys::SpecialJoinInfo>();
    // SAFETY: the planner calls a join estimator with these arguments.
    let (kind, [left, right]) = unsafe {
        let query = Query::of(root.cast_mut_ptr());
        ((*join).jointype, Variable::of_join(query, arguments.cast_mut_ptr(), join))
    };
    let share = match kind {
        // A semijoin asks which rows of the left side have a match.
        pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI => HAS_ONE,
        // The larger of two tables decides, as long as nothing else is known of them.
        _ => share(if left.rows() >= right.rows() { &left } else { &right }, NEAR_DUPLICATES),
    };
    Ok(Some(float8_datum(share)))
}

/// Estimates the number of rows of a variable's table that are similar by `operator` to `value`, if that is known.
fn similar(query: Query, operator: Oid, variable: &Variable, value: Option<Node>) -> f64 {
    let Some(constant) = value.and_then(Node::constant) else { return NEAR_DUPLICATES };
    // SAFETY: reads a global of this backend.
    let has_snapshot = unsafe { pg_sys::ActiveSnapshotSet() };
    if !has_snapshot || query.has_policies() || query.is_behind_barrier() || !may_read(variable) {
        return NEAR_DUPLICATES;
    }
    if constant.constisnull {
        return 0.0;
    }
    // SAFETY: look-ups in the system caches, which take any value.
    let takes = |family: Oid| unsafe {
        let operators = [operator, pg_sys::get_commutator(operator)];
        operators.iter().any(|operator| pg_sys::op_in_opfamily(*operator, family))
    };
    let indexes = variable.indexes(catalog::access_method());
    let mut indexes = indexes.into_iter().filter(|(_, family)| takes(*family));
    // SAFETY: a constant of the query that is planned, and not NULL, as checked above.
    let sought = unsafe { TypedValue::new(constant.constvalue, constant.consttype) };
    let found = indexes.find_map(|(index, _)| in_index(index, sought).ok()?);
    found.unwrap_or(NEAR_DUPLICATES)
}

/// Estimates the number of rows of a locked index that are similar to a value; `None` if the index cannot show it. The
/// caller holds a snapshot.
fn in_index(index: Oid, sought: TypedValue) -> Result<Option<f64>> {
    let Some(open) = Open::relation(index, Lock::Held) else { return Ok(None) };
    let index = MinlshIndex::of(&open)?;
    let (options, kind) = (index.options()?, index.kind);
    if !options.is_current() || kind == Kind::Passage {
        return Ok(None);
    }
    Ok(match kind.search(sought, &options)? {
        BandSearch::Everything | BandSearch::Passage(_) => None,
        BandSearch::Nothing => Some(0.0),
        BandSearch::Bands(bands) => Some(mean(&index, &index.keys_of(&bands, ScopeHash::default())?)?),
    })
}

/// Mean number of rows in the buckets of `keys`; 0 without keys. The caller holds a snapshot.
fn mean(index: &MinlshIndex, keys: &[u64]) -> Result<f64> {
    let (mut rows, mut buckets, mut pages) = (0, 0_u32, 0);
    for key in keys {
        buckets += 1;
        descent::each(index, None, std::slice::from_ref(key), &mut |found| {
            (rows, pages) = (rows + found.len(), pages + 1);
            Ok(if pages >= MOST_PAGES { Continue::No } else { Continue::Yes })
        })?;
        if pages >= MOST_PAGES {
            break;
        }
    }
    Ok(rows as f64 / f64::max(buckets.into(), 1.0))
}

/// True if the role whose rights apply to the variable's table may read all of it. For a child table the rights to the
/// named parent count, as in PostgreSQL's own estimates. It does not matter that the operator is leakproof, because the
/// index itself shows how many rows are similar.
fn may_read(variable: &Variable) -> bool {
    let may = |(table, user): (Oid, Option<Oid>)| may_select(table, &[], user.unwrap_or_else(current_role));
    variable.named_table().is_some_and(may)
}

/// The share that `similar` rows are of a variable's relation.
fn share(variable: &Variable, similar: f64) -> f64 {
    let rows = variable.rows();
    if rows >= 1.0 { (similar / rows).clamp(0.0, 1.0) } else { UNKNOWN }
}
