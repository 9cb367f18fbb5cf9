//! A document as bytes.
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
//! | set: 8 each | the hashes of the elements as unsigned numbers, ascending, each once |
//! | signature: 4 each | the slots |
//!
//! Numbers have their least significant byte first. Only constructors and the input function make
//! such values, but a damaged page may hold anything: what is read is checked.

use pgrx::pg_sys::Datum;
use sketch::{MAX_NUM_PERM, ShingleSet};

use super::form::{damaged, until_zero};
use super::shingling::Shingling;
use crate::error::{Result, invalid_parameter, out_of_memory};
use crate::options::Threshold;
use crate::pg::bytes;

const VERSION: u8 = 1;
const TEXT: u8 = 0;
const SET: u8 = 1;
const SIGNATURE: u8 = 2;

/// A document, read where it lies.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    /// The least similarity of a near-duplicate.
    pub threshold: Threshold,
    pub content: Content<'a>,
}

/// The content, which is what is compared.
#[derive(Clone, Copy)]
pub enum Content<'a> {
    /// A text, in the database's encoding, and how it is cut.
    Text(Shingling<'a>, &'a [u8]),
    /// The hashes of the elements of a set.
    Set(&'a [[u8; 8]]),
    /// The slots of a signature.
    Signature(&'a [[u8; 4]]),
}

impl<'a> Document<'a> {
    /// Reads a document.
    ///
    /// # Safety
    /// `datum` must be a non-null varlena, valid for `'a`; of whatever content.
    pub unsafe fn read(datum: Datum) -> Result<Self> {
        // SAFETY: the caller's promise.
        Self::from_bytes(unsafe { bytes::read(datum) })
    }

    /// Reads a document out of its bytes.
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
                Content::Set(hashes.is_sorted_by(ascending).then_some(hashes)?)
            }
            SIGNATURE => {
                let slots = whole(rest)?;
                Content::Signature(is_signature_length(slots.len()).then_some(slots)?)
            }
            _ => return None,
        };
        let threshold = Threshold::checked(threshold).ok()?;
        Some(Self { threshold, content })
    }

    /// The document as a datum, in the current memory context.
    pub fn write(&self) -> Datum {
        let kind = match self.content {
            Content::Text(..) => TEXT,
            Content::Set(_) => SET,
            Content::Signature(_) => SIGNATURE,
        };
        let (start, threshold) = ([VERSION, kind], self.threshold.get().to_le_bytes());
        match self.content {
            Content::Text(options, text) => bytes::concatenate(&[
                &start,
                &threshold,
                &[options.shingle_size, u8::from(options.bag)],
                options.unit.as_bytes(),
                b"\0",
                options.normalization.as_bytes(),
                b"\0",
                options.stop_words.as_bytes(),
                b"\0",
                text,
            ]),
            Content::Set(hashes) => {
                bytes::concatenate(&[&start, &threshold, hashes.as_flattened()])
            }
            Content::Signature(slots) => {
                bytes::concatenate(&[&start, &threshold, slots.as_flattened()])
            }
        }
    }
}

fn parse_text(bytes: &[u8]) -> Option<Content<'_>> {
    let (&[shingle_size, bag @ (0 | 1)], rest) = bytes.split_first_chunk()? else { return None };
    let (unit, rest) = until_zero(rest)?;
    let (normalization, rest) = until_zero(rest)?;
    let (stop_words, text) = until_zero(rest)?;
    let bag = bag == 1;
    Some(Content::Text(Shingling { unit, shingle_size, normalization, stop_words, bag }, text))
}

/// All bytes as items of `N`, unless some are left over.
fn whole<const N: usize>(bytes: &[u8]) -> Option<&[[u8; N]]> {
    let (items, rest) = bytes.as_chunks();
    rest.is_empty().then_some(items)
}

/// The hash of an element, as it is stored.
pub fn hash(stored: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*stored)
}

/// A set as it is stored.
pub fn stored_set(set: &ShingleSet) -> Result<Vec<[u8; 8]>> {
    let mut stored = Vec::new();
    stored.try_reserve_exact(set.len()).map_err(|_| out_of_memory())?;
    stored.extend(set.iter().map(u64::to_le_bytes));
    Ok(stored)
}

/// The hashes of a stored set, ascending.
pub fn hashes(stored: &[[u8; 8]]) -> Result<Vec<u64>> {
    let mut hashes = Vec::new();
    hashes.try_reserve_exact(stored.len()).map_err(|_| out_of_memory())?;
    hashes.extend(stored.iter().map(hash));
    Ok(hashes)
}

/// The slots of a stored signature, which are not many.
pub fn slots(stored: &[[u8; 4]]) -> Vec<i32> {
    stored.iter().map(|slot| i32::from_le_bytes(*slot)).collect()
}

/// A signature as it is stored.
pub fn stored_signature(slots: &[i32]) -> Result<Vec<[u8; 4]>> {
    if !is_signature_length(slots.len()) {
        return Err(invalid_parameter(format!(
            "signature must have between 1 and {MAX_NUM_PERM} slots, not {}",
            slots.len()
        ))
        .set_hint("Pass a signature that minhash() returned, or another array with one number for each slot."));
    }
    Ok(slots.iter().map(|slot| slot.to_le_bytes()).collect())
}

fn is_signature_length(slots: usize) -> bool {
    (1..=MAX_NUM_PERM).contains(&slots)
}
