//! Measures of signatures alone: similarity and its error, unions, numbers of elements, containment.

use pgrx::pg_sys::Datum;
use sketch::{Scheme, SlotBits};

use crate::error::{Result, invalid_parameter};
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::result_rows::result_row;

sql_function!(minlsh_minhash_jaccard, minhash_jaccard);
sql_function!(minlsh_minhash_jaccard_packed, minhash_jaccard_packed);
sql_function!(minlsh_minhash_error, minhash_error);
sql_function!(minlsh_minhash_union, minhash_union);
sql_function!(minlsh_minhash_cardinality, minhash_cardinality);
sql_function!(minlsh_minhash_containment, minhash_containment);

/// A signature that is to be read as one of `scheme`, unless it plainly is not: a slot of fss is
/// never negative, of the others about every other (but of large sets).
pub(super) fn signature_of(scheme: Scheme, signature: &[i32]) -> Result<&[i32]> {
    if signature.is_empty() {
        return Err(sketch::Error::EmptySignature.into());
    }
    if scheme == Scheme::Fss && signature.iter().any(|slot| *slot < 0) {
        return Err(invalid_parameter("signature is not of scheme \"fss\"").set_hint(
            "Pass the scheme that it was computed with. Weighted and packed signatures cannot be used here.",
        ));
    }
    Ok(signature)
}

/// `minhash_union(integer[], integer[], scheme) → integer[]`
fn minhash_union(call: &Call) -> Result<Option<Datum>> {
    // Of a set that has no signature nothing is added: the other one is the union.
    let Some((a, b, scheme)) = two_signatures(call)? else {
        return Ok(call.text(2)?.and_then(|_| call.datum(0).or(call.datum(1))));
    };
    let union = sketch::union(a, b, scheme)?;
    Ok(Some(array::write_int4(&union)))
}

/// `minhash_cardinality(integer[], scheme) → (cardinality, error)`
fn minhash_cardinality(call: &Call) -> Result<Option<Datum>> {
    let (Some(signature), Some(scheme)) = (call.int4_array(0)?, call.text(1)?) else {
        return Ok(None);
    };
    let scheme = scheme.parse()?;
    let signature = signature_of(scheme, signature)?;
    let found = sketch::cardinality(signature, scheme)?;
    let row = [found.estimate, found.standard_error].map(|value| Some(float8_datum(value)));
    result_row(call, row).map(Some)
}

/// `minhash_containment(integer[], integer[], scheme) → (containment_a, containment_b)`
fn minhash_containment(call: &Call) -> Result<Option<Datum>> {
    let Some((a, b, scheme)) = two_signatures(call)? else {
        return Ok(None);
    };
    let jaccard = sketch::estimate_jaccard(a, b)?;
    let cardinality = |signature| sketch::cardinality(signature, scheme);
    let (in_a, in_b) = (cardinality(a)?.estimate, cardinality(b)?.estimate);
    let (of_a, of_b) = sketch::containment(jaccard, in_a, in_b)?;
    result_row(call, [of_a, of_b].map(|value| value.map(float8_datum))).map(Some)
}

type TwoSignatures<'a> = (&'a [i32], &'a [i32], Scheme);

/// Two signatures of a scheme: the first three arguments.
fn two_signatures(call: &Call) -> Result<Option<TwoSignatures<'_>>> {
    let (Some(a), Some(b), Some(scheme)) =
        (call.int4_array(0)?, call.int4_array(1)?, call.text(2)?)
    else {
        return Ok(None);
    };
    let scheme = scheme.parse()?;
    Ok(Some((signature_of(scheme, a)?, signature_of(scheme, b)?, scheme)))
}

/// `minhash_jaccard(integer[], integer[]) → double precision`
fn minhash_jaccard(call: &Call) -> Result<Option<Datum>> {
    let (Some(a), Some(b)) = (call.int4_array(0)?, call.int4_array(1)?) else {
        return Ok(None);
    };
    sketch::estimate_jaccard(a, b).map(|estimate| Some(float8_datum(estimate))).map_err(Into::into)
}

/// `minhash_jaccard(integer[], integer[], slot_bits) → double precision`: of packed signatures.
fn minhash_jaccard_packed(call: &Call) -> Result<Option<Datum>> {
    let (Some(a), Some(b), Some(slot_bits)) =
        (call.int4_array(0)?, call.int4_array(1)?, call.int4(2))
    else {
        return Ok(None);
    };
    let slot_bits = SlotBits::of(slot_bits.into())?;
    slot_bits
        .estimate_jaccard(a, b)
        .map(|estimate| Some(float8_datum(estimate)))
        .map_err(Into::into)
}

/// `minhash_error(num_perm, jaccard) → double precision`
fn minhash_error(call: &Call) -> Result<Option<Datum>> {
    let (Some(num_perm), Some(jaccard)) = (call.int4(0), call.float8(1)) else {
        return Ok(None);
    };
    let error = sketch::standard_error(num_perm.into(), jaccard)?;
    Ok(Some(float8_datum(error)))
}
