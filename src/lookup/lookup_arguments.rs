//! The options that all queries share.

use crate::error::{Result, invalid_parameter};
use crate::index::stored_options;
use crate::lookup::indexed::Indexed;
use crate::options::{Threshold, Verify};
use crate::pg::call::Call;
use crate::pg::names::quoted;

/// Reads the argument `verify`; `None` is what the index does best.
pub fn verify(call: &Call, argument: usize) -> Result<Option<Verify>> {
    call.text(argument)?.map(Verify::named).transpose()
}

/// Reads the argument `threshold`; NULL is that of the index that is asked.
pub fn threshold(call: &Call, argument: usize, target: &Indexed) -> Result<Threshold> {
    let least = target.options.threshold;
    let threshold = call.float8(argument).map_or(Ok(least), Threshold::new)?;
    if threshold >= least {
        return Ok(threshold);
    }
    let name = target.name();
    let refused = invalid_parameter(format!(
        "threshold {threshold} is below that of index \"{name}\", which is {least}"
    ));
    // What ALTER INDEX has set waits for REINDEX.
    let wanted = stored_options::wanted(target.info.index.oid).ok();
    let set = wanted.map(|options| options.threshold).filter(|set| *set <= threshold);
    Err(match set {
        Some(set) => refused
            .set_detail(format!(
                "ALTER INDEX has set it to {set}, which does not change what is there."
            ))
            .set_hint(format!("Use REINDEX INDEX {}, or a threshold of {least}.", quoted(name))),
        None => refused
            .set_detail("Its bands would miss pairs that are less similar than it was built for.")
            .set_hint(format!(
                "Use {least} or more, or create an index WITH (threshold = {threshold})."
            )),
    })
}
