//! The step `numbers`: replaces each number by a single `0`, whatever its number of digits.
//!
//! A separate run of ASCII letters and digits is a number if it is hexadecimal and has a digit, with or without the
//! prefix `0x`: `7f`, `0x7ffd`, `3e8a9c`. It is separate if no letter, mark or number is adjacent to it. In other text,
//! each run of decimal digits of any script is a number: `worker12` becomes `worker0`.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::html::Kept;
use super::places::PlaceRecord;
use crate::limits::checked;
use crate::{Check, Result};

/// Bytes between two calls of the check.
const PIECE: usize = 16 * 1024;

/// Returns `text` with its numbers as zeros; `None` if nothing changes. `record` gets the changes of characters.
pub(super) fn without_numbers(
    text: &str,
    mut record: Option<&mut PlaceRecord>,
    check: Check,
) -> Result<Option<String>> {
    let bytes = text.as_bytes();
    let mut kept = Kept { text, out: String::new(), copied: 0 };
    let (mut at, mut looked) = (0, 0);
    while at < bytes.len() {
        if at - looked >= PIECE {
            looked = at;
            check();
        }
        if starts_run(text, at) {
            let run = checked(bytes[at..].iter(), check);
            let end = at + run.take_while(|byte| byte.is_ascii_alphanumeric()).count();
            let is_alone = || !text[..at].ends_with(is_joined) && !text[end..].starts_with(is_joined);
            if is_hexadecimal(&bytes[at..end], check) && is_alone() {
                if end - at > 1 || bytes[at] != b'0' {
                    kept.replace(at..end, "0", record.as_deref_mut(), check)?;
                }
                at = end;
                continue;
            }
        }
        let digits = checked(text[at..].chars(), check).take_while(|c| is_digit(*c));
        let length: usize = digits.map(char::len_utf8).sum();
        if length > 1 || length == 1 && bytes[at] != b'0' {
            kept.replace(at..at + length, "0", record.as_deref_mut(), check)?;
        }
        let next = text[at..].chars().next().map_or(1, char::len_utf8);
        at += length.max(next);
    }
    kept.end(record, check)
}

/// True if a run of ASCII letters and digits starts at byte `at`.
fn starts_run(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    bytes[at].is_ascii_alphanumeric() && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
}

/// True if the run is a hexadecimal number with a digit.
fn is_hexadecimal(run: &[u8], check: Check) -> bool {
    let digits = run.strip_prefix(b"0x").or(run.strip_prefix(b"0X")).filter(|rest| !rest.is_empty());
    let has_digit = digits.is_some() || run.iter().any(u8::is_ascii_digit);
    has_digit && checked(digits.unwrap_or(run).iter(), check).all(u8::is_ascii_hexdigit)
}

/// True for a decimal digit of any script.
fn is_digit(c: char) -> bool {
    // The standard library's tables are faster, and include all digits of the other ones.
    c.is_ascii_digit() || !c.is_ascii() && c.is_numeric() && c.general_category() == GeneralCategory::DecimalNumber
}

/// True for characters that form a word with an adjacent letter.
fn is_joined(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Mark, Number};
    matches!(c.general_category_group(), Letter | Mark | Number)
}
