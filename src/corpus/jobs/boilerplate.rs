//! `near_duplicate_boilerplate()`: how much of each document a job with `boilerplate` compares.

use crate::corpus::jobs::Question;
use crate::corpus::source::arguments::Arguments;
use crate::prelude::*;

set_function!(minlsh_near_duplicate_boilerplate, near_duplicate_boilerplate);

/// `near_duplicate_boilerplate(source, boilerplate, body, ...) →
/// (doc_id, origin, judged_by, level, shingles, counted, by_equality)`
fn near_duplicate_boilerplate(call: &Call, result: &ResultRows) -> Result<()> {
    let (session, arguments) = (Session::open(), Arguments::of(call));
    let question = Question::new(&session, &arguments, &["source"], false)?;
    question.each_judged(&mut |judged| {
        check_interrupts();
        result.add(|| {
            let part = judged.part()?;
            let (judged_by, level) = judged.level().unzip();
            let number = |count: usize| Datum::from(i64::try_from(count).unwrap_or(i64::MAX));
            Ok([
                Some(judged.key.to_text().datum()),
                judged.origin().map(text::write),
                Some(Datum::from(judged_by.unwrap_or(0) as i32)),
                level.map(|level| float8_datum(f64::from(level) / 100.0)),
                Some(number(part.shingles)),
                Some(number(part.counted)),
                Some(Datum::from(part.by_equality)),
            ])
        })
    })
}
