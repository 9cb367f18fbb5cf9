//! Computes the band hashes of a stored value, and of a value to search for.

use sketch::{Banding, Config};

use super::image::Document;
use super::kind::Kind;
use super::passage;
use super::value::{BandSearch, ReadValue, Value};
use crate::options::{
    IndexOptions, Options, Recent, Threshold, same_shingling, shingling, threshold_setting, with_sketcher,
};
use crate::prelude::*;

/// The answer of an index to a search: by bands, from the given similarity on, or by another kind of search.
type Service = Result<Threshold, BandSearch>;

impl<'a> Value<'a> {
    /// Checks that each search can find a row's value.
    pub fn of_row((value, document): ReadValue<'a>, index: &IndexOptions) -> Result<Self> {
        if let Some(document) = document {
            if document.threshold < index.threshold {
                return Err(low_threshold(document.threshold, index.threshold));
            }
            let config = document.config()?;
            if let Some(other) = config.filter(|config| !same_shingling(config, &index.config)) {
                return Err(other_options(&other, &index.config));
            }
        }
        match wrong_length(&value, index) {
            Some(slots) => Err(other_length(slots, index.config.num_perm())),
            None => Ok(value),
        }
    }

    /// The first `count` band hashes, or all entries for an index of passages; none if the value has no shingles.
    pub fn first_bands(&self, index: &IndexOptions, count: usize) -> Result<Vec<i64>> {
        let Self::Text(text) = self else { return self.hashes(index, count) };
        if let Some(min_match) = index.min_match {
            return passage::entries(&lossless::decode(text)?, &index.config, min_match);
        }
        // A signed text has all its bands, or none if it has no shingles.
        let first = |hashes: &[i64]| memory::copied(&hashes[..count.min(hashes.len())]);
        Ok(with_signed(text, index, first)??)
    }

    fn hashes(&self, index: &IndexOptions, count: usize) -> Result<Vec<i64>> {
        with_sketcher(&index.config, |sketcher| {
            let mut hashes = Vec::new();
            if let Some(signature) = self.signature(sketcher)? {
                index.banding.first(count).hashes(signature, &mut hashes)?;
            }
            Ok(hashes)
        })
    }
}

impl Kind {
    /// The entries to look up for `sought`, the right operand of an operator of the index.
    pub fn search(self, sought: TypedValue, index: &IndexOptions) -> Result<BandSearch> {
        if self == Self::Passage {
            return passage::search(sought, index);
        }
        let threshold = match self.service(sought, index)? {
            Ok(threshold) => threshold,
            Err(search) => return Ok(search),
        };
        let Some((value, _)) = sought.read()? else { return Ok(BandSearch::Nothing) };
        if wrong_length(&value, index).is_some() {
            return Ok(BandSearch::Nothing);
        }
        let probes = index.banding.probes(threshold.get(), index.recall);
        let bands = value.first_bands(index, probes)?;
        Ok(if bands.is_empty() { BandSearch::Nothing } else { BandSearch::Bands(bands) })
    }

    /// True if an index with these options serves a search for `sought`; [`Kind::search`] for planning.
    pub fn serves(self, sought: TypedValue, index: &IndexOptions) -> bool {
        // The search itself refuses a value that cannot be read.
        if self == Self::Passage {
            return !matches!(passage::search(sought, index), Ok(BandSearch::Everything));
        }
        !matches!(self.service(sought, index), Ok(Err(BandSearch::Everything)))
    }

    /// True if an index with these options serves a search for a document; used for planning.
    pub fn serves_document(self, document: &Document, index: &IndexOptions) -> bool {
        let service = self.service_of(document.kind(), Some(document), index);
        !matches!(service, Ok(Err(BandSearch::Everything)))
    }

    fn service(self, sought: TypedValue, index: &IndexOptions) -> Result<Service> {
        if let Some(document) = sought.document()? {
            return self.service_of(document.kind(), Some(&document), index);
        }
        // A value of a foreign type is left to the operator. Integers compared with documents are a set or a signature,
        // depending on the row. Elements that cannot be hashed are refused for every row.
        let is_for_the_operator = |element| {
            let element = catalog::base_type(element);
            element == pg_sys::INT4OID || element::check(element).is_err()
        };
        match sought.kind() {
            Some(Self::Set) if self == Self::Document && sought.element_type().is_none_or(is_for_the_operator) => {
                Ok(Err(BandSearch::Everything))
            }
            Some(kind) => self.service_of(kind, None, index),
            None => Ok(Err(BandSearch::Everything)),
        }
    }

    /// Decides how to search for a value of kind `kind`: a text, a set or a signature. The threshold and options of
    /// `document` apply, if there is one.
    fn service_of(self, kind: Self, document: Option<&Document>, index: &IndexOptions) -> Result<Service> {
        match (self, kind) {
            (Self::Document, _) => {}
            // An integer[] is a signature if it is compared with one, and a set otherwise.
            (Self::Set, Self::Signature) | (Self::Signature, Self::Set) => {
                return Ok(Err(BandSearch::Everything));
            }
            _ if self == kind => {}
            _ => return Ok(Err(BandSearch::Nothing)),
        }
        let threshold = match (self, document) {
            // The greater threshold applies, and no row has a lower threshold than the index.
            (Self::Document, _) => document.map_or(index.threshold, |own| own.threshold.max(index.threshold)),
            (_, Some(own)) => own.threshold,
            (_, None) => threshold_setting(),
        };
        let config = match document {
            Some(own) => own.config()?,
            // The rows' options apply, which are the index's.
            None if self == Self::Document || kind != Self::Text => None,
            None => Some(Options::default().config()?),
        };
        let other = config.is_some_and(|config| !same_shingling(&config, &index.config));
        if other || threshold < index.threshold {
            return Ok(Err(BandSearch::Everything));
        }
        Ok(Ok(threshold))
    }

    /// True if a search for a value uses `minlsh.threshold`.
    pub fn takes_setting(self, sought: TypedValue) -> bool {
        matches!(self, Self::Text | Self::Set) && sought.kind() == Some(self)
    }
}

/// Number of slots in a signature, unless it is the index's.
fn wrong_length(value: &Value, index: &IndexOptions) -> Option<usize> {
    let Value::Signature(slots) = value else { return None };
    (slots.len() != index.config.num_perm()).then_some(slots.len())
}

/// Maximum bytes of a text that is cached with its band hashes.
const MAX_KEPT: usize = 1 << 18;

thread_local! {
    /// Recently signed texts. An insertion under an exclusion constraint signs the same text for its entries and for
    /// one or two searches, and a query with a constant signs it for the estimate and for the search.
    static SIGNED: Recent<Signed> = const { Recent::new() };
}

/// A text with its band hashes for an index.
struct Signed {
    config: Config,
    banding: Banding,
    /// The text, in the database's encoding.
    text: Vec<u8>,
    hashes: Vec<i64>,
}

/// Calls `look` with the band hashes of a text, which are cached unless the text is too long.
fn with_signed<T>(text: &[u8], index: &IndexOptions, look: impl FnOnce(&[i64]) -> T) -> Result<T> {
    let (config, banding) = (&index.config, index.banding);
    let sign = || Value::Text(text).hashes(index, banding.bands());
    if text.len() > MAX_KEPT {
        return Ok(look(&sign()?));
    }
    let is_same = |kept: &Signed| (kept.banding, &kept.config) == (banding, config) && kept.text == text;
    let new = || {
        let (hashes, text) = (sign()?, memory::copied(text)?);
        Ok(Signed { config: config.clone(), banding, text, hashes })
    };
    SIGNED.with(|kept| kept.with(is_same, new, |signed| look(&signed.hashes)))
}

fn low_threshold(document: Threshold, index: Threshold) -> SqlError {
    invalid_parameter(format!("threshold {document} of the document is below that of the index, which is {index}"))
        .set_hint(format!(
            "Create the document with a threshold of {index} or more, or the index WITH (threshold = {document})."
        ))
}

fn other_options(document: &Config, index: &Config) -> SqlError {
    let (document, index) = (shingling(document), shingling(index));
    invalid_parameter("document and index have different options")
        .set_detail(format!("The document has {document}; the index has {index}."))
        .set_hint(format!("Create the index WITH ({document})."))
}

fn other_length(slots: usize, num_perm: usize) -> SqlError {
    invalid_parameter(format!("signature has {slots} slots, but those of the index have {num_perm}")).set_hint(format!(
        "Compute it with num_perm => {num_perm}, or create the index WITH (num_perm) of your signatures."
    ))
}

/// The texts of a build for which the shingles are too short: unrelated texts would look similar.
#[derive(Default)]
pub struct Saturated {
    texts: u64,
    /// A `shingle_size` that suffices for all of them.
    shingle_size: usize,
}

impl Saturated {
    /// Checks a text of the build.
    pub fn look(&mut self, config: &Config, text: &str) -> Result<()> {
        let better = sketch::saturated(config, text, &mut check_interrupts)?;
        better.into_iter().for_each(|shingle_size| self.add(shingle_size));
        Ok(())
    }

    /// Adds a text that needs shingles of size `shingle_size`.
    pub fn add(&mut self, shingle_size: usize) {
        self.texts += 1;
        self.shingle_size = self.shingle_size.max(shingle_size);
    }

    /// Warns once about all texts. A single one cannot be confused with another.
    pub fn warn(&self, config: &Config, name: &str) {
        let Self { texts, shingle_size } = self;
        if *texts < 2 {
            return;
        }
        warning(format!("{texts} texts are too long for shingles of {} characters", config.shingle_size()))
            .set_detail("Unrelated texts of this length have many shingles in common by chance.")
            .set_hint(format!("Create \"{name}\" with a shingle_size of {shingle_size} or more, or with unit = word."))
            .report();
    }
}
