//! Bands of a signature, which turn near-duplicates into equal keys.
//!
//! A signature is split into `bands` bands of `rows` slots. Two documents are candidates if at least one band is equal.
//! At similarity `j` that happens with probability `1 - (1 - j^rows)^bands` (Mining of Massive Datasets, section
//! 3.4.2). The usual way to choose bands and rows minimises the area of both kinds of error, and loses most pairs at
//! high thresholds. Here they are chosen for a stated recall.
//!
//! Each bucket of an index belongs to one scope: documents of different tenants never meet.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::config::valid_num_perm;
use crate::hash::mix::{GOLDEN, fmix64};
use crate::limits::in_range;
use crate::{Error, MAX_NUM_PERM, Result, memory};

/// A valid number of bands and of rows per band: `bands * rows <= MAX_NUM_PERM`.
///
/// ```
/// use minlsh_sketch::Banding;
///
/// // Which bands find a pair of this similarity, with which probability?
/// let banding = Banding::for_recall(0.8, 128, 0.99)?;
/// assert_eq!((banding.bands(), banding.rows()), (21, 6));
/// assert!(banding.probability(0.8) > 0.99 && banding.probability(0.4) < 0.1);
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Banding {
    bands: usize,
    rows: usize,
}

impl Banding {
    /// Validates a banding. Whether a signature is long enough for it shows in [`Banding::hashes`].
    ///
    /// # Errors
    /// [`Error::Bands`], [`Error::Rows`], [`Error::BandingTooLarge`].
    pub fn new(bands: i64, rows: i64) -> Result<Self> {
        let valid_bands = in_range(bands, MAX_NUM_PERM).ok_or(Error::Bands(bands))?;
        let valid_rows = in_range(rows, MAX_NUM_PERM).ok_or(Error::Rows(rows))?;
        if valid_bands * valid_rows > MAX_NUM_PERM {
            return Err(Error::BandingTooLarge { bands, rows });
        }
        Ok(Self { bands: valid_bands, rows: valid_rows })
    }

    /// The banding with the fewest false candidates that finds a pair of similarity `threshold` with a probability of
    /// at least `recall`: the most rows for which `num_perm / rows` bands reach it.
    ///
    /// # Complexity
    ///
    /// Linear in `num_perm`.
    ///
    /// # Errors
    /// [`Error::Threshold`] outside `(0, 1]`; [`Error::NumPerm`]; [`Error::Recall`] outside `(0, 1)`;
    /// [`Error::RecallUnattainable`] if one row per band is not enough.
    pub fn for_recall(threshold: f64, num_perm: i64, recall: f64) -> Result<Self> {
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(Error::Threshold(threshold));
        }
        let slots = valid_num_perm(num_perm)?;
        if !(recall > 0.0 && recall < 1.0) {
            return Err(Error::Recall(recall));
        }
        (1..=slots)
            .rev()
            .map(|rows| Self { bands: slots / rows, rows })
            .find(|banding| banding.probability(threshold) >= recall)
            .ok_or_else(|| Error::RecallUnattainable {
                recall,
                threshold,
                num_perm: slots,
                attainable: Self { bands: slots, rows: 1 }.probability(threshold),
            })
    }

    /// Number of bands, at least 1.
    pub const fn bands(&self) -> usize {
        self.bands
    }

    /// Number of slots in a band, at least 1.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The probability that two sets of similarity `j` share a band: `1 - (1 - j^rows)^bands`. `j` outside `[0, 1]`
    /// counts as the nearer end; NaN stays NaN.
    pub fn probability(&self, j: f64) -> f64 {
        // By logarithms: 1 - j^r may round to 1 although b such factors matter.
        let miss = self.ln_miss(j.clamp(0.0, 1.0)) * self.bands as f64;
        -miss.exp_m1()
    }

    /// The similarity at which the probability rises most steeply, `(1 / bands)^(1 / rows)`. There 63 % of the pairs
    /// share a band.
    pub fn threshold(&self) -> f64 {
        (self.bands as f64).recip().powf((self.rows as f64).recip())
    }

    /// The fewest bands that find a pair of similarity `threshold` with a probability of at least `recall`. All bands
    /// if they do not suffice, or if an argument is NaN. So an index serves all thresholds above its own, and higher
    /// ones cost less.
    pub fn probes(&self, threshold: f64, recall: f64) -> usize {
        let needed = ((-recall).ln_1p() / self.ln_miss(threshold.clamp(0.0, 1.0))).ceil();
        if needed < self.bands as f64 { (needed as usize).max(1) } else { self.bands }
    }

    /// The same rows with only the bands that [`Banding::probes`] needs at `threshold`, for an index that is not
    /// searched below it. It gives the same results as all bands, because no query looks up the others.
    #[must_use]
    pub fn trimmed(self, threshold: f64, recall: f64) -> Self {
        self.first(self.probes(threshold, recall))
    }

    /// The first `bands` of these bands; at least one, at most all.
    #[must_use]
    pub fn first(self, bands: usize) -> Self {
        Self { bands: bands.clamp(1, self.bands), rows: self.rows }
    }

    /// Replaces `out` by the hashes of the bands.
    ///
    /// Band hash `i` is XXH3_64 with seed `i` over the slots `i * rows .. (i + 1) * rows`, each as four little-endian
    /// bytes, and the bits of the result are read as `i64`. The seed makes equal content of different bands differ. For
    /// `[1, 2, 3, 4]`, 2 bands of 2 rows give `[254984204845929552, 5681563201217060630]`.
    ///
    /// # Complexity
    ///
    /// Linear in the slots that the bands cover.
    ///
    /// # Errors
    /// [`Error::SignatureTooShort`] if there are fewer than `bands * rows` slots; more are ignored.
    pub fn hashes(&self, signature: &[i32], out: &mut Vec<i64>) -> Result<()> {
        out.clear();
        let Some(covered) = signature.get(..self.bands * self.rows) else {
            return Err(Error::SignatureTooShort { slots: signature.len(), bands: self.bands, rows: self.rows });
        };
        let mut bytes: Vec<u8> = memory::with_capacity(size_of_val(covered))?;
        bytes.extend(covered.iter().flat_map(|slot| slot.to_le_bytes()));
        memory::reserve(out, self.bands)?;
        let bands = bytes.chunks_exact(4 * self.rows).zip(0..);
        out.extend(bands.map(|(band, i)| xxh3_64_with_seed(band, i) as i64));
        Ok(())
    }

    /// Logarithm of the probability that a band differs at similarity `j`.
    fn ln_miss(&self, j: f64) -> f64 {
        (-j.powf(self.rows as f64)).ln_1p()
    }
}

/// The hash of a missing scope value.
const MISSING: u64 = 0x6d69_6e6c_7368_0002;

/// The scope values of a bucket, folded into a hash. Indexes store its results, which belong to
/// [`Config::VERSION`](crate::Config::VERSION).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ScopeHash(u64);

impl ScopeHash {
    /// This scope with another value, given by its hash; `None` for a missing one. The order of values matters.
    #[must_use]
    pub fn with(self, value: Option<u64>) -> Self {
        Self(fmix64(self.0.wrapping_mul(GOLDEN) ^ value.unwrap_or(MISSING)))
    }

    /// The key of the bucket for band hash `band` (see [`Banding::hashes`](crate::Banding::hashes)) in this scope.
    pub fn bucket(self, band: i64) -> u64 {
        fmix64(self.0 ^ band as u64)
    }
}
