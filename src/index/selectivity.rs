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
use std::ptr::null_mut;

use pgrx::pg_sys::{self, Datum, NodeTag, Oid, Relation};

use crate::document::kind::Kind;
use crate::document::value::BandSearch;
use crate::error::Result;
use crate::extension::access_method;
use crate::index::cost::is_behind_barrier;
use crate::index::descent::{self, WantedEntries};
use crate::index::keys::Keys;
use crate::index::layout::Layout;
use crate::index::stored_options;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::list;
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
    let mut variable = pg_sys::VariableStatData::default();
    let (mut other, mut on_left) = (null_mut(), false);
    // SAFETY: the planner calls a restriction estimator with these arguments; the out parameters
    // are valid, and filled in if it returns true.
    let share = unsafe {
        let root = root.cast_mut_ptr::<pg_sys::PlannerInfo>();
        let found = pg_sys::get_restriction_variable(
            root,
            arguments.cast_mut_ptr(),
            relation,
            &mut variable,
            &mut other,
            &mut on_left,
        );
        if found {
            let share = share(&variable, similar(root, operator, &variable, other));
            release(&variable);
            share
        } else {
            UNKNOWN
        }
    };
    Ok(Some(float8_datum(share)))
}

/// `minlsh_similar_joinsel(internal, oid, internal, smallint, internal) → double precision`
fn join(call: &Call) -> Result<Option<Datum>> {
    let (Some(root), Some(arguments), Some(join)) = (call.datum(0), call.datum(2), call.datum(4))
    else {
        return Ok(None);
    };
    let join = join.cast_mut_ptr::<pg_sys::SpecialJoinInfo>();
    let mut variables = [pg_sys::VariableStatData::default(); 2];
    let [left, right] = &mut variables;
    let mut reversed = false;
    // SAFETY: the planner calls a join estimator with these arguments; the out parameters are
    // valid, and filled in.
    let share = unsafe {
        let root = root.cast_mut_ptr::<pg_sys::PlannerInfo>();
        pg_sys::get_join_variables(
            root,
            arguments.cast_mut_ptr(),
            join,
            left,
            right,
            &mut reversed,
        );
        let share = match (*join).jointype {
            // Here the question is which rows of the left side have any.
            pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI => HAS_ONE,
            // Of two tables the larger one decides, as long as nothing more is known of them.
            _ => share(if rows(left) >= rows(right) { left } else { right }, NEAR_DUPLICATES),
        };
        release(left);
        release(right);
        share
    };
    Ok(Some(float8_datum(share)))
}

/// Estimates how many rows of a variable's table are similar to a value, which may be null if it is not known.
///
/// # Safety
/// `variable` is filled in for the planner's state `root`, in which `value` is an expression, and `operator` compares
/// both.
unsafe fn similar(
    root: *mut pg_sys::PlannerInfo,
    operator: Oid,
    variable: &pg_sys::VariableStatData,
    value: *const pg_sys::Node,
) -> f64 {
    // SAFETY: the caller's promise; what is not null is the planner's, and nodes are what their tags say.
    unsafe {
        if value.is_null()
            || (*value).type_ != NodeTag::T_Const
            || variable.rel.is_null()
            || (*variable.rel).rtekind != pg_sys::RTEKind::RTE_RELATION
            || hides_rows(root)
            || !may_read(root, variable)
            || !pg_sys::ActiveSnapshotSet()
        {
            return NEAR_DUPLICATES;
        }
        let constant = &*value.cast::<pg_sys::Const>();
        if constant.constisnull {
            return 0.0;
        }
        let method = access_method();
        let operators = [operator, pg_sys::get_commutator(operator)];
        list::pointers::<pg_sys::IndexOptInfo>((*variable.rel).indexlist)
            // A partitioned index has no pages, and cannot be scanned.
            .filter(|index| (**index).relam == method && (**index).amhasgettuple)
            .filter(|index| !(**index).hypothetical)
            .filter(|index| (**index).indpred.is_null() && (**index).nkeycolumns == 1)
            .filter(|index| {
                let family = *(**index).opfamily;
                pg_sys::match_index_to_operand(variable.var, 0, *index)
                    && operators.map(|of| pg_sys::op_in_opfamily(of, family)).contains(&true)
            })
            .find_map(|index| in_index((*index).indexoid, constant).ok()?)
            .unwrap_or(NEAR_DUPLICATES)
    }
}

/// Estimates how many rows an index has that are similar to a constant; `None` if the index cannot say.
///
/// # Safety
/// `index` is the OID of an index of this access method that the planner has locked, of which an operator compares
/// the constant, which is not NULL. A snapshot is held.
unsafe fn in_index(index: Oid, constant: &pg_sys::Const) -> Result<Option<f64>> {
    // SAFETY: the caller's promise; the index is open until the end of this function, or an ERROR closes it.
    unsafe {
        let index = pg_sys::index_open(index, pg_sys::NoLock as i32);
        let count = || {
            let keys = Keys::of(index)?;
            let options = stored_options::built_of(index)?;
            if !options.is_current() || keys.kind() == Kind::Passage {
                return Ok(None);
            }
            Ok(match keys.kind().search(constant.constvalue, constant.consttype, &options)? {
                BandSearch::Everything | BandSearch::Passage(_) => None,
                BandSearch::Nothing => Some(0.0),
                BandSearch::Bands(bands) => {
                    let mut found = Vec::new();
                    keys.search(&bands, &[], &mut found)?;
                    Some(mean(index, keys.layout(), &found)?)
                }
            })
        };
        let count = count();
        pg_sys::index_close(index, pg_sys::NoLock as i32);
        count
    }
}

/// The mean number of rows in the buckets of `keys`; 0 without any.
///
/// # Safety
/// `index` is open and has that layout, and a snapshot is held.
unsafe fn mean(index: Relation, layout: &Layout, keys: &[u64]) -> Result<f64> {
    let (mut rows, mut buckets, mut pages) = (0, 0_u32, 0);
    for key in keys {
        let mut of_bucket = 0;
        let wanted = WantedEntries::Keys(std::slice::from_ref(key));
        let mut count = |found: &[u64]| {
            rows += found.len();
            of_bucket += 1;
            let enough = of_bucket == PAGES_OF_BUCKET;
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        // SAFETY: the caller has the index open, and the layout is that of its build.
        unsafe { descent::each(index, layout, null_mut(), wanted, &mut count)? };
        (buckets, pages) = (buckets + 1, pages + of_bucket);
        if pages >= PAGES_OF_SEARCH {
            break;
        }
    }
    Ok(rows as f64 / f64::max(buckets.into(), 1.0))
}

/// True if conditions that the caller cannot see past keep rows of any table from it.
///
/// # Safety
/// `root` is the planner's state of a query.
unsafe fn hides_rows(root: *const pg_sys::PlannerInfo) -> bool {
    // SAFETY: the planner's state and what it points to are there while it plans.
    unsafe {
        let mut entries = list::pointers::<pg_sys::RangeTblEntry>((*(*root).parse).rtable);
        entries.any(|entry| !(*entry).securityQuals.is_null()) || is_behind_barrier(root)
    }
}

/// True if the role whose rights count for a variable's table may read the columns of the variable. Of a child these
/// are the rights to the table that was named, as for PostgreSQL's own estimates. That the operator is leakproof does
/// not matter here, for the index shows how many rows are similar.
///
/// # Safety
/// `variable` is filled in for the planner's state `root`, and has a table.
unsafe fn may_read(root: *const pg_sys::PlannerInfo, variable: &pg_sys::VariableStatData) -> bool {
    // SAFETY: `similar` calls this where `rel` is a table; the planner's arrays have an entry for each relation.
    unsafe {
        let relation = &*variable.rel;
        let user = if relation.userid == Oid::INVALID { current_role() } else { relation.userid };
        let mut columns = null_mut();
        pg_sys::pull_varattnos(variable.var, relation.relid, &mut columns);
        let mut member = pg_sys::bms_next_member(columns, -1);
        while member >= 0 {
            let column = (member + pg_sys::FirstLowInvalidHeapAttributeNumber) as i16;
            let (table, column) = as_named(root, relation.relid, column);
            if !may_select(table, column, user) {
                return false;
            }
            member = pg_sys::bms_next_member(columns, member);
        }
        true
    }
}

/// The table and column by which a query names a column of a relation: those of the parent, where it is of a child.
///
/// # Safety
/// `relation` is the number of a table in the planner's state `root`.
unsafe fn as_named(
    root: *const pg_sys::PlannerInfo,
    mut relation: pg_sys::Index,
    mut column: i16,
) -> (Oid, i16) {
    // SAFETY: a number out of the planner's arrays; a child has a link to its parent, with `num_child_cols` columns.
    unsafe {
        let entry = |relation: pg_sys::Index| &**(*root).simple_rte_array.add(relation as usize);
        let links = (*root).append_rel_array;
        while !links.is_null()
            && let Some(link) = (*links.add(relation as usize)).as_ref()
            && entry(link.parent_relid).rtekind == pg_sys::RTEKind::RTE_RELATION
        {
            if let Ok(place @ 1..) = usize::try_from(column) {
                let of_parent = match place <= link.num_child_cols as usize {
                    true => *link.parent_colnos.add(place - 1),
                    false => 0,
                };
                if of_parent == 0 {
                    break;
                }
                column = of_parent;
            }
            relation = link.parent_relid;
        }
        (entry(relation).relid, column)
    }
}

/// The number of rows of a variable's relation; 0 if that is not known.
fn rows(variable: &pg_sys::VariableStatData) -> f64 {
    if variable.rel.is_null() {
        return 0.0;
    }
    // SAFETY: a relation of the planner, which outlives its estimates.
    unsafe { (*variable.rel).tuples }
}

/// The share of the rows of a variable's relation that so many are.
fn share(variable: &pg_sys::VariableStatData, similar: f64) -> f64 {
    let rows = rows(variable);
    if rows >= 1.0 { (similar / rows).clamp(0.0, 1.0) } else { UNKNOWN }
}

/// Gives back what the lookup of a variable holds (`ReleaseVariableStats`).
///
/// # Safety
/// `variable` must have been filled in, and is not released again.
unsafe fn release(variable: &pg_sys::VariableStatData) {
    if let (false, Some(free)) = (variable.statsTuple.is_null(), variable.freefunc) {
        // SAFETY: the function that belongs to that tuple.
        unsafe { free(variable.statsTuple) }
    }
}
