//! The share of rows that a check looks at.

use sketch::ElementHash;

/// A share of all rows, picked by a hash.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Rows with a greater hash are left out.
    most: u64,
    seed: u64,
}

impl Share {
    /// All rows.
    pub const ALL: Self = Self { most: u64::MAX, seed: 0 };

    /// About that part of them, above 0 and at most 1; another seed picks others.
    pub fn new(part: f64, seed: i64) -> Self {
        Self { most: (part * u64::MAX as f64) as u64, seed: seed as u64 }
    }

    /// True if it has the row with that number, such as its address.
    pub fn has(self, row: u64) -> bool {
        let hash = || {
            ElementHash::Xxh3.hash(&(u128::from(self.seed) << 64 | u128::from(row)).to_le_bytes())
        };
        self.most == u64::MAX || hash() <= self.most
    }
}
