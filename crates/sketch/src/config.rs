//! Everything that a signature depends on, parsed and validated in one place.

use std::fmt;
use std::sync::Arc;

use crate::limits::in_range;
use crate::scheme::Scheme;
use crate::text::{Dropped, Normalization, StopWords, Unit, WordRules};
use crate::{DEFAULT_NUM_PERM, DEFAULT_SHINGLE_SIZE, Error, MAX_NUM_PERM, MAX_SHINGLE_SIZE, Result};

/// Everything that a signature depends on. Signatures are comparable only if their configurations and
/// [`Config::VERSION`] are equal.
///
/// Cloning is cheap, because lists are shared.
///
/// ```
/// use minlsh_sketch::{Config, Normalization};
///
/// let config = Config::new("fss", 128, "word", 3, 0)?.with_normalization(Normalization::plain())?;
/// assert_eq!(
///     config.to_string(),
///     "fss, num_perm 128, word 3-shingles, seed 0, normalization nfkc casefold whitespace"
/// );
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Config {
    scheme: Scheme,
    num_perm: usize,
    unit: Unit,
    shingle_size: usize,
    seed: i64,
    normalization: Normalization,
    stop_words: StopWords,
    bag: bool,
    /// The rules made of unit, normalisation and stop words.
    rules: Arc<WordRules>,
}

impl Config {
    /// The version of the algorithms, which grows when a configuration starts to give other values.
    pub const VERSION: i32 = 1;

    /// Validates a configuration in the form in which users write it.
    ///
    /// `seed` 0 selects the hash functions of the specification; any other seed selects another, independent family.
    /// The schemes of datasketch use datasketch's seed.
    ///
    /// # Errors
    /// [`Error::UnknownScheme`]; [`Error::NumPerm`] outside `1..=`[`MAX_NUM_PERM`]; [`Error::UnknownUnit`];
    /// [`Error::ShingleSize`] outside `1..=`[`MAX_SHINGLE_SIZE`]; [`Error::Seed`] outside `0..=u32::MAX` with a scheme
    /// of datasketch. The first in this order.
    pub fn new(scheme: &str, num_perm: i64, unit: &str, shingle_size: i64, seed: i64) -> Result<Self> {
        let config = Self {
            scheme: scheme.parse()?,
            num_perm: valid_num_perm(num_perm)?,
            unit: unit.parse()?,
            shingle_size: in_range(shingle_size, MAX_SHINGLE_SIZE).ok_or(Error::ShingleSize(shingle_size))?,
            seed,
            ..Self::default()
        };
        if config.scheme.is_datasketch() && u32::try_from(seed).is_err() {
            return Err(Error::Seed(seed));
        }
        config.with_rules()
    }

    /// Returns this configuration with a normalisation that is applied before texts are split.
    ///
    /// # Errors
    /// [`Error::AnchorsDropped`] if the normalisation drops the stop words with which anchored shingles start.
    pub fn with_normalization(self, normalization: Normalization) -> Result<Self> {
        if self.unit == Unit::Anchored && normalization.stop_words == Dropped::Configured {
            return Err(Error::AnchorsDropped);
        }
        Self { normalization, ..self }.with_rules()
    }

    /// Returns this configuration with a list of stop words in place of the English one. Anchored shingles start with
    /// stop words, and the step `stop_words` of the normalisation drops them.
    pub fn with_stop_words(self, stop_words: StopWords) -> Result<Self> {
        Self { stop_words, ..self }.with_rules()
    }

    /// Returns this configuration with texts as bags, in which repeats count, or as sets. The similarity of bags is
    /// weighted: the sum of the lesser numbers of occurrences over the sum of the greater ones.
    #[must_use]
    pub fn with_bag(self, bag: bool) -> Self {
        Self { bag, ..self }
    }

    fn with_rules(self) -> Result<Self> {
        let rules = WordRules::new(self.unit, &self.normalization, &self.stop_words)?;
        Ok(Self { rules: Arc::new(rules), ..self })
    }

    /// The scheme that makes a signature of shingle hashes.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns this configuration with another scheme, for 64-bit hashes of shingles only: it does not check that the
    /// scheme accepts the seed.
    #[must_use]
    pub fn with_scheme(&self, scheme: Scheme) -> Self {
        Self { scheme, ..self.clone() }
    }

    /// Number of slots in a signature, `1..=`[`MAX_NUM_PERM`].
    pub const fn num_perm(&self) -> usize {
        self.num_perm
    }

    /// The unit of shingles.
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// Length of a shingle in units, `1..=`[`MAX_SHINGLE_SIZE`].
    pub const fn shingle_size(&self) -> usize {
        self.shingle_size
    }

    /// The seed; 0 selects the specification's hash functions, except in the schemes of datasketch.
    pub const fn seed(&self) -> i64 {
        self.seed
    }

    /// The steps that are applied to a text before it is split.
    pub const fn normalization(&self) -> &Normalization {
        &self.normalization
    }

    /// The list of stop words; English by default.
    pub const fn stop_words(&self) -> &StopWords {
        &self.stop_words
    }

    /// True if repeats of a shingle count.
    pub const fn bag(&self) -> bool {
        self.bag
    }

    /// True if results depend on the version of Unicode's tables; false if characters are compared unchanged.
    pub fn depends_on_unicode(&self) -> bool {
        self.unit != Unit::Char || !self.normalization.is_none()
    }

    /// The rules for splitting a normalised text into words.
    pub(crate) fn rules(&self) -> &WordRules {
        &self.rules
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
            normalization: Normalization::default(),
            stop_words: StopWords::default(),
            bag: false,
            rules: Arc::default(),
        }
    }
}

/// For example `fss, num_perm 128, char 5-shingles, seed 0`, followed by values that are not defaults: `normalization
/// casefold`, `stop_words 9` (their number), `bag`.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, num_perm {}, {} {}-shingles, seed {}",
            self.scheme, self.num_perm, self.unit, self.shingle_size, self.seed
        )?;
        if !self.normalization.is_none() {
            write!(f, ", normalization {}", self.normalization)?;
        }
        if self.stop_words != StopWords::default() {
            write!(f, ", stop_words {}", self.stop_words.len())?;
        }
        if self.bag {
            write!(f, ", bag")?;
        }
        Ok(())
    }
}

pub(crate) fn valid_num_perm(num_perm: i64) -> Result<usize> {
    in_range(num_perm, MAX_NUM_PERM).ok_or(Error::NumPerm(num_perm))
}
