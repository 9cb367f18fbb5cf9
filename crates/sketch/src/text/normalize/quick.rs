//! One pass over a text: runs of ASCII by the block, other characters by the
//! table, and what may act on its neighbours by definition.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, decompose_canonical};

use super::ascii::{AsciiBlock, BLOCK, ByteSteps, filled};
use super::definition::settle;
use super::fates::{Fate, FateTable};
use super::normal_forms::checked;
use super::places::{Origins, PlaceRecord, Recorded, Unrecorded};
use super::steps::{CharacterSteps, NormalForm, Normalization};
use crate::error::Error;
use crate::memory;
use crate::simd::{CharSet, into_text};
use crate::text::chars::{ascii_prefix, at_least, below, char_len, code_at, code_of_three, leads};

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
    /// `check_interrupts` is called at least every 64 KiB of text.
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
    ) -> Result<(Cow<'a, str>, Origins), Error> {
        let mut record = Recorded::default();
        let text = recorded(self.characters, text, &mut record, check_interrupts)?;
        let places = if let Cow::Owned(_) = text { record.places() } else { Origins::default() };
        Ok((text, places))
    }
}

/// `text` after the steps; borrowed if nothing changes.
pub(super) fn normalize<'a>(
    steps: CharacterSteps,
    text: &'a str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Cow<'a, str>, Error> {
    recorded(steps, text, &mut Unrecorded, check_interrupts)
}

fn recorded<'a, R: PlaceRecord>(
    steps: CharacterSteps,
    text: &'a str,
    record: &mut R,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Cow<'a, str>, Error> {
    if steps == CharacterSteps::default() {
        return Ok(Cow::Borrowed(text));
    }
    let ascii = ByteSteps::new(steps);
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
    let table = FateTable::of(steps)?;
    let mut pass = Pass {
        steps,
        ascii,
        table,
        known: table.known(),
        out: memory::filled(0, text.len() + ROOM)?,
        end: 0,
        spaced: true,
        record,
    };
    pass.all(text, check_interrupts)?;
    if steps.whitespace && pass.out[..pass.end].ends_with(b" ") {
        pass.end -= 1;
    }
    pass.out.truncate(pass.end);
    if pass.out == text.as_bytes() {
        return Ok(Cow::Borrowed(text));
    }
    let normalized = into_text(pass.out);
    Ok(Cow::Owned(normalized.unwrap_or_else(|| unreachable!("whole characters"))))
}

/// Normalises a text of only ASCII, as most documents are, in one go.
fn short_ascii<'a>(
    steps: CharacterSteps,
    ascii: ByteSteps,
    text: &'a str,
    record: &mut impl PlaceRecord,
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

/// The room that a block may write: itself, in copies of fixed size.
const ROOM: usize = 2 * BLOCK;

struct Pass<'a, R: PlaceRecord> {
    steps: CharacterSteps,
    ascii: ByteSteps,
    table: &'static FateTable,
    /// Characters that stay.
    known: CharSet,
    /// The output, and room behind it.
    out: Vec<u8>,
    /// The end of the output.
    end: usize,
    /// True if the output is empty or ends with a space.
    spaced: bool,
    record: &'a mut R,
}

/// The reasons why blocks end.
enum Stop {
    /// There is no room for the next, or enough was done.
    Paused,
    /// The character there takes more bytes than before.
    Longer,
    /// A text cannot be cut before the character behind, so what is from there on is worked out.
    Depends,
}

impl<R: PlaceRecord> Pass<'_, R> {
    fn all(&mut self, text: &str, check_interrupts: &mut dyn FnMut()) -> Result<(), Error> {
        let bytes = text.as_bytes();
        // Here the text can always be cut.
        let mut at = 0;
        while at < bytes.len() {
            check_interrupts();
            let limit = bytes.len().min(at + PIECE);
            while at < limit {
                self.make_room(ROOM)?;
                let level = self.ascii.level;
                let (stopped_at, stop) = level.compiled(
                    #[inline(always)]
                    || self.blocks(bytes, at, limit),
                )?;
                at = match stop {
                    Stop::Paused => stopped_at,
                    Stop::Longer => self.longer(text, stopped_at, check_interrupts)?,
                    Stop::Depends => self.segment(text, stopped_at, check_interrupts)?,
                };
            }
        }
        Ok(())
    }

    /// Room for so many bytes behind the output.
    fn make_room(&mut self, room: usize) -> Result<(), Error> {
        let wanted = self.end + room;
        if wanted <= self.out.len() {
            return Ok(());
        }
        memory::resize(&mut self.out, wanted + wanted / 4, 0)
    }

    /// Blocks from byte `at` on, up to about `limit`. The steps for ASCII are done to a block as
    /// if nothing else was in it, then each other character that changes is written in its place.
    #[inline(always)]
    fn blocks(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        limit: usize,
    ) -> Result<(usize, Stop), Error> {
        while at < limit && self.end + ROOM <= self.out.len() {
            let part = &bytes[at..bytes.len().min(at + BLOCK)];
            let block = filled(part);
            let mapped = self.ascii.mapped_block(&block);
            let removed = self.ascii.removed_bits(&block);
            let wide = self.ascii.level.upper_bits(&block);
            let (length, stop) = if wide == 0 && removed == 0 {
                // ASCII that the next block can do without.
                let next = bytes.get(at + part.len());
                let cut = next.is_none_or(|byte| byte.is_ascii() && !self.ascii.removes(*byte));
                let length = if cut { part.len() } else { part.len() - 1 };
                self.write(&block, &mapped, 0, length)?;
                (length, None)
            } else {
                self.mixed_block(bytes, at, &block, mapped, removed, wide)?
            };
            at += length;
            if let Some(stop) = stop {
                return Ok((at, stop));
            }
        }
        Ok((at, Stop::Paused))
    }

    /// A block with other characters than ASCII, or with bytes that are removed. Returns how many
    /// bytes of it were done, up to where the text can be cut.
    #[inline(always)]
    fn mixed_block(
        &mut self,
        bytes: &[u8],
        at: usize,
        block: &AsciiBlock,
        mut mapped: AsciiBlock,
        mut removed: u64,
        wide: u64,
    ) -> Result<(usize, Option<Stop>), Error> {
        let length = BLOCK.min(bytes.len() - at);
        let leads = leads(self.ascii.level, block);
        let end = if at + length == bytes.len() {
            length
        } else {
            // The next block starts with the last character before which the text can be cut, and
            // which may not be whole here.
            let cut = self.last_cut(bytes, at, leads);
            if cut == 0 {
                return Ok((0, Some(Stop::Depends)));
            }
            cut
        };
        let ascii_removed = removed;
        let three = at_least(self.ascii.level, block, 3);
        let four = if three == 0 { 0 } else { at_least(self.ascii.level, block, 4) };
        let wide = leads & wide & below(end);
        let mut changing = wide & !self.staying(block, wide & !three, wide & three & !four);
        let mut stopped = None;
        while changing != 0 {
            let place = changing.trailing_zeros() as usize;
            changing &= changing - 1;
            let length = char_len(block[place]);
            let entry = self.table.entry(code_at(block, place));
            if entry.is_same() {
                continue;
            }
            if let Some((written, count)) = entry.in_place() {
                for (to, byte) in mapped[place..].iter_mut().zip(&written[..count]) {
                    *to = *byte;
                }
                removed |= below(place + length) & !below(place + count);
                continue;
            }
            let before = leads & below(place);
            if entry
                .follows()
                .is_some_and(|class| self.can_precede(bytes, at, before, ascii_removed, class))
            {
                continue;
            }
            stopped = Some(place);
            break;
        }
        let (cut, stop) = match stopped {
            None => (end, None),
            Some(place) if self.is_cut(bytes, at + place) => (place, Some(Stop::Longer)),
            Some(place) => (self.last_cut(bytes, at, leads & below(place)), Some(Stop::Depends)),
        };
        self.write(block, &mapped, removed & below(cut), cut)?;
        Ok((cut, stop))
    }

    /// Those of the characters of two and of three bytes that start in a block which are known to
    /// stay.
    #[inline(always)]
    fn staying(&self, block: &AsciiBlock, two: u64, three: u64) -> u64 {
        let mut staying = self.ascii.level.members(block, two, three, &self.known);
        let mut left = three & !staying;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            let stays = self.table.is_known_to_stay(code_of_three(block, place));
            staying |= u64::from(stays) << place;
        }
        staying
    }

    /// Writes what becomes of the first bytes of a block, but for those that are removed.
    #[inline(always)]
    fn write(
        &mut self,
        block: &AsciiBlock,
        mapped: &AsciiBlock,
        removed: u64,
        length: usize,
    ) -> Result<(), Error> {
        let dropped = self.ascii.dropped(mapped, removed, self.spaced);
        if R::LOOKS {
            self.record(block, mapped, dropped, length)?;
        }
        let (out, end, spaced) = (&mut self.out, self.end, &mut self.spaced);
        self.end =
            self.ascii.append_mapped(mapped, dropped, length, out, end, spaced, &mut Unrecorded);
        Ok(())
    }

    /// Records what becomes of each character in the first bytes of a block.
    fn record(
        &mut self,
        block: &AsciiBlock,
        mapped: &AsciiBlock,
        dropped: u64,
        length: usize,
    ) -> Result<(), Error> {
        self.record.reserve(length)?;
        let written = leads(self.ascii.level, mapped) & !dropped;
        let mut starts = leads(self.ascii.level, block) & below(length);
        while starts != 0 {
            let start = starts.trailing_zeros() as usize;
            starts &= starts - 1;
            let end = if starts == 0 { length } else { starts.trailing_zeros() as usize };
            match (written & below(end) & !below(start)).count_ones() {
                0 => self.record.dropped(1),
                1 => self.record.one_by_one(1),
                several => self.record.together(1, several as usize)?,
            }
        }
        Ok(())
    }

    /// The last of the characters that start where `leads` says before which the text can be cut,
    /// counted from byte `at` on, where it can be.
    #[inline(always)]
    fn last_cut(&self, bytes: &[u8], at: usize, mut leads: u64) -> usize {
        while leads > 1 {
            let last = leads.ilog2();
            if self.is_cut(bytes, at + last as usize) {
                return last as usize;
            }
            leads ^= 1 << last;
        }
        0
    }

    /// True if the text can be cut before byte `at`, where a character starts or the text ends.
    #[inline(always)]
    fn is_cut(&self, bytes: &[u8], at: usize) -> bool {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii() => !self.ascii.removes(*byte),
            Some(_) => self.table.entry(code_at(bytes, at)).is_cut(),
            None => true,
        }
    }

    /// True if a mark of a class stays behind the last of some characters, from byte `at` on.
    fn can_precede(&self, bytes: &[u8], at: usize, leads: u64, removed: u64, class: u8) -> bool {
        let Some(place) = leads.checked_ilog2() else { return false };
        match bytes[at + place as usize].is_ascii() {
            true => removed >> place & 1 == 0,
            false => self.table.entry(code_at(bytes, at + place as usize)).precedes(class),
        }
    }

    /// The character at byte `at`, which becomes a longer text if it stands by itself.
    fn longer(
        &mut self,
        text: &str,
        at: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<usize, Error> {
        let Some(c) = text[at..].chars().next() else { return Ok(at) };
        let end = at + c.len_utf8();
        if !self.is_cut(text.as_bytes(), end) {
            return self.segment(text, at, check_interrupts);
        }
        let (table, before) = (self.table, self.end);
        table.longer(c).chars().try_for_each(|c| self.push(c))?;
        self.record_together(1, before)?;
        Ok(end)
    }

    /// The text from byte `at`, where it can be cut, to where it can be cut next, which is
    /// returned.
    fn segment(
        &mut self,
        text: &str,
        at: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<usize, Error> {
        let bytes = text.as_bytes();
        let next = |at: usize| at + bytes.get(at).map_or(0, |lead| char_len(*lead));
        let mut end = next(at);
        let mut looked = at;
        while !self.is_cut(bytes, end) {
            if end - looked > PIECE {
                looked = end;
                check_interrupts();
            }
            end = next(end);
        }
        let segment = &text[at..end];
        let (before, spaced) = (self.end, self.spaced);
        if !self.push_pair(segment)? && !self.push_composed(segment)? {
            (self.end, self.spaced) = (before, spaced);
            let settled = settle(self.steps, segment, check_interrupts)?;
            checked(&settled, check_interrupts).try_for_each(|c| self.push(c))?;
        }
        if R::LOOKS {
            self.record_together(segment.chars().count(), before)?;
        }
        Ok(end)
    }

    /// Records that so many characters became what was written from byte `before` of the output on.
    fn record_together(&mut self, characters: usize, before: usize) -> Result<(), Error> {
        // Bytes that start a character.
        let starts = self.out[before..self.end].iter().filter(|byte| !(0x80..0xC0).contains(*byte));
        self.record.together(characters, starts.count())
    }

    /// A letter and a mark that neither compose nor change alone: they stay. Returns whether it
    /// is so.
    fn push_pair(&mut self, segment: &str) -> Result<bool, Error> {
        let mut chars = segment.chars();
        let (Some(letter), Some(mark), None) = (chars.next(), chars.next(), chars.next()) else {
            return Ok(false);
        };
        let mut parts = 0;
        decompose_canonical(letter, |_| parts += 1);
        let stays = self.steps.form != NormalForm::AsWritten
            && !self.steps.diacritics
            && parts == 1
            && matches!(self.fate(letter), Fate::Same)
            && self.table.entry(u32::from(mark)).is_alone()
            && compose(letter, mark).is_none();
        if stays {
            self.push(letter)?;
            self.push(mark)?;
        }
        Ok(stays)
    }

    /// Most segments are a letter and its mark, or the letters of a syllable,
    /// which are one character that the table knows. For a normal form it is
    /// the same to start from the composed text. Returns whether it was so; if not, something
    /// may have been pushed.
    fn push_composed(&mut self, segment: &str) -> Result<bool, Error> {
        if self.steps.form == NormalForm::AsWritten || segment.len() > SHORT_SEGMENT {
            return Ok(false);
        }
        for c in segment.nfc() {
            match self.fate(c) {
                Fate::Same => self.push(c)?,
                Fate::Becomes(c) => self.push(c)?,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Applies the steps to a character by itself.
    fn fate(&self, c: char) -> Fate {
        match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() && self.ascii.removes(byte) => Fate::Removed,
            Ok(byte) if byte.is_ascii() => Fate::Becomes(char::from(self.ascii.mapped(byte))),
            _ => self.table.fate(c),
        }
    }

    fn push(&mut self, c: char) -> Result<(), Error> {
        if c == ' ' && self.steps.whitespace && self.spaced {
            return Ok(());
        }
        self.make_room(4)?;
        self.spaced = c == ' ';
        self.end += c.encode_utf8(&mut self.out[self.end..]).len();
        Ok(())
    }
}
