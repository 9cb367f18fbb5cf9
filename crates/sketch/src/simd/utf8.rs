//! Checks that bytes are UTF-8, 32 or 64 at a time (Keiser and Lemire, "Validating UTF-8 in less than one
//! instruction per byte", Software: Practice and Experience 51, 2021).
//!
//! Each byte and the one before it are looked up in three tables of what can be wrong about such a
//! pair, by four bits each; what all three say is wrong. It remains to see that the third and
//! fourth bytes of characters, and only they, continue a byte that continues.

use std::arch::x86_64::*;

/// A byte that starts a character, behind one that wants another to continue it.
const TOO_SHORT: u8 = 1;
/// A byte that continues one, behind ASCII.
const TOO_LONG: u8 = 1 << 1;
const OVERLONG_3: u8 = 1 << 2;
const TOO_LARGE: u8 = 1 << 3;
const SURROGATE: u8 = 1 << 4;
const OVERLONG_2: u8 = 1 << 5;
const TOO_LARGE_1000: u8 = 1 << 6;
const OVERLONG_4: u8 = 1 << 6;
/// Not wrong by itself: third and fourth bytes.
const TWO_CONTINUE: u8 = 1 << 7;
/// The errors about which the lower half of the first byte says nothing.
const CARRY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTINUE;

/// By the upper half of the first byte.
static FIRST_HIGH: [u8; 16] = {
    let mut table = [TOO_LONG; 16];
    let mut i = 0x8;
    while i < 0xC {
        table[i] = TWO_CONTINUE;
        i += 1;
    }
    table[0xC] = TOO_SHORT | OVERLONG_2;
    table[0xD] = TOO_SHORT;
    table[0xE] = TOO_SHORT | OVERLONG_3 | SURROGATE;
    table[0xF] = TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4;
    table
};

/// By its lower half.
static FIRST_LOW: [u8; 16] = {
    let mut table = [CARRY | TOO_LARGE | TOO_LARGE_1000; 16];
    table[0x0] = CARRY | OVERLONG_2 | OVERLONG_3 | OVERLONG_4;
    table[0x1] = CARRY | OVERLONG_2;
    table[0x2] = CARRY;
    table[0x3] = CARRY;
    table[0x4] = CARRY | TOO_LARGE;
    table[0xD] |= SURROGATE;
    table
};

/// By the upper half of the second byte.
static SECOND_HIGH: [u8; 16] = {
    let mut table = [TOO_SHORT; 16];
    let any = TOO_LONG | OVERLONG_2 | TWO_CONTINUE;
    table[0x8] = any | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4;
    table[0x9] = any | OVERLONG_3 | TOO_LARGE;
    table[0xA] = any | SURROGATE | TOO_LARGE;
    table[0xB] = any | SURROGATE | TOO_LARGE;
    table
};

/// The greatest byte at each place of a block of so many that leaves no character open.
const fn complete<const BYTES: usize>() -> [u8; BYTES] {
    let mut most = [0xFF; BYTES];
    most[BYTES - 3] = 0xF0 - 1;
    most[BYTES - 2] = 0xE0 - 1;
    most[BYTES - 1] = 0xC0 - 1;
    most
}

static COMPLETE: [u8; 32] = complete();
static COMPLETE_WIDE: [u8; 64] = complete();

/// With AVX2.
#[target_feature(enable = "avx2")]
pub(super) fn is_utf8(bytes: &[u8]) -> bool {
    let mut state = State {
        before: _mm256_setzero_si256(),
        open: _mm256_setzero_si256(),
        wrong: _mm256_setzero_si256(),
    };
    let (blocks, rest) = bytes.as_chunks::<32>();
    // Behind ASCII no block is looked at for being ASCII: where some are and some are not, that
    // cannot be foreseen, and costs more than it saves.
    let ascii = blocks.iter().take_while(|block| _mm256_movemask_epi8(load(block)) == 0);
    for block in &blocks[ascii.count()..] {
        state.add(block);
    }
    // NUL is ASCII, and completes nothing.
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    state.add(&last);
    let wrong = _mm256_or_si256(state.wrong, state.open);
    _mm256_testz_si256(wrong, wrong) == 1
}

struct State {
    before: __m256i,
    /// A value that is not zero if the last character must go on.
    open: __m256i,
    wrong: __m256i,
}

impl State {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(&mut self, block: &[u8; 32]) {
        let here = load(block);
        let across = _mm256_permute2x128_si256::<0x21>(self.before, here);
        let first = _mm256_alignr_epi8::<15>(here, across);
        let half = _mm256_set1_epi8(0x0F);
        let high = |bytes| _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
        let look = |table: &[u8; 16], at| _mm256_shuffle_epi8(twice(table), at);
        let pairs = _mm256_and_si256(
            _mm256_and_si256(
                look(&FIRST_HIGH, high(first)),
                look(&FIRST_LOW, _mm256_and_si256(first, half)),
            ),
            look(&SECOND_HIGH, high(here)),
        );
        // The uppermost bit: two bytes before starts three, or three before four.
        let second = _mm256_alignr_epi8::<14>(here, across);
        let third = _mm256_alignr_epi8::<13>(here, across);
        let of_three = _mm256_subs_epu8(second, _mm256_set1_epi8((0xE0_u8 - 0x80) as i8));
        let of_four = _mm256_subs_epu8(third, _mm256_set1_epi8((0xF0_u8 - 0x80) as i8));
        let upper = _mm256_set1_epi8(TWO_CONTINUE as i8);
        let wanted = _mm256_and_si256(_mm256_or_si256(of_three, of_four), upper);
        self.wrong = _mm256_or_si256(self.wrong, _mm256_xor_si256(wanted, pairs));
        self.open = _mm256_subs_epu8(here, load(&COMPLETE));
        self.before = here;
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn twice(table: &[u8; 16]) -> __m256i {
    // SAFETY: 16 bytes are readable, and need no alignment.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are readable, and need no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}

/// With AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(super) fn is_utf8_wide(bytes: &[u8]) -> bool {
    let zero = _mm512_setzero_si512();
    let mut state = WideState { before: zero, open: zero, wrong: zero };
    let (blocks, rest) = bytes.as_chunks::<64>();
    let ascii = blocks.iter().take_while(|block| _mm512_movepi8_mask(load_wide(block)) == 0);
    for block in &blocks[ascii.count()..] {
        state.add(block);
    }
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    state.add(&last);
    let wrong = _mm512_or_si512(state.wrong, state.open);
    _mm512_test_epi8_mask(wrong, wrong) == 0
}

/// [`State`] of 64 bytes.
struct WideState {
    before: __m512i,
    open: __m512i,
    wrong: __m512i,
}

impl WideState {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    fn add(&mut self, block: &[u8; 64]) {
        let here = load_wide(block);
        let across = _mm512_alignr_epi64::<6>(here, self.before);
        let first = _mm512_alignr_epi8::<15>(here, across);
        let half = _mm512_set1_epi8(0x0F);
        let high = |bytes| _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), half);
        let look = |table: &[u8; 16], at| _mm512_shuffle_epi8(four_times(table), at);
        let pairs = _mm512_and_si512(
            _mm512_and_si512(
                look(&FIRST_HIGH, high(first)),
                look(&FIRST_LOW, _mm512_and_si512(first, half)),
            ),
            look(&SECOND_HIGH, high(here)),
        );
        let second = _mm512_alignr_epi8::<14>(here, across);
        let third = _mm512_alignr_epi8::<13>(here, across);
        let of_three = _mm512_subs_epu8(second, _mm512_set1_epi8((0xE0_u8 - 0x80) as i8));
        let of_four = _mm512_subs_epu8(third, _mm512_set1_epi8((0xF0_u8 - 0x80) as i8));
        let upper = _mm512_set1_epi8(TWO_CONTINUE as i8);
        let wanted = _mm512_and_si512(_mm512_or_si512(of_three, of_four), upper);
        self.wrong = _mm512_or_si512(self.wrong, _mm512_xor_si512(wanted, pairs));
        self.open = _mm512_subs_epu8(here, load_wide(&COMPLETE_WIDE));
        self.before = here;
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn four_times(table: &[u8; 16]) -> __m512i {
    // SAFETY: 16 bytes are readable, and need no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_wide(block: &[u8; 64]) -> __m512i {
    // SAFETY: 64 bytes are readable, and need no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}
