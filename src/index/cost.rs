//! `amcostestimate`: what a scan costs the planner.
//!
//! A search the index serves reads a few pages for each band. Any other reads all entries and all
//! rows: it is possible, and told to be dearer than anything else.

use pgrx::pg_sys::{self, NodeTag};
use pgrx::prelude::*;

use crate::document::kind::Kind;
use crate::index::keys::Keys;
use crate::index::stored_options;
use crate::options::IndexOptions;
use crate::pg::{list, text};

/// Rows that a search finds, roughly.
const ROWS_FOUND: f64 = 32.0;
/// Pages read for a band that are not in memory yet, as a share: the upper levels always are.
const PAGES_READ: f64 = 0.1;
/// Comparisons on the way down the tree, for each band.
const COMPARISONS: f64 = 50.0;
/// What a search costs that the index does not serve.
const PROHIBITIVE: f64 = 1e13;

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
        let bands = served_bands(root, path);
        let mut generic = pg_sys::GenericCosts::default();
        if bands.is_some() {
            generic.numIndexTuples = ROWS_FOUND;
        }
        pg_sys::genericcostestimate(root, path, loops, &mut generic);
        *selectivity = generic.indexSelectivity;
        *correlation = 0.0;
        if let Some(bands) = bands {
            let descents = bands
                * (COMPARISONS * pg_sys::cpu_operator_cost + PAGES_READ * pg_sys::random_page_cost);
            *startup = descents;
            *total = descents + ROWS_FOUND * pg_sys::cpu_index_tuple_cost;
            *pages = bands;
        } else {
            *startup = PROHIBITIVE;
            *total = PROHIBITIVE;
            *pages = generic.numIndexPages;
            #[cfg(feature = "pg18")]
            {
                (*path).path.disabled_nodes += 2;
            }
        }
    }
}

/// How many bands a search looks up; `None` if the index does not serve it, as far as can be known
/// before it runs.
///
/// # Safety
/// As for `amcostestimate`.
unsafe fn served_bands(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
) -> Option<f64> {
    // SAFETY: the caller's promise; the index is open until the end of this function.
    unsafe {
        let index = pg_sys::index_open((*(*path).indexinfo).indexoid, pg_sys::NoLock as i32);
        let known = Keys::of(index).and_then(|keys| {
            stored_options::built_of(index)
                .map(|options| (keys.layout().clone(), keys.kind(), options))
        });
        pg_sys::index_close(index, pg_sys::NoLock as i32);
        let (layout, values, options) = known.ok()?;
        if !options.current {
            return None;
        }
        let mut columns = vec![false; layout.columns()];
        for clause in list::pointers::<pg_sys::IndexClause>((*path).indexclauses) {
            let column = (*clause).indexcol as usize;
            *columns.get_mut(column)? = true;
            if column != layout.document() {
                continue;
            }
            // The index column is on the left, the clause having been commuted where it was not.
            let mut quals = list::pointers::<pg_sys::RestrictInfo>((*clause).indexquals);
            let operator = (*quals.next()?).clause.cast::<pg_sys::OpExpr>();
            if (*operator.cast::<pg_sys::Node>()).type_ != NodeTag::T_OpExpr {
                continue;
            }
            let mut arguments = list::pointers::<pg_sys::Node>((*operator).args);
            let value = arguments.nth(1)?;
            if !serves(root, value, values, &options) {
                return None;
            }
        }
        columns.iter().all(|asked| *asked).then(|| options.banding.bands() as f64)
    }
}

/// Whether an index serves a search for the value of `expression`, as far as is known yet.
///
/// # Safety
/// `expression` is one of the plan of `root`, and the right side of an operator of the index.
unsafe fn serves(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
    values: Kind,
    options: &IndexOptions,
) -> bool {
    // SAFETY: the caller's promise; nodes are what their tags say.
    unsafe {
        let mut value = pg_sys::estimate_expression_value(root, expression);
        if (*value).type_ == NodeTag::T_FuncExpr {
            // A document of another text has the same options, if those are constant.
            value = pg_sys::estimate_expression_value(root, with_empty_text(value.cast()));
        }
        if (*value).type_ != NodeTag::T_Const {
            return true;
        }
        let constant = value.cast::<pg_sys::Const>();
        (*constant).constisnull
            || values.serves((*constant).constvalue, (*constant).consttype, options)
    }
}

/// A copy of a call with an empty text for its first argument.
///
/// # Safety
/// `call` is a call of a function.
unsafe fn with_empty_text(call: *mut pg_sys::FuncExpr) -> *mut pg_sys::Node {
    // SAFETY: the caller's promise; the list of a call's arguments is copied, and its first cell
    // is set to a node made here.
    unsafe {
        let copy = pg_sys::copyObjectImpl(call.cast()).cast::<pg_sys::FuncExpr>();
        let arguments = (*copy).args;
        if !arguments.is_null() {
            let first = (*(*arguments).elements).ptr_value.cast::<pg_sys::Node>();
            if pg_sys::exprType(first) == pg_sys::TEXTOID {
                let empty = pg_sys::makeConst(
                    pg_sys::TEXTOID,
                    -1,
                    pg_sys::exprCollation(first),
                    -1,
                    text::write(""),
                    false,
                    false,
                );
                (*(*arguments).elements).ptr_value = empty.cast();
            }
        }
        copy.cast()
    }
}
