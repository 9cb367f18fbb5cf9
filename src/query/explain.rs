//! `minlsh_explain()`: why two documents are, or are not, found to be near-duplicates.

use pgrx::pg_sys::Datum;
use sketch::Comparison;

use crate::error::{Result, engine};
use crate::functions::checkpoint;
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::role::act_as;
use crate::pg::rows::ResultRows;
use crate::pg::spi::{Access, Session};
use crate::query::question::Question;
use crate::query::{key, options, plans};

sql_function!(minlsh_explain, explain);

/// Shingles named of each kind.
const EXAMPLES: usize = 10;

/// What is stored of a document: its signature and its bands.
type Stored = (Vec<i32>, Vec<i64>);

/// `minlsh_explain(index, a, b, threshold) → one row`, none if the caller cannot see one of them.
fn explain(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let mut question = Question::of_index(call, 0)?;
    question.threshold = options::threshold(call, 3, &question.index)?;
    let (Some(a), Some(b)) =
        (key::argument(call, 1, &question.index)?, key::argument(call, 2, &question.index)?)
    else {
        return Ok(None);
    };
    let session = Session::open();
    let (Some(text_a), Some(text_b)) =
        (body(&question, &session, a)?, body(&question, &session, b)?)
    else {
        return Ok(None);
    };
    let (stored_a, stored_b) = (stored(&question, &session, a)?, stored(&question, &session, b)?);
    let settings = &question.index.settings;
    let (config, slot_bits) = (&settings.config, settings.slot_bits);
    let texts = Comparison::new(config, &text_a, &text_b, EXAMPLES, &mut checkpoint);
    let jaccard = texts.a.jaccard(&texts.b);
    let (mut estimate, mut fired) = (None, Vec::new());
    if let (Some((signature_a, bands_a)), Some((signature_b, bands_b))) = (&stored_a, &stored_b) {
        estimate = Some(slot_bits.estimate_jaccard(signature_a, signature_b).map_err(engine)?);
        let probed = bands_a.iter().zip(bands_b).take(question.probes());
        fired.extend((1..).zip(probed).filter(|(_, (a, b))| a == b).map(|(band, _)| band));
    }
    let error = jaccard
        .map(|jaccard| slot_bits.standard_error(config.num_perm() as i64, jaccard))
        .transpose()
        .map_err(engine)?;
    let probability = jaccard.map(|jaccard| question.probability(jaccard));
    let count = |count: usize| Some(Datum::from(count as i64));
    let share = |share: Option<f64>| share.map(float8_datum);
    let some = |shingles: &[String]| {
        Some(array::write_text(&shingles.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    result.push(&[
        share(jaccard),
        share(estimate),
        share(error),
        share(texts.a.containment(&texts.b)),
        share(texts.b.containment(&texts.a)),
        count(texts.a.len()),
        count(texts.b.len()),
        count(texts.a.intersection_len(&texts.b)),
        some(&texts.shared),
        some(&texts.only_a),
        some(&texts.only_b),
        Some(array::write_int4(&fired)),
        share(probability),
    ]);
    Ok(None)
}

/// The text of a document, `None` if the caller cannot see it; a NULL is an empty text.
fn body(question: &Question, session: &Session, key: Datum) -> Result<Option<String>> {
    let plan = plans::body(&question.index, session)?;
    let rows = session.execute(&plan, &[Some(key)], Access::Read)?;
    if rows.is_empty() {
        return Ok(None);
    }
    rows.text(0, 1).map(Some)
}

/// What the index knows of a document, `None` if it has no shingle.
fn stored(question: &Question, session: &Session, key: Datum) -> Result<Option<Stored>> {
    let index = &question.index;
    let plan = plans::document(index, session)?;
    let _rights = act_as(index.owner);
    let rows = session.execute(&plan, &[Some(key)], Access::Read)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let (Some(signature), Some(bands)) = (rows.datum(0, 1), rows.datum(0, 2)) else {
        return Ok(None);
    };
    // SAFETY: the columns of a side table are integer[] and bigint[].
    unsafe { Ok(Some((array::read_int4(signature)?.to_vec(), array::read_int8(bands)?.to_vec()))) }
}
