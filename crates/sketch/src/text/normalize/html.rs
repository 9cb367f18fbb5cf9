//! The step `html`: removes the markup of HTML.
//!
//! Markup is recognised by characters alone, in one pass, without building a document. So a fragment of a page is read
//! as within the page, and hostile text takes no longer than other text.
//!
//! | text | result |
//! |---|---|
//! | a tag: `<` or `</`, a letter, and the text up to the first `>` outside of quoted values | a space |
//! | an element `script` or `style`, up to its end tag | a space |
//! | a comment, from `<!--` to `-->` | a space |
//! | other markup: `<!`, `<?`, or `</` without a letter after it, up to the first `>` | a space |
//! | a character reference, such as `&amp;` or `&#233;` | the characters that it represents |
//!
//! A `<` without a following `>` is an ordinary character. So is a quote that is never closed: from its tag on, each
//! tag ends at its first `>`.

use std::borrow::Cow;

use super::places::PlaceRecord;
use crate::limits::checked;
use crate::{Check, Result, memory};

/// Bytes between two calls of the check.
const PIECE: usize = 16 * 1024;

/// Elements whose content is not text.
const WITHOUT_TEXT: [&str; 2] = ["script", "style"];

/// Returns `text` without its markup; `None` if there is no markup. `record` gets the changes of characters.
pub(super) fn without_markup(text: &str, mut record: Option<&mut PlaceRecord>, check: Check) -> Result<Option<String>> {
    let bytes = text.as_bytes();
    let any_end_tag = [true; WITHOUT_TEXT.len()];
    let mut tags = TagEnds { bytes, quotes_count: true, any_end: true, any_comment_end: true, any_end_tag };
    let mut kept = Kept { text, out: String::new(), copied: 0 };
    let (mut at, mut looked) = (0, 0);
    while let Some(next) = find(bytes, at, check, |byte| matches!(byte, b'<' | b'&')) {
        if next - looked >= PIECE {
            looked = next;
            check();
        }
        let (end, written) = if bytes[next] == b'<' {
            (tags.end(next, check), Cow::Borrowed(" "))
        } else {
            reference(&text[next..]).map_or((None, "".into()), |(length, characters)| (Some(next + length), characters))
        };
        at = next + 1;
        if let Some(end) = end {
            kept.replace(next..end, &written, record.as_deref_mut(), check)?;
            at = end;
        }
    }
    kept.end(record, check)
}

/// A text with replaced parts, in order.
pub(super) struct Kept<'a> {
    pub(super) text: &'a str,
    pub(super) out: String,
    /// Position up to which the text was copied or replaced.
    pub(super) copied: usize,
}

impl Kept<'_> {
    /// Replaces the bytes in `range` by `written`.
    pub(super) fn replace(
        &mut self,
        range: std::ops::Range<usize>,
        written: &str,
        mut record: Option<&mut PlaceRecord>,
        check: Check,
    ) -> Result<()> {
        self.copy(range.start, record.as_deref_mut(), check)?;
        memory::push_str(&mut self.out, written)?;
        if let Some(record) = record {
            let replaced = checked(self.text[range.clone()].chars(), check).count();
            record.together(replaced, written.chars().count())?;
        }
        self.copied = range.end;
        Ok(())
    }

    /// The text with its parts replaced; `None` if there were none.
    pub(super) fn end(mut self, record: Option<&mut PlaceRecord>, check: Check) -> Result<Option<String>> {
        if self.copied == 0 {
            return Ok(None);
        }
        self.copy(self.text.len(), record, check)?;
        Ok(Some(self.out))
    }

    /// Copies the text up to byte `end`.
    fn copy(&mut self, end: usize, record: Option<&mut PlaceRecord>, check: Check) -> Result<()> {
        let part = &self.text[self.copied..end];
        memory::push_str(&mut self.out, part)?;
        if let Some(record) = record {
            record.reserve(1)?;
            record.one_by_one(checked(part.chars(), check).count());
        }
        Ok(())
    }
}

/// The character reference at the start of `text`: its length in bytes, and the characters that it represents. Without
/// a semicolon, a run of letters and digits after the name is part of both.
fn reference(text: &str) -> Option<(usize, Cow<'_, str>)> {
    let body = &text.as_bytes()[1..];
    let is_number = body.first() == Some(&b'#');
    let from = usize::from(is_number);
    let name = body.iter().skip(from).take(htmlize::ENTITY_MAX_LENGTH);
    let length = name.take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if length == 0 || length == htmlize::ENTITY_MAX_LENGTH && is_number {
        return None;
    }
    let end = 1 + from + length;
    let end = end + usize::from(text.as_bytes().get(end) == Some(&b';'));
    let characters = htmlize::unescape(&text[..end]);
    matches!(characters, Cow::Owned(_)).then_some((end, characters))
}

/// The first byte from `at` that is `wanted`.
fn find(bytes: &[u8], at: usize, check: Check, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let rest = bytes.get(at..)?;
    checked(rest.iter(), check).position(|byte| wanted(*byte)).map(|place| at + place)
}

/// Finds the ends of markup. A search that failed is not repeated, so a text is read only a few times.
struct TagEnds<'a> {
    bytes: &'a [u8],
    /// False once a tag had a quote that is never closed, or no unquoted `>`.
    quotes_count: bool,
    /// False once a search failed for `>`, the end of a comment, or the end tag of an element [`WITHOUT_TEXT`].
    any_end: bool,
    any_comment_end: bool,
    any_end_tag: [bool; WITHOUT_TEXT.len()],
}

impl TagEnds<'_> {
    /// The end of the markup that starts with the `<` at byte `at`; `None` if that is an ordinary character.
    fn end(&mut self, at: usize, check: Check) -> Option<usize> {
        match *self.bytes.get(at + 1)? {
            b'!' if self.bytes[at + 2..].starts_with(b"--") => {
                self.comment_end(at + 2, check).or_else(|| self.first_end(at, check))
            }
            b'!' | b'?' => self.first_end(at, check),
            b'/' if self.bytes.get(at + 2).is_some_and(u8::is_ascii_alphabetic) => self.tag_end(at + 2, check),
            b'/' => self.first_end(at, check),
            letter if letter.is_ascii_alphabetic() => {
                let end = self.tag_end(at + 1, check)?;
                Some(self.element_end(at + 1, end, check).unwrap_or(end))
            }
            _ => None,
        }
    }

    /// The end of the first `>` from byte `at`.
    fn first_end(&mut self, at: usize, check: Check) -> Option<usize> {
        if self.any_end {
            let end = find(self.bytes, at, check, |byte| byte == b'>');
            self.any_end = end.is_some();
            return end.map(|end| end + 1);
        }
        None
    }

    /// The end of the first `-->` from byte `at`.
    fn comment_end(&mut self, at: usize, check: Check) -> Option<usize> {
        if self.any_comment_end {
            let places = checked(self.bytes[at..].windows(3), check);
            let end = places.into_iter().position(|three| three == b"-->");
            self.any_comment_end = end.is_some();
            return end.map(|end| at + end + 3);
        }
        None
    }

    /// The end of the tag whose name starts at byte `name`.
    fn tag_end(&mut self, name: usize, check: Check) -> Option<usize> {
        if self.quotes_count {
            let end = self.end_outside_quotes(name, check);
            self.quotes_count = end.is_some();
            if end.is_some() {
                return end;
            }
        }
        self.first_end(name, check)
    }

    /// The end of the first `>` from byte `at` outside of quoted values: a quote after `=` opens one.
    fn end_outside_quotes(&self, mut at: usize, check: Check) -> Option<usize> {
        loop {
            at = find(self.bytes, at, check, |byte| matches!(byte, b'>' | b'='))?;
            if self.bytes[at] == b'>' {
                return Some(at + 1);
            }
            at = find(self.bytes, at + 1, check, |byte| !byte.is_ascii_whitespace())?;
            if let quote @ (b'"' | b'\'') = self.bytes[at] {
                at = find(self.bytes, at + 1, check, |byte| byte == quote)? + 1;
            }
        }
    }

    /// The end of the end tag of an element [`WITHOUT_TEXT`], whose name starts at byte `name`, and whose start tag
    /// ends at byte `at`.
    fn element_end(&mut self, name: usize, mut at: usize, check: Check) -> Option<usize> {
        let place = WITHOUT_TEXT.iter().position(|element| self.is_name(name, element))?;
        while self.any_end_tag[place] {
            let Some(tag) = find(self.bytes, at, check, |byte| byte == b'<') else {
                self.any_end_tag[place] = false;
                break;
            };
            if self.bytes.get(tag + 1) == Some(&b'/') && self.is_name(tag + 2, WITHOUT_TEXT[place]) {
                return find(self.bytes, tag, check, |byte| byte == b'>').map(|end| end + 1);
            }
            at = tag + 1;
        }
        None
    }

    /// True if the name `element` is at byte `at`, in any case.
    fn is_name(&self, at: usize, element: &str) -> bool {
        let Some(rest) = self.bytes.get(at..) else { return false };
        let Some((name, rest)) = rest.split_at_checked(element.len()) else { return false };
        name.eq_ignore_ascii_case(element.as_bytes())
            && rest.first().is_some_and(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'>'))
    }
}
