//! Words by Unicode Standard Annex 29: "can't" and "3.14" are one word each; punctuation and white space are not words.
//!
//! The rules depend on neighbours only, and no rule joins the text before a run of spaces or after a line feed. So a
//! text can be cut there without changing its words. With pieces, a caller can cancel the work on a long text, and
//! pieces of ASCII take the fast path although the text has a dash or an accent elsewhere.

use unicode_segmentation::UnicodeSegmentation;

use super::beyond_ascii;
use crate::limits::{Check, checked};
use crate::simd::{CLASSES_BLOCK as BLOCK, Level, WordClasses};

/// A piece ends at the first space or line feed after this many bytes.
const PIECE: usize = 1024;

/// The part of a piece that goes to the crate if its rules are needed ends at the first space or line feed after this
/// many bytes.
const PART: usize = 32;

/// Bytes of a long piece between two calls of `check`: a multiple of [`BLOCK`].
const STEP: usize = 64 * 1024;

/// Calls `f` with the start and end bytes of each word in a piece, in order.
///
/// `check` is called at least once for a few [`STEP`]s.
#[inline(always)]
pub(crate) fn each(level: Level, piece: &str, check: Check, mut f: impl FnMut(usize, usize)) {
    level.compiled(
        #[inline(always)]
        || {
            if piece.is_ascii() {
                each_ascii(level, piece, check, &mut f);
            } else {
                each_of_any(level, piece, check, &mut f);
            }
        },
    );
}

#[inline(always)]
fn each_of_any(level: Level, piece: &str, check: Check, f: &mut impl FnMut(usize, usize)) {
    let bytes = piece.as_bytes();
    let (mut at, mut checked) = (0, 0);
    while at < bytes.len() {
        if at - checked >= STEP {
            check();
            checked = at;
        }
        let Some(words) = beyond_ascii::block(level, &bytes[at..]) else {
            let part = pieces_of(&piece[at..], PART).next().unwrap_or(&piece[at..]);
            let mut f = |start, end| f(at + start, at + end);
            each_of_part(part, STEP, check, &mut f);
            at += part.len();
            continue;
        };
        let (mut starts, mut ends) = (words.starts, words.ends);
        while starts != 0 {
            let end = if ends == 0 { words.length } else { ends.trailing_zeros() as usize };
            word(bytes, at + starts.trailing_zeros() as usize, at + end, f);
            starts &= starts - 1;
            ends &= ends.wrapping_sub(1);
        }
        at += words.length;
    }
}

/// Finds the words of a part by unicode-segmentation, about `step` bytes at a time, at least one.
///
/// A step ends with a joint character, with which the next step starts. Rules before it do not depend on text after it,
/// so this step decides if it is joined to the text before it. Rules after it do not depend on text before it.
#[cold]
fn each_of_part(part: &str, step: usize, check: Check, f: &mut dyn FnMut(usize, usize)) {
    // Start of the word that the first word of a step continues, and true if it has a letter or a digit.
    let (mut at, mut begun) = (0, None);
    loop {
        let rest = &part[at..];
        let from = rest.ceil_char_boundary(step);
        let joint = checked(rest[from..].char_indices(), check).find(|&(_, c)| beyond_ascii::is_joint(c));
        let end = joint.map_or(rest.len(), |(place, c)| from + place + c.len_utf8());
        let short = without_long_runs(&rest[..end], step.clamp(16, STEP), check);
        let text = short.as_ref().map_or(&rest[..end], |short| &short.text);
        for (start, word) in checked(text.split_word_bound_indices(), check) {
            let ended = start + word.len();
            let place = |of: usize| at + short.as_ref().map_or(of, |short| short.place(of));
            let (first, is_word) = begun.take().unwrap_or((place(start), false));
            let is_word = is_word || word.contains(char::is_alphanumeric);
            if joint.is_some() && ended == text.len() {
                begun = Some((first, is_word));
            } else if is_word {
                f(first, place(ended));
            }
        }
        let Some((place, _)) = joint else { return };
        at += from + place;
        check();
    }
}

/// A text without the middles of its long runs.
struct Short {
    text: String,
    /// The positions of omissions, with the offset to add to later positions.
    left_out: Vec<(usize, usize)>,
}

impl Short {
    /// The position in the whole text for a position in this one.
    fn place(&self, of: usize) -> usize {
        let before = self.left_out.partition_point(|&(from, _)| from <= of);
        of + before.checked_sub(1).map_or(0, |last| self.left_out[last].1)
    }
}

/// Omits the middle of runs of more than `longest` bytes, at least 16, that belong to the character before them (rule
/// WB4), because the crate processes such a run in one step. Only two things about a run matter: its last character,
/// and a mark that makes a word of it.
///
/// `None` if there is no such run, or no memory for the rest of the text: then a check comes later.
fn without_long_runs(text: &str, longest: usize, check: Check) -> Option<Short> {
    if text.len() <= longest {
        return None;
    }
    let mut short = Short { text: String::new(), left_out: Vec::new() };
    // The start of the run, the part of it that is kept, and its last character so far.
    let (mut copied, mut run) = (0, None);
    let mut leave_out = |run: &mut Option<(usize, char, usize)>| {
        let Some((start, kept, last)) = run.take().filter(|(start, _, last)| last - start > longest) else {
            return Some(());
        };
        short.text.try_reserve(start - copied + kept.len_utf8()).ok()?;
        short.text.push_str(&text[copied..start]);
        short.text.push(kept);
        short.left_out.try_reserve(1).ok()?;
        short.left_out.push((short.text.len(), last - short.text.len()));
        copied = last;
        Some(())
    };
    for (place, c) in checked(text.char_indices(), check) {
        if !beyond_ascii::follows(c) {
            leave_out(&mut run)?;
            continue;
        }
        let (start, kept, _) = run.unwrap_or((place, c, place));
        let kept = if kept.is_alphanumeric() { kept } else { c };
        run = Some((start, kept, place));
    }
    leave_out(&mut run)?;
    if copied == 0 {
        return None;
    }
    short.text.try_reserve(text.len() - copied).ok()?;
    short.text.push_str(&text[copied..]);
    Some(short)
}

/// Finds the words of ASCII, 64 bytes at a time, with a bit for each byte.
///
/// In ASCII a word is a run of letters, digits and low lines that has a letter or a digit. A full stop, colon or
/// apostrophe between two letters, and a full stop, comma, semicolon or apostrophe between two digits, is part of the
/// run (rules WB5 to WB13b).
#[inline(always)]
fn each_ascii(level: Level, piece: &str, check: Check, f: &mut impl FnMut(usize, usize)) {
    let bytes = piece.as_bytes();
    let (mut here, mut rest) = (first_classes(level, bytes), bytes);
    // The highest bits of the previous block.
    let (mut letter_before, mut digit_before, mut inside) = (0, 0, 0);
    let (mut at, mut start) = (0, 0);
    loop {
        rest = rest.get(BLOCK..).unwrap_or_default();
        let after = first_classes(level, rest);
        let between = |class: u64, before: u64, after: u64| (class << 1 | before) & (class >> 1 | after << (BLOCK - 1));
        let infix = (here.between_letters & between(here.letters, letter_before, after.letters))
            | (here.between_digits & between(here.digits, digit_before, after.digits));
        let runs = here.letters | here.digits | here.low_lines | infix;
        let after_run = runs << 1 | inside;
        // Bits for the start of runs, and for the byte after their end.
        let (mut starts, mut ends) = (runs & !after_run, after_run & !runs);
        if inside == 1 && ends != 0 {
            word(bytes, start, at + ends.trailing_zeros() as usize, f);
            ends &= ends - 1;
        }
        while ends != 0 {
            let (start, end) = (starts.trailing_zeros() as usize, ends.trailing_zeros() as usize);
            word(bytes, at + start, at + end, f);
            starts &= starts.wrapping_sub(1);
            ends &= ends - 1;
        }
        if starts != 0 {
            start = at + starts.trailing_zeros() as usize;
        }
        inside = runs >> (BLOCK - 1);
        if rest.is_empty() {
            break;
        }
        letter_before = here.letters >> (BLOCK - 1);
        digit_before = here.digits >> (BLOCK - 1);
        here = after;
        at += BLOCK;
        if at.is_multiple_of(STEP) {
            check();
        }
    }
    if inside == 1 {
        word(bytes, start, bytes.len(), f);
    }
}

/// Calls `f` with a run unless it consists of low lines.
#[inline(always)]
fn word(bytes: &[u8], start: usize, end: usize, f: &mut impl FnMut(usize, usize)) {
    // Any other run starts with a letter or a digit.
    if bytes[start] != b'_' || bytes[start..end].iter().any(|byte| *byte != b'_') {
        f(start, end);
    }
}

/// The classes of the first block of `bytes`, padded with spaces.
#[inline(always)]
fn first_classes(level: Level, bytes: &[u8]) -> WordClasses {
    if let Some(block) = bytes.first_chunk() {
        return WordClasses::of(level, block);
    }
    let mut block = [b' '; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    WordClasses::of(level, &block)
}

/// Splits `text` into pieces that have the same words as the text. A text with neither spaces nor line feeds is one
/// piece.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    pieces_of(text, PIECE)
}

/// Cuts before a run of spaces or after a line feed: at the first one that is at least `size` bytes, and at least one
/// byte, after the last cut.
fn pieces_of(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let cut = (size..bytes.len()).find(|at| match bytes[*at] {
            b'\n' => true,
            // Spaces are joined (rule WB3d), and a mark after them makes a word of them all.
            b' ' => !rest[..*at].ends_with(char::is_whitespace),
            _ => false,
        });
        let cut = cut.unwrap_or(bytes.len());
        // The line feed belongs to the piece that it ends.
        let cut = cut + usize::from(bytes.get(cut) == Some(&b'\n'));
        let (piece, after) = rest.split_at_checked(cut)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

        #[test]
        fn steps_and_pieces_change_no_word(
            text in prop_oneof![
                "[a1éאア漢か٣ℹⓂ🅰\u{301}\u{93f}\u{345}\u{200d}\u{ad}😀❤👍🏽🇦🇧_ .:,'\"’·،\r\n\u{3000}]{0,24}",
                "[éא\u{345}\u{200d}ℹ🇦ア1_.:'\",]{0,16}",
                "([aé.\u{301}\u{345}\u{200d}\u{ad}\u{e0041}א\"🇦😀ℹ_1,\r\n ][\u{301}\u{345}\u{200d}\u{ad}]{0,20}){0,5}",
                "\\PC{0,16}",
                prop::collection::vec(any::<char>(), 0..16)
                    .prop_map(|chars| chars.into_iter().collect::<String>()),
            ],
        ) {
            let words = text.unicode_word_indices().map(|(start, word)| (start, start + word.len()));
            let expected: Vec<_> = words.collect();
            // A step of this size cuts at each letter, and a longer one at each later position.
            for step in 1..=text.len().max(1) {
                let mut found = Vec::new();
                each_of_part(&text, step, &mut || (), &mut |start, end| found.push((start, end)));
                prop_assert_eq!(&found, &expected, "{}", step);
                let words = pieces_of(&text, step).flat_map(str::unicode_words);
                prop_assert!(words.eq(text.unicode_words()), "{}", step);
            }
        }
    }
}
