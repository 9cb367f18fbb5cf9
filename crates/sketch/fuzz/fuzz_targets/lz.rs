//! Compressed bytes of any kind are unpacked to as many bytes as they say, or refused.
//!
//! `cargo +nightly fuzz run lz` in `crates/sketch`. The first two bytes say how many there should be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use minlsh_sketch::stored::{Packing, StoredBytes};

fuzz_target!(|input: (u16, &[u8])| {
    let (size, bytes) = input;
    let Some(packing) = Packing::lz(size.into()) else { return };
    let mut room = Vec::new();
    if let Ok(found) = (StoredBytes { bytes, packing }).unpacked(&mut room) {
        assert_eq!(found.len(), usize::from(size));
    }
});
