//! Words of text beyond ASCII, a block of bytes at a time, with a bit for each byte.
//!
//! The effect of each character on word boundaries was determined with unicode-segmentation when this crate was built
//! (`build.rs`). The rules of Annex 29 reduce to these: letters, digits and low lines join each other; katakana join
//! katakana and low lines; some characters join both of their neighbours; and marks belong to the character before
//! them. Other characters stand alone, and some of them, such as ideographs, are words. A block with any other
//! characters, such as Hebrew or flags, is refused.

use crate::simd::{CLASSES_BLOCK as BLOCK, CharSet, Level, SINGLE, WordClasses};
use crate::text::chars::{OF_FOUR, OF_THREE, below, code_at, leads};

/// The effect of a character on word boundaries.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    /// Joins letters, digits and low lines (ALetter).
    Letter,
    Digit,
    LowLine,
    /// Joins two letters around it.
    BetweenLetters,
    /// Joins two digits around it.
    BetweenDigits,
    /// Joins two letters or two digits around it.
    Between,
    Katakana,
    /// Joins nothing, and is a word alone: ideographs, hiragana.
    Word,
    /// Joins nothing, and is not a word.
    Nothing,
    /// Belongs to the character before it, and makes a word of it.
    Mark,
    /// Belongs to the character before it.
    Mute,
    /// Belongs to the character before it, and joins a following picture (zero-width joiner).
    Joiner,
    /// Has other rules: Hebrew, flags.
    Other,
}

use Class::*;

/// The words of a block, as bits for the first and for the last byte of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockWords {
    /// Length of the part with the words; a word without an end ends there.
    pub(super) length: usize,
    pub(super) starts: u64,
    pub(super) ends: u64,
}

/// The words at the start of `text`, which no rule joins with the text before it. They cover all of it, or about a
/// block up to a position where no rule joins either. `None` if there are characters with other rules, or a block is
/// not enough.
#[inline(always)]
pub(super) fn block(level: Level, text: &[u8]) -> Option<BlockWords> {
    let mut padded = [b' '; BLOCK];
    let block = match text.first_chunk() {
        Some(block) => block,
        None => {
            padded[..text.len()].copy_from_slice(text);
            &padded
        }
    };
    let ascii = WordClasses::of(level, block);
    let wide = level.upper_bits(block);
    let leads = leads(level, block);
    let three = if wide == 0 { 0 } else { level.bits(block, |byte| byte >= OF_THREE) };
    let four = if three == 0 { 0 } else { level.bits(block, |byte| byte >= OF_FOUR) };
    // Characters that are completely in the block.
    let of_two = leads & wide & !three & below(BLOCK - 1);
    let of_three = three & leads & !four & below(BLOCK - 2);
    let of_four = four & leads & below(BLOCK - 3);
    let (mut letters, mut alone) = (0, 0);
    if wide != 0 {
        letters = level.members(block, of_two, of_three, &LETTERS);
        alone = level.members(block, 0, of_three & !letters, &WORDS);
    }
    // The classes of the other characters, at their first bytes.
    let mut others = [NO_CLASS; BLOCK];
    let mut left = (of_two | of_three | of_four) & !letters & !alone;
    let any = left != 0;
    while left != 0 {
        let at = left.trailing_zeros() as usize;
        left &= left - 1;
        others[at] = class(code_at(block, at)) as u8;
    }
    let of = |class: Class| if any { level.bits(&others, |other| other == class as u8) } else { 0 };
    let between = of(Between);
    let (mut marks, joiners) = (of(Mark), of(Joiner));
    let nothing = of(Nothing);
    // Bytes that belong to the character before them.
    let tails = !leads | marks | of(Mute) | joiners;
    letters |= ascii.letters | of(Letter);
    alone |= of(Word);
    let katakana = of(Katakana);
    let digits = ascii.digits | of(Digit);
    let between_letters = ascii.between_letters | between | of(BetweenLetters);
    let between_digits = ascii.between_digits | between | of(BetweenDigits);
    let other = of(Other) | of(LowLine);

    // A character with its tail.
    let whole = |chars: u64| {
        let first = chars << 1 & tails;
        chars | (first.wrapping_add(tails) ^ tails) & tails
    };
    let (all_letters, all_digits) = (whole(letters), whole(digits));
    let (all_katakana, all_alone) = (whole(katakana), whole(alone));
    let in_words = all_letters | all_digits | all_katakana | all_alone;
    let joins = letters | digits | ascii.low_lines | katakana;
    let between = between_letters | between_digits;

    let length = if text.len() <= BLOCK {
        text.len()
    } else {
        // Cuts before a complete character that stands alone. Not within spaces, or between a joiner and a picture:
        // these are joined, and a mark after them makes a word of them all.
        let spaces = level.bits(block, |byte| byte == b' ');
        let cut = leads & !wide & !joins & !between & !(spaces & spaces << 1) | alone | nothing & !(joiners << 3);
        (cut & !1).checked_ilog2()? as usize
    };
    let here = below(length);
    // A mark after a character that is not a word makes it a word, and a joiner joins a picture to anything. A picture
    // alone is not a word.
    marks = marks & !in_words | ascii.low_lines << 1 & tails;
    let joined = (joiners & !whole(nothing)) << 3 & nothing;
    if (other | marks) & here != 0 || joined != 0 {
        return None;
    }

    let mut runs = whole(joins);
    if between & here != 0 {
        let letters_join = between_letters & all_letters << 1;
        let digits_join = between_digits & all_digits << 1;
        let mut behind = whole(letters_join) << 1 & letters | whole(digits_join) << 1 & digits;
        while behind != 0 {
            let end = behind.trailing_zeros();
            behind &= behind - 1;
            let before = (letters_join | digits_join) & below(end as usize);
            if let Some(start) = before.checked_ilog2() {
                runs |= below(end as usize) & !below(start as usize);
            }
        }
    }
    let all = (runs | all_alone) & here;
    // The end of a word at the start of the next.
    let ended = all_letters | all_digits;
    let between_runs =
        alone & all << 1 | joins & all_alone << 1 | katakana & ended << 1 | (letters | digits) & all_katakana << 1;
    let between_runs = between_runs & here;
    Some(BlockWords { length, starts: all & !(all << 1) | between_runs, ends: all << 1 & !all & here | between_runs })
}

// `KIND_OF_PAGE`: for each page of characters, its index in the pages of `CLASSES`.
include!(concat!(env!("OUT_DIR"), "/word_classes.rs"));

/// Stands for no class.
const NO_CLASS: u8 = u8::MAX;

/// Letters, and characters that are words alone, as far as a set of characters can represent them.
static LETTERS: CharSet = those_of(Letter);
static WORDS: CharSet = those_of(Word);

/// The characters of a class, as far as a set of characters can represent them.
const fn those_of(class: Class) -> CharSet {
    let mut set = CharSet::EMPTY;
    let mut word = 2;
    while word < 1024 {
        let (mut bits, mut bit) = (0, 0);
        while bit < 64 {
            let code = word * 64 + bit;
            let of_code = CLASSES[KIND_OF_PAGE[code / PAGE] as usize][code % PAGE];
            bits |= ((of_code as u8 == class as u8) as u64) << bit;
            bit += 1;
        }
        if word < set.two.len() {
            set.two[word] = bits;
        } else if SINGLE.start <= word && word < SINGLE.end {
            set.single[word - SINGLE.start] = bits;
        } else {
            set.three[word / 64] |= ((bits == u64::MAX) as u64) << (word % 64);
        }
        word += 1;
    }
    set
}

/// Number of characters in a page.
const PAGE: usize = 256;

#[inline(always)]
fn class(code: u32) -> Class {
    let code = code as usize;
    KIND_OF_PAGE.get(code / PAGE).map_or(Other, |&kind| CLASSES[usize::from(kind)][code % PAGE])
}

/// True for characters that no rule joins, attaches or counts in pairs (like flags). Not for letters that are also
/// emoji: rule WB3c depends on the character before them.
pub(super) fn is_joint(c: char) -> bool {
    match class(u32::from(c)) {
        Mark | Mute | Joiner | BetweenLetters | BetweenDigits | Between => false,
        // Joins two Hebrew letters around it.
        Nothing => c != '"',
        Other => c.is_alphanumeric() && !matches!(c, 'ℹ' | 'Ⓜ' | '\u{1f100}'..='\u{1f1ff}'),
        Letter | Digit | LowLine | Katakana | Word => true,
    }
}

/// True for characters that belong to the character before them (rule WB4).
pub(super) fn follows(c: char) -> bool {
    let is_tag = matches!(c, '\u{e0001}' | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}');
    is_tag || matches!(class(u32::from(c)), Mark | Mute | Joiner)
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    #[test]
    fn what_follows_a_character_is_what_the_tables_say() {
        for c in '\0'..=char::MAX {
            let joins = |before: &str| format!("{before}{c}").split_word_bounds().count() == 1;
            assert_eq!(follows(c), joins("漢") && joins("👍") && joins(" "), "{c:?}");
        }
    }

    #[test]
    fn what_people_write_is_not_refused() {
        for text in [
            "Don’t stop — “naïve” cafés, 3.14 or 2,50 € 😀 👍🏽 ❤️ 👨‍👩‍👧 all.",
            "हिन्दी में क्षेत्र और स्वास्थ्य। बड़ा लड़का पढ़ना",
            "私はカタカナを読みます。データー、東京",
            "قال الرئيس، إن الحكومة ٢٠٢٦",
            "나는 학교에 갔습니다.",
            "ภาษาไทยที่นี่",
            "Việt Nam, e\u{301}te\u{301}",
        ] {
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                let found = block(Level::best(), rest);
                rest = &rest[found.expect(text).length..];
            }
        }
    }
}
