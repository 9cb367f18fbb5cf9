//! The hashes of shingles and of ready-made elements.

use crate::chunks::{CHUNK, Chunks};
use crate::config::{Config, Unit};
use crate::mix::{GOLDEN, mix64};
use crate::scheme::ElementHash;
use crate::shingle::{char_len, char_start, for_each_shingle, is_blank};
use crate::simd::Level;
use crate::words;
use crate::xxh3;

/// The hash of a ready-made element: XXH3_64, seed 0, of its bytes. The schemes
/// of datasketch have their own: [`ElementHash`](crate::ElementHash).
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
/// hashes to `XXH3(w1)`. The schemes of datasketch hash each shingle as
/// [`for_each_shingle`] gives it with their
/// [`ElementHash`](crate::ElementHash). `checkpoint` is called as by
/// [`Sketcher::sketch`](crate::Sketcher::sketch).
pub fn shingle_hashes(
    config: &Config,
    text: &str,
    out: &mut Vec<u64>,
    checkpoint: &mut dyn FnMut(),
) {
    let mut append = |chunk: &mut [u64], _: &mut dyn FnMut()| out.extend_from_slice(chunk);
    // No text has more shingles than bytes.
    let mut buffer = vec![0; text.len().clamp(1, CHUNK)];
    let mut chunks = Chunks::new(&mut buffer, checkpoint, &mut append);
    text_hashes(config, Level::best(), text, &mut chunks);
    chunks.deliver();
}

/// Hands the hash of each shingle of `text` to `chunks`.
pub(crate) fn text_hashes(config: &Config, level: Level, text: &str, chunks: &mut Chunks) {
    let (scheme, size) = (config.scheme(), config.shingle_size());
    match config.unit() {
        Unit::Char if scheme.element_hash() == ElementHash::Xxh3 => {
            char_windows(level, text, size, chunks);
        }
        Unit::Word if !scheme.is_datasketch() => word_windows(text, size, chunks),
        _ => for_each_shingle(config, text, &mut |shingle| {
            chunks.push(scheme.element_hash().hash(shingle.as_bytes()));
        }),
    }
}

/// Windows of characters. Runs of ASCII, where all windows are equally long,
/// go to the kernel; the others are walked with a cursor at each end.
fn char_windows(level: Level, text: &str, size: usize, chunks: &mut Chunks) {
    /// Windows walked before the text is looked at again for ASCII, which is
    /// also the shortest run worth a kernel's setup.
    const STRIDE: usize = 64;
    if is_blank(text, &mut || chunks.checkpoint()) {
        return;
    }
    let bytes = text.as_bytes();
    // The last window hashed.
    let mut start = 0;
    let mut end = char_start(text, size);
    chunks.push(xxh3::hash(&bytes[..end]));
    while end < bytes.len() {
        let limit = bytes.len().min(start + size + chunks.free());
        let run = ascii_prefix(&bytes[start..limit]);
        // The run holds this window only if all of the window is ASCII.
        if run > size && (run >= size + STRIDE || start + run == bytes.len()) {
            let windows = run - size;
            level.windows(&bytes[start + 1..start + run], size, chunks.room(windows));
            start += windows;
            end += windows;
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
        chunks.checkpoint();
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
