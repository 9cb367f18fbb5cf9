//! The options by which a text is cut into shingles, in their canonical form.

use std::fmt;

use sketch::Config;

use crate::error::Result;
use crate::options::Options;

/// The options that two texts must share for their similarity to mean anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shingling<'a> {
    pub unit: &'a str,
    pub shingle_size: u8,
    pub normalization: &'a str,
    pub stop_words: &'a str,
    pub bag: bool,
}

impl Shingling<'_> {
    /// The configuration, with defaults for all that a text's shingles do not depend on.
    pub fn config(&self) -> Result<Config> {
        Options {
            unit: self.unit.into(),
            shingle_size: self.shingle_size.into(),
            normalization: self.normalization.into(),
            stop_words: self.stop_words.into(),
            bag: self.bag,
            ..Options::default()
        }
        .config()
    }
}

/// The options of a configuration in canonical form.
#[derive(PartialEq)]
pub struct Canonical {
    unit: &'static str,
    shingle_size: u8,
    normalization: String,
    stop_words: String,
    bag: bool,
}

impl Canonical {
    /// The options of `config`.
    pub fn of(config: &Config) -> Self {
        Self {
            unit: config.unit().as_str(),
            shingle_size: config.shingle_size() as u8,
            normalization: config.normalization().to_string(),
            stop_words: config.stop_words().to_string(),
            bag: config.bag(),
        }
    }

    /// The options, borrowed from here.
    pub fn shingling(&self) -> Shingling<'_> {
        Shingling {
            unit: self.unit,
            shingle_size: self.shingle_size,
            normalization: &self.normalization,
            stop_words: &self.stop_words,
            bag: self.bag,
        }
    }
}

/// True if both cut texts into the same shingles.
pub fn same(a: &Config, b: &Config) -> bool {
    a.unit() == b.unit()
        && a.shingle_size() == b.shingle_size()
        && a.normalization() == b.normalization()
        && a.stop_words() == b.stop_words()
        && a.bag() == b.bag()
}

/// As in the WITH clause of an index.
impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        write!(
            f,
            "unit = {}, shingle_size = {}, normalization = {}, stop_words = {}, bag = {}",
            quoted(self.unit),
            self.shingle_size,
            quoted(&self.normalization),
            quoted(&self.stop_words),
            self.bag
        )
    }
}
