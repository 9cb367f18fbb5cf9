//! Estimates of the rows that `~=` finds, for the planner.
//!
//! An index of the compared expression knows: for a constant the rows in its buckets are counted, for a value that is
//! not known yet the average bucket stands ([`bucket_sizes`]). Without such an index a document is taken to have a few
//! near-duplicates, however large the table is.
//!
//! An index with a predicate knows its own rows, and one with scope columns those of a scope. The planner multiplies
//! our share by those of the conditions that lead to these rows, so it is a share of as many rows as these leave.
//!
//! Where a policy or a view that is a security barrier hides rows from the caller, the index is not asked: EXPLAIN
//! would count the hidden rows that are similar to any text that the caller thinks of. Nor is it where the caller may
//! not read what is compared: a query is planned before its rights are checked.

use std::cell::Cell;
use std::ptr::null_mut;

use pgrx::pg_sys::{self, Datum, NodeTag, Oid};

use crate::document::kind::Kind;
use crate::document::to_bands::Search;
use crate::error::Result;
use crate::extension::access_method;
use crate::index::bucket_sizes;
use crate::index::cost::is_behind_barrier;
use crate::index::keys::Keys;
use crate::index::stored_options;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::list;
use crate::pg::restricted::current_role;
use crate::pg::rights::may_select;

sql_function!(minlsh_similar_sel, restriction);
sql_function!(minlsh_similar_joinsel, join);

/// Rows of a table that one value is similar to, if no index knows better.
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
    let (Some(root), Some(operator), Some(arguments), Some(join)) =
        (call.datum(0), call.oid(1), call.datum(2), call.datum(4))
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
            _ => {
                let of = |variable| share(variable, similar(root, operator, variable, null_mut()));
                // Of two tables the larger one decides, as long as nothing more is known of them.
                match rows(left) >= rows(right) {
                    true => of(left),
                    false => of(right),
                }
            }
        };
        release(left);
        release(right);
        share
    };
    Ok(Some(float8_datum(share)))
}

/// Estimates how many rows of a variable's table would be similar to a value, if all were as those that the other
/// conditions leave; to a value that is not known yet if it is null or not a constant.
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
        if variable.rel.is_null()
            || (*variable.rel).rtekind != pg_sys::RTEKind::RTE_RELATION
            || hides_rows(root)
            || !may_read(root, variable)
            || !pg_sys::ActiveSnapshotSet()
        {
            return NEAR_DUPLICATES;
        }
        let constant = value.cast::<pg_sys::Const>();
        let is_constant = !value.is_null() && (*value).type_ == NodeTag::T_Const;
        if is_constant && (*constant).constisnull {
            return 0.0;
        }
        let value = is_constant.then(|| ((*constant).constvalue, (*constant).consttype));
        let method = access_method();
        let relation = variable.rel;
        let operators = [operator, pg_sys::get_commutator(operator)];
        let is_whole = |index: *mut pg_sys::IndexOptInfo| {
            (*index).indpred.is_null() && (*index).nkeycolumns == 1
        };
        // An index of all rows needs no conditions beside this one.
        for whole in [true, false] {
            let indexes = list::pointers::<pg_sys::IndexOptInfo>((*relation).indexlist)
                // A partitioned index has no pages, and cannot be scanned.
                .filter(|index| (**index).relam == method && (**index).amhasgettuple)
                .filter(|index| !(**index).hypothetical)
                .filter(|index| is_whole(*index) == whole);
            for index in indexes {
                let document = (0..(*index).nkeycolumns).find(|&column| {
                    let family = *(*index).opfamily.add(column as usize);
                    pg_sys::match_index_to_operand(variable.var, column, index)
                        && operators.map(|of| pg_sys::op_in_opfamily(of, family)).contains(&true)
                });
                let part = document.and_then(|column| Part::of(root, relation, index, column));
                if let Some(part) = part
                    && let Ok(Some(rows)) = in_index((*index).indexoid, value, part.scope)
                {
                    return rows / part.share;
                }
            }
        }
        NEAR_DUPLICATES
    }
}

/// The part of a table's rows in which an index looks for the near-duplicates of a document.
struct Part {
    /// Its share of the rows, as the planner estimates it from the same conditions.
    share: f64,
    /// For each scope column its number, and the type and value of what it equals; `None` if one is not known yet.
    scope: Option<Vec<(usize, Oid, Datum)>>,
}

thread_local! {
    /// True while the share of a predicate is estimated, which may have our operator in it.
    static IN_PREDICATE: Cell<bool> = const { Cell::new(false) };
}

/// The estimate of a predicate, while this lives.
struct InPredicate;

impl InPredicate {
    /// Begins it, unless it is one within another.
    fn begin() -> Option<Self> {
        (!IN_PREDICATE.replace(true)).then(|| Self)
    }
}

impl Drop for InPredicate {
    fn drop(&mut self) {
        IN_PREDICATE.set(false);
    }
}

impl Part {
    /// The part that a query asks for; `None` if its conditions do not lead to one part of the index.
    ///
    /// # Safety
    /// `index` is an index of `relation`, a table in the planner's state `root`; `document` is the column of documents.
    unsafe fn of(
        root: *mut pg_sys::PlannerInfo,
        relation: *const pg_sys::RelOptInfo,
        index: *mut pg_sys::IndexOptInfo,
        document: i32,
    ) -> Option<Self> {
        const INNER: pg_sys::JoinType::Type = pg_sys::JoinType::JOIN_INNER;
        let mut part = Self { share: 1.0, scope: Some(Vec::new()) };
        // SAFETY: the caller's promise; nodes are what their tags say.
        unsafe {
            if !(*index).indpred.is_null() {
                if !(*index).predOK {
                    return None;
                }
                let _within = InPredicate::begin()?;
                let predicate = (*index).indpred;
                part.share *= pg_sys::clauselist_selectivity(root, predicate, 0, INNER, null_mut());
            }
            for column in (0..(*index).nkeycolumns).filter(|&column| column != document) {
                let family = *(*index).opfamily.add(column as usize);
                let clause = list::pointers::<pg_sys::RestrictInfo>((*relation).baserestrictinfo)
                    .find_map(|clause| {
                        let node = (*clause).clause.cast::<pg_sys::Node>();
                        let equal = Equal::of(node, index, column, family)?;
                        Some((clause, equal))
                    });
                let (clause, equal) = clause?;
                part.share *= pg_sys::clause_selectivity(root, clause.cast(), 0, INNER, null_mut());
                let value = pg_sys::estimate_expression_value(root, equal.value);
                let constant = value.cast::<pg_sys::Const>();
                let is_known = (*value).type_ == NodeTag::T_Const && !(*constant).constisnull;
                let known =
                    is_known.then(|| (column as usize, equal.type_oid, (*constant).constvalue));
                part.scope = part.scope.zip(known).map(|(mut scope, column)| {
                    scope.push(column);
                    scope
                });
            }
        }
        (part.share > 0.0).then_some(part)
    }
}

/// A condition that a scope column equals something.
struct Equal {
    value: *mut pg_sys::Node,
    /// The type that the operator takes for it.
    type_oid: Oid,
}

impl Equal {
    /// Reads a condition; `None` if it is another one.
    ///
    /// # Safety
    /// `clause` is a condition of a query of the index's table, `column` a column of the index, of that family.
    unsafe fn of(
        clause: *mut pg_sys::Node,
        index: *mut pg_sys::IndexOptInfo,
        column: i32,
        family: Oid,
    ) -> Option<Self> {
        // SAFETY: the caller's promise; nodes are what their tags say.
        unsafe {
            if (*clause).type_ != NodeTag::T_OpExpr {
                return None;
            }
            let operation = clause.cast::<pg_sys::OpExpr>();
            let mut sides = list::pointers::<pg_sys::Node>((*operation).args);
            let (left, right) = (sides.next()?, sides.next()?);
            let is_column = |side| pg_sys::match_index_to_operand(side, column, index);
            let (operator, value) = if is_column(left) {
                ((*operation).opno, right)
            } else if is_column(right) {
                (pg_sys::get_commutator((*operation).opno), left)
            } else {
                return None;
            };
            if operator == Oid::INVALID || !pg_sys::op_in_opfamily(operator, family) {
                return None;
            }
            let (mut strategy, mut left_type, mut type_oid) = (0, Oid::INVALID, Oid::INVALID);
            pg_sys::get_op_opfamily_properties(
                operator,
                family,
                false,
                &mut strategy,
                &mut left_type,
                &mut type_oid,
            );
            Some(Self { value, type_oid })
        }
    }
}

/// Estimates how many rows of a scope an index has that are similar to a value of that type, or to one of which nothing
/// is known; `None` if the index cannot say. Without a scope that is known, it is the same for all.
///
/// # Safety
/// `index` is the OID of an index of this access method that the planner has locked, of which an operator compares
/// such a value, and of which the scope's operators take its values. A snapshot is held.
unsafe fn in_index(
    index: Oid,
    value: Option<(Datum, Oid)>,
    scope: Option<Vec<(usize, Oid, Datum)>>,
) -> Result<Option<f64>> {
    // SAFETY: the caller's promise; the index is open until the end of this function, or an ERROR closes it.
    unsafe {
        let index = pg_sys::index_open(index, pg_sys::NoLock as i32);
        let count = || {
            let keys = Keys::of(index)?;
            let options = stored_options::built_of(index)?;
            if !options.is_current() || keys.kind() == Kind::Passage {
                return Ok(None);
            }
            let (Some((value, type_oid)), Some(scope)) = (value, scope) else {
                return bucket_sizes::average(index, keys.layout()).map(Some);
            };
            Ok(match keys.kind().search(value, type_oid, &options)? {
                Search::Everything | Search::Passage(_) => None,
                Search::Nothing => Some(0.0),
                Search::Bands(bands) => {
                    let mut found = Vec::new();
                    keys.search(&bands, &scope, &mut found)?;
                    Some(bucket_sizes::mean(index, keys.layout(), &found)?)
                }
            })
        };
        let count = count();
        pg_sys::index_close(index, pg_sys::NoLock as i32);
        count
    }
}

/// True if conditions that the caller cannot see past keep rows of any table from it.
///
/// # Safety
/// `root` is the planner's state of a query.
unsafe fn hides_rows(root: *const pg_sys::PlannerInfo) -> bool {
    // SAFETY: the caller's promise.
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
