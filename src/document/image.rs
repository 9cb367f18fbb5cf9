//! Documents as bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version of this layout: 1 |
//! | 1 | kind: 0 text, 1 set, 2 signature |
//! | 8 | threshold, binary64 |
//! | text: 1 | shingle_size |
//! | 1 | bag: 0 or 1 |
//! | up to a zero byte each | unit, normalization and stop_words in canonical form, UTF-8 |
//! | the rest | the text, in the database's encoding |
//! | set: 8 each | the hashes of the elements as unsigned numbers, ascending and distinct |
//! | signature: 4 each | the slots |
//!
//! Numbers are little-endian. A damaged page may hold anything, so everything is checked when it is read.

use std::borrow::Cow;

use sketch::{Config, MAX_NUM_PERM, Scheme, ShingleSet, shingle_hashes};

use super::form::damaged;
use super::kind::Kind;
use crate::options::{Options, Threshold};
use crate::prelude::*;

const VERSION: u8 = 1;
const TEXT: u8 = 0;
const SET: u8 = 1;
const SIGNATURE: u8 = 2;

/// A document, read in place.
pub struct Document<'a> {
    /// Minimum similarity of a near-duplicate.
    pub threshold: Threshold,
    pub content: Content<'a>,
}

/// The compared part of a document, as it is stored.
pub enum Content<'a> {
    /// A text in the database's encoding, with the options for splitting it, in canonical form.
    Text(Options<'a>, &'a [u8]),
    /// The hashes of the elements of a set, ascending.
    Set(Cow<'a, [[u8; 8]]>),
    /// The slots of a signature.
    Signature(Cow<'a, [[u8; 4]]>),
}

impl Content<'static> {
    /// A set, from the hashes of its elements.
    pub fn of_hashes(hashes: Vec<u64>) -> Result<Self> {
        let set = ShingleSet::from_hashes(hashes, &mut check_interrupts);
        Ok(Self::Set(memory::collect(set.iter().map(u64::to_le_bytes))?.into()))
    }

    /// A signature, from its slots.
    pub fn of_slots(slots: &[i32]) -> Result<Self> {
        if !is_signature_length(slots.len()) {
            return Err(invalid_parameter(format!(
                "signature must have between 1 and {MAX_NUM_PERM} slots, not {}",
                slots.len()
            ))
            .set_hint("Pass a signature that minhash() returned, or another array with one number for each slot."));
        }
        Ok(Self::Signature(slots.iter().map(|slot| slot.to_le_bytes()).collect()))
    }
}

impl<'a> Document<'a> {
    /// Reads a document.
    ///
    /// # Safety
    /// `datum` is a non-null varlena with any content, valid for `'a`.
    pub unsafe fn read(datum: Datum) -> Result<Self> {
        // SAFETY: the caller promises a varlena that is valid for `'a`.
        Self::from_bytes(unsafe { bytes::read(datum) })
    }

    /// Reads a document from its bytes.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        Self::parse(bytes).ok_or_else(|| damaged("minlsh_document"))
    }

    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&[VERSION, kind], rest) = bytes.split_first_chunk()? else { return None };
        let (threshold, rest) = rest.split_first_chunk()?;
        let threshold = f64::from_le_bytes(*threshold);
        let content = match kind {
            TEXT => parse_text(rest)?,
            SET => {
                let hashes = whole(rest)?;
                let ascending = |a: &[u8; 8], b: &[u8; 8]| hash(a) < hash(b);
                Content::Set(hashes.is_sorted_by(ascending).then_some(hashes)?.into())
            }
            SIGNATURE => {
                let slots = whole(rest)?;
                Content::Signature(is_signature_length(slots.len()).then_some(slots)?.into())
            }
            _ => return None,
        };
        let threshold = Threshold::new(threshold).ok()?;
        Some(Self { threshold, content })
    }

    /// The document as a datum, in the current memory context.
    pub fn write(&self) -> Datum {
        let threshold = self.threshold.get().to_le_bytes();
        match &self.content {
            Content::Text(options, text) => bytes::concatenate(&[
                &[VERSION, TEXT],
                &threshold,
                &[options.shingle_size as u8, u8::from(options.bag)],
                options.unit.as_bytes(),
                b"\0",
                options.normalization.as_bytes(),
                b"\0",
                options.stop_words.as_bytes(),
                b"\0",
                text,
            ]),
            Content::Set(hashes) => bytes::concatenate(&[&[VERSION, SET], &threshold, hashes.as_flattened()]),
            Content::Signature(slots) => bytes::concatenate(&[&[VERSION, SIGNATURE], &threshold, slots.as_flattened()]),
        }
    }

    /// The kind of its content: a text, a set or a signature.
    pub fn kind(&self) -> Kind {
        match self.content {
            Content::Text(..) => Kind::Text,
            Content::Set(_) => Kind::Set,
            Content::Signature(_) => Kind::Signature,
        }
    }

    /// The options by which its text is split; `None` if it is not a text.
    pub fn config(&self) -> Result<Option<Config>> {
        let Content::Text(options, _) = &self.content else { return Ok(None) };
        options.config().map(Some)
    }

    /// Replaces `elements` by the hashes of its own, in any order and with repeats; false for a signature.
    pub fn elements(&self, elements: &mut Vec<u64>) -> Result<bool> {
        elements.clear();
        match &self.content {
            Content::Text(options, text) => {
                let (config, text) = (options.config()?.with_scheme(Scheme::Fss), lossless::decode(text)?);
                shingle_hashes(&config, &text, elements, &mut check_interrupts)?;
            }
            Content::Set(stored) => {
                memory::reserve(elements, stored.len())?;
                elements.extend(stored.iter().map(hash));
            }
            Content::Signature(_) => return Ok(false),
        }
        Ok(true)
    }
}

fn parse_text(bytes: &[u8]) -> Option<Content<'_>> {
    let (&[shingle_size, bag @ (0 | 1)], rest) = bytes.split_first_chunk()? else { return None };
    let (unit, rest) = until_zero(rest)?;
    let (normalization, rest) = until_zero(rest)?;
    let (stop_words, text) = until_zero(rest)?;
    let options = Options {
        unit: unit.into(),
        shingle_size: shingle_size.into(),
        normalization: normalization.into(),
        stop_words: stop_words.into(),
        bag: bag == 1,
        ..Options::default()
    };
    Some(Content::Text(options, text))
}

/// Returns the UTF-8 before the first zero byte, and the bytes after it.
pub fn until_zero(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// All bytes as items of `N`; `None` if some are left over.
fn whole<const N: usize>(bytes: &[u8]) -> Option<&[[u8; N]]> {
    let (items, rest) = bytes.as_chunks();
    rest.is_empty().then_some(items)
}

/// The hash of a stored element.
pub fn hash(stored: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*stored)
}

fn is_signature_length(slots: usize) -> bool {
    (1..=MAX_NUM_PERM).contains(&slots)
}
