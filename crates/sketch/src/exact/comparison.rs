//! Two texts side by side: what they share, and what only one of them has.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ahash::RandomState;

use super::shingle_set::ShingleSet;
use crate::config::Config;
use crate::error::Error;
use crate::memory;
use crate::scheme::Scheme;
use crate::shingle::{
    CHUNK, HashBuffer, append_elements, append_hashes, for_each_window, normalize_text, text_hashes,
};
use crate::simd::Level;

/// The shingles that two texts have in common.
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
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let config = &config.with_scheme(Scheme::Fss);
        let (text_a, text_b) = (
            normalize_text(config, a, check_interrupts)?,
            normalize_text(config, b, check_interrupts)?,
        );
        let append = if config.bag() { append_elements } else { append_hashes };
        let mut set_of = |text: &str| {
            let mut hashes = Vec::new();
            append(config, Level::best(), text, &mut hashes, check_interrupts)?;
            Ok(ShingleSet::from_hashes(hashes, check_interrupts))
        };
        let (a, b) = (set_of(&text_a)?, set_of(&text_b)?);
        let kinds = Kinds::of(&a, &b, check_interrupts)?;
        // The elements of a bag have no order in the text; its shingles do.
        let config = &config.clone().with_bag(false);
        let shared = |hash| kinds.shared.may_have(hash) && b.contains(hash) && a.contains(hash);
        let in_a = |hash| kinds.only_a.may_have(hash) && !b.contains(hash);
        let in_b = |hash| kinds.only_b.may_have(hash) && !a.contains(hash);
        let [shared, only_a] = some(config, &text_a, [&shared, &in_a], examples, check_interrupts)?;
        let [only_b] = some(config, &text_b, [&in_b], examples, check_interrupts)?;
        Ok(Self { a, b, shared, only_a, only_b })
    }
}

/// Which hashes are of which kind, nearly: a look at one bit rules out most of the others, where a
/// search in sets of millions misses the cache at each step.
struct Kinds {
    shared: Marks,
    only_a: Marks,
    only_b: Marks,
}

impl Kinds {
    fn of(
        a: &ShingleSet,
        b: &ShingleSet,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let shared = a.intersection_len(b);
        let mut kinds = Self {
            shared: Marks::new(shared)?,
            only_a: Marks::new(a.len() - shared)?,
            only_b: Marks::new(b.len() - shared)?,
        };
        let (a, b) = (a.hashes(), b.hashes());
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            if (i + j) % (1 << 16) == 0 {
                check_interrupts();
            }
            let (in_a, in_b) = (a.get(i), b.get(j));
            match (in_a, in_b) {
                (Some(x), Some(y)) if x == y => {
                    kinds.shared.add(*x);
                    (i, j) = (i + 1, j + 1);
                }
                (Some(x), y) if y.is_none_or(|y| x < y) => {
                    kinds.only_a.add(*x);
                    i += 1;
                }
                (_, y) => {
                    y.iter().for_each(|y| kinds.only_b.add(**y));
                    j += 1;
                }
            }
        }
        Ok(kinds)
    }
}

/// A bit for all hashes that begin alike: whether there is one of them.
struct Marks {
    bits: Vec<u64>,
    shift: u32,
}

impl Marks {
    /// For `count` hashes, with 64 bits or more for each: of those that are not there one in a
    /// hundred is searched for without success. Many are found soon, and do with fewer, in 8 MB.
    fn new(count: usize) -> Result<Self, Error> {
        let words = count.clamp(1, 1 << 20).next_power_of_two();
        Ok(Self { bits: memory::filled(0, words)?, shift: 64 - 6 - words.ilog2() })
    }

    fn place(&self, hash: u64) -> (usize, u32) {
        let place = hash >> self.shift;
        ((place >> 6) as usize, place as u32 & 63)
    }

    fn add(&mut self, hash: u64) {
        let (word, bit) = self.place(hash);
        self.bits[word] |= 1 << bit;
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.bits[word] >> bit & 1 == 1
    }
}

/// Of each kind the first `count` distinct shingles of a normalised text whose hashes are of it.
fn some<const KINDS: usize>(
    config: &Config,
    text: &str,
    kinds: [&dyn Fn(u64) -> bool; KINDS],
    count: usize,
    check_interrupts: &mut dyn FnMut(),
) -> Result<[Vec<String>; KINDS], Error> {
    // Which shingles they are, by their number in the text.
    let mut places: [Vec<usize>; KINDS] = [const { Vec::new() }; KINDS];
    let (mut seen, mut number, mut outcome) = (HashSet::<_, RandomState>::default(), 0, Ok(()));
    let mut look = |hashes: &mut [u64], _: &mut dyn FnMut()| {
        for &hash in &*hashes {
            for (places, is_of_kind) in places.iter_mut().zip(kinds) {
                if places.len() < count && is_of_kind(hash) && outcome.is_ok() {
                    outcome = memory::insert(&mut seen, hash).and_then(|is_new| {
                        if is_new { memory::push(places, number) } else { Ok(()) }
                    });
                }
            }
            number += 1;
        }
        let all = places.iter().all(|places| places.len() >= count);
        if all || outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut buffer = memory::filled(0, text.len().clamp(1, CHUNK))?;
    let mut chunks = HashBuffer::new(&mut buffer, check_interrupts, &mut look);
    text_hashes(config, Level::best(), text, &mut chunks)?;
    chunks.deliver();
    outcome?;
    let mut shingles: [Vec<String>; KINDS] = [const { Vec::new() }; KINDS];
    let mut number = 0;
    for_each_window(config, text, check_interrupts, &mut |shingle| {
        for (shingles, places) in shingles.iter_mut().zip(&places) {
            if places.get(shingles.len()) == Some(&number) {
                memory::push(shingles, memory::owned(shingle)?)?;
            }
        }
        number += 1;
        Ok(())
    })?;
    Ok(shingles)
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

    /// The shingles of a `Comparison`, one by one.
    fn naive(config: &Config, a: &str, b: &str, count: usize) -> [Vec<String>; 3] {
        let shingles = |text| {
            let mut all = Vec::new();
            crate::for_each_shingle(config, text, &mut || (), &mut |shingle| {
                all.push(shingle.to_owned());
                Ok(())
            })
            .unwrap();
            all
        };
        let (a, b) = (shingles(a), shingles(b));
        let some = |of: &[String], wanted: &dyn Fn(&String) -> bool| {
            let mut found = Vec::new();
            for shingle in of.iter().filter(|shingle| wanted(shingle)) {
                if found.len() < count && !found.contains(shingle) {
                    found.push(shingle.clone());
                }
            }
            found
        };
        [
            some(&a, &|shingle| b.contains(shingle)),
            some(&a, &|shingle| !b.contains(shingle)),
            some(&b, &|shingle| !a.contains(shingle)),
        ]
    }

    #[test]
    fn examples_are_the_first_of_their_kind() {
        let text = |seed: u64, length: u64| -> String {
            let letter = |i| char::from(b'a' + (crate::hash::mix::mix64(seed ^ i) % 4) as u8);
            (0..length).map(letter).collect()
        };
        let long = text(1, 3000);
        let pairs = [
            (long.clone(), format!("{long}{}", text(2, 60))),
            (format!("{}{long}", text(2, 60)), long.clone()),
            (text(1, 400), text(2, 400)),
            (text(1, 40), text(2, 4000)),
        ];
        for (unit, size) in [("char", 5), ("char", 9), ("word", 1)] {
            for bag in [false, true] {
                let config = Config::new("fss", 128, unit, size, 0).unwrap().with_bag(bag);
                for (a, b) in &pairs {
                    let (a, b) = (a.replace('d', " "), b.replace('d', " "));
                    for count in [0, 3, 100] {
                        let Comparison { shared, only_a, only_b, .. } =
                            Comparison::new(&config, &a, &b, count, &mut || ()).unwrap();
                        let expected = naive(&config, &a, &b, count);
                        assert_eq!([shared, only_a, only_b], expected, "{unit} {size} {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_text_without_shingles_shares_none() {
        let nothing = Comparison::new(&Config::default(), "", "hello", 10, &mut || ()).unwrap();
        assert!(nothing.a.is_empty() && nothing.shared.is_empty() && nothing.only_a.is_empty());
        assert_eq!(nothing.only_b, ["hello"]);
    }
}
