//! Weighted sets: elements that count more or less.

use pgrx::pg_sys::Datum;
use sketch::{Element, ElementHash, WeightedSet, memory};

use crate::error::{Result, invalid_parameter};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::{array, text};

sql_function!(minlsh_minhash_weighted, minhash_weighted);
sql_function!(minlsh_weighted_jaccard, weighted_jaccard);

/// `minhash_weighted(text[], double precision[], num_perm, seed) → integer[]`
fn minhash_weighted(call: &Call) -> Result<Option<Datum>> {
    let (Some(set), Some(num_perm), Some(seed)) =
        (weighted_set(call, 0)?, call.int4(2), call.int8(3))
    else {
        return Ok(None);
    };
    let signature = set.signature(num_perm.into(), seed, &mut check_interrupts)?;
    Ok(signature.map(|signature| array::write_int4(&signature)))
}

/// `weighted_jaccard(text[], double precision[], text[], double precision[]) → double precision`
fn weighted_jaccard(call: &Call) -> Result<Option<Datum>> {
    let (Some(a), Some(b)) = (weighted_set(call, 0)?, weighted_set(call, 2)?) else {
        return Ok(None);
    };
    Ok(a.jaccard(&b).map(float8_datum))
}

/// The set in arguments `index` and the next: elements and their weights, place by place.
fn weighted_set(call: &Call, index: usize) -> Result<Option<WeightedSet>> {
    let (Some(elements), Some(weights)) = (call.datum(index), call.float8_array(index + 1)?) else {
        return Ok(None);
    };
    // SAFETY: declared text[].
    let elements = unsafe { array::nullable_elements(elements)? };
    if elements.len() != weights.len() {
        return Err(invalid_parameter(format!(
            "elements and weights must have the same length, not {} and {}",
            elements.len(),
            weights.len()
        ))
        .set_hint("Pass one weight for each element, in the same order."));
    }
    let mut weighted = memory::with_capacity(elements.len())?;
    for (i, (element, &weight)) in elements.into_iter().zip(weights).enumerate() {
        if i % 4096 == 0 {
            check_interrupts();
        }
        // As in minhash(text[]): nulls do not count.
        let Some(element) = element else { continue };
        // SAFETY: an element of a text[].
        let element = unsafe { text::read(element) }?;
        weighted.push((Element::Text(element).hash(ElementHash::Xxh3), weight));
    }
    WeightedSet::new(weighted, &mut check_interrupts).map(Some).map_err(Into::into)
}
