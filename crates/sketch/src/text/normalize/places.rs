//! Records the origins of the characters of a normalised text.

use std::ops::Range;

use crate::{Result, memory};

/// The origins in the original text of the characters of a normalised text. Both are counted in characters, from 0. By
/// default nothing has changed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Origins(Vec<StageOrigins>);

/// The origins of the characters after a stage of the normalisation that changed the text. There is at least one
/// segment.
#[derive(Clone, Debug, Eq, PartialEq)]
struct StageOrigins(Vec<Segment>);

/// A part of the normalised text, up to the next segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Segment {
    /// Its first character.
    normalized: u32,
    /// The corresponding character of the original.
    original: u32,
    /// 0 if the characters correspond one by one; else the number of original characters from which all of them come.
    together: u32,
}

impl Origins {
    /// The characters of the original from which `range` comes, widened to those that were normalised together.
    pub(crate) fn original(&self, range: Range<usize>) -> Range<usize> {
        self.0.iter().rev().fold(range, |range, stage| stage.original(range))
    }

    /// Appends the next stage that changed the text.
    pub(super) fn push(&mut self, record: PlaceRecord) -> Result<()> {
        memory::push(&mut self.0, StageOrigins(record.segments))
    }
}

impl StageOrigins {
    fn original(&self, range: Range<usize>) -> Range<usize> {
        if self.0.is_empty() || range.is_empty() {
            return range;
        }
        self.of(range.start).start..self.of(range.end - 1).end
    }

    /// The origin of a character.
    fn of(&self, place: usize) -> Range<usize> {
        let after = self.0.partition_point(|segment| segment.normalized as usize <= place);
        let segment = self.0[after.saturating_sub(1)];
        let start = segment.original as usize;
        match segment.together as usize {
            0 => {
                let start = start + place - segment.normalized as usize;
                start..start + 1
            }
            together => start..start + together,
        }
    }
}

/// Records the change of each character, in order.
#[derive(Default)]
pub(super) struct PlaceRecord {
    segments: Vec<Segment>,
    /// Number of original characters recorded, and number of resulting characters.
    original: u32,
    normalized: u32,
}

impl PlaceRecord {
    /// Makes room for recording `characters`, except for calls of [`Self::together`].
    pub(super) fn reserve(&mut self, characters: usize) -> Result<()> {
        // A segment starts after dropped characters.
        memory::reserve(&mut self.segments, characters / 2 + 1)
    }

    /// Records that `count` characters stayed, or were replaced one by one. There must be room for it.
    pub(super) fn one_by_one(&mut self, count: usize) {
        let Self { original, normalized, .. } = *self;
        let shift = original.wrapping_sub(normalized);
        let goes_on = |last: &Segment| last.together == 0 && last.original.wrapping_sub(last.normalized) == shift;
        if count > 0 && !self.segments.last().is_some_and(goes_on) {
            self.segments.push(Segment { normalized, original, together: 0 });
        }
        self.original += count as u32;
        self.normalized += count as u32;
    }

    /// Records that `count` characters were dropped.
    pub(super) fn dropped(&mut self, count: usize) {
        self.original += count as u32;
    }

    /// Records that `original` characters became `normalized` characters together.
    pub(super) fn together(&mut self, original: usize, normalized: usize) -> Result<()> {
        if normalized > 0 {
            let together = original as u32;
            let segment = Segment { normalized: self.normalized, original: self.original, together };
            memory::push(&mut self.segments, segment)?;
        }
        self.original += original as u32;
        self.normalized += normalized as u32;
        Ok(())
    }
}
