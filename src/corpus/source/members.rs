//! The keys of the documents of a job.
//!
//! Keys are checked as they are read: none may be NULL, or repeated, unless an index ensures that. The keys of
//! documents that share a bucket are kept.

use std::cmp::Ordering;

use sketch::ElementHash;

use crate::corpus::source::Source;
use crate::pg::type_storage::TypeStorage;
use crate::pg::value_type::Output;
use crate::prelude::*;

/// The check of the keys of a source: none is NULL, and, if nothing but the user's word says that they are unique, none
/// is repeated.
pub struct KeyCheck<'a> {
    source: &'a Source,
    storage: TypeStorage,
}

impl<'a> KeyCheck<'a> {
    pub fn of(source: &'a Source) -> Self {
        Self { source, storage: TypeStorage::of(source.key_column().0) }
    }

    /// The error for a document whose key is NULL.
    pub fn missing(&self) -> SqlError {
        let message = format!("{} has a document with a NULL key", self.source.argument);
        null_not_allowed(message).set_hint("Leave out rows without a key, or set their keys.")
    }

    /// The hash of a key, if it must be checked.
    pub fn hash(&self, key: TypedValue) -> Option<u64> {
        (!self.source.key_is_unique).then(|| self.hash_of(key))
    }

    /// A key's own value, or a hash of its bytes, equal for two keys with probability 2^-64.
    fn hash_of(&self, key: TypedValue) -> u64 {
        let key = key.of_type(self.source.key_column().0);
        if self.storage.by_value {
            return key.value() as u64;
        }
        // SAFETY: `of_type` checks that it has the type whose storage `of` has looked up; it is hashed at once.
        ElementHash::Xxh3.hash(unsafe { self.storage.bytes(key) })
    }

    /// Fails if two hashes are equal. `each` passes all keys to its argument, to find one for the message.
    pub fn finish(
        &self,
        mut hashes: Vec<u64>,
        each: impl FnOnce(&mut dyn FnMut(TypedValue) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        hashes.sort_unstable();
        let twice = hashes.windows(2).find(|pair| pair[0] == pair[1]);
        let Some(&[twice, _]) = twice else { return Ok(()) };
        each(&mut |key| {
            if self.hash_of(key) != twice {
                return Ok(());
            }
            Err(twice_there(self.source.argument, &key.shown()))
        })
    }
}

/// The error for a key that several documents of a source have.
pub fn twice_there(argument: &str, key: &str) -> SqlError {
    invalid_parameter(format!("{argument} has several documents with the key \"{key}\""))
        .set_hint("Use the primary key, or a combination of columns that is unique.")
}

/// Documents of one or two sources, numbered in the order of reading.
pub struct Members {
    parts: Vec<SourceKeys>,
}

struct SourceKeys {
    /// Number of its first document.
    first: u32,
    base_type: Oid,
    keys: DocumentKeys,
    output: Output,
}

impl Members {
    /// No documents yet. `keys` has the type and collation of each source's keys.
    pub fn new(keys: &[(Oid, Oid)]) -> Result<Self> {
        let parts = keys.iter().map(|&(type_oid, collation)| {
            let (keys, base_type) = (DocumentKeys::new(type_oid, collation)?, catalog::base_type(type_oid));
            Ok(SourceKeys { first: u32::MAX, base_type, keys, output: Output::of(type_oid) })
        });
        Ok(Self { parts: parts.collect::<Result<_>>()? })
    }

    pub fn len(&self) -> u32 {
        self.parts.iter().map(|part| part.keys.len() as u32).sum()
    }

    /// Appends the key of the next document of source `part`.
    pub fn push(&mut self, part: usize, key: TypedValue) -> Result<()> {
        let number = self.len();
        let part = &mut self.parts[part];
        part.first = part.first.min(number);
        part.keys.push(key)
    }

    /// Number of the second source's first document.
    pub fn second(&self) -> u32 {
        self.parts.get(1).map_or(u32::MAX, |part| part.first)
    }

    fn part(&self, document: u32) -> &SourceKeys {
        let place = self.parts.iter().rposition(|part| part.first <= document);
        &self.parts[place.unwrap_or(0)]
    }

    /// The key of a document as a `minlsh_key`, which has the bytes of a text, in the current memory context.
    pub fn key(&self, document: u32) -> Datum {
        let part = self.part(document);
        part.output.text(part.keys.key(document - part.first))
    }

    /// The key of a document, for messages.
    pub fn shown(&self, document: u32) -> String {
        let shown = self.stored(document).with_text(|key| Ok(shortened(key).into_owned()));
        shown.unwrap_or_default()
    }

    /// The key of a document in its own type.
    pub fn stored(&self, document: u32) -> TypedValue<'_> {
        let part = self.part(document);
        part.keys.key(document - part.first)
    }

    /// Compares two documents of one source by their keys.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        let part = self.part(a);
        part.keys.compare(a - part.first, b - part.first)
    }

    /// For each source the base type of its keys, and its documents in their order, for [`find`](Self::find).
    pub fn each_sorted(&self) -> Result<Vec<(Oid, Vec<u32>)>> {
        self.parts.iter().map(|part| Ok((part.base_type, part.keys.sorted()?))).collect()
    }

    /// The document of source `part` with key `key`, if there is one. `sorted` is that source's order.
    pub fn find(&self, part: usize, sorted: &[u32], key: TypedValue) -> Option<u32> {
        let SourceKeys { first, keys, .. } = &self.parts[part];
        keys.find(sorted, key).map(|number| first + number)
    }

    /// All documents in the order of their keys; the first source comes first.
    pub fn sorted(&self) -> Result<Vec<u32>> {
        let mut sorted = self.parts[0].keys.sorted()?;
        for part in &self.parts[1..] {
            let own = part.keys.sorted()?;
            memory::reserve(&mut sorted, own.len())?;
            sorted.extend(own.iter().map(|number| part.first + number));
        }
        Ok(sorted)
    }
}
