//! The documents of an update: what the last refresh has stored of each, and what was found, brought together by rank.

use std::collections::HashMap;

use ahash::RandomState;
use sketch::clusters::{ClusterId, RankedDocument};

use crate::clusters::corpus::Fingerprint;
use crate::clusters::tables::{AT_A_TIME, Tables};
use crate::pg::document_keys::DocumentKeys;
use crate::prelude::*;

/// The cluster and the fingerprint that are stored of a document.
pub type StoredMembership = (ClusterId, Option<Fingerprint>);

/// A document of an update: what is stored of it, and what must be.
#[derive(Clone, Copy)]
pub struct UpdatePlace {
    pub key: Datum,
    pub old: Option<StoredMembership>,
    /// The fingerprint now, if it is in a component.
    pub print: Option<Fingerprint>,
}

/// The documents of an update.
pub struct ClusterPlaces {
    keys: DocumentKeys,
    old: Vec<Option<StoredMembership>>,
    new: Vec<Option<(u32, Option<Fingerprint>)>>,
    /// For each rank the first and the last entry of its key.
    merged: Vec<(u32, u32)>,
    /// The first of these, in the order of keys.
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
        // SAFETY: a key of the type that `new` has made `keys` for, as this function asks of its caller.
        unsafe { self.keys.push(key)? };
        memory::push(&mut self.old, old)?;
        memory::push(&mut self.new, new).map_err(Into::into)
    }

    /// Brings together what is stored and what was found of each key. Returns the documents by rank; an error if a key
    /// was found twice.
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
        // SAFETY: a key of the type that `new` has made `keys` for, as this function asks of its caller.
        unsafe { self.keys.find(&self.ranks, key).is_some() }
    }

    pub fn list(&self) -> Result<Vec<UpdatePlace>> {
        let all = self.merged.iter().map(|&(first, last)| UpdatePlace {
            key: self.keys.datum(first),
            old: self.old[first as usize],
            print: self.new[last as usize].and_then(|(_, print)| print),
        });
        memory::collect(all).map_err(Into::into)
    }
}

/// The stored state of documents and clusters.
pub struct Known<'a> {
    tables: &'a Tables,
    /// The next new id.
    next: ClusterId,
    /// The sizes of the clusters that were met, by the list.
    sizes: HashMap<ClusterId, u64, RandomState>,
}

impl<'a> Known<'a> {
    /// The stored state that the active snapshot sees.
    pub fn of(tables: &'a Tables, next: ClusterId) -> Self {
        Self { tables, next, sizes: HashMap::default() }
    }

    /// Reads what is stored of each of some documents.
    pub fn members(&mut self, keys: &DocumentKeys) -> Result<Vec<Option<StoredMembership>>> {
        let mut stored = memory::filled(None, keys.len())?;
        let mut memory = Memory::scratch(c"minlsh keys of a statement");
        for first in (0..keys.len()).step_by(AT_A_TIME) {
            let some = first..keys.len().min(first + AT_A_TIME);
            memory.run_and_reset(|| {
                let some = some.map(|at| Some(keys.datum(at as u32)));
                // SAFETY: callers gather keys of the documents, whose type `Tables::open` was given as that of its
                // columns.
                let some = unsafe { Parameter::array(some, self.tables.key.base_type) };
                self.tables.each(
                    "SELECT n.at, m.cluster_id, m.fingerprint, l.size
                     FROM unnest($1) WITH ORDINALITY AS n (doc_id, at)
                     JOIN {members} AS m ON m.doc_id {=} n.doc_id
                     LEFT JOIN {list} AS l ON l.cluster_id = m.cluster_id",
                    &[some],
                    |row| {
                        let at = row.int8(1)?.unwrap_or_default() as usize - 1;
                        let membership = stored_of(row, 2, self.next)?;
                        let size = row.int8(4)?.and_then(|size| u32::try_from(size).ok());
                        if let (Some((cluster, _)), Some(size)) = (membership, size) {
                            // Documents are counted by 32 bits: a greater number is not a size.
                            memory::insert_at(&mut self.sizes, cluster, size.into())?;
                        }
                        stored[first + at] = membership;
                        Ok(Continue::Yes)
                    },
                )
            })?;
        }
        Ok(stored)
    }

    /// The number of members that a cluster has by the list, of which a member was looked up.
    pub fn size(&self, cluster: ClusterId) -> Option<u64> {
        self.sizes.get(&cluster).copied()
    }
}

/// Calls `visit` with the members of a cluster, until it says that it has enough.
pub fn each_of(
    tables: &Tables,
    cluster: ClusterId,
    visit: &mut dyn FnMut(Datum, Option<Fingerprint>) -> Result<Continue>,
) -> Result<()> {
    tables.each(
        "SELECT doc_id, fingerprint FROM {members} WHERE cluster_id = $1",
        &[Parameter::int8(cluster)],
        |row| match row.typed(1, tables.key.base_type)? {
            Some(key) => visit(key, print_of(row, 2)?),
            None => Ok(Continue::Yes),
        },
    )
}

/// Reads the cluster of a member, and its fingerprint in the next column. Ids that were never given, from `next` on,
/// would be given twice.
pub fn stored_of(row: &Row, column: i16, next: ClusterId) -> Result<Option<StoredMembership>> {
    let Some(cluster) = row.int8(column)? else { return Ok(None) };
    if (1..next).contains(&cluster) {
        return Ok(Some((cluster, print_of(row, column + 1)?)));
    }
    Err(wrong_state(format!("the table of members has cluster {cluster}, which never existed"))
        .set_detail("Somebody has changed the table.")
        .set_hint("Delete its rows from the table of members, and refresh with full => true."))
}

fn print_of(row: &Row, column: i16) -> Result<Option<Fingerprint>> {
    let print = row.typed(column, pg_sys::UUIDOID)?;
    // SAFETY: a uuid is 16 bytes, in a row that is held.
    Ok(print.map(|print| unsafe { *print.cast_mut_ptr::<Fingerprint>() }))
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

/// The error if the snapshot sees a key twice. As one document both rows would unite clusters that have nothing in
/// common.
pub fn seen_twice() -> SqlError {
    too_late("another transaction has deleted a row whose key this one has inserted again")
}
