//! The operations in plain Rust: the reference for the vector forms, and the form for other CPUs, where the compiler
//! vectorises as far as the target allows.
//!
//! A bucket round of fss proceeds block by block: hashes become draws, and draws lower slots. Only computing draws
//! suits vectors. In between a draw is one packed word, `value << 32 | slot`, so that the scalar part has little left
//! to do. Draws that cannot lower any slot are left out early. In the first round these are the draws above the
//! greatest slot, soon most of them. In later rounds these are the draws to slots filled before, nearly all.

pub(super) use super::classes::upper_bits;
use crate::hash::mix::{GOLDEN, mix64};
use crate::hash::xxh3;
pub(super) use crate::hash::xxh3::windows;

/// A slot without a value. All values are smaller.
pub(crate) const EMPTY: u32 = u32::MAX;

/// Number of hashes whose draws are packed before they lower slots.
pub(crate) const BLOCK: usize = 256;

/// Space for the draws of a block, and for a vector stored at its end.
pub(crate) type Packed = [u64; BLOCK + 8];

pub(crate) const NOTHING_PACKED: Packed = [0; BLOCK + 8];

/// The greatest slot below which leaving out draws pays: three quarters of the range of a draw.
const WORTH_FILTERING: u32 = (1 << 28) / 4 * 3;

/// Number of slots in a bitmap.
const BITMAP_SLOTS: usize = 256;

pub(super) fn compiled<T>(work: impl FnOnce() -> T) -> T {
    work()
}

pub(super) fn ranges(bytes: &[u8], starts: &[u32], ends: &[u32], out: &mut [u64]) {
    for ((&start, &end), out) in starts.iter().zip(ends).zip(out) {
        *out = xxh3::hash(&bytes[start as usize..end as usize]);
    }
}

/// The two slots of a hash in a table of `count` slots, by its lower and its upper half.
#[inline(always)]
pub(crate) fn places_of(hash: u64, count: usize) -> [usize; 2] {
    [hash & u64::from(u32::MAX), hash >> 32].map(|half| ((half * count as u64) >> 32) as usize)
}

/// Removes the hashes from `start` on that are in a table. `count` hashes were kept before.
#[inline(always)]
pub(super) fn absent(hashes: &mut [u64], table: &[u64], free: u64, (start, mut count): (usize, usize)) -> usize {
    for at in start..hashes.len() {
        let hash = hashes[at];
        let [a, b] = places_of(hash, table.len()).map(|place| table[place]);
        // Without a branch, which would be unpredictable.
        hashes[count] = hash;
        count += usize::from(((a != hash) & (b != hash)) | (hash == free));
    }
    count
}

pub(super) struct Draws {
    /// Number of slots.
    pub(super) count: u64,
    /// Added to a hash before it is mixed; 0 in the first round, where hashes are not mixed.
    pub(super) offset: u64,
    /// The round, shifted to its position in a packed draw.
    pub(super) round: u64,
    pub(super) wanted: WantedDraws,
}

/// The draws that can lower a slot.
#[derive(Clone, Copy)]
pub(super) enum WantedDraws {
    All,
    /// Packed draws below this value.
    Below(u64),
    /// Draws to the slots whose bit is set, at slot / 32 and slot % 32.
    To([u32; BITMAP_SLOTS / 32]),
}

impl Draws {
    /// The draws of `round` that can lower the current `slots`.
    #[inline(always)]
    pub(super) fn new(round: u32, slots: &[u32]) -> Self {
        let wanted = if round == 0 {
            match slots.iter().fold(0, |greatest, &slot| greatest.max(slot)) {
                limit if limit <= WORTH_FILTERING => WantedDraws::Below(u64::from(limit) << 32),
                _ => WantedDraws::All,
            }
        } else if slots.len() <= BITMAP_SLOTS {
            let mut bitmap = [0; BITMAP_SLOTS / 32];
            for (slots, bits) in slots.chunks(32).zip(&mut bitmap) {
                // The slots that no earlier round has filled.
                let open = |(slot, bit): (&u32, u32)| u32::from(*slot >= round << 28) << bit;
                *bits = slots.iter().zip(0..32).map(open).fold(0, |bits, bit| bits | bit);
            }
            WantedDraws::To(bitmap)
        } else {
            WantedDraws::All
        };
        Self {
            count: slots.len() as u64,
            offset: u64::from(round).wrapping_mul(GOLDEN),
            round: u64::from(round) << 60,
            wanted,
        }
    }

    /// The draw of a hash: the slot from its upper half, the value from its lower half.
    #[inline(always)]
    fn mixed(&self, hash: u64) -> u64 {
        match self.offset {
            0 => hash,
            offset => mix64(hash.wrapping_add(offset)),
        }
    }

    /// The portable form: writes the wanted draws of `hashes` to `packed` from `start`, and returns their end. The
    /// vector forms use it for incomplete vectors.
    pub(super) fn portable(&self, hashes: &[u64], packed: &mut Packed, start: usize) -> usize {
        match self.wanted {
            WantedDraws::All => self.pack_wanted(hashes, packed, start, |_| true),
            WantedDraws::Below(limit) => self.pack_wanted(hashes, packed, start, |draw| draw < limit),
            WantedDraws::To(bitmap) => self.pack_wanted(hashes, packed, start, |draw| {
                let slot = draw as u32;
                bitmap[slot as usize / 32 % bitmap.len()] >> (slot % 32) & 1 == 1
            }),
        }
    }

    #[inline(always)]
    fn pack_wanted(&self, hashes: &[u64], packed: &mut Packed, start: usize, wanted: impl Fn(u64) -> bool) -> usize {
        let mut end = start;
        for &hash in hashes {
            let mixed = self.mixed(hash);
            let slot = ((mixed >> 32) * self.count) >> 32;
            let draw = self.round | (mixed & 0xFFFF_FFF0) << 28 | slot;
            packed[end] = draw;
            end += usize::from(wanted(draw));
        }
        end
    }
}

/// Writes the wanted draws of at most [`BLOCK`] hashes to the front of `packed`, and returns their number.
pub(super) fn draw(draws: &Draws, hashes: &[u64], packed: &mut Packed) -> usize {
    draws.portable(hashes, packed, 0)
}

/// Lowers the slot of each packed draw to its value.
pub(super) fn lower(packed: &[u64], slots: &mut [u32]) {
    for &draw in packed {
        let (slot, value) = (draw as u32 as usize, (draw >> 32) as u32);
        if let Some(slot) = slots.get_mut(slot) {
            // A branch would be mispredicted every third time.
            *slot = std::hint::select_unpredictable(value < *slot, value, *slot);
        }
    }
}

/// The lengths of [`affine_min`]'s arrays are a multiple of this.
pub(crate) const SLOT_LANES: usize = 16;

#[inline(always)]
pub(super) fn mix(hashes: &mut [u64], offset: u64) {
    for h in hashes {
        *h = mix64(h.wrapping_add(offset));
    }
}

#[inline(always)]
pub(super) fn affine_min(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    const WIDE: usize = 2 * SLOT_LANES;
    let wide = minima.len() / WIDE * WIDE;
    let (wide_minima, minima) = minima.split_at_mut(wide);
    affine_min_of::<WIDE>(hashes, &a[..wide], &b[..wide], wide_minima);
    affine_min_of::<SLOT_LANES>(hashes, &a[wide..], &b[wide..], minima);
}

/// Reads the hashes once for each `N` slots, which stay in registers.
#[inline(always)]
fn affine_min_of<const N: usize>(hashes: &[u64], a: &[u32], b: &[u32], minima: &mut [u32]) {
    let slots = a.as_chunks::<N>().0.iter().zip(b.as_chunks::<N>().0);
    for ((a, b), minima) in slots.zip(minima.as_chunks_mut::<N>().0) {
        let mut least = *minima;
        for &h in hashes {
            for i in 0..N {
                let value = a[i].wrapping_mul(h as u32).wrapping_add(b[i]);
                least[i] = least[i].min(value);
            }
        }
        *minima = least;
    }
}
