//! `minlsh_diff()` and `minlsh_marked_diff()`: what differs between two texts, word by word.

use pgrx::pg_sys::Datum;
use sketch::{FoundIn, memory, word_diff};

use crate::error::Result;
use crate::options::Options;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::text;

sql_function!(minlsh_diff, diff);
sql_function!(minlsh_marked_diff, marked_diff);

/// `minlsh_diff(a, b, normalization) → SETOF (found_in, passage)`
fn diff(call: &Call) -> Result<Option<Datum>> {
    let rows = ResultRows::start(call)?;
    each_part(call, &mut |found_in, passage| {
        text::lent(found_in.as_str(), |found_in| {
            text::lent(passage, |passage| rows.push(&[Some(found_in), Some(passage)]));
        });
        Ok(())
    })?;
    Ok(None)
}

/// `minlsh_marked_diff(a, b, normalization) → text`: as wdiff marks it.
fn marked_diff(call: &Call) -> Result<Option<Datum>> {
    let mut marked = String::new();
    let found = each_part(call, &mut |found_in, passage| {
        let (before, after) = match found_in {
            FoundIn::Both => ("", ""),
            FoundIn::A => ("[-", "-]"),
            FoundIn::B => ("{+", "+}"),
        };
        // White space behind the last word is no part of what is marked.
        let words = passage.trim_end();
        for part in [before, words, after, &passage[words.len()..]] {
            memory::push_str(&mut marked, part)?;
        }
        Ok(())
    })?;
    Ok(found.then(|| text::write(&marked)))
}

/// Calls `visit` with each part; false if an argument is NULL.
fn each_part(call: &Call, visit: &mut dyn FnMut(FoundIn, &str) -> Result<()>) -> Result<bool> {
    let (Some(a), Some(b), Some(normalization)) = (call.text(0)?, call.text(1)?, call.text(2)?)
    else {
        return Ok(false);
    };
    let config = Options { normalization: normalization.into(), ..Options::default() }.config()?;
    word_diff(config.normalization(), a, b, &mut check_interrupts, visit)?;
    Ok(true)
}
