//! One pass over a text: runs of ASCII in blocks, other characters by the table, and characters that may affect their
//! neighbours by definition.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, decompose_canonical};

use super::ascii::{AsciiBlock, BLOCK, ByteSteps, append_kept, filled};
use super::definition::settle;
use super::fates::{Fate, FateTable};
use super::places::PlaceRecord;
use super::steps::{CharacterSteps, NormalForm};
use crate::limits::checked;
use crate::simd::{CharSet, into_text};
use crate::text::chars::{OF_FOUR, OF_THREE, below, char_len, code_at, code_of_three, leads};
use crate::{Check, Result, memory};

/// Bytes between two calls of the check.
const PIECE: usize = 16 * 1024;

/// Length of a segment in bytes above which it is normalised by definition: the crate's iterators would keep all its
/// marks in memory that they allocate infallibly.
const SHORT_SEGMENT: usize = 64;

/// Returns `text` after the steps; `None` if nothing changes. `record` gets the changes of characters.
pub(super) fn normalized(
    steps: CharacterSteps,
    text: &str,
    record: Option<&mut PlaceRecord>,
    check: Check,
) -> Result<Option<String>> {
    if steps == CharacterSteps::default() {
        return Ok(None);
    }
    let table = FateTable::of(steps)?;
    let mut pass = Pass {
        steps,
        ascii: ByteSteps::new(steps),
        table,
        known: if text.is_ascii() { CharSet::EMPTY } else { table.known() },
        out: memory::filled(0, text.len() + ROOM)?,
        end: 0,
        spaced: true,
        record,
    };
    pass.all(text, check)?;
    if steps.whitespace && pass.out[..pass.end].ends_with(b" ") {
        pass.end -= 1;
    }
    pass.out.truncate(pass.end);
    if pass.out == text.as_bytes() {
        return Ok(None);
    }
    let normalized = into_text(pass.out);
    Ok(Some(normalized.unwrap_or_else(|| unreachable!("whole characters"))))
}

/// Space that a block may write: its own size, in copies of fixed size.
const ROOM: usize = 2 * BLOCK;

struct Pass<'a> {
    steps: CharacterSteps,
    ascii: ByteSteps,
    table: &'static FateTable,
    /// Characters that are known to stay.
    known: CharSet,
    /// The output, with spare space after it.
    out: Vec<u8>,
    end: usize,
    /// True if the output is empty or ends with a space.
    spaced: bool,
    record: Option<&'a mut PlaceRecord>,
}

impl Pass<'_> {
    fn all(&mut self, text: &str, check: Check) -> Result<()> {
        let bytes = text.as_bytes();
        // The text can always be cut here.
        let mut at = 0;
        while at < bytes.len() {
            check();
            let limit = bytes.len().min(at + PIECE);
            while at < limit {
                self.make_room(ROOM)?;
                let level = self.ascii.level;
                let is_done;
                (at, is_done) = level.compiled(
                    #[inline(always)]
                    || self.blocks(bytes, at, limit),
                )?;
                if !is_done {
                    at = self.segment(text, at, check)?;
                }
            }
        }
        Ok(())
    }

    /// Makes space for `room` bytes after the output.
    fn make_room(&mut self, room: usize) -> Result<()> {
        let wanted = self.end + room;
        if wanted <= self.out.len() {
            return Ok(());
        }
        memory::resize(&mut self.out, wanted + wanted / 4, 0)
    }

    /// Processes blocks from byte `at` to about `limit`, as far as there is space. The steps for ASCII are applied to a
    /// whole block, then each other character that changes is written in its place. Returns the end, where the text can
    /// be cut, and true if blocks can continue there; otherwise a segment must be normalised.
    #[inline(always)]
    fn blocks(&mut self, bytes: &[u8], mut at: usize, limit: usize) -> Result<(usize, bool)> {
        while at < limit && self.end + ROOM <= self.out.len() {
            let part = &bytes[at..bytes.len().min(at + BLOCK)];
            let block = filled(part);
            let mapped = self.ascii.mapped_block(&block);
            let removed = self.ascii.removed_bits(&block);
            let wide = self.ascii.level.upper_bits(&block);
            let (length, is_done) = if wide == 0 && removed == 0 {
                // ASCII that does not depend on the next block.
                let next = bytes.get(at + part.len());
                let cut = next.is_none_or(|byte| byte.is_ascii() && !self.ascii.removes(*byte));
                let length = if cut { part.len() } else { part.len() - 1 };
                self.write(&block, &mapped, 0, length)?;
                (length, true)
            } else {
                self.mixed_block(bytes, at, &block, mapped, removed, wide)?
            };
            at += length;
            if !is_done {
                return Ok((at, false));
            }
        }
        Ok((at, true))
    }

    /// Processes a block with non-ASCII characters or removed bytes. Returns the number of processed bytes, up to a
    /// cut, and true if blocks can continue there.
    #[inline(always)]
    fn mixed_block(
        &mut self,
        bytes: &[u8],
        at: usize,
        block: &AsciiBlock,
        mut mapped: AsciiBlock,
        mut removed: u64,
        wide: u64,
    ) -> Result<(usize, bool)> {
        let length = BLOCK.min(bytes.len() - at);
        let level = self.ascii.level;
        let leads = leads(level, block);
        let end = if at + length == bytes.len() {
            length
        } else {
            // The next block starts with the last character before which the text can be cut; it may be incomplete
            // here.
            let cut = self.last_cut(bytes, at, leads);
            if cut == 0 {
                return Ok((0, false));
            }
            cut
        };
        let ascii_removed = removed;
        let three = level.bits(block, |byte| byte >= OF_THREE);
        let four = if three == 0 { 0 } else { level.bits(block, |byte| byte >= OF_FOUR) };
        let wide = leads & wide & below(end);
        let mut changing = wide & !self.staying(block, wide & !three, wide & three & !four);
        let mut stopped = None;
        while changing != 0 {
            let place = changing.trailing_zeros() as usize;
            changing &= changing - 1;
            let length = char_len(block[place]);
            let entry = self.table.entry(code_at(block, place));
            if entry == Fate::Same {
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
            if let Fate::Follows(class) = entry
                && self.can_precede(bytes, at, before, ascii_removed, class)
            {
                continue;
            }
            stopped = Some(place);
            break;
        }
        let cut = stopped.map_or(end, |place| self.last_cut(bytes, at, leads & below(place + 1)));
        self.write(block, &mapped, removed & below(cut), cut)?;
        Ok((cut, stopped.is_none()))
    }

    /// The characters of two and three bytes starting in a block that are known to stay.
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

    /// Writes the results of the first bytes of a block, without the removed ones.
    #[inline(always)]
    fn write(&mut self, block: &AsciiBlock, mapped: &AsciiBlock, removed: u64, length: usize) -> Result<()> {
        let dropped = self.ascii.dropped(mapped, removed, self.spaced);
        if self.record.is_some() {
            self.record(block, mapped, dropped, length)?;
        }
        let start = self.end;
        self.end = append_kept(mapped, dropped, length, &mut self.out, start);
        if self.end > start {
            self.spaced = self.out[self.end - 1] == b' ';
        }
        Ok(())
    }

    /// Records the change of each character in the first bytes of a block.
    fn record(&mut self, block: &AsciiBlock, mapped: &AsciiBlock, dropped: u64, length: usize) -> Result<()> {
        let Some(record) = &mut self.record else { return Ok(()) };
        record.reserve(length)?;
        let written = leads(self.ascii.level, mapped) & !dropped;
        let mut starts = leads(self.ascii.level, block) & below(length);
        if starts == written & below(length) {
            record.one_by_one(starts.count_ones() as usize);
            return Ok(());
        }
        while starts != 0 {
            let start = starts.trailing_zeros() as usize;
            starts &= starts - 1;
            let end = if starts == 0 { length } else { starts.trailing_zeros() as usize };
            match (written & below(end) & !below(start)).count_ones() {
                0 => record.dropped(1),
                1 => record.one_by_one(1),
                several => record.together(1, several as usize)?,
            }
        }
        Ok(())
    }

    /// The last character starting at one of `leads` before which the text can be cut, relative to byte `at`, where it
    /// can be cut.
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

    /// True if a mark of class `class` stays after the last of some characters, which start at `leads` from byte `at`.
    fn can_precede(&self, bytes: &[u8], at: usize, leads: u64, removed: u64, class: u8) -> bool {
        let Some(place) = leads.checked_ilog2() else { return false };
        match bytes[at + place as usize].is_ascii() {
            true => removed >> place & 1 == 0,
            false => self.table.entry(code_at(bytes, at + place as usize)).precedes(class),
        }
    }

    /// Normalises the text from byte `at` to the next cut, which is returned.
    fn segment(&mut self, text: &str, at: usize, check: Check) -> Result<usize> {
        let bytes = text.as_bytes();
        let next = |at: usize| at + bytes.get(at).map_or(0, |lead| char_len(*lead));
        let mut end = next(at);
        let mut looked = at;
        while !self.is_cut(bytes, end) {
            if end - looked > PIECE {
                looked = end;
                check();
            }
            end = next(end);
        }
        let segment = &text[at..end];
        let (before, spaced) = (self.end, self.spaced);
        if !self.push_known(segment)? {
            (self.end, self.spaced) = (before, spaced);
            let settled = settle(self.steps, segment, check)?;
            checked(settled.chars(), check).try_for_each(|c| self.push(c))?;
        }
        if let Some(record) = &mut self.record {
            // Bytes at which a character starts.
            let written = &self.out[before..self.end];
            let starts = written.iter().filter(|byte| !(0x80..0xC0).contains(*byte));
            record.together(segment.chars().count(), starts.count())?;
        }
        Ok(end)
    }

    /// Writes a segment if the table covers it. False if not; then something may have been written already.
    ///
    /// Most such segments are a character that becomes larger, a letter with its mark, or the letters of a syllable,
    /// which compose to a character in the table. Starting from the composed text does not change a normal form.
    fn push_known(&mut self, segment: &str) -> Result<bool> {
        let first = segment.chars().next().map_or(0, char::len_utf8);
        if first == segment.len() {
            return self.push_apart(segment.chars());
        }
        if self.steps.form == NormalForm::AsWritten || segment.len() > SHORT_SEGMENT {
            return Ok(false);
        }
        Ok(self.push_pair(segment)? || self.push_apart(segment.nfc())?)
    }

    /// Writes characters that do not affect their neighbours; false if one does.
    fn push_apart(&mut self, chars: impl Iterator<Item = char>) -> Result<bool> {
        for c in chars {
            let entry = self.table.entry(u32::from(c));
            if !entry.is_cut() {
                return Ok(false);
            }
            let (mut own, table) = ([0; 4], self.table);
            let written: &str = match entry.in_place() {
                _ if entry == Fate::Same => c.encode_utf8(&mut own),
                Some((bytes, length)) => {
                    own = bytes;
                    std::str::from_utf8(&own[..length]).unwrap_or_default()
                }
                None => table.longer(c),
            };
            written.chars().try_for_each(|c| self.push(c))?;
        }
        Ok(true)
    }

    /// Writes a letter and a mark that neither compose nor change alone; false for other segments.
    fn push_pair(&mut self, segment: &str) -> Result<bool> {
        let mut chars = segment.chars();
        let (Some(letter), Some(mark), None) = (chars.next(), chars.next(), chars.next()) else {
            return Ok(false);
        };
        let mut parts = 0;
        decompose_canonical(letter, |_| parts += 1);
        let stays = !self.steps.diacritics
            && parts == 1
            && self.table.entry(u32::from(letter)) == Fate::Same
            && matches!(self.table.entry(u32::from(mark)), Fate::Follows(_) | Fate::Stays)
            && compose(letter, mark).is_none();
        if stays {
            self.push(letter)?;
            self.push(mark)?;
        }
        Ok(stays)
    }

    fn push(&mut self, c: char) -> Result<()> {
        if c == ' ' && self.steps.whitespace && self.spaced {
            return Ok(());
        }
        self.make_room(4)?;
        self.spaced = c == ' ';
        self.end += c.encode_utf8(&mut self.out[self.end..]).len();
        Ok(())
    }
}
