//! Bands: hashes, the S-curve, and the choice of parameters.

use pgrx::pg_sys::Datum;
use sketch::Banding;

use crate::error::{Result, invalid_parameter};
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::result_rows::ResultRows;

sql_function!(minlsh_band_hashes, band_hashes);
sql_function!(minlsh_lsh_probability, lsh_probability);
sql_function!(minlsh_lsh_threshold, lsh_threshold);
sql_function!(minlsh_lsh_params, lsh_params);

/// `band_hashes(integer[], bands, rows) → bigint[]`
fn band_hashes(call: &Call) -> Result<Option<Datum>> {
    let (Some(signature), Some(banding)) = (call.int4_array(0)?, banding(call, 1)?) else {
        return Ok(None);
    };
    let mut hashes = Vec::new();
    banding.hashes(signature, &mut hashes)?;
    Ok(Some(array::write_int8(&hashes)))
}

/// `lsh_probability(jaccard, bands, rows) → double precision`
fn lsh_probability(call: &Call) -> Result<Option<Datum>> {
    let Some(jaccard) = call.float8(0) else { return Ok(None) };
    if !(0.0..=1.0).contains(&jaccard) {
        return Err(invalid_parameter(format!("jaccard must be between 0 and 1, not {jaccard}")));
    }
    Ok(banding(call, 1)?.map(|banding| float8_datum(banding.probability(jaccard))))
}

/// `lsh_threshold(bands, rows) → double precision`
fn lsh_threshold(call: &Call) -> Result<Option<Datum>> {
    Ok(banding(call, 0)?.map(|banding| float8_datum(banding.threshold())))
}

/// `lsh_params(threshold, num_perm, recall) → SETOF (bands, rows, recall_at_threshold, probes)`: one row.
fn lsh_params(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let (Some(threshold), Some(num_perm), Some(recall)) =
        (call.float8(0), call.int4(1), call.float8(2))
    else {
        return Ok(None);
    };
    let banding = Banding::for_recall(threshold, num_perm.into(), recall)?;
    result.push(&[
        Some(Datum::from(banding.bands() as i32)),
        Some(Datum::from(banding.rows() as i32)),
        Some(float8_datum(banding.probability(threshold))),
        Some(Datum::from(banding.probes(threshold, recall) as i32)),
    ]);
    Ok(None)
}

/// The arguments `bands` and `rows`, from argument `first` on.
fn banding(call: &Call, first: usize) -> Result<Option<Banding>> {
    let (Some(bands), Some(rows)) = (call.int4(first), call.int4(first + 1)) else {
        return Ok(None);
    };
    Banding::new(bands.into(), rows.into()).map(Some).map_err(Into::into)
}
