//! `minlsh_check()`: proves that an index has what its table has, and lists every difference.

use std::cell::Cell;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Result;
use crate::functions::checkpoint;
use crate::pg::call::{Call, sql_function};
use crate::pg::keys::KeyText;
use crate::pg::relation::{Lock, Relation, leaves};
use crate::pg::rows::ResultRows;
use crate::pg::table::{Continue, Index, Open, Snapshot};
use crate::pg::text;
use crate::pg::trigger::{Trigger, triggers};
use crate::side_table::arguments::check_owner;
use crate::side_table::drop::{native_index, the_only};
use crate::side_table::fill::{each_document, signed};
use crate::side_table::storage::{DOC_ID, Storage, stored};
use crate::side_table::watch::{self, Watch};
use crate::side_table::{SideTable, find};

sql_function!(minlsh_check, check);

/// Takes a problem, and the key of the document that has it.
type Report<'a> = dyn FnMut(Option<Datum>, &str) + 'a;

fn check(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.oid(0) else { return Ok(None) };
    let result = ResultRows::start(call)?;
    let found = find::all(name, Lock::Read);
    let native = native_indexes(name);
    if found.is_empty() && native.is_empty() {
        return the_only(name).map(|_| None);
    }
    for index in native {
        check_owner(index)?;
        crate::am::check::check(index, &mut |key: Option<String>, problem: String| {
            let key = key.map(|key| text::write(&key));
            result.push(&[key, Some(text::write(&problem))]);
        })?;
    }
    for found in found {
        check_owner(found.documents)?;
        match found.side {
            Err(report) => {
                result.push(&[None, Some(text::write(report.message()))]);
            }
            Ok(side) => {
                let output = KeyText::new(side.key.type_oid);
                let mut report = |key: Option<Datum>, problem: &str| {
                    let key = key.map(|key| output.of(key));
                    result.push(&[key, Some(text::write(problem))]);
                };
                structure(&side, &found.watch, &mut report)?;
                documents(&side, &mut report)?;
            }
        }
    }
    Ok(None)
}
