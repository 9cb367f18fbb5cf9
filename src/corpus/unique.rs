//! Keys that nothing but the user's word says are unique.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Datum, Oid};
use sketch::{ElementHash, memory};

use crate::error::{Result, engine, invalid_parameter};
use crate::pg::output::Output;
use crate::pg::row::Row;

/// Hashes of the keys so far; none where an index sees to it that they are unique.
pub struct Unique {
    hashes: Option<Vec<u64>>,
    type_oid: Oid,
    by_value: bool,
    length: i16,
}

impl Unique {
    /// No keys yet, of that type.
    pub fn new(type_oid: Oid, checked: bool) -> Self {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: a lookup in the system caches.
        unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
        Self { hashes: checked.then(Vec::new), type_oid, by_value, length }
    }

    /// Takes note of a key.
    pub fn push(&mut self, key: Datum) -> Result<()> {
        if self.hashes.is_none() {
            return Ok(());
        }
        let hash = self.hash(key);
        self.hashes.as_mut().map_or(Ok(()), |hashes| memory::push(hashes, hash).map_err(engine))
    }

    /// A key's own value, or a hash of its bytes, equal for two keys with probability 2^-64.
    fn hash(&self, key: Datum) -> u64 {
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
    pub fn repeated(&mut self) -> Option<u64> {
        let hashes = self.hashes.as_mut()?;
        hashes.sort_unstable();
        let repeated = hashes.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        *hashes = Vec::new();
        repeated
    }

    /// The error about a row, if its key has that hash.
    pub fn complain(&self, row: &Row, repeated: u64, argument: &str) -> Option<ErrorReport> {
        let key = row.value(1)?;
        (self.hash(key) == repeated).then(|| {
            // SAFETY: a key of that type.
            let shown = unsafe { Output::of(self.type_oid).shown(key) };
            invalid_parameter(format!("{argument} gives the key \"{shown}\" to several documents"))
            .set_hint(
                "A key tells documents apart: give the primary key, or a combination of columns.",
            )
        })
    }
}
