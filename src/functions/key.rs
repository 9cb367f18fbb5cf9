//! The order of the type `minlsh_key`: numbers by value, then other keys as text. Keys are equal only if their bytes
//! are: 1 and 1.0 are adjacent, but different.

use std::cmp::Ordering;

use crate::prelude::*;

sql_function!(minlsh_key_lt, |call| is(call, Ordering::is_lt));
sql_function!(minlsh_key_le, |call| is(call, Ordering::is_le));
sql_function!(minlsh_key_gt, |call| is(call, Ordering::is_gt));
sql_function!(minlsh_key_ge, |call| is(call, Ordering::is_ge));
sql_function!(minlsh_key_cmp, |call| Ok(Some(Datum::from(order(call) as i32))));
sql_function!(minlsh_key_smaller, |call| one_of(call, Ordering::is_le));
sql_function!(minlsh_key_larger, |call| one_of(call, Ordering::is_gt));

/// True if `wanted` accepts the order of two keys.
fn is(call: &Call, wanted: fn(Ordering) -> bool) -> Result<Option<Datum>> {
    Ok(Some(Datum::from(wanted(order(call)))))
}

/// The first of two keys if `wanted` accepts their order, else the second.
fn one_of(call: &Call, wanted: fn(Ordering) -> bool) -> Result<Option<Datum>> {
    Ok(call.datum(usize::from(!wanted(order(call)))))
}

/// Compares the two arguments, which are not NULL: the functions are STRICT.
fn order(call: &Call) -> Ordering {
    let (a, b) = (call.bytes(0).unwrap_or_default(), call.bytes(1).unwrap_or_default());
    let by_value = match (number(a), number(b)) {
        (Some((false, a)), Some((false, b))) => a.cmp(&b),
        (Some((true, a)), Some((true, b))) => b.cmp(&a),
        (Some((is_negative, _)), Some((other, _))) => other.cmp(&is_negative),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => {
            let ([a, b], lengths) = ([a, b].map(|key| key.as_ptr().cast()), [a, b].map(<[u8]>::len));
            let [length_a, length_b] = lengths.map(|length| length as i32);
            // SAFETY: both pointers have their lengths, and are only read.
            unsafe { pg_sys::varstr_cmp(a, length_a, b, length_b, call.collation()) }.cmp(&0)
        }
    };
    by_value.then_with(|| a.cmp(b))
}

/// The number of digits before the point, these digits without leading zeros, and the digits after it without trailing
/// zeros.
type Digits<'a> = (usize, &'a [u8], &'a [u8]);

/// Parses a number of any length as PostgreSQL writes integers and numeric: true if it is negative, and its digits.
fn number(text: &[u8]) -> Option<(bool, Digits<'_>)> {
    let (is_negative, rest) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    let mut parts = rest.splitn(2, |&byte| byte == b'.');
    let (whole, fraction) = (parts.next()?, parts.next());
    let are_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    if !are_digits(whole) || !fraction.is_none_or(are_digits) {
        return None;
    }
    let (is_zero, fraction) = (|digit: &u8| *digit == b'0', fraction.unwrap_or_default());
    let whole = &whole[whole.iter().position(|digit| !is_zero(digit)).unwrap_or(whole.len())..];
    let end = fraction.iter().rposition(|digit| !is_zero(digit)).map_or(0, |last| last + 1);
    let digits = (whole.len(), whole, &fraction[..end]);
    Some((is_negative && (whole.len(), end) != (0, 0), digits))
}
