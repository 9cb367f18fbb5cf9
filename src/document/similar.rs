//! The operators `~=`, and `jaccard()` with a document: the same comparison, with and without a threshold. One argument
//! is prepared, and kept for the next row.
//!
//! `~=` is LEAKPROOF. It fails only for two documents with different options, and for an unsupported type of arrays.
//! Values of different kinds, such as a set and a text, are not similar. `jaccard()` reports an error for them.

use std::cell::RefCell;

use sketch::{
    Config, ElementHash, PreparedSet, ShingleSet, fewest_shingles, has_shingles, normalize_text, set_of_long_text,
};

use super::image::Document;
use super::kind::Kind;
use super::value::{ReadValue, Value};
use crate::functions::overlap;
use crate::memory::of_comparison;
use crate::options::{Options, Threshold, same_shingling, shingling, threshold_setting};
use crate::pg::catalog::base_type;
use crate::pg::temp_file::TempFile;
use crate::prelude::*;

// `~=` with a document and a text or array, which keeps the document, and with two values of one type.
sql_function!(minlsh_text_similar_document, |call| similar(call, 1, [Kind::Document, Kind::Text]));
sql_function!(minlsh_document_similar_text, |call| similar(call, 0, [Kind::Document, Kind::Text]));
sql_function!(minlsh_array_similar_document, |call| similar(call, 1, [Kind::Document, Kind::Set]));
sql_function!(minlsh_document_similar_array, |call| similar(call, 0, [Kind::Document, Kind::Set]));
sql_function!(minlsh_document_similar_document, |call| similar_alike(call, Kind::Document));
sql_function!(minlsh_text_similar_text, |call| similar_alike(call, Kind::Text));
sql_function!(minlsh_array_similar_array, |call| similar_alike(call, Kind::Set));
// `jaccard(..., minlsh_document) → double precision`
sql_function!(minlsh_jaccard_text_document, |call| jaccard(call, Kind::Text));
sql_function!(minlsh_jaccard_array_document, |call| jaccard(call, Kind::Set));
sql_function!(minlsh_jaccard_document_document, |call| jaccard(call, Kind::Document));

/// `~=` with two values of the same type: keeps the constant one.
fn similar_alike(call: &Call, kind: Kind) -> Result<Option<Datum>> {
    let kept = usize::from(!call.is_constant(0) || call.is_constant(1));
    similar(call, kept, [kind, kind])
}

/// `~=`: keeps argument `kept`, which has the first of `kinds`, and compares the other argument with it.
fn similar(call: &Call, kept: usize, kinds: [Kind; 2]) -> Result<Option<Datum>> {
    let found = compare(call, kept, kinds, true)?;
    Ok(found.map(|similarity| Datum::from(similarity.is_some())))
}

/// `jaccard()`: compares the first argument with the second, which is a document.
fn jaccard(call: &Call, other: Kind) -> Result<Option<Datum>> {
    let found = compare(call, 1, [Kind::Document, other], false)?;
    Ok(found.flatten().map(float8_datum))
}

/// Compares the other argument with argument `kept`, which is prepared unless the last call had the same value. `None`
/// if one of them is NULL. With `by_threshold` the inner result is `None` below the thresholds of both, and for values
/// that cannot be compared. Without it the latter are an error, and the inner result is `None` only if both are empty.
fn compare(
    call: &Call,
    kept: usize,
    [kept_kind, other_kind]: [Kind; 2],
    by_threshold: bool,
) -> Result<Option<Option<f64>>> {
    let (Some(value), Some(_)) = (call.datum(kept), call.datum(1 - kept)) else { return Ok(None) };
    // SAFETY: `sql/minlsh.sql` declares the argument with this kind, and it lives as long as the call. Detoasting an
    // array aligns it.
    let image = unsafe { bytes::read(if kept_kind == Kind::Set { array::detoast(value).0 } else { value }) };
    let work = |place: &mut KeptSide| {
        let (own, prepared) = place.get(image, || prepare(value, kept_kind))?;
        // The setting may change between two rows.
        let least = by_threshold.then(|| own.unwrap_or_else(threshold_setting).get());
        match prepared.measure(image, prepared.other(call, 1 - kept, other_kind)?, least)? {
            None if !by_threshold => Err(incomparable(prepared)),
            found => Ok(Some(found.flatten())),
        }
    };
    if call.has_no_place() {
        // An exclusion constraint looks up the function for each pair of rows, and frees kept state at the end of the
        // statement. Many pairs have the same new row.
        with_lent(kept_kind, work)
    } else {
        // SAFETY: these functions always ask for this type, once in a call.
        work(unsafe { call.kept() })
    }
}

/// Prepares an argument of this kind, with its own threshold if it is a document.
fn prepare(value: Datum, kind: Kind) -> Result<(Option<Threshold>, Prepared)> {
    // SAFETY: `sql/minlsh.sql` declares the argument with this kind, and it lives as long as the call.
    let (value, document) = unsafe { kind.read(value, ElementHash::default()) }?;
    let own = document.as_ref().map_or(Ok(None), Document::config)?;
    let config = own.map_or_else(|| Options::default().config(), Ok)?;
    Ok((document.map(|document| document.threshold), Prepared::of(value, config)?))
}

fn different_options(a: &Config, b: &Config) -> SqlError {
    let (a, b) = (shingling(a), shingling(b));
    invalid_parameter("documents with different options cannot be compared")
        .set_detail(format!("One has {a}; the other has {b}."))
        .set_hint("Create both with the same options.")
}

fn incomparable(prepared: &Prepared) -> SqlError {
    let expected = match prepared {
        Prepared::Signature(slots) => format!("a signature of {} slots", slots.len()),
        Prepared::Set(_) if prepared.kind() == Kind::Text => "a text".to_owned(),
        Prepared::Set(_) => "a set".to_owned(),
    };
    invalid_parameter(format!("cannot compare the value with a document that is {expected}"))
        .set_hint("Use minlsh_document() for texts and sets, and minlsh_signature() for signatures.")
}

enum Prepared {
    Set(Box<PreparedElements>),
    Signature(Vec<i32>),
}

impl Prepared {
    /// Prepares a value for comparisons; a text is split by `config`.
    pub fn of(value: Value, config: Config) -> Result<Self> {
        let (kind, length, elements) = match value {
            Value::Text(text) => (Kind::Text, text.len(), None),
            Value::Set(hashes) => {
                let set = ShingleSet::from_hashes(hashes, &mut check_interrupts);
                (Kind::Set, 0, Some(PreparedSet::new(set)?))
            }
            Value::Signature(slots) => return Ok(Self::Signature(slots.into_owned())),
        };
        Ok(Self::Set(Box::new(PreparedElements {
            kind,
            config,
            length,
            has_shingles: None,
            count: None,
            is_counted: false,
            elements,
        })))
    }

    /// The similarity with another value, if it reaches `least` and the threshold of a document on the other side.
    /// `None` if they cannot be compared, like signatures of different lengths, or if there is no other value. `image`
    /// is the value from which this was prepared.
    fn measure(&mut self, image: &[u8], other: Option<ReadValue>, least: Option<f64>) -> Result<Option<Option<f64>>> {
        let Some((other, document)) = other else { return Ok(None) };
        let own = document.as_ref().map_or(0.0, |document| document.threshold.get());
        let least = least.map(|least| least.max(own));
        let similarity = match (self, other) {
            (Self::Set(own), other @ (Value::Text(_) | Value::Set(_))) => {
                if let Some(other) = document.map_or(Ok(None), |document| document.config())?
                    && !same_shingling(&own.config, &other)
                {
                    return Err(different_options(&other, &own.config));
                }
                own.with(image, other, least)?
            }
            (Self::Signature(slots), Value::Signature(other)) => {
                let Ok(share) = sketch::estimate_jaccard(slots, &other) else { return Ok(None) };
                Some(share).filter(|share| least.is_none_or(|least| *share >= least))
            }
            _ => return Ok(None),
        };
        Ok(Some(similarity))
    }

    /// Reads the argument to compare with, of kind `kind`; `None` if that is not comparable with this.
    fn other<'a>(&self, call: &'a Call, argument: usize, kind: Kind) -> Result<Option<ReadValue<'a>>> {
        let (Some(value), wanted) = (call.datum(argument), self.kind()) else { return Ok(None) };
        // SAFETY: `sql/minlsh.sql` declares the argument with this kind, and it lives as long as the call.
        let (value, document) = unsafe {
            match kind {
                // An array of integers without NULLs is a signature. The type of its elements is checked in any case,
                // because the error must not depend on the prepared value.
                Kind::Set if wanted != Kind::Set => {
                    let (array, element) = array::detoast(value);
                    element::check(element)?;
                    if wanted != Kind::Signature || base_type(element) != pg_sys::INT4OID {
                        return Ok(None);
                    }
                    let elements = array::each_element(array);
                    let mut slots = memory::with_capacity(elements.len())?;
                    for slot in elements {
                        let Some(slot) = slot else { return Ok(None) };
                        slots.push(slot.value() as i32);
                    }
                    (Value::Signature(slots.into()), None)
                }
                kind if kind == wanted || kind == Kind::Document => kind.read(value, ElementHash::default())?,
                _ => return Ok(None),
            }
        };
        let is_wanted = document.as_ref().is_none_or(|document| document.kind() == wanted);
        Ok(is_wanted.then_some((value, document)))
    }

    /// The kind of values that can be compared with it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Set(own) => own.kind,
            Self::Signature(_) => Kind::Signature,
        }
    }
}

/// A text or a set with which others are compared. The shingles of a text are prepared for the first other text: a
/// search for the near-duplicates of a stored text finds the text itself, and often nothing else.
struct PreparedElements {
    kind: Kind,
    /// The options by which this text is split, and others must be.
    config: Config,
    /// Length of a text, the last bytes of the value that it was read from.
    length: usize,
    has_shingles: Option<bool>,
    /// Number of shingles of a long text, or a lower bound of it until they are counted.
    count: Option<usize>,
    is_counted: bool,
    elements: Option<PreparedSet>,
}

impl PreparedElements {
    /// The similarity with another value of its kind, if it is at least `least`; `None` if both are without shingles.
    /// `image` is the value from which this was prepared.
    pub fn with(&mut self, image: &[u8], other: Value, least: Option<f64>) -> Result<Option<f64>> {
        let own = &image[image.len() - self.length..];
        if let Value::Text(other) = other {
            if own == other {
                return Ok(self.has_shingles(own)?.then_some(1.0));
            }
            if self.is_apart(own, other, least)? {
                return self.by_file(own, other, least);
            }
        }
        similarity(Self::ready(&mut self.elements, &self.config, own)?, &self.config, other, least)
    }

    /// True if the shingles of both texts must be counted in a file.
    ///
    /// The shingles of a long text are kept if they fit, by its length or, once they are counted, by their number. With
    /// a threshold no other shingles need to be kept, since only long texts can reach it.
    fn is_apart(&mut self, own: &[u8], other: &[u8], least: Option<f64>) -> Result<bool> {
        let (limit, hash) = (of_comparison(), size_of::<u64>());
        if self.elements.is_none() && own.len() * hash > limit {
            let kept = if least.is_some() { limit } else { MAX_KEPT * limit };
            // No text has more shingles than bytes.
            let most = self.count.filter(|_| self.is_counted).unwrap_or(own.len());
            if most * hash > kept {
                return Ok(true);
            }
        }
        // True if the elements that only the other text has certainly fit into memory, however long it is.
        let ready = Self::ready(&mut self.elements, &self.config, own)?;
        let misses_fit = least.is_some_and(|least| ready.tolerated(least) * MISS <= limit as f64);
        Ok(other.len() * hash > limit && !misses_fit)
    }

    /// The elements, prepared once.
    fn ready<'a>(elements: &'a mut Option<PreparedSet>, config: &Config, own: &[u8]) -> Result<&'a mut PreparedSet> {
        let limit = of_comparison();
        let set = || match own.len() * size_of::<u64>() > limit {
            true => {
                let (text, new_file) = (lossless::decode(own)?, TempFile::new_file());
                Ok(set_of_long_text(config, &text, limit, new_file, &mut check_interrupts)?)
            }
            false => Value::Text(own).into_set(config),
        };
        Ok(match elements {
            Some(elements) => elements,
            none => none.insert(PreparedSet::new(set()?)?),
        })
    }

    /// The similarity of two texts whose shingles are counted in a file, unless the other text has too few.
    fn by_file(&mut self, own: &[u8], other: &[u8], least: Option<f64>) -> Result<Option<f64>> {
        let (own, other) = (lossless::decode(own)?, lossless::decode(other)?);
        if let Some(least) = least {
            let count = match self.count {
                Some(count) => count,
                None => *self.count.insert(fewest_shingles(&self.config, &own, &mut check_interrupts)?),
            };
            if has_fewer(&self.config, &other, least * count as f64)? {
                return Ok(None);
            }
        }
        let found = overlap(&self.config, &own, &other)?;
        (self.count, self.is_counted) = (Some(found.a), true);
        Ok(found.jaccard().filter(|found| least.is_none_or(|least| *found >= least)))
    }

    fn has_shingles(&mut self, own: &[u8]) -> Result<bool> {
        if self.has_shingles.is_none() {
            let own = lossless::decode(own)?;
            self.has_shingles = Some(has_shingles(&self.config, &own, &mut check_interrupts)?);
        }
        Ok(self.has_shingles == Some(true))
    }
}

/// True if `text` certainly has fewer than `wanted` shingles: it has at most one for each byte of the normalised text.
fn has_fewer(config: &Config, text: &str, wanted: f64) -> Result<bool> {
    // More than the rounding error of a product.
    let wanted = wanted * (1.0 - 1e-12);
    if text.len() as f64 >= wanted {
        return Ok(false);
    }
    Ok((normalize_text(config, text, &mut check_interrupts)?.len() as f64) < wanted)
}

/// Bytes of an element that only the other text has.
const MISS: f64 = 16.0;

/// Maximum memory for the shingles of a kept text, as a multiple of a comparison's.
const MAX_KEPT: usize = 16;

/// The similarity of a set with a value's set, if it is at least `least`; `None` if both sets are empty.
fn similarity(set: &mut PreparedSet, config: &Config, other: Value, least: Option<f64>) -> Result<Option<f64>> {
    let minimum = least.unwrap_or(0.0);
    let found = match &other {
        Value::Text(text) => set.similarity(config, &lossless::decode(text)?, minimum, &mut check_interrupts)?,
        Value::Set(hashes) => set.similarity_of(hashes, minimum, &mut check_interrupts)?,
        Value::Signature(_) => None,
    };
    if found.is_some() || least.is_some() {
        return Ok(found);
    }
    // Nothing is found either if one of the sets is empty.
    let both_empty = set.is_empty() && other.into_set(config)?.is_empty();
    Ok((!both_empty).then_some(0.0))
}

/// The state of a place in a query: its last value, and what was made of it.
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
    /// Returns what `make` makes of the value with bytes `image`, from the last call if that had the same bytes.
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

/// A kept argument: the threshold of a document, and the prepared value.
type KeptSide = KeptValue<(Option<Threshold>, Prepared)>;

/// Maximum bytes of a value that is kept beyond its statement.
const MAX_LENT: usize = 1 << 18;

thread_local! {
    /// The last prepared value with its kind, for calls without a place in a query.
    static LENT: RefCell<Option<(Kind, KeptSide)>> = const { RefCell::new(None) };
}

/// Runs `work` with the value that the session keeps for `kind`. An ERROR in it leaves no value.
fn with_lent<T>(kind: Kind, work: impl FnOnce(&mut KeptSide) -> T) -> T {
    let lent = LENT.take().filter(|(kept_kind, _)| *kept_kind == kind);
    let mut kept = lent.map(|(_, kept)| kept).unwrap_or_default();
    let result = work(&mut kept);
    if kept.image.len() <= MAX_LENT {
        LENT.set(Some((kind, kept)));
    }
    result
}
