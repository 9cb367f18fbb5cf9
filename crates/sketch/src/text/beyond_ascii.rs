//! Words of text beyond ASCII, a block of bytes at a time, each byte a bit.
//!
//! What a character does to word boundaries was asked of unicode-segmentation when this crate was built (`build.rs`).
//! Of the rules of Annex 29 that leaves these: letters, digits and low lines join each other, katakana join katakana
//! and low lines, some characters join what they stand between, and marks belong to what they follow. Other characters
//! stand alone; some of them, as ideographs, are words. A block that has anything else, as Hebrew or flags, is refused.

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
    /// Joins letters that it is between.
    BetweenLetters,
    /// Joins digits that it is between.
    BetweenDigits,
    /// Joins both.
    Between,
    Katakana,
    /// Joins nothing, and is a word by itself: ideographs, hiragana.
    Word,
    /// Joins nothing, and is not a word.
    Nothing,
    /// Belongs to what it follows, and makes a word of it.
    Mark,
    /// Belongs to what it follows.
    Mute,
    /// Belongs to what it follows, and joins a picture behind it (zero-width joiner).
    Joiner,
    /// Has rules of its own: Hebrew, flags.
    Other,
}

use Class::*;

/// The words of a block, as bits: where each starts, and behind which byte it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockWords {
    /// The number of bytes of the words; a word that is not ended is ended there.
    pub(super) length: usize,
    pub(super) starts: u64,
    pub(super) ends: u64,
}

/// The words of the start of `text`, which no rule joins with what is before it: of all of it, or of about a block up
/// to where no rule joins either. `None` if it has characters with rules of their own, or a block is not enough.
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
    // Those that are all here.
    let of_two = leads & wide & !three & below(BLOCK - 1);
    let of_three = three & leads & !four & below(BLOCK - 2);
    let of_four = four & leads & below(BLOCK - 3);
    let (mut letters, mut alone) = (0, 0);
    if wide != 0 {
        letters = level.members(block, of_two, of_three, &LETTERS);
        alone = level.members(block, 0, of_three & !letters, &WORDS);
    }
    // The classes of the others, each where its character starts.
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
    // What goes on with the character before it.
    let tails = !leads | marks | of(Mute) | joiners;
    letters |= ascii.letters | of(Letter);
    alone |= of(Word);
    let katakana = of(Katakana);
    let digits = ascii.digits | of(Digit);
    let between_letters = ascii.between_letters | between | of(BetweenLetters);
    let between_digits = ascii.between_digits | between | of(BetweenDigits);
    let other = of(Other) | of(LowLine);

    // What a character with its tail takes.
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
        // Before a character that stands alone and is all here. Not amid spaces, nor between a joiner and a picture:
        // these hold together, and a mark behind them makes a word of them all.
        let spaces = level.bits(block, |byte| byte == b' ');
        let cut = leads & !wide & !joins & !between & !(spaces & spaces << 1) | alone | nothing & !(joiners << 3);
        (cut & !1).checked_ilog2()? as usize
    };
    let here = below(length);
    // A mark behind what is no word makes one of it, and a joiner joins a picture to anything; to
    // a picture, no word comes of it.
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
    // Where one ends and the next starts.
    let ended = all_letters | all_digits;
    let between_runs =
        alone & all << 1 | joins & all_alone << 1 | katakana & ended << 1 | (letters | digits) & all_katakana << 1;
    let between_runs = between_runs & here;
    Some(BlockWords { length, starts: all & !(all << 1) | between_runs, ends: all << 1 & !all & here | between_runs })
}

// `KIND_OF_PAGE`: of each page of characters, which of the pages of `CLASSES` it is.
include!(concat!(env!("OUT_DIR"), "/word_classes.rs"));

/// No class has this number.
const NO_CLASS: u8 = u8::MAX;

/// Letters, and what is a word by itself, as far as a set of characters can say it.
static LETTERS: CharSet = those_of(Letter);
static WORDS: CharSet = those_of(Word);

/// The characters of a class, as far as a set of characters can say it.
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

/// Characters of a page.
const PAGE: usize = 256;

#[inline(always)]
fn class(code: u32) -> Class {
    let code = code as usize;
    KIND_OF_PAGE.get(code / PAGE).map_or(Other, |&kind| CLASSES[usize::from(kind)][code % PAGE])
}

/// True for what in no rule stands between others, follows them, or is counted in pairs, as flags are.
/// Not letters that are emoji too: rule WB3c looks at what is before them.
pub(super) fn is_joint(c: char) -> bool {
    match class(u32::from(c)) {
        Mark | Mute | Joiner | BetweenLetters | BetweenDigits | Between => false,
        // Between Hebrew letters it joins.
        Nothing => c != '"',
        Other => c.is_alphanumeric() && !matches!(c, 'ℹ' | 'Ⓜ' | '\u{1f100}'..='\u{1f1ff}'),
        Letter | Digit | LowLine | Katakana | Word => true,
    }
}

/// True for what belongs to the character before it (rule WB4).
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
