//! Makes signatures of texts and of hashes.

use super::datasketch;
use super::fss;
use super::permutations::Functions;
use super::seeded_hashes::{HashSource, SeededHashes};
use crate::hash::mix::affine;
use crate::scheme::Scheme;
use crate::shingle::{append_elements, normalize_text};
use crate::simd::Level;
use crate::{Check, Config, Result};

/// Computes signatures with a configuration.
///
/// It owns the scratch memory (about 64 KiB) and the constants of its configuration, so reuse it for many documents.
///
/// ```
/// use minlsh_sketch::{Config, Element, ElementHash, Sketcher};
///
/// let mut sketcher = Sketcher::new(Config::default());
/// let signature = sketcher.sketch("a text of some words", &mut || ())?;
/// assert_eq!(signature.map(<[i32]>::len), Some(128));
/// // A text without a shingle has no signature.
/// assert_eq!(sketcher.sketch("", &mut || ())?, None);
/// // Sets are given by the hashes of their elements.
/// let set = [1, 2, 3].map(|id| Element::Integer(id).hash(ElementHash::Xxh3));
/// assert!(sketcher.sketch_hashes(&set, &mut || ())?.is_some());
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
pub struct Sketcher {
    config: Config,
    level: Level,
    functions: Functions,
    /// The functions of datasketch's legacy scheme.
    legacy: Vec<(u64, u64)>,
    slots: Vec<u32>,
    hashes: Vec<u64>,
    signature: Vec<i32>,
}

impl Sketcher {
    /// A sketcher for signatures with `config`.
    pub fn new(config: Config) -> Self {
        Self::with_level(config, Level::best())
    }

    /// A sketcher with given instructions, for tests and benchmarks. The signatures are the same.
    #[doc(hidden)]
    pub fn with_level(config: Config, level: Level) -> Self {
        let (mut functions, mut legacy) = (Functions::default(), Vec::new());
        // The configuration refuses a seed that is too long for its scheme.
        let (count, seed) = (config.num_perm(), config.seed() as u32);
        match config.scheme() {
            Scheme::Fss => (),
            Scheme::Permutations => functions.set((0..count).map(affine)),
            Scheme::DatasketchAffine32(_) => {
                functions.set(datasketch::affine32(seed, count).into_iter());
            }
            Scheme::DatasketchLegacy(_) => legacy = datasketch::legacy(seed, count),
        }
        let num_perm = config.num_perm();
        Self {
            config,
            level,
            functions,
            legacy,
            slots: vec![0; num_perm],
            hashes: Vec::new(),
            signature: Vec::with_capacity(num_perm),
        }
    }

    /// The configuration of the signatures.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The signature of a text: `num_perm` slots; `None` if the text has no shingles (see
    /// [`for_each_shingle`](crate::for_each_shingle)).
    ///
    /// # Complexity
    ///
    /// Time is linear in the length of the text. Memory does not depend on it, except for a normalised copy of the text
    /// and for the hashes of a bag's elements, if the configuration needs them. `check` is called at least once for a
    /// few 64 KiB of text, and for a million elementary steps. It may unwind; the sketcher can be used again.
    pub fn sketch(&mut self, text: &str, check: Check) -> Result<Option<&[i32]>> {
        let text = normalize_text(&self.config, text, check)?;
        if self.config.bag() {
            let mut elements = Vec::new();
            append_elements(&self.config, self.level, &text, &mut elements, check)?;
            return self.sketch_hashes(&elements, check);
        }
        self.sketch_source(HashSource::Text(&text), check)
    }

    /// Number of hashes for which a call of [`Sketcher::sketch_hashes`] is efficient, if a set arrives in pieces whose
    /// signatures are united. That many hashes fill all slots in the first round or two.
    pub fn batch(num_perm: usize) -> usize {
        (8 * num_perm).clamp(1024, 8192)
    }

    /// The signature of a set of elements given by their hashes, in any order and with any repeats; `None` if there are
    /// none. `check` is called as by [`Sketcher::sketch`].
    ///
    /// With the [`shingle_hashes`](crate::shingle_hashes) of a text it is the signature of the text. With the scheme's
    /// [`ElementHash`](crate::ElementHash) of each element it is the signature of a set. The schemes of datasketch use
    /// the low half of a hash.
    pub fn sketch_hashes(&mut self, hashes: &[u64], check: Check) -> Result<Option<&[i32]>> {
        self.sketch_source(HashSource::Hashes(hashes), check)
    }

    fn sketch_source(&mut self, source: HashSource, check: Check) -> Result<Option<&[i32]>> {
        let Self { config, level, functions, legacy, slots, hashes, .. } = self;
        let mut passes = SeededHashes::new(source, config, *level, hashes);
        let any = match config.scheme() {
            Scheme::Fss => fss::sketch(*level, &mut passes, slots, functions, check)?,
            Scheme::Permutations | Scheme::DatasketchAffine32(_) => {
                let any = functions.minimise(*level, &mut passes, check)?;
                slots.copy_from_slice(&functions.minima[..config.num_perm()]);
                any
            }
            Scheme::DatasketchLegacy(_) => datasketch::minimise_legacy(legacy, &mut passes, slots, check)?,
        };
        if !any {
            return Ok(None);
        }
        self.signature.clear();
        self.signature.extend(self.slots.iter().map(|&slot| slot as i32));
        Ok(Some(&self.signature))
    }
}
