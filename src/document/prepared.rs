//! One side of a comparison, made ready once and kept for the next row.

use std::cell::RefCell;

use sketch::{Config, PreparedSet, ShingleSet, has_shingles, memory};

use super::kind::Kind;
use super::value::Value;
use crate::error::Result;
use crate::memory::of_comparison;
use crate::options::Threshold;
use crate::overlap::overlap;
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;

/// Something to compare with.
pub enum Prepared {
    Text(PreparedText),
    Set(Elements),
    Signature(Vec<i32>),
}

impl Prepared {
    /// The form in which a value is compared; of a text, by these options.
    pub fn of(value: Value, config: Config) -> Result<Self> {
        Ok(match value {
            Value::Text(text) => Self::Text(PreparedText {
                config,
                length: text.len(),
                has_shingles: None,
                elements: None,
            }),
            Value::Set(hashes) => {
                let set = ShingleSet::from_hashes(hashes, &mut check_interrupts);
                Self::Set(Elements::of(set)?)
            }
            Value::Signature(slots) => Self::Signature(slots.into_owned()),
        })
    }

    /// The kind of values that it can be compared with.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Set(_) => Kind::Set,
            Self::Signature(_) => Kind::Signature,
        }
    }
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
    /// Its bytes, the last ones of the value that it was read from.
    length: usize,
    has_shingles: Option<bool>,
    elements: Option<Elements>,
}

impl PreparedText {
    /// The options by which it is cut.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The similarity with another text in the database's encoding, if it is at least `least`; none if both are
    /// without shingles. `image` is the value that it was read from.
    pub fn with(&mut self, image: &[u8], other: &[u8], least: Option<f64>) -> Result<Option<f64>> {
        let own = &image[image.len() - self.length..];
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
    let jaccard = a.overlap(b, &mut check_interrupts).jaccard();
    jaccard.filter(|jaccard| least.is_none_or(|least| *jaccard >= least))
}

/// The memory of one place of a query: the value that it saw last, and what was made of it.
pub struct Kept<T> {
    image: Vec<u8>,
    made: Option<T>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { image: Vec::new(), made: None }
    }
}

impl<T> Kept<T> {
    /// The product of `make`, of a value with that `image`; made again if the image is not, byte for byte, the one
    /// before.
    pub fn get(&mut self, image: &[u8], make: impl FnOnce() -> Result<T>) -> Result<&mut T> {
        if self.made.is_none() || self.image != image {
            self.made = None;
            self.image.clear();
            memory::extend(&mut self.image, image)?;
        }
        Ok(match &mut self.made {
            Some(made) => made,
            none => none.insert(make()?),
        })
    }
}

/// The threshold of a document that is kept, and what a value is compared as.
pub type KeptSide = Kept<(Option<Threshold>, Prepared)>;

/// The most bytes of a value that is kept beyond the statement for which it was prepared.
const MAX_LENT: usize = 1 << 18;

thread_local! {
    /// The last prepared value and its kind, for callers without a place of a query that could keep it.
    static LENT: RefCell<Option<(Kind, KeptSide)>> = const { RefCell::new(None) };
}

/// Does some work with what the session keeps of values of that kind; an ERROR amid it leaves nothing.
pub fn with_lent<T>(kind: Kind, work: impl FnOnce(&mut KeptSide) -> T) -> T {
    let lent = LENT.take().filter(|(kept_kind, _)| *kept_kind == kind);
    let mut kept = lent.map(|(_, kept)| kept).unwrap_or_default();
    let result = work(&mut kept);
    if kept.image.len() <= MAX_LENT {
        LENT.set(Some((kind, kept)));
    }
    result
}
