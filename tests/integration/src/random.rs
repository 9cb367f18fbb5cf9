//! Numbers that look random. The same seed gives the same numbers.

use std::time::{SystemTime, UNIX_EPOCH};

/// The seed that the environment gives by that name, or one that differs from run to run.
#[must_use]
pub fn seed(name: &str) -> u64 {
    crate::number(name).unwrap_or_else(now)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos() as u64
}

/// A small generator (splitmix64).
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One that differs from run to run; the seed is printed when the test fails.
    #[must_use]
    pub fn by_the_clock() -> Self {
        let seed = now();
        println!("seed {seed}");
        Self(seed)
    }

    /// The next number: also the seed of another generator.
    pub fn seed(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// Never: what is below a `usize` is one.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.seed() % bound.max(1) as u64).expect("less than a usize")
    }

    /// Brings values into another order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at + 1));
        }
    }

    /// One of some words that live for ever.
    pub fn pick_static(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    /// One of some words.
    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}
