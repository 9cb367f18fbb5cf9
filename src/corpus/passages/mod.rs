//! Passages of a whole corpus, without an index.
//!
//! | module | what it does |
//! |---|---|
//! | `texts` | reads the sources once, sorts the fingerprints of its texts, and has threads look at texts |
//! | `windows` | windows of fingerprints that enough documents have, told apart by a hash of 64 bits of all their characters |
//! | `common` | what many documents have in common, and the documents without it |
//! | `repeated` | what of each document an earlier one has |
//! | `contained` | which documents are inside others |
//! | `between` | what documents of two sources have in common |
//!
//! Only windows of frequent fingerprints can be in as many documents. What is reported is read off the texts again,
//! which lie in a temporary file beyond memory.

mod between;
mod common;
mod contained;
mod repeated;
mod texts;
mod windows;

use sketch::DEFAULT_MIN_MATCH;
use sketch::passage::{valid_coverage, valid_min_match, valid_normalization};
use sketch::pipeline::PassageCut;

use crate::corpus::source::arguments::Arguments;
use crate::prelude::*;

/// The default of the numbers of documents that boilerplate is told by.
const DEFAULT_DOCUMENTS: u32 = 100;

/// The question to a job. An argument that is NULL is the default.
struct PassageQuestion {
    arguments: Arguments,
    /// The arguments that are sources, in the order in which they are read.
    sources: &'static [&'static str],
    cut: PassageCut,
    /// True if equal texts count once.
    collapses: bool,
    /// True if texts are read again as they are normalized.
    normalized: bool,
    /// Words that a NOTICE adds about texts that are too short for a passage.
    short: &'static str,
}

impl PassageQuestion {
    fn of(call: &Call, collapses: bool) -> Result<Self> {
        let arguments = Arguments::of(call);
        let min_match = arguments.int4("min_match").map_or(DEFAULT_MIN_MATCH as i64, i64::from);
        let normalization = arguments.text("normalization")?.unwrap_or("plain");
        let cut =
            PassageCut { min_match: valid_min_match(min_match)?, normalization: valid_normalization(normalization)? };
        let sources = &["source"];
        Ok(Self { arguments, sources, cut, collapses, normalized: false, short: "" })
    }

    /// The share of a document that another one must have, if it was passed.
    fn coverage(&self) -> Result<Option<f64>> {
        let coverage = self.arguments.float8("coverage").map(valid_coverage);
        coverage.transpose().map_err(Into::into)
    }

    /// The argument of that name: a number of documents by which boilerplate is told, `least` or more.
    fn documents(&self, name: &str, least: i32) -> Result<u32> {
        match self.arguments.int4(name) {
            None => Ok(DEFAULT_DOCUMENTS),
            Some(given) if given >= least => Ok(given as u32),
            Some(other) => Err(invalid_parameter(format!("{name} must be at least {least}, not {other}"))
                .set_hint("Use the number of documents that make a passage boilerplate, such as 100.")),
        }
    }
}
