//! `near_duplicate_pairs()`: every pair of near-duplicates, once. `near_duplicates_between()`: the pairs between two
//! sources. With `copies => 'once'` each further copy of a document is in one pair only.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use sketch::corpus::{Hashes, Identical, LeftOut, PairSide, pairs};
use sketch::{Error, sort_by};

use crate::corpus::groups::group::Group;
use crate::corpus::groups::{Emit, Taker};
use crate::corpus::jobs::{Ranks, Work};
use crate::corpus::reading::columns::Members;
use crate::corpus::source::arguments::Arguments;
use crate::error::{out_of_memory, shortened};
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
    let Work { members, mut batches, .. } = Work::of(&arguments, sources, None)?;
    let ranks = if once { Some(Ranks::of(&members.sorted()?)?) } else { None };
    let has_two = sources.len() > 1;
    let second = has_two.then(|| members.second());
    let (copies, copied) = (VecDeque::new(), Cell::new(0));
    let mut rows = PairRows { members: &members, has_two, rows, copies, left: 0, copied: &copied };
    let judge = |group: &mut Group, emit: &mut Emit<FoundPairs>| match &ranks {
        Some(ranks) => once_of_group(group, second, ranks, emit),
        None => all_of_group(group, second, emit),
    };
    let are_many = AssertUnwindSafe(&copied);
    let hint = || (are_many.get() > 0).then_some(ONCE);
    hinting(PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED, hint, || {
        batches.each(&judge, &mut rows)?;
        rows.give(u64::MAX);
        Ok(())
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

enum FoundPairs {
    Pair(u32, u32, f64),
    /// All pairs among the copies of a document.
    Copies(Vec<u32>),
    /// Number of additional pairs because documents have copies.
    Copied(u64),
}

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
    fn pair(&self, a: u32, b: u32, similarity: f64) {
        let keys = [a, b].map(|name| Some(self.members.key(name)));
        self.rows.push(&[keys[0], keys[1], Some(float8_datum(similarity))]);
    }

    /// Emits `count` pairs of copies, if there are as many.
    fn give(&mut self, count: u64) {
        for _ in 0..count.min(self.left) {
            check_interrupts();
            let pair = loop {
                let Some(copies) = self.copies.front_mut() else { return };
                match copies.next() {
                    Some(pair) => break pair,
                    None => drop(self.copies.pop_front()),
                }
            };
            self.left -= 1;
            self.pair(pair.0, pair.1, 1.0);
        }
    }

    /// Counts pairs that exist only because of copies, before they are written.
    fn announce(&self, pairs: u64) {
        let before = self.copied.replace(self.copied.get().saturating_add(pairs));
        let count = self.copied.get();
        if before <= ANNOUNCED && count > ANNOUNCED {
            notice(format!("the result has {count} pairs or more only because documents have exact copies"))
                .set_hint(ONCE)
                .report(PgLogLevel::NOTICE);
        }
    }
}

impl Taker<FoundPairs> for PairRows<'_> {
    fn take(&mut self, found: FoundPairs) -> Result<()> {
        let members = self.members;
        match found {
            FoundPairs::Pair(a, b, similarity) => {
                // The lower key comes first, or the first source's document.
                let is_first = if self.has_two { a < b } else { members.compare(a, b).is_lt() };
                let (a, b) = if is_first { (a, b) } else { (b, a) };
                self.pair(a, b, similarity);
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
                        self.pair(a, b, 1.0);
                    }
                }
            }
            FoundPairs::Copied(pairs) => self.announce(pairs),
        }
        Ok(())
    }

    fn meanwhile(&mut self, part: usize, left: usize) -> Result<()> {
        let share = u128::from(self.left) * part as u128 / (left as u128).max(1);
        self.give(u64::try_from(share).unwrap_or(u64::MAX));
        Ok(())
    }
}

/// The side of a document by name; `second` is the second source's first document.
fn side(name: u32, second: Option<u32>) -> PairSide {
    match second {
        None => PairSide::Both,
        Some(second) if name < second => PairSide::Left,
        Some(_) => PairSide::Right,
    }
}

/// For each leader, the side of its copies and itself.
fn sides(group: &Group, identical: &Identical, second: Option<u32>) -> Result<Vec<PairSide>, Error> {
    let all = 0..identical.documents();
    let mut sides = memory::collect(all.map(|document| side(group.name(document), second)))?;
    for (leader, mut copies) in identical.groups() {
        let own = &mut sides[leader as usize];
        if copies.any(|copy| side(group.name(copy), second) != *own) {
            *own = PairSide::Both;
        }
    }
    Ok(sides)
}

/// All pairs of a group. With two sources, each pair has a document of both.
fn all_of_group(group: &mut Group, second: Option<u32>, emit: &mut Emit<FoundPairs>) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let sides = sides(group, &identical, second)?;
    let is_left = |name: u32| second.is_none_or(|second| name < second);
    // Number of documents that equal a leader, in each source.
    let counts = |group: &Group, leader: u32| {
        let all = identical.members(leader).count() as u64;
        let left = identical.members(leader).filter(|copy| is_left(group.name(*copy))).count();
        (left as u64, all - left as u64)
    };
    let pair = |emit: &mut Emit<FoundPairs>, a: u32, b: u32, similarity: f64| {
        let is_wanted = second.is_none() || is_left(a) != is_left(b);
        if is_wanted { emit(FoundPairs::Pair(a, b, similarity)) } else { Ok(()) }
    };
    for (leader, _) in identical.groups() {
        group.check_interrupts()?;
        let mut rest = identical.members(leader);
        if second.is_none() {
            emit(FoundPairs::Copies(memory::collect(rest.map(|copy| group.name(copy)))?))?;
            continue;
        }
        let (left, right) = counts(group, leader);
        emit(FoundPairs::Copied((left * right).saturating_sub(1)))?;
        while let Some(a) = rest.next() {
            group.check_interrupts()?;
            rest.clone().try_for_each(|b| pair(emit, group.name(a), group.name(b), 1.0))?;
        }
    }
    let limit = group.limit();
    pairs(group, &identical, &|leader| sides[leader as usize], limit, &mut |group, found| {
        let [(left, right), (other_left, other_right)] = [found.a, found.b].map(|leader| counts(group, leader));
        let count = if second.is_none() { left * other_left } else { left * other_right + right * other_left };
        if count > 1 {
            emit(FoundPairs::Copied(count - 1))?;
        }
        for a in identical.members(found.a) {
            group.check_interrupts()?;
            for b in identical.members(found.b) {
                pair(emit, group.name(a), group.name(b), found.similarity)?;
            }
        }
        Ok(())
    })
}

/// The most similar document of the other source, the first of them in the order of keys: its name and similarity.
type Best = Option<(u32, f64)>;

/// The pairs of a group among the first copies of each document, and one pair for each further copy: within one source
/// with its first copy, and between two with the most similar document of the other source.
fn once_of_group(
    group: &mut Group,
    second: Option<u32>,
    ranks: &Ranks,
    emit: &mut Emit<FoundPairs>,
) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let sides = sides(group, &identical, second)?;
    let of = |name: u32| usize::from(second.is_some_and(|second| name >= second));
    // For each leader: the first copy in each source, and its best partner in the other one.
    let documents = identical.documents() as usize;
    let mut firsts: Vec<[Option<u32>; 2]> = memory::filled([None; 2], documents)?;
    let mut best: Vec<[Best; 2]> = memory::filled([None; 2], documents)?;
    for document in 0..identical.documents() {
        group.check_interrupts()?;
        let name = group.name(document);
        let first = &mut firsts[identical.leader(document) as usize][of(name)];
        *first = Some(first.map_or(name, |first| ranks.first(first, name)));
    }
    let better = |best: &mut Best, name: u32, similarity: f64| {
        let is_better = best
            .is_none_or(|(own, least)| similarity > least || (similarity == least && ranks.first(own, name) == name));
        if is_better {
            *best = Some((name, similarity));
        }
    };
    for (firsts, best) in firsts.iter().zip(&mut best) {
        if let [Some(a), Some(b)] = *firsts {
            emit(FoundPairs::Pair(a, b, 1.0))?;
            (best[0], best[1]) = (Some((b, 1.0)), Some((a, 1.0)));
        } else if second.is_none() {
            best[0] = firsts[0].map(|first| (first, 1.0));
        }
    }
    let limit = group.limit();
    let left_out = pairs(group, &identical, &|leader| sides[leader as usize], limit, &mut |_, found| {
        let [a, b] = [found.a, found.b].map(|leader| leader as usize);
        let (of_a, of_b) = (firsts[a], firsts[b]);
        if second.is_none() {
            let [Some(a), Some(b)] = [of_a[0], of_b[0]] else { return Ok(()) };
            return emit(FoundPairs::Pair(a, b, found.similarity));
        }
        for (side, other) in [(0, 1), (1, 0)] {
            if let (Some(first), Some(partner)) = (of_a[side], of_b[other]) {
                emit(FoundPairs::Pair(first, partner, found.similarity))?;
                better(&mut best[a][side], partner, found.similarity);
                better(&mut best[b][other], first, found.similarity);
            }
        }
        Ok(())
    })?;
    for document in 0..identical.documents() {
        group.check_interrupts()?;
        let (name, leader) = (group.name(document), identical.leader(document) as usize);
        let is_first = firsts[leader][of(name)] == Some(name);
        if let (false, Some((partner, similarity))) = (is_first, best[leader][of(name)]) {
            emit(FoundPairs::Pair(name, partner, similarity))?;
        }
    }
    Ok(left_out)
}
