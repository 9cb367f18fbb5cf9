//! The keys of the documents that share a bucket with others.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::{Result, shortened};
use crate::pg::document_keys::DocumentKeys;
use crate::pg::text;

/// Documents numbered in the order in which they were read, of one source or of two.
pub struct Members {
    parts: Vec<Part>,
}

/// The documents of one source.
struct Part {
    /// The number of its first one.
    first: u32,
    keys: DocumentKeys,
    /// True if the result wants the keys as text.
    as_text: bool,
}

impl Members {
    /// None yet. For each source the type of its keys as they are read, and their collation; and
    /// the type that the result wants.
    pub fn new(keys: &[(Oid, Oid)], wanted: Oid) -> Result<Self> {
        let parts = keys.iter().map(|&(type_oid, collation)| {
            let keys = DocumentKeys::new(type_oid, collation)?;
            Ok(Part { first: u32::MAX, keys, as_text: wanted == pg_sys::TEXTOID })
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
        // SAFETY: the caller's promise.
        unsafe { part.keys.push(key) }
    }

    /// The number of the first document of the second source.
    pub fn second(&self) -> u32 {
        self.parts.get(1).map_or(u32::MAX, |part| part.first)
    }

    fn part(&self, document: u32) -> &Part {
        let place = self.parts.iter().rposition(|part| part.first <= document);
        &self.parts[place.unwrap_or(0)]
    }

    /// The key of a document as the result wants it.
    pub fn key(&self, document: u32) -> Datum {
        let part = self.part(document);
        let number = document - part.first;
        if part.as_text { part.keys.text(number) } else { part.keys.datum(number) }
    }

    /// The key of a document as the result wants it, if it was read so: it stays valid.
    pub fn lasting_key(&self, document: u32) -> Option<Datum> {
        (!self.part(document).as_text).then(|| self.stored(document))
    }

    /// The key of a document as messages show it.
    pub fn shown(&self, document: u32) -> String {
        let part = self.part(document);
        // SAFETY: a text that was just made; it is copied here.
        let key = unsafe { text::read(part.keys.text(document - part.first)) };
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

    /// All documents of the first source in the order of their keys.
    pub fn sorted(&self) -> Vec<u32> {
        self.parts[0].keys.sorted()
    }
}
