//! `near_duplicates()` and `near_duplicates_of()`: the documents most similar to one.
//!
//! 1. The document's bands, as many as the recall needs at the threshold asked for, are looked
//!    up in the GIN index, with the rights of the side table's owner.
//! 2. Candidates are filtered by the similarity that the signatures estimate.
//! 3. Where it is asked for (`verify => 'exact'`) or needed (row-level security, partitions),
//!    what remains is joined with the user's table, with the rights of the caller.

use pgrx::pg_sys::Datum;

use crate::error::{Result, engine, invalid_parameter};
use crate::functions::{checkpoint, with_sketcher};
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::role::act_as;
use crate::pg::rows::ResultRows;
use crate::pg::spi::{Access, Session};
use crate::query::options::Verify;
use crate::query::question::Question;
use crate::query::{key, plans};

sql_function!(minlsh_near_duplicates, near_duplicates);
sql_function!(minlsh_near_duplicates_of, near_duplicates_of);
sql_function!(minlsh_nearest_documents, nearest_documents);

/// What near-duplicates are looked for.
struct Probe<'a> {
    /// `None`: the text is not a stored document.
    key: Option<Datum>,
    signature: &'a [i32],
    bands: &'a [i64],
    /// Read only where the exact similarity is asked for.
    text: Option<Datum>,
    /// How many documents are wanted; `None`: all.
    limit: Option<i32>,
}

/// How many documents nearest_documents() gives unless told otherwise.
const DEFAULT_K: i32 = 10;

/// `near_duplicates(doc_id, threshold, index, verify) → (doc_id, similarity)`
fn near_duplicates(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    of_document(call, &Question::read(call, 2, 1, 3)?, None, &result)
}

/// `nearest_documents(doc_id, k, index, verify) → (doc_id, similarity)`
fn nearest_documents(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read_at_least(call, 2, 3)?;
    let k = call.int4(1).unwrap_or(DEFAULT_K);
    if k < 1 {
        return Err(invalid_parameter(format!("k must be at least 1, not {k}"))
            .set_hint("It is the number of documents wanted."));
    }
    of_document(call, &question, Some(k), &result)
}

/// The near-duplicates of the document whose key is argument 0; the most similar `limit` of them.
fn of_document(
    call: &Call,
    question: &Question,
    limit: Option<i32>,
    result: &ResultRows,
) -> Result<Option<Datum>> {
    let index = &question.index;
    let Some(key) = key::argument(call, 0, index)? else {
        return Ok(None);
    };
    let session = Session::open();
    let text = if question.reads_table() {
        let rows = session.execute(&*plans::body(index, &session)?, &[Some(key)], Access::Read)?;
        if rows.is_empty() {
            // The caller cannot see the document: for them it does not exist.
            return Ok(None);
        }
        rows.datum(0, 1)
    } else {
        None
    };
    let stored = {
        let _rights = act_as(index.owner);
        session.execute(&*plans::document(index, &session)?, &[Some(key)], Access::Read)?
    };
    if stored.is_empty() {
        return Ok(None);
    }
    if let (Some(signature), Some(bands)) = (stored.datum(0, 1), stored.datum(0, 2)) {
        // SAFETY: the columns of a side table are integer[] and bigint[].
        let (signature, bands) =
            unsafe { (array::read_int4(signature)?, array::read_int8(bands)?) };
        let probe = Probe { key: Some(key), signature, bands, text, limit };
        answer(&session, question, &probe, result)?;
    }
    Ok(None)
}

/// `near_duplicates_of(text, threshold, index, verify) → (doc_id, similarity)`
fn near_duplicates_of(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read(call, 2, 1, 3)?;
    let Some(text) = call.text(0)? else {
        return Ok(None);
    };
    let settings = &question.index.settings;
    let signature = with_sketcher(&settings.config, |sketcher| {
        sketcher.sketch(&text, &mut checkpoint).map(Vec::from)
    });
    let Some(signature) = signature else {
        return Ok(None);
    };
    let mut bands = Vec::new();
    settings.banding.hashes(&signature, &mut bands).map_err(engine)?;
    let mut stored = Vec::new();
    settings.slot_bits.pack(&signature, &mut stored).map_err(engine)?;
    let text = call.datum(0);
    let probe = Probe { key: None, signature: &stored, bands: &bands, text, limit: None };
    answer(&Session::open(), &question, &probe, &result)?;
    Ok(None)
}

fn answer(
    session: &Session,
    question: &Question,
    probe: &Probe,
    result: &ResultRows,
) -> Result<()> {
    let index = &question.index;
    let bands = &probe.bands[..question.probes().min(probe.bands.len())];
    let parameters = [
        Some(array::write_int8(bands)),
        Some(array::write_int4(probe.signature)),
        Some(float8_datum(question.least_estimate())),
        probe.key,
    ];
    let limit = probe.limit.map(|limit| Datum::from(i64::from(limit)));
    let key_type = result.column_type(0);
    if !question.reads_table() {
        let plan = plans::by_signature(index, session, key_type)?;
        let parameters = [&parameters[..], &[limit]].concat();
        let _rights = act_as(index.owner);
        return session.execute_into(&plan, &parameters, Access::Read, result);
    }
    let found = {
        let plan = plans::as_array(index, session)?;
        let _rights = act_as(index.owner);
        session.execute(&plan, &parameters, Access::Read)?
    };
    let Some(found) = found.datum(0, 1) else {
        return Ok(());
    };
    match question.verify {
        Verify::Signature => session.execute_into(
            &*plans::visible(index, session, key_type)?,
            &[Some(found), limit],
            Access::Read,
            result,
        ),
        Verify::Exact => session.execute_into(
            &*plans::exact(index, session, key_type)?,
            &[Some(found), probe.text, Some(float8_datum(question.threshold)), limit],
            Access::Read,
            result,
        ),
    }
}
