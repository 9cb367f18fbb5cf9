//! One side of a comparison, made ready once and kept for the next row.

use std::cell::RefCell;

use sketch::{Config, PreparedSet, Scheme, ShingleSet, has_shingles, shingle_hashes};

use super::image::{self, Content, Document};
use crate::error::{Result, out_of_memory};
use crate::memory::of_comparison;
use crate::overlap::overlap;
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;

/// The declared type of an argument.
#[derive(Clone, Copy, PartialEq)]
pub enum Type {
    /// `text`
    Text,
    /// An array of any type.
    Array,
    /// `minlsh_document`
    Document,
}

/// Something to compare with.
pub enum Prepared {
    Text(PreparedText),
    Set(Elements),
    Signature(Vec<i32>),
}

impl Prepared {
    /// A text that is cut by these options.
    pub fn text(config: Config) -> Self {
        Self::Text(PreparedText { config, has_shingles: None, elements: None })
    }

    /// A set given by the hashes of its elements.
    pub fn set(hashes: Vec<u64>) -> Result<Self> {
        Elements::of(ShingleSet::from_hashes(hashes, &mut check_interrupts)).map(Self::Set)
    }

    /// The form in which a document is compared.
    pub fn document(document: &Document) -> Result<Self> {
        match document.content {
            Content::Text(options, _) => Ok(Self::text(options.config()?)),
            Content::Set(stored) => Self::set(image::hashes(stored)?),
            Content::Signature(stored) => Ok(Self::Signature(image::slots(stored))),
        }
    }
}

/// Replaces `elements` by the hashes of those of a document, in any order and with any repeats; false if it is not a
/// text or a set.
pub fn elements(document: &Document, elements: &mut Vec<u64>) -> Result<bool> {
    elements.clear();
    match document.content {
        Content::Text(options, text) => {
            let (config, text) =
                (options.config()?.with_scheme(Scheme::Fss), lossless::decode(text)?);
            shingle_hashes(&config, &text, elements, &mut check_interrupts)?;
        }
        Content::Set(stored) => {
            elements.try_reserve(stored.len()).map_err(|_| out_of_memory())?;
            elements.extend(stored.iter().map(image::hash));
        }
        Content::Signature(_) => return Ok(false),
    }
    Ok(true)
}

/// The shingles of a text in the database's encoding.
fn shingles(config: &Config, text: &[u8]) -> Result<ShingleSet> {
    let text = lossless::decode(text)?;
    ShingleSet::from_text(config, &text, &mut check_interrupts).map_err(Into::into)
}

/// A text with which others are compared. Its shingles are made ready for the first that is not the same text:
/// a search for the near-duplicates of a stored text finds that text, and often nothing else.
pub struct PreparedText {
    /// The options by which it is cut, and by which others must be.
    config: Config,
    has_shingles: Option<bool>,
    elements: Option<Elements>,
}

impl PreparedText {
    /// The options by which it is cut.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The similarity of `own`, which is the text itself, with another one, both in the database's encoding, if it
    /// is at least `least`; none if both are without shingles.
    pub fn with(&mut self, own: &[u8], other: &[u8], least: Option<f64>) -> Result<Option<f64>> {
        if own == other {
            return Ok(self.has_shingles(own)?.then_some(1.0));
        }
        if (own.len() + other.len()) * size_of::<u64>() > of_comparison() {
            let (own, other) = (lossless::decode(own)?, lossless::decode(other)?);
            let found = overlap(&self.config, &own, &other)?.jaccard();
            return Ok(found.filter(|found| least.is_none_or(|least| *found >= least)));
        }
        let elements = match &mut self.elements {
            Some(elements) => elements,
            none => none.insert(Elements::of(shingles(&self.config, own)?)?),
        };
        elements.with_text(&self.config, other, least)
    }

    fn has_shingles(&mut self, own: &[u8]) -> Result<bool> {
        let has_shingles = match self.has_shingles {
            Some(known) => known,
            None => has_shingles(&self.config, &lossless::decode(own)?, &mut check_interrupts)?,
        };
        self.has_shingles = Some(has_shingles);
        Ok(has_shingles)
    }
}

/// A set to which others are compared.
pub enum Elements {
    /// In a hash table, at which the elements of another set pass by: nothing is sorted.
    Table(PreparedSet),
    /// In order, which takes a quarter of the memory: a large set.
    Sorted(ShingleSet),
}

/// The most elements that go into a table: of 32 MB, for a text of about a million characters.
const MAX_TABLE: usize = 1 << 20;

impl Elements {
    fn of(set: ShingleSet) -> Result<Self> {
        if set.len() > MAX_TABLE {
            return Ok(Self::Sorted(set));
        }
        PreparedSet::new(&set).map(Self::Table).map_err(Into::into)
    }

    /// The similarity with the shingles of a text in the database's encoding, if it is at least
    /// `least`; none if both sets are empty.
    pub fn with_text(
        &mut self,
        config: &Config,
        text: &[u8],
        least: Option<f64>,
    ) -> Result<Option<f64>> {
        let found = match self {
            Self::Sorted(set) => return Ok(sorted(set, &shingles(config, text)?, least)),
            Self::Table(set) => {
                let text = lossless::decode(text)?;
                set.similarity(config, &text, least.unwrap_or(0.0), &mut check_interrupts)
            }
        };
        self.or_nothing_shared(found?, least, || {
            shingles(config, text).map(|shingles| shingles.is_empty())
        })
    }

    /// The similarity with a set that is given by the hashes of its elements, if it is at least `least`;
    /// none if both sets are empty.
    pub fn with_hashes(&mut self, hashes: Vec<u64>, least: Option<f64>) -> Result<Option<f64>> {
        let found = match self {
            Self::Sorted(set) => {
                let other = ShingleSet::from_hashes(hashes, &mut check_interrupts);
                return Ok(sorted(set, &other, least));
            }
            Self::Table(set) => {
                set.similarity_of(&hashes, least.unwrap_or(0.0), &mut check_interrupts)
            }
        };
        self.or_nothing_shared(found?, least, || Ok(hashes.is_empty()))
    }

    /// Returns `found`; or 0, since a table finds nothing, where all is asked for, if one of the sets
    /// is empty.
    fn or_nothing_shared(
        &self,
        found: Option<f64>,
        least: Option<f64>,
        other_is_empty: impl FnOnce() -> Result<bool>,
    ) -> Result<Option<f64>> {
        if found.is_some() || least.is_some() {
            return Ok(found);
        }
        let both_empty = self.is_empty() && other_is_empty()?;
        Ok((!both_empty).then_some(0.0))
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Table(set) => set.is_empty(),
            Self::Sorted(set) => set.is_empty(),
        }
    }
}

fn sorted(a: &ShingleSet, b: &ShingleSet, least: Option<f64>) -> Option<f64> {
    match least {
        Some(least) => {
            a.overlap(b, &mut check_interrupts).jaccard().filter(|jaccard| *jaccard >= least)
        }
        None => a.overlap(b, &mut check_interrupts).jaccard(),
    }
}

/// The memory of one place of a query: the value that it saw last, and what was made of it.
#[derive(Default)]
pub struct Kept {
    image: Vec<u8>,
    prepared: Option<(f64, Prepared)>,
}

impl Kept {
    /// The threshold and what is made by `prepare` of a value with that `image`; made again if the
    /// image is not, byte for byte, the one before.
    pub fn get(
        &mut self,
        image: &[u8],
        prepare: impl FnOnce() -> Result<(f64, Prepared)>,
    ) -> Result<(f64, &mut Prepared)> {
        if self.prepared.is_none() || self.image != image {
            self.prepared = None;
            self.image.clear();
            self.image.try_reserve_exact(image.len()).map_err(|_| out_of_memory())?;
            self.image.extend_from_slice(image);
        }
        let (threshold, prepared) = match &mut self.prepared {
            Some(prepared) => prepared,
            none => none.insert(prepare()?),
        };
        Ok((*threshold, prepared))
    }
}

/// The most bytes of a value that is kept beyond the statement for which it was prepared.
const MAX_LENT: usize = 1 << 18;

thread_local! {
    /// The last prepared value and its type, for callers without a place of a query that could keep it.
    static LENT: RefCell<Option<(Type, Kept)>> = const { RefCell::new(None) };
}

/// Does some work with what the session keeps of values of that type; an ERROR amid it leaves nothing.
pub fn with_lent<T>(of_type: Type, work: impl FnOnce(&mut Kept) -> T) -> T {
    let lent = LENT.take().filter(|(kept_type, _)| *kept_type == of_type);
    let mut kept = lent.map(|(_, kept)| kept).unwrap_or_default();
    let result = work(&mut kept);
    if kept.image.len() <= MAX_LENT {
        LENT.set(Some((of_type, kept)));
    }
    result
}
