//! Exact measures between sets: Jaccard similarity and containment.

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::{Overlap, memory};

use crate::error::Result;
use crate::options::Options;
use crate::overlap::overlap as overlap_of;
use crate::pg::array;
use crate::pg::bytes;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::catalog::{self, base_element_type};
use crate::pg::interrupts::check_interrupts;
use crate::pg::order::Order;

sql_function!(minlsh_jaccard_text, jaccard_text);
sql_function!(minlsh_containment_text, containment_text);
sql_function!(minlsh_jaccard_array, jaccard_array);
sql_function!(minlsh_containment_array, containment_array);

/// `jaccard(text, text, shingle_size, unit, normalization, stop_words, bag)
/// → double precision`
fn jaccard_text(call: &Call) -> Result<Option<Datum>> {
    Ok(overlap_of_texts(call)?.and_then(Overlap::jaccard).map(float8_datum))
}

/// `containment(text, text, shingle_size, unit, normalization, stop_words, bag)
/// → double precision`
fn containment_text(call: &Call) -> Result<Option<Datum>> {
    Ok(overlap_of_texts(call)?.and_then(Overlap::containment).map(float8_datum))
}

fn overlap_of_texts(call: &Call) -> Result<Option<Overlap>> {
    let (Some(a), Some(b), Some(options)) =
        (call.text(0)?, call.text(1)?, Options::shingling(call, 2, 3, 4)?)
    else {
        return Ok(None);
    };
    let config = options.config()?;
    overlap_of(&config, a, b).map(Some)
}

/// `jaccard(anyarray, anyarray) → double precision`
fn jaccard_array(call: &Call) -> Result<Option<Datum>> {
    Ok(overlap(call)?.and_then(Overlap::jaccard).map(float8_datum))
}

/// `containment(anyarray, anyarray) → double precision`: the share of the first in the second.
fn containment_array(call: &Call) -> Result<Option<Datum>> {
    Ok(overlap(call)?.and_then(Overlap::containment).map(float8_datum))
}

/// The overlap of two arrays as sets, by the default order of the element type.
fn overlap(call: &Call) -> Result<Option<Overlap>> {
    let (Some(a), Some(b)) = (call.datum(0), call.datum(1)) else {
        return Ok(None);
    };
    let element = base_element_type(call.argument_type(0));
    let order = Order::of(element, call.collation())?;
    // SAFETY: both arguments are arrays, as they are declared anyarray, and live as long as the call.
    let [a, b] = unsafe { [array::elements(a)?, array::elements(b)?] };
    // Which elements are equal is all that matters: integers, and texts that are equal only if
    // their bytes are, need not be compared by a call each.
    let overlap = match element {
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
    };
    Ok(Some(overlap))
}

/// True if texts of that collation are equal only if their bytes are.
fn is_deterministic(collation: Oid) -> bool {
    collation != Oid::INVALID && catalog::is_deterministic(collation)
}
