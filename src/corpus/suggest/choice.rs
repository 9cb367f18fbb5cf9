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
    /// The reasons for the unit, and for the size of shingles.
    pub why: (&'static str, String),
}

impl Choice {
    /// Chooses how the texts of `sample` are cut, unless that is given.
    pub fn of(sample: &Sample, reader: Reader, config: Config, is_given: bool) -> Result<Self> {
        let cut = |config: Config, unit, size: &str| -> Result<Self> {
            let robust = robust_from(config.shingle_size(), DEFAULT_THRESHOLD);
            let cut = Cut::of(sample, reader, &config, robust)?;
            Ok(Self { config, robust, cut, why: (unit, size.to_owned()) })
        };
        let with_size = |config: &Config, shingle_size: i32| {
            let options = Options { shingle_size, unit: "char".into(), ..Options::of(config) };
            options.config()
        };
        if is_given {
            let why = "as the call, the index or the documents have it";
            return cut(config, why, why);
        }
        // One alone has no other to be confused with.
        if sample.saturated > 1 {
            let config = with_size(&config, sample.better_size as i32)?;
            let unit = "the default; for long texts try 'word' as well";
            return cut(config, unit, "the texts are too long for less");
        }
        let usual =
            cut(config, "the default, for every language", "the default suits these lengths")?;
        let is_short = usual.config.unit() == Unit::Char && usual.cut.median < usual.robust;
        if !is_short || sample.taken.is_empty() {
            return Ok(usual);
        }
        let unit = "the default; for titles try 'word' as well";
        let short = cut(with_size(&usual.config, SHORT_SIZE)?, unit, "")?;
        let half = short.cut.median;
        let size = format!("most texts are short: half have at most {half} shingles of this size");
        Ok(Self { why: (unit, size), ..short })
    }
}
