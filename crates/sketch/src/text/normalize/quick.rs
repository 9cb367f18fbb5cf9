//! One pass over a text: runs of ASCII by the block, other characters by the
//! table, and what may act on its neighbours by definition.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::ascii::Bytes;
use super::definition::settle;
use super::fates::{Fate, Table};
use super::places::{Places, Record, Recorded, Unrecorded};
use super::steps::{Characters, Form, Normalization};
use crate::error::Error;
use crate::memory;
use crate::text::chars::ascii_prefix;

/// Bytes between two calls of the check_interrupts.
const PIECE: usize = 16 * 1024;

/// A segment of more bytes goes through the definition: the crate's iterators would keep all its
/// marks in memory that they allocate by themselves.
const SHORT_SEGMENT: usize = 64;

impl Normalization {
    /// `text` after the steps on characters; borrowed if they change nothing.
    /// What the steps on tokens keep is seen by [`tokens`](crate::tokens) and,
    /// for units of characters, by [`normalize_text`](crate::normalize_text).
    ///
    /// `check_interrupts` is called at least every 64 KiB of text, but a letter with
    /// its marks is one step of it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn normalize<'a>(
        &self,
        text: &'a str,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Cow<'a, str>, Error> {
        normalize(self.characters, text, check_interrupts)
    }

    /// The same, and where its characters come from.
    pub(crate) fn normalize_with_places<'a>(
        &self,
        text: &'a str,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(Cow<'a, str>, Places), Error> {
        let mut record = Recorded::default();
        let text = recorded(self.characters, text, &mut record, check_interrupts)?;
        let places = if let Cow::Owned(_) = text { record.places() } else { Places::default() };
        Ok((text, places))
    }
}

/// `text` after the steps; borrowed if nothing changes.
pub(super) fn normalize<'a>(
    steps: Characters,
    text: &'a str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Cow<'a, str>, Error> {
    recorded(steps, text, &mut Unrecorded, check_interrupts)
}

fn recorded<'a, R: Record>(
    steps: Characters,
    text: &'a str,
    record: &mut R,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Cow<'a, str>, Error> {
    if steps == Characters::default() {
        return Ok(Cow::Borrowed(text));
    }
    let ascii = Bytes::new(steps);
    if text.len() <= PIECE && text.is_ascii() {
        return short_ascii(steps, ascii, text, record);
    }
    let mut same = 0;
    let mut spaced = true;
    for piece in text.as_bytes().chunks(PIECE) {
        check_interrupts();
        let unchanged = ascii.unchanged(&piece[..ascii_prefix(piece)], spaced);
        same += unchanged;
        if unchanged < piece.len() {
            break;
        }
        spaced = piece.ends_with(b" ");
    }
    // The space at the end of a text goes.
    if same == text.len() && !(steps.whitespace && spaced) {
        return Ok(Cow::Borrowed(text));
    }
    let mut pass = Pass {
        steps,
        ascii,
        table: Table::of(steps)?,
        out: memory::with_capacity(text.len() + 16)?,
        spaced: true,
        cut: Cut { at: 0, out: 0, spaced: true, mark: record.mark() },
        record,
    };
    pass.unchanged(&text.as_bytes()[..same])?;
    pass.rest(text, same, check_interrupts)?;
    if steps.whitespace && pass.out.ends_with(b" ") {
        pass.out.pop();
    }
    let normalized =
        String::from_utf8(pass.out).unwrap_or_else(|_| unreachable!("whole characters"));
    Ok(if normalized == text { Cow::Borrowed(text) } else { Cow::Owned(normalized) })
}

/// What most documents are: nothing but ASCII, in one go.
fn short_ascii<'a>(
    steps: Characters,
    ascii: Bytes,
    text: &'a str,
    record: &mut impl Record,
) -> Result<Cow<'a, str>, Error> {
    let mut out = Vec::new();
    let mut spaced = true;
    ascii.append(text.as_bytes(), &mut out, &mut spaced, record)?;
    if steps.whitespace && out.ends_with(b" ") {
        out.pop();
    }
    if out == text.as_bytes() {
        return Ok(Cow::Borrowed(text));
    }
    let normalized = String::from_utf8(out).unwrap_or_else(|_| unreachable!("ASCII"));
    Ok(Cow::Owned(normalized))
}

struct Pass<'a, R: Record> {
    steps: Characters,
    ascii: Bytes,
    table: &'static Table,
    out: Vec<u8>,
    /// Whether the output is empty or ends with a space.
    spaced: bool,
    cut: Cut<R::Mark>,
    record: &'a mut R,
}

/// Where the text was last seen to be cuttable, and how the output was there.
#[derive(Clone, Copy)]
struct Cut<M> {
    at: usize,
    out: usize,
    spaced: bool,
    mark: M,
}

impl<R: Record> Pass<'_, R> {
    /// The start of the text, which stays as it is.
    fn unchanged(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some((&last, before)) = bytes.split_last() else { return Ok(()) };
        memory::extend(&mut self.out, before)?;
        self.record.reserve(0)?;
        self.record.one_by_one(before.len());
        self.spaced = before.ends_with(b" ");
        self.cut_before(before.len());
        self.push_one(char::from(last))
    }

    /// The text from byte `at` on.
    fn rest(
        &mut self,
        text: &str,
        mut at: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let bytes = text.as_bytes();
        while at < bytes.len() {
            check_interrupts();
            let limit = bytes.len().min(at + PIECE);
            while at < limit {
                let run = ascii_prefix(&bytes[at..limit]);
                self.ascii_run(bytes, at, at + run)?;
                at = self.other_run(text, at + run, limit)?;
            }
        }
        Ok(())
    }

    /// A run of ASCII.
    fn ascii_run(&mut self, bytes: &[u8], start: usize, end: usize) -> Result<(), Error> {
        /// Shorter runs are done by the byte.
        const SHORT: usize = 24;
        if end - start < SHORT {
            for (at, &byte) in bytes[start..end].iter().enumerate() {
                if !self.ascii.removes(byte) {
                    self.cut_before(start + at);
                    self.push_one(char::from(self.ascii.mapped(byte)))?;
                } else {
                    self.record.dropped(1);
                }
            }
            return Ok(());
        }
        let kept = |byte: &u8| !self.ascii.removes(*byte);
        let Some(last) = bytes[start..end].iter().rposition(kept) else {
            self.record.dropped(end - start);
            return Ok(());
        };
        let last = start + last;
        self.ascii.append(&bytes[start..last], &mut self.out, &mut self.spaced, self.record)?;
        self.cut_before(last);
        self.ascii.append(&bytes[last..end], &mut self.out, &mut self.spaced, self.record)
    }

    /// Characters that are not ASCII, up to about `limit`; returns where they
    /// end.
    fn other_run(&mut self, text: &str, mut at: usize, limit: usize) -> Result<usize, Error> {
        while at < limit {
            let start = at;
            for c in text[start..].chars().take_while(|c| !c.is_ascii()) {
                match self.table.fate(c) {
                    Fate::Becomes(becomes) => {
                        self.cut_before(at);
                        self.push_one(becomes)?;
                    }
                    Fate::Removed => self.record.dropped(1),
                    Fate::Expands | Fate::Depends => break,
                }
                at += c.len_utf8();
                if at >= limit {
                    return Ok(at);
                }
            }
            match text[at..].chars().next().filter(|c| !c.is_ascii()) {
                None => break,
                Some(c) => {
                    if self.table.fate(c) == Fate::Expands {
                        self.cut_before(at);
                    }
                    at = self.segment(text, at + c.len_utf8())?;
                }
            }
        }
        Ok(at)
    }

    /// The text from the last cut to the next one after `at`, which it returns.
    /// What was written since the last cut is written anew.
    fn segment(&mut self, text: &str, at: usize) -> Result<usize, Error> {
        let cuttable = |c: char| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => !self.ascii.removes(byte),
            _ => matches!(self.table.fate(c), Fate::Becomes(_) | Fate::Expands),
        };
        let end = text[at..].find(cuttable).map_or(text.len(), |found| at + found);
        let Cut { at: start, out, spaced, mark } = self.cut;
        self.out.truncate(out);
        self.spaced = spaced;
        let segment = &text[start..end];
        if !self.push_composed(segment)? {
            self.out.truncate(out);
            self.spaced = spaced;
            settle(self.steps, segment)?.chars().try_for_each(|c| self.push(c))?;
        }
        if R::LOOKS {
            self.record.rewind(mark);
            // Bytes that start a character.
            let starts = self.out[out..].iter().filter(|byte| !(0x80..0xC0).contains(*byte));
            self.record.together(segment.chars().count(), starts.count())?;
        }
        Ok(end)
    }

    /// Most segments are a letter and its mark, or the letters of a syllable,
    /// which are one character that the table knows. For a normal form it is
    /// the same to start from the composed text. Returns whether it was so.
    fn push_composed(&mut self, segment: &str) -> Result<bool, Error> {
        if self.steps.form == Form::AsWritten || segment.len() > SHORT_SEGMENT {
            return Ok(false);
        }
        for c in segment.nfc() {
            match self.table.fate(c) {
                Fate::Becomes(c) => self.push(c)?,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Notes that the text can be cut before byte `at`, which comes next.
    fn cut_before(&mut self, at: usize) {
        let mark = self.record.mark();
        self.cut = Cut { at, out: self.out.len(), spaced: self.spaced, mark };
    }

    /// What one character becomes.
    #[inline]
    fn push_one(&mut self, c: char) -> Result<(), Error> {
        let before = self.out.len();
        self.push(c)?;
        if R::LOOKS {
            match self.out.len() == before {
                true => self.record.dropped(1),
                false => {
                    self.record.reserve(1)?;
                    self.record.one_by_one(1);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, c: char) -> Result<(), Error> {
        if c == ' ' && self.steps.whitespace && self.spaced {
            return Ok(());
        }
        if self.out.capacity() - self.out.len() < 4 {
            memory::reserve(&mut self.out, 4)?;
        }
        self.spaced = c == ' ';
        let mut utf8 = [0; 4];
        // Copies of known length take no call.
        match *c.encode_utf8(&mut utf8).as_bytes() {
            [a] => self.out.push(a),
            [a, b] => self.out.extend_from_slice(&[a, b]),
            [a, b, c] => self.out.extend_from_slice(&[a, b, c]),
            _ => self.out.extend_from_slice(&utf8),
        }
        Ok(())
    }
}
