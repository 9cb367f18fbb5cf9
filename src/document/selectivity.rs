//! The number of rows that the planner should expect of `~=`.
//!
//! A document has a few near-duplicates however large the table is, so the share of the rows that
//! are similar falls with their number. That is known without statistics.

use std::ptr::null_mut;

use pgrx::pg_sys::{self, Datum};

use crate::error::Result;
use crate::pg::call::{Call, float8_datum, sql_function};

sql_function!(minlsh_similar_sel, restriction);
sql_function!(minlsh_similar_joinsel, join);

/// Rows of a table that one value is similar to.
const NEAR_DUPLICATES: f64 = 3.0;
/// The share of similar rows in a table of unknown size.
const UNKNOWN: f64 = 1e-6;
/// The share of documents that have a near-duplicate: in crawled text a third is common.
const HAS_ONE: f64 = 0.3;

/// `minlsh_similar_sel(internal, oid, internal, integer) → double precision`
fn restriction(call: &Call) -> Result<Option<Datum>> {
    let (Some(root), Some(arguments), Some(relation)) =
        (call.datum(0), call.datum(2), call.int4(3))
    else {
        return Ok(None);
    };
    let mut variable = pg_sys::VariableStatData::default();
    let (mut other, mut on_left) = (null_mut(), false);
    // SAFETY: the planner calls a restriction estimator with these arguments; the out parameters
    // are valid, and filled in if it returns true.
    let share = unsafe {
        let found = pg_sys::get_restriction_variable(
            root.cast_mut_ptr(),
            arguments.cast_mut_ptr(),
            relation,
            &mut variable,
            &mut other,
            &mut on_left,
        );
        if found {
            let rows = rows(&variable);
            release(&variable);
            share(rows)
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
        pg_sys::get_join_variables(
            root.cast_mut_ptr(),
            arguments.cast_mut_ptr(),
            join,
            left,
            right,
            &mut reversed,
        );
        let rows = rows(left).max(rows(right));
        release(left);
        release(right);
        match (*join).jointype {
            // Here the question is which rows of the left side have any.
            pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI => HAS_ONE,
            _ => share(rows),
        }
    };
    Ok(Some(float8_datum(share)))
}

/// The number of rows of the relation of a variable; 0 if that is not known.
fn rows(variable: &pg_sys::VariableStatData) -> f64 {
    if variable.rel.is_null() {
        return 0.0;
    }
    // SAFETY: a relation of the planner, which outlives its estimates.
    unsafe { (*variable.rel).tuples }
}

fn share(rows: f64) -> f64 {
    if rows >= 1.0 { (NEAR_DUPLICATES / rows).min(1.0) } else { UNKNOWN }
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
