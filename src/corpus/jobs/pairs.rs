//! `near_duplicate_pairs()`: every pair of near-duplicates, once. `near_duplicates_between()`: the pairs between two
//! sources. With `copies => 'once'` each further copy of a document is in one pair only.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use sketch::dedup::{Emit, FoundPairs, Group, Ranks, TakeResults, all_pairs, pairs_once};
use sketch::sort_by;

use crate::corpus::host::each_group;
use crate::corpus::jobs::Work;
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::members::Members;
use crate::error::out_of_memory;
use crate::pg::catching::hinting;
use crate::prelude::*;

// `near_duplicate_pairs(source, threshold, verify, body, ...) → (doc_a, doc_b, similarity)`
set_function!(minlsh_near_duplicate_pairs, |call, result| list(call, &["source"], result));
// `near_duplicates_between(a, b, threshold, verify, body, ...) → (doc_a, doc_b, similarity)`
set_function!(minlsh_near_duplicates_between, |call, result| list(call, &["a", "b"], result));

/// Lists the pairs of the sources that `sources` names.
fn list(call: &Call, sources: &[&'static str], rows: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    let once = are_once(&arguments)?;
    let Work { rows: stored, mut groups, .. } = Work::of(&arguments, sources, None)?;
    let members = &stored.members;
    let ranks = if once { Some(Ranks::of(&members.sorted()?)?) } else { None };
    let has_two = sources.len() > 1;
    let second = has_two.then(|| members.second());
    let (copies, copied) = (VecDeque::new(), Cell::new(0));
    let mut rows = PairRows { members, has_two, rows, copies, left: 0, copied: &copied };
    let judge = |group: &mut Group, emit: &mut Emit<FoundPairs>| match &ranks {
        Some(ranks) => pairs_once(group, second, ranks, emit),
        None => all_pairs(group, second, emit),
    };
    let are_many = AssertUnwindSafe(&copied);
    let hint = || (are_many.get() > 0).then_some(ONCE);
    hinting(PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED, hint, || {
        each_group(&mut groups, &stored, &judge, &mut rows)?;
        rows.give(u64::MAX)
    })
}

/// Reads the argument `copies`.
fn are_once(arguments: &Arguments) -> Result<bool> {
    match arguments.text("copies")? {
        None | Some("all") => Ok(false),
        Some("once") => Ok(true),
        Some(other) => Err(invalid_parameter(format!("unknown value for copies: \"{}\"", shortened(other))).set_hint(
            "Use \"all\" (all pairs of exact copies, too) or \"once\" (each further copy of a document in one pair \
             only).",
        )),
    }
}

/// The HINT if there are too many pairs.
const ONCE: &str = "Pass copies => 'once' to list each further copy of a document in one pair only.";

/// Number of pairs caused by copies above which a NOTICE announces them before they are written.
const ANNOUNCED: u64 = 10_000_000;

/// Maximum number of copies of a document whose pairs are emitted at once.
const MANY: usize = 128;

/// Emits rows. Rows for many copies take longer to emit than to find, so they are deferred, and emitted a few at a time
/// while threads compare other documents.
struct PairRows<'a> {
    members: &'a Members,
    has_two: bool,
    rows: &'a ResultRows,
    copies: VecDeque<Copies>,
    /// Number of deferred pairs.
    left: u64,
    /// Number of pairs so far that exist only because of copies.
    copied: &'a Cell<u64>,
}

/// Copies of a document, in the order of keys, with the positions of the next pair.
struct Copies {
    names: Vec<u32>,
    a: usize,
    b: usize,
}

impl Copies {
    /// The next pair; `None` at the end.
    fn next(&mut self) -> Option<(u32, u32)> {
        let pair = (*self.names.get(self.a)?, *self.names.get(self.b)?);
        self.b += 1;
        if self.b == self.names.len() {
            (self.a, self.b) = (self.a + 1, self.a + 2);
        }
        Some(pair)
    }
}

impl PairRows<'_> {
    fn pair(&self, a: u32, b: u32, similarity: f64) -> Result<()> {
        self.rows.add(|| {
            let [a, b] = [a, b].map(|name| self.members.key(name));
            Ok([a, b, float8_datum(similarity)].map(Some))
        })
    }

    /// Emits `count` pairs of copies, if there are as many.
    fn give(&mut self, count: u64) -> Result<()> {
        for _ in 0..count.min(self.left) {
            let pair = loop {
                let Some(copies) = self.copies.front_mut() else { return Ok(()) };
                match copies.next() {
                    Some(pair) => break pair,
                    None => drop(self.copies.pop_front()),
                }
            };
            self.left -= 1;
            self.pair(pair.0, pair.1, 1.0)?;
        }
        Ok(())
    }

    /// Counts pairs that exist only because of copies, before they are written.
    fn announce(&self, pairs: u64) {
        let before = self.copied.replace(self.copied.get().saturating_add(pairs));
        let count = self.copied.get();
        if before <= ANNOUNCED && count > ANNOUNCED {
            notice(format!("the result has {count} pairs or more only because documents have exact copies"))
                .set_hint(ONCE)
                .report();
        }
    }
}

impl TakeResults<FoundPairs, SqlError> for PairRows<'_> {
    fn take(&mut self, found: FoundPairs) -> Result<()> {
        let members = self.members;
        match found {
            FoundPairs::Pair(a, b, similarity) => {
                // The lower key comes first, or the first source's document.
                let is_first = if self.has_two { a < b } else { members.compare(a, b).is_lt() };
                let (a, b) = if is_first { (a, b) } else { (b, a) };
                self.pair(a, b, similarity)?;
            }
            FoundPairs::Copies(mut names) => {
                sort_by(&mut names, |a, b| members.compare(*a, *b), &mut check_interrupts);
                let count = names.len() as u64;
                let pairs = count * (count - 1) / 2;
                self.announce(pairs - 1);
                let is_many = names.len() > MANY;
                let mut copies = Copies { names, a: 0, b: 1 };
                if is_many {
                    self.copies.try_reserve(1).map_err(|_| out_of_memory())?;
                    self.copies.push_back(copies);
                    self.left += pairs;
                } else {
                    while let Some((a, b)) = copies.next() {
                        self.pair(a, b, 1.0)?;
                    }
                }
            }
            FoundPairs::Copied(pairs) => self.announce(pairs),
        }
        Ok(())
    }

    fn meanwhile(&mut self, part: usize, left: usize) -> Result<()> {
        let share = u128::from(self.left) * part as u128 / (left as u128).max(1);
        self.give(u64::try_from(share).unwrap_or(u64::MAX))
    }
}
