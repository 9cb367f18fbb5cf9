//! From a text to what a side table stores of it.

use pgrx::pg_sys::Datum;

use crate::am::options::Settings;
use crate::error::{Result, engine};
use crate::functions::{checkpoint, with_sketcher};
use crate::pg::text;
use crate::side_table::Stored;

/// What is stored of a text; `None` if it has no shingle.
///
/// # Safety
/// `body` must be a non-null `text`, or of a type that is stored as text is.
pub unsafe fn sign(settings: &Settings, body: Datum) -> Result<Option<Stored>> {
    // SAFETY: the caller's promise.
    let text = unsafe { text::read(body)? };
    with_sketcher(&settings.config, |sketcher| {
        let Some(full) = sketcher.sketch(&text, &mut checkpoint).map_err(engine)? else {
            return Ok(None);
        };
        let mut bands = Vec::with_capacity(settings.banding.bands());
        let mut signature = Vec::with_capacity(full.len());
        settings.banding.hashes(full, &mut bands).map_err(engine)?;
        settings.slot_bits.pack(full, &mut signature).map_err(engine)?;
        Ok(Some(Stored { signature, bands }))
    })
}
