//! The kernels, written once for all vectors: each module of an instruction set instantiates them.

/// The kernels over vectors of [`LANES`] words. The instantiating module defines `Vector`, its simple operations, and
/// those that differ between instruction sets (`broadcast`, `multiply`, `above`, `bits`, `choose`, `in_bitmap`,
/// `compress`).
macro_rules! kernels {
    ($features:tt) => {
        /// Runs `work` compiled for these instructions.
        #[target_feature(enable = $features)]
        pub(super) fn compiled<T>(work: impl FnOnce() -> T) -> T {
            work()
        }

        #[target_feature(enable = $features)]
        pub(super) fn windows(bytes: &[u8], width: usize, out: &mut [u64]) {
            ranges::padded(bytes, width, out, |bytes, out| steps_of_windows(bytes, width, out));
        }

        /// XXH3_64 of the windows of `width` (1 to 16) bytes that start at the first `out.len()` bytes. Needs a
        /// multiple of [`STEP`](super::ranges::STEP) windows, and [`READ_AHEAD`](super::ranges::READ_AHEAD) bytes from
        /// the last step on.
        #[target_feature(enable = $features)]
        fn steps_of_windows(bytes: &[u8], width: usize, out: &mut [u64]) {
            let control = load_bytes(&CONTROL[width]);
            let (steps, _) = out.as_chunks_mut::<LANES>();
            let starts = (0..).step_by(LANES);
            match width {
                1..=3 => {
                    let length = splat((width as u64) << 8);
                    for (step, at) in steps.iter_mut().zip(starts) {
                        let combined = shuffle(broadcast(bytes, at), control);
                        store(step, hash_1_to_3(or(combined, length)));
                    }
                }
                4..=8 => {
                    let length = splat(width as u64);
                    for (step, at) in steps.iter_mut().zip(starts) {
                        let word = shuffle(broadcast(bytes, at), control);
                        store(step, hash_4_to_8(word, length));
                    }
                }
                _ => {
                    let length = splat(width as u64);
                    for (step, at) in steps.iter_mut().zip(starts) {
                        let low = shuffle(broadcast(bytes, at), control);
                        let high = shuffle(broadcast(bytes, at + width - 8), control);
                        store(step, hash_9_to_16(low, high, length));
                    }
                }
            }
        }

        /// XXH3_64 of a range with its first eight bytes in `low`, and its last eight in `high`. It is arbitrary for
        /// more than 16 bytes.
        #[target_feature(enable = $features)]
        fn hash_up_to_16(low: Vector, high: Vector, length: Vector) -> Vector {
            const ALL: u8 = u8::MAX >> (8 - LANES);
            let (long, short) = (above(length, splat(8)), above(splat(4), length));
            // Most vectors need a single formula.
            let mut hashes = if bits(long) == ALL {
                hash_9_to_16(low, high, length)
            } else {
                hash_4_to_8(or(shl::<32>(low), shr::<32>(high)), length)
            };
            if bits(long) != 0 && bits(long) != ALL {
                hashes = choose(long, hash_9_to_16(low, high, length), hashes);
            }
            if bits(short) != 0 {
                let byte = splat(0xFF);
                let half = shl::<3>(shr::<1>(length));
                let middle = and(shr_each(low, half), byte);
                let (first, last) = (shl::<16>(and(low, byte)), shr::<56>(high));
                let combined = or(or(first, shl::<24>(middle)), or(last, shl::<8>(length)));
                hashes = choose(short, hash_1_to_3(combined), hashes);
            }
            hashes
        }

        #[target_feature(enable = $features)]
        fn hash_1_to_3(combined: Vector) -> Vector {
            let h = xor(combined, splat(FLIP_1TO3));
            let h = multiply::<PRIME64_2>(xor(h, shr::<33>(h)));
            let h = multiply::<PRIME64_3>(xor(h, shr::<29>(h)));
            xor(h, shr::<32>(h))
        }

        #[target_feature(enable = $features)]
        fn hash_4_to_8(word: Vector, length: Vector) -> Vector {
            let h = xor(word, splat(FLIP_4TO8));
            let r49 = or(shl::<49>(h), shr::<15>(h));
            let r24 = or(shl::<24>(h), shr::<40>(h));
            let h = multiply::<PRIME_MX2>(xor(h, xor(r49, r24)));
            let h = multiply::<PRIME_MX2>(xor(h, add(shr::<35>(h), length)));
            xor(h, shr::<28>(h))
        }

        #[target_feature(enable = $features)]
        fn hash_9_to_16(low: Vector, high: Vector, length: Vector) -> Vector {
            let (low, high) = (xor(low, splat(FLIP_LOW)), xor(high, splat(FLIP_HIGH)));
            let reversed = shuffle(low, load_bytes(&REVERSE));
            let h = add(add(add(reversed, high), length), fold_product(low, high));
            let h = multiply::<PRIME_MX1>(xor(h, shr::<37>(h)));
            xor(h, shr::<32>(h))
        }

        /// The lower half of the 128-bit product XOR the upper half.
        #[target_feature(enable = $features)]
        fn fold_product(a: Vector, b: Vector) -> Vector {
            let lower = splat(u64::from(u32::MAX));
            // Shuffled, not shifted: the compiler recognises shifts, and splits the lanes to multiply them one by one.
            let (a_high, b_high) = (shuffle_halves::<0xF5>(a), shuffle_halves::<0xF5>(b));
            let (ll, lh) = (multiply_halves(a, b), multiply_halves(a, b_high));
            let (hl, hh) = (multiply_halves(a_high, b), multiply_halves(a_high, b_high));
            // At most 2^64 - 1, so there is no carry.
            let middle = add(add(shr::<32>(ll), and(lh, lower)), hl);
            let upper = add(add(hh, shr::<32>(lh)), shr::<32>(middle));
            xor(or(shl::<32>(middle), and(ll, lower)), upper)
        }

        /// Writes the wanted draws of `hashes` to the front of `packed`, and returns their number.
        #[target_feature(enable = $features)]
        pub(super) fn draw(draws: &Draws, hashes: &[u64], packed: &mut Packed) -> usize {
            match draws.wanted {
                WantedDraws::All => draw_wanted(draws, hashes, packed, |_| u8::MAX),
                WantedDraws::Below(limit) => {
                    let limit = splat(limit);
                    draw_wanted(draws, hashes, packed, |draw| bits(above(limit, draw)))
                }
                WantedDraws::To(bitmap) => {
                    // SAFETY: the array has 256 bits.
                    let bitmap = unsafe { _mm256_loadu_si256(bitmap.as_ptr().cast()) };
                    draw_wanted(draws, hashes, packed, |draw| in_bitmap(draw, bitmap))
                }
            }
        }

        /// `wanted` returns a bit for each lane.
        #[inline]
        #[target_feature(enable = $features)]
        fn draw_wanted(draws: &Draws, hashes: &[u64], packed: &mut Packed, wanted: impl Fn(Vector) -> u8) -> usize {
            let (slots, offset) = (splat(draws.count), splat(draws.offset));
            let (round, value) = (splat(draws.round), splat(0xFFFF_FFF0));
            let (vectors, rest) = hashes.as_chunks::<LANES>();
            let mut count = 0;
            for vector in vectors {
                let mut z = load(vector);
                if draws.offset != 0 {
                    z = mix_vector(add(z, offset));
                }
                let slot = shr::<32>(multiply_halves(shr::<32>(z), slots));
                let draw = or(or(round, shl::<28>(and(z, value))), slot);
                let wanted = wanted(draw) & (u8::MAX >> (8 - LANES));
                let Some(room) = packed[count..].first_chunk_mut() else { break };
                store(room, compress(wanted, draw));
                count += wanted.count_ones() as usize;
            }
            draws.portable(rest, packed, count)
        }

        /// [`mix64`](crate::hash::mix::mix64) of each lane.
        #[target_feature(enable = $features)]
        fn mix_vector(z: Vector) -> Vector {
            let z = multiply::<MIX_1>(xor(z, shr::<30>(z)));
            let z = multiply::<MIX_2>(xor(z, shr::<27>(z)));
            xor(z, shr::<31>(z))
        }

        #[target_feature(enable = $features)]
        fn splat(value: u64) -> Vector {
            splat_signed(value as i64)
        }

        /// Loads the bytes of a vector.
        #[target_feature(enable = $features)]
        fn load_bytes(bytes: &[u8; 64]) -> Vector {
            // SAFETY: the array has the size of a vector, or twice that.
            unsafe { load_at(bytes.as_ptr().cast()) }
        }

        #[target_feature(enable = $features)]
        fn load(values: &[u64; LANES]) -> Vector {
            // SAFETY: the array has the size of a vector.
            unsafe { load_at(values.as_ptr().cast()) }
        }

        #[target_feature(enable = $features)]
        fn store(values: &mut [u64; LANES], vector: Vector) {
            // SAFETY: the array has the size of a vector.
            unsafe { store_at(values.as_mut_ptr().cast(), vector) }
        }
    };
}
pub(super) use kernels;
