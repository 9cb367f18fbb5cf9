//! The options that all queries share.

use crate::error::{Result, invalid_parameter};
use crate::options::{IndexOptions, Threshold, Verify};
use crate::pg::call::Call;

/// Reads the argument `verify`; `None` is what the index does best.
pub fn verify(call: &Call, argument: usize) -> Result<Option<Verify>> {
    call.text(argument)?.map(Verify::named).transpose()
}

/// Reads the argument `threshold`; NULL is that of the index of that name.
pub fn threshold(
    call: &Call,
    argument: usize,
    settings: &IndexOptions,
    index: &str,
) -> Result<Threshold> {
    let least = settings.threshold;
    let threshold = call.float8(argument).map_or(Ok(least), Threshold::new)?;
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
