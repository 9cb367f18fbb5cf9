//! Outlines of sets: a few words that show that two of them cannot be similar.
//!
//! Where the sets of a group do not fit into memory, comparing two means fetching both, and most pairs turn out not to
//! be similar enough. So an outline keeps the number of elements of a set, and a bit for some of its hashes. Each bit
//! that A has and B lacks stands for at least one element that B does not have. That bounds what two sets share, and
//! never too tightly. The hashes need be neither sorted nor distinct: then the number of elements has two bounds.
//!
//! A large set has a wide outline. Widths are powers of two, and the low bits of a hash choose its bit. So a wide
//! outline is compared with a narrow one by laying its parts upon each other.
//!
//! If memory is short, all are narrow: most bits are set then, and rule nothing out. Wider outlines may be kept
//! elsewhere for these cases.
//!
//! Where one set is compared with thousands, waiting for their outlines takes the time. So these have a digest too: the
//! outline laid together in two cache lines, which rules out most of them.

use std::ops::Range;

use crate::error::Error;
use crate::hash::count_distinct;
use crate::limits::Check;
use crate::memory;
use crate::simd::Level;

const BITS: usize = u64::BITS as usize;

/// The most words of an outline for which room is made later: 4 kB for a document.
const MOST_WORDS: usize = 512;

/// The most bits for an element that are worth their memory.
const MOST_BITS: usize = 4;

/// Words of a digest, as a power of 2.
const DIGEST: u32 = 4;

/// Words that are looked at between two looks at the bound.
const STRIDE: usize = 64;

/// Outlines by document.
///
/// ```
/// use sketch::corpus::{Drawing, Outlines};
///
/// // Hashes of two sets of 500 elements, of which 200 are the same.
/// let hashes = |ids: std::ops::Range<u64>| ids.map(|id| (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
/// let mut sets: [Vec<u64>; 2] = [hashes(0..500), hashes(300..800)];
/// let mut outlines = Outlines::new(&[500, 500], 1 << 20)?;
/// for (document, set) in sets.iter_mut().enumerate() {
///     let drawing = Drawing::of(set, outlines.width(document), &mut || ())?;
///     outlines.put(document, &drawing);
/// }
/// // Their similarity is 0.25. That it does not reach 0.8 is seen without a look at the sets.
/// assert!(outlines.may_reach(0, 1, 0.25) && !outlines.may_reach(0, 1, 0.8));
/// # Ok::<(), sketch::Error>(())
/// ```
pub struct Outlines {
    level: Level,
    bits: Vec<u64>,
    documents: Vec<Outlined>,
    /// The width of an outline for which room is made later.
    width: u32,
    /// The outlines laid together, by document; none if these are as narrow, or made for a known number of documents.
    digests: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
struct Outlined {
    /// The start of its words.
    start: usize,
    /// The number of its words, as a power of 2.
    width: u32,
    /// The number of elements of the set; `None` if the document has no outline yet.
    elements: Option<Elements>,
}

#[derive(Clone, Copy)]
struct Elements {
    least: u32,
    most: u32,
}

impl Outlines {
    /// None yet, for documents with about so many elements each, in about `memory` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(elements: &[usize], memory: usize) -> Result<Self, Error> {
        // Bits for 64 elements: as many as memory has for all.
        let all =
            |bits: usize| elements.iter().map(|elements| words(*elements, bits)).sum::<usize>();
        let mut bits = MOST_BITS * BITS;
        while bits > 1 && all(bits) * size_of::<u64>() > memory {
            bits -= bits.div_ceil(4);
        }
        let mut documents = memory::with_capacity(elements.len())?;
        let mut start = 0;
        for &elements in elements {
            let words = words(elements, bits);
            documents.push(Outlined { start, width: words.trailing_zeros(), elements: None });
            start += words;
        }
        Ok(Self {
            level: Level::best(),
            bits: memory::filled(0, start)?,
            documents,
            width: 0,
            digests: Vec::new(),
        })
    }

    /// None yet, and room for no document; outlines fit sets of about so many elements.
    #[must_use]
    pub fn for_sets_of(elements: usize) -> Self {
        /// Bits for each element: enough that most of what two sets do not share shows.
        const BITS_OF_ELEMENT: usize = 3;
        let words = elements.saturating_mul(BITS_OF_ELEMENT).div_ceil(BITS).clamp(8, MOST_WORDS);
        let width = words.next_power_of_two().trailing_zeros();
        Self {
            level: Level::best(),
            bits: Vec::new(),
            documents: Vec::new(),
            width,
            digests: Vec::new(),
        }
    }

    /// Makes room for one more document, and returns its number.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn add(&mut self) -> Result<usize, Error> {
        let (document, start) = (self.documents.len(), self.bits.len());
        let end = start + (1 << self.width);
        memory::resize(&mut self.bits, end, 0)?;
        if self.width > DIGEST {
            memory::resize(&mut self.digests, (document + 1) << DIGEST, 0)?;
        }
        memory::push(&mut self.documents, Outlined { start, width: self.width, elements: None })?;
        Ok(document)
    }

    /// The bytes that an outline takes.
    #[must_use]
    pub fn bytes_of_one(&self) -> usize {
        let digest = if self.width > DIGEST { size_of::<u64>() << DIGEST } else { 0 };
        size_of::<Outlined>() + (size_of::<u64>() << self.width) + digest
    }

    /// True if a document has its outline.
    #[must_use]
    pub fn has(&self, document: usize) -> bool {
        self.documents[document].elements.is_some()
    }

    /// Draws the outline of a document whose elements have these hashes, less than 2^32, in any order and with any
    /// repeats: that takes a fifth of the time of making a set of them.
    pub fn draw_hashes(&mut self, document: usize, hashes: &[u64]) {
        let Outlined { start, width, .. } = self.documents[document];
        let own = &mut self.bits[start..][..1 << width];
        own.fill(0);
        mark(own, hashes);
        // Each bit stands for an element at least.
        let least = own.iter().map(|word| word.count_ones()).sum();
        self.documents[document].elements = Some(Elements { least, most: hashes.len() as u32 });
        self.lay_together(document);
    }

    fn lay_together(&mut self, document: usize) {
        let Outlined { start, width, .. } = self.documents[document];
        if let Some(digest) = self.digests.get_mut(digest(document)) {
            lay(digest, &self.bits[start..][..1 << width]);
        }
    }

    /// The width of a document's outline, for a [`Drawing`].
    #[must_use]
    pub fn width(&self, document: usize) -> u32 {
        self.documents[document].width
    }

    /// Puts a drawing in place of the document's outline, which is not wider.
    pub fn put(&mut self, document: usize, drawing: &Drawing) {
        let Outlined { start, width, .. } = self.documents[document];
        lay(&mut self.bits[start..][..1 << width], &drawing.bits);
        self.documents[document].elements = Some(drawing.elements);
    }

    /// True if the Jaccard similarity of two documents may be `threshold` or more, as far as their outlines say.
    #[must_use]
    pub fn may_reach(&self, a: usize, b: usize, threshold: f64) -> bool {
        let digests = [a, b].map(|document| self.digests.get(digest(document)));
        if let [Some(x), Some(y)] = digests
            && !self.may_reach_by([a, b], [x, y], threshold)
        {
            return false;
        }
        self.may_reach_by([a, b], [a, b].map(|document| self.of(document)), threshold)
    }

    /// The same by other outlines of the two: by wider ones, which are kept elsewhere.
    #[must_use]
    pub fn may_reach_by(
        &self,
        documents: [usize; 2],
        outlines: [&[u64]; 2],
        threshold: f64,
    ) -> bool {
        let [mut wide, mut narrow] = [0, 1].map(|i| (outlines[i], self.documents[documents[i]]));
        if wide.0.len() < narrow.0.len() {
            std::mem::swap(&mut wide, &mut narrow);
        }
        let ((x, wide), (y, narrow)) = (wide, narrow);
        let (Some(left), Some(right)) = (wide.elements, narrow.elements) else { return true };
        let bound = SharedBound { left, right, threshold };
        let mut lacking = Lacking::default();
        if !bound.allows(lacking) {
            return false;
        }
        for start in (0..y.len()).step_by(STRIDE) {
            let end = y.len().min(start + STRIDE);
            let part = self.level.compiled(
                #[inline(always)]
                || Lacking::of(x, y, start..end),
            );
            lacking.wide += part.wide;
            lacking.narrow += part.narrow;
            if !bound.allows(lacking) {
                return false;
            }
        }
        true
    }

    fn of(&self, document: usize) -> &[u64] {
        let Outlined { start, width, .. } = self.documents[document];
        &self.bits[start..][..1 << width]
    }
}

/// The words of the outline of so many elements, a power of two, at so many bits for 64 of them.
fn words(elements: usize, bits: usize) -> usize {
    let words = elements.saturating_mul(bits) / BITS / BITS;
    if words < 2 { 1 } else { words.next_power_of_two() / 2 }
}

/// Lays the parts of an outline upon each other, each so wide.
fn lay(narrow: &mut [u64], wide: &[u64]) {
    narrow.fill(0);
    for part in wide.chunks_exact(narrow.len()) {
        narrow.iter_mut().zip(part).for_each(|(word, more)| *word |= more);
    }
}

/// The bound of a similarity, by what is known of two sets.
#[derive(Clone, Copy)]
struct SharedBound {
    left: Elements,
    right: Elements,
    threshold: f64,
}

impl SharedBound {
    /// True if the similarity may be the threshold or more. The bits that one has and the other has not stand for an
    /// element each, at least.
    #[inline(always)]
    fn allows(self, lacking: Lacking) -> bool {
        let Self { left, right, threshold } = self;
        let total = u64::from(left.least) + u64::from(right.least);
        let within = |elements: Elements, lacking| u64::from(elements.most).saturating_sub(lacking);
        let common = within(left, lacking.wide).min(within(right, lacking.narrow));
        let united = total.saturating_sub(common).max(common + lacking.wide + lacking.narrow);
        // As the similarity itself is rounded.
        common as f64 / united as f64 >= threshold
    }
}

/// The outline of a document, drawn by somebody else.
pub struct Drawing {
    bits: Vec<u64>,
    elements: Elements,
}

impl Drawing {
    /// The outline of a set, so wide, by its hashes in any order and with any repeats; they may be in another order
    /// afterwards. A set has less than 2^32 elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn of(hashes: &mut [u64], width: u32, check: Check) -> Result<Self, Error> {
        let mut bits = memory::filled(0, 1 << width)?;
        mark(&mut bits, hashes);
        let elements = count_distinct(hashes, check)?;
        Ok(Self::new(bits, elements as u32))
    }

    /// The outline that has such words, of a set of so many elements.
    #[must_use]
    pub fn new(words: Vec<u64>, elements: u32) -> Self {
        Self { bits: words, elements: Elements { least: elements, most: elements } }
    }

    /// The words of the outline.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.bits
    }

    /// The number of elements of the set.
    #[must_use]
    pub fn elements(&self) -> u32 {
        self.elements.least
    }

    /// The width beyond which the outline of a set of about so many elements shows little more.
    #[must_use]
    pub fn widest(elements: usize) -> u32 {
        words(elements, MOST_BITS * BITS).trailing_zeros()
    }
}

fn digest(document: usize) -> Range<usize> {
    document << DIGEST..(document + 1) << DIGEST
}

/// Sets the bits of an outline, whose words are a power of two.
fn mark(own: &mut [u64], hashes: &[u64]) {
    for &hash in hashes {
        // Hashes are uniform: so are their places among the bits.
        let bit = hash as usize & (BITS * own.len() - 1);
        own[bit / BITS] |= 1 << (bit % BITS);
    }
}

/// The bits of each of two outlines that the other one lacks, counted.
#[derive(Clone, Copy, Default)]
struct Lacking {
    wide: u64,
    narrow: u64,
}

impl Lacking {
    /// Counts them in some words of the narrow one.
    #[inline(always)]
    fn of(x: &[u64], y: &[u64], range: Range<usize>) -> Self {
        let (mut wide, mut narrow) = (0, 0);
        let own = &y[range.clone()];
        if x.len() == y.len() {
            for (x, y) in x[range].iter().zip(own) {
                wide += u64::from((x & !y).count_ones());
                narrow += u64::from((y & !x).count_ones());
            }
            return Self { wide, narrow };
        }
        let mut laid = [0; STRIDE];
        let laid = &mut laid[..own.len()];
        for part in x.chunks_exact(y.len()) {
            for ((x, y), laid) in part[range.clone()].iter().zip(own).zip(&mut *laid) {
                wide += u64::from((x & !y).count_ones());
                *laid |= x;
            }
        }
        for (laid, y) in laid.iter().zip(own) {
            narrow += u64::from((y & !laid).count_ones());
        }
        Self { wide, narrow }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ShingleSet;
    use crate::hash::mix::mix64;

    /// Draws an outline as another one does.
    fn put(outlines: &mut Outlines, document: usize, mut hashes: Vec<u64>) {
        let drawing = Drawing::of(&mut hashes, outlines.width(document), &mut || ()).unwrap();
        outlines.put(document, &drawing);
    }

    fn set(ids: impl Iterator<Item = u64>) -> ShingleSet {
        ShingleSet::from_hashes(ids.map(mix64).collect(), &mut || ())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_similar_pair_is_ruled_out(
            sets in prop::collection::vec(prop::collection::vec(0_u64..300, 0..250), 2..8),
            about in prop::collection::vec(0_usize..20_000, 8),
            threshold in prop_oneof![0.01_f64..=1.0, Just(0.5), Just(1.0)],
            memory in prop_oneof![0..100_000_usize, 0..500_usize],
        ) {
            let sets: Vec<ShingleSet> = sets.into_iter().map(|ids| set(ids.into_iter())).collect();
            let mut outlines = Outlines::new(&about[..sets.len()], memory).unwrap();
            for (document, set) in sets.iter().enumerate() {
                prop_assert!(!outlines.has(document));
                let mut hashes: Vec<u64> = set.iter().chain(set.iter()).collect();
                hashes.reverse();
                match document % 3 {
                    0 => outlines.draw_hashes(document, &hashes),
                    1 => put(&mut outlines, document, hashes),
                    _ => {
                        // A wider one is laid together.
                        let width = outlines.width(document) + 2;
                        let drawing = Drawing::of(&mut hashes, width, &mut || ()).unwrap();
                        outlines.put(document, &drawing);
                        let mut same = vec![0; 1 << outlines.width(document)];
                        mark(&mut same, &hashes);
                        prop_assert_eq!(outlines.of(document), &same);
                    }
                }
                prop_assert!(outlines.has(document));
            }
            let wide = sets.iter().zip(&about).map(|(set, about)| {
                let mut hashes: Vec<u64> = set.iter().collect();
                Drawing::of(&mut hashes, Drawing::widest(*about), &mut || ()).unwrap()
            });
            let wide: Vec<Drawing> = wide.collect();
            for (a, left) in sets.iter().enumerate() {
                for (b, right) in sets.iter().enumerate() {
                    let similar = left.jaccard(right).is_some_and(|jaccard| jaccard >= threshold);
                    prop_assert!(!similar || outlines.may_reach(a, b, threshold));
                    let words = [a, b].map(|of| wide[of].words());
                    prop_assert!(!similar || outlines.may_reach_by([a, b], words, threshold));
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
            let mut outlines = Outlines::for_sets_of(elements);
            let [a, b, c, empty] = [0; 4].map(|_| outlines.add().unwrap());
            for pair in sets.windows(2) {
                // Identifiers repeat, and are in no order.
                let hashes = [0, 1].map(|of: usize| pair[of].iter().map(|id| mix64(*id)).collect::<Vec<_>>());
                let sets = [0, 1].map(|of: usize| set(pair[of].iter().copied()));
                outlines.draw_hashes(a, &hashes[0]);
                outlines.draw_hashes(b, &hashes[1]);
                outlines.draw_hashes(c, &hashes[1]);
                let similar = sets[0].jaccard(&sets[1]).is_some_and(|jaccard| jaccard >= threshold);
                prop_assert!(!similar || outlines.may_reach(a, b, threshold));
                prop_assert_eq!(outlines.may_reach(a, b, threshold), outlines.may_reach(a, c, threshold));
                prop_assert!(outlines.may_reach(a, empty, threshold));
                prop_assert!(sets[1].is_empty() || outlines.may_reach(b, c, 1.0));
            }
        }
    }

    #[test]
    fn most_pairs_below_the_threshold_are_ruled_out() {
        // 2,000 elements in 1 kB and less: of what they do not share, more than half shows.
        for about in [[8192, 8192], [8192, 4096]] {
            let mut outlines = Outlines::new(&about, 2 << 10).unwrap();
            put(&mut outlines, 0, (0..2000).map(mix64).collect());
            put(&mut outlines, 1, (300..2300).map(mix64).collect());
            assert!(outlines.may_reach(0, 1, 0.7));
            assert!(!outlines.may_reach(0, 1, 0.9));
        }
    }

    #[test]
    fn outlines_of_hashes_are_about_as_good() {
        let mut outlines = Outlines::for_sets_of(900);
        let (a, b) = (outlines.add().unwrap(), outlines.add().unwrap());
        let hashes = |ids: Range<u64>| ids.map(mix64).collect::<Vec<_>>();
        outlines.draw_hashes(a, &hashes(0..900));
        outlines.draw_hashes(b, &hashes(200..1100));
        // They share 700 of 1100.
        assert!(outlines.may_reach(a, b, 0.63));
        assert!(!outlines.may_reach(a, b, 0.75));
    }

    #[test]
    fn memory_goes_to_the_large_sets() {
        let outlines = Outlines::new(&[100, 100_000, 1000, 0], 32 << 10).unwrap();
        assert!(outlines.bits.len() * size_of::<u64>() <= 32 << 10);
        let widths: Vec<u32> = outlines.documents.iter().map(|document| document.width).collect();
        assert!(widths[1] >= widths[2] + 5 && widths[2] >= widths[0], "{widths:?}");
    }
}
