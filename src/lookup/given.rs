//! A document that a call brings along, to be looked for in an index: a value like those that are indexed, or a
//! `minlsh_document`.

use std::borrow::Cow;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::document::image::{self, Content};
use crate::document::kind::Kind;
use crate::document::shingling::{Canonical, same};
use crate::error::{Result, SqlError, error, invalid_parameter};
use crate::indexed::Indexed;
use crate::options::Verify;
use crate::pg::names::type_label;
use crate::pg::spi::Parameter;
use crate::pg::{catalog, lossless};

/// A document to look for.
#[derive(Clone, Copy)]
pub enum Given<'a> {
    /// A value like those that are indexed.
    Value(Parameter),
    /// The content of a `minlsh_document`.
    Document(Content<'a>),
}

impl Given<'_> {
    /// The signature, if it is one.
    pub fn signature(&self) -> Result<Option<Vec<i32>>> {
        match self {
            Self::Value(value) => Ok(value.int4_array()?.map(<[i32]>::to_vec)),
            Self::Document(Content::Signature(stored)) => Ok(Some(image::slots(stored))),
            Self::Document(_) => Ok(None),
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Result<Option<Cow<'_, str>>> {
        match self {
            Self::Value(value) => value.text(),
            Self::Document(Content::Text(_, text)) => lossless::decode(text).map(Some),
            Self::Document(_) => Ok(None),
        }
    }
}

/// Refuses a document that the index cannot be searched for: of another kind, or with other options.
pub fn check(index: &Indexed, content: Content, verify: Option<Verify>) -> Result<()> {
    let (kind, given) = match content {
        Content::Text(..) => (Kind::Text, pg_sys::TEXTOID),
        Content::Set(_) => (Kind::Set, pg_sys::TEXTARRAYOID),
        Content::Signature(_) => (Kind::Signature, pg_sys::INT4ARRAYOID),
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
    let Content::Text(options, _) = content else { return Ok(()) };
    let (own, of_index) = (options.config()?, &index.options.config);
    if is_of_documents || same(&own, of_index) {
        return Ok(());
    }
    let name = index.name();
    Err(invalid_parameter(format!("the document has other options than index \"{name}\""))
        .set_detail(format!(
            "It has {}; the index has {}.",
            Canonical::of(&own),
            Canonical::of(of_index)
        ))
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
