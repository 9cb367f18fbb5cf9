//! A second rule in addition to similarity, such as "both share a code": the share of same pairs that it keeps.

use std::f64::consts::FRAC_PI_2;

use super::fit::Estimate;

/// Minimum increase of F1 for which a second rule is advised.
pub const LEAST_GAIN: f64 = 0.03;

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
    /// The share of same pairs that pass: mean and interval of Beta(`passing` + 0.5, `failing` + 0.5).
    pub fn share(self) -> Estimate {
        let [passing, failing] = [self.passing, self.failing].map(|count| count as f64);
        let mean = (passing + 0.5) / (passing + failing + 1.0);
        Estimate { mean, low: self.quantile(0.05), high: self.quantile(0.95) }
    }

    /// The assumed share for judging the rule: its 10 % quantile.
    pub fn cautious_share(self) -> f64 {
        self.quantile(0.1)
    }

    /// The share below which `part` of the distribution lies. With x = sin(a)^2 its density has no poles.
    fn quantile(self, part: f64) -> f64 {
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
