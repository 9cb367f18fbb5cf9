//! Functions of texts: their parts (`normalize_text()`, `tokens()`, `codes()`, `shingles()`, `shingle_hashes()`), the
//! signature of their frequent words after Apache Nutch, the word-by-word difference of two texts, and the passages
//! that they share.

use std::ops::Range;

use ahash::AHashSet;
use sketch::passage::{CharacterOffsets, Characters, Sought, shared_runs, valid_min_match, valid_normalization};
use sketch::{Config, Element, ElementHash, FoundIn, Normalization, word_diff};

use crate::options::Options;
use crate::prelude::*;

sql_function!(minlsh_normalize_text, normalize_text);
sql_function!(minlsh_tokens, tokens);
sql_function!(minlsh_codes, codes);
sql_function!(minlsh_shingles, shingles);
sql_function!(minlsh_shingle_hashes, shingle_hashes);
set_function!(minlsh_text_profile, text_profile);
sql_function!(minlsh_text_profile_signature, text_profile_signature);
set_function!(minlsh_diff, diff);
sql_function!(minlsh_marked_diff, marked_diff);
set_function!(minlsh_shared_passages, shared_passages);
sql_function!(minlsh_passage_coverage, passage_coverage);

/// `normalize_text(text, normalization, stop_words) → text`
fn normalize_text(call: &Call) -> Result<Option<Datum>> {
    let options = Options {
        normalization: call.text(1).given()?.into(),
        stop_words: call.text(2).given()?.into(),
        ..Options::default()
    };
    let (config, body) = (options.config()?, call.text(0).given()?);
    let normalized = sketch::normalize_text(&config, body, &mut check_interrupts)?;
    Ok(Some(text::write(&normalized)))
}

/// `tokens(text, unit, normalization, stop_words) → text[]`
fn tokens(call: &Call) -> Result<Option<Datum>> {
    let options = Options {
        unit: call.text(1).given()?.into(),
        normalization: call.text(2).given()?.into(),
        stop_words: call.text(3).given()?.into(),
        ..Options::default()
    };
    let (config, body) = (options.config()?, call.text(0).given()?);
    let mut found = array::TextArray::default();
    sketch::tokens(&config, body, &mut check_interrupts, &mut |token| found.push(token))?;
    Ok(Some(found.write()))
}

/// `codes(text, min_length) → text[]`: the distinct codes, in order of first occurrence.
fn codes(call: &Call) -> Result<Option<Datum>> {
    let (body, min_length) = (call.text(0).given()?, call.int4(1).given()?.into());
    let mut found = array::TextArray::default();
    sketch::codes(body, min_length, &mut check_interrupts, &mut |code| found.push(code))?;
    Ok(Some(found.write()))
}

/// `shingles(text, shingle_size, unit, normalization, stop_words, bag) → text[]`: the distinct shingles in order of
/// first occurrence, or all of them for a bag.
fn shingles(call: &Call) -> Result<Option<Datum>> {
    let (text, config) = cut_text(call)?;
    let mut seen = AHashSet::new();
    let mut found = array::TextArray::default();
    sketch::for_each_shingle(&config, text, &mut check_interrupts, &mut |shingle| {
        // As everywhere, shingles with equal hashes are equal.
        let hash = Element::Text(shingle).hash(ElementHash::Xxh3);
        if config.bag() || memory::insert(&mut seen, hash)? { found.push(shingle) } else { Ok(()) }
    })?;
    Ok(Some(found.write()))
}

/// `shingle_hashes(text, shingle_size, unit, normalization, stop_words, bag) → bigint[]`: their hashes in the same
/// order. For a bag the hashes of its elements, in another order.
fn shingle_hashes(call: &Call) -> Result<Option<Datum>> {
    let (text, config) = cut_text(call)?;
    let mut hashes = Vec::new();
    sketch::shingle_hashes(&config, text, &mut hashes, &mut check_interrupts)?;
    let (mut seen, mut distinct) = (AHashSet::new(), Vec::new());
    for part in hashes.chunks(1 << 16) {
        check_interrupts();
        for &hash in part {
            if memory::insert(&mut seen, hash)? {
                memory::push(&mut distinct, hash as i64)?;
            }
        }
    }
    Ok(Some(array::write(&distinct)))
}

/// The first argument, a text, and how it is split.
fn cut_text(call: &Call) -> Result<(&str, Config)> {
    Ok((call.text(0).given()?, Options::shingling(call, 1, 2, 3)?.config()?))
}

/// `text_profile(text, min_token_len, quant_rate) → SETOF (token, count)`
fn text_profile(call: &Call, rows: &ResultRows) -> Result<()> {
    let (body, min_token_len, quant_rate) = profiled(call)?;
    sketch::text_profile(body, min_token_len, quant_rate, &mut check_interrupts, &mut |token, count| {
        // A text of less than 1 GB has fewer than 2^31 equal tokens.
        rows.add(|| Ok([text::write(token), Datum::from(count as i32)].map(Some)))
    })
}

/// `text_profile_signature(text, min_token_len, quant_rate) → text`: in the form of `md5()`.
fn text_profile_signature(call: &Call) -> Result<Option<Datum>> {
    let (body, min_token_len, quant_rate) = profiled(call)?;
    let signature = sketch::text_profile_signature(body, min_token_len, quant_rate, &mut check_interrupts);
    let hexadecimal = |digest: [u8; 16]| digest.map(|byte| format!("{byte:02x}")).concat();
    Ok(signature?.map(|digest| text::write(&hexadecimal(digest))))
}

/// The arguments of both functions.
fn profiled(call: &Call) -> Result<(&str, i64, f64)> {
    Ok((call.text(0).given()?, call.int4(1).given()?.into(), call.float8(2).given()?))
}

/// `minlsh_diff(a, b, normalization) → SETOF (found_in, passage)`
fn diff(call: &Call, rows: &ResultRows) -> Result<()> {
    let (a, b, config) = two_to_diff(call)?;
    word_diff(config.normalization(), a, b, &mut check_interrupts, &mut |found_in, passage| {
        rows.add(|| Ok([found_in.as_str(), passage].map(|text| Some(text::write(text)))))
    })
}

/// `minlsh_marked_diff(a, b, normalization) → text`: with marks like wdiff's.
fn marked_diff(call: &Call) -> Result<Option<Datum>> {
    let (a, b, config) = two_to_diff(call)?;
    Ok(Some(text::write(&marked(config.normalization(), a, b)?)))
}

/// The two texts that a call compares word by word, and their normalization.
fn two_to_diff(call: &Call) -> Result<(&str, &str, Config)> {
    let normalization = call.text(2).given()?.into();
    let config = Options { normalization, ..Options::default() }.config()?;
    Ok((call.text(0).given()?, call.text(1).given()?, config))
}

/// The words of two texts, with marks around the words that only one of them has.
pub fn marked(normalization: &Normalization, a: &str, b: &str) -> Result<String, sketch::Error> {
    let mut marked = String::new();
    word_diff(normalization, a, b, &mut check_interrupts, &mut |found_in, passage| {
        let (before, after) = match found_in {
            FoundIn::Both => ("", ""),
            FoundIn::A => ("[-", "-]"),
            FoundIn::B => ("{+", "+}"),
        };
        // Trailing white space is not marked.
        let words = passage.trim_end();
        for part in [before, words, after, &passage[words.len()..]] {
            memory::push_str(&mut marked, part)?;
        }
        Ok(())
    })?;
    Ok(marked)
}

/// `shared_passages(a text, b text, min_match, normalization)
/// → (a_from, a_length, b_from, b_length integer, passage text)`: by position in the first text.
fn shared_passages(call: &Call, rows: &ResultRows) -> Result<()> {
    let (a, b, min_match, normalization) = two_texts(call)?;
    let read = |text| {
        let characters = Characters::with_places(&normalization, text, &mut check_interrupts);
        characters.map(Characters::without_text)
    };
    let (read_a, read_b) = (read(a)?, read(b)?);
    let runs = shared_runs(&read_a, &read_b, min_match, &mut check_interrupts)?;
    let (bytes_a, bytes_b) = (CharacterOffsets::of(a)?, CharacterOffsets::of(b)?);
    let place = |range: &Range<usize>| [range.start + 1, range.len()].map(|number| Some(Datum::from(number as i32)));
    // In SQL_ASCII, `substr()` counts bytes.
    // SAFETY: the encoding is fixed for the life of the backend.
    let counts_bytes = unsafe { pg_sys::GetDatabaseEncoding() == pg_sys::pg_enc::PG_SQL_ASCII as i32 };
    for run in runs {
        let in_a = read_a.original(run.a..run.a + run.length);
        let in_b = read_b.original(run.b..run.b + run.length);
        let passage = &a[bytes_a.bytes(&in_a)];
        let ([a_from, a_length], [b_from, b_length]) = if counts_bytes {
            (place(&bytes_a.bytes(&in_a)), place(&bytes_b.bytes(&in_b)))
        } else {
            (place(&in_a), place(&in_b))
        };
        rows.add(|| Ok([a_from, a_length, b_from, b_length, Some(text::write(passage))]))?;
    }
    Ok(())
}

/// `passage_coverage(passage text, body text, min_match, normalization) → double precision`
fn passage_coverage(call: &Call) -> Result<Option<Datum>> {
    let (a, b, min_match, normalization) = two_texts(call)?;
    let read = |text| {
        let characters = Characters::of(&normalization, text, &mut check_interrupts);
        characters.map(Characters::without_text)
    };
    let passage = read(a)?;
    let length = passage.len();
    if length == 0 {
        return Ok(None);
    }
    let mut sought = Sought::new(passage, min_match, &mut check_interrupts)?;
    let covered = sought.covered(&read(b)?, &mut check_interrupts)?;
    Ok(Some(float8_datum(covered as f64 / length as f64)))
}

/// Two texts, the minimum length of a passage, and the normalization of the texts.
fn two_texts(call: &Call) -> Result<(&str, &str, usize, Normalization)> {
    let min_match = valid_min_match(call.int4(2).given()?.into())?;
    let normalization = valid_normalization(call.text(3).given()?)?;
    Ok((call.text(0).given()?, call.text(1).given()?, min_match, normalization))
}
