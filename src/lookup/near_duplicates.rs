//! `near_duplicates()`, `nearest_documents()`, `near_duplicates_of()` and `nearest_documents_of()`: the documents most
//! similar to a given one. `near_duplicate_cluster_of()`: the current cluster of a row, computed without any state.
//!
//! Each reads its arguments, and calls [`Asked::each`], which searches.

use std::collections::HashMap;

use ahash::RandomState;
use sketch::dedup::Verify;

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::indexed::Indexed;
use crate::lookup::find;
use crate::lookup::search::Asked;
use crate::options::{Threshold, at_least_one, same_shingling, shingling};
use crate::prelude::*;
use crate::row_key::{self, STORED};
use crate::side_table::search::SoughtDocument;

set_function!(minlsh_near_duplicates, near_duplicates);
set_function!(minlsh_near_duplicates_of, near_duplicates_of);
set_function!(minlsh_nearest_documents, nearest_documents);
set_function!(minlsh_nearest_documents_of, nearest_documents_of);
set_function!(minlsh_near_duplicate_cluster_of, near_duplicate_cluster_of);

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

/// Position of the argument `max_members` of near_duplicate_cluster_of().
const MAX_MEMBERS: usize = 3;

/// Default number of documents that nearest_documents() returns.
const DEFAULT_K: i32 = 10;
/// Default maximum number of members in a cluster.
const DEFAULT_MAX_MEMBERS: i32 = 10_000;

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

/// Writes the near-duplicates of the document whose key is the first argument.
fn of_document(call: &Call, asked: Asked, result: &ResultRows) -> Result<()> {
    let index = asked.index;
    let key = row_key::argument(call, OF, index.key()?.base_type, index.name())?;
    key.map_or(Ok(()), |key| write(&asked, &SoughtDocument::Row(key), result))
}

/// Writes the near-duplicates of a document.
fn write(asked: &Asked, sought: &SoughtDocument, result: &ResultRows) -> Result<()> {
    let shown = result.column_type(0);
    asked.each(&Session::open(), sought, &mut |key, similarity| {
        result.push(&[Some(key.as_result(shown)), Some(float8_datum(similarity))]);
        Ok(())
    })
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

/// Writes the near-duplicates of the first argument, at most the `limit` most similar ones. The threshold is the
/// requested one, and the document's own if that is greater; without both, the index's. Argument `scope` has the values
/// of the scope columns.
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
    let value = call.value(OF);
    let mut document = value.filter(|_| is_document).map(TypedValue::document).transpose()?.flatten();
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
    let (Some(value), Some(scope)) = (value, scope) else { return Ok(()) };
    if let Some(document) = &mut document {
        document.threshold = threshold;
    }
    write(&asked, &SoughtDocument::Given { value, document, scope }, result)
}

fn valid_k(k: i32) -> Result<i64> {
    Ok(at_least_one("k", k, "Pass the number of documents to return.")? as i64)
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
    let (wanted, fits) = match (&index.side, index.info.kind) {
        (Some(side), _) => side.takes(given, verify)?,
        (None, Kind::Text) => ("a text", given == pg_sys::TEXTOID),
        (None, Kind::Set) => ("an array of the elements", catalog::element_type(given) != Oid::INVALID),
        (None, Kind::Signature) => ("an integer[]", given == pg_sys::INT4ARRAYOID),
        (None, _) => ("a minlsh_document", false),
    };
    if fits {
        return Ok(());
    }
    let (name, holds, given) = (index.name(), index.info.kind, type_label(given));
    let message = format!("index \"{name}\" is an index of {holds} and cannot be searched for {given}");
    Err(type_mismatch(message).set_hint(format!("Pass {wanted}.")))
}

/// `near_duplicate_cluster_of(key, threshold, index, max_members) → (doc_id)`
fn near_duplicate_cluster_of(call: &Call, result: &ResultRows) -> Result<()> {
    let target = find::read(call, INDEX)?;
    let threshold = find::threshold(call, THRESHOLD, &target)?;
    let most = call.int4(MAX_MEMBERS).unwrap_or(DEFAULT_MAX_MEMBERS);
    let most = at_least_one("max_members", most, "Pass the number of members beyond which the search stops.")?;
    let asked = Asked::new(&target, threshold, None, None)?;
    let key_type = target.key()?.base_type;
    let Some(key) = row_key::argument(call, OF, key_type, target.name())? else { return Ok(()) };
    let mut members = FoundMembers::new(key_type, target.key()?.collation(), most)?;
    let wanted = result.column_type(0);
    let session = Session::open();
    // By the key as it was passed the row would be found twice, if an equal key is stored in another form.
    let row = target.stored_key(&session, key)?;
    let Some(key) = row.as_ref().and_then(|row| row.get(1)) else { return Ok(()) };
    // Rows of the same set have the same near-duplicates, unless each row has its own threshold.
    members.find(&session, &asked, target.info.kind != Kind::Document, key)?;
    // A single row is not a cluster.
    if members.keys.len() > 1 {
        for member in members.keys.sorted()? {
            result.push(&[Some(members.keys.key(member).as_result(wanted))]);
        }
    }
    Ok(())
}

/// The members found so far. Keys with different texts are different.
struct FoundMembers {
    keys: DocumentKeys,
    key_type: Oid,
    known: HashMap<String, u32, RandomState>,
    /// Marks members whose near-duplicates are known: their own or a copy's were looked up.
    done: Vec<bool>,
    most: usize,
}

impl FoundMembers {
    fn new(key_type: Oid, collation: Oid, most: usize) -> Result<Self> {
        let keys = DocumentKeys::new(key_type, collation)?;
        Ok(Self { keys, key_type, known: HashMap::default(), done: Vec::new(), most })
    }

    /// Finds all members, breadth-first.
    fn find(&mut self, session: &Session, asked: &Asked, has_copies: bool, key: TypedValue) -> Result<()> {
        let _exact_text = LocalSettings::of_exact_text();
        key.with_text(|name| self.add(name))?;
        let mut next = 0;
        while next < self.keys.len() {
            check_interrupts();
            if !self.done[next] {
                // A copy, as the list of keys grows meanwhile.
                let memory = Memory::scratch(c"minlsh member");
                let key = self.keys.key(next as u32).copied(&memory);
                let mut visit = |name: &str, similarity: f64| {
                    let member = self.add(name)?;
                    if has_copies && similarity == 1.0 {
                        self.done[member as usize] = true;
                    }
                    Ok(())
                };
                memory.run(|| asked.each_of_row(session, key, &mut visit))?;
            }
            next += 1;
        }
        Ok(())
    }

    /// Returns the number of a member, after adding it if it is new.
    fn add(&mut self, name: &str) -> Result<u32> {
        if let Some(&member) = self.known.get(name) {
            return Ok(member);
        }
        if self.keys.len() == self.most {
            let message = format!("the cluster has more than {} members", self.most);
            return Err(limit_exceeded(message).set_hint(
                "Raise max_members, pass a higher threshold, or use near_duplicate_clusters(), which finds all \
                 clusters of a table at once.",
            ));
        }
        let member = self.keys.len() as u32;
        self.keys.push(row_key::converted(TypedValue::text(name), self.key_type, row_key::KEY, STORED)?)?;
        memory::push(&mut self.done, false)?;
        let name = memory::owned(name)?;
        memory::insert_at(&mut self.known, name, member)?;
        Ok(member)
    }
}
