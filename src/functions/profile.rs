//! The signature of a text's frequent words, after Apache Nutch.

use pgrx::pg_sys::Datum;

use crate::error::Result;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::text;

sql_function!(minlsh_text_profile, text_profile);
sql_function!(minlsh_text_profile_signature, text_profile_signature);

/// `text_profile(text, min_token_len, quant_rate) → SETOF (token, count)`
fn text_profile(call: &Call) -> Result<Option<Datum>> {
    let rows = ResultRows::start(call)?;
    let Some((body, min_token_len, quant_rate)) = arguments(call)? else {
        return Ok(None);
    };
    let profile = sketch::text_profile(body, min_token_len, quant_rate, &mut check_interrupts);
    let profile = profile?;
    for (i, (token, count)) in profile.iter().enumerate() {
        if i % 4096 == 0 {
            check_interrupts();
        }
        // No text of 1 GB has a token 2^31 times.
        text::lent(token, |token| rows.push(&[Some(token), Some(Datum::from(count as i32))]));
    }
    Ok(None)
}

/// `text_profile_signature(text, min_token_len, quant_rate) → text`: as `md5()` writes it.
fn text_profile_signature(call: &Call) -> Result<Option<Datum>> {
    let Some((body, min_token_len, quant_rate)) = arguments(call)? else {
        return Ok(None);
    };
    let signature =
        sketch::text_profile_signature(body, min_token_len, quant_rate, &mut check_interrupts);
    let hexadecimal = |digest: [u8; 16]| digest.map(|byte| format!("{byte:02x}")).concat();
    Ok(signature?.map(|digest| text::write(&hexadecimal(digest))))
}

fn arguments(call: &Call) -> Result<Option<(&str, i64, f64)>> {
    let (Some(body), Some(min_token_len), Some(quant_rate)) =
        (call.text(0)?, call.int4(1), call.float8(2))
    else {
        return Ok(None);
    };
    Ok(Some((body, min_token_len.into(), quant_rate)))
}
