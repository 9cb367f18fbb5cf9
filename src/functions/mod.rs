//! The pure functions: texts to shingles, sets to signatures, signatures to bands, and the measures between them. Each
//! is a thin wrapper of the engine. Also the installed versions, and functions that refuse mistaken calls: PostgreSQL
//! would not find a function for them, and these show the right one.
//!
//! No correct call may match one of the latter better than the intended function, even if a client leaves the types of
//! parameters to the server: `tests/pg_regress/sql/wrong_calls.sql` compares the types that PostgreSQL infers.

mod aggregates;
mod exact;
mod key;
mod signatures;
pub(crate) mod texts;

use sketch::{Config, UNICODE_VERSIONS};

pub(crate) use self::exact::overlap;
use crate::pg::catalog::relation_kind;
use crate::prelude::*;

sql_function!(minlsh_version, version);
sql_function!(minlsh_versions, versions);
set_function!(minlsh_self_test, self_test);
sql_function!(minlsh_wrong_order, wrong_order);
sql_function!(minlsh_explain_without_index, explain_without_index);
sql_function!(minlsh_source_as_regclass, source_as_regclass);
sql_function!(minlsh_threshold_first, threshold_first);
sql_function!(minlsh_threshold_between, threshold_between);
sql_function!(minlsh_share_of_passages, share_of_passages);

/// `minlsh_version() → text`: the version of the loaded library.
fn version(_call: &Call) -> Result<Option<Datum>> {
    Ok(Some(text::write(env!("CARGO_PKG_VERSION"))))
}

/// `minlsh_versions() → (library, extension, algorithm, unicode)`
fn versions(call: &Call) -> Result<Option<Datum>> {
    let session = Session::open();
    let installed = session
        .query("SELECT extversion FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'minlsh'", &[])?;
    let extension = match &installed {
        Some(row) => row.text(1)?.map(text::write),
        None => None,
    };
    let row = [
        Some(text::write(env!("CARGO_PKG_VERSION"))),
        extension,
        Some(Datum::from(Config::VERSION)),
        Some(text::write(UNICODE_VERSIONS)),
    ];
    result_row(call, row).map(Some)
}

/// `minlsh_self_test() → SETOF (instructions, options, passed)`
fn self_test(_call: &Call, rows: &ResultRows) -> Result<()> {
    for answer in sketch::self_test()? {
        let texts = [answer.instructions, answer.options].map(|text| Some(text::write(&text)));
        let [instructions, options] = texts;
        rows.push(&[instructions, options, Some(Datum::from(answer.passed))]);
    }
    Ok(())
}

/// An argument as a call writes it.
fn shown(call: &Call, argument: usize) -> String {
    let type_oid = call.argument_type(argument);
    match call.value(argument).map(TypedValue::shown) {
        Some(value) if [pg_sys::TEXTOID, pg_sys::REGCLASSOID].contains(&type_oid) => literal(&value),
        Some(value) => value,
        None => "NULL".to_owned(),
    }
}

/// `near_duplicates(index text, key bigint, threshold numeric)`,
/// `near_duplicates(key bigint, index regclass, threshold numeric)`
fn wrong_order(call: &Call) -> Result<Option<Datum>> {
    let shown = |argument: usize| shown(call, argument);
    let [index, key] = if call.argument_type(0) == pg_sys::TEXTOID { [0, 1] } else { [1, 0] };
    Err(invalid_parameter("the arguments of near_duplicates() are in the wrong order").set_hint(format!(
        "Pass the key, the threshold and the index or its table: near_duplicates({}, {}, {}).",
        shown(key),
        shown(2),
        shown(index)
    )))
}

/// `minlsh_explain(a "any", b "any")`
fn explain_without_index(_: &Call) -> Result<Option<Datum>> {
    Err(invalid_parameter("minlsh_explain() needs an index").set_hint(
        "Pass the index or its table before the two keys, as in minlsh_explain('docs', 1, 2). Compare texts that are \
         not stored with minlsh_explain_texts().",
    ))
}

/// `near_duplicate_pairs(source regclass, threshold)` and its sisters
fn source_as_regclass(call: &Call) -> Result<Option<Datum>> {
    let named = call.oid(0).filter(|named| relation_kind(*named) != 0);
    let name = named.map_or_else(|| literal("docs"), regclass_literal);
    Err(invalid_parameter("source must be a text, not a regclass")
        .set_hint(format!("Pass {name} without a cast to regclass.")))
}

/// `near_duplicate_pairs(number numeric, relation regclass)` and its sisters
fn threshold_first(call: &Call) -> Result<Option<Datum>> {
    let (threshold, source) = (shown(call, 0), shown(call, 1));
    Err(invalid_parameter("the source comes first, the threshold second")
        .set_hint(format!("Pass the source before the threshold: ({source}, {threshold}).")))
}

/// `near_duplicates_between(first regclass, number numeric, second regclass)`
fn threshold_between(call: &Call) -> Result<Option<Datum>> {
    let [a, threshold, b] = [0, 1, 2].map(|argument| shown(call, argument));
    Err(invalid_parameter("the threshold comes after both sources").set_hint(format!(
        "Pass the two sources before the threshold: near_duplicates_between({a}, {b}, {threshold})."
    )))
}

/// `passages_between(a regclass, b regclass, share numeric)`
fn share_of_passages(call: &Call) -> Result<Option<Datum>> {
    let [a, b, coverage] = [0, 1, 2].map(|argument| shown(call, argument));
    Err(invalid_parameter("the third argument of passages_between() is a number of characters")
        .set_hint(format!("Pass a share by its name: passages_between({a}, {b}, coverage => {coverage}).")))
}
