//! The confidence interval of a statistic from a sample of documents that are compared exactly with all documents.

/// The 95 % confidence interval of a ratio of sums over all documents, such as the recall, the share of all pairs that
/// were found. For each document of a simple random sample, `sample` has the number of its counted pairs and of all its
/// pairs. `population` is the number of documents. `None` if the sample has no pairs.
///
/// Documents are sampled, not pairs, and the pairs of a document tend to be found or missed together. So this uses the
/// variance of a ratio (Cochran, *Sampling Techniques*, 1977, section 6.4). It gives the effective number of
/// independent pairs in the sample, for which the interval is Wilson's with Student's quantile (Korn, Graubard 1998).
/// If all or none of the pairs count, there is no variance, and the pairs of a document count as one event.
pub fn ratio_interval(sample: &[(u64, u64)], population: u64) -> Option<(f64, f64)> {
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        sample.iter().map(|&(counted, pairs)| of(counted as f64, pairs as f64)).sum()
    };
    let (counted, pairs) = (sum(&|counted, _| counted), sum(&|_, pairs| pairs));
    if pairs == 0.0 {
        return None;
    }
    let ratio = counted / pairs;
    let documents = sample.len() as f64;
    let with_pairs = sample.iter().filter(|(_, pairs)| *pairs > 0).count() as f64;
    // A sample of all documents has no error.
    let unseen = (1.0 - documents / (population as f64).max(documents)).max(0.0);
    if unseen == 0.0 {
        return Some((ratio, ratio));
    }
    let squares = sum(&|counted, pairs| (counted - ratio * pairs).powi(2));
    let variance = unseen * documents / (documents - 1.0).max(1.0) * squares / pairs.powi(2);
    let independent = pairs.powi(2) / sum(&|_, pairs| pairs.powi(2));
    let effective = if ratio * (1.0 - ratio) > 0.0 && variance > 0.0 {
        (ratio * (1.0 - ratio) / variance).min(pairs / unseen)
    } else {
        independent / unseen
    };
    Some(wilson(ratio, effective, student(with_pairs - 1.0)))
}

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 97.5 % quantile of Student's distribution, for not too few degrees of freedom (Abramowitz, Stegun 26.7.5).
fn student(degrees: f64) -> f64 {
    let n = degrees.max(1.0);
    let z = Z;
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3))
}

/// The interval of a proportion `p` of `n` trials, at `z` standard errors (Wilson 1927). Unlike the textbook's interval
/// it stays within `[0, 1]`, and is meaningful when all or none succeeded.
fn wilson(p: f64, n: f64, z: f64) -> (f64, f64) {
    let shrink = 1.0 + z * z / n;
    let centre = (p + z * z / (2.0 * n)) / shrink;
    let spread = z / shrink * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let low = if p == 0.0 { 0.0 } else { (centre - spread).max(0.0) };
    let high = if p == 1.0 { 1.0 } else { (centre + spread).min(1.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_literature() {
        // Newcombe 1998, table I: 81 of 263, and 0 of 20.
        let (low, high) = wilson(81.0 / 263.0, 263.0, Z);
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        let (low, high) = wilson(0.0, 20.0, Z);
        assert!(low == 0.0 && (high - 0.1611).abs() < 5e-5);
        assert_eq!(wilson(1.0, 170.0, Z).1, 1.0);
        assert!((student(10.0) - 2.228).abs() < 1e-3 && (student(1000.0) - 1.962).abs() < 1e-3);
    }
}
