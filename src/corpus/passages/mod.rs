//! Passages of a whole corpus, without an index.
//!
//! | module | what it does |
//! |---|---|
//! | `texts` | reads the sources once, sorts the fingerprints of the texts, and runs threads over texts |
//! | `windows` | windows of fingerprints that enough documents have, distinguished by a 64-bit hash of all characters |
//! | `common` | passages that many documents share, and the documents without them |
//! | `repeated` | passages of a document that an earlier document has |
//! | `contained` | documents that others contain |
//! | `between` | passages that documents of two sources share |
//!
//! Only windows of frequent fingerprints can be in as many documents. Reported passages are read again from the texts,
//! which spill to a temporary file.

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

/// Default number of documents that makes a passage boilerplate.
const DEFAULT_DOCUMENTS: u32 = 100;

/// The parameters of a job. A NULL argument stands for the default.
struct PassageQuestion {
    arguments: Arguments,
    /// The arguments that are sources, in the order of reading.
    sources: &'static [&'static str],
    cut: PassageCut,
    /// True if equal texts count once.
    collapses: bool,
    /// True if normalized texts are read again.
    normalized: bool,
    /// Words that are appended to the NOTICE about texts that are too short for a passage.
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

    /// The share of a document that another one must contain, if it was passed.
    fn coverage(&self) -> Result<Option<f64>> {
        let coverage = self.arguments.float8("coverage").map(valid_coverage);
        coverage.transpose().map_err(Into::into)
    }

    /// Reads argument `name`, a number of documents that makes a passage boilerplate, at least `least`.
    fn documents(&self, name: &str, least: i32) -> Result<u32> {
        match self.arguments.int4(name) {
            None => Ok(DEFAULT_DOCUMENTS),
            Some(given) if given >= least => Ok(given as u32),
            Some(other) => Err(invalid_parameter(format!("{name} must be at least {least}, not {other}"))
                .set_hint("Use the number of documents that make a passage boilerplate, such as 100.")),
        }
    }
}
