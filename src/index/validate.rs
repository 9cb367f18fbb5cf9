//! `amvalidate`: whether an operator class can serve an index of this access method.
//!
//! Those of the extension can. One that a superuser makes for a type of their own must store its
//! keys as these do, since the B-tree reads them by their comparison function.

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::document::kind::{Kind, is_document};
use crate::index::layout::SCOPE_HASH;
use crate::pg::catalog::CatalogRow;
use crate::pg::catalog::function_of_family;
use crate::pg::names::type_label;

/// Support function 1 of a B-tree: comparison.
const COMPARE: i16 = 1;
/// Support function 4 of a B-tree: whether equal keys have equal bytes.
const EQUAL_IMAGE: i16 = 4;

/// An operator class, as `pg_opclass` describes it.
struct Class {
    family: Oid,
    input: Oid,
    stored: Oid,
}

/// `amvalidate`: false, with an INFO for each reason, if the class is incomplete or inconsistent.
#[pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(operator_class: Oid) -> bool {
    let Some(class) = class(operator_class) else {
        pgrx::error!("cache lookup failed for operator class {}", operator_class.to_u32());
    };
    let problems = problems(&class);
    for problem in &problems {
        pgrx::info!("operator class for type {}: {problem}", type_label(class.input));
    }
    problems.is_empty()
}

fn class(oid: Oid) -> Option<Class> {
    let row = CatalogRow::<pg_sys::FormData_pg_opclass>::find(oid)?;
    // A type that is stored as it is has no storage type of its own.
    let stored = if row.opckeytype == Oid::INVALID { row.opcintype } else { row.opckeytype };
    Some(Class { family: row.opcfamily, input: row.opcintype, stored })
}

fn problems(class: &Class) -> Vec<String> {
    let function = |number: i16| function_of_family(class.family, class.input, number);
    let is = |number: i16, expected: u32| function(number) == Oid::from(expected);
    let is_scope = function(SCOPE_HASH as i16) != Oid::INVALID;
    let mut problems = Vec::new();
    let (stored, compare) = if is_scope {
        (pg_sys::CHAROID, pg_sys::F_BTCHARCMP)
    } else {
        (pg_sys::TIDOID, pg_sys::F_BTTIDCMP)
    };
    if class.stored != stored {
        problems.push(format!("it must have STORAGE {}", type_label(stored)));
    }
    if !is(COMPARE, compare) {
        problems.push(format!("support function 1 must compare values of {}", type_label(stored)));
    }
    if !is(EQUAL_IMAGE, pg_sys::F_BTEQUALIMAGE) {
        problems.push("support function 4 must be btequalimage".to_owned());
    }
    if !is_scope && !is_readable(class.family, class.input) {
        problems.push(
            "it must be for text, anyarray, integer[] (signatures) or minlsh_document".to_owned(),
        );
    }
    if !has_operator(class) {
        problems.push("its family has no operator".to_owned());
    }
    problems
}

/// True if the family has an operator at all: which types it takes differs from class to class.
fn has_operator(class: &Class) -> bool {
    let unused = Datum::from(0);
    // SAFETY: a lookup in the system cache; the list is released after the read.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::AMOPSTRATEGY as i32;
        let list = pg_sys::SearchSysCacheList(cache, 1, Datum::from(class.family), unused, unused);
        let count = (*list).n_members;
        pg_sys::ReleaseCatCacheList(list);
        count > 0
    }
}

/// True if an operator class for values of that type can be one for documents: the values are read as such.
pub fn is_readable(family: Oid, input_type: Oid) -> bool {
    Kind::of_class(family, input_type) != Kind::Document || is_document(input_type)
}
