//! The hashes of shingles.

use std::ops::ControlFlow;

use super::as_texts::for_each_window;
use super::char_starts::CharStarts;
use super::hash_buffer::{CHUNK, HashBuffer};
use crate::config::Config;
use crate::error::Error;
use crate::hash::{ElementHash, mix::GOLDEN, xxh3};
use crate::limits::MAX_SHINGLE_SIZE;
use crate::memory;
use crate::simd::Level;
use crate::text::chars::{ascii_prefix, is_blank};
use crate::text::{Unit, words};

/// Appends the hash of each shingle of a normalised text to `out`.
pub(crate) fn append_hashes(
    config: &Config,
    level: Level,
    text: &str,
    out: &mut Vec<u64>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    let mut outcome = Ok(());
    let mut append = |chunk: &mut [u64], _: &mut dyn FnMut()| {
        outcome = memory::extend(out, chunk);
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    // No text has more shingles than bytes.
    let mut buffer = memory::filled(0, text.len().clamp(1, CHUNK))?;
    let mut chunks = HashBuffer::new(&mut buffer, check_interrupts, &mut append);
    text_hashes(config, level, text, &mut chunks)?;
    chunks.deliver();
    outcome
}

/// Hands the hash of each shingle of a normalised text to `chunks`.
pub(crate) fn text_hashes(
    config: &Config,
    level: Level,
    text: &str,
    chunks: &mut HashBuffer,
) -> Result<(), Error> {
    let (scheme, size) = (config.scheme(), config.shingle_size());
    match config.unit() {
        Unit::Char if scheme.element_hash() == ElementHash::Xxh3 => {
            char_windows(level, text, size, chunks);
        }
        Unit::Word if !scheme.is_datasketch() => {
            word_windows::<false>(config, level, text, chunks);
        }
        Unit::Anchored if !scheme.is_datasketch() => {
            word_windows::<true>(config, level, text, chunks);
        }
        // The chunks call the check_interrupts.
        _ => for_each_window(config, text, &mut || (), &mut |shingle| {
            chunks.push(scheme.element_hash().hash(shingle.as_bytes()));
            Ok(())
        })?,
    }
    Ok(())
}

/// Windows of characters. Long runs of ASCII, where all windows are equally
/// long, go to the kernel for those, what is between them to the one for ranges.
fn char_windows(level: Level, text: &str, size: usize, chunks: &mut HashBuffer) {
    /// The shortest run of ASCII that is worth a kernel's setup.
    const RUN: usize = 128;
    if is_blank(text, &mut || chunks.check_interrupts()) {
        return;
    }
    let bytes = text.as_bytes();
    let mut starts = CharStarts::new();
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
        let count = starts.find(level, bytes, at);
        if count <= size {
            // Fewer characters than a window has: the text is its only shingle.
            chunks.push(xxh3::hash(&bytes[at..]));
            return;
        }
        let windows = (count - size).min(chunks.free());
        let found = starts.found(count);
        level.ranges(starts.counted(bytes), found, &found[size..], chunks.room(windows));
        if starts.byte(windows + size - 1) == bytes.len() {
            return;
        }
        at = starts.byte(windows);
    }
}

/// Windows of words. The hash of a window is a polynomial in G with the words'
/// hashes as coefficients, so it moves by one word with two multiplications,
/// whatever the size; several polynomials are mixed at once. If they are
/// anchored, only those windows count that start with a stop word.
fn word_windows<const ANCHORED: bool>(
    config: &Config,
    level: Level,
    text: &str,
    chunks: &mut HashBuffer,
) {
    let (rules, size) = (config.rules(), config.shingle_size());
    let leaving_weight = (0..size).fold(1_u64, |weight, _| weight.wrapping_mul(GOLDEN));
    // The last `size` word hashes, the oldest at `next`; zero before the first.
    let mut recent = [0_u64; MAX_SHINGLE_SIZE];
    // Whether a shingle can start with the word so many words ago, as bits.
    let mut starts = 0_u64;
    let mut next = 0;
    let mut words = 0;
    let mut polynomial = 0_u64;
    let mut any = false;
    let mut mixer = Mixer::new(level, size, chunks);
    let mut batch = WordBatch::new();
    for piece in words::pieces(text) {
        if !mixer.chunks.is_wanted() {
            return;
        }
        mixer.chunks.check_interrupts();
        let mut enter = |word: &str, entering: u64| {
            let leaving = std::mem::replace(&mut recent[next], entering);
            next = if next + 1 == size { 0 } else { next + 1 };
            polynomial = polynomial
                .wrapping_mul(GOLDEN)
                .wrapping_add(entering)
                .wrapping_sub(leaving.wrapping_mul(leaving_weight));
            words += 1;
            if ANCHORED {
                starts = starts << 1 | u64::from(rules.starts_shingle(word));
            }
            if words >= size && (!ANCHORED || starts >> (size - 1) & 1 == 1) {
                mixer.push(polynomial);
                any = true;
            }
        };
        rules.words(
            level,
            piece,
            #[inline(always)]
            |start, end| batch.push::<ANCHORED>(level, piece, start, end, &mut enter),
        );
        batch.deliver::<ANCHORED>(level, piece, &mut enter);
    }
    mixer.deliver();
    if !any && words > 0 {
        all_words(config, level, text, chunks);
    }
}

/// The one shingle of a text with fewer words than a window, or without an
/// anchor.
#[cold]
fn all_words(config: &Config, level: Level, text: &str, chunks: &mut HashBuffer) {
    let (mut polynomial, mut words) = (0_u64, 0);
    for piece in words::pieces(text) {
        chunks.check_interrupts();
        config.rules().words(level, piece, |start, end| {
            let entering = xxh3::hash(&piece.as_bytes()[start..end]);
            polynomial = polynomial.wrapping_mul(GOLDEN).wrapping_add(entering);
            words += 1;
        });
    }
    let mut mixer = Mixer::new(level, words, chunks);
    mixer.push(polynomial);
    mixer.deliver();
}

/// Words that are hashed at once.
const WORDS: usize = 128;

/// Words of a piece, which are hashed when there are enough.
struct WordBatch {
    /// The byte of the piece from which the others are counted.
    base: usize,
    starts: [u32; WORDS],
    ends: [u32; WORDS],
    filled: usize,
}

impl WordBatch {
    fn new() -> Self {
        Self { base: 0, starts: [0; WORDS], ends: [0; WORDS], filled: 0 }
    }

    /// Adds a word; hands on the words of a full batch with their hashes. With `SEEN` the words
    /// are looked at, else they are not handed on.
    #[inline(always)]
    fn push<const SEEN: bool>(
        &mut self,
        level: Level,
        piece: &str,
        start: usize,
        end: usize,
        f: &mut impl FnMut(&str, u64),
    ) {
        if self.filled == WORDS || end - self.base > u32::MAX as usize {
            self.deliver::<SEEN>(level, piece, f);
        }
        if self.filled == 0 {
            // What hashes ranges reads eight bytes before their ends.
            self.base = start.saturating_sub(8);
            if end - self.base > u32::MAX as usize {
                return f(&piece[start..end], xxh3::hash(&piece.as_bytes()[start..end]));
            }
        }
        self.starts[self.filled] = (start - self.base) as u32;
        self.ends[self.filled] = (end - self.base) as u32;
        self.filled += 1;
    }

    /// Hands on what there is.
    #[inline(never)]
    fn deliver<const SEEN: bool>(
        &mut self,
        level: Level,
        piece: &str,
        f: &mut impl FnMut(&str, u64),
    ) {
        let mut hashes = [0; WORDS];
        let counted = &piece.as_bytes()[self.base.min(piece.len())..];
        let (starts, ends) = (&self.starts[..self.filled], &self.ends[..self.filled]);
        level.ranges(counted, starts, ends, &mut hashes[..self.filled]);
        for ((start, end), hash) in starts.iter().zip(ends).zip(hashes) {
            let word = if SEEN {
                &piece[self.base + *start as usize..self.base + *end as usize]
            } else {
                ""
            };
            f(word, hash);
        }
        (self.filled, self.base) = (0, 0);
    }
}

/// The most polynomials that are mixed at once.
const BATCH: usize = 64;

/// Makes hashes of polynomials of `size` words, [`BATCH`] at once. Those
/// of one word are hashes already.
struct Mixer<'a, 'b> {
    level: Level,
    size: usize,
    chunks: &'a mut HashBuffer<'b>,
    batch: [u64; BATCH],
    filled: usize,
}

impl<'a, 'b> Mixer<'a, 'b> {
    fn new(level: Level, size: usize, chunks: &'a mut HashBuffer<'b>) -> Self {
        Self { level, size, chunks, batch: [0; BATCH], filled: 0 }
    }

    #[inline(always)]
    fn push(&mut self, polynomial: u64) {
        self.batch[self.filled] = polynomial;
        self.filled += 1;
        if self.filled == BATCH {
            self.deliver();
        }
    }

    /// Hands on what there is.
    fn deliver(&mut self) {
        let batch = &mut self.batch[..self.filled];
        if self.size > 1 {
            self.level.mix(batch, 0);
        }
        batch.iter().for_each(|hash| self.chunks.push(*hash));
        self.filled = 0;
    }
}
