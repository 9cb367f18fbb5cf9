//! Signatures: `minhash()` of a text or a set, also with hash functions that the caller chooses; conversion from and to
//! the bytes of `LeanMinHash` in Python's datasketch; measures of signatures; bands, the S-curve, and the choice of
//! parameters.

use sketch::{Banding, Config, LinearFunctions, Scheme, SlotBits};

use crate::options::{Options, with_sketcher};
use crate::prelude::*;

sql_function!(minlsh_minhash, minhash);
sql_function!(minlsh_minhash_elements, minhash_elements);
sql_function!(minlsh_minhash_hashes, minhash_hashes);
sql_function!(minlsh_minhash_pack, minhash_pack);
sql_function!(minlsh_minhash_with, minhash_with);
sql_function!(minlsh_minhash_from_lean, minhash_from_lean);
sql_function!(minlsh_minhash_to_lean, minhash_to_lean);
sql_function!(minlsh_minhash_jaccard, minhash_jaccard);
sql_function!(minlsh_minhash_error, minhash_error);
sql_function!(minlsh_minhash_union, minhash_union);
sql_function!(minlsh_minhash_cardinality, minhash_cardinality);
sql_function!(minlsh_minhash_containment, minhash_containment);
sql_function!(minlsh_band_hashes, band_hashes);
sql_function!(minlsh_lsh_probability, lsh_probability);
sql_function!(minlsh_lsh_threshold, lsh_threshold);
set_function!(minlsh_lsh_params, lsh_params);

/// `minhash(text, num_perm, shingle_size, unit, scheme, seed, normalization, stop_words, bag)
/// → integer[]`
fn minhash(call: &Call) -> Result<Option<Datum>> {
    let options = Options {
        num_perm: call.int4(1).given()?,
        scheme: call.text(4).given()?.into(),
        seed: call.int8(5).given()?,
        ..Options::shingling(call, 2, 3, 6)?
    };
    let body = call.text(0).given()?;
    with_sketcher(&options.config()?, |sketcher| {
        let signature = sketcher.sketch(body, &mut check_interrupts)?;
        Ok(signature.map(array::write))
    })
}

/// A configuration for sets of elements, for which the options for splitting texts do not matter.
pub(crate) fn config_of_sets(scheme: &str, num_perm: i32, seed: i64) -> Result<Config> {
    Options { num_perm, scheme: scheme.into(), seed, ..Options::default() }.config()
}

/// A configuration from the arguments after a set: num_perm, scheme, seed.
fn config_of_set(call: &Call) -> Result<Config> {
    config_of_sets(call.text(2).given()?, call.int4(1).given()?, call.int8(3).given()?)
}

/// `minhash(anyarray, num_perm, scheme, seed) → integer[]`: NULL elements do not count.
fn minhash_elements(call: &Call) -> Result<Option<Datum>> {
    let (elements, config) = (call.datum(0).given()?, config_of_set(call)?);
    // SAFETY: `sql/minlsh.sql` declares the argument as anyarray.
    let hashes = unsafe { element::hashes(elements, config.scheme().element_hash()) }?;
    sign_hashes(&config, &hashes)
}

/// `minhash_hashes(bigint[], num_perm, scheme, seed) → integer[]`: elements are passed as 64-bit hashes.
fn minhash_hashes(call: &Call) -> Result<Option<Datum>> {
    let hashes = call.bigints(0).given()?.into_iter().map(|hash| hash as u64);
    sign_hashes(&config_of_set(call)?, &memory::collect(hashes)?)
}

fn sign_hashes(config: &Config, hashes: &[u64]) -> Result<Option<Datum>> {
    with_sketcher(config, |sketcher| {
        let signature = sketcher.sketch_hashes(hashes, &mut check_interrupts)?;
        Ok(signature.map(array::write))
    })
}

/// `minhash_pack(integer[], slot_bits) → integer[]`: the form that an index with this option stores.
fn minhash_pack(call: &Call) -> Result<Option<Datum>> {
    let (signature, slot_bits) = (call.array(0).given()?, call.int4(1).given()?);
    Ok(Some(array::write(&SlotBits::new(slot_bits.into())?.pack(signature)?)))
}

/// `minhash_with(elements bigint[], a bigint[], b bigint[], p bigint) → integer[]`
fn minhash_with(call: &Call) -> Result<Option<Datum>> {
    let (a, b) = (call.array(1).given()?, call.array(2).given()?);
    let functions = LinearFunctions::new(a, b, call.int8(3).given()?)?;
    let signature = functions.minhash(&call.bigints(0).given()?, &mut check_interrupts)?;
    Ok(signature.map(|signature| array::write(&signature)))
}

/// `minhash_from_lean(bytea) → (signature, seed, scheme)`
fn minhash_from_lean(call: &Call) -> Result<Option<Datum>> {
    let lean = sketch::from_lean(call.bytes(0).given()?)?;
    if lean.seed == 0 {
        // minhash(..., seed => 0) makes signatures of seed 1, which would be compared with these.
        return Err(not_supported("LeanMinHash has seed 0, which is not supported")
            .set_hint("Use another seed in Python. In SQL, seed 0 stands for the scheme's own seed, which is 1."));
    }
    let signature = lean.signature.map(|signature| array::write(&signature));
    let row = [signature, Some(Datum::from(lean.seed)), Some(text::write(lean.scheme.as_str()))];
    result_row(call, row).map(Some)
}

/// `minhash_to_lean(integer[], scheme, seed, byte_order) → bytea`
fn minhash_to_lean(call: &Call) -> Result<Option<Datum>> {
    let (scheme, seed): (Scheme, _) = (call.text(1).given()?.parse()?, call.int8(2).given()?);
    let seed = if seed == 0 { scheme.default_seed() } else { seed };
    let order = call.text(3).given()?.parse()?;
    let lean = sketch::to_lean(call.array(0).given()?, scheme, seed, order)?;
    Ok(Some(bytes::write(&lean)))
}

/// Refuses a signature that is plainly not of `scheme`. A slot of fss is never negative, while about half of the slots
/// of the other schemes are, except for large sets.
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
    // A set without a signature is empty, so the other one is the union.
    if (0..3).any(|argument| call.datum(argument).is_none()) {
        return Ok(call.text(2)?.and_then(|_| call.datum(0).or(call.datum(1))));
    }
    let (a, b, _) = two_signatures(call)?;
    let mut united = memory::copied(a)?;
    sketch::unite(&mut united, b)?;
    Ok(Some(array::write(&united)))
}

/// `minhash_cardinality(integer[], scheme) → (cardinality, error)`
fn minhash_cardinality(call: &Call) -> Result<Option<Datum>> {
    let scheme = call.text(1).given()?.parse()?;
    let signature = signature_of(scheme, call.array(0).given()?)?;
    let found = sketch::cardinality(signature, scheme)?;
    let row = [found.estimate, found.standard_error].map(|value| Some(float8_datum(value)));
    result_row(call, row).map(Some)
}

/// `minhash_containment(integer[], integer[], scheme) → (containment_a, containment_b)`
fn minhash_containment(call: &Call) -> Result<Option<Datum>> {
    let (a, b, scheme) = two_signatures(call)?;
    let (of_a, of_b) = sketch::containment(a, b, scheme)?;
    result_row(call, [of_a, of_b].map(|share| Some(float8_datum(share)))).map(Some)
}

/// Two signatures of a scheme: the first three arguments.
fn two_signatures(call: &Call) -> Result<(&[i32], &[i32], Scheme)> {
    let scheme = call.text(2).given()?.parse()?;
    let signature = |argument| signature_of(scheme, call.array(argument).given()?);
    Ok((signature(0)?, signature(1)?, scheme))
}

/// `minhash_jaccard(integer[], integer[] [, slot_bits]) → double precision`: also for packed signatures.
fn minhash_jaccard(call: &Call) -> Result<Option<Datum>> {
    let (a, b) = (call.array(0).given()?, call.array(1).given()?);
    let slot_bits = if call.count() == 2 { 32 } else { call.int4(2).given()?.into() };
    Ok(Some(float8_datum(SlotBits::new(slot_bits)?.estimate_jaccard(a, b)?)))
}

/// `minhash_error(num_perm, jaccard) → double precision`
fn minhash_error(call: &Call) -> Result<Option<Datum>> {
    let (num_perm, jaccard) = (call.int4(0).given()?, call.float8(1).given()?);
    Ok(Some(float8_datum(sketch::standard_error(num_perm.into(), jaccard)?)))
}

/// `band_hashes(integer[], bands, rows) → bigint[]`
fn band_hashes(call: &Call) -> Result<Option<Datum>> {
    let mut hashes = Vec::new();
    banding(call, 1)?.hashes(call.array(0).given()?, &mut hashes)?;
    Ok(Some(array::write(&hashes)))
}

/// `lsh_probability(jaccard, bands, rows) → double precision`
fn lsh_probability(call: &Call) -> Result<Option<Datum>> {
    let jaccard = call.float8(0).given()?;
    if !(0.0..=1.0).contains(&jaccard) {
        return Err(invalid_parameter(format!("jaccard must be between 0 and 1, not {jaccard}")));
    }
    Ok(Some(float8_datum(banding(call, 1)?.probability(jaccard))))
}

/// `lsh_threshold(bands, rows) → double precision`
fn lsh_threshold(call: &Call) -> Result<Option<Datum>> {
    Ok(Some(float8_datum(banding(call, 0)?.threshold())))
}

/// `lsh_params(threshold, num_perm, recall) → SETOF (bands, rows, recall_at_threshold, probes)`: one row.
fn lsh_params(call: &Call, result: &ResultRows) -> Result<()> {
    let (threshold, recall) = (call.float8(0).given()?, call.float8(2).given()?);
    let banding = Banding::for_recall(threshold, call.int4(1).given()?.into(), recall)?;
    result.push(&[
        Some(Datum::from(banding.bands() as i32)),
        Some(Datum::from(banding.rows() as i32)),
        Some(float8_datum(banding.probability(threshold))),
        Some(Datum::from(banding.probes(threshold, recall) as i32)),
    ]);
    Ok(())
}

/// The arguments `bands` and `rows`, from argument `first` on.
fn banding(call: &Call, first: usize) -> Result<Banding> {
    let (bands, rows) = (call.int4(first).given()?, call.int4(first + 1).given()?);
    Banding::new(bands.into(), rows.into()).map_err(Into::into)
}
