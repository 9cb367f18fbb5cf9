//! The documents of an update: what the last refresh stored of each, and what was found now, joined by key.

use std::collections::HashMap;

use ahash::RandomState;
use sketch::clusters::{ClusterId, RankedDocument};

use crate::clusters::corpus::Fingerprint;
use crate::clusters::tables::{AT_A_TIME, Tables};
use crate::error::internal;
use crate::memory::of_sort;
use crate::pg::row::{INT8, SortedRows, UUID};
use crate::prelude::*;
use crate::row_key::Key;

pub type StoredMembership = (ClusterId, Option<Fingerprint>);

pub type FoundMembership = (u32, Option<Fingerprint>);

/// A document of an update, as stored and as found.
#[derive(Clone, Copy)]
pub struct UpdatePlace<'a> {
    pub key: TypedValue<'a>,
    pub old: Option<StoredMembership>,
    pub new: Option<FoundMembership>,
}

impl UpdatePlace<'_> {
    /// The part of it on which ids depend.
    pub fn ranked(&self) -> RankedDocument {
        let old = self.old.map(|(cluster, _)| cluster);
        RankedDocument { old, component: self.new.map(|(component, _)| component) }
    }

    /// The current fingerprint, if it is in a component.
    pub fn print(&self) -> Option<Fingerprint> {
        self.new.and_then(|(_, print)| print)
    }
}

/// The documents of an update. PostgreSQL sorts them, so that memory stays within its limit.
pub struct ClusterPlaces {
    /// The key, its [`Mention`], and the stored and found states: cluster or component, and fingerprint.
    rows: SortedRows,
    pub key: Key,
    /// The key of the last row that was read.
    last: DocumentKeys,
}

/// The way in which an update came to know a key, in the order of precedence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mention {
    /// As a document of the update.
    Named = 0,
    /// As a member of a block that is not kept together. What is known of it as a document of the update takes
    /// precedence.
    Block = 1,
}

impl ClusterPlaces {
    pub fn new(key: Key) -> Result<Self> {
        let (type_oid, collation) = (key.base_type, key.collation());
        let columns = [(type_oid, collation), INT8, INT8, UUID, INT8, UUID];
        let rows = SortedRows::new(&columns, 2, of_sort())?;
        Ok(Self { rows, key, last: DocumentKeys::new(type_oid, collation)? })
    }

    /// Adds what is stored of a key, or what was found of it, or both. A found state is a component and a fingerprint.
    pub fn push(
        &mut self,
        key: TypedValue,
        mention: Mention,
        old: Option<StoredMembership>,
        new: Option<FoundMembership>,
    ) -> Result<()> {
        let int = |value: Option<i64>| value.map_or_else(|| Parameter::null(pg_sys::INT8OID), Parameter::int8);
        let (old_print, new_print) = (old.and_then(|old| old.1), new.and_then(|new| new.1));
        let [old_print, new_print] = [&old_print, &new_print].map(|print| Parameter::uuid(print.as_ref()));
        let (old, new) = (int(old.map(|old| old.0)), int(new.map(|new| new.0.into())));
        let mention = Parameter::int8(mention as i64);
        self.rows.push(&[self.key.parameter(key), mention, old, old_print, new, new_print])
    }

    /// Calls `visit` with the documents in the order of keys, each with its stored and found states. An error if a key
    /// was found twice.
    pub fn each(&mut self, visit: &mut dyn FnMut(u32, &UpdatePlace) -> Result<()>) -> Result<()> {
        let Self { rows, key: Key { base_type, .. }, last } = self;
        let mut memory = Memory::scratch(c"minlsh key");
        let mut known: Option<(Option<StoredMembership>, Option<FoundMembership>)> = None;
        let mut ranks = 0..=u32::MAX;
        last.clear();
        let mut visit = |last: &DocumentKeys, known| {
            let Some((old, new)) = known else { return Ok(()) };
            match ranks.next() {
                Some(rank) => memory.run_and_reset(|| visit(rank, &UpdatePlace { key: last.key(0), old, new })),
                None => Err(internal("an update has more documents than 32 bits count")),
            }
        };
        rows.each(&mut |row| {
            check_interrupts();
            let Some(key) = row.typed(1, *base_type)? else { return Ok(()) };
            let mention = row.int8(2)?;
            let (old_print, new_print) = (row.uuid(4)?, row.uuid(6)?);
            let old = row.int8(3)?.map(|cluster| (cluster, old_print));
            let component = row.int8(5)?.and_then(|component| u32::try_from(component).ok());
            let new = component.map(|number| (number, new_print));
            match known.as_mut().filter(|_| last.find(&[0], key).is_some()) {
                Some(_) if mention == Some(Mention::Block as i64) => {}
                Some((_, Some(_))) if new.is_some() => return Err(seen_twice()),
                Some((old_known, new_known)) => {
                    *old_known = old_known.or(old);
                    *new_known = new_known.or(new);
                }
                None => {
                    visit(last, known.replace((old, new)))?;
                    last.clear();
                    last.push(key)?;
                }
            }
            Ok(())
        })?;
        visit(last, known)
    }

    /// Copies the documents to a sort that accepts more of them.
    pub fn reopened(mut self) -> Result<Self> {
        let mut reopened = Self::new(self.key)?;
        self.each(&mut |_, place| reopened.push(place.key, Mention::Named, place.old, place.new))?;
        Ok(reopened)
    }
}

/// The numbers of members of clusters, from the list.
pub type ClusterSizes = HashMap<ClusterId, u64, RandomState>;

/// Reads what is stored of each document in `keys`, and adds the sizes of their clusters. `next` is the next new id.
pub fn members_of(
    tables: &Tables,
    keys: &DocumentKeys,
    next: ClusterId,
    sizes: &mut ClusterSizes,
) -> Result<Vec<Option<StoredMembership>>> {
    let mut stored = memory::filled(None, keys.len())?;
    let mut memory = Memory::scratch(c"minlsh keys of a statement");
    for first in (0..keys.len()).step_by(AT_A_TIME) {
        let some = first..keys.len().min(first + AT_A_TIME);
        memory.run_and_reset(|| {
            let some = some.map(|at| Some(keys.key(at as u32)));
            let some = Parameter::array(some, tables.key.base_type);
            tables.each(
                "SELECT n.at, m.cluster_id, m.fingerprint, l.size
                 FROM unnest($1) WITH ORDINALITY AS n (doc_id, at)
                 JOIN {members} AS m ON m.doc_id {=} n.doc_id
                 LEFT JOIN {list} AS l ON l.cluster_id = m.cluster_id",
                &[some],
                |row| {
                    let at = row.int8(1)?.unwrap_or_default() as usize - 1;
                    let membership = stored_of(row, 2, next)?;
                    let size = row.int8(4)?.and_then(|size| u32::try_from(size).ok());
                    if let (Some((cluster, _)), Some(size)) = (membership, size) {
                        // Document numbers have 32 bits, so a larger number is not a size.
                        memory::insert_at(sizes, cluster, size.into())?;
                    }
                    stored[first + at] = membership;
                    Ok(Continue::Yes)
                },
            )
        })?;
    }
    Ok(stored)
}

/// Calls `visit` with the members of a cluster, until it returns that it has enough.
pub fn each_of(
    tables: &Tables,
    cluster: ClusterId,
    visit: &mut dyn FnMut(TypedValue, Option<Fingerprint>) -> Result<Continue>,
) -> Result<()> {
    tables.each("SELECT doc_id, fingerprint FROM {members} WHERE cluster_id = $1", &[Parameter::int8(cluster)], |row| {
        match row.typed(1, tables.key.base_type)? {
            Some(key) => visit(key, row.uuid(2)?),
            None => Ok(Continue::Yes),
        }
    })
}

/// Reads the cluster of a member, and its fingerprint in the next column. Refuses ids from `next` on, which would be
/// assigned again.
pub fn stored_of(row: &Row, column: i16, next: ClusterId) -> Result<Option<StoredMembership>> {
    let Some(cluster) = row.int8(column)? else { return Ok(None) };
    if (1..next).contains(&cluster) {
        return Ok(Some((cluster, row.uuid(column + 1)?)));
    }
    Err(wrong_state(format!("the table of members has cluster {cluster}, which never existed"))
        .set_detail("Somebody has changed the table.")
        .set_hint("Delete its rows from the table of members, and refresh with full => true."))
}

/// The error for a refresh whose transaction has too old a snapshot; `detail` says what has happened since.
pub fn too_late(detail: &str) -> SqlError {
    retry_later("could not refresh clusters in this transaction")
        .set_detail(format!("The isolation level is REPEATABLE READ or SERIALIZABLE, and {detail}."))
        .set_hint("Retry the transaction, or refresh in READ COMMITTED.")
}

/// The error if the snapshot sees a key twice. Taken as one document, both rows would unite unrelated clusters.
pub fn seen_twice() -> SqlError {
    too_late("another transaction has deleted a row whose key this one has inserted again")
}
