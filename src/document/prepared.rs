//! One side of a comparison, made ready once and kept for the next row.

use sketch::{Config, PreparedSet, ShingleSet};

use super::value::{self, Content, Document};
use crate::error::{Result, engine, out_of_memory};
use crate::functions::checkpoint;
use crate::pg::lossless;

/// Something to compare with.
pub enum Prepared {
    /// The shingles of a text, and how others are to be cut.
    Text(Config, PreparedSet),
    Set(PreparedSet),
    Signature(Vec<i32>),
}

impl Prepared {
    /// A text in the database's encoding.
    pub fn text(config: Config, text: &[u8]) -> Result<Self> {
        let text = lossless::decode(text)?;
        let set = PreparedSet::from_text(&config, &text, &mut checkpoint).map_err(engine)?;
        Ok(Self::Text(config, set))
    }

    /// A set given by the hashes of its elements.
    pub fn set(hashes: Vec<u64>) -> Result<Self> {
        let set = ShingleSet::from_hashes(hashes, &mut checkpoint);
        PreparedSet::new(&set).map(Self::Set).map_err(engine)
    }

    /// What a document is compared by.
    pub fn document(document: &Document) -> Result<Self> {
        match document.content {
            Content::Text(options, text) => Self::text(options.config()?, text),
            Content::Set(stored) => Self::set(value::hashes(stored)?),
            Content::Signature(stored) => Ok(Self::Signature(value::slots(stored))),
        }
    }
}

/// What one place of a query keeps: the value that it saw last, and what was made of it.
#[derive(Default)]
pub struct Kept {
    image: Vec<u8>,
    prepared: Option<(f64, Prepared)>,
}

impl Kept {
    /// The threshold and what is made by `prepare` of a value with that `image`; made anew if the
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
