//! The signature of a text's frequent words: Apache Nutch's `TextProfileSignature`, bit for bit.
//!
//! Where Nutch's documentation and source differ, this follows the source (of its release 1.17 and later):
//!
//! - Any character but letters and digits ends a token, and is not merely removed: "don't" is "don" and "t".
//! - Letters and digits are defined by Java's `isLetterOrDigit(char)`: the general categories Lu, Ll, Lt, Lm, Lo and Nd
//!   in the Basic Multilingual Plane. Combining marks, and characters beyond U+FFFF, end a token. Java takes the
//!   categories from its own release's Unicode, and this crate from Unicode 17.
//! - The quantum is rounded, half up, in 32-bit floating point; Nutch's configuration file says that it is truncated.
//! - A space separates token and count, and a line feed separates entries; no line feed follows the last one.
//! - Entries with equal quantised counts are in the order of their code points, as in Nutch since NUTCH-2381. Before
//!   that, and in Solr's copy, they are in the order of a Java HashMap, which differs between equal profiles: such
//!   signatures equal these only if all counts differ.
//! - A text without tokens has no signature here. In Nutch and Solr it has the signature of the empty profile, which
//!   all such texts share.

use std::collections::HashMap;

use ahash::RandomState;
use md5::{Digest, Md5};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::hash::sort_by;
use crate::limits::checked;
use crate::{Check, Error, Result, memory};

/// The MD5 of [`text_profile`] with a line for each entry: a token, a space and its count; `None` if the profile is
/// empty.
///
/// `check` is called at least every 64 KiB of text.
///
/// # Errors
/// [`Error::MinTokenLen`]; [`Error::QuantRate`].
pub fn text_profile_signature(
    text: &str,
    min_token_len: i64,
    quant_rate: f64,
    check: Check,
) -> Result<Option<[u8; 16]>> {
    let (mut md5, mut between) = (Md5::new(), "");
    text_profile(text, min_token_len, quant_rate, check, &mut |token, count| {
        md5.update(between);
        md5.update(token);
        md5.update(format!(" {count}"));
        between = "\n";
        Ok::<_, Error>(())
    })?;
    Ok((!between.is_empty()).then(|| md5.finalize().0))
}

/// Calls `visit` with the profile of a text: its tokens and their quantised counts, the most frequent first.
///
/// Tokens are runs of letters and digits in lower case, longer than `min_token_len` characters (Nutch: 2). Counts are
/// rounded down to a multiple of the quantum, which is `quant_rate` (Nutch: 0.01) times the greatest count. It is at
/// least 2 if any token is repeated, and otherwise 1. Tokens whose count becomes 0 are left out.
///
/// # Errors
/// [`Error::MinTokenLen`] below 0; [`Error::QuantRate`] outside `[0, 1]`, NaN included.
pub fn text_profile<E: From<Error>>(
    text: &str,
    min_token_len: i64,
    quant_rate: f64,
    check: Check,
    visit: &mut dyn FnMut(&str, u32) -> Result<(), E>,
) -> Result<(), E> {
    let shortest = usize::try_from(min_token_len).map_err(|_| Error::MinTokenLen(min_token_len))?.saturating_add(1);
    if !(0.0..=1.0).contains(&quant_rate) {
        return Err(Error::QuantRate(quant_rate).into());
    }
    let tokens = tokens(text, shortest, check)?;
    let counts = count_tokens(&tokens, check)?;
    let quantum = quantum(counts.values().copied().max().unwrap_or(0), quant_rate as f32);
    let quantised = checked(counts.into_iter(), check).map(|(token, count)| (token, count / quantum * quantum));
    let mut profile = memory::collect(quantised.filter(|(_, count)| *count > 0))?;
    // UTF-8 sorts like code points.
    let order = |(a, m): &(&str, u32), (b, n): &(&str, u32)| n.cmp(m).then_with(|| a.cmp(b));
    sort_by(&mut profile, order, check);
    checked(profile.into_iter(), check).try_for_each(|(token, count)| visit(token, count))
}

/// The tokens of a text that are not too short, a space after each, in one string. Many short strings would exhaust
/// memory that is almost full, and leave nothing for the error.
fn tokens(text: &str, shortest: usize, check: Check) -> Result<String> {
    let mut tokens = String::new();
    let (mut start, mut length) = (0, 0_usize);
    // A last separator ends the last token.
    for c in checked(text.chars().chain([' ']), check) {
        if is_letter_or_digit(c) {
            memory::push_str(&mut tokens, lower(c).encode_utf8(&mut [0; 4]))?;
            length += 1;
            continue;
        }
        if length >= shortest {
            memory::push_str(&mut tokens, " ")?;
        } else {
            tokens.truncate(start);
        }
        (start, length) = (tokens.len(), 0);
    }
    Ok(tokens)
}

fn count_tokens<'a>(tokens: &'a str, check: Check) -> Result<HashMap<&'a str, u32, RandomState>> {
    let mut counts = HashMap::default();
    for token in checked(tokens.split_terminator(' '), check) {
        match counts.get_mut(token) {
            Some(count) => *count += 1,
            None => _ = memory::insert_at(&mut counts, token, 1)?,
        }
    }
    Ok(counts)
}

/// The unit of counts: Java's `Math.round(max * rate)`, within bounds.
fn quantum(max: u32, rate: f32) -> u32 {
    let product = f64::from(max as f32 * rate);
    let rounded = (product + 0.5).floor() as u32;
    rounded.max(if max > 1 { 2 } else { 1 })
}

fn is_letter_or_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    c <= '\u{ffff}'
        && (c.general_category_group() == GeneralCategoryGroup::Letter
            || c.general_category() == GeneralCategory::DecimalNumber)
}

/// Java's `toLowerCase(char)`, which maps characters one by one. Only U+0130 has a longer lower case, and this is its
/// first character.
fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}
