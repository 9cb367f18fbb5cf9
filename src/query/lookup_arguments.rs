//! The options that all queries share.

use crate::document::index_options::IndexOptions;
use crate::error::{Result, invalid_parameter};
use crate::pg::call::Call;

/// How candidates are told from near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// By the similarity that the signatures estimate.
    Signature,
    /// By the exact Jaccard similarity.
    Exact,
}

/// Reads the argument `verify`; `None` is what the index does best.
pub fn verify(call: &Call, argument: usize) -> Result<Option<Verify>> {
    call.text(argument)?.map(Verify::named).transpose()
}

impl Verify {
    /// The way of that name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "signature" => Ok(Self::Signature),
            "exact" => Ok(Self::Exact),
            other => Err(invalid_parameter(format!("unknown value for verify: \"{other}\""))
                .set_hint("It is \"exact\" or \"signature\".")),
        }
    }
}

/// Reads the argument `threshold`; NULL is that of the index of that name.
pub fn threshold(
    call: &Call,
    argument: usize,
    settings: &IndexOptions,
    index: &str,
) -> Result<f64> {
    let least = settings.threshold;
    let threshold = call.float8(argument).unwrap_or(least);
    if !(threshold > 0.0 && threshold <= 1.0) {
        return Err(invalid_parameter(format!(
            "threshold must be greater than 0 and at most 1, not {threshold}"
        ))
        .set_hint("It is a Jaccard similarity, for example 0.9."));
    }
    if threshold < least {
        return Err(invalid_parameter(format!(
            "threshold {threshold} is below that of index \"{index}\", which is {least}"
        ))
        .set_detail("Its bands would miss pairs that are less similar than it was built for.")
        .set_hint(format!(
            "Ask for {least} or more, or create an index WITH (threshold = {threshold})."
        )));
    }
    Ok(threshold)
}
