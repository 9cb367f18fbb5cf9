//! A search in an index of passages: which rows can have enough of a passage.
//!
//! Every text that has enough of it has one of the entries of a stretch, and any stretch that is long
//! enough will do ([`Bound`]). So the lists of all its entries are read, a few rows of each at first, then
//! more of those that have more, until one stretch has been read completely. A list of boilerplate is
//! left alone that way, and no row is missed. The lists that were read say how much of the passage each
//! candidate can have; the rest is not given for recheck.

use sketch::memory;
use sketch::passage::Bound;

use crate::error::Result;
use crate::pg::interrupts::check_interrupts;

/// Rows of each list that are read at first.
const FIRST: usize = 64;
/// The factor by which the next round reads more.
const GROWTH: usize = 8;
/// Candidates that are looked at together.
const BATCH: usize = 1024;

/// The rows under one entry.
#[derive(Default)]
struct List {
    /// In ascending order, if all of them were read.
    rows: Vec<u64>,
    complete: bool,
}

/// Reads the rows under an entry, given by its place among those of the bound, into a vector, up to a most
/// number of them; returns whether there are no more.
pub type ReadEntries<'a> = dyn FnMut(usize, &mut Vec<u64>, usize) -> Result<bool> + 'a;

/// The rows that can have enough of a passage, ascending.
pub fn candidates(bound: &Bound, read: &mut ReadEntries) -> Result<Vec<u64>> {
    let count = bound.entries().len();
    let mut lists = memory::with_capacity(count)?;
    lists.resize_with(count, List::default);
    let mut limit = FIRST;
    let asked = loop {
        for (place, list) in lists.iter_mut().enumerate().filter(|(_, list)| !list.complete) {
            check_interrupts();
            list.complete = read(place, &mut list.rows, limit)?;
            if list.complete {
                sort(&mut list.rows);
            } else {
                list.rows.clear();
            }
        }
        let cost = |place: usize| {
            let List { rows, complete } = &lists[place];
            complete.then_some(rows.len() as u64)
        };
        if let Some(asked) = bound.cheapest(cost)? {
            break asked;
        }
        limit = limit.saturating_mul(GROWTH);
    };
    let mut rows = Vec::new();
    for place in asked {
        memory::extend(&mut rows, &lists[place].rows)?;
    }
    sort(&mut rows);
    possible(bound, &lists, rows)
}

/// Those of `rows` that can have enough, as far as the lists say.
fn possible(bound: &Bound, lists: &[List], mut rows: Vec<u64>) -> Result<Vec<u64>> {
    let words = lists.len().div_ceil(64);
    let mut absent = memory::filled(0_u64, words * BATCH.min(rows.len()))?;
    let mut next = memory::filled(0_usize, lists.len())?;
    let mut kept = 0;
    for start in (0..rows.len()).step_by(BATCH) {
        check_interrupts();
        let batch = start..rows.len().min(start + BATCH);
        absent.fill(0);
        for (place, list) in lists.iter().enumerate().filter(|(_, list)| list.complete) {
            check_interrupts();
            // Both ascend.
            let next = &mut next[place];
            for (row, absent) in rows[batch.clone()].iter().zip(absent.chunks_mut(words)) {
                while list.rows.get(*next).is_some_and(|listed| listed < row) {
                    *next += 1;
                }
                let is_absent = list.rows.get(*next) != Some(row);
                absent[place / 64] |= u64::from(is_absent) << (place % 64);
            }
        }
        for (number, at) in batch.enumerate() {
            check_interrupts();
            let absent = &absent[number * words..][..words];
            if bound.is_possible(|place| absent[place / 64] >> (place % 64) & 1 == 1) {
                rows[kept] = rows[at];
                kept += 1;
            }
        }
    }
    rows.truncate(kept);
    Ok(rows)
}

fn sort(rows: &mut Vec<u64>) {
    rows.sort_unstable();
    rows.dedup();
}
