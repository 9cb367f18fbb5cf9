//! All that a signature depends on, parsed and validated in one place.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::scheme::Scheme;

/// The most slots a signature may have. The error falls with the square root
/// of the slots: at 4096 it is below 0.8 % everywhere.
pub const MAX_NUM_PERM: usize = 4096;
/// Slots of a signature unless told otherwise: an error of 0.027 at J = 0.9.
pub const DEFAULT_NUM_PERM: usize = 128;
/// The longest shingle, in characters or words.
pub const MAX_SHINGLE_SIZE: usize = 64;
/// Length of a shingle unless told otherwise.
pub const DEFAULT_SHINGLE_SIZE: usize = 5;
/// The fraction of the pairs at the threshold that bands are chosen to find.
pub const DEFAULT_RECALL: f64 = 0.99;
/// The Jaccard similarity from which on a pair counts as near-duplicate.
pub const DEFAULT_THRESHOLD: f64 = 0.8;

/// What a shingle is a window of.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Unit {
    /// Unicode scalar values.
    #[default]
    Char,
    /// Words as Unicode Standard Annex 29 cuts them; what is between words
    /// does not count.
    Word,
}

impl Unit {
    /// The name that [`FromStr`] reads.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Char => "char",
            Self::Word => "word",
        }
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "char" => Ok(Self::Char),
            "word" => Ok(Self::Word),
            _ => Err(Error::UnknownUnit(name.to_owned())),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// All that a signature depends on. Signatures are comparable only if their
/// configurations and [`Config::VERSION`] are equal.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Config {
    scheme: Scheme,
    num_perm: usize,
    unit: Unit,
    shingle_size: usize,
    seed: i64,
}

impl Config {
    /// The version of the algorithms: it grows when the same configuration
    /// starts to give other values.
    pub const VERSION: i32 = 1;

    /// Validates a configuration as a user writes it.
    ///
    /// `seed` 0 is the specification as given; any other seed selects another,
    /// independent family of hash functions. With the schemes of datasketch it
    /// is datasketch's seed.
    ///
    /// # Errors
    /// [`Error::UnknownScheme`]; [`Error::NumPerm`] outside
    /// `1..=`[`MAX_NUM_PERM`]; [`Error::UnknownUnit`]; [`Error::ShingleSize`]
    /// outside `1..=`[`MAX_SHINGLE_SIZE`]; [`Error::Seed`] outside
    /// `0..=u32::MAX` with a scheme of datasketch. The first in this order.
    pub fn new(
        scheme: &str,
        num_perm: i64,
        unit: &str,
        shingle_size: i64,
        seed: i64,
    ) -> Result<Self, Error> {
        let config = Self {
            scheme: scheme.parse()?,
            num_perm: valid_num_perm(num_perm)?,
            unit: unit.parse()?,
            shingle_size: in_range(shingle_size, MAX_SHINGLE_SIZE)
                .ok_or(Error::ShingleSize(shingle_size))?,
            seed,
        };
        if config.scheme.is_datasketch() && u32::try_from(seed).is_err() {
            return Err(Error::Seed(seed));
        }
        Ok(config)
    }

    /// How shingle hashes become a signature.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The same configuration with another scheme. For 64-bit hashes of
    /// shingles only: the seed is not looked at.
    pub(crate) const fn with_scheme(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// Slots of a signature, `1..=`[`MAX_NUM_PERM`].
    #[must_use]
    pub const fn num_perm(&self) -> usize {
        self.num_perm
    }

    /// What a shingle is a window of.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// Length of a shingle in units, `1..=`[`MAX_SHINGLE_SIZE`].
    #[must_use]
    pub const fn shingle_size(&self) -> usize {
        self.shingle_size
    }

    /// The seed; 0 is the specification as given, but with the schemes of
    /// datasketch.
    #[must_use]
    pub const fn seed(&self) -> i64 {
        self.seed
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            num_perm: DEFAULT_NUM_PERM,
            unit: Unit::default(),
            shingle_size: DEFAULT_SHINGLE_SIZE,
            seed: 0,
        }
    }
}

/// Like `fss, num_perm 128, char 5-shingles, seed 0`.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, num_perm {}, {} {}-shingles, seed {}",
            self.scheme, self.num_perm, self.unit, self.shingle_size, self.seed
        )
    }
}

/// `num_perm` if it is in `1..=MAX_NUM_PERM`.
pub(crate) fn valid_num_perm(num_perm: i64) -> Result<usize, Error> {
    in_range(num_perm, MAX_NUM_PERM).ok_or(Error::NumPerm(num_perm))
}

/// `value` if it is in `1..=max`.
pub(crate) fn in_range(value: i64, max: usize) -> Option<usize> {
    usize::try_from(value).ok().filter(|value| (1..=max).contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_what_the_names_say() {
        let written = Config::new("fss", 128, "char", 5, 0);
        assert_eq!(written, Ok(Config::default()));
        assert_eq!(Config::default().to_string(), "fss, num_perm 128, char 5-shingles, seed 0");
    }

    #[test]
    fn names_are_read_back() {
        for unit in [Unit::Char, Unit::Word] {
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
    }

    #[test]
    fn refusals_name_the_value_and_the_range() {
        let message = |result: Result<Config, Error>| result.map_err(|e| e.to_string());
        let refused = |text: &str| Err(text.to_owned());
        assert_eq!(
            message(Config::new("foo", 128, "char", 5, 0)),
            refused("unknown scheme \"foo\"")
        );
        assert_eq!(
            message(Config::new("fss", 0, "char", 5, 0)),
            refused("num_perm must be between 1 and 4096, not 0")
        );
        assert_eq!(
            message(Config::new("fss", i64::MIN, "char", 5, 0)),
            refused("num_perm must be between 1 and 4096, not -9223372036854775808")
        );
        assert_eq!(
            message(Config::new("fss", 128, "line", 5, 0)),
            refused("unknown shingle unit \"line\"")
        );
        assert_eq!(
            message(Config::new("fss", 128, "word", 65, 0)),
            refused("shingle_size must be between 1 and 64, not 65")
        );
        assert_eq!(
            message(Config::new("datasketch_legacy", 128, "char", 5, -1)),
            refused("seed must be between 0 and 4294967295, not -1")
        );
    }
}
