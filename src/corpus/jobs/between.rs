//! `near_duplicates_between()`: what two collections share.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Hashes, Identical, LeftOut, PairSide, pairs};
use sketch::{Error, memory};

use crate::corpus::groups::Emit;
use crate::corpus::groups::group::Group;
use crate::corpus::jobs::Work;
use crate::corpus::source::arguments::{Arguments, Positions};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;

sql_function!(minlsh_near_duplicates_between, near_duplicates_between);

const POSITIONS: Positions = Positions { threshold: 2, verify: 3, options: 7 };

/// `near_duplicates_between(a, b, threshold, verify, body, ...) → (doc_a, doc_b, similarity)`
fn near_duplicates_between(call: &Call) -> crate::error::Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches, .. } =
        Work::of_two(&session, &Arguments::of(call, POSITIONS))?;
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
    fn group(&mut self, group: &mut Group) -> Result<LeftOut, Error> {
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
    fn sides(&self, group: &Group, identical: &Identical) -> Result<Vec<PairSide>, Error> {
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
    ) -> Result<(), Error> {
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
