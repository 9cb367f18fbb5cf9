//! Two texts side by side: what they share, and what only one of them has.

use std::collections::HashSet;

use super::shingle_set::ShingleSet;
use crate::config::Config;
use crate::error::Error;
use crate::memory;
use crate::scheme::Scheme;
use crate::shingle::{for_each_shingle, shingle_hashes};

/// What two texts have in common.
#[derive(Debug, Eq, PartialEq)]
pub struct Comparison {
    /// Distinct shingles of the first text.
    pub a: ShingleSet,
    /// Distinct shingles of the second text.
    pub b: ShingleSet,
    /// Some shingles that both have, in the order of the first text.
    pub shared: Vec<String>,
    /// Some shingles that only the first has, in its order.
    pub only_a: Vec<String>,
    /// Some shingles that only the second has, in its order.
    pub only_b: Vec<String>,
}

impl Comparison {
    /// Compares two texts, with at most `examples` shingles of each kind.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(
        config: &Config,
        a: &str,
        b: &str,
        examples: usize,
        checkpoint: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let set_a = ShingleSet::from_text(config, a, checkpoint)?;
        let set_b = ShingleSet::from_text(config, b, checkpoint)?;
        // The same hashes in the order of the text: those of a bag have none.
        let config = &config.with_scheme(Scheme::Fss).with_bag(false);
        let mut hashes_of = |text: &str| {
            let mut hashes = Vec::new();
            shingle_hashes(config, text, &mut hashes, checkpoint).map(|()| hashes)
        };
        let (hashes_a, hashes_b) = (hashes_of(a)?, hashes_of(b)?);
        let mut some = |text: &str, hashes: &[u64], wanted: &dyn Fn(u64) -> bool| {
            some_shingles(config, text, hashes, wanted, examples, checkpoint)
        };
        let shared = some(a, &hashes_a, &|hash| set_b.contains(hash))?;
        let only_a = some(a, &hashes_a, &|hash| !set_b.contains(hash))?;
        let only_b = some(b, &hashes_b, &|hash| !set_a.contains(hash))?;
        Ok(Self { a: set_a, b: set_b, shared, only_a, only_b })
    }
}

/// The first `count` distinct shingles of a text whose hashes are `wanted`. `hashes` are those
/// of its shingles, in order and with repeats.
fn some_shingles(
    config: &Config,
    text: &str,
    hashes: &[u64],
    wanted: &dyn Fn(u64) -> bool,
    count: usize,
    checkpoint: &mut dyn FnMut(),
) -> Result<Vec<String>, Error> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let mut hashes = hashes.iter();
    let mut visit = |shingle: &str| {
        let Some(&hash) = hashes.next() else { return Ok(()) };
        if found.len() < count && wanted(hash) && memory::insert(&mut seen, hash)? {
            memory::push(&mut found, memory::owned(shingle)?)?;
        }
        Ok(())
    };
    for_each_shingle(config, text, checkpoint, &mut visit)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shingles_are_named_once_and_in_the_order_of_the_text() {
        let config = Config::new("fss", 128, "word", 1, 0).unwrap();
        let compare = |examples| {
            let (a, b) = ("to be or not to be", "not to know or to see");
            Comparison::new(&config, a, b, examples, &mut || ()).unwrap()
        };
        let all = compare(10);
        assert_eq!((all.a.len(), all.b.len()), (4, 5));
        assert_eq!(all.shared, ["to", "or", "not"]);
        assert_eq!(all.only_a, ["be"]);
        assert_eq!(all.only_b, ["know", "see"]);
        assert_eq!(compare(1).shared, ["to"]);
    }

    #[test]
    fn a_text_without_shingles_shares_none() {
        let nothing = Comparison::new(&Config::default(), "", "hello", 10, &mut || ()).unwrap();
        assert!(nothing.a.is_empty() && nothing.shared.is_empty() && nothing.only_a.is_empty());
        assert_eq!(nothing.only_b, ["hello"]);
    }
}
