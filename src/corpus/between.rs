//! `near_duplicates_between()`: what two collections share.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Identical, LeftOut, Side, pairs};
use sketch::memory;

use crate::corpus::arguments::{Arguments, Places};
use crate::corpus::group::Group;
use crate::corpus::members::Members;
use crate::corpus::work::{Work, report};
use crate::error::{Result, engine};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use crate::settings::bucket_limit;

sql_function!(minlsh_near_duplicates_between, near_duplicates_between);

const PLACES: Places = Places { threshold: 2, verify: 3, options: 7 };

/// `near_duplicates_between(a, b, threshold, [key], verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicates_between(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches } = Work::of_two(&session, &Arguments::of(call, PLACES))?;
    let writer = Writer { members: &members, second: members.second(), result: &result };
    let mut left_out = LeftOut::default();
    batches.each(&mut |group| {
        left_out += writer.group(group)?;
        Ok(())
    })?;
    report(left_out);
    Ok(None)
}

struct Writer<'a> {
    members: &'a Members,
    /// The first document of the second collection.
    second: u32,
    result: &'a ResultRows,
}

impl Writer<'_> {
    /// Gives out the pairs of a group.
    fn group(&self, group: &mut Group) -> Result<LeftOut> {
        let identical = Identical::group(group)?;
        for (leader, _) in identical.groups() {
            self.cross(group, &identical, leader, leader, 1.0);
        }
        let sides = self.sides(group, &identical)?;
        let side = |leader: u32| sides[leader as usize];
        pairs(group, &identical, &side, bucket_limit(), &mut |group, pair| {
            self.cross(group, &identical, pair.a, pair.b, pair.similarity);
            self.cross(group, &identical, pair.b, pair.a, pair.similarity);
            Ok(())
        })
    }

    /// For each leader, in which of the two collections its members are.
    fn sides(&self, group: &Group, identical: &Identical) -> Result<Vec<Side>> {
        let side = |document: u32| {
            if group.name(document) < self.second { Side::Left } else { Side::Right }
        };
        let mut sides = memory::collect((0..identical.documents()).map(side)).map_err(engine)?;
        for (leader, copies) in identical.groups() {
            for copy in copies {
                if side(copy) != sides[leader as usize] {
                    sides[leader as usize] = Side::Both;
                }
            }
        }
        Ok(sides)
    }

    /// Gives out the pairs of the members of leader `a` in the first collection with those of `b`
    /// in the second.
    fn cross(&self, group: &Group, identical: &Identical, a: u32, b: u32, similarity: f64) {
        for a in identical.members(a).map(|a| group.name(a)).filter(|a| *a < self.second) {
            check_interrupts();
            for b in identical.members(b).map(|b| group.name(b)).filter(|b| *b >= self.second) {
                let row = [self.members.key(a), self.members.key(b), float8_datum(similarity)];
                self.result.push(&row.map(Some));
            }
        }
    }
}
