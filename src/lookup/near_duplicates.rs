//! `near_duplicates()`, `near_duplicates_of()` and `nearest_documents()`: the documents most
//! similar to one.

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::document::kind::Kind;
use crate::error::{Result, error, invalid_parameter};
use crate::lookup::find::Target;
use crate::lookup::indexed::Indexed;
use crate::lookup::lookup_arguments;
use crate::lookup::side::{Question, Side};
use crate::options::{Threshold, Verify};
use crate::pg::array;
use crate::pg::call::{Call, sql_function};
use crate::pg::catalog;
use crate::pg::names::type_label;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::{Parameter, Session};
use crate::pg::text;
use crate::row_key;
use crate::side_table::SideTable;

sql_function!(minlsh_near_duplicates, near_duplicates);
sql_function!(minlsh_near_duplicates_of, near_duplicates_of);
sql_function!(minlsh_nearest_documents, nearest_documents);

/// The places of the arguments: a key or a document, then what is wanted of it.
const OF: usize = 0;
const THRESHOLD: usize = 1;
const K: usize = 1;
const INDEX: usize = 2;
const VERIFY: usize = 3;

/// How many documents nearest_documents() gives unless told otherwise.
const DEFAULT_K: i32 = 10;

/// `near_duplicates(doc_id, threshold, index, verify) → (doc_id, similarity)`
fn near_duplicates(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let target = Target::read(call, INDEX)?;
    let threshold = lookup_arguments::threshold(call, THRESHOLD, target.options(), &target.name())?;
    of_document(call, &target, threshold, None, &result)
}

/// `nearest_documents(doc_id, k, index, verify) → (doc_id, similarity)`
fn nearest_documents(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let target = Target::read(call, INDEX)?;
    let k = call.int4(K).unwrap_or(DEFAULT_K);
    if k < 1 {
        return Err(invalid_parameter(format!("k must be at least 1, not {k}"))
            .set_hint("It is the number of documents wanted."));
    }
    of_document(call, &target, target.options().threshold, Some(k), &result)
}

/// The near-duplicates of the document whose key is the first argument; the most similar `limit` of them.
fn of_document(
    call: &Call,
    target: &Target,
    threshold: Threshold,
    limit: Option<i32>,
    result: &ResultRows,
) -> Result<Option<Datum>> {
    let asked = Asked::new(target, threshold, lookup_arguments::verify(call, VERIFY)?)?;
    if let Some(key) = row_key::argument(call, OF, asked.key_type()?, &target.name())? {
        asked.answer(&Session::open(), key, limit, result)?;
    }
    Ok(None)
}

/// An index that is asked for the near-duplicates of its rows, by somebody who may.
pub struct Asked<'a> {
    what: What<'a>,
    threshold: Threshold,
    verify: Verify,
}

enum What<'a> {
    Index(&'a Indexed),
    Side(Box<Side<'a>>),
}

impl<'a> Asked<'a> {
    /// Checks the caller's rights, and whether it can be verified so; `None`: as it does best.
    pub fn new(target: &'a Target, threshold: Threshold, verify: Option<Verify>) -> Result<Self> {
        let what = match target {
            Target::Index(index) => {
                check_verify(index, verify)?;
                What::Index(index)
            }
            Target::Side(side) => What::Side(Box::new(Side::open(side)?)),
        };
        Ok(Self { what, threshold, verify: verify.unwrap_or(Verify::Exact) })
    }

    /// The type of the keys.
    pub fn key_type(&self) -> Result<Oid> {
        match &self.what {
            What::Index(index) => index.key().map(|key| key.base_type),
            What::Side(side) => Ok(side.key_type()),
        }
    }

    /// Puts the near-duplicates of a row into the result.
    fn answer(
        &self,
        session: &Session,
        key: Datum,
        limit: Option<i32>,
        result: &ResultRows,
    ) -> Result<()> {
        match &self.what {
            What::Index(index) => {
                let wanted = index.of_row(session, key, self.threshold, limit.map(i64::from))?;
                wanted.map_or(Ok(()), |wanted| index.answer(session, &wanted, result))
            }
            What::Side(side) => {
                let Some(probe) = side.stored(session, key, self.verify)? else { return Ok(()) };
                side.answer(session, &self.question(limit), &probe, result)
            }
        }
    }

    /// Calls `visit` with the key, as text, and the similarity of each near-duplicate of a row.
    pub fn each(
        &self,
        session: &Session,
        key: Datum,
        visit: &mut dyn FnMut(&str, f64) -> Result<()>,
    ) -> Result<()> {
        match &self.what {
            What::Index(index) => {
                let wanted = index.of_row(session, key, self.threshold, None)?;
                wanted.map_or(Ok(()), |wanted| index.each(session, &wanted, visit))
            }
            What::Side(side) => {
                let Some(probe) = side.stored(session, key, self.verify)? else { return Ok(()) };
                side.each(session, &self.question(None), &probe, &mut |key, similarity| {
                    // SAFETY: made a text by `to_text`.
                    let name = unsafe { text::read(row_key::to_text(key, side.key_type())) }?;
                    visit(name, similarity)
                })
            }
        }
    }

    fn question(&self, limit: Option<i32>) -> Question {
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        Question { threshold: self.threshold, verify: self.verify, limit }
    }
}

/// `near_duplicates_of(document, threshold, index, verify) → (doc_id, similarity)`: of a text, a
/// set or a signature.
fn near_duplicates_of(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let target = Target::read(call, INDEX)?;
    let threshold = lookup_arguments::threshold(call, THRESHOLD, target.options(), &target.name())?;
    let verify = lookup_arguments::verify(call, VERIFY)?;
    let given = catalog::base_type(call.argument_type(OF));
    match &target {
        Target::Index(index) => {
            check_verify(index, verify)?;
            check_kind(index, given)?;
            let Some(document) = call.datum(OF) else { return Ok(None) };
            let session = Session::open();
            // SAFETY: an argument of the type that the call says it has.
            let argument = unsafe { Parameter::new(given, Some(document)) };
            if let Some(wanted) = index.of_argument(&session, argument, threshold)? {
                index.answer(&session, &wanted, &result)?;
            }
        }
        Target::Side(side) => of_side(call, given, side, threshold, verify, &result)?,
    }
    Ok(None)
}

/// The same of a side table, which can be searched by a text or by a signature.
fn of_side(
    call: &Call,
    given: Oid,
    side_table: &SideTable,
    threshold: Threshold,
    verify: Option<Verify>,
    result: &ResultRows,
) -> Result<()> {
    let side = Side::open(side_table)?;
    let Some(document) = call.datum(OF) else { return Ok(()) };
    let (probe, verify) = match given {
        pg_sys::TEXTOID => {
            let verify = verify.unwrap_or(Verify::Exact);
            let text = call.text(OF)?.unwrap_or_default();
            (side.given(text, verify)?, verify)
        }
        pg_sys::INT4ARRAYOID if verify == Some(Verify::Exact) => {
            return Err(invalid_parameter("a signature has no text: verify cannot be \"exact\"")
                .set_hint("Leave verify out, or give the text."));
        }
        pg_sys::INT4ARRAYOID => {
            // SAFETY: an argument of that type.
            let signature = unsafe { array::read_int4(document) }?;
            let slots = side_table.options.config.num_perm();
            if signature.len() != slots {
                return Err(invalid_parameter(format!(
                    "the signature must have {slots} slots, as those of side table \"{}\", not {}",
                    crate::pg::names::relation_name(side_table.storage),
                    signature.len()
                )));
            }
            (Some(side.of_signature(signature)?), Verify::Signature)
        }
        other => {
            let name = crate::pg::names::relation_name(side_table.storage);
            return Err(wrong_kind(&name, "texts", other, "a text, or the signature of one"));
        }
    };
    if let Some(probe) = probe {
        let question = Question { threshold, verify, limit: None };
        side.answer(&Session::open(), &question, &probe, result)?;
    }
    Ok(())
}

/// Refuses a document of another kind than those of the index.
fn check_kind(index: &Indexed, given: Oid) -> Result<()> {
    let is_array = catalog::element_type(given) != Oid::INVALID;
    let (holds, wanted, fits) = match index.info.kind {
        Kind::Text => ("texts", "a text", given == pg_sys::TEXTOID),
        Kind::Set => ("sets", "an array of the elements", is_array),
        Kind::Signature => ("signatures", "an integer[]", given == pg_sys::INT4ARRAYOID),
        _ => ("documents", "the table instead, with ~= and a minlsh_document", false),
    };
    if fits { Ok(()) } else { Err(wrong_kind(index.name(), holds, given, wanted)) }
}

fn wrong_kind(
    index: &str,
    holds: &str,
    given: Oid,
    wanted: &str,
) -> pgrx::pg_sys::panic::ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("index \"{index}\" is of {holds}: it cannot be asked for {}", type_label(given)),
    )
    .set_hint(format!("Give {wanted}."))
}

/// Refuses a way of verifying that the index cannot have.
fn check_verify(index: &Indexed, verify: Option<Verify>) -> Result<()> {
    let name = index.name();
    match (index.info.kind, verify) {
        (Kind::Signature, Some(Verify::Exact)) => Err(invalid_parameter(format!(
            "index \"{name}\" has signatures only: verify cannot be \"exact\""
        ))
        .set_hint("Leave verify out.")),
        (Kind::Text | Kind::Document | Kind::Set, Some(Verify::Signature)) => {
            Err(invalid_parameter(format!(
                "index \"{name}\" keeps no signatures: verify cannot be \"signature\""
            ))
            .set_hint("Leave verify out, or make a side table with minlsh_create_index()."))
        }
        _ => Ok(()),
    }
}
