//! The operators `~=`, and `jaccard()` with a document: the same comparison, once with a threshold
//! and once without. One side is made ready once, and kept for the next row.
//!
//! `~=` is LEAKPROOF: it fails for nothing but two documents of different options, and for the type of an array. A
//! value of another kind (a set beside a text) is just not similar to it. `jaccard()` reports what is wrong.

use std::cell::RefCell;

use sketch::{Config, ElementHash, PreparedSet, ShingleSet, has_shingles, normalize_text, set_of_long_text};

use super::image::Document;
use super::kind::Kind;
use super::value::{ReadValue, Value};
use crate::functions::overlap;
use crate::memory::of_comparison;
use crate::options::{Options, Threshold, same_shingling, shingling, threshold_setting};
use crate::pg::catalog::base_type;
use crate::pg::temp_file::Spool;
use crate::prelude::*;

// `~=` of a document and a text or an array, which keeps the document; of two values of one type.
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

/// `~=` of two values of the same type: keeps the one that stays the same.
fn similar_alike(call: &Call, kind: Kind) -> Result<Option<Datum>> {
    let kept = usize::from(!call.is_constant(0) || call.is_constant(1));
    similar(call, kept, [kind, kind])
}

/// `~=`: keeps argument `kept`, which is of the first kind, and compares the other one with it.
fn similar(call: &Call, kept: usize, kinds: [Kind; 2]) -> Result<Option<Datum>> {
    let found = compare(call, kept, kinds, true)?;
    Ok(found.map(|similarity| Datum::from(similarity.is_some())))
}

/// `jaccard()`: compares the first argument with the second, a document.
fn jaccard(call: &Call, other: Kind) -> Result<Option<Datum>> {
    let found = compare(call, 1, [Kind::Document, other], false)?;
    Ok(found.flatten().map(float8_datum))
}

/// Makes the kept argument ready, unless it is that of the last call, and compares the other one with it; `None` if one
/// of them is NULL. By threshold, the similarity is there if it reaches the thresholds of both, and not if they cannot
/// be compared; otherwise that is an error, and the similarity is missing only if both are empty.
fn compare(
    call: &Call,
    kept: usize,
    [kept_kind, other_kind]: [Kind; 2],
    by_threshold: bool,
) -> Result<Option<Option<f64>>> {
    let (Some(value), Some(_)) = (call.datum(kept), call.datum(1 - kept)) else { return Ok(None) };
    // SAFETY: declared as values of that kind, and live as long as the call; an array is aligned when all of it is
    // detoasted.
    let image = unsafe { bytes::read(if kept_kind == Kind::Set { array::detoast(value).0 } else { value }) };
    let work = |place: &mut KeptSide| {
        let (own, prepared) = place.get(image, || prepare(value, kept_kind))?;
        // The setting may be changed between two rows.
        let least = by_threshold.then(|| own.unwrap_or_else(threshold_setting).get());
        match prepared.measure(image, prepared.other(call, 1 - kept, other_kind)?, least)? {
            None if !by_threshold => Err(incomparable(prepared)),
            found => Ok(Some(found.flatten())),
        }
    };
    if call.has_no_place() {
        // An exclusion constraint looks the function up for each pair of rows, and frees what it keeps at the end of
        // the statement. The new row is the same for many pairs.
        with_lent(kept_kind, work)
    } else {
        // SAFETY: the only thing that these functions keep.
        work(unsafe { call.kept() })
    }
}

/// Makes an argument of that kind ready; with its own threshold, if it is a document.
fn prepare(value: Datum, kind: Kind) -> Result<(Option<Threshold>, Prepared)> {
    // SAFETY: declared as a value of that kind, and lives as long as the call.
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
        Ok(Self::Set(PreparedElements { kind, config, length, has_shingles: None, count: None, elements }))
    }

    /// The similarity with another value, if it is at least `least`, and what a document on the other side asks for;
    /// `None` if they cannot be compared: signatures of different lengths, or no other value. `image` is the value that
    /// this was read from.
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

    /// Reads the argument to compare with, which is of that kind; `None` if it is of another kind than this.
    fn other<'a>(&self, call: &'a Call, argument: usize, kind: Kind) -> Result<Option<ReadValue<'a>>> {
        let (Some(value), wanted) = (call.datum(argument), self.kind()) else { return Ok(None) };
        // SAFETY: an argument, which lives as long as the call: the function is declared for values of that kind.
        let (value, document) = unsafe {
            match kind {
                // An array of integers without NULLs is a signature. The type of the elements is checked whatever is
                // prepared: the error must not depend on that value.
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
struct PreparedElements {
    kind: Kind,
    /// The options by which a text is cut, and by which others must be.
    config: Config,
    /// The bytes of a text, the last ones of the value that it was read from.
    length: usize,
    has_shingles: Option<bool>,
    /// The number of shingles of a long text, known since the first comparison.
    count: Option<usize>,
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
            if self.is_apart(own, other, least)? {
                return self.by_file(own, other, least);
            }
        }
        Self::ready(&mut self.elements, &self.config, own)?.with(&self.config, other, least)
    }

    /// True if the shingles of both texts are to be counted in a file.
    ///
    /// The shingles of a text that is long by itself are kept from the second comparison on, if they fit: by then they
    /// were counted. With a threshold, more of them need not be kept, since only long texts can reach it.
    fn is_apart(&mut self, own: &[u8], other: &[u8], least: Option<f64>) -> Result<bool> {
        let (limit, hash) = (of_comparison(), size_of::<u64>());
        if self.elements.is_none() && own.len() * hash > limit {
            let kept = if least.is_some() { limit } else { MAX_KEPT * limit };
            if self.count.is_none_or(|count| count * hash > kept) {
                return Ok(true);
            }
        }
        let ready = Self::ready(&mut self.elements, &self.config, own)?;
        Ok(other.len() * hash > limit && !ready.misses_fit(least))
    }

    /// The elements, made ready once.
    fn ready<'a>(elements: &'a mut Option<ReadySet>, config: &Config, own: &[u8]) -> Result<&'a mut ReadySet> {
        Ok(match elements {
            Some(elements) => elements,
            none if own.len() * size_of::<u64>() > of_comparison() => none.insert(ReadySet::of_long_text(config, own)?),
            none => none.insert(ReadySet::of(Value::Text(own).into_set(config)?)?),
        })
    }

    /// The similarity of two texts whose shingles are counted in a file, unless the other one has too few.
    fn by_file(&mut self, own: &[u8], other: &[u8], least: Option<f64>) -> Result<Option<f64>> {
        let other = lossless::decode(other)?;
        if let (Some(least), Some(count)) = (least, self.count)
            && has_fewer(&self.config, &other, least * count as f64)?
        {
            return Ok(None);
        }
        let found = overlap(&self.config, &lossless::decode(own)?, &other)?;
        self.count = Some(found.a);
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

/// True if `text` has fewer shingles than `wanted`, by its length: no normalised text has more of them than bytes.
fn has_fewer(config: &Config, text: &str, wanted: f64) -> Result<bool> {
    // More than what the rounding of a product can be.
    let wanted = wanted * (1.0 - 1e-12);
    if text.len() as f64 >= wanted {
        return Ok(false);
    }
    Ok((normalize_text(config, text, &mut check_interrupts)?.len() as f64) < wanted)
}

/// A set to which others are compared.
enum ReadySet {
    /// In a hash table, in which the elements of another set are looked up without being sorted.
    Table(PreparedSet),
    /// In order, which takes an eighth of the memory, for a large set.
    Sorted(ShingleSet),
}

/// The most elements that go into a table: of 64 MB, for a text of about a million characters.
const MAX_TABLE: usize = 1 << 20;

/// Bytes of a table for each element that it has room for.
const TABLE_ENTRY: f64 = 64.0;

/// The most times the memory of one comparison that the shingles of a text may take which is compared with many.
const MAX_KEPT: usize = 16;

impl ReadySet {
    fn of(set: ShingleSet) -> Result<Self> {
        if set.len() > MAX_TABLE {
            return Ok(Self::Sorted(set));
        }
        PreparedSet::new(&set).map(Self::Table).map_err(Into::into)
    }

    /// The shingles of a text that is too long for a list of all of them.
    fn of_long_text(config: &Config, text: &[u8]) -> Result<Self> {
        let (text, mut aside) = (lossless::decode(text)?, Spool::new(0));
        Self::of(set_of_long_text(config, &text, of_comparison(), &mut aside, &mut check_interrupts)?)
    }

    /// True if what another text of any length has beside this set is known to fit into memory, or not to be needed.
    fn misses_fit(&self, least: Option<f64>) -> bool {
        match (self, least) {
            (Self::Table(set), Some(least)) => set.tolerated(least) * TABLE_ENTRY <= of_comparison() as f64,
            _ => false,
        }
    }

    /// The similarity with the set of a value, if it is at least `least`; none if both sets are empty.
    fn with(&mut self, config: &Config, other: Value, least: Option<f64>) -> Result<Option<f64>> {
        let minimum = least.unwrap_or(0.0);
        let table = match self {
            Self::Table(set) => set,
            Self::Sorted(set) => {
                if let Value::Text(text) = &other
                    && has_fewer(config, &lossless::decode(text)?, minimum * set.len() as f64)?
                {
                    return Ok(None);
                }
                let jaccard = set.overlap(&other.into_set(config)?, &mut check_interrupts).jaccard();
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
type KeptSide = KeptValue<(Option<Threshold>, Prepared)>;

/// The most bytes of a value that is kept beyond the statement for which it was prepared.
const MAX_LENT: usize = 1 << 18;

thread_local! {
    /// The last prepared value and its kind, for callers without a place of a query that could keep it.
    static LENT: RefCell<Option<(Kind, KeptSide)>> = const { RefCell::new(None) };
}

/// Does some work with what the session keeps of values of that kind; an ERROR amid it leaves nothing.
fn with_lent<T>(kind: Kind, work: impl FnOnce(&mut KeptSide) -> T) -> T {
    let lent = LENT.take().filter(|(kept_kind, _)| *kept_kind == kind);
    let mut kept = lent.map(|(_, kept)| kept).unwrap_or_default();
    let result = work(&mut kept);
    if kept.image.len() <= MAX_LENT {
        LENT.set(Some((kind, kept)));
    }
    result
}
