//! The options that all queries share.

use crate::error::{Result, invalid_parameter};
use crate::index::definition::Index;
use crate::pg::call::Call;
use crate::pg::names::{literal, regclass_literal, relation_name};

/// How candidates are told from near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// By the similarity that the signatures estimate.
    Signature,
    /// By the exact Jaccard similarity of the stored texts.
    Exact,
}

/// Reads the argument `verify`; NULL is the default.
pub fn verify(call: &Call, argument: usize) -> Result<Verify> {
    match call.text(argument)?.as_deref() {
        None | Some("signature") => Ok(Verify::Signature),
        Some("exact") => Ok(Verify::Exact),
        Some(other) => Err(invalid_parameter(format!("unknown value for verify: \"{other}\""))
            .set_hint("It is \"signature\" or \"exact\".")),
    }
}

/// Reads the argument `threshold`; NULL is the index's own.
pub fn threshold(call: &Call, argument: usize, index: &Index) -> Result<f64> {
    let least = index.settings.threshold;
    let threshold = call.float8(argument).unwrap_or(least);
    if !(threshold > 0.0 && threshold <= 1.0) {
        return Err(invalid_parameter(format!(
            "threshold must be greater than 0 and at most 1, not {threshold}"
        ))
        .set_hint("It is a Jaccard similarity, for example 0.9."));
    }
    if threshold < least {
        let index_name = relation_name(index.storage);
        return Err(invalid_parameter(format!(
            "threshold {threshold} is below that of minlsh index \"{index_name}\", which is {least}"
        ))
        .set_detail("Its bands would miss pairs that are less similar than it was built for.")
        .set_hint(format!(
            "Ask for {least} or more, or create an index with a lower threshold: SELECT minlsh_create_index({}, {}, threshold => {threshold});",
            regclass_literal(index.relation),
            literal(&index.body.name)
        )));
    }
    Ok(threshold)
}
