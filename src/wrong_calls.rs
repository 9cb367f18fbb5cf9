//! Functions that refuse a mistaken call, for which PostgreSQL would find no function, and show the right one.
//!
//! No right call may match one of them better than the function it means, also where a client leaves the types of
//! parameters to the server: `tests/pg_regress/sql/wrong_calls.sql` compares the types that PostgreSQL infers.

use pgrx::pg_sys::{self, Datum};

use crate::error::{Result, invalid_parameter};
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog::relation_kind;
use crate::pg::names::{literal, regclass_literal};
use crate::pg::output::Output;

sql_function!(minlsh_wrong_order, wrong_order);
sql_function!(minlsh_explain_without_index, explain_without_index);
sql_function!(minlsh_source_as_regclass, source_as_regclass);

/// `near_duplicates(index text, key bigint, threshold numeric)`,
/// `near_duplicates(key bigint, index regclass, threshold numeric)`
fn wrong_order(call: &Call) -> Result<Option<Datum>> {
    let shown = |argument: usize| {
        let type_oid = call.argument_type(argument);
        // SAFETY: the call says of what type its argument is.
        let value = call.datum(argument).map(|value| unsafe { Output::of(type_oid).shown(value) });
        let value = value.unwrap_or_else(|| "NULL".to_owned());
        if [pg_sys::TEXTOID, pg_sys::REGCLASSOID].contains(&type_oid) {
            literal(&value)
        } else {
            value
        }
    };
    let [index, key] = if call.argument_type(0) == pg_sys::TEXTOID { [0, 1] } else { [1, 0] };
    Err(invalid_parameter("the arguments of near_duplicates() are in the wrong order").set_hint(
        format!(
            "Pass the key, the threshold and the index or its table: near_duplicates({}, {}, {}).",
            shown(key),
            shown(2),
            shown(index)
        ),
    ))
}

/// `minlsh_explain(a "any", b "any")`
fn explain_without_index(_: &Call) -> Result<Option<Datum>> {
    Err(invalid_parameter("minlsh_explain() needs an index").set_hint(
        "Pass the index or its table before the two keys, as in minlsh_explain('docs', 1, 2). Compare \
         texts that are not stored with minlsh_explain_texts().",
    ))
}

/// `near_duplicate_pairs(source regclass, threshold)` and its sisters
fn source_as_regclass(call: &Call) -> Result<Option<Datum>> {
    let named = call.oid(0).filter(|named| relation_kind(*named) != 0);
    let name = named.map_or_else(|| literal("docs"), regclass_literal);
    Err(invalid_parameter("source must be a text, not a regclass")
        .set_hint(format!("Pass {name} without a cast to regclass.")))
}
