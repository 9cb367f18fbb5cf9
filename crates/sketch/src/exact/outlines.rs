//! Outlines of sets: a few words that show that two of them cannot be similar.
//!
//! Where the sets of a group do not fit into memory, to compare two of them is to fetch both and
//! to merge them, and most pairs turn out not to be similar enough. So of each set is kept how
//! many elements it has, and one bit for some of its hashes. An element of A whose bit B lacks is
//! not in B, so at least as many elements as there are such bits are not. That bounds what the two
//! have in common, and never too tightly.

use super::shingle_set::ShingleSet;
use crate::error::Error;
use crate::memory;
use crate::simd::Level;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// More words are not worth it: 4 kB of a document.
const MOST_WORDS: usize = 512;

/// Outlines by document.
pub struct Outlines {
    level: Level,
    /// Words of an outline.
    words: usize,
    bits: Vec<u64>,
    sizes: Vec<Size>,
}

/// The properties of a set besides its bits.
#[derive(Clone, Copy, Default)]
struct Size {
    /// How many elements it has, and one more; 0 if the document has no outline yet.
    elements: u32,
    /// How many bits are set.
    bits: u32,
}

impl Outlines {
    /// None yet, for so many documents, in about `memory` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(documents: usize, memory: usize) -> Result<Self, Error> {
        let words = (memory / documents.max(1) / size_of::<u64>()).clamp(1, MOST_WORDS);
        Ok(Self {
            level: Level::best(),
            words,
            bits: memory::filled(0, documents * words)?,
            sizes: memory::filled(Size::default(), documents)?,
        })
    }

    /// None yet, and room for no document; outlines fit sets of about so many elements.
    #[must_use]
    pub fn for_sets_of(elements: usize) -> Self {
        /// Bits for each element: enough that most of what two sets do not share shows.
        const BITS_OF_ELEMENT: usize = 3;
        let words = elements.saturating_mul(BITS_OF_ELEMENT).div_ceil(BITS).clamp(8, MOST_WORDS);
        Self { level: Level::best(), words, bits: Vec::new(), sizes: Vec::new() }
    }

    /// Makes room for one more document, and returns its number.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn add(&mut self) -> Result<usize, Error> {
        let document = self.sizes.len();
        memory::reserve(&mut self.bits, self.words)?;
        memory::push(&mut self.sizes, Size::default())?;
        self.bits.resize((document + 1) * self.words, 0);
        Ok(document)
    }

    /// The bytes that an outline takes.
    #[must_use]
    pub fn bytes_of_one(&self) -> usize {
        self.words * size_of::<u64>() + size_of::<Size>()
    }

    /// Draws the outline of a document as that of another one, which has one.
    pub fn copy(&mut self, from: usize, to: usize) {
        self.bits.copy_within(from * self.words..(from + 1) * self.words, to * self.words);
        self.sizes[to] = self.sizes[from];
    }

    /// True if a document has its outline.
    #[must_use]
    pub fn has(&self, document: usize) -> bool {
        self.sizes[document].elements > 0
    }

    /// Draws the outline of a document, in place of the one it has. A set has less than 2^32 - 1 elements.
    pub fn draw(&mut self, document: usize, set: &ShingleSet) {
        let own = &mut self.bits[document * self.words..][..self.words];
        own.fill(0);
        for &hash in set.hashes() {
            // Hashes are uniform: so are their places among the bits.
            let bit = ((u128::from(hash) * (BITS * own.len()) as u128) >> 64) as usize;
            own[bit / BITS] |= 1 << (bit % BITS);
        }
        let bits = own.iter().map(|word| word.count_ones()).sum();
        self.sizes[document] = Size { elements: set.len() as u32 + 1, bits };
    }

    /// True if the Jaccard similarity of two documents, which have outlines, may be `threshold` or
    /// more.
    #[must_use]
    pub fn may_reach(&self, a: usize, b: usize, threshold: f64) -> bool {
        let (left, right) = (self.sizes[a], self.sizes[b]);
        let (x, y) = (self.of(a), self.of(b));
        let both = self.level.compiled(
            #[inline(always)]
            || x.iter().zip(y).map(|(x, y)| u64::from((x & y).count_ones())).sum::<u64>(),
        );
        // The bits that one has and the other has not stand for an element each, at least.
        let within = |size: Size| u64::from(size.elements - 1) + both - u64::from(size.bits);
        let common = within(left).min(within(right)) as f64;
        let total = f64::from(left.elements - 1) + f64::from(right.elements - 1);
        // As the similarity itself is rounded.
        common / (total - common) >= threshold
    }

    fn of(&self, document: usize) -> &[u64] {
        &self.bits[document * self.words..][..self.words]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::mix::mix64;

    fn set(ids: impl Iterator<Item = u64>) -> ShingleSet {
        ShingleSet::from_hashes(ids.map(mix64).collect(), &mut || ())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_similar_pair_is_ruled_out(
            sets in prop::collection::vec(prop::collection::vec(0_u64..300, 0..250), 2..8),
            threshold in prop_oneof![0.01_f64..=1.0, Just(0.5), Just(1.0)],
            memory in prop_oneof![0..100_000_usize, 0..500_usize],
        ) {
            let sets: Vec<ShingleSet> = sets.into_iter().map(|ids| set(ids.into_iter())).collect();
            let mut outlines = Outlines::new(sets.len(), memory).unwrap();
            for (document, set) in sets.iter().enumerate() {
                prop_assert!(!outlines.has(document));
                outlines.draw(document, set);
                prop_assert!(outlines.has(document));
            }
            for (a, left) in sets.iter().enumerate() {
                for (b, right) in sets.iter().enumerate() {
                    let similar = left.jaccard(right).is_some_and(|jaccard| jaccard >= threshold);
                    prop_assert!(!similar || outlines.may_reach(a, b, threshold));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn outlines_that_come_and_go_are_as_good(
            sets in prop::collection::vec(prop::collection::vec(0_u64..300, 0..250), 3..12),
            threshold in prop_oneof![0.01_f64..=1.0, Just(0.5), Just(1.0)], elements in 0_usize..2000,
        ) {
            let sets: Vec<ShingleSet> = sets.into_iter().map(|ids| set(ids.into_iter())).collect();
            let mut outlines = Outlines::for_sets_of(elements);
            let (a, b, c) = (outlines.add().unwrap(), outlines.add().unwrap(), outlines.add().unwrap());
            for pair in sets.windows(2) {
                outlines.draw(a, &pair[0]);
                outlines.draw(b, &pair[1]);
                outlines.copy(b, c);
                let similar = pair[0].jaccard(&pair[1]).is_some_and(|jaccard| jaccard >= threshold);
                prop_assert!(!similar || outlines.may_reach(a, b, threshold));
                prop_assert_eq!(outlines.may_reach(a, b, threshold), outlines.may_reach(a, c, threshold));
                prop_assert!(pair[1].is_empty() || outlines.may_reach(b, c, 1.0));
            }
        }
    }

    #[test]
    fn most_pairs_below_the_threshold_are_ruled_out() {
        // 2,000 elements in 2 kB: of what they do not share, seven eighths show.
        let mut outlines = Outlines::new(2, 4096).unwrap();
        outlines.draw(0, &set(0..2000));
        outlines.draw(1, &set(300..2300));
        assert!(outlines.may_reach(0, 1, 0.7));
        assert!(!outlines.may_reach(0, 1, 0.8));
    }
}
