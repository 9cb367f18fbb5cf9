//! A threshold from people's answers, which show what similarity means on their data.
//!
//! A person is shown some pairs of documents, and answers "same" or "different". A [`Fit`] of the answers gives the
//! threshold with the best F1. It also gives the share of found pairs that are right (precision) and the share of right
//! pairs that are found (recall), each with an interval.
//!
//! 1. [`Reservoirs`] keep candidates of every similarity from all pairs of a sample, and [`PairCounts`] counts
//!    the pairs of the source that they represent.
//! 2. [`spread`] selects the first pairs to ask about. After some answers, [`Fit::next`] selects the most informative
//!    pairs.
//! 3. [`Fit::best`] is the advice, and [`Fit::reaching`] the lowest threshold with a requested precision.
//! 4. A [`Judgement`] says whether a second rule helps, such as "both have a code in common".
//!
//! The model is a logistic curve with a plateau, `P(same | s) = hi / (1 + exp(-(s - c) / w))`, whose posterior is
//! computed on a grid. Answers need no weights, however their pairs were selected, because the selection depends on the
//! similarity alone. The grid, the priors and the power of the intervals were chosen on 14 public labelled sets and
//! measured on 10 others: 40 answers reach 96 % and 92 % of the best possible F1.
//!
//! ```
//! use minlsh_sketch::labels::{Fit, Label, PairCounts, Plateaus};
//!
//! // 1,000 unrelated pairs around 0.3, and 100 copies around 0.7.
//! let mut pairs = PairCounts::default();
//! (0..100).for_each(|i| pairs.add(0.25 + f64::from(i) * 0.001, 10.0));
//! (0..100).for_each(|i| pairs.add(0.65 + f64::from(i) * 0.001, 1.0));
//! // A person says that pairs from 0.5 up are the same.
//! let labels = (1..20).map(|i| f64::from(i) * 0.05).map(|similarity| {
//!     Label { similarity, is_same: similarity >= 0.5 }
//! });
//! let fit = Fit::new(labels, &pairs, Plateaus::Usual)?;
//! let advice = fit.best();
//! assert!((0.35..0.65).contains(&advice.threshold));
//! assert!(advice.precision.mean > 0.8 && advice.recall.mean > 0.8);
//! # Ok::<(), minlsh_sketch::Error>(())
//! ```

mod agreement;
mod choice;
mod fit;
mod pair_counts;
mod reservoirs;

pub use agreement::{Answers, Judgement};
pub use choice::spread;
pub use fit::{Advice, Estimate, Fit, Plateaus};
pub use pair_counts::{Label, PairCounts};
pub use reservoirs::{Reservoirs, pair_hash};
