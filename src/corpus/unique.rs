//! Keys that nothing but the user's word says are unique.

use pgrx::pg_sys::{Datum, Oid};
use sketch::ElementHash;

use crate::error::{SqlError, invalid_parameter};
use crate::pg::output::Output;
use crate::pg::type_storage::TypeStorage;

/// A check that keys are unique, where no index ensures it.
pub struct Unique {
    checked: bool,
    type_oid: Oid,
    storage: TypeStorage,
}

impl Unique {
    /// Keys of that type.
    pub fn new(type_oid: Oid, checked: bool) -> Self {
        Self { checked, type_oid, storage: TypeStorage::of(type_oid) }
    }

    /// The hash of a key, where keys must be checked.
    pub fn hash(&self, key: Datum) -> Option<u64> {
        self.checked.then(|| self.hash_of(key))
    }

    /// A key's own value, or a hash of its bytes, equal for two keys with probability 2^-64.
    fn hash_of(&self, key: Datum) -> u64 {
        if self.storage.by_value {
            return key.value() as u64;
        }
        // SAFETY: a value of the type that is passed like this, by reference, and is hashed at once.
        ElementHash::Xxh3.hash(unsafe { self.storage.bytes(key) })
    }

    /// The hash of keys that came twice.
    pub fn repeated(&self, mut hashes: Vec<u64>) -> Option<u64> {
        hashes.sort_unstable();
        hashes.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }

    /// The error about a key, if it has that hash.
    pub fn complain(&self, key: Datum, repeated: u64, argument: &str) -> Option<SqlError> {
        (self.hash_of(key) == repeated).then(|| {
            // SAFETY: a key of the source whose type of keys `new` was given.
            let shown = unsafe { Output::of(self.type_oid).shown(key) };
            invalid_parameter(format!("{argument} has several documents with the key \"{shown}\""))
                .set_hint("Use the primary key, or a combination of columns that is unique.")
        })
    }
}
