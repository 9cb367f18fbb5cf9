//! Exact measures between sets: Jaccard similarity and containment.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::ShingleSet;

use super::{Options, checkpoint};
use crate::error::Result;
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::order::Order;
use crate::pg::text;

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

impl Counts {
    /// Sizes of two sets, given with repeats, and of their intersection.
    fn of<T>(mut a: Vec<T>, mut b: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Self {
        for set in [&mut a, &mut b] {
            set.sort_unstable_by(&compare);
            set.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
        }
        let (mut i, mut j, mut shared) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            let order = compare(&a[i], &b[j]);
            shared += usize::from(order.is_eq());
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
        }
        Self { a: a.len(), b: b.len(), shared }
    }
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
    let [a, b] = unsafe { [array::elements(a, element), array::elements(b, element)] };
    // Which elements are equal is all that matters: integers, and texts that are equal only if
    // their bytes are, need not be compared by a call each.
    Ok(Some(match element {
        pg_sys::INT4OID | pg_sys::INT8OID => {
            let numbers = |set: Vec<Datum>| set.iter().map(|datum| datum.value()).collect();
            Counts::of::<usize>(numbers(a), numbers(b), Ord::cmp)
        }
        pg_sys::TEXTOID if is_deterministic(call.collation()) => {
            // SAFETY: the elements are texts, which live as long as the call.
            let bytes = |datum: Datum| unsafe { text::bytes(datum) };
            let all = |set: Vec<Datum>| set.into_iter().map(bytes).collect();
            Counts::of::<&[u8]>(all(a), all(b), Ord::cmp)
        }
        _ => Counts::of(a, b, |a, b| order.compare(*a, *b)),
    }))
}

/// Whether texts of that collation are equal only if their bytes are.
fn is_deterministic(collation: Oid) -> bool {
    // SAFETY: a lookup in the system caches.
    collation != Oid::INVALID && unsafe { pg_sys::get_collation_isdeterministic(collation) }
}
