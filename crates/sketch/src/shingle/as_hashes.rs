//! The hashes of shingles.

use std::cell::RefCell;
use std::ops::ControlFlow;

use super::as_texts::for_each_window;
use super::hash_buffer::{CHUNK, HashBuffer, Sink};
use crate::hash::mix::{GOLDEN, mix64};
use crate::hash::{ElementHash, xxh3};
use crate::simd::{CLASSES_BLOCK as BLOCK, Level};
use crate::text::chars::{ascii_prefix, is_blank, leads};
use crate::text::{Unit, words};
use crate::{Check, Config, MAX_SHINGLE_SIZE, Result, memory};

/// Appends the hash of each shingle of a normalised text to `out`.
pub(crate) fn append_hashes(config: &Config, level: Level, text: &str, out: &mut Vec<u64>, check: Check) -> Result<()> {
    if text.len() <= CHUNK {
        return append_chunk(config, level, text, out, check);
    }
    let mut outcome = Ok(());
    let mut append = |chunk: &mut [u64], _: Check| {
        outcome = memory::extend(out, chunk);
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut buffer = memory::filled(0, CHUNK)?;
    text_hashes(config, level, text, &mut buffer, check, &mut append)?;
    outcome
}

/// [`append_hashes`] for a text whose hashes fill at most one chunk: they are made in place.
fn append_chunk(config: &Config, level: Level, text: &str, out: &mut Vec<u64>, check: Check) -> Result<()> {
    let start = out.len();
    // A text has at most as many shingles as bytes.
    memory::resize(out, start + text.len().max(1), 0)?;
    let mut count = 0;
    let mut keep = |chunk: &mut [u64], _: Check| {
        count = chunk.len();
        ControlFlow::Continue(())
    };
    let made = text_hashes(config, level, text, &mut out[start..], check, &mut keep);
    out.truncate(start + count);
    made
}

/// Calls `sink` with the hashes of the shingles of a normalised text, in chunks as long as `buffer`, which is scratch
/// memory.
pub(crate) fn text_hashes(
    config: &Config,
    level: Level,
    text: &str,
    buffer: &mut [u64],
    check: Check,
    sink: Sink,
) -> Result<()> {
    let mut chunks = HashBuffer::new(buffer, check, sink);
    let (scheme, size) = (config.scheme(), config.shingle_size());
    match config.unit() {
        Unit::Char if scheme.element_hash() == ElementHash::Xxh3 => {
            char_windows(level, text, size, &mut chunks);
        }
        Unit::Word | Unit::Anchored if !scheme.is_datasketch() => {
            word_windows(config, level, text, &mut chunks);
        }
        // `chunks` calls the check.
        _ => for_each_window(config, text, &mut || (), &mut |shingle| {
            chunks.push(scheme.element_hash().hash(shingle.as_bytes()));
            Ok(())
        })?,
    }
    chunks.deliver();
    Ok(())
}

/// Windows of characters. Long runs of ASCII, where all windows have the same length, go to their own kernel, and the
/// text between them goes to the kernel for ranges.
fn char_windows(level: Level, text: &str, size: usize, chunks: &mut HashBuffer) {
    /// Length of ASCII from which its kernel's setup pays.
    const RUN: usize = 128;
    if is_blank(text, &mut || chunks.check()) {
        return;
    }
    let bytes = text.as_bytes();
    let mut starts = [0; PART + BLOCK];
    // The first character of the next window.
    let mut at = 0;
    while chunks.is_wanted() {
        let limit = bytes.len().min(at + size - 1 + chunks.free());
        let run = ascii_prefix(&bytes[at..limit]);
        if run >= size && (run >= size + RUN || at + run == bytes.len()) {
            let windows = run - size + 1;
            level.windows(&bytes[at..at + run], size, chunks.room(windows));
            if at + run == bytes.len() {
                return;
            }
            at += windows;
            continue;
        }
        // Positions are relative to this, so they are small. The kernel for ranges reads eight bytes before their ends.
        let base = at.saturating_sub(8);
        let count = char_starts(level, bytes, at, base, &mut starts);
        if count <= size {
            // Only a short text gets here: it has fewer characters than a window, and is its only shingle.
            chunks.push(xxh3::hash(&bytes[at..]));
            return;
        }
        let windows = (count - size).min(chunks.free());
        let found = &starts[..count];
        level.ranges(&bytes[base..], found, &found[size..], chunks.room(windows));
        if base + found[windows + size - 1] as usize == bytes.len() {
            return;
        }
        at = base + found[windows] as usize;
    }
}

/// Windows of words. For anchored shingles only windows that start with a stop word count.
fn word_windows(config: &Config, level: Level, text: &str, chunks: &mut HashBuffer) {
    let (rules, is_anchored) = (config.rules(), config.unit() == Unit::Anchored);
    let mut windows = WordWindows::new(config.shingle_size());
    let mut batch = WordBatch { starts: [0; WORDS], ends: [0; WORDS], filled: 0 };
    // Both the closure for words and the one between them need `chunks`.
    let chunks = RefCell::new(chunks);
    for piece in words::pieces(text) {
        if !chunks.borrow().is_wanted() {
            return;
        }
        if u32::try_from(piece.len()).is_err() {
            // The numbers of a batch do not reach further.
            let _ = rules.try_words(piece, &mut || chunks.borrow_mut().check(), &mut |word| {
                windows.room(1)[0] = xxh3::hash(word.as_bytes());
                let anchors = rules.starts_shingle(word).into();
                windows.deliver(level, 1, anchors, &mut chunks.borrow_mut());
                Ok(())
            });
            continue;
        }
        let mut deliver = |batch: &mut WordBatch| {
            let mut anchors = u128::MAX;
            if is_anchored {
                anchors = batch
                    .words(piece)
                    .rev()
                    .fold(0, |anchors, word| anchors << 1 | u128::from(rules.starts_shingle(word)));
            }
            let hashes = windows.room(batch.filled);
            level.ranges(piece.as_bytes(), &batch.starts, &batch.ends, hashes);
            windows.deliver(level, batch.filled, anchors, &mut chunks.borrow_mut());
            batch.filled = 0;
        };
        rules.words(
            level,
            piece,
            &mut || chunks.borrow_mut().check(),
            #[inline(always)]
            |start, end| batch.push(start, end, &mut deliver),
        );
        deliver(&mut batch);
    }
    let WordWindows { all, words, any, .. } = windows;
    if !any && words > 0 {
        chunks.into_inner().push(if words > 1 { mix64(all) } else { all });
    }
}

/// Hashes windows of words. The hash of a window is a polynomial in G with the words' hashes as coefficients, so moving
/// it by a word takes two multiplications for any size. Several polynomials are mixed at once. A window of one word has
/// the word's hash.
struct WordWindows {
    size: usize,
    leaving_weight: u64,
    polynomial: u64,
    /// The hashes of the last `size` words, zero before the first, followed by the next words.
    hashes: [u64; MAX_SHINGLE_SIZE + WORDS],
    /// Bits for the words with which a shingle can start; the last word is the lowest bit.
    anchors: u64,
    words: usize,
    /// True if a window has counted. Until then all words are one shingle, as in a text with fewer words than a window,
    /// or without an anchor.
    any: bool,
    /// The polynomial of all words.
    all: u64,
}

impl WordWindows {
    fn new(size: usize) -> Self {
        Self {
            size,
            leaving_weight: (0..size).fold(1, |weight, _| GOLDEN.wrapping_mul(weight)),
            polynomial: 0,
            hashes: [0; MAX_SHINGLE_SIZE + WORDS],
            anchors: 0,
            words: 0,
            any: false,
            all: 0,
        }
    }

    /// Scratch buffer for the hashes of the next `count` words, at most [`WORDS`].
    fn room(&mut self, count: usize) -> &mut [u64] {
        &mut self.hashes[self.size..][..count]
    }

    /// Passes on the windows that end with the next `count` words, whose hashes are in `room`. Bit `i` of `anchors` is
    /// set if a shingle can start with the `i`-th of them. A window before the first complete one does not start with a
    /// word.
    #[inline(always)]
    fn deliver(&mut self, level: Level, count: usize, mut anchors: u128, chunks: &mut HashBuffer) {
        let hashes = &self.hashes[..self.size + count];
        let mut made = [0; WORDS];
        let mut filled = 0;
        let (entering, leaving) = (&hashes[self.size..], &hashes[..count]);
        for (entering, leaving) in entering.iter().zip(leaving).take(WORDS) {
            self.polynomial = self
                .polynomial
                .wrapping_mul(GOLDEN)
                .wrapping_add(*entering)
                .wrapping_sub(leaving.wrapping_mul(self.leaving_weight));
            made[filled] = self.polynomial;
            self.anchors = self.anchors << 1 | anchors as u64 & 1;
            anchors >>= 1;
            filled += (self.anchors >> (self.size - 1) & 1) as usize;
        }
        self.words += count;
        self.any |= filled > 0;
        if !self.any {
            let append = |all: u64, word: &u64| all.wrapping_mul(GOLDEN).wrapping_add(*word);
            self.all = entering.iter().fold(self.all, append);
        }
        self.hashes.copy_within(count..count + self.size, 0);
        if self.size > 1 {
            level.mix(&mut made[..filled], 0);
        }
        for part in made[..filled].chunks(chunks.free()) {
            chunks.room(part.len()).copy_from_slice(part);
        }
    }
}

/// Number of words that are hashed at once.
const WORDS: usize = 128;

/// Words of a piece, which are hashed once there are enough.
struct WordBatch {
    starts: [u32; WORDS],
    ends: [u32; WORDS],
    filled: usize,
}

impl WordBatch {
    /// Adds a word; passes on a full batch, and empties it.
    #[inline(always)]
    fn push(&mut self, start: usize, end: usize, deliver: &mut impl FnMut(&mut Self)) {
        if self.filled == WORDS {
            deliver(self);
        }
        self.starts[self.filled] = start as u32;
        self.ends[self.filled] = end as u32;
        self.filled += 1;
    }

    fn words<'a>(&self, piece: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        let places = self.starts.iter().zip(&self.ends).take(self.filled);
        places.map(move |(start, end)| &piece[*start as usize..*end as usize])
    }
}

/// Bytes processed together: more characters of any width than the longest window has.
const PART: usize = 8 * MAX_SHINGLE_SIZE;
const _: () = assert!(PART / 4 > MAX_SHINGLE_SIZE && PART.is_multiple_of(BLOCK));

/// Finds the characters that start in a part of a text from byte `at`, where one starts. Positions are relative to byte
/// `base`. If the text ends in this part, its end follows the last position. Returns their number.
///
/// `found` has space for a block, which is written completely.
fn char_starts(level: Level, text: &[u8], at: usize, base: usize, found: &mut [u32; PART + BLOCK]) -> usize {
    let end = text.len().min(at + PART);
    let mut count = level.compiled(
        #[inline(always)]
        || find(level, &text[at..end], (at - base) as u32, found),
    );
    if end == text.len() {
        found[count] = (end - base) as u32;
        count += 1;
    }
    count
}

#[inline(always)]
fn find(level: Level, part: &[u8], first: u32, found: &mut [u32; PART + BLOCK]) -> usize {
    let mut count = 0;
    let (blocks, rest) = part.as_chunks::<BLOCK>();
    // Continuation bytes fill the last block.
    let mut last = [0x80; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let last = Some(&last).filter(|_| !rest.is_empty());
    for (block, from) in blocks.iter().chain(last).zip((first..).step_by(BLOCK)) {
        let Some(room) = found[count..].first_chunk_mut() else { break };
        count += level.positions(leads(level, block), from, room);
    }
    count
}
