//! One side of a comparison, made ready once and kept for the next row.

use std::cell::RefCell;

use sketch::{Config, PreparedSet, ShingleSet, has_shingles, memory};

use super::kind::Kind;
use super::value::Value;
use crate::error::Result;
use crate::functions::overlap;
use crate::memory::of_comparison;
use crate::options::Threshold;
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;

/// Something to compare with.
pub enum Prepared {
    Set(PreparedElements),
    Signature(Vec<i32>),
}

impl Prepared {
    /// The form in which a value is compared; of a text, by these options.
    pub fn of(value: Value, config: Config) -> Result<Self> {
        let (kind, length, elements) = match value {
            Value::Text(text) => (Kind::Text, text.len(), None),
            Value::Set(hashes) => {
                let set = ShingleSet::from_hashes(hashes, &mut check_interrupts);
                (Kind::Set, 0, Some(ReadySet::of(set)?))
            }
            Value::Signature(slots) => return Ok(Self::Signature(slots.into_owned())),
        };
        Ok(Self::Set(PreparedElements { kind, config, length, has_shingles: None, elements }))
    }

    /// The kind of values that it can be compared with.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Set(own) => own.kind,
            Self::Signature(_) => Kind::Signature,
        }
    }
}

/// A text or a set with which others are compared. The shingles of a text are made ready when the first other text
/// comes: a search for the near-duplicates of a stored text finds that text, and often nothing else.
pub struct PreparedElements {
    kind: Kind,
    /// The options by which a text is cut, and by which others must be.
    pub config: Config,
    /// The bytes of a text, the last ones of the value that it was read from.
    length: usize,
    has_shingles: Option<bool>,
    elements: Option<ReadySet>,
}

impl PreparedElements {
    /// The similarity with another value of its kind, if it is at least `least`; none if both are without shingles.
    /// `image` is the value that it was read from.
    pub fn with(&mut self, image: &[u8], other: Value, least: Option<f64>) -> Result<Option<f64>> {
        let own = &image[image.len() - self.length..];
        if let Value::Text(other) = other {
            if own == other {
                return Ok(self.has_shingles(own)?.then_some(1.0));
            }
            if (own.len() + other.len()) * size_of::<u64>() > of_comparison() {
                let (own, other) = (lossless::decode(own)?, lossless::decode(other)?);
                let found = overlap(&self.config, &own, &other)?.jaccard();
                return Ok(found.filter(|found| least.is_none_or(|least| *found >= least)));
            }
        }
        let elements = match &mut self.elements {
            Some(elements) => elements,
            none => none.insert(ReadySet::of(Value::Text(own).into_set(&self.config)?)?),
        };
        elements.with(&self.config, other, least)
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
enum ReadySet {
    /// In a hash table, in which the elements of another set are looked up without being sorted.
    Table(PreparedSet),
    /// In order, which takes a quarter of the memory, for a large set.
    Sorted(ShingleSet),
}

/// The most elements that go into a table: of 32 MB, for a text of about a million characters.
const MAX_TABLE: usize = 1 << 20;

impl ReadySet {
    fn of(set: ShingleSet) -> Result<Self> {
        if set.len() > MAX_TABLE {
            return Ok(Self::Sorted(set));
        }
        PreparedSet::new(&set).map(Self::Table).map_err(Into::into)
    }

    /// The similarity with the set of a value, if it is at least `least`; none if both sets are empty.
    fn with(&mut self, config: &Config, other: Value, least: Option<f64>) -> Result<Option<f64>> {
        let minimum = least.unwrap_or(0.0);
        let table = match self {
            Self::Table(set) => set,
            Self::Sorted(set) => {
                let jaccard =
                    set.overlap(&other.into_set(config)?, &mut check_interrupts).jaccard();
                return Ok(jaccard.filter(|jaccard| *jaccard >= minimum));
            }
        };
        let found = match &other {
            Value::Text(text) => {
                let text = lossless::decode(text)?;
                table.similarity(config, &text, minimum, &mut check_interrupts)?
            }
            Value::Set(hashes) => table.similarity_of(hashes, minimum, &mut check_interrupts)?,
            Value::Signature(_) => None,
        };
        if found.is_some() || least.is_some() {
            return Ok(found);
        }
        // A table also finds nothing if one of the sets is empty.
        let both_empty = table.is_empty() && other.into_set(config)?.is_empty();
        Ok((!both_empty).then_some(0.0))
    }
}

/// The memory of one place of a query: the value that it saw last, and what was made of it.
pub struct KeptValue<T> {
    image: Vec<u8>,
    made: Option<T>,
}

impl<T> Default for KeptValue<T> {
    fn default() -> Self {
        Self { image: Vec::new(), made: None }
    }
}

impl<T> KeptValue<T> {
    /// The product of `make` for a value with that `image`, made again if the image before had other bytes.
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
pub type KeptSide = KeptValue<(Option<Threshold>, Prepared)>;

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
