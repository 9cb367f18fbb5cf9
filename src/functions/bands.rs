//! Bands: hashes, the S-curve, and the choice of parameters.

use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use sketch::Banding;

use crate::error::{Result, engine};
use crate::pg::array;
use crate::pg::call::{Call, sql_function};

sql_function!(minlsh_band_hashes, band_hashes);

/// `band_hashes(integer[], bands, rows) → bigint[]`
fn band_hashes(call: &Call) -> Result<Option<Datum>> {
    let (Some(signature), Some(bands), Some(rows)) = (call.datum(0), call.int4(1), call.int4(2))
    else {
        return Ok(None);
    };
    // SAFETY: declared integer[].
    let signature = unsafe { array::read_int4(signature)? };
    let mut hashes = Vec::new();
    Banding::new(bands.into(), rows.into())
        .and_then(|banding| banding.hashes(signature, &mut hashes))
        .map_err(engine)?;
    Ok(Some(array::write_int8(&hashes)))
}

/// `lsh_probability(jaccard, bands, rows) → double precision`
#[pg_extern(sql = false)]
fn minlsh_lsh_probability(
    jaccard: f64,
    bands: i32,
    rows: i32,
) -> std::result::Result<f64, ErrorReport> {
    if !(0.0..=1.0).contains(&jaccard) {
        return Err(crate::error::invalid_parameter(format!(
            "jaccard must be between 0 and 1, not {jaccard}"
        )));
    }
    Ok(Banding::new(bands.into(), rows.into()).map_err(engine)?.probability(jaccard))
}

/// `lsh_threshold(bands, rows) → double precision`
#[pg_extern(sql = false)]
fn minlsh_lsh_threshold(bands: i32, rows: i32) -> std::result::Result<f64, ErrorReport> {
    Ok(Banding::new(bands.into(), rows.into()).map_err(engine)?.threshold())
}

/// `lsh_params(threshold, num_perm, recall) → (bands, rows, recall, probes)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn minlsh_lsh_params(
    threshold: f64,
    num_perm: i32,
    recall: f64,
) -> std::result::Result<
    TableIterator<
        'static,
        (name!(bands, i32), name!(rows, i32), name!(recall, f64), name!(probes, i32)),
    >,
    ErrorReport,
> {
    let banding = Banding::for_recall(threshold, num_perm.into(), recall).map_err(engine)?;
    Ok(TableIterator::once((
        banding.bands() as i32,
        banding.rows() as i32,
        banding.probability(threshold),
        banding.probes(threshold, recall) as i32,
    )))
}
