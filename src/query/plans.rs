//! The SQL of a lookup. Everything in it is qualified: it runs with the owner's rights, on
//! whatever search path the caller has.

use std::rc::Rc;

use pgrx::pg_sys::{self, Oid};
use sketch::SlotBits;

use crate::error::Result;
use crate::index::definition::{Index, text_options};
use crate::pg::names::{literal, quoted, type_name};
use crate::pg::spi::{Plan, Session};

/// Signature and bands of one document ($1: its key).
pub fn document(index: &Index, session: &Session) -> Result<Rc<Plan>> {
    index.plan(session, ("document", Oid::INVALID), &[index.key.type_oid], || {
        format!(
            "SELECT s.signature, s.bands FROM ONLY {} AS s WHERE s.doc_id {} $1",
            index.storage_name(),
            index.key_equals
        )
    })
}

/// The stored text of one document ($1: its key), for the caller's eyes only.
pub fn body(index: &Index, session: &Session) -> Result<Rc<Plan>> {
    index.plan(session, ("body", Oid::INVALID), &[index.key.type_oid], || {
        format!(
            "SELECT d.{}::pg_catalog.text FROM {} AS d WHERE d.{} {} $1",
            quoted(&index.body.name),
            index.rows_of_relation(),
            quoted(&index.key.name),
            index.key_equals
        )
    })
}

/// Types of the parameters of `candidates`: bands to probe, signature, least similarity, and
/// the document itself (NULL if it is not stored).
fn candidate_types(index: &Index) -> [Oid; 4] {
    [pg_sys::INT8ARRAYOID, pg_sys::INT4ARRAYOID, pg_sys::FLOAT8OID, index.key.type_oid]
}

fn candidates(index: &Index) -> String {
    let packed = match index.settings.slot_bits {
        SlotBits::All => String::new(),
        packed => format!(", {}", packed.bits()),
    };
    format!(
        "SELECT c.doc_id, c.similarity FROM (SELECT s.doc_id, \
         {schema}.minhash_jaccard(s.signature, $2{packed}) AS similarity FROM ONLY {storage} AS s \
         WHERE s.bands OPERATOR(pg_catalog.&&) $1 AND (s.doc_id {equals} $4) IS NOT TRUE \
         OFFSET 0) AS c WHERE c.similarity OPERATOR(pg_catalog.>=) $3",
        schema = index.home.schema,
        storage = index.storage_name(),
        equals = index.key_equals,
    )
}

/// The documents that share a probed band and are similar enough by signature, most similar
/// first, their keys as `key_type`; the first $5 of them (NULL: all).
pub fn by_signature(index: &Index, session: &Session, key_type: Oid) -> Result<Rc<Plan>> {
    let types = [&candidate_types(index)[..], &[pg_sys::INT8OID]].concat();
    index.plan(session, ("by signature", key_type), &types, || {
        format!(
            "SELECT f.doc_id::{key_type}, f.similarity FROM ({candidates}) AS f \
             ORDER BY f.similarity DESC, f.doc_id LIMIT $5",
            key_type = type_name(key_type),
            candidates = candidates(index)
        )
    })
}

/// The same as an array of rows, to be joined with the user's table. Not as an array of keys:
/// those may be arrays of different lengths, or rows.
pub fn as_array(index: &Index, session: &Session) -> Result<Rc<Plan>> {
    index.plan(session, ("as array", Oid::INVALID), &candidate_types(index), || {
        format!(
            "SELECT pg_catalog.array_agg(ROW(f.doc_id, f.similarity)) FROM ({}) AS f",
            candidates(index)
        )
    })
}

/// What `as_array` gave ($1) as a table.
fn found(index: &Index) -> String {
    format!(
        "pg_catalog.unnest($1) AS f(doc_id {}, similarity pg_catalog.float8)",
        type_name(index.key.type_oid)
    )
}

/// Of the documents $1, with their similarities, those that the caller sees; the first $2 of them.
pub fn visible(index: &Index, session: &Session, key_type: Oid) -> Result<Rc<Plan>> {
    let types = [pg_sys::RECORDARRAYOID, pg_sys::INT8OID];
    index.plan(session, ("visible", key_type), &types, || {
        format!(
            "SELECT d.{key}::{key_type}, f.similarity \
             FROM {found} JOIN {table} AS d ON d.{key} {equals} f.doc_id \
             ORDER BY f.similarity DESC, d.{key} LIMIT $2",
            key = quoted(&index.key.name),
            key_type = type_name(key_type),
            found = found(index),
            table = index.rows_of_relation(),
            equals = index.key_equals,
        )
    })
}

/// Of the documents $1, those that the caller sees and whose text has at least the exact Jaccard
/// similarity $3 with the text $2; the first $4 of them.
pub fn exact(index: &Index, session: &Session, key_type: Oid) -> Result<Rc<Plan>> {
    let types = [pg_sys::RECORDARRAYOID, pg_sys::TEXTOID, pg_sys::FLOAT8OID, pg_sys::INT8OID];
    index.plan(session, ("exact", key_type), &types, || {
        let config = &index.settings.config;
        format!(
            "SELECT v.doc_id::{key_type}, v.similarity FROM (SELECT d.{key} AS doc_id, \
             {schema}.jaccard(d.{body}::pg_catalog.text, $2, {shingle_size}, {unit}, {text_options}) AS similarity \
             FROM {found} JOIN {table} AS d ON d.{key} {equals} f.doc_id \
             OFFSET 0) AS v WHERE v.similarity OPERATOR(pg_catalog.>=) $3 \
             ORDER BY v.similarity DESC, v.doc_id LIMIT $4",
            key = quoted(&index.key.name),
            body = quoted(&index.body.name),
            key_type = type_name(key_type),
            schema = index.home.schema,
            shingle_size = config.shingle_size(),
            unit = literal(config.unit().as_str()),
            text_options = text_options(config),
            found = found(index),
            table = index.rows_of_relation(),
            equals = index.key_equals,
        )
    })
}
