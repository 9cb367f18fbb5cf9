//! Keys that are checked as they are read: none is missing, and none comes twice where no index sees to that.

use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use sketch::ElementHash;

use crate::corpus::source::Source;
use crate::error::{Result, SqlError, error, invalid_parameter};
use crate::pg::output::Output;
use crate::pg::type_storage::TypeStorage;

/// A check of the keys of a source.
pub struct KeyCheck {
    /// The name of the argument.
    argument: &'static str,
    type_oid: Oid,
    storage: TypeStorage,
    /// True if nothing but the user's word says that they are unique.
    is_needed: bool,
}

impl KeyCheck {
    /// That of the keys of `source`.
    pub fn of(source: &Source) -> Self {
        let (type_oid, _) = source.key_column();
        let (argument, is_needed) = (source.argument, !source.key_is_unique);
        Self { argument, type_oid, storage: TypeStorage::of(type_oid), is_needed }
    }

    /// The error of a document whose key is NULL.
    pub fn missing(&self) -> SqlError {
        let message = format!("{} has a document with a NULL key", self.argument);
        error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, message)
            .set_hint("Leave out rows without a key, or set their keys.")
    }

    /// The hash of a key, where it must be checked.
    pub fn hash(&self, key: Datum) -> Option<u64> {
        self.is_needed.then(|| self.hash_of(key))
    }

    /// A key's own value, or a hash of its bytes, equal for two keys with probability 2^-64.
    fn hash_of(&self, key: Datum) -> u64 {
        if self.storage.by_value {
            return key.value() as u64;
        }
        // SAFETY: a value of the key column, whose type `of` has asked how it is passed; it is hashed at once.
        ElementHash::Xxh3.hash(unsafe { self.storage.bytes(key) })
    }

    /// Fails if two of some hashes are the same. `each` calls its argument with all keys, to find one to be named.
    pub fn finish(
        &self,
        mut hashes: Vec<u64>,
        each: impl FnOnce(&mut dyn FnMut(Datum) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        hashes.sort_unstable();
        let twice = hashes.windows(2).find(|pair| pair[0] == pair[1]);
        let Some(&[twice, _]) = twice else { return Ok(()) };
        each(&mut |key| {
            if self.hash_of(key) != twice {
                return Ok(());
            }
            // SAFETY: a value of the key column, whose type this is.
            let shown = unsafe { Output::of(self.type_oid).shown(key) };
            Err(twice_there(self.argument, &shown))
        })
    }
}

/// The error of a key that several documents of a source have.
pub fn twice_there(argument: &str, key: &str) -> SqlError {
    invalid_parameter(format!("{argument} has several documents with the key \"{key}\""))
        .set_hint("Use the primary key, or a combination of columns that is unique.")
}
