//! From a value, stored or searched for, to the band hashes under which an index has it.

use std::borrow::Cow;
use std::cell::Cell;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::passage::Bound;
use sketch::pipeline::SignerBatch;
use sketch::stored::StoredBytes;
use sketch::{Banding, Config, ElementHash};

use super::image::{Content, Document, hashes, slots};
use super::kind::Kind;
use super::passage::entries;
use super::shingling::{Canonical, same};
use crate::error::{Result, SqlError, invalid_parameter, out_of_memory};
use crate::functions::with_sketcher;
use crate::options::{IndexOptions, Options, Threshold};
use crate::pg::catalog;
use crate::pg::element;
use crate::pg::interrupts::check_interrupts;
use crate::pg::{array, lossless};
use crate::settings;

/// The entries to look up for a value that is searched for.
#[derive(Clone, Debug, PartialEq)]
pub enum BandSearch {
    /// These band hashes; fewer than the index has, where the threshold asked for allows it.
    Bands(Vec<i64>),
    /// Rows that can have enough of a passage.
    Passage(Bound),
    /// The index was not made for this threshold or these options: all rows must be looked at.
    Everything,
    /// No row can be similar: the value has no shingles.
    Nothing,
}

impl Kind {
    /// Reads a row's value.
    ///
    /// # Safety
    /// `value` must be a non-null value of the kind of type that `self` says, valid for `'a`.
    pub unsafe fn row<'a>(self, value: Datum, index: &IndexOptions) -> Result<Sketched<'a>> {
        // SAFETY: the caller's promise.
        let sketched = unsafe {
            match self {
                Self::Text | Self::Passage => Sketched::Text(lossless::read(value)?),
                Self::Set => Sketched::Hashes(element::hashes(value, ElementHash::default())?),
                Self::Signature => Sketched::Signature(array::read_int4(value)?.into()),
                Self::Document => Sketched::indexed(&Document::read(value)?, index)?,
            }
        };
        sketched.refuse_wrong_length(index)?;
        Ok(sketched)
    }

    /// Copies a row's value into a batch, to have the bands made there.
    ///
    /// # Safety
    /// As for [`Kind::row`].
    pub unsafe fn copy(
        self,
        value: Datum,
        index: &IndexOptions,
        batch: &mut SignerBatch,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            if let Self::Text | Self::Passage = self {
                return lossless::stored(value, |text| batch.push_text(text).map_err(Into::into));
            }
            self.row(value, index)?.copy(batch)
        }
    }

    /// The entries to look up for `value`, the right side of an operator, of type `value_type`; the type of
    /// the column if that is invalid.
    ///
    /// # Safety
    /// `value` must be a non-null value of that type, and an operator of the family takes it.
    pub unsafe fn search(
        self,
        value: Datum,
        value_type: Oid,
        index: &IndexOptions,
    ) -> Result<BandSearch> {
        if self == Self::Passage {
            // SAFETY: the caller's promise: the operators of the family take passages.
            return Ok(match unsafe { entries::service(value, index) }? {
                entries::Service::For(bound) => BandSearch::Passage(bound),
                entries::Service::Nothing => BandSearch::Everything,
                entries::Service::Empty => BandSearch::Nothing,
            });
        }
        // SAFETY: the caller's promise.
        let service = unsafe { self.service(value, value_type, index) }?;
        let (threshold, sketched) = match service {
            Service::For { threshold, sketched } => (threshold, sketched),
            Service::Everything => return Ok(BandSearch::Everything),
            Service::Nothing => return Ok(BandSearch::Nothing),
        };
        let mut bands = Vec::new();
        let probes = index.banding.probes(threshold.get(), index.recall);
        sketched.append_bands(index, probes, &mut bands)?;
        Ok(if bands.is_empty() { BandSearch::Nothing } else { BandSearch::Bands(bands) })
    }

    /// True if an index with these options serves a search for `value`, as [`Kind::search`] would
    /// find: for plans.
    ///
    /// # Safety
    /// As for [`Kind::search`].
    pub unsafe fn serves(self, value: Datum, value_type: Oid, index: &IndexOptions) -> bool {
        if self == Self::Passage {
            // SAFETY: the caller's promise: the operators of the family take passages.
            let service = unsafe { entries::service(value, index) };
            return !matches!(service, Ok(entries::Service::Nothing));
        }
        // SAFETY: the caller's promise.
        let service = unsafe { self.service(value, value_type, index) };
        // What cannot be read is for the search to refuse.
        !matches!(service, Ok(Service::Everything))
    }

    /// True if an index with these options serves a search for that document: for plans.
    pub fn serves_document(self, document: &Document, index: &IndexOptions) -> bool {
        !matches!(self.document(*document, index), Ok(Service::Everything))
    }

    /// # Safety
    /// As for [`Kind::search`].
    unsafe fn service<'a>(
        self,
        value: Datum,
        value_type: Oid,
        index: &IndexOptions,
    ) -> Result<Service<'a>> {
        // SAFETY: the caller's promise; the value lives as long as the scan.
        unsafe {
            match self.of_value(value_type) {
                Self::Text => self.text(value, index),
                Self::Document => self.document(Document::read(value)?, index),
                Self::Set | Self::Signature => self.array(value, index),
                Self::Passage => Ok(Service::Everything),
            }
        }
    }

    /// True if a search for a value of that type is one by `minlsh.threshold`.
    pub fn takes_setting(self, value_type: Oid) -> bool {
        matches!(self, Self::Text | Self::Set) && self.of_value(value_type) == self
    }

    /// The kind of a value of that type beside values of this kind.
    fn of_value(self, value_type: Oid) -> Self {
        if value_type == pg_sys::InvalidOid {
            // An exclusion constraint compares values of the column itself.
            return self;
        }
        Self::of_type(value_type, Oid::INVALID).unwrap_or(Self::Document)
    }

    /// # Safety
    /// `value` must be a non-null text.
    unsafe fn text<'a>(self, value: Datum, index: &IndexOptions) -> Result<Service<'a>> {
        let (threshold, served) = match self {
            // The rows are documents: their options and their thresholds, which are not less than
            // that of the index, are what counts.
            Self::Document => (index.threshold, true),
            Self::Text => {
                let threshold = settings::threshold();
                let served = same(&Options::default().config()?, &index.config);
                (threshold, served && threshold >= index.threshold)
            }
            _ => return Ok(Service::Nothing),
        };
        if !served {
            return Ok(Service::Everything);
        }
        // SAFETY: the caller's promise.
        let sketched = Sketched::Text(unsafe { lossless::read(value) }?);
        Ok(Service::For { threshold, sketched })
    }

    /// # Safety
    /// `value` must be a non-null array.
    unsafe fn array<'a>(self, value: Datum, index: &IndexOptions) -> Result<Service<'a>> {
        // SAFETY: the caller's promise.
        let element = catalog::base_type(unsafe { array::detoast(value) }.1);
        let threshold = match self {
            Self::Set if settings::threshold() >= index.threshold => settings::threshold(),
            // Integers beside documents may be a set or a signature, as each of the rows is.
            Self::Document if element != pg_sys::INT4OID => index.threshold,
            Self::Text | Self::Passage => return Ok(Service::Nothing),
            Self::Set | Self::Document | Self::Signature => return Ok(Service::Everything),
        };
        // SAFETY: the caller's promise.
        let sketched = Sketched::Hashes(unsafe { element::hashes(value, ElementHash::default()) }?);
        Ok(Service::For { threshold, sketched })
    }

    fn document<'a>(self, document: Document<'a>, index: &IndexOptions) -> Result<Service<'a>> {
        let threshold = match self {
            // The greater threshold counts, and no row has a lesser one than the index.
            Self::Document => document.threshold.max(index.threshold),
            _ => document.threshold,
        };
        let sketched = match (self, document.content) {
            (Self::Text | Self::Document, Content::Text(options, text)) => {
                if !same(&options.config()?, &index.config) {
                    return Ok(Service::Everything);
                }
                Sketched::Text(lossless::decode(text)?)
            }
            (Self::Set | Self::Document, Content::Set(_))
            | (Self::Signature | Self::Document, Content::Signature(_)) => {
                Sketched::given(document.content)?
            }
            // An integer[] is a signature beside a signature, and a set beside a set.
            (Self::Set, Content::Signature(_)) | (Self::Signature, Content::Set(_)) => {
                return Ok(Service::Everything);
            }
            _ => return Ok(Service::Nothing),
        };
        if threshold < index.threshold {
            return Ok(Service::Everything);
        }
        if !sketched.has_length_of(index) {
            return Ok(Service::Nothing);
        }
        Ok(Service::For { threshold, sketched })
    }
}

/// The ways in which an index serves a value.
enum Service<'a> {
    /// Find what is similar to it.
    For { threshold: Threshold, sketched: Sketched<'a> },
    /// Nothing.
    Everything,
    /// Say that no row is similar.
    Nothing,
}

/// A value on its way to its bands.
pub enum Sketched<'a> {
    Text(Cow<'a, str>),
    /// Hashes of elements.
    Hashes(Vec<u64>),
    Signature(Cow<'a, [i32]>),
}

impl<'a> Sketched<'a> {
    /// A document as a row of an index, which may only be one that each search finds.
    fn indexed(document: &Document<'a>, index: &IndexOptions) -> Result<Self> {
        if document.threshold < index.threshold {
            return Err(low_threshold(document.threshold, index.threshold));
        }
        let Content::Text(options, text) = document.content else {
            return Self::given(document.content);
        };
        let config = options.config()?;
        if !same(&config, &index.config) {
            return Err(other_options(&config, &index.config));
        }
        Ok(Self::Text(lossless::decode(text)?))
    }

    /// A set or a signature; a text is cut by options that the caller must look at.
    fn given(content: Content<'a>) -> Result<Self> {
        Ok(match content {
            Content::Text(_, text) => Self::Text(lossless::decode(text)?),
            Content::Set(stored) => Self::Hashes(hashes(stored)?),
            Content::Signature(stored) => Self::Signature(slots(stored).into()),
        })
    }

    /// True if a signature is as long as those of the index.
    fn has_length_of(&self, index: &IndexOptions) -> bool {
        match self {
            Self::Signature(slots) => slots.len() == index.config.num_perm(),
            _ => true,
        }
    }

    fn refuse_wrong_length(&self, index: &IndexOptions) -> Result<()> {
        let num_perm = index.config.num_perm();
        match self {
            Self::Signature(slots) if slots.len() != num_perm => Err(invalid_parameter(format!(
                "signature has {} slots, but those of the index have {num_perm}",
                slots.len()
            ))
            .set_hint(format!(
                "Compute it with num_perm => {num_perm}, or create the index WITH (num_perm) of your \
                 signatures."
            ))),
            _ => Ok(()),
        }
    }

    /// Appends all band hashes of a row of the index: none if it has no shingles.
    pub fn append_all_bands(&self, index: &IndexOptions, bands: &mut Vec<i64>) -> Result<()> {
        self.append_bands(index, index.banding.bands(), bands)
    }

    /// Copies it into a batch, to have the bands made there.
    fn copy(&self, batch: &mut SignerBatch) -> Result<()> {
        match self {
            Self::Text(text) => batch.push_text(StoredBytes::plain(text.as_bytes())),
            Self::Hashes(elements) => batch.push_elements(elements),
            Self::Signature(slots) => batch.push_signature(slots),
        }
        .map_err(Into::into)
    }

    /// Appends the first `count` band hashes: none of an empty set.
    fn append_bands(&self, index: &IndexOptions, count: usize, bands: &mut Vec<i64>) -> Result<()> {
        if let (Some(min_match), Self::Text(text)) = (index.min_match, self) {
            return entries::append(text, &index.config, min_match, bands);
        }
        let mut hashes = Vec::new();
        match self {
            Self::Text(text) => {
                let signed = Signed::of(text, index)?;
                // Fewer bands are the first ones of all, and a text without shingles has none.
                append(bands, &signed.hashes[..count.min(signed.hashes.len())])?;
                signed.keep();
                return Ok(());
            }
            Self::Hashes(elements) => {
                let banding = index.banding.first(count);
                with_sketcher(&index.config, |sketcher| {
                    let signature = sketcher.sketch_hashes(elements, &mut check_interrupts)?;
                    signature.map_or(Ok(()), |signature| banding.hashes(signature, &mut hashes))
                })
            }
            Self::Signature(slots) => index.banding.first(count).hashes(slots, &mut hashes),
        }?;
        append(bands, &hashes)
    }
}

/// The most bytes of a text that is kept with its band hashes.
const MAX_KEPT: usize = 1 << 18;

thread_local! {
    /// The text that was signed last. An insertion under an exclusion constraint has the same text signed for the
    /// entries and for one or two searches, and a query by a constant for its estimate and for its search.
    static SIGNED: Cell<Option<Signed>> = const { Cell::new(None) };
}

/// A text and its band hashes.
struct Signed {
    config: Config,
    banding: Banding,
    text: String,
    hashes: Vec<i64>,
}

impl Signed {
    /// The band hashes of a text, as an index has them.
    fn of(text: &str, index: &IndexOptions) -> Result<Self> {
        let is_same = |kept: &Self| (kept.banding, &kept.config) == (index.banding, &index.config);
        let mut signed = match SIGNED.take().filter(is_same) {
            Some(kept) if kept.text == text => return Ok(kept),
            Some(kept) => kept,
            None => Self {
                config: index.config.clone(),
                banding: index.banding,
                text: String::new(),
                hashes: Vec::new(),
            },
        };
        let hashes = &mut signed.hashes;
        hashes.clear();
        with_sketcher(&index.config, |sketcher| {
            let signature = sketcher.sketch(text, &mut check_interrupts)?;
            signature.map_or(Ok(()), |signature| index.banding.hashes(signature, hashes))
        })?;
        signed.text.clear();
        if text.len() <= MAX_KEPT {
            signed.text.try_reserve(text.len()).map_err(|_| out_of_memory())?;
            signed.text.push_str(text);
        }
        Ok(signed)
    }

    /// Keeps them for the next time, unless the text is too long.
    fn keep(self) {
        if !self.text.is_empty() {
            SIGNED.set(Some(self));
        }
    }
}

fn append(bands: &mut Vec<i64>, more: &[i64]) -> Result<()> {
    bands.try_reserve(more.len()).map_err(|_| out_of_memory())?;
    bands.extend_from_slice(more);
    Ok(())
}

fn low_threshold(document: Threshold, index: Threshold) -> SqlError {
    invalid_parameter(format!(
        "threshold {document} of the document is below that of the index, which is {index}"
    ))
    .set_hint(format!(
        "Create the document with a threshold of {index} or more, or the index WITH (threshold = \
         {document})."
    ))
}

fn other_options(document: &Config, index: &Config) -> SqlError {
    let (document, index) = (Canonical::of(document), Canonical::of(index));
    invalid_parameter("document and index have different options")
        .set_detail(format!("The document has {document}; the index has {index}."))
        .set_hint(format!("Create the index WITH ({document})."))
}
