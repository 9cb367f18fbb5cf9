//! Two sets of any elements side by side: how many there are, and how many are shared.

use std::cmp::Ordering;

use crate::limits::Check;

/// Comparisons between two calls of `check`: one may take a microsecond.
const RUN: usize = 4096;

/// The sizes of two sets and of their intersection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overlap {
    /// Distinct elements of the first set.
    pub a: usize,
    /// Distinct elements of the second set.
    pub b: usize,
    /// Elements that both have.
    pub shared: usize,
}

impl Overlap {
    /// Counts elements that are given in any order and with any repeats; `compare` must be a
    /// total order of them. `check` is called for every few thousand comparisons.
    pub fn count<T: Copy>(
        a: Vec<T>,
        b: Vec<T>,
        compare: impl Fn(&T, &T) -> Ordering,
        check: Check,
    ) -> Self {
        let a = distinct(a, &compare, check);
        let b = distinct(b, &compare, check);
        let (mut i, mut j, mut shared) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            if (i + j) % RUN < 2 {
                check();
            }
            let order = compare(&a[i], &b[j]);
            shared += usize::from(order.is_eq());
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
        }
        Self { a: a.len(), b: b.len(), shared }
    }

    /// The Jaccard similarity; `None` if both sets are empty.
    #[must_use]
    pub fn jaccard(self) -> Option<f64> {
        let united = self.a + self.b - self.shared;
        (united > 0).then(|| self.shared as f64 / united as f64)
    }

    /// The same, with the second set first.
    #[must_use]
    pub fn flipped(self) -> Self {
        Self { a: self.b, b: self.a, shared: self.shared }
    }

    /// The containment |A ∩ B| / |A| of the first set in the second; `None` if the first is empty.
    #[must_use]
    pub fn containment(self) -> Option<f64> {
        (self.a > 0).then(|| self.shared as f64 / self.a as f64)
    }
}

fn distinct<T: Copy>(
    mut elements: Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
    check: Check,
) -> Vec<T> {
    let mut compared = 0;
    let mut checked = |a: &T, b: &T| {
        compared += 1;
        if compared % RUN == 0 {
            check();
        }
        compare(a, b)
    };
    elements.sort_unstable_by(&mut checked);
    elements.dedup_by(|a, b| checked(a, b).is_eq());
    elements
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::hash::mix::mix64;

    #[test]
    fn counts_are_those_of_sets() {
        for (n, m, range) in [(0, 0, 1), (0, 5, 9), (3, 4, 5), (5000, 20_000, 9000), (9, 9000, 1)] {
            let numbers = |count: u64, seed: u64| -> Vec<u64> {
                (0..count).map(|i| mix64(i + seed) % range).collect()
            };
            let (a, b) = (numbers(n, 0), numbers(m, 1 << 40));
            let set = |all: &[u64]| all.iter().copied().collect::<BTreeSet<_>>();
            let (left, right) = (set(&a), set(&b));
            let found = Overlap::count(a, b, Ord::cmp, &mut || ());
            let shared = left.intersection(&right).count();
            assert_eq!(found, Overlap { a: left.len(), b: right.len(), shared });
            let united = left.union(&right).count();
            assert_eq!(found.jaccard(), (united > 0).then(|| shared as f64 / united as f64));
            assert_eq!(found.containment().is_none(), left.is_empty());
        }
    }

    #[test]
    fn a_long_sort_can_be_cancelled() {
        let numbers: Vec<u64> = (0..200_000).map(mix64).collect();
        let (comparisons, since, most) =
            (std::cell::Cell::new(0), std::cell::Cell::new(0), std::cell::Cell::new(0));
        let compare = |a: &u64, b: &u64| {
            comparisons.set(comparisons.get() + 1);
            a.cmp(b)
        };
        let mut check = || {
            most.set(most.get().max(comparisons.get() - since.get()));
            since.set(comparisons.get());
        };
        Overlap::count(numbers, Vec::new(), compare, &mut check);
        assert!(most.get() <= RUN, "{}", most.get());
    }
}
