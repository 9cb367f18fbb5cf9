//! The keys of the documents that share a bucket with others.

use std::cmp::Ordering;

use pgrx::pg_sys::{Datum, Oid};

use crate::error::{Result, shortened};
use crate::pg::catalog;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::text;

/// Documents numbered in the order in which they were read, of one source or of two.
pub struct Members {
    parts: Vec<SourceKeys>,
}

/// The documents of one source.
struct SourceKeys {
    /// The number of its first one.
    first: u32,
    /// The base type of their keys.
    base_type: Oid,
    keys: DocumentKeys,
}

impl Members {
    /// None yet. For each source the type of its keys and their collation.
    pub fn new(keys: &[(Oid, Oid)]) -> Result<Self> {
        let parts = keys.iter().map(|&(type_oid, collation)| {
            let (keys, base_type) =
                (DocumentKeys::new(type_oid, collation)?, catalog::base_type(type_oid));
            Ok(SourceKeys { first: u32::MAX, base_type, keys })
        });
        Ok(Self { parts: parts.collect::<Result<_>>()? })
    }

    /// The number of documents.
    pub fn len(&self) -> u32 {
        self.parts.iter().map(|part| part.keys.len() as u32).sum()
    }

    /// Adds the key of the next document, of source `part`.
    ///
    /// # Safety
    /// `key` must be a non-null value of the type of that source's keys.
    pub unsafe fn push(&mut self, part: usize, key: Datum) -> Result<()> {
        let number = self.len();
        let part = &mut self.parts[part];
        part.first = part.first.min(number);
        // SAFETY: the caller promises a value of the type that `new` made this source's keys for.
        unsafe { part.keys.push(key) }
    }

    /// The number of the first document of the second source.
    pub fn second(&self) -> u32 {
        self.parts.get(1).map_or(u32::MAX, |part| part.first)
    }

    fn part(&self, document: u32) -> &SourceKeys {
        let place = self.parts.iter().rposition(|part| part.first <= document);
        &self.parts[place.unwrap_or(0)]
    }

    /// The key of a document as a `minlsh_key`, whose bytes are those of a text.
    pub fn key(&self, document: u32) -> Datum {
        let part = self.part(document);
        part.keys.text(document - part.first)
    }

    /// The key of a document as messages show it.
    pub fn shown(&self, document: u32) -> String {
        // SAFETY: a text that was just made; it is copied here.
        let key = unsafe { text::read(self.key(document)) };
        shortened(key.unwrap_or_default()).into_owned()
    }

    /// The key of a document as it was read.
    pub fn stored(&self, document: u32) -> Datum {
        let part = self.part(document);
        part.keys.datum(document - part.first)
    }

    /// Orders two documents of one source by their keys.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        let part = self.part(a);
        part.keys.compare(a - part.first, b - part.first)
    }

    /// For each source the base type of its keys, and its documents in their order, to [find](Self::find) some.
    pub fn each_sorted(&self) -> Vec<(Oid, Vec<u32>)> {
        self.parts.iter().map(|part| (part.base_type, part.keys.sorted())).collect()
    }

    /// The document of source `part` that has a key, if there is one. `sorted` is that source's order.
    ///
    /// # Safety
    /// `key` must be a non-null value of the base type of that source's keys.
    pub unsafe fn find(&self, part: usize, sorted: &[u32], key: Datum) -> Option<u32> {
        let SourceKeys { first, keys, .. } = &self.parts[part];
        // SAFETY: the caller promises a value of the base type of the type that `new` made these keys for.
        unsafe { keys.find(sorted, key) }.map(|number| first + number)
    }

    /// All documents of the first source in the order of their keys.
    pub fn sorted(&self) -> Vec<u32> {
        self.parts[0].keys.sorted()
    }
}
