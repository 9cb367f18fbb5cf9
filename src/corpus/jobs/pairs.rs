//! `near_duplicate_pairs()`: every pair of near-duplicates, once. `near_duplicates_between()`: those of two sources.

use std::collections::VecDeque;

use sketch::corpus::{Hashes, Identical, LeftOut, PairSide, pairs};
use sketch::{Error, sort_by};

use crate::corpus::groups::group::Group;
use crate::corpus::groups::{Emit, Taker};
use crate::corpus::jobs::Work;
use crate::corpus::reading::columns::Members;
use crate::corpus::source::arguments::Arguments;
use crate::error::out_of_memory;
use crate::prelude::*;

sql_function!(minlsh_near_duplicate_pairs, near_duplicate_pairs);
sql_function!(minlsh_near_duplicates_between, near_duplicates_between);

/// `near_duplicate_pairs(source, threshold, verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicate_pairs(call: &Call) -> Result<Option<Datum>> {
    list(call, &["source"])
}

/// `near_duplicates_between(a, b, threshold, verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicates_between(call: &Call) -> Result<Option<Datum>> {
    list(call, &["a", "b"])
}

fn list(call: &Call, sources: &[&'static str]) -> Result<Option<Datum>> {
    let result = ResultRows::start(call);
    let Work { members, mut batches, .. } = Work::of(&Arguments::of(call), sources, None)?;
    let has_two = sources.len() > 1;
    let second = has_two.then(|| members.second());
    let copies = VecDeque::new();
    let mut rows = PairRows { members: &members, has_two, rows: &result, copies, left: 0 };
    let judge = |group: &mut Group, emit: &mut Emit<FoundPairs>| of_group(group, second, emit);
    batches.each(&judge, &mut rows)?;
    rows.give(u64::MAX);
    Ok(None)
}

enum FoundPairs {
    Pair(u32, u32, f64),
    /// All pairs among many copies of one document.
    Copies(Vec<u32>),
}

/// The most copies of one document whose pairs are given out at once.
const MANY: usize = 128;

/// Gives out rows. Those of many copies take longer to give out than to find, so they wait, and are given out a few at
/// a time while threads compare other documents.
struct PairRows<'a> {
    members: &'a Members,
    has_two: bool,
    rows: &'a ResultRows,
    copies: VecDeque<Copies>,
    /// The number of their pairs that were not given out.
    left: u64,
}

/// Copies of one document, in the order of their keys, and the places of the next pair.
struct Copies {
    names: Vec<u32>,
    a: usize,
    b: usize,
}

impl PairRows<'_> {
    fn pair(&self, a: u32, b: u32, similarity: f64) {
        let keys = [a, b].map(|name| Some(self.members.key(name)));
        self.rows.push(&[keys[0], keys[1], Some(float8_datum(similarity))]);
    }

    /// Gives out so many pairs of copies, if there are as many.
    fn give(&mut self, count: u64) {
        for _ in 0..count.min(self.left) {
            check_interrupts();
            let Some(Copies { names, a, b }) = self.copies.front_mut() else { return };
            let pair = (names[*a], names[*b]);
            *b += 1;
            if *b == names.len() {
                (*a, *b) = (*a + 1, *a + 2);
            }
            if *b >= names.len() {
                self.copies.pop_front();
            }
            self.left -= 1;
            self.pair(pair.0, pair.1, 1.0);
        }
    }
}

impl Taker<FoundPairs> for PairRows<'_> {
    fn take(&mut self, found: FoundPairs) -> Result<()> {
        let members = self.members;
        match found {
            FoundPairs::Pair(a, b, similarity) => {
                // The lower key first, or the document of the first source.
                let is_first = if self.has_two { a < b } else { members.compare(a, b).is_lt() };
                let (a, b) = if is_first { (a, b) } else { (b, a) };
                self.pair(a, b, similarity);
            }
            FoundPairs::Copies(mut names) => {
                sort_by(&mut names, |a, b| members.compare(*a, *b), &mut check_interrupts);
                let count = names.len() as u64;
                self.copies.try_reserve(1).map_err(|_| out_of_memory())?;
                self.copies.push_back(Copies { names, a: 0, b: 1 });
                self.left += count * (count - 1) / 2;
            }
        }
        Ok(())
    }

    fn meanwhile(&mut self, part: usize, left: usize) -> Result<()> {
        let share = u128::from(self.left) * part as u128 / (left as u128).max(1);
        self.give(u64::try_from(share).unwrap_or(u64::MAX));
        Ok(())
    }
}

/// The side of a document by name, where the second of two sources begins with the document `second`.
fn side(name: u32, second: Option<u32>) -> PairSide {
    match second {
        None => PairSide::Both,
        Some(second) if name < second => PairSide::Left,
        Some(_) => PairSide::Right,
    }
}

/// The pairs of a group. Of two sources, each has a document of both.
fn of_group(
    group: &mut Group,
    second: Option<u32>,
    emit: &mut Emit<FoundPairs>,
) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let pair = |emit: &mut Emit<FoundPairs>, a: u32, b: u32, similarity: f64| {
        let is_wanted = second.is_none() || side(a, second) != side(b, second);
        if is_wanted { emit(FoundPairs::Pair(a, b, similarity)) } else { Ok(()) }
    };
    // Of each leader, and of its copies.
    let all = 0..identical.documents();
    let mut sides = memory::collect(all.map(|document| side(group.name(document), second)))?;
    // Those among exact copies.
    for (leader, copies) in identical.groups() {
        let own = &mut sides[leader as usize];
        if copies.clone().any(|copy| side(group.name(copy), second) != *own) {
            *own = PairSide::Both;
        }
        let is_many = second.is_none() && copies.clone().nth(MANY).is_some();
        let mut rest = std::iter::once(leader).chain(copies);
        if is_many {
            emit(FoundPairs::Copies(memory::collect(rest.map(|copy| group.name(copy)))?))?;
            continue;
        }
        while let Some(a) = rest.next() {
            group.check_interrupts()?;
            rest.clone().try_for_each(|b| pair(emit, group.name(a), group.name(b), 1.0))?;
        }
    }
    let limit = group.limit();
    pairs(group, &identical, &|leader| sides[leader as usize], limit, &mut |group, found| {
        for a in identical.members(found.a) {
            group.check_interrupts()?;
            for b in identical.members(found.b) {
                pair(emit, group.name(a), group.name(b), found.similarity)?;
            }
        }
        Ok(())
    })
}
