//! `near_duplicates_between()`: what two collections share.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Identical, Side};
use sketch::counted;

use crate::error::{Result, invalid_parameter};
use crate::functions::checkpoint;
use crate::index::definition::{Index, Settings};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::names::relation_name;
use crate::pg::rows::ResultRows;
use crate::pg::spi::Session;
use crate::query::corpus::collection::{Collection, Part};
use crate::query::corpus::work::Work;
use crate::query::question::Question;

sql_function!(minlsh_near_duplicates_between, near_duplicates_between);

/// `near_duplicates_between(index_a, index_b, threshold, verify) → (doc_a, doc_b, similarity)`
fn near_duplicates_between(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let mut questions = [Question::read(call, 0, 2, 3)?, Question::read(call, 1, 2, 3)?];
    let [left, right] = &mut questions;
    check_comparable(&left.index, &right.index)?;
    // Without a threshold asked for, that of the index that finds less.
    left.threshold = left.threshold.max(right.threshold);
    right.threshold = left.threshold;
    let probes = probes(left, right);
    let session = Session::open();
    let banding = &questions[0].index.settings.banding;
    let collection = Collection::read(&questions, banding, probes, &session)?;
    let mut work = Work::on(&questions[0], &session, collection)?;
    let parts = work.parts.clone();
    let writer = Writer { left: &parts[0], right: &parts[1], result: &result };
    for (leader, copies) in work.identical.groups() {
        let members: Vec<u32> = std::iter::once(leader).chain(copies).collect();
        writer.cross(&members, &members, 1.0);
    }
    let sides: Vec<Side> = sides(&work.identical, parts[1].first);
    work.pairs(&|leader| sides[leader as usize], &mut |identical, pair| {
        let members = |leader| identical.members(leader).collect::<Vec<_>>();
        let (a, b) = (members(pair.a), members(pair.b));
        writer.cross(&a, &b, pair.similarity);
        writer.cross(&b, &a, pair.similarity);
    })?;
    Ok(None)
}

/// How many bands of the first index are looked at: as many as both indexes' recall needs, and
/// both have.
fn probes(left: &Question, right: &Question) -> usize {
    let (a, b) = (&left.index.settings, &right.index.settings);
    if a.banding.rows() == b.banding.rows() {
        left.probes().max(right.probes()).min(a.banding.bands()).min(b.banding.bands())
    } else {
        left.probes()
    }
}

/// Signatures compare only if they were made alike.
fn check_comparable(a: &Index, b: &Index) -> Result<()> {
    let (left, right) = (relation_name(a.storage), relation_name(b.storage));
    if a.storage == b.storage {
        return Err(invalid_parameter(format!("\"{left}\" is named twice")).set_hint(
            "Name two indexes; near_duplicate_pairs() finds the near-duplicates within one.",
        ));
    }
    let same_bands = a.settings.banding.rows() == b.settings.banding.rows();
    let whole = |settings: &Settings| settings.slot_bits == sketch::SlotBits::All;
    if a.settings.config == b.settings.config
        && a.settings.slot_bits == b.settings.slot_bits
        && (same_bands || whole(&b.settings))
    {
        return Ok(());
    }
    Err(invalid_parameter(format!(
        "minlsh indexes \"{left}\" and \"{right}\" have different options and cannot be compared"
    ))
    .set_detail(format!(
        "\"{left}\" has {}; \"{right}\" has {}.",
        describe(&a.settings),
        describe(&b.settings)
    ))
    .set_hint("Create one of them again with the options of the other; minlsh_indexes shows them."))
}

fn describe(settings: &Settings) -> String {
    format!(
        "{}, slot_bits {}, bands of {}",
        settings.config,
        settings.slot_bits.bits(),
        counted(settings.banding.rows(), "row"),
    )
}

/// For each leader, in which of the two collections its members are; the second starts at
/// document `second`.
fn sides(identical: &Identical, second: u32) -> Vec<Side> {
    let side = |document: u32| if document < second { Side::Left } else { Side::Right };
    let mut sides: Vec<Side> = (0..identical.documents()).map(side).collect();
    for (leader, copies) in identical.groups() {
        for copy in copies {
            if side(copy) != sides[leader as usize] {
                sides[leader as usize] = Side::Both;
            }
        }
    }
    sides
}

struct Writer<'a> {
    left: &'a Part,
    right: &'a Part,
    result: &'a ResultRows,
}

impl Writer<'_> {
    /// Gives out the pairs of the documents of `a` in the first collection with those of `b` in
    /// the second.
    fn cross(&self, a: &[u32], b: &[u32], similarity: f64) {
        for &a in a.iter().filter(|document| **document < self.right.first) {
            checkpoint();
            for &b in b.iter().filter(|document| **document >= self.right.first) {
                let row = [self.left.text(a), self.right.text(b), float8_datum(similarity)];
                self.result.push(&row.map(Some));
            }
        }
    }
}
