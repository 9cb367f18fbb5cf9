//! Exact measures between sets: Jaccard similarity and containment; and weighted sets, whose elements count more or
//! less.

use std::mem::take;

use sketch::{Config, Element, ElementHash, Overlap, ShingleSet, WeightedSet, each_shingle_hash};

use crate::memory::of_comparison;
use crate::options::Options;
use crate::pg::catalog::base_element_type;
use crate::pg::value_type::Order;
use crate::prelude::*;
use crate::sort::{Entry, Sorter};

// `jaccard(text, text, shingle_size, unit, normalization, stop_words, bag) → double precision`, and so `containment()`:
// the share of the first in the second
sql_function!(minlsh_jaccard_text, |call| share(overlap_of_texts(call), Overlap::jaccard));
sql_function!(minlsh_containment_text, |call| share(overlap_of_texts(call), Overlap::containment));
// `jaccard(anyarray, anyarray) → double precision`
sql_function!(minlsh_jaccard_array, |call| share(overlap_of_arrays(call), Overlap::jaccard));
sql_function!(minlsh_containment_array, |call| share(
    overlap_of_arrays(call),
    Overlap::containment
));
sql_function!(minlsh_minhash_weighted, minhash_weighted);
sql_function!(minlsh_weighted_jaccard, weighted_jaccard);

fn share(overlap: Result<Overlap>, measure: fn(Overlap) -> Option<f64>) -> Result<Option<Datum>> {
    Ok(measure(overlap?).map(float8_datum))
}

/// The overlap of two texts, cut by the arguments behind them.
fn overlap_of_texts(call: &Call) -> Result<Overlap> {
    let config = Options::shingling(call, 2, 3, 4)?.config()?;
    overlap(&config, call.text(0).given()?, call.text(1).given()?)
}

/// The numbers of shingles of two texts, and of those they share: in a temporary file where they are many.
pub(crate) fn overlap(config: &Config, a: &str, b: &str) -> Result<Overlap> {
    let limit = of_comparison();
    // No text has more shingles than bytes.
    if (a.len() + b.len()) * size_of::<u64>() <= limit {
        let set = |text| ShingleSet::from_text(config, text, &mut check_interrupts);
        return Ok(set(a)?.overlap(&set(b)?, &mut check_interrupts));
    }
    let mut sorter = Sorter::new(limit);
    for (tid, text) in (0..).zip([a, b]) {
        each_shingle_hash(config, text, &mut check_interrupts, &mut |hashes| {
            hashes.iter().try_for_each(|&key| sorter.push(Entry { key, tid }))
        })?;
    }
    let mut all = Overlap { a: 0, b: 0, shared: 0 };
    // How often a shingle is in each of the texts: of a set, once.
    let mut add = |[a, b]: [usize; 2]| {
        let [a, b] = if config.bag() { [a, b] } else { [a.min(1), b.min(1)] };
        (all.a, all.b, all.shared) = (all.a + a, all.b + b, all.shared + a.min(b));
    };
    let (mut shingle, mut counts) = (0, [0; 2]);
    sorter.finish(|Entry { key, tid }| {
        if key != shingle {
            add(take(&mut counts));
            shingle = key;
        }
        counts[tid as usize] += 1;
        Ok(())
    })?;
    add(counts);
    Ok(all)
}

/// The overlap of two arrays as sets, by the default order of the element type.
fn overlap_of_arrays(call: &Call) -> Result<Overlap> {
    let (a, b) = (call.datum(0).given()?, call.datum(1).given()?);
    let element = base_element_type(call.argument_type(0));
    let order = Order::of(element, call.collation())?;
    // SAFETY: both arguments are arrays, as they are declared anyarray, and live as long as the call.
    let [a, b] = [a, b].map(|set| memory::collect(unsafe { array::each_element(set) }.flatten()));
    let (a, b) = (a?, b?);
    // Which elements are equal is all that matters: integers, and texts that are equal only if
    // their bytes are, need not be compared by a call each.
    Ok(match element {
        pg_sys::INT4OID | pg_sys::INT8OID => {
            Overlap::count(a, b, |a, b| a.value().cmp(&b.value()), &mut check_interrupts)
        }
        pg_sys::TEXTOID if is_deterministic(call.collation()) => {
            // SAFETY: the elements are texts, which live as long as the call.
            let bytes = |datum| unsafe { bytes::read(datum) };
            let all = |set: Vec<Datum>| memory::collect(set.into_iter().map(bytes));
            Overlap::count::<&[u8]>(all(a)?, all(b)?, Ord::cmp, &mut check_interrupts)
        }
        _ => {
            // SAFETY: elements of the type of which this is the order.
            let compare = |a: &Datum, b: &Datum| unsafe { order.compare(*a, *b) };
            Overlap::count(a, b, compare, &mut check_interrupts)
        }
    })
}

/// True if texts of that collation are equal only if their bytes are.
fn is_deterministic(collation: Oid) -> bool {
    collation != Oid::INVALID && catalog::is_deterministic(collation)
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

/// The set in arguments `index` and the next: elements and their weights, place by place.
fn weighted_set(call: &Call, index: usize) -> Result<WeightedSet> {
    let (elements, weights) = (call.datum(index).given()?, call.float8_array(index + 1).given()?);
    // SAFETY: declared text[].
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
        // As in minhash(text[]): nulls do not count.
        let Some(element) = element else { continue };
        // SAFETY: an element of a text[].
        let element = unsafe { text::read(element) }?;
        weighted.push((Element::Text(element).hash(ElementHash::Xxh3), weight));
    }
    WeightedSet::new(weighted, &mut check_interrupts).map_err(Into::into)
}
