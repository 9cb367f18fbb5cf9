//! `normalize_text()` and `tokens()`: what of a text is compared.

use pgrx::pg_sys::Datum;

use crate::error::{Result, engine};
use crate::options::Options;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::{array, text};

sql_function!(minlsh_normalize_text, normalize_text);
sql_function!(minlsh_tokens, tokens);

/// `normalize_text(text, normalization, stop_words) → text`
fn normalize_text(call: &Call) -> Result<Option<Datum>> {
    let (Some(body), Some(normalization), Some(stop_words)) =
        (call.text(0)?, call.text(1)?, call.text(2)?)
    else {
        return Ok(None);
    };
    let config = Options {
        normalization: normalization.into(),
        stop_words: stop_words.into(),
        ..Options::default()
    }
    .config()?;
    let normalized =
        sketch::normalize_text(&config, body, &mut check_interrupts).map_err(engine)?;
    Ok(Some(text::write(&normalized)))
}

/// `tokens(text, unit, normalization, stop_words) → text[]`
fn tokens(call: &Call) -> Result<Option<Datum>> {
    let (Some(body), Some(unit), Some(normalization), Some(stop_words)) =
        (call.text(0)?, call.text(1)?, call.text(2)?, call.text(3)?)
    else {
        return Ok(None);
    };
    let config = Options {
        unit: unit.into(),
        normalization: normalization.into(),
        stop_words: stop_words.into(),
        ..Options::default()
    }
    .config()?;
    let mut found = array::Texts::default();
    sketch::tokens(&config, body, &mut check_interrupts, &mut |token| found.push(token))
        .map_err(engine)?;
    Ok(Some(found.write()?))
}
