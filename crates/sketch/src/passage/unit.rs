//! Characters as they are hashed and compared: bytes where a text is ASCII, else code points.

/// One character of a text.
pub(crate) trait Unit: Copy {
    /// Its code point. A character has the same one in either form, and so the same hashes.
    fn code(self) -> u32;
}

impl Unit for u8 {
    #[inline(always)]
    fn code(self) -> u32 {
        self.into()
    }
}

impl Unit for u32 {
    #[inline(always)]
    fn code(self) -> u32 {
        self
    }
}

/// Characters compared at once: few enough that a mismatch costs little.
const LANES: usize = 16;

#[inline(always)]
fn same_lanes<U: Unit, V: Unit>(a: &[U; LANES], b: &[V; LANES]) -> bool {
    let mut different = 0;
    for (a, b) in a.iter().zip(b) {
        different |= a.code() ^ b.code();
    }
    different == 0
}

/// The number of characters at the start of both that are equal.
#[inline]
pub(crate) fn common<U: Unit, V: Unit>(a: &[U], b: &[V]) -> usize {
    let blocks = a.as_chunks().0.iter().zip(b.as_chunks().0);
    let whole = LANES * blocks.take_while(|(a, b)| same_lanes(a, b)).count();
    let rest = a[whole..].iter().zip(&b[whole..]);
    whole + rest.take_while(|(a, b)| a.code() == b.code()).count()
}

/// The number of characters at the end of both that are equal, counted up to `limit`.
#[inline]
pub(crate) fn common_back<U: Unit, V: Unit>(a: &[U], b: &[V], limit: usize) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev()).take(limit);
    pairs.take_while(|(a, b)| a.code() == b.code()).count()
}

/// Equality of two texts of one length.
#[inline]
pub(crate) fn same<U: Unit, V: Unit>(a: &[U], b: &[V]) -> bool {
    a.len() == b.len() && common(a, b) == a.len()
}
