//! Shingle hashes, produced in chunks so that no text needs memory in
//! proportion to its length.

use crate::config::{Config, Unit};
use crate::mix::{GOLDEN, mix64};
use crate::shingle::{char_len, char_start, is_blank};
use crate::simd::Level;
use crate::words;
use crate::xxh3;

/// Hashes per chunk: 32 KiB, which a core's nearest cache holds.
pub(crate) const CHUNK: usize = 4096;

/// The hash of a ready-made element: XXH3_64, seed 0, of its bytes.
#[must_use]
pub fn element_hash(element: &[u8]) -> u64 {
    xxh3::hash(element)
}

/// Appends the hash of each shingle of `text` to `out`, in order and with
/// repeats; the seed of `config` plays no part.
///
/// A window of characters hashes to XXH3_64 (seed 0) of its UTF-8 bytes. A
/// window of words `1..=w`: `H = XXH3(w1)`, then `H = H * G + XXH3(wi)` modulo
/// 2^64 for each further word, and `mix64(H)` in the end; a window of one word
/// hashes to `XXH3(w1)`. `checkpoint` is called as by
/// [`Sketcher::sketch`](crate::Sketcher::sketch).
pub fn shingle_hashes(
    config: &Config,
    text: &str,
    out: &mut Vec<u64>,
    checkpoint: &mut dyn FnMut(),
) {
    let source = Source::Text(text);
    source.for_each_chunk(
        config,
        Level::best(),
        &mut Vec::new(),
        checkpoint,
        &mut |chunk, _| {
            out.extend_from_slice(chunk);
        },
    );
}

/// Where hashes come from. It can be read more than once.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Text(&'a str),
    Hashes(&'a [u64]),
}

/// What receives a chunk: free to change the hashes, and to call the
/// checkpoint while it works.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&mut [u64], &mut dyn FnMut());

impl Source<'_> {
    /// Calls `sink` for one chunk of hashes after the other, never for an empty
    /// one. `buffer` is scratch memory; in the end it holds the last chunk.
    pub(crate) fn for_each_chunk(
        self,
        config: &Config,
        level: Level,
        buffer: &mut Vec<u64>,
        checkpoint: &mut dyn FnMut(),
        sink: Sink,
    ) {
        let mut chunks = Chunks {
            buffer,
            checkpoint,
            sink,
        };
        chunks.buffer.clear();
        match self {
            Self::Hashes(hashes) => {
                for part in hashes.chunks(CHUNK) {
                    chunks.make_room();
                    chunks.buffer.extend_from_slice(part);
                }
            }
            Self::Text(text) => match config.unit() {
                Unit::Char => char_windows(level, text, config.shingle_size(), &mut chunks),
                Unit::Word => word_windows(text, config.shingle_size(), &mut chunks),
            },
        }
        chunks.deliver();
    }
}

/// The seeded hashes of a source, to be read as often as a scheme wants.
///
/// Those of a short source are computed once and kept. Those of a long one are
/// computed again for each pass: few texts need a second, and keeping them
/// would take eight times the memory of the text.
pub(crate) struct Passes<'a> {
    source: Source<'a>,
    config: &'a Config,
    level: Level,
    buffer: &'a mut Vec<u64>,
    /// Whether `buffer` holds all there is.
    kept: bool,
}

impl<'a> Passes<'a> {
    pub(crate) fn new(
        source: Source<'a>,
        config: &'a Config,
        level: Level,
        buffer: &'a mut Vec<u64>,
    ) -> Self {
        Self {
            source,
            config,
            level,
            buffer,
            kept: false,
        }
    }

    /// Calls `sink` for each chunk of hashes and returns how many there were.
    pub(crate) fn each(&mut self, checkpoint: &mut dyn FnMut(), sink: Sink) -> usize {
        if self.kept {
            sink(self.buffer, checkpoint);
            return 1;
        }
        let level = self.level;
        let mut chunks = 0;
        let offset = mix64(self.config.seed() as u64);
        let seeded = self.config.seed() != 0;
        let mut seed_and_sink = |chunk: &mut [u64], checkpoint: &mut dyn FnMut()| {
            if seeded {
                level.mix(chunk, offset);
            }
            chunks += 1;
            sink(chunk, checkpoint);
        };
        self.source.for_each_chunk(
            self.config,
            level,
            self.buffer,
            checkpoint,
            &mut seed_and_sink,
        );
        self.kept = chunks == 1;
        chunks
    }
}

/// Collects hashes and hands them on.
struct Chunks<'a> {
    buffer: &'a mut Vec<u64>,
    checkpoint: &'a mut dyn FnMut(),
    sink: Sink<'a>,
}

impl Chunks<'_> {
    fn push(&mut self, hash: u64) {
        if self.buffer.len() >= CHUNK {
            self.make_room();
        }
        self.buffer.push(hash);
    }

    /// Delivers the chunk if there is one, and starts the next.
    fn make_room(&mut self) {
        if !self.buffer.is_empty() {
            self.deliver();
            self.buffer.clear();
        }
    }

    fn deliver(&mut self) {
        (self.checkpoint)();
        if !self.buffer.is_empty() {
            (self.sink)(self.buffer, self.checkpoint);
        }
    }
}

/// Windows of characters. Runs of ASCII, where all windows are equally long,
/// go to the kernel; the others are walked with a cursor at each end.
fn char_windows(level: Level, text: &str, size: usize, chunks: &mut Chunks) {
    /// Windows walked before the text is looked at again for ASCII, which is
    /// also the shortest run worth a kernel's setup.
    const STRIDE: usize = 64;
    if is_blank(text, chunks.checkpoint) {
        return;
    }
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut end = char_start(text, size);
    chunks.push(xxh3::hash(&bytes[..end]));
    while end < bytes.len() {
        // Windows that start after `start` and end in the ASCII run from there.
        let room = &bytes[start..bytes.len().min(start + CHUNK + size)];
        let run = ascii_prefix(room);
        if run >= size + STRIDE {
            chunks.make_room();
            level.windows(&bytes[start + 1..start + run], size, chunks.buffer);
            start += run - size;
            end = start + size;
            continue;
        }
        for _ in 0..STRIDE {
            let Some(&lead) = bytes.get(end) else { break };
            end += char_len(lead);
            start += char_len(bytes[start]);
            chunks.push(xxh3::hash(&bytes[start..end]));
        }
    }
}

/// How many bytes at the start of `bytes` are ASCII.
fn ascii_prefix(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let blocks = bytes.chunks(BLOCK).take_while(|block| block.is_ascii());
    let whole = (blocks.count() * BLOCK).min(bytes.len());
    let rest = bytes[whole..].iter().take(BLOCK);
    whole + rest.take_while(|byte| byte.is_ascii()).count()
}

/// Windows of words. The hash of a window is a polynomial in G with the words'
/// hashes as coefficients, so it moves by one word with two multiplications,
/// whatever the size.
fn word_windows(text: &str, size: usize, chunks: &mut Chunks) {
    let finish = |polynomial: u64, length: usize| match length {
        1 => polynomial,
        _ => mix64(polynomial),
    };
    let leaving_weight = (0..size).fold(1_u64, |weight, _| weight.wrapping_mul(GOLDEN));
    // The last `size` word hashes, the oldest at `next`; zero before the first.
    let mut recent = vec![0_u64; size];
    let mut next = 0;
    let mut words = 0;
    let mut polynomial = 0_u64;
    for piece in words::pieces(text) {
        (chunks.checkpoint)();
        for word in words::words(piece) {
            let entering = xxh3::hash(word.as_bytes());
            let leaving = std::mem::replace(&mut recent[next], entering);
            next = if next + 1 == size { 0 } else { next + 1 };
            polynomial = polynomial
                .wrapping_mul(GOLDEN)
                .wrapping_add(entering)
                .wrapping_sub(leaving.wrapping_mul(leaving_weight));
            words += 1;
            if words >= size {
                chunks.push(finish(polynomial, size));
            }
        }
    }
    if (1..size).contains(&words) {
        chunks.push(finish(polynomial, words));
    }
}
