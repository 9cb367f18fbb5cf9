//! The counts of an audit: for each document of the sample, by bands of similarity.

use sketch::memory;

use crate::options::Verify;

/// The width of a band of similarity.
const WIDTH: f64 = 0.05;

/// The counts of one document of the sample; a pair is one of it with any other document.
#[derive(Clone, Default)]
pub struct Tally {
    /// By band.
    counts: Vec<BandCounts>,
    /// Pairs of similarity 1: no index could miss them, so they prove nothing.
    copies: u64,
    /// Those of them that were found.
    copies_found: u64,
}

/// Numbers of pairs of one document in one band.
#[derive(Clone, Copy, Default)]
struct BandCounts {
    /// Those whose similarity is in the band, but are not copies.
    pairs: u32,
    /// Those of them that were found.
    found: u32,
    /// Those that were given a similarity in the band, but are not copies.
    returned: u32,
    /// Those of them that reach the threshold.
    right: u32,
}

/// The bands of similarity from a threshold up, and what was counted of each document.
pub struct Bands {
    /// The similarities where they begin; the last one ends at 1.
    starts: Vec<f64>,
    tallies: Vec<Tally>,
    /// The number of documents.
    pub population: u64,
    verify: Verify,
}

/// Recall and precision, each with its 95 % interval, of a range of similarities.
pub struct Shares {
    pub from: f64,
    pub to: f64,
    /// Pairs in it, but for copies.
    pub pairs: u64,
    /// Those of them that were found.
    pub pairs_found: u64,
    /// The share that was found, and its interval; nothing where there is nothing to find.
    pub recall: [Option<f64>; 3],
    /// Pairs that were given a similarity in the range, but for copies.
    pub returned: u64,
    /// The share of them that reach the threshold, and its interval.
    pub precision: [Option<f64>; 3],
    /// Copies, and those that were found: for the whole range only.
    pub copies: Option<u64>,
    pub copies_found: Option<u64>,
}

impl Tally {
    /// Counts a pair of that exact similarity, which was found with a similarity, or not.
    pub fn pair(&mut self, bands: &Bands, similarity: f64, given: Option<f64>) {
        if similarity >= 1.0 {
            self.copies += 1;
            self.copies_found += u64::from(given.is_some());
            return;
        }
        let counts = self.band(bands, similarity);
        counts.pairs += 1;
        counts.found += u32::from(given.is_some());
        if let Some(given) = given {
            let counts = self.band(bands, given);
            counts.returned += 1;
            counts.right += 1;
        }
    }

    /// Counts a pair that was found with that similarity, but does not reach the threshold.
    pub fn wrong(&mut self, bands: &Bands, given: f64) {
        self.band(bands, given).returned += 1;
    }

    fn band(&mut self, bands: &Bands, similarity: f64) -> &mut BandCounts {
        self.counts.resize(bands.starts.len(), BandCounts::default());
        let place = bands.starts.partition_point(|start| *start <= similarity).max(1) - 1;
        &mut self.counts[place]
    }
}

impl Bands {
    /// Bands from `threshold` to 1, of pairs that are verified so.
    pub fn above(threshold: f64, verify: Verify) -> Self {
        let first = (threshold / WIDTH).floor() as usize + 1;
        let inner = (first..).map(|n| n as f64 * WIDTH).take_while(|start| *start < 1.0 - 1e-9);
        // Without one of no width, where the threshold is a multiple of the width but for rounding.
        let inner = inner.filter(|start| start - threshold > 1e-9);
        let starts =
            std::iter::once(threshold).chain(inner.map(|start| (start * 100.0).round() / 100.0));
        Self { starts: starts.collect(), tallies: Vec::new(), population: 0, verify }
    }

    /// The threshold.
    pub fn least(&self) -> f64 {
        self.starts[0]
    }

    /// Adds what was counted of a document.
    pub fn add(&mut self, tally: Tally) -> Result<(), sketch::Error> {
        memory::push(&mut self.tallies, tally)
    }

    /// The number of documents that were looked at.
    pub fn sampled(&self) -> u64 {
        self.tallies.len() as u64
    }

    /// For all similarities, then for each band.
    pub fn shares(&self) -> Vec<Shares> {
        let bands = self.starts.len();
        let mut all = self.shares_of(0..bands);
        all.copies = Some(self.tallies.iter().map(|tally| tally.copies).sum());
        all.copies_found = Some(self.tallies.iter().map(|tally| tally.copies_found).sum());
        std::iter::once(all).chain((0..bands).map(|band| self.shares_of(band..band + 1))).collect()
    }

    fn shares_of(&self, bands: std::ops::Range<usize>) -> Shares {
        let sums = |part: fn(&BandCounts) -> u32, whole: fn(&BandCounts) -> u32| {
            let of = |tally: &Tally| {
                let counts = tally.counts.get(bands.clone()).unwrap_or_default();
                let sum =
                    |of: fn(&BandCounts) -> u32| counts.iter().map(|c| u64::from(of(c))).sum();
                (sum(part), sum(whole))
            };
            self.tallies.iter().map(of).collect::<Vec<(u64, u64)>>()
        };
        let recall = sums(|counts| counts.found, |counts| counts.pairs);
        let precision = sums(|counts| counts.right, |counts| counts.returned);
        Shares {
            from: self.starts[bands.start],
            to: self.starts.get(bands.end).copied().unwrap_or(1.0),
            pairs: recall.iter().map(|(_, whole)| whole).sum(),
            pairs_found: recall.iter().map(|(part, _)| part).sum(),
            recall: self.share(&recall),
            returned: precision.iter().map(|(_, whole)| whole).sum(),
            precision: self.precision(&precision),
            copies: None,
            copies_found: None,
        }
    }

    /// The share of what was given that is right. Texts that are compared exactly leave no doubt: if all
    /// of it is right, then because it was verified, and not by chance.
    fn precision(&self, documents: &[(u64, u64)]) -> [Option<f64>; 3] {
        let given = documents.iter().any(|(_, whole)| *whole > 0);
        let all_right = documents.iter().all(|(part, whole)| part == whole);
        match self.verify {
            Verify::Exact if given && all_right => [Some(1.0); 3],
            _ => self.share(documents),
        }
    }

    /// A share with its 95 % interval, from what each document of the sample adds to part and whole.
    fn share(&self, documents: &[(u64, u64)]) -> [Option<f64>; 3] {
        let sum = |of: fn(&(u64, u64)) -> u64| documents.iter().map(of).sum::<u64>();
        let (part, whole) = (sum(|(part, _)| *part), sum(|(_, whole)| *whole));
        match sketch::ratio_interval(documents, self.population) {
            Some((low, high)) => [part as f64 / whole as f64, low, high].map(Some),
            None => [None; 3],
        }
    }
}
