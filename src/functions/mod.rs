//! The installed versions, and the pure functions: text to shingles, sets to signatures, signatures to bands, and the
//! measures between them. Each is a shim over the engine.

mod aggregates;
mod exact;
mod key;
mod signatures;
mod texts;

use pgrx::pg_sys::Datum;
use sketch::{Config, UNICODE_VERSIONS};

pub(crate) use self::exact::overlap;
pub(crate) use self::signatures::with_sketcher;
use crate::error::Result;
use crate::pg::call::{Call, sql_function};
use crate::pg::result_rows::{ResultRows, result_row};
use crate::pg::spi::Session;
use crate::pg::text;

sql_function!(minlsh_version, version);
sql_function!(minlsh_versions, versions);
sql_function!(minlsh_self_test, self_test);

/// `minlsh_version() → text`: of the library that is loaded.
fn version(_call: &Call) -> Result<Option<Datum>> {
    Ok(Some(text::write(env!("CARGO_PKG_VERSION"))))
}

/// `minlsh_versions() → (library, extension, algorithm, unicode)`
fn versions(call: &Call) -> Result<Option<Datum>> {
    let session = Session::open();
    let installed = session.query(
        "SELECT extversion FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'minlsh'",
        &[],
    )?;
    let extension =
        if installed.is_empty() { None } else { installed.text(0, 1)?.map(text::write) };
    let row = [
        Some(text::write(env!("CARGO_PKG_VERSION"))),
        extension,
        Some(Datum::from(Config::VERSION)),
        Some(text::write(UNICODE_VERSIONS)),
    ];
    result_row(call, row).map(Some)
}

/// `minlsh_self_test() → SETOF (instructions, options, passed)`
fn self_test(call: &Call) -> Result<Option<Datum>> {
    let rows = ResultRows::start(call)?;
    for answer in sketch::self_test()? {
        let texts = [answer.instructions, answer.options].map(|text| Some(text::write(&text)));
        let [instructions, options] = texts;
        rows.push(&[instructions, options, Some(Datum::from(answer.passed))]);
    }
    Ok(None)
}
