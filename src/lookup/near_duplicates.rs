//! `near_duplicates()`, `nearest_documents()`, `near_duplicates_of()` and `nearest_documents_of()`: the documents most
//! similar to a given one.
//!
//! For an index, a query of its table finds them. A side table is read as a relation, after a check of the caller's
//! rights to the documents. The index on its signatures returns the rows that share a band with the document, and
//! signatures give estimates of the similarity. Then the query compares these candidates by their keys. With `verify =>
//! 'signature'` the estimate is the result, and no text is read.

use std::cmp::Ordering;

use sketch::dedup::Verify;
use sketch::{estimate_gate, estimate_jaccard, sort_by};

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::document::value::Value;
use crate::indexed::Indexed;
use crate::lookup::find;
use crate::lookup::search::Wanted;
use crate::options::{Threshold, same_shingling, shingling};
use crate::pg::names::{regclass_literal, relation_name, type_label};
use crate::pg::rights;
use crate::pg::type_storage::TypeStorage;
use crate::pg::value_type::Order;
use crate::prelude::*;
use crate::row_key::{self, Key, KeyValue};
use crate::side_table::SideTable;
use crate::side_table::sign::sign_text;

set_function!(minlsh_near_duplicates, near_duplicates);
set_function!(minlsh_near_duplicates_of, near_duplicates_of);
set_function!(minlsh_nearest_documents, nearest_documents);
set_function!(minlsh_nearest_documents_of, nearest_documents_of);

/// Positions of the arguments: a key or a document, then options of the search.
const OF: usize = 0;
const THRESHOLD: usize = 1;
const K: usize = 1;
const INDEX: usize = 2;
const VERIFY: usize = 3;
const LIMIT: usize = 4;
/// Position of the argument `scope` of near_duplicates_of() and nearest_documents_of().
const SCOPE: usize = 5;
const SCOPE_OF_NEAREST: usize = 4;

/// Default number of documents that nearest_documents() returns.
const DEFAULT_K: i32 = 10;

/// `near_duplicates(doc_id, threshold, index, verify) → (doc_id, similarity)`
fn near_duplicates(call: &Call, result: &ResultRows) -> Result<()> {
    let target = find::read(call, INDEX)?;
    let threshold = find::threshold(call, THRESHOLD, &target)?;
    of_document(call, Asked::new(&target, threshold, find::verify(call, VERIFY)?, None)?, result)
}

/// `nearest_documents(doc_id, k, index, verify) → (doc_id, similarity)`
fn nearest_documents(call: &Call, result: &ResultRows) -> Result<()> {
    let target = find::read(call, INDEX)?;
    let k = valid_k(call.int4(K).unwrap_or(DEFAULT_K))?;
    of_document(call, Asked::new(&target, target.options.threshold, find::verify(call, VERIFY)?, Some(k))?, result)
}

/// The near-duplicates of the document whose key is the first argument.
fn of_document(call: &Call, asked: Asked, result: &ResultRows) -> Result<()> {
    let key = row_key::argument(call, OF, asked.key_type()?, asked.index.name())?;
    let session = Session::open();
    let search = key.map(|key| asked.of_row(&session, key)).transpose()?.flatten();
    search.map_or(Ok(()), |search| asked.answer(&session, &search, result))
}

/// An index for searches of near-duplicates of its rows, by a caller with the necessary rights.
pub struct Asked<'a> {
    index: &'a Indexed,
    side: Option<Side<'a>>,
    threshold: Threshold,
    verify: Verify,
    /// Maximum number of results, the most similar ones; `None` means all.
    limit: Option<i64>,
}

enum Way<'s> {
    Query(Wanted),
    Estimates(&'s Side<'s>, Probe),
}

impl<'a> Asked<'a> {
    /// Checks the caller's rights and the way of verification; `None` stands for the index's best way.
    pub fn new(index: &'a Indexed, threshold: Threshold, verify: Option<Verify>, limit: Option<i64>) -> Result<Self> {
        check_verify(index, verify)?;
        Ok(Self { index, side: Side::of(index)?, threshold, verify: verify.unwrap_or(Verify::Exact), limit })
    }

    /// The type of the keys.
    pub fn key_type(&self) -> Result<Oid> {
        self.index.key().map(|key| key.base_type)
    }

    /// The search for the near-duplicates of a row; `None` if the row does not exist, or has no document.
    fn of_row(&self, session: &Session, key: KeyValue) -> Result<Option<Way<'_>>> {
        let wanted = || self.index.of_row(session, key, self.threshold, self.limit);
        let Some(side) = &self.side else { return Ok(wanted()?.map(Way::Query)) };
        if self.verify == Verify::Signature {
            return Ok(side.stored(key)?.map(|probe| Way::Estimates(side, probe)));
        }
        let Some(wanted) = wanted()? else { return Ok(None) };
        side.stored(key)?.map(|probe| self.among(side, wanted, &probe)).transpose()
    }

    /// The search for the near-duplicates of a call's argument: a value of the indexed type, or a document.
    fn of_given(
        &self,
        session: &Session,
        given: Parameter,
        document: Option<Document>,
        scope: Vec<Parameter>,
    ) -> Result<Option<Way<'_>>> {
        let value = match (&self.side, &document) {
            (None, _) => None,
            (Some(_), Some(document)) => Some(document.value()?),
            (Some(_), None) => match given.int4_array()? {
                Some(slots) => Some(Value::Signature(slots.into())),
                None => given.text().map(Value::Text),
            },
        };
        let wanted = || match document {
            Some(document) => Ok(Some(self.of_document(document, scope))),
            None => self.index.of_argument(session, given, self.threshold, self.limit, scope),
        };
        let (Some(side), Some(value)) = (&self.side, value) else {
            return Ok(wanted()?.map(Way::Query));
        };
        let signed = match value {
            Value::Signature(slots) => {
                self.check_length(slots.len())?;
                let probe = Probe { key: None, signature: slots.into_owned() };
                return Ok(Some(Way::Estimates(side, probe)));
            }
            Value::Set(_) => None,
            Value::Text(text) => sign_text(&self.index.options, &lossless::decode(text)?)?,
        };
        let Some(signed) = signed else { return Ok(None) };
        let probe = Probe { key: None, signature: signed.signature };
        if self.verify == Verify::Signature {
            return Ok(Some(Way::Estimates(side, probe)));
        }
        wanted()?.map(|wanted| self.among(side, wanted, &probe)).transpose()
    }

    /// A search for the near-duplicates of a document, from the requested threshold up.
    fn of_document(&self, document: Document, scope: Vec<Parameter>) -> Wanted {
        let Self { threshold, limit, .. } = *self;
        let document = Document { threshold, ..document }.write();
        // SAFETY: the argument has this type, and lives as long as the call.
        let document = unsafe { Parameter::new(self.index.extension.document, Some(document)) };
        Wanted { document, threshold, limit, row: None, scope, among: None }
    }

    /// The search among the candidates of the side table, without the row itself.
    fn among(&self, side: &Side, wanted: Wanted, probe: &Probe) -> Result<Way<'_>> {
        let memory = Memory::scratch(c"minlsh candidates");
        let found = side.candidates(probe, self.threshold, Verify::Exact, &memory)?;
        let keys = memory::collect(found.into_iter().map(|(key, _)| key))?;
        let among = Some(self.index.key()?.array(&keys));
        Ok(Way::Query(Wanted { row: None, among, ..wanted }))
    }

    /// Refuses a signature if its length is not the side table's.
    fn check_length(&self, slots: usize) -> Result<()> {
        let wanted = self.index.options.config.num_perm();
        if slots == wanted {
            return Ok(());
        }
        let name = self.index.name();
        Err(invalid_parameter(format!(
            "the signature must have {wanted} slots like those of side table \"{name}\", not {slots}"
        )))
    }

    /// Writes the documents that a search finds to the result.
    fn answer(&self, session: &Session, search: &Way, result: &ResultRows) -> Result<()> {
        let shown = result.column_type(0);
        self.each_found(session, search, &mut |key, similarity| {
            result.push(&[Some(key.as_result(shown)), Some(float8_datum(similarity))]);
            Ok(())
        })
    }

    /// Calls `visit` with the key, as text, and the similarity of each near-duplicate of a row.
    pub fn each(&self, session: &Session, key: KeyValue, visit: &mut dyn FnMut(&str, f64) -> Result<()>) -> Result<()> {
        let Some(search) = self.of_row(session, key)? else { return Ok(()) };
        self.each_found(session, &search, &mut |key, similarity| {
            // SAFETY: `to_text` returns a text.
            visit(unsafe { text::read(key.to_text()) }?, similarity)
        })
    }

    /// Calls `visit` with the key and similarity of each document found. Memory that it allocates is freed after each
    /// call.
    fn each_found(
        &self,
        session: &Session,
        search: &Way,
        visit: &mut dyn FnMut(KeyValue, f64) -> Result<()>,
    ) -> Result<()> {
        let mut memory = Memory::scratch(c"minlsh near-duplicate");
        let visit = &mut |key, similarity| memory.run_and_reset(|| visit(key, similarity));
        match search {
            Way::Query(wanted) => self.index.each(session, wanted, visit),
            Way::Estimates(side, probe) => side.each_estimated(session, probe, (self.threshold, self.limit), visit),
        }
    }
}

/// `near_duplicates_of(document, threshold, index, verify, k, scope) → (doc_id, similarity)`: for a text, a set, a
/// signature or a document.
fn near_duplicates_of(call: &Call, result: &ResultRows) -> Result<()> {
    let target = find::read(call, INDEX)?;
    let asked = call.float8(THRESHOLD).map(Threshold::new).transpose()?;
    let limit = call.int4(LIMIT).map(valid_k).transpose()?;
    of_argument(call, &target, asked, limit, SCOPE, result)
}

/// `nearest_documents_of(document, k, index, verify, scope) → (doc_id, similarity)`
fn nearest_documents_of(call: &Call, result: &ResultRows) -> Result<()> {
    let target = find::read(call, INDEX)?;
    let k = valid_k(call.int4(K).unwrap_or(DEFAULT_K))?;
    of_argument(call, &target, Some(target.options.threshold), Some(k), SCOPE_OF_NEAREST, result)
}

/// The near-duplicates of the first argument, at most the `limit` most similar ones. The threshold is the requested
/// one, and the document's own if that is greater; without both, the index's. Argument `scope` has the values of the
/// scope columns.
fn of_argument(
    call: &Call,
    target: &Indexed,
    asked: Option<Threshold>,
    limit: Option<i64>,
    scope: usize,
    result: &ResultRows,
) -> Result<()> {
    let verify = find::verify(call, VERIFY)?;
    let type_oid = catalog::base_type(call.argument_type(OF));
    let is_document = type_oid == target.extension.document;
    // SAFETY: the argument has the type `minlsh_document`, and lives as long as the call.
    let document = |datum| unsafe { Document::read(datum) };
    let document = call.datum(OF).filter(|_| is_document).map(document).transpose()?;
    let own = document.as_ref().map(|document| document.threshold);
    let least = [asked, own].into_iter().flatten().reduce(Threshold::max);
    let threshold = find::served(least.unwrap_or(target.options.threshold), target)?;
    match &document {
        Some(document) => check_document(target, document, verify)?,
        None if is_document => {}
        None => check_kind(target, type_oid, verify)?,
    }
    let asked = Asked::new(target, threshold, verify, limit)?;
    let scope = target.scope(call, scope)?;
    let (Some(given), Some(scope)) = (call.parameter(OF), scope) else { return Ok(()) };
    let session = Session::open();
    let search = asked.of_given(&session, given, document, scope)?;
    search.map_or(Ok(()), |search| asked.answer(&session, &search, result))
}

fn valid_k(k: i32) -> Result<i64> {
    if k >= 1 {
        return Ok(k.into());
    }
    Err(invalid_parameter(format!("k must be at least 1, not {k}")).set_hint("Pass the number of documents to return."))
}

/// Refuses a way of verification that the index cannot provide.
fn check_verify(index: &Indexed, verify: Option<Verify>) -> Result<()> {
    let name = index.name();
    match (index.info.kind, verify) {
        _ if index.side.is_some() => Ok(()),
        (Kind::Signature, Some(Verify::Exact)) => {
            Err(invalid_parameter(format!("verify cannot be \"exact\" because index \"{name}\" has only signatures"))
                .set_hint("Leave verify out."))
        }
        (Kind::Text | Kind::Document | Kind::Set, Some(Verify::Signature)) => {
            Err(invalid_parameter(format!("verify cannot be \"signature\" because index \"{name}\" has no signatures"))
                .set_hint("Leave verify out, or create a side table with minlsh_create_side_table()."))
        }
        _ => Ok(()),
    }
}

/// Refuses a document of another kind or with other options than the index's.
fn check_document(index: &Indexed, document: &Document, verify: Option<Verify>) -> Result<()> {
    let (kind, name) = (document.kind(), index.name());
    let given = match kind {
        Kind::Set => pg_sys::TEXTARRAYOID,
        Kind::Signature => pg_sys::INT4ARRAYOID,
        _ => pg_sys::TEXTOID,
    };
    let is_of_documents = index.info.kind == Kind::Document;
    if !is_of_documents {
        // A signature in a document is compared with a side table like a bare signature.
        if kind == index.info.kind || index.side.is_some() {
            check_kind(index, given, verify)?;
        } else {
            let message = format!("index \"{name}\" is an index of {}, and the document is of {kind}", index.info.kind);
            return Err(type_mismatch(message).set_hint(format!("Pass a document of {}.", index.info.kind)));
        }
    }
    let (Some(own), of_index) = (document.config()?, &index.options.config) else { return Ok(()) };
    if is_of_documents || same_shingling(&own, of_index) {
        return Ok(());
    }
    Err(invalid_parameter(format!("the document has other options than index \"{name}\""))
        .set_detail(format!("It has {}; the index has {}.", shingling(&own), shingling(of_index)))
        .set_hint("Make the document with the options of the index, or pass the text itself."))
}

/// Refuses a document of another kind than the index's.
fn check_kind(index: &Indexed, given: Oid, verify: Option<Verify>) -> Result<()> {
    let is_signature = given == pg_sys::INT4ARRAYOID;
    if index.side.is_some() && is_signature && verify == Some(Verify::Exact) {
        return Err(invalid_parameter("verify cannot be \"exact\" for a signature, which has no text")
            .set_hint("Leave verify out, or pass the text."));
    }
    let is_array = catalog::element_type(given) != Oid::INVALID;
    let (wanted, fits) = match index.info.kind {
        Kind::Text if index.side.is_some() => {
            ("a text, or the signature of one", given == pg_sys::TEXTOID || is_signature)
        }
        Kind::Text => ("a text", given == pg_sys::TEXTOID),
        Kind::Set => ("an array of the elements", is_array),
        Kind::Signature => ("an integer[]", is_signature),
        _ => ("a minlsh_document", false),
    };
    if fits {
        return Ok(());
    }
    let (name, holds, given) = (index.name(), index.info.kind, type_label(given));
    let message = format!("index \"{name}\" is an index of {holds} and cannot be searched for {given}");
    Err(type_mismatch(message).set_hint(format!("Pass {wanted}.")))
}

/// A side table that the caller may read.
struct Side<'a> {
    index: &'a Indexed,
    table: &'a SideTable,
    key: Key,
    /// True if candidates need not be looked up in the table.
    sees_all: bool,
}

/// A document to search for.
struct Probe {
    /// `None` for a document that is not stored.
    key: Option<KeyValue>,
    signature: Vec<i32>,
}

impl<'a> Side<'a> {
    /// The side table of an index, if there is one, after a check of the caller's rights.
    fn of(index: &'a Indexed) -> Result<Option<Self>> {
        let Some(table) = &index.side else { return Ok(None) };
        let sees_all = rights::check_sees_all(&table.table, &[table.key.number, table.body.number])?;
        Ok(Some(Self { index, table, key: index.key()?, sees_all }))
    }

    /// Reads the stored signature of the document with key `key`; `None` if it has no shingles.
    fn stored(&self, key: KeyValue) -> Result<Option<Probe>> {
        let datum = self.key.datum(key);
        // SAFETY: `datum` checks that the key has the type of the key column, which is the side table's.
        let signature = unsafe { self.table.signature(datum)? };
        Ok(signature.map(|signature| Probe { key: Some(key), signature }))
    }

    /// The keys of the documents that signatures do not rule out, with the estimated similarities, without `probe`
    /// itself. The keys are allocated in `keys`.
    fn candidates(
        &self,
        probe: &Probe,
        threshold: Threshold,
        verify: Verify,
        keys: &Memory,
    ) -> Result<Vec<(KeyValue, f64)>> {
        // An exact check leaves a margin: half of the estimates for pairs at the threshold are below it.
        let least = match verify {
            Verify::Signature => threshold.get(),
            Verify::Exact => estimate_gate(threshold.get(), self.index.options.config.num_perm()),
        };
        let key_type = self.key.base_type;
        let storage = TypeStorage::of(key_type);
        let mut found = Vec::new();
        self.table.candidates(&probe.signature, threshold, &mut |key, signature| {
            let estimate = estimate_jaccard(&probe.signature, signature);
            let estimate = estimate.map_err(|cause| self.altered(&cause.to_string()))?;
            if estimate >= least {
                // SAFETY: `Storage::open` found that the side table has keys of this type, and `storage` describes the
                // type.
                let key = unsafe { KeyValue::new(keys.run(|| storage.copy(key)), key_type) };
                memory::push(&mut found, (key, estimate))?;
            }
            Ok(())
        })?;
        // A document is not its own near-duplicate.
        if let Some(own) = probe.key {
            let order = self.order()?;
            found.retain(|(key, _)| order(*key, own).is_ne());
        }
        Ok(found)
    }

    /// Calls `visit` with the candidates that the caller sees, in descending order of their estimates.
    fn each_estimated(
        &self,
        session: &Session,
        probe: &Probe,
        (threshold, limit): (Threshold, Option<i64>),
        visit: &mut dyn FnMut(KeyValue, f64) -> Result<()>,
    ) -> Result<()> {
        if let Some(key) = probe.key
            && !self.is_seen(session, key)?
        {
            return Ok(());
        }
        let keys = Memory::scratch(c"minlsh candidates");
        let mut found = self.candidates(probe, threshold, Verify::Signature, &keys)?;
        let order = self.order()?;
        let nearer = |(a, similar_a): &(KeyValue, f64), (b, similar_b): &(KeyValue, f64)| {
            similar_b.total_cmp(similar_a).then_with(|| order(*a, *b))
        };
        sort_by(&mut found, nearer, &mut check_interrupts);
        let mut left = limit.unwrap_or(i64::MAX);
        let mut scratch = Memory::scratch(c"minlsh candidate");
        for (key, similarity) in found {
            check_interrupts();
            if left == 0 {
                break;
            }
            if scratch.run_and_reset(|| self.is_seen(session, key))? {
                left -= 1;
                visit(key, similarity)?;
            }
        }
        Ok(())
    }

    /// True if the caller sees the document with key `key`.
    fn is_seen(&self, session: &Session, key: KeyValue) -> Result<bool> {
        Ok(self.sees_all || self.index.stored_key(session, key)?.is_some())
    }

    fn order(&self) -> Result<impl Fn(KeyValue, KeyValue) -> Ordering> {
        let (key, order) = (self.key, Order::of(self.key.base_type, self.key.collation())?);
        // SAFETY: `datum` checks that both keys have the type for which `order` was made.
        Ok(move |a, b| unsafe { order.compare(key.datum(a), key.datum(b)) })
    }

    /// The error for a side table with values that minlsh never writes.
    fn altered(&self, detail: &str) -> SqlError {
        let storage = self.table.storage;
        let message = format!("side table \"{}\" has been altered", relation_name(storage));
        wrong_state(message)
            .set_detail(detail)
            .set_hint(format!("Build it again with SELECT minlsh_rebuild_side_table({});", regclass_literal(storage)))
    }
}
