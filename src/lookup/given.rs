//! Refuses what a call brings along, if the index cannot be searched for it: a value, or a `minlsh_document`.

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::error::{Result, SqlError, error, invalid_parameter};
use crate::indexed::Indexed;
use crate::options::{Verify, same_shingling, shingling};
use crate::pg::catalog;
use crate::pg::names::type_label;

/// Refuses a document that the index cannot be searched for: of another kind, or with other options.
pub fn check(index: &Indexed, document: &Document, verify: Option<Verify>) -> Result<()> {
    let kind = document.kind();
    let given = match kind {
        Kind::Set => pg_sys::TEXTARRAYOID,
        Kind::Signature => pg_sys::INT4ARRAYOID,
        _ => pg_sys::TEXTOID,
    };
    let is_of_documents = index.info.kind == Kind::Document;
    if !is_of_documents {
        // A signature in a document of a side table is judged as one that is passed by itself.
        if kind == index.info.kind || index.side.is_some() {
            check_kind(index, given, verify)?;
        } else {
            let name = index.name();
            let message = format!(
                "index \"{name}\" is an index of {}, and the document is of {kind}",
                index.info.kind
            );
            return Err(error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
                .set_hint(format!("Pass a document of {}.", index.info.kind)));
        }
    }
    let (Some(own), of_index) = (document.config()?, &index.options.config) else {
        return Ok(());
    };
    if is_of_documents || same_shingling(&own, of_index) {
        return Ok(());
    }
    let name = index.name();
    Err(invalid_parameter(format!("the document has other options than index \"{name}\""))
        .set_detail(format!("It has {}; the index has {}.", shingling(&own), shingling(of_index)))
        .set_hint("Make the document with the options of the index, or pass the text itself."))
}

/// Refuses a document of another kind than those of the index.
pub fn check_kind(index: &Indexed, given: Oid, verify: Option<Verify>) -> Result<()> {
    let is_signature = given == pg_sys::INT4ARRAYOID;
    if index.side.is_some() && is_signature && verify == Some(Verify::Exact) {
        return Err(invalid_parameter(
            "verify cannot be \"exact\" for a signature, which has no text",
        )
        .set_hint("Leave verify out, or pass the text."));
    }
    let is_array = catalog::element_type(given) != Oid::INVALID;
    let (holds, wanted, fits) = match index.info.kind {
        Kind::Text if index.side.is_some() => {
            ("texts", "a text, or the signature of one", given == pg_sys::TEXTOID || is_signature)
        }
        Kind::Text => ("texts", "a text", given == pg_sys::TEXTOID),
        Kind::Set => ("sets", "an array of the elements", is_array),
        Kind::Signature => ("signatures", "an integer[]", is_signature),
        _ => ("documents", "a minlsh_document", false),
    };
    if fits { Ok(()) } else { Err(wrong_kind(index.name(), holds, given, wanted)) }
}

fn wrong_kind(index: &str, holds: &str, given: Oid, wanted: &str) -> SqlError {
    error(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "index \"{index}\" is an index of {holds} and cannot be searched for {}",
            type_label(given)
        ),
    )
    .set_hint(format!("Pass {wanted}."))
}
