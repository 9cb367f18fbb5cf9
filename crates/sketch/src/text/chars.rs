//! Characters of UTF-8, by their bytes.

/// Whether `text` has no character but white space: no token at all.
pub(crate) fn is_blank(text: &str, check_interrupts: &mut dyn FnMut()) -> bool {
    text.chars().enumerate().all(|(i, c)| {
        if i % (16 * 1024) == 0 {
            check_interrupts();
        }
        c.is_whitespace()
    })
}

/// How many bytes the UTF-8 character takes that starts with `lead`.
#[inline(always)]
pub(crate) fn char_len(lead: u8) -> usize {
    match lead {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}

/// The byte at which the `n`-th character of `text` starts; the end of `text`
/// if there are no more than `n`.
pub(crate) fn char_start(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}

/// How many bytes at the start of `bytes` are ASCII.
pub(crate) fn ascii_prefix(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let blocks = bytes.chunks(BLOCK).take_while(|block| block.is_ascii());
    let whole = (blocks.count() * BLOCK).min(bytes.len());
    let rest = bytes[whole..].iter().take(BLOCK);
    whole + rest.take_while(|byte| byte.is_ascii()).count()
}
