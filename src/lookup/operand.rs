//! A stored document, read to be compared exactly with others.

use std::borrow::Cow;
use std::collections::HashSet;

use pgrx::pg_sys::{Datum, Oid};
use sketch::{Config, ElementHash, ShingleSet, memory};

use crate::document::image::{self, Content, Document};
use crate::document::kind::Kind;
use crate::error::Result;
use crate::functions::with_sketcher;
use crate::options::IndexOptions;
use crate::pg::catalog::base_element_type;
use crate::pg::interrupts::check_interrupts;
use crate::pg::output::Output;
use crate::pg::{array, element, lossless};
use crate::side_table::StoredSketch;
use crate::side_table::sign;

/// A document, as old as the row that it was read from.
pub struct Operand<'a> {
    content: OperandContent<'a>,
    /// The least similarity that it asks for itself.
    pub least: f64,
}

enum OperandContent<'a> {
    Text(Cow<'a, str>),
    /// The elements of an array, each with its hash, and their type.
    Elements(Vec<(u64, Datum)>, Oid),
    /// Hashes of elements.
    Hashes(Vec<u64>),
    Signature(Cow<'a, [i32]>),
}

/// The form in which a document is compared.
pub enum Measured<'a> {
    /// Its shingles, or its elements.
    Set(ShingleSet),
    /// Its signature, if that is all there is of it.
    Signature(Cow<'a, [i32]>),
}

impl Default for Operand<'_> {
    /// A document without shingles.
    fn default() -> Self {
        Self { content: OperandContent::Text("".into()), least: 0.0 }
    }
}

impl<'a> Operand<'a> {
    /// A text.
    pub fn of_text(text: &'a str) -> Self {
        Self { content: OperandContent::Text(text.into()), least: 0.0 }
    }

    /// Reads a value of an index.
    ///
    /// # Safety
    /// `value` must be a non-null value of `value_type`, of that kind, and live as
    /// long as the result.
    pub unsafe fn read(kind: Kind, value: Datum, value_type: Oid) -> Result<Self> {
        // SAFETY: the caller's promise; elements live as long as their array.
        let content = unsafe {
            match kind {
                Kind::Text | Kind::Passage => OperandContent::Text(lossless::read(value)?),
                Kind::Set => {
                    let of = base_element_type(value_type);
                    let elements = array::elements(value)?;
                    let mut hashed = memory::with_capacity(elements.len())?;
                    for element in elements {
                        let hash = element::read(element, of)?.hash(ElementHash::default());
                        hashed.push((hash, element));
                    }
                    OperandContent::Elements(hashed, of)
                }
                Kind::Signature => OperandContent::Signature(array::read_int4(value)?.into()),
                Kind::Document => {
                    let Document { threshold: least, content } = Document::read(value)?;
                    let content = match content {
                        Content::Text(_, text) => OperandContent::Text(lossless::decode(text)?),
                        Content::Set(stored) => OperandContent::Hashes(image::hashes(stored)?),
                        Content::Signature(stored) => {
                            OperandContent::Signature(image::slots(stored).into())
                        }
                    };
                    return Ok(Self { content, least: least.get() });
                }
            }
        };
        Ok(Self { content, least: 0.0 })
    }

    /// Returns the form in which it is compared; of a text, under `config`.
    pub fn measured(self, config: &Config) -> Result<Measured<'a>> {
        match self.set(config)? {
            Some(set) => Ok(Measured::Set(set)),
            None => match self.content {
                OperandContent::Signature(slots) => Ok(Measured::Signature(slots)),
                _ => Ok(Measured::Set(ShingleSet::default())),
            },
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let OperandContent::Text(text) = &self.content { Some(text) } else { None }
    }

    /// The set of its shingles or elements; none of a signature.
    pub fn set(&self, config: &Config) -> Result<Option<ShingleSet>> {
        let set = match &self.content {
            OperandContent::Text(text) => {
                ShingleSet::from_text(config, text, &mut check_interrupts)
            }
            OperandContent::Signature(_) => return Ok(None),
            OperandContent::Elements(..) | OperandContent::Hashes(_) => {
                self.hashes().map(|hashes| ShingleSet::from_hashes(hashes, &mut check_interrupts))
            }
        };
        set.map(Some).map_err(Into::into)
    }

    fn hashes(&self) -> std::result::Result<Vec<u64>, sketch::Error> {
        match &self.content {
            OperandContent::Elements(elements, _) => {
                memory::collect(elements.iter().map(|(hash, _)| *hash))
            }
            OperandContent::Hashes(hashes) => memory::copied(hashes),
            OperandContent::Text(_) | OperandContent::Signature(_) => Ok(Vec::new()),
        }
    }

    /// The first `count` distinct elements whose hashes are wanted, as text; nothing if it is not
    /// made of elements that can be shown.
    pub fn some(&self, count: usize, wanted: impl Fn(u64) -> bool) -> Result<Option<Vec<String>>> {
        let (elements, of) = match &self.content {
            OperandContent::Elements(elements, of) => (elements, of),
            OperandContent::Text(text) if text.is_empty() => return Ok(Some(Vec::new())),
            _ => return Ok(None),
        };
        let output = Output::of(*of);
        let (mut seen, mut shown) = (HashSet::new(), Vec::new());
        for (hash, element) in elements.iter().filter(|(hash, _)| wanted(*hash)) {
            if shown.len() < count && memory::insert(&mut seen, *hash)? {
                // SAFETY: an element of that type.
                let written = unsafe { output.written(*element) };
                shown.push(memory::owned(&written)?);
            }
        }
        Ok(Some(shown))
    }

    /// Its signature and bands, `None` if it has no shingles.
    pub fn signed(&self, options: &IndexOptions) -> Result<Option<StoredSketch>> {
        match &self.content {
            OperandContent::Text(text) => sign::sign_text(options, text),
            OperandContent::Signature(slots) if slots.is_empty() => Ok(None),
            OperandContent::Signature(slots) => sign::of_signature(options, slots).map(Some),
            OperandContent::Elements(..) | OperandContent::Hashes(_) => {
                let hashes = self.hashes()?;
                with_sketcher(&options.config, |sketcher| {
                    let signature = sketcher.sketch_hashes(&hashes, &mut check_interrupts);
                    let signature = signature?;
                    signature.map(|signature| sign::of_signature(options, signature)).transpose()
                })
            }
        }
    }
}
