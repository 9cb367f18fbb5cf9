//! Chooses how the texts of a source are best cut, by the properties of a sample.

use sketch::{Config, DEFAULT_THRESHOLD, Unit, robust_from};

use super::sample::{Cut, Sample};
use crate::corpus::reader::Reader;
use crate::error::Result;
use crate::options::Options;

/// Characters of a shingle for texts that are too short for the default.
const SHORT_SIZE: i32 = 3;

/// A choice of how the texts are cut, and its reason.
pub struct Choice {
    /// The options by which they are cut and signed.
    pub config: Config,
    /// The shingles from which on one change leaves a text similar.
    pub robust: usize,
    /// The properties of the sample when it is cut so.
    pub cut: Cut,
    /// The reason for the choice.
    pub why: Why,
}

/// Reasons to cut texts in some way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The default suits them.
    Usual,
    /// Most are too short for the default.
    Short,
    /// Some are too long for it.
    Long,
    /// The call, the index or the documents have it.
    Given,
}

impl Choice {
    /// Chooses how the texts of `sample` are cut, unless that is given.
    pub fn of(sample: &Sample, reader: Reader, config: Config, is_given: bool) -> Result<Self> {
        let cut = |config: Config, why| -> Result<Self> {
            let robust = robust_from(config.shingle_size(), DEFAULT_THRESHOLD);
            let cut = Cut::of(sample, reader, &config, robust)?;
            Ok(Self { config, robust, cut, why })
        };
        let with_size = |config: &Config, shingle_size: i32| {
            let options = Options { shingle_size, unit: "char".into(), ..Options::of(config) };
            options.config()
        };
        if is_given {
            return cut(config, Why::Given);
        }
        // One alone has no other to be confused with.
        if sample.saturated > 1 {
            return cut(with_size(&config, sample.better_size as i32)?, Why::Long);
        }
        let usual = cut(config, Why::Usual)?;
        let is_short = usual.config.unit() == Unit::Char && usual.cut.median < usual.robust;
        match is_short && !sample.taken.is_empty() {
            true => cut(with_size(&usual.config, SHORT_SIZE)?, Why::Short),
            false => Ok(usual),
        }
    }
}
