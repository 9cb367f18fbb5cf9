//! The starts of the characters of a text, a part of it at once.

use crate::simd::{CLASSES_BLOCK as BLOCK, Level};
use crate::text::chars::leads;

/// Bytes that are looked at together.
const PART: usize = 256;

/// The starts of the characters of a part of a text. Numbers are small: bytes are counted from
/// shortly before the part on.
pub(super) struct CharStarts {
    /// The byte that is counted as none.
    base: usize,
    /// With room for a block that is written whole.
    found: [u32; PART + BLOCK],
}

impl CharStarts {
    pub(super) fn new() -> Self {
        Self { base: 0, found: [0; PART + BLOCK] }
    }

    /// Finds the characters from byte `at` on, where one starts. If the text ends in this part,
    /// its end comes behind the last of them. Returns how many were found.
    pub(super) fn find(&mut self, level: Level, text: &[u8], at: usize) -> usize {
        // What hashes ranges reads eight bytes before their ends.
        self.base = at.saturating_sub(8);
        let end = text.len().min(at + PART);
        let first = (at - self.base) as u32;
        let mut count = level.compiled(
            #[inline(always)]
            || find(level, &text[at..end], first, &mut self.found),
        );
        if end == text.len() {
            self.found[count] = (end - self.base) as u32;
            count += 1;
        }
        count
    }

    /// The first `count` that were found.
    pub(super) fn found(&self, count: usize) -> &[u32] {
        &self.found[..count]
    }

    /// The text from the byte on that is counted as none.
    pub(super) fn counted<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.base..]
    }

    /// The place in the text of the `n`-th that was found.
    pub(super) fn byte(&self, n: usize) -> usize {
        self.base + self.found[n] as usize
    }
}

#[inline(always)]
fn find(level: Level, part: &[u8], first: u32, found: &mut [u32; PART + BLOCK]) -> usize {
    let mut count = 0;
    let (blocks, rest) = part.as_chunks::<BLOCK>();
    // What continues a character fills the last block.
    let mut last = [0x80; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let last = Some(&last).filter(|_| !rest.is_empty());
    for (block, from) in blocks.iter().chain(last).zip((first..).step_by(BLOCK)) {
        let Some(room) = found[count..].first_chunk_mut() else { break };
        count += level.positions(leads(level, block), from, room);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_those_of_the_characters() {
        let unit = "aé漢😀\u{301}zß ";
        for length in [0, 1, 3, 20, 40, 200] {
            let text = unit.repeat(length) + "end";
            for level in Level::available() {
                let mut starts = CharStarts::new();
                for at in text.char_indices().map(|(at, _)| at).step_by(7) {
                    let count = starts.find(level, text.as_bytes(), at);
                    let found: Vec<usize> = (0..count).map(|n| starts.byte(n)).collect();
                    let expected = text[at..].char_indices().map(|(i, _)| at + i);
                    let expected: Vec<usize> =
                        expected.chain([text.len()]).filter(|i| *i <= at + PART).collect();
                    let last = found.len().min(expected.len()) - 1;
                    assert_eq!(found[..last], expected[..last], "{level}");
                    assert!(found.len() + 1 >= expected.len(), "{level}");
                }
            }
        }
    }
}
