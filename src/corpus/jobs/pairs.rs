//! `near_duplicate_pairs()`: every pair of near-duplicates, once. `near_duplicates_between()`: those of two sources.

use std::collections::VecDeque;

use pgrx::pg_sys::Datum;
use sketch::corpus::{Hashes, Identical, LeftOut, PairSide, pairs};
use sketch::{Error, memory, sort_by};

use crate::corpus::groups::group::Group;
use crate::corpus::groups::{Emit, Taker};
use crate::corpus::jobs::Work;
use crate::corpus::reading::keys::Members;
use crate::corpus::source::arguments::{Arguments, Positions};
use crate::error::{Result, out_of_memory};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;

sql_function!(minlsh_near_duplicate_pairs, near_duplicate_pairs);
sql_function!(minlsh_near_duplicates_between, near_duplicates_between);

const POSITIONS: Positions = Positions { threshold: 1, verify: 2, options: 6 };
const POSITIONS_BETWEEN: Positions = Positions { threshold: 2, verify: 3, options: 7 };

/// `near_duplicate_pairs(source, threshold, verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicate_pairs(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches, .. } =
        Work::of_one(&session, &Arguments::of(call, POSITIONS), None)?;
    let mut rows = PairRows { members: &members, rows: &result, copies: VecDeque::new(), left: 0 };
    batches.each(&of_group, &mut rows)?;
    rows.give(u64::MAX);
    Ok(None)
}

/// The pairs that were found in a group, of documents by name.
enum FoundPairs {
    /// One, with its similarity.
    Pair(u32, u32, f64),
    /// All pairs among many copies of one document.
    Copies(Vec<u32>),
}

/// The most copies of one document whose pairs are given out at once.
const MANY: usize = 128;

/// Rows that are given out between two looks for interrupts.
const AT_A_TIME: usize = 4096;

/// Gives out rows. Those of many copies take longer to give out than to find, so they wait, and are given out a few at
/// a time while threads compare other documents.
struct PairRows<'a> {
    members: &'a Members,
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

    /// Gives out so many pairs of copies.
    fn give(&mut self, mut count: u64) {
        while count > 0
            && let Some(mut copies) = self.copies.pop_front()
        {
            check_interrupts();
            let Copies { names, a, b } = &mut copies;
            let others = names.len() - *b;
            let some = others.min(AT_A_TIME).min(usize::try_from(count).unwrap_or(AT_A_TIME));
            names[*b..*b + some].iter().for_each(|other| self.pair(names[*a], *other, 1.0));
            *b += some;
            if *b == names.len() {
                (*a, *b) = (*a + 1, *a + 2);
            }
            (count, self.left) = (count - some as u64, self.left - some as u64);
            if *b < names.len() {
                self.copies.push_front(copies);
            }
        }
    }
}

impl Taker<FoundPairs> for PairRows<'_> {
    fn take(&mut self, found: FoundPairs) -> Result<()> {
        let members = self.members;
        match found {
            FoundPairs::Pair(a, b, similarity) if members.compare(a, b).is_lt() => {
                self.pair(a, b, similarity);
            }
            FoundPairs::Pair(a, b, similarity) => self.pair(b, a, similarity),
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

/// The pairs of a group.
fn of_group(group: &mut Group, emit: &mut Emit<FoundPairs>) -> std::result::Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    // Those among exact copies.
    for (leader, copies) in identical.groups() {
        if copies.clone().nth(MANY).is_some() {
            let all = std::iter::once(leader).chain(copies);
            emit(FoundPairs::Copies(memory::collect(all.map(|copy| group.name(copy)))?))?;
            continue;
        }
        let mut rest = std::iter::once(leader).chain(copies);
        while let Some(a) = rest.next() {
            group.check_interrupts()?;
            rest.clone()
                .try_for_each(|b| emit(FoundPairs::Pair(group.name(a), group.name(b), 1.0)))?;
        }
    }
    let limit = group.limit();
    pairs(group, &identical, &|_| PairSide::Both, limit, &mut |group, pair| {
        for a in identical.members(pair.a) {
            group.check_interrupts()?;
            for b in identical.members(pair.b) {
                emit(FoundPairs::Pair(group.name(a), group.name(b), pair.similarity))?;
            }
        }
        Ok(())
    })
}

/// `near_duplicates_between(a, b, threshold, verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicates_between(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches, .. } =
        Work::of_two(&session, &Arguments::of(call, POSITIONS_BETWEEN))?;
    let second = members.second();
    batches.each(
        &|group: &mut Group, emit: &mut Emit<PairAcross>| Across { second, emit }.group(group),
        &mut |(a, b, similarity): PairAcross| {
            result.push(&[members.key(a), members.key(b), float8_datum(similarity)].map(Some));
            Ok(())
        },
    )?;
    Ok(None)
}

/// A document of each collection by name, and their similarity.
type PairAcross = (u32, u32, f64);

struct Across<'a, 'b> {
    /// The first document of the second collection.
    second: u32,
    emit: &'a mut Emit<'b, PairAcross>,
}

impl Across<'_, '_> {
    /// Gives out the pairs of a group.
    fn group(&mut self, group: &mut Group) -> std::result::Result<LeftOut, Error> {
        let identical = Identical::group(group)?;
        for (leader, _) in identical.groups() {
            self.cross(group, &identical, leader, leader, 1.0)?;
        }
        let sides = self.sides(group, &identical)?;
        let side = |leader: u32| sides[leader as usize];
        let limit = group.limit();
        pairs(group, &identical, &side, limit, &mut |group, pair| {
            self.cross(group, &identical, pair.a, pair.b, pair.similarity)?;
            self.cross(group, &identical, pair.b, pair.a, pair.similarity)
        })
    }

    /// For each leader, in which of the two collections its members are.
    fn sides(
        &self,
        group: &Group,
        identical: &Identical,
    ) -> std::result::Result<Vec<PairSide>, Error> {
        let side = |document: u32| {
            if group.name(document) < self.second { PairSide::Left } else { PairSide::Right }
        };
        let mut sides = memory::collect((0..identical.documents()).map(side))?;
        for (leader, copies) in identical.groups() {
            for copy in copies {
                if side(copy) != sides[leader as usize] {
                    sides[leader as usize] = PairSide::Both;
                }
            }
        }
        Ok(sides)
    }

    /// Gives out the pairs of the members of leader `a` in the first collection with those of `b`
    /// in the second.
    fn cross(
        &mut self,
        group: &mut Group,
        identical: &Identical,
        a: u32,
        b: u32,
        similarity: f64,
    ) -> std::result::Result<(), Error> {
        for a in identical.members(a) {
            group.check_interrupts()?;
            let a = group.name(a);
            let others = identical.members(b).map(|b| group.name(b));
            for b in others.filter(|b| a < self.second && *b >= self.second) {
                (self.emit)((a, b, similarity))?;
            }
        }
        Ok(())
    }
}
