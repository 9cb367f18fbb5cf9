//! Keys that nothing but the user's word says are unique.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use sketch::ElementHash;

use crate::error::invalid_parameter;
use crate::pg::output::Output;

/// A check that keys are unique, where no index ensures it.
pub struct Unique {
    checked: bool,
    type_oid: Oid,
    by_value: bool,
    length: i16,
}

impl Unique {
    /// Keys of that type.
    pub fn new(type_oid: Oid, checked: bool) -> Self {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: a lookup in the system caches.
        unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
        Self { checked, type_oid, by_value, length }
    }

    /// The hash of a key, where keys must be checked.
    pub fn hash(&self, key: Datum) -> Option<u64> {
        self.checked.then(|| self.hash_of(key))
    }

    /// A key's own value, or a hash of its bytes, equal for two keys with probability 2^-64.
    fn hash_of(&self, key: Datum) -> u64 {
        if self.by_value {
            return key.value() as u64;
        }
        // SAFETY: a value of the type with that length: a varlena, or `length` bytes.
        let bytes = unsafe {
            match usize::try_from(self.length) {
                Ok(length) => std::slice::from_raw_parts(key.cast_mut_ptr::<u8>(), length),
                Err(_) => crate::pg::bytes::read(key),
            }
        };
        ElementHash::Xxh3.hash(bytes)
    }

    /// The hash of keys that came twice.
    pub fn repeated(&self, mut hashes: Vec<u64>) -> Option<u64> {
        hashes.sort_unstable();
        hashes.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }

    /// The error about a key, if it has that hash.
    pub fn complain(&self, key: Datum, repeated: u64, argument: &str) -> Option<ErrorReport> {
        (self.hash_of(key) == repeated).then(|| {
            // SAFETY: a key of that type.
            let shown = unsafe { Output::of(self.type_oid).shown(key) };
            invalid_parameter(format!("{argument} has several documents with the key \"{shown}\""))
                .set_hint("Use the primary key, or a combination of columns that is unique.")
        })
    }
}
