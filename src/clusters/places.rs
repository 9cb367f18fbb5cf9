//! The documents of an update: keys that are stored, and keys that were found, brought together by rank.

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{Datum, Oid};
use sketch::clusters::{ClusterId, RankedDocument};
use sketch::memory;

use crate::clusters::components::Fingerprint;
use crate::error::{Result, SqlError, error};
use crate::pg::document_keys::DocumentKeys;
use crate::pg::interrupts::check_interrupts;

/// The cluster and the fingerprint that are stored of a document.
pub type StoredMembership = (ClusterId, Option<Fingerprint>);

/// A document of an update: what is stored of it, and what must be.
#[derive(Clone, Copy)]
pub struct Place {
    /// The key.
    pub key: Datum,
    /// The stored state before the update.
    pub old: Option<StoredMembership>,
    /// The fingerprint now, if it is in a component.
    pub print: Option<Fingerprint>,
}

/// The documents of an update.
pub struct ClusterPlaces {
    keys: DocumentKeys,
    old: Vec<Option<StoredMembership>>,
    new: Vec<Option<(u32, Option<Fingerprint>)>>,
    /// By rank the key that stands for it, and the entries that are of it.
    merged: Vec<(u32, u32)>,
    /// The keys that stand for one, in their order.
    ranks: Vec<u32>,
}

impl ClusterPlaces {
    /// None yet; keys of that type and collation.
    pub fn new(type_oid: Oid, collation: Oid) -> Result<Self> {
        let keys = DocumentKeys::new(type_oid, collation)?;
        let (old, new, merged, ranks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { keys, old, new, merged, ranks })
    }

    /// Adds what is stored of a key, or the component that was found of it, with its fingerprint, or both.
    ///
    /// # Safety
    /// The key is of the type of the keys.
    pub unsafe fn push(
        &mut self,
        key: Datum,
        old: Option<StoredMembership>,
        new: Option<(u32, Option<Fingerprint>)>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.keys.push(key)? };
        memory::push(&mut self.old, old)?;
        memory::push(&mut self.new, new).map_err(Into::into)
    }

    /// Brings the entries of each key together: what is stored and what was found. Returns the documents by
    /// rank. It is refused if a key was found twice.
    pub fn merge(&mut self) -> Result<Vec<RankedDocument>> {
        let sorted = self.keys.sorted();
        let mut documents = Vec::new();
        self.merged.clear();
        self.ranks.clear();
        for same in sorted.chunk_by(|a, b| self.keys.compare(*a, *b).is_eq()) {
            check_interrupts();
            let old = same.iter().copied().find(|entry| self.old[*entry as usize].is_some());
            let mut found =
                same.iter().copied().filter(|entry| self.new[*entry as usize].is_some());
            let new = found.next();
            if found.next().is_some() {
                return Err(seen_twice());
            }
            let (first, last) = (old.or(new).unwrap_or(same[0]), new.or(old).unwrap_or(same[0]));
            memory::push(&mut self.merged, (first, last))?;
            memory::push(&mut self.ranks, first)?;
            let document = RankedDocument {
                old: self.old[first as usize].map(|(cluster, _)| cluster),
                component: self.new[last as usize].map(|(component, _)| component),
            };
            memory::push(&mut documents, document)?;
        }
        Ok(documents)
    }

    /// True if a key is among those that were merged.
    ///
    /// # Safety
    /// The key is of the type of the keys.
    pub unsafe fn has(&self, key: Datum) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.keys.find(&self.ranks, key).is_some() }
    }

    /// By rank.
    pub fn list(&self) -> Result<Vec<Place>> {
        let all = self.merged.iter().map(|&(first, last)| Place {
            key: self.keys.datum(first),
            old: self.old[first as usize],
            print: self.new[last as usize].and_then(|(_, print)| print),
        });
        memory::collect(all).map_err(Into::into)
    }
}

/// The error of a refresh in a transaction whose snapshot is too old; `detail` says what has happened since.
pub fn too_late(detail: &str) -> SqlError {
    let code = PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE;
    error(code, "could not refresh clusters in this transaction")
        .set_detail(format!(
            "The isolation level is REPEATABLE READ or SERIALIZABLE, and {detail}."
        ))
        .set_hint("Retry the transaction, or refresh in READ COMMITTED.")
}

/// The error if a key stands twice in what the snapshot sees. Both rows would be one document, and unite clusters that
/// have nothing in common.
pub fn seen_twice() -> SqlError {
    too_late("another transaction has deleted a row whose key this one has inserted again")
}
