//! The curve of "same" by similarity, with its uncertainty.

use super::pair_counts::{BINS, Label, PairCounts, bin_of, middle, start};
use crate::{Result, memory};

/// The centers of the curves: from -0.04 to 1.08 by 0.02.
const CENTERS: usize = 57;
/// The widths of the curves, in units of similarity.
const WIDTHS: [f64; 9] = [0.005, 0.01, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22];
const CURVES: usize = CENTERS * WIDTHS.len();
/// Assumed share of answers that are slips, in either direction.
const SLIPS: f64 = 0.02;
/// Power of the likelihood for intervals: answers about one source are less independent than in the model.
const CAUTION: f64 = 0.6;
/// Share of the posterior below and above an interval.
const TAIL: f64 = 0.05;
/// Probability with which a requested precision must be reached.
const SURE: f64 = 0.9;
/// Posterior below which a point of the grid is ignored.
const NEGLIGIBLE: f64 = 1e-10;
/// Maximum number of further answers that are worth requesting.
const MOST_ANSWERS: u64 = 5000;

/// The share of "same" that the curve approaches towards similarity 1, with a prior for each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plateaus {
    /// Very similar pairs are most likely all the same. For the best F1.
    Usual,
    /// No assumption about very similar pairs. For claims about precision.
    Flat,
}

impl Plateaus {
    /// The values.
    fn values(self) -> &'static [f64] {
        match self {
            Self::Usual => &[1.0, 0.97, 0.92, 0.85, 0.7, 0.5, 0.3, 0.1],
            Self::Flat => &[1.0, 0.99, 0.98, 0.97, 0.96, 0.94, 0.92, 0.89, 0.85, 0.78, 0.7, 0.5, 0.3, 0.1],
        }
    }

    /// The priors of the first values, which need not add up to 1; the others have the prior 1.
    fn priors(self) -> &'static [f64] {
        match self {
            Self::Usual => &[6.0, 2.0, 1.5, 1.2],
            Self::Flat => &[],
        }
    }
}

/// The posterior mean, with an interval: 5 % are below `low`, and 5 % above `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The posterior mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A threshold, with its expected results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// Minimum similarity of found pairs, a multiple of 0.005.
    pub threshold: f64,
    /// Number of pairs found.
    pub found: f64,
    /// Posterior mean of F1, the harmonic mean of precision and recall.
    pub f1: f64,
    /// Share of found pairs that are the same.
    pub precision: Estimate,
    /// Share of counted same pairs that are found.
    pub recall: Estimate,
}

/// The curves that are consistent with answers about some pairs, and their predictions for all pairs.
#[derive(Clone, Debug)]
pub struct Fit {
    plateaus: Plateaus,
    /// The numbers of answers "same" and "different" in each bin with answers.
    answers: Vec<(usize, [f64; 2])>,
    /// For each bin, the number of pairs in it and above.
    pairs: [f64; BINS],
    /// For each curve with a plateau of 1 and each bin, the number of same pairs in it and above.
    same: Vec<[f64; BINS]>,
    /// For each curve and plateau the posterior, and the posterior with [`CAUTION`].
    posterior: Vec<f64>,
    cautious: Vec<f64>,
}

impl Fit {
    /// Fits the curves to `labels`, for a source with these `pairs`.
    pub fn new(labels: impl IntoIterator<Item = Label>, pairs: &PairCounts, plateaus: Plateaus) -> Result<Self> {
        let mut counts = [[0.0; 2]; BINS];
        for Label { similarity, is_same } in labels {
            counts[bin_of(similarity)][usize::from(!is_same)] += 1.0;
        }
        let given = (0..).zip(counts).filter(|(_, counts)| *counts != [0.0; 2]);
        let answers = memory::collect(given)?;
        let mut same = memory::with_capacity(CURVES)?;
        for (center, width) in curves() {
            let number = |bin: usize| pairs.bins()[bin] * logistic(middle(bin), center, width);
            same.push(summed(number));
        }
        Ok(Self {
            plateaus,
            pairs: summed(|bin| pairs.bins()[bin]),
            same,
            posterior: posterior(&answers, plateaus, 1.0)?,
            cautious: posterior(&answers, plateaus, CAUTION)?,
            answers,
        })
    }

    /// The threshold with the greatest posterior mean of F1; if a gap has several, the middle one.
    pub fn best(&self) -> Advice {
        self.best_with(&[1.0])
    }

    /// The same for a fit that covers only a share of the same pairs: one of `shares`, of equal probability.
    pub(super) fn best_with(&self, shares: &[f64]) -> Advice {
        let mean = self.mean_f1(average(shares));
        let most = mean.iter().copied().fold(0.0, f64::max);
        let is_best = |bin: &usize| mean[*bin] >= most - 1e-9;
        let first = (0..BINS).find(is_best).unwrap_or(BINS - 1);
        let width = (first..BINS).take_while(is_best).count();
        self.advice(first + width / 2, shares)
    }

    /// The lowest threshold with a precision of at least `precision` with probability 0.9. `None` if the answers do not
    /// show it for any threshold that finds pairs. Use [`Plateaus::Flat`] for a cautious claim.
    pub fn reaching(&self, precision: f64) -> Option<Advice> {
        let bin = self.shown(&self.posterior, precision)?;
        Some(self.advice(bin, &[1.0]))
    }

    /// Minimum number of further answers, all "same" and about the most similar pairs, after which
    /// [`reaching`](Self::reaching) returns a threshold. `None` if 5,000 do not suffice.
    pub fn answers_until(&self, precision: f64) -> Result<Option<u64>> {
        let Some(top) = (0..BINS).rev().find(|bin| self.pairs[*bin] > 0.0) else {
            return Ok(None);
        };
        let suffices = |count: u64| -> Result<bool> {
            let mut answers = memory::copied(&self.answers)?;
            memory::push(&mut answers, (top, [count as f64, 0.0]))?;
            Ok(self.shown(&posterior(&answers, self.plateaus, 1.0)?, precision).is_some())
        };
        let mut high = 1;
        while !suffices(high)? {
            if high >= MOST_ANSWERS {
                return Ok(None);
            }
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low.midpoint(high);
            if suffices(middle)? { high = middle } else { low = middle }
        }
        Ok(Some(high))
    }

    /// The first bin with a precision of at least `precision` with probability [`SURE`].
    fn shown(&self, posterior: &[f64], precision: f64) -> Option<usize> {
        let probability = |bin: usize| -> f64 {
            let reached = self
                .points(posterior)
                .filter(|(_, plateau, same)| plateau * same[bin] >= (precision - 1e-9) * self.pairs[bin]);
            reached.map(|(weight, ..)| weight).sum()
        };
        (0..BINS).take_while(|bin| self.pairs[*bin] > 0.0).find(|bin| probability(*bin) >= SURE)
    }

    /// The advice for the threshold at the start of a bin, with `shares` as in [`best_with`](Self::best_with).
    fn advice(&self, bin: usize, shares: &[f64]) -> Advice {
        let pairs = self.pairs[bin];
        let precision =
            self.estimate(&[1.0], |plateau, same| if pairs > 0.0 { plateau * same[bin] / pairs } else { 0.0 });
        let recall = self.estimate(shares, |_, same| if same[0] > 0.0 { same[bin] / same[0] } else { 0.0 });
        Advice { threshold: start(bin), found: pairs, f1: self.mean_f1(average(shares))[bin], precision, recall }
    }

    /// An estimate of the product of a value of each point and one of `shares`, of equal probability.
    fn estimate(&self, shares: &[f64], of: impl Fn(f64, &[f64; BINS]) -> f64) -> Estimate {
        let mean = self.points(&self.posterior).map(|(weight, plateau, same)| weight * of(plateau, same));
        let mean = mean.sum::<f64>() * average(shares);
        let cautious = self.points(&self.cautious).flat_map(|(weight, plateau, same)| {
            let value = of(plateau, same);
            shares.iter().map(move |share| (value * share, weight))
        });
        let mut values: Vec<(f64, f64)> = cautious.collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let all: f64 = values.iter().map(|(_, weight)| weight).sum();
        let quantile = |part: f64| {
            let mut below = 0.0;
            let found = values.iter().find(|(_, weight)| {
                below += weight;
                below >= part * all
            });
            found.or(values.last()).map_or(0.0, |(value, _)| *value)
        };
        // The mean comes from the sharper posterior, so it may lie outside of the cautious interval.
        let (low, high) = (quantile(TAIL), quantile(1.0 - TAIL));
        Estimate { mean, low: low.min(mean), high: high.max(mean) }
    }

    /// Posterior mean of F1 by threshold, for a fit that covers `share` of the same pairs.
    pub(super) fn mean_f1(&self, share: f64) -> [f64; BINS] {
        let mut mean = [0.0; BINS];
        for (weight, plateau, same) in self.points(&self.posterior) {
            for (bin, mean) in mean.iter_mut().enumerate() {
                *mean += weight * f1(plateau, same, self.pairs[bin], bin, share);
            }
        }
        mean
    }

    /// The threshold with the best F1 at the point of the grid where the cumulative posterior exceeds `part`, a number
    /// from 0 to 1.
    pub(super) fn drawn(&self, part: f64) -> f64 {
        let mut below = 0.0;
        let mut points = self.points(&self.posterior);
        let Some((_, plateau, same)) = points.find(|(weight, ..)| {
            below += weight;
            below > part
        }) else {
            return self.best().threshold;
        };
        let f1 = |bin: usize| f1(plateau, same, self.pairs[bin], bin, 1.0);
        let best = (0..BINS).max_by(|a, b| f1(*a).total_cmp(&f1(*b))).unwrap_or(0);
        start(best)
    }

    /// The points of the grid that matter: the posterior, the plateau, and the numbers of same pairs before they are
    /// multiplied by the plateau.
    fn points<'a>(&'a self, posterior: &'a [f64]) -> impl Iterator<Item = (f64, f64, &'a [f64; BINS])> + 'a {
        let plateaus = self.plateaus.values();
        let weights = posterior.iter().enumerate().filter(|(_, weight)| **weight > NEGLIGIBLE);
        weights.map(|(point, weight)| (*weight, plateaus[point % plateaus.len()], &self.same[point / plateaus.len()]))
    }
}

fn average(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// F1 at a bin with `pairs` pairs in it and above.
fn f1(plateau: f64, same: &[f64; BINS], pairs: f64, bin: usize, share: f64) -> f64 {
    let (found, all) = (plateau * same[bin], plateau * same[0] / share);
    if found > 0.0 { 2.0 * found / (pairs + all) } else { 0.0 }
}

/// The posterior of each curve and plateau, which adds up to 1, with the likelihood of `answers` to a `power`.
fn posterior(answers: &[(usize, [f64; 2])], plateaus: Plateaus, power: f64) -> Result<Vec<f64>> {
    let (plateaus, priors) = (plateaus.values(), plateaus.priors().iter().chain(std::iter::repeat(&1.0)));
    let mut logs = memory::with_capacity(CURVES * plateaus.len())?;
    for (center, width) in curves() {
        let mut rises = [0.0; BINS];
        for (rise, (bin, _)) in rises.iter_mut().zip(answers) {
            *rise = logistic(middle(*bin), center, width);
        }
        for (plateau, prior) in plateaus.iter().zip(priors.clone()) {
            let each = rises.iter().zip(answers).map(|(rise, (_, [same, different]))| {
                let chance = SLIPS + (1.0 - 2.0 * SLIPS) * plateau * rise;
                same * chance.ln() + different * (1.0 - chance).ln()
            });
            logs.push(prior.ln() + power * each.sum::<f64>());
        }
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter_mut().for_each(|log| *log = (*log - most).exp());
    let all: f64 = logs.iter().sum();
    logs.iter_mut().for_each(|weight| *weight /= all);
    Ok(logs)
}

/// Center and width of each curve.
fn curves() -> impl Iterator<Item = (f64, f64)> {
    let centers = (0..CENTERS).map(|place| place as f64 * 0.02 - 0.04);
    centers.flat_map(|center| WIDTHS.map(|width| (center, width)))
}

fn logistic(similarity: f64, center: f64, width: f64) -> f64 {
    1.0 / (1.0 + (-(similarity - center) / width).exp())
}

/// For each bin, the sum over it and the bins above.
fn summed(of: impl Fn(usize) -> f64) -> [f64; BINS] {
    let (mut sums, mut sum) = ([0.0; BINS], 0.0);
    for bin in (0..BINS).rev() {
        sum += of(bin);
        sums[bin] = sum;
    }
    sums
}
