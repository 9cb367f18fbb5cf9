//! The steps on characters for ASCII, where none has a neighbour to mind but
//! white space: blocks of bytes that the compiler makes vectors of.

use super::{Characters, Punctuation};

/// Bytes looked at together.
const BLOCK: usize = 64;

/// The steps as what they do to a byte.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    casefold: bool,
    digits: bool,
    whitespace: bool,
    punctuation: Punctuation,
}

impl Bytes {
    pub(super) fn new(steps: Characters) -> Self {
        let Characters { casefold, digits, whitespace, punctuation, .. } = steps;
        Self { casefold, digits, whitespace, punctuation }
    }

    /// What a byte becomes, if it is kept.
    #[inline(always)]
    fn mapped(self, byte: u8) -> u8 {
        let lower = byte | u8::from(byte.wrapping_sub(b'A') < 26) << 5;
        let byte = if self.casefold { lower } else { byte };
        let byte = if self.digits & (byte.wrapping_sub(b'0') < 10) { b'0' } else { byte };
        let space = (self.whitespace & (byte.wrapping_sub(b'\t') < 5))
            | ((self.punctuation == Punctuation::Space) & is_punctuation(byte));
        if space { b' ' } else { byte }
    }

    /// Whether a byte is removed.
    #[inline(always)]
    pub(super) fn removed(self, byte: u8) -> bool {
        match self.punctuation {
            Punctuation::Kept | Punctuation::Space => false,
            Punctuation::Removed => is_punctuation(byte),
            Punctuation::BasicRemoved => is_basic(byte),
        }
    }

    /// How many bytes at the start of `bytes` stay as they are after something
    /// that ends with a space or not, as `spaced` says; a multiple of a block,
    /// or all.
    pub(super) fn unchanged(self, bytes: &[u8], mut spaced: bool) -> usize {
        let mut whole = 0;
        for block in bytes.chunks(BLOCK) {
            let same =
                block.iter().fold(true, |same, &b| same & (self.mapped(b) == b) & !self.removed(b));
            if !same || self.repeats_space(block, spaced) {
                break;
            }
            spaced = block.ends_with(b" ");
            whole += block.len();
        }
        whole
    }

    /// Appends what becomes of `bytes`. `spaced` is whether there is a space,
    /// or nothing, before it, and is so again after it.
    pub(super) fn append(self, bytes: &[u8], out: &mut Vec<u8>, spaced: &mut bool) {
        for block in bytes.chunks(BLOCK) {
            let mut mapped = [0; BLOCK];
            let mapped = &mut mapped[..block.len()];
            let mut removed = false;
            for (mapped, &byte) in mapped.iter_mut().zip(block) {
                *mapped = self.mapped(byte);
                removed |= self.removed(byte);
            }
            if removed || self.repeats_space(mapped, *spaced) {
                self.append_some(block, mapped, out, spaced);
            } else {
                out.extend_from_slice(mapped);
                *spaced = mapped.ends_with(b" ");
            }
        }
    }

    /// Appends those bytes of a block that are kept, without a branch.
    fn append_some(self, block: &[u8], mapped: &[u8], out: &mut Vec<u8>, spaced: &mut bool) {
        let mut kept = [0; BLOCK + 1];
        let mut count = 0;
        for (&byte, &mapped) in block.iter().zip(mapped) {
            kept[count] = mapped;
            let space = mapped == b' ';
            let removed = self.removed(byte);
            count += usize::from(!removed & !(self.whitespace & space & *spaced));
            *spaced = if removed { *spaced } else { space };
        }
        out.extend_from_slice(&kept[..count]);
    }

    /// Whether white space is to be collapsed and a space follows another.
    #[inline(always)]
    fn repeats_space(self, mapped: &[u8], spaced: bool) -> bool {
        let inside = mapped.iter().zip(&mapped[mapped.len().min(1)..]);
        let inside = inside.fold(false, |found, (&a, &b)| found | ((a == b' ') & (b == b' ')));
        self.whitespace && (inside || (spaced && mapped.starts_with(b" ")))
    }
}

/// All ASCII that Unicode calls punctuation or a symbol.
#[inline(always)]
fn is_punctuation(byte: u8) -> bool {
    (byte.wrapping_sub(b'!') < 15)
        | (byte.wrapping_sub(b':') < 7)
        | (byte.wrapping_sub(b'[') < 6)
        | (byte.wrapping_sub(b'{') < 4)
}

/// What the step `punctuation_basic` removes.
#[inline(always)]
fn is_basic(byte: u8) -> bool {
    (byte == b'.') | (byte == b',') | (byte == b':') | (byte == b';') | (byte == b'\'')
}
