//! Words, as Unicode Standard Annex 29 cuts them: "can't" and "3.14" are one
//! word each, punctuation and white space are none.
//!
//! The rules look at neighbours only, and nothing joins across a space or a
//! line feed. So a text can be cut there into pieces without changing a word.
//! Pieces let a caller cancel the work on a long text, and let
//! unicode-segmentation take its quick path for ASCII on every piece that is
//! ASCII instead of on no text that has one dash or accent.

use unicode_segmentation::UnicodeSegmentation;

/// A piece ends at the first space or line feed after this many bytes.
const PIECE: usize = 1024;

/// The words of a piece, in order.
pub(crate) fn words(piece: &str) -> impl Iterator<Item = &str> {
    piece.unicode_words()
}

/// Cuts `text` into pieces whose words are the words of the text. A text that
/// has neither spaces nor lines is one piece.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    pieces_of(text, PIECE)
}

/// Cuts before a space or after a line feed, at the first of them that comes
/// at least `size` bytes, one or more, after the last cut.
fn pieces_of(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let cut = bytes
            .iter()
            .skip(size)
            .position(|byte| matches!(byte, b' ' | b'\n'))
            .map_or(bytes.len(), |found| size + found);
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

    #[test]
    fn words_are_those_of_annex_29() {
        let text =
            "I can't pay 3.14 e.g. snake_case,or \u{201c}na\u{ef}ve\u{201d}\u{2014}not 漢字!";
        let expected = [
            "I",
            "can't",
            "pay",
            "3.14",
            "e.g",
            "snake_case",
            "or",
            "na\u{ef}ve",
            "not",
            "漢",
            "字",
        ];
        assert_eq!(pieces(text).flat_map(words).collect::<Vec<_>>(), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn cutting_a_text_into_pieces_changes_no_word(
            text in prop_oneof![
                "[ -~\n\r\t]{0,80}",
                "([a-z0-9'._:,;\"\u{300}\u{200d}😀🇦🇧漢かア\u{5d0}\r]{0,3}[ \n]{0,2}){0,20}",
                "\\PC{0,40}",
            ],
            size in 1_usize..12,
        ) {
            let found: Vec<&str> = pieces_of(&text, size).flat_map(words).collect();
            prop_assert_eq!(found, text.unicode_words().collect::<Vec<_>>());
            prop_assert_eq!(pieces_of(&text, size).collect::<String>(), text);
        }
    }

    #[test]
    fn a_long_text_has_short_pieces() {
        let text = "word ".repeat(100_000);
        assert!(pieces(&text).all(|piece| piece.len() <= PIECE + 5));
    }
}
