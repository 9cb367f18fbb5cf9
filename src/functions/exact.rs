//! Exact measures between sets: Jaccard similarity and containment.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Datum};
use sketch::ShingleSet;

use super::{Options, checkpoint};
use crate::error::Result;
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::order::Order;

sql_function!(minlsh_jaccard_text, jaccard_text);
sql_function!(minlsh_containment_text, containment_text);
sql_function!(minlsh_jaccard_array, jaccard_array);
sql_function!(minlsh_containment_array, containment_array);

/// `jaccard(text, text, shingle_size, unit, normalization, stop_words, bag) → double precision`
fn jaccard_text(call: &Call) -> Result<Option<Datum>> {
    Ok(text_sets(call)?.and_then(|(a, b)| a.jaccard(&b)).map(float8_datum))
}

/// `containment(text, text, shingle_size, unit, normalization, stop_words, bag) → double precision`
fn containment_text(call: &Call) -> Result<Option<Datum>> {
    Ok(text_sets(call)?.and_then(|(a, b)| a.containment(&b)).map(float8_datum))
}

fn text_sets(call: &Call) -> Result<Option<(ShingleSet, ShingleSet)>> {
    let (Some(a), Some(b), Some(options)) =
        (call.text(0)?, call.text(1)?, Options::shingling(call, 2, 3, 4)?)
    else {
        return Ok(None);
    };
    let config = options.config()?;
    Ok(Some((
        ShingleSet::from_text(&config, &a, &mut checkpoint),
        ShingleSet::from_text(&config, &b, &mut checkpoint),
    )))
}

/// `jaccard(anyarray, anyarray) → double precision`
fn jaccard_array(call: &Call) -> Result<Option<Datum>> {
    Ok(array_counts(call)?.and_then(|counts| {
        let union = counts.a + counts.b - counts.shared;
        (union > 0).then(|| float8_datum(counts.shared as f64 / union as f64))
    }))
}

/// `containment(anyarray, anyarray) → double precision`: the share of the first in the second.
fn containment_array(call: &Call) -> Result<Option<Datum>> {
    Ok(array_counts(call)?
        .filter(|counts| counts.a > 0)
        .map(|counts| float8_datum(counts.shared as f64 / counts.a as f64)))
}

struct Counts {
    a: usize,
    b: usize,
    shared: usize,
}

/// Sizes of two sets and of their intersection, by the default order of the element type.
fn array_counts(call: &Call) -> Result<Option<Counts>> {
    let (Some(a), Some(b)) = (call.datum(0), call.datum(1)) else {
        return Ok(None);
    };
    // SAFETY: a lookup in the system caches.
    let element = unsafe { pg_sys::get_base_element_type(call.argument_type(0)) };
    let order = Order::of(element, call.collation())?;
    // SAFETY: both arguments are arrays of `element` (anyarray is one type in a call).
    let (a, b) = unsafe { (array::elements(a, element), array::elements(b, element)) };
    let (a, b) = (distinct(&order, a), distinct(&order, b));
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match order.compare(a[i], b[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
        }
    }
    Ok(Some(Counts { a: a.len(), b: b.len(), shared }))
}

/// Sorts a set and drops its repeats.
fn distinct(order: &Order, mut set: Vec<Datum>) -> Vec<Datum> {
    set.sort_unstable_by(|a, b| order.compare(*a, *b));
    set.dedup_by(|a, b| order.compare(*a, *b) == Ordering::Equal);
    set
}
