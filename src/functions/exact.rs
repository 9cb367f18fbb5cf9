//! Exact measures between sets: Jaccard similarity, containment, and the similarity of weighted sets.

use sketch::{Config, Element, ElementHash, Overlap, WeightedSet};

use crate::memory::of_comparison;
use crate::options::Options;
use crate::pg::catalog::base_element_type;
use crate::pg::temp_file::TempFile;
use crate::pg::value_type::Order;
use crate::prelude::*;

// `jaccard(text, text, shingle_size, unit, normalization, stop_words, bag) → double precision`; `containment()` takes
// the same arguments, and returns the share of the first text's shingles that the second has
sql_function!(minlsh_jaccard_text, |call| share(overlap_of_texts(call), Overlap::jaccard));
sql_function!(minlsh_containment_text, |call| share(overlap_of_texts(call), Overlap::containment));
// `jaccard(anyarray, anyarray) → double precision`
sql_function!(minlsh_jaccard_array, |call| share(overlap_of_arrays(call), Overlap::jaccard));
sql_function!(minlsh_containment_array, |call| share(overlap_of_arrays(call), Overlap::containment));
sql_function!(minlsh_minhash_weighted, minhash_weighted);
sql_function!(minlsh_weighted_jaccard, weighted_jaccard);

fn share(overlap: Result<Overlap>, measure: fn(Overlap) -> Option<f64>) -> Result<Option<Datum>> {
    Ok(measure(overlap?).map(float8_datum))
}

/// The overlap of two texts, split by the arguments after them.
fn overlap_of_texts(call: &Call) -> Result<Overlap> {
    let config = Options::shingling(call, 2, 3, 4)?.config()?;
    overlap(&config, call.text(0).given()?, call.text(1).given()?)
}

/// Counts the shingles of two texts and the shared ones, in a temporary file if there are many.
pub(crate) fn overlap(config: &Config, a: &str, b: &str) -> Result<Overlap> {
    let (limit, new_file) = (of_comparison(), TempFile::new_file());
    Ok(sketch::overlap_of_texts(config, [a, b], limit, new_file, &mut check_interrupts)?)
}

/// The overlap of two arrays as sets, by the default order of the element type.
fn overlap_of_arrays(call: &Call) -> Result<Overlap> {
    let (a, b) = (call.datum(0).given()?, call.datum(1).given()?);
    let element = base_element_type(call.argument_type(0));
    let order = Order::of(element, call.collation())?;
    // SAFETY: `sql/minlsh.sql` declares both arguments as anyarray, and they live as long as the call.
    let [a, b] = [a, b].map(|set| memory::collect(unsafe { array::each_element(set) }.flatten()));
    let (a, b) = (a?, b?);
    let is_deterministic = |collation| collation != Oid::INVALID && catalog::is_deterministic(collation);
    if element == pg_sys::TEXTOID && is_deterministic(call.collation()) {
        // Only equality matters. Texts under a deterministic collation are equal only if their bytes are, and need no
        // call.
        // SAFETY: the elements are texts, as just checked, and live as long as the call.
        let bytes = |datum| unsafe { bytes::read(datum) };
        let all = |set: Vec<Datum>| memory::collect(set.into_iter().map(bytes));
        return Ok(Overlap::count::<&[u8]>(all(a)?, all(b)?, Ord::cmp, &mut check_interrupts));
    }
    // SAFETY: the elements have the type for which `order` was made.
    let compare = |a: &Datum, b: &Datum| unsafe { order.compare_datums(*a, *b) };
    Ok(Overlap::count(a, b, compare, &mut check_interrupts))
}

/// `minhash_weighted(text[], double precision[], num_perm, seed) → integer[]`
fn minhash_weighted(call: &Call) -> Result<Option<Datum>> {
    let (num_perm, seed) = (call.int4(2).given()?.into(), call.int8(3).given()?);
    let signature = weighted_set(call, 0)?.signature(num_perm, seed, &mut check_interrupts)?;
    Ok(signature.map(|signature| array::write(&signature)))
}

/// `weighted_jaccard(text[], double precision[], text[], double precision[]) → double precision`
fn weighted_jaccard(call: &Call) -> Result<Option<Datum>> {
    Ok(weighted_set(call, 0)?.jaccard(&weighted_set(call, 2)?).map(float8_datum))
}

/// Reads a set from arguments `index` and `index + 1`: elements and their weights.
fn weighted_set(call: &Call, index: usize) -> Result<WeightedSet> {
    let (elements, weights) = (call.datum(index).given()?, call.array(index + 1).given()?);
    // SAFETY: `sql/minlsh.sql` declares the argument as text[].
    let elements = unsafe { array::each_element(elements) };
    if elements.len() != weights.len() {
        return Err(invalid_parameter(format!(
            "elements and weights must have the same length, not {} and {}",
            elements.len(),
            weights.len()
        ))
        .set_hint("Pass one weight for each element, in the same order."));
    }
    let mut weighted = memory::with_capacity(elements.len())?;
    for (element, &weight) in elements.zip(weights) {
        // As in minhash(text[]), NULLs do not count.
        let Some(element) = element else { continue };
        // SAFETY: an element of a text[] is a text.
        let element = unsafe { text::read(element) }?;
        weighted.push((Element::Text(element).hash(ElementHash::Xxh3), weight));
    }
    WeightedSet::new(weighted, &mut check_interrupts).map_err(Into::into)
}
