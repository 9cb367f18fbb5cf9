//! A second rule in addition to similarity, such as "both share a code": the share of same pairs that it keeps.

use std::f64::consts::FRAC_PI_2;

use super::fit::{Advice, Fit};
use super::pair_counts::bin_of;

/// Minimum increase of F1 for which a second rule is advised.
const LEAST_GAIN: f64 = 0.03;
/// The rule is judged by this quantile of the share that passes.
const CAREFUL: f64 = 0.1;

/// Number of shares of equal probability that represent their distribution.
const SHARES: usize = 16;
/// Number of steps of the integral over an angle.
const STEPS: usize = 4096;

/// Answers "same", by whether the pair passes a second rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Pairs that pass.
    pub passing: u64,
    /// Pairs that do not pass, which the rule would lose.
    pub failing: u64,
}

impl Answers {
    /// Shares of equal probability, ascending.
    pub(super) fn shares(self) -> [f64; SHARES] {
        std::array::from_fn(|place| self.quantile((place as f64 + 0.5) / SHARES as f64))
    }

    /// The share of same pairs that pass: `part` of Beta(`passing` + 0.5, `failing` + 0.5) lies below it.
    /// With x = sin(a)^2 its density has no poles.
    pub fn quantile(self, part: f64) -> f64 {
        let [passing, failing] = [self.passing, self.failing].map(|count| count as f64);
        let power = |base: f64, exponent: f64| if exponent > 0.0 { exponent * base.ln() } else { 0.0 };
        let log = |angle: f64| 2.0 * (power(angle.sin(), passing) + power(angle.cos(), failing));
        let angle = |step: f64| step / STEPS as f64 * FRAC_PI_2;
        let peak = log((passing / (passing + failing).max(1.0)).sqrt().asin());
        let density = |step: usize| (log(angle(step as f64 + 0.5)) - peak).exp();
        let all: f64 = (0..STEPS).map(density).sum();
        let mut below = 0.0;
        for step in 0..STEPS {
            let next = density(step);
            if below + next >= part * all {
                let within = (part * all - below) / next;
                return angle(step as f64 + within).sin().powi(2);
            }
            below += next;
        }
        1.0
    }
}

/// Advice from answers, with a second rule if that makes F1 higher.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The fit of all answers, or of the answers about pairs that pass the rule.
    pub fit: Fit,
    /// The threshold with the best F1.
    pub advice: Advice,
    /// True if only pairs that pass the rule should be found.
    pub is_ruled: bool,
}

impl Judgement {
    /// Compares the fit of `all` answers with a `rule`, if there is one: the fit of the answers about pairs that pass
    /// it, and how many of the pairs that are the same pass it.
    pub fn new(all: Fit, rule: Option<(Fit, Answers)>) -> Self {
        let advice = all.best();
        if let Some((fit, answers)) = rule {
            let ruled = fit.best_with(&answers.shares());
            let careful = fit.mean_f1(answers.quantile(CAREFUL))[bin_of(ruled.threshold)];
            if careful > advice.f1 + LEAST_GAIN {
                return Self { fit, advice: ruled, is_ruled: true };
            }
        }
        Self { fit: all, advice, is_ruled: false }
    }
}
