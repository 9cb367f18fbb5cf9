//! Estimates of the rows that `~=` finds, for the planner.
//!
//! An index of the compared expression over all rows knows those of a constant. The near-duplicates of a document are
//! in its buckets, most of them in most of these, so the mean size of these buckets is how many rows a search finds. It
//! is read of a bounded number of pages: the lists of a template with 100,000 copies fill pages of their own. Any other
//! document is taken to have a few near-duplicates, however large the table is.
//!
//! Where a policy or a view that is a security barrier hides rows from the caller, the index is not asked: EXPLAIN
//! would count the hidden rows that are similar to any text that the caller thinks of. Nor is it where the caller may
//! not read what is compared: a query is planned before its rights are checked.

use std::ops::ControlFlow;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::ScopeHash;

use crate::document::kind::Kind;
use crate::document::value::{BandSearch, TypedValue};
use crate::error::Result;
use crate::extension::access_method;
use crate::index::descent::{self, WantedEntries};
use crate::index::minlsh_index::MinlshIndex;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::open::Open;
use crate::pg::planner::{Node, Query, Variable};
use crate::pg::relation::Lock;
use crate::pg::restricted::current_role;
use crate::pg::rights::may_select;

sql_function!(minlsh_similar_sel, restriction);
sql_function!(minlsh_similar_joinsel, join);

/// The most leaf pages of a bucket that are counted: about 300,000 rows.
const PAGES_OF_BUCKET: usize = 256;
/// The most leaf pages that are counted for a search.
const PAGES_OF_SEARCH: usize = 512;
/// Rows of a table that one value is similar to, if no index shows how many.
const NEAR_DUPLICATES: f64 = 3.0;
/// The share of similar rows in a table of unknown size.
const UNKNOWN: f64 = 1e-6;
/// The share of documents that have a near-duplicate: in crawled text a third is common.
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
    let share = found.map_or(UNKNOWN, |(variable, other)| {
        share(&variable, similar(query, operator, &variable, other))
    });
    Ok(Some(float8_datum(share)))
}

/// `minlsh_similar_joinsel(internal, oid, internal, smallint, internal) → double precision`
fn join(call: &Call) -> Result<Option<Datum>> {
    let (Some(root), Some(arguments), Some(join)) = (call.datum(0), call.datum(2), call.datum(4))
    else {
        return Ok(None);
    };
    let join = join.cast_mut_ptr::<pg_sys::SpecialJoinInfo>();
    // SAFETY: the planner calls a join estimator with these arguments.
    let (kind, [left, right]) = unsafe {
        let query = Query::of(root.cast_mut_ptr());
        ((*join).jointype, Variable::of_join(query, arguments.cast_mut_ptr(), join))
    };
    let share = match kind {
        // Here the question is which rows of the left side have any.
        pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI => HAS_ONE,
        // Of two tables the larger one decides, as long as nothing more is known of them.
        _ => share(if left.rows() >= right.rows() { &left } else { &right }, NEAR_DUPLICATES),
    };
    Ok(Some(float8_datum(share)))
}

/// Estimates how many rows of a variable's table are similar to a value, if it is known, by that operator.
fn similar(query: Query, operator: Oid, variable: &Variable, value: Option<Node>) -> f64 {
    let Some(constant) = value.and_then(Node::constant) else { return NEAR_DUPLICATES };
    // SAFETY: reads a variable of the backend.
    let has_snapshot = unsafe { pg_sys::ActiveSnapshotSet() };
    if !has_snapshot || query.has_policies() || query.is_behind_barrier() || !may_read(variable) {
        return NEAR_DUPLICATES;
    }
    if constant.constisnull {
        return 0.0;
    }
    // SAFETY: lookups in the system caches.
    let takes = |family: Oid| unsafe {
        let operators = [operator, pg_sys::get_commutator(operator)];
        operators.iter().any(|operator| pg_sys::op_in_opfamily(*operator, family))
    };
    let indexes = variable.indexes(access_method());
    let mut indexes = indexes.into_iter().filter(|(_, family)| takes(*family));
    // SAFETY: a constant of the query that is planned, which is not NULL, as checked above.
    let sought = unsafe { TypedValue::new(constant.constvalue, constant.consttype) };
    let found = indexes.find_map(|(index, _)| in_index(index, sought).ok()?);
    found.unwrap_or(NEAR_DUPLICATES)
}

/// Estimates how many rows an index, which the planner has locked, has that are similar to a value; `None` if the index
/// cannot say. A snapshot is held.
fn in_index(index: Oid, sought: TypedValue) -> Result<Option<f64>> {
    let Some(open) = Open::relation(index, Lock::Held) else { return Ok(None) };
    let index = MinlshIndex::of(&open)?;
    let (options, kind) = (index.options()?, index.kind());
    if !options.is_current() || kind == Kind::Passage {
        return Ok(None);
    }
    Ok(match kind.search(sought, &options)? {
        BandSearch::Everything | BandSearch::Passage(_) => None,
        BandSearch::Nothing => Some(0.0),
        BandSearch::Bands(bands) => {
            Some(mean(&index, &index.keys_of(&bands, ScopeHash::default())?)?)
        }
    })
}

/// The mean number of rows in the buckets of `keys`; 0 without any. A snapshot is held.
fn mean(index: &MinlshIndex, keys: &[u64]) -> Result<f64> {
    let (mut rows, mut buckets, mut pages) = (0, 0_u32, 0);
    for key in keys {
        let mut of_bucket = 0;
        let wanted = WantedEntries::Keys(std::slice::from_ref(key));
        descent::each(index, None, wanted, &mut |found| {
            rows += found.len();
            of_bucket += 1;
            let enough = of_bucket == PAGES_OF_BUCKET;
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        (buckets, pages) = (buckets + 1, pages + of_bucket);
        if pages >= PAGES_OF_SEARCH {
            break;
        }
    }
    Ok(rows as f64 / f64::max(buckets.into(), 1.0))
}

/// True if the role whose rights count for a variable's table may read the columns of the variable. Of a child these
/// are the rights to the table that was named, as for PostgreSQL's own estimates. That the operator is leakproof does
/// not matter here, for the index shows how many rows are similar.
fn may_read(variable: &Variable) -> bool {
    let (user, columns) = variable.columns();
    let user = user.unwrap_or_else(current_role);
    columns.into_iter().all(|(table, column)| may_select(table, column, user))
}

/// The share of the rows of a variable's relation that so many are.
fn share(variable: &Variable, similar: f64) -> f64 {
    let rows = variable.rows();
    if rows >= 1.0 { (similar / rows).clamp(0.0, 1.0) } else { UNKNOWN }
}
