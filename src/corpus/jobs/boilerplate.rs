//! `near_duplicate_boilerplate()`: how much of each document a job with `boilerplate` compares.

use sketch::boilerplate::CountedPart;

use super::{Question, Reading};
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::rows::RowFilter;
use crate::memory::of_corpus;
use crate::prelude::*;

set_function!(minlsh_near_duplicate_boilerplate, near_duplicate_boilerplate);

/// `near_duplicate_boilerplate(source, boilerplate, body, ...) →
/// (doc_id, origin, judged_by, level, shingles, counted, by_equality)`
fn near_duplicate_boilerplate(call: &Call, result: &ResultRows) -> Result<()> {
    let (session, arguments) = (Session::open(), Arguments::of(call));
    let question = Question::new(&session, &arguments, &["source"], false)?;
    let Reading { mut documents, mut rows, origins, .. } =
        question.read(&question.criteria, None, RowFilter::All, of_corpus(true), true)?;
    let found = documents.find_boilerplate(&mut rows)?;
    let (Some(mut boilerplates), Some(origins)) = (found, origins) else {
        return Err(null_not_allowed("boilerplate must not be NULL")
            .set_hint("Name the column that says where a document comes from, or pass '*' for one origin."));
    };
    rows.each_row(&mut |number, key, read| {
        let origin = boilerplates.origin(number);
        result.add(|| {
            // Its distinct shingles, and the counted ones.
            let mut part = CountedPart::default();
            read(&mut |stored| {
                part = boilerplates.part(stored, origin, &mut check_interrupts)?;
                Ok(())
            })?;
            // Number of documents by which its origin was judged, and the level in percent, if it was judged.
            let (judged_by, level) = boilerplates.judged(origin).unzip();
            let number = |count: usize| Datum::from(i64::try_from(count).unwrap_or(i64::MAX));
            Ok([
                Some(key.to_text().datum()),
                origins.shown(origin).map(text::write),
                Some(Datum::from(judged_by.unwrap_or(0) as i32)),
                level.map(|level| float8_datum(f64::from(level) / 100.0)),
                Some(number(part.shingles)),
                Some(number(part.counted)),
                Some(Datum::from(part.by_equality)),
            ])
        })
    })
}
