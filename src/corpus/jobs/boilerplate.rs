//! `near_duplicate_boilerplate()`: how much of each document a job with `boilerplate` compares.

use crate::corpus::jobs::Question;
use crate::corpus::source::arguments::Arguments;
use crate::prelude::*;
use crate::row_key::KeyValue;

set_function!(minlsh_near_duplicate_boilerplate, near_duplicate_boilerplate);

/// `near_duplicate_boilerplate(source, boilerplate, body, ...) →
/// (doc_id, origin, judged_by, level, shingles, counted, by_equality)`
fn near_duplicate_boilerplate(call: &Call, result: &ResultRows) -> Result<()> {
    let (session, arguments) = (Session::open(), Arguments::of(call));
    let question = Question::new(&session, &arguments, &["source"], false)?;
    let key_type = catalog::base_type(question.source().key_column().0);
    question.each_judged(&mut |judged| {
        check_interrupts();
        result.add(|| {
            let part = judged.part()?;
            let (judged_by, level) = judged.level().unzip();
            // SAFETY: the row's key has the type of the source's keys, and `push` copies the text.
            let key = unsafe { KeyValue::new(judged.key, key_type).to_text() };
            let number = |count: usize| Datum::from(i64::try_from(count).unwrap_or(i64::MAX));
            Ok([
                Some(key),
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
