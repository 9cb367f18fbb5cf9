//! From a text to what a side table stores of it.

use pgrx::pg_sys::Datum;
use sketch::memory;

use crate::error::{Result, engine};
use crate::functions::with_sketcher;
use crate::options::IndexOptions;
use crate::pg::interrupts::check_interrupts;
use crate::pg::lossless;
use crate::side_table::storage::StoredSketch;

/// What is stored of a text; `None` if it has no shingle.
///
/// # Safety
/// `body` must be a non-null `text`, or of a type that is stored as text is.
pub unsafe fn sign(options: &IndexOptions, body: Datum) -> Result<Option<StoredSketch>> {
    // SAFETY: the caller's promise.
    sign_text(options, &unsafe { lossless::read(body)? })
}

/// What is stored of a text that was read as UTF-8; `None` if it has no shingle.
pub fn sign_text(options: &IndexOptions, text: &str) -> Result<Option<StoredSketch>> {
    with_sketcher(&options.config, |sketcher| {
        let signature = sketcher.sketch(text, &mut check_interrupts).map_err(engine)?;
        signature.map(|signature| of_signature(options, signature)).transpose()
    })
}

/// What is stored of a document of which the signature is known.
pub fn of_signature(options: &IndexOptions, full: &[i32]) -> Result<StoredSketch> {
    let mut bands = Vec::new();
    options.banding.hashes(full, &mut bands).map_err(engine)?;
    let signature = memory::copied(full).map_err(engine)?;
    Ok(StoredSketch { signature, bands })
}
