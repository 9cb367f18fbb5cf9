//! `minlsh_explain()` and `minlsh_explain_texts()`: why two documents are near-duplicates or not.

use std::collections::HashSet;

use sketch::{Comparison, Config, ElementHash, Overlap, ShingleSet, estimate_jaccard, standard_error};

use crate::document::kind::Kind;
use crate::document::value::Value;
use crate::error::internal;
use crate::lookup::find;
use crate::memory::of_explanation;
use crate::options::{IndexOptions, Options, Threshold, with_sketcher};
use crate::prelude::*;
use crate::row_key;
use crate::side_table::StoredSketch;
use crate::side_table::sign::of_signature;

set_function!(minlsh_explain, explain);
set_function!(minlsh_explain_texts, explain_texts);

/// Positions of the arguments.
const INDEX: usize = 0;
const A: usize = 1;
const B: usize = 2;
const THRESHOLD: usize = 3;

/// Maximum number of parts or elements shown of each kind.
const EXAMPLES: usize = 10;

/// `minlsh_explain(index, a, b, threshold) → one row`, or none if the caller cannot see one of the documents, or a
/// partial index lacks it.
fn explain(call: &Call, result: &ResultRows) -> Result<()> {
    let target = find::required(call, INDEX)?;
    let settings = &target.options;
    let threshold = find::threshold(call, THRESHOLD, &target)?;
    let of_key = target.key()?;
    let read = |argument| row_key::argument(call, argument, of_key.base_type, target.name());
    let (Some(a), Some(b)) = (read(A)?, read(B)?) else { return Ok(()) };
    let session = Session::open();
    let (row_a, row_b) = (target.stored(&session, a)?, target.stored(&session, b)?);
    for (key, row) in [(a, &row_a), (b, &row_b)] {
        let Some(row) = row else {
            pgrx::notice!("no document that you can see has the key {}", key.shown());
            return Ok(());
        };
        if target.info.index.partial && row.bool(2)? != Some(true) {
            let index = target.name();
            pgrx::notice!("partial index \"{index}\" does not have the document of key {}", key.shown());
            return Ok(());
        }
    }
    let (Some(a), Some(b)) = (&row_a, &row_b) else { return Ok(()) };
    let kind = target.info.kind;
    let (a, b) = (Operand::of_row(kind, a)?, Operand::of_row(kind, b)?);
    show(result, settings, threshold, &a, &b)
}

/// `minlsh_explain_texts(a text, b text, threshold, shingle_size, unit, normalization, stop_words, bag, num_perm,
/// scheme, seed, recall) → one row`: for texts that need not be stored.
fn explain_texts(call: &Call, result: &ResultRows) -> Result<()> {
    let options = Options {
        num_perm: call.int4(8).given()?,
        scheme: call.text(9).given()?.into(),
        seed: call.int8(10).given()?,
        ..Options::shingling(call, 3, 4, 5)?
    };
    let threshold = Threshold::new(call.float8(2).given()?)?;
    let settings = IndexOptions::new(options.config()?, threshold, call.float8(11).given()?)?;
    let (a, b) = (call.bytes(0).given()?, call.bytes(1).given()?);
    show(result, &settings, threshold, &Operand::of_text(a), &Operand::of_text(b))
}

struct Operand<'a> {
    value: Value<'a>,
    /// The array, if it is one.
    array: Option<TypedValue<'a>>,
}

impl<'a> Operand<'a> {
    fn of_text(text: &'a [u8]) -> Self {
        Self { value: Value::Text(text), array: None }
    }

    /// Reads the document of an index from the first column of its row.
    fn of_row(kind: Kind, row: &'a Row) -> Result<Self> {
        let Some(value) = row.get(1) else { return Ok(Self::of_text(b"")) };
        let array = (kind == Kind::Set).then_some(value);
        let read = if kind == Kind::Signature { value.signature()? } else { value.read()? };
        let (value, _) = read.ok_or_else(|| internal("a document is of another type"))?;
        Ok(Self { value, array })
    }

    /// Its set; `None` for a signature.
    fn set(&self, config: &Config) -> Result<Option<ShingleSet>> {
        let value = match &self.value {
            Value::Text(text) => Value::Text(text),
            Value::Set(hashes) => Value::Set(memory::copied(hashes)?),
            Value::Signature(_) => return Ok(None),
        };
        value.into_set(config).map(Some)
    }

    /// Some distinct elements whose hashes `wanted` accepts, as text; `None` if it does not consist of elements that
    /// can be shown.
    fn some(&self, wanted: &dyn Fn(u64) -> bool) -> Result<Option<Vec<String>>> {
        let array = match (self.array, &self.value) {
            (Some(array), _) => array,
            (None, Value::Text([])) => return Ok(Some(Vec::new())),
            _ => return Ok(None),
        };
        let (mut seen, mut shown) = (HashSet::new(), Vec::new());
        for element in array.elements().flatten() {
            // SAFETY: `elements` returns each element with the type of its array's elements.
            let hash = unsafe { element::hash(element.datum(), element.type_oid(), ElementHash::default()) }?;
            if shown.len() < EXAMPLES && wanted(hash) && memory::insert(&mut seen, hash)? {
                shown.push(element.with_text(|text| Ok(memory::owned(text)?))?);
            }
        }
        Ok(Some(shown))
    }

    /// Its signature and bands; `None` if it has no shingles.
    fn signed(&self, options: &IndexOptions) -> Result<Option<StoredSketch>> {
        with_sketcher(&options.config, |sketcher| {
            let signature = self.value.signature(sketcher)?;
            signature.map(|signature| of_signature(options, signature)).transpose()
        })
    }
}

/// Returns the row about two documents, for an index with `options`.
fn show(
    result: &ResultRows,
    settings: &IndexOptions,
    threshold: Threshold,
    operand_a: &Operand,
    operand_b: &Operand,
) -> Result<()> {
    let (signed_a, signed_b) = (operand_a.signed(settings)?, operand_b.signed(settings)?);
    let (sets, examples) = facts(&settings.config, operand_a, operand_b)?;
    let probed = settings.banding.first(settings.banding.probes(threshold.get(), settings.recall));
    let (mut estimate, mut shared) = (None, Vec::new());
    if let (Some(a), Some(b)) = (&signed_a, &signed_b) {
        // Signatures of different lengths give no estimate.
        estimate = estimate_jaccard(&a.signature, &b.signature).ok();
        let bands = a.bands.iter().zip(&b.bands).take(probed.bands());
        shared.extend((1..).zip(bands).filter(|(_, (a, b))| a == b).map(|(band, _)| band));
    }
    let jaccard = sets.and_then(Overlap::jaccard);
    // The best known similarity: the estimate if there are only signatures.
    let similarity = if sets.is_some() { jaccard } else { estimate };
    let error =
        similarity.map(|similarity| standard_error(settings.config.num_perm() as i64, similarity)).transpose()?;
    let count = |count: Option<usize>| count.map(|count| Datum::from(count as i64));
    let share = |share: Option<f64>| share.map(float8_datum);
    let some = |parts: Option<&Vec<String>>| {
        let texts = parts?.iter().map(|part| Some(TypedValue::text(part)));
        Parameter::array(texts, pg_sys::TEXTOID).datum()
    };
    let examples = examples.as_ref();
    result.push(&[
        share(jaccard),
        share(estimate),
        share(error),
        share(sets.and_then(Overlap::containment)),
        share(sets.and_then(|sets| sets.flipped().containment())),
        count(sets.map(|sets| sets.a)),
        count(sets.map(|sets| sets.b)),
        count(sets.map(|sets| sets.shared)),
        some(examples.map(|[shared, ..]| shared)),
        some(examples.map(|[_, only_a, _]| only_a)),
        some(examples.map(|[.., only_b]| only_b)),
        Some(array::write(&shared)),
        share(similarity.map(|similarity| probed.probability(similarity))),
    ]);
    Ok(())
}

/// Refuses two texts with `bytes` bytes in total if finding their parts would take too much memory.
fn check_memory(bytes: usize) -> Result<()> {
    /// Bytes kept for each byte of texts without a repeated shingle, passage or word.
    const KEPT: usize = 12;
    let needed = bytes.saturating_mul(KEPT);
    if needed <= of_explanation() {
        return Ok(());
    }
    let megabytes = |bytes: usize| bytes.div_ceil(1 << 20);
    Err(beyond_setting(format!(
        "the comparison of two texts of {} MB does not fit into maintenance_work_mem",
        megabytes(bytes)
    ))
    .set_detail("It keeps the shingles, passages and words of both texts, to show which are shared.")
    .set_hint(format!(
        "Set maintenance_work_mem to '{} MB' or more, or use jaccard() and containment(), which need less.",
        megabytes(needed)
    )))
}

/// The sizes of the sets of two documents; `None` for signatures, and for documents of different kinds. Then some
/// common passages or elements, some of only the first document, and some of only the second; `None` if only hashes are
/// known.
type PairFacts = (Option<Overlap>, Option<[Vec<String>; 3]>);

/// Compares two documents, but not their signatures.
fn facts(config: &Config, a: &Operand, b: &Operand) -> Result<PairFacts> {
    if let (Value::Text(a), Value::Text(b)) = (&a.value, &b.value) {
        let (a, b) = (lossless::decode(a)?, lossless::decode(b)?);
        check_memory(a.len() + b.len())?;
        let compared = Comparison::new(config, &a, &b, EXAMPLES, &mut check_interrupts);
        let Comparison { overlap, shared, only_a, only_b } = compared?;
        return Ok((Some(overlap), Some([shared, only_a, only_b])));
    }
    let (Some(set_a), Some(set_b)) = (a.set(config)?, b.set(config)?) else {
        return Ok((None, None));
    };
    let examples = [
        a.some(&|hash| set_b.contains(hash))?,
        a.some(&|hash| !set_b.contains(hash))?,
        b.some(&|hash| !set_a.contains(hash))?,
    ];
    let sets = Some(set_a.overlap(&set_b, &mut check_interrupts));
    let [Some(shared), Some(only_a), Some(only_b)] = examples else { return Ok((sets, None)) };
    Ok((sets, Some([shared, only_a, only_b])))
}
