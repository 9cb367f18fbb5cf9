//! Selects the pairs that a person is asked about.

use std::f64::consts::TAU;

use super::fit::Fit;
use crate::hash::mix::{GOLDEN, mix64};
use crate::{Result, memory};

/// Standard deviation of the questions around a threshold that may be the best.
const AROUND: f64 = 0.02;

/// Selects `count` pairs: one from each of `count` intervals of equal width from `lowest` to 1, then a second one from
/// each, until there are enough. Returns their positions. `similarities` ascend. With the same similarities, order and
/// `seed` the selection is the same.
pub fn spread(similarities: &[f64], lowest: f64, count: usize, seed: u64) -> Result<Vec<usize>> {
    let mut draws = SplitMix64(seed);
    let mut intervals: Vec<Vec<usize>> = memory::collect((0..count).map(|_| Vec::new()))?;
    for (place, similarity) in similarities.iter().enumerate() {
        let part = (similarity - lowest) / (1.0 - lowest).max(f64::EPSILON);
        let interval = ((part * count as f64 + 1e-9) as usize).min(count.saturating_sub(1));
        if let Some(interval) = intervals.get_mut(interval) {
            memory::push(interval, place)?;
        }
    }
    let wanted = count.min(similarities.len());
    let mut chosen = memory::with_capacity(wanted)?;
    while chosen.len() < wanted {
        for interval in intervals.iter_mut().filter(|interval| !interval.is_empty()) {
            if chosen.len() < wanted {
                let drawn = (draws.next() * interval.len() as f64) as usize;
                chosen.push(interval.swap_remove(drawn.min(interval.len() - 1)));
            }
        }
    }
    chosen.sort_unstable();
    Ok(chosen)
}

impl Fit {
    /// Selects `count` pairs whose answers are most informative about the threshold. Each is the one nearest to the
    /// best threshold of a curve drawn from the posterior, plus noise. Returns their positions; `similarities` and
    /// `seed` are as in [`spread`].
    pub fn next(&self, similarities: &[f64], count: usize, seed: u64) -> Result<Vec<usize>> {
        let mut draws = SplitMix64(seed);
        let mut is_free = memory::filled(true, similarities.len())?;
        let wanted = count.min(similarities.len());
        let mut chosen = memory::with_capacity(wanted)?;
        while chosen.len() < wanted {
            let at = self.drawn(draws.next()) + AROUND * draws.normal();
            let above = similarities.partition_point(|similarity| *similarity < at);
            let upper = (above..is_free.len()).find(|place| is_free[*place]);
            let lower = (0..above).rfind(|place| is_free[*place]);
            let distance = |place: &usize| (similarities[*place] - at).abs();
            let nearest = [upper, lower].into_iter().flatten();
            let nearest = nearest.min_by(|a, b| distance(a).total_cmp(&distance(b)));
            let Some(place) = nearest else { break };
            is_free[place] = false;
            chosen.push(place);
        }
        chosen.sort_unstable();
        Ok(chosen)
    }
}

/// Pseudo-random numbers from a seed: SplitMix64.
struct SplitMix64(u64);

impl SplitMix64 {
    /// A uniform number in `[0, 1)`.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        // The number of bits in a fraction.
        (mix64(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normally distributed number, by the Box-Muller transform.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.next(), self.next());
        (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
    }
}
