//! The difference between the old state and the new one, written with its log.

use sketch::clusters::{ClusterEvent, ClusterId, Update};

use crate::clusters::corpus::TrackedCorpus;
use crate::clusters::places::{ClusterPlaces, UpdatePlace};
use crate::clusters::tables::{AT_A_TIME, RefreshState, Tables};
use crate::pg::snapshot::ActiveSnapshot;
use crate::prelude::*;

/// The difference that an update makes.
pub struct Difference {
    pub places: ClusterPlaces,
    /// The update of their ids and log.
    pub update: Update,
    /// The cost of looking at all documents, if they were looked at.
    pub whole: Option<f64>,
}

/// The counts of an update, as the result of a refresh shows them.
#[derive(Clone, Copy, Default)]
pub struct WrittenCounts {
    pub joined: i64,
    pub removed: i64,
    pub moved: i64,
}

/// Writes what an update changes, and counts what PostgreSQL has written: a trigger of the owner may have left out
/// rows. How similar the members of a cluster are is looked at in those that have changed, or in all if `every`.
pub fn write(
    corpus: &TrackedCorpus,
    difference: &Difference,
    state: &mut RefreshState,
    every: bool,
) -> Result<WrittenCounts> {
    let tables = corpus.tables;
    let Difference { places, update, whole } = difference;
    let places = &*places.list()?;
    let (counts, printed) = members(tables, places, update)?;
    state.refreshes += 1;
    let new_from = std::mem::replace(&mut state.next_id, update.next);
    // SAFETY: the time of day.
    let now = unsafe { Datum::from(pg_sys::GetCurrentTimestamp()) };
    // SAFETY: a time is passed by value.
    let now = unsafe { Parameter::new(pg_sys::TIMESTAMPTZOID, Some(now)) };
    let refresh = Parameter::int8(state.refreshes);
    let mut changed = memory::collect(update.changed.iter().map(|of| of.0))?;
    if whole.is_some() {
        mend(tables, &mut changed)?;
    }
    let list = |clusters: &[ClusterId]| {
        each_part(clusters, |some| {
            tables.write(
                "INSERT INTO {list} SELECT cluster_id, count(*), $2, $3, 1 FROM {members}
                 WHERE cluster_id = ANY ($1) GROUP BY cluster_id
                 ON CONFLICT (cluster_id) DO UPDATE SET size = excluded.size, changed = excluded.changed",
                &[int8s(some, |cluster| *cluster), now, refresh],
            )
        })
    };
    let (old, new) = changed.split_at(changed.partition_point(|cluster| *cluster < new_from));
    list(old)?;
    state.clusters += list(new)?;
    state.clusters -= each_part(&update.ended, |some| {
        let ended = [int8s(some, |cluster| *cluster)];
        tables.write("DELETE FROM {list} WHERE cluster_id = ANY ($1)", &ended)
    })?;
    let mut looked_at = memory::collect(changed.into_iter().chain(printed))?;
    if whole.is_some() {
        let all = listed(tables)?;
        state.clusters = all.len() as i64;
        if every {
            looked_at = all;
        }
    }
    looked_at.sort_unstable();
    looked_at.dedup();
    let least = corpus.least_similar(&looked_at)?;
    each_part(&looked_at, |some| {
        let sql = "UPDATE {list} AS l SET least_similar = n.least_similar
             FROM unnest($1, $2) AS n (cluster_id, least_similar)
             WHERE l.cluster_id = n.cluster_id AND l.least_similar <> n.least_similar";
        tables.write(sql, &least.of(some))
    })?;
    each_part(&update.events, |some| {
        // SAFETY: texts that were just made, and keys of places, which were merged from keys of that type.
        let (names, keys) = unsafe {
            let name = |event: &ClusterEvent| Some(text::write(event.name()));
            let key = |event: &ClusterEvent| Some(places[event.document()? as usize].key);
            (
                Parameter::array(some.iter().map(name), pg_sys::TEXTOID),
                Parameter::array(some.iter().map(key), tables.key.base_type),
            )
        };
        let others = Parameter::int8s(some.iter().map(|event| event.other()));
        let sizes = Parameter::int8s(some.iter().map(|event| Some(event.size()? as i64)));
        let clusters = int8s(some, |event| event.cluster());
        let written = tables.write(
            "INSERT INTO {log} SELECT $1 + seq, $2, $3, event, cluster_id, other_id, doc_id, size
             FROM unnest($4, $5, $6, $7, $8) WITH ORDINALITY AS n (event, cluster_id, other_id, doc_id, size, seq)",
            &[Parameter::int8(state.last_seq), refresh, now, names, clusters, others, keys, sizes],
        )?;
        state.last_seq += some.len() as i64;
        Ok(written)
    })?;
    Ok(counts)
}

/// Calls `write` with as many rows at a time as a statement is given. Returns how many rows these have written.
fn each_part<T>(rows: &[T], mut write: impl FnMut(&[T]) -> Result<u64>) -> Result<i64> {
    let mut memory = Memory::scratch(c"minlsh rows of a statement");
    let mut written = 0;
    for some in rows.chunks(AT_A_TIME) {
        check_interrupts();
        written += memory.run_and_reset(|| write(some))? as i64;
    }
    Ok(written)
}

fn int8s<T>(rows: &[T], value: impl Fn(&T) -> i64) -> Parameter {
    Parameter::int8s(rows.iter().map(|row| Some(value(row))))
}

/// Writes the members as the events of the log say, in their order. Returns also the clusters in which a fingerprint
/// has changed.
fn members(
    tables: &Tables,
    places: &[UpdatePlace],
    update: &Update,
) -> Result<(WrittenCounts, Vec<ClusterId>)> {
    // SAFETY: keys of that type, for which `ClusterPlaces` was made.
    let keys = |some: &mut dyn Iterator<Item = &UpdatePlace>| unsafe {
        Parameter::array(some.map(|place| Some(place.key)), tables.key.base_type)
    };
    let prints = |some: &mut dyn Iterator<Item = &UpdatePlace>| {
        let prints = some.map(|place| Some(Datum::from(place.print.as_ref()?.as_ptr())));
        // SAFETY: a uuid is passed as a pointer to its bytes, which are those of places.
        unsafe { Parameter::array(prints, pg_sys::UUIDOID) }
    };
    let is_printed = |place: &&UpdatePlace| {
        place.old.is_some_and(|(_, stored)| place.print.is_some() && place.print != stored)
    };
    let printed = memory::collect(places.iter().filter(is_printed))?;
    each_part(&printed, |some| {
        let mut of = some.iter().copied();
        tables.write(
            "UPDATE {members} AS m SET fingerprint = n.fingerprint
             FROM unnest($1, $2) AS n (doc_id, fingerprint) WHERE m.doc_id {=} n.doc_id",
            &[keys(&mut of.clone()), prints(&mut of)],
        )
    })?;
    let (mut left, mut moved) = (Vec::new(), Vec::new());
    let (mut merged, mut joined) = (Vec::new(), Vec::new());
    for event in &update.events {
        let place = |document: u32| &places[document as usize];
        match *event {
            ClusterEvent::Leave { document, .. } => memory::push(&mut left, place(document))?,
            ClusterEvent::Move { cluster, document, .. } => {
                memory::push(&mut moved, (place(document), cluster))?;
            }
            ClusterEvent::Merge { cluster, other, .. } => {
                memory::push(&mut merged, (other, cluster))?;
            }
            ClusterEvent::Join { cluster, document } => {
                memory::push(&mut joined, (place(document), cluster))?;
            }
            ClusterEvent::Create { .. }
            | ClusterEvent::Split { .. }
            | ClusterEvent::Dissolve { .. } => {}
        }
    }
    let removed = each_part(&left, |some| {
        let sql =
            "DELETE FROM {members} AS m USING unnest($1) AS n (doc_id) WHERE m.doc_id {=} n.doc_id";
        tables.write(sql, &[keys(&mut some.iter().copied())])
    })?;
    let one_by_one = each_part(&moved, |some| {
        tables.write(
            "UPDATE {members} AS m SET cluster_id = n.cluster_id
             FROM unnest($1, $2) AS n (doc_id, cluster_id) WHERE m.doc_id {=} n.doc_id",
            &[keys(&mut some.iter().map(|row| row.0)), int8s(some, |row| row.1)],
        )
    })?;
    let together = each_part(&merged, |some| {
        tables.write(
            "UPDATE {members} AS m SET cluster_id = n.cluster_id
             FROM unnest($1, $2) AS n (other_id, cluster_id) WHERE m.cluster_id = n.other_id",
            &[int8s(some, |merge| merge.0), int8s(some, |merge| merge.1)],
        )
    })?;
    let joined = each_part(&joined, |some| {
        let mut of = some.iter().map(|row| row.0);
        let clusters = int8s(some, |row| row.1);
        // Somebody may have inserted a row that the transaction's snapshot does not see.
        let sql = "INSERT INTO {members} SELECT * FROM unnest($1, $2, $3) ON CONFLICT (doc_id)
             DO UPDATE SET cluster_id = excluded.cluster_id, fingerprint = excluded.fingerprint";
        tables.write(sql, &[keys(&mut of.clone()), clusters, prints(&mut of)])
    })?;
    let printed = memory::collect(printed.iter().filter_map(|place| Some(place.old?.0)))?;
    Ok((WrittenCounts { joined, removed, moved: one_by_one + together }, printed))
}

/// The clusters of the list, as they have just been written, ascending.
pub fn listed(tables: &Tables) -> Result<Vec<ClusterId>> {
    let _as_written = ActiveSnapshot::of_transaction();
    let mut clusters = Vec::new();
    tables.each("SELECT cluster_id FROM {list} ORDER BY cluster_id", &[], |row| {
        if let Some(cluster) = row.int8(1)? {
            memory::push(&mut clusters, cluster)?;
        }
        Ok(Continue::Yes)
    })?;
    Ok(clusters)
}

/// Mends what somebody has changed in the list by hand: deletes clusters that have no members, and adds to `changed`
/// those whose sizes are wrong.
fn mend(tables: &Tables, changed: &mut Vec<ClusterId>) -> Result<()> {
    tables.write(
        "DELETE FROM {list} WHERE NOT EXISTS
             (SELECT FROM {members} AS m WHERE m.cluster_id = {list}.cluster_id)",
        &[],
    )?;
    let _as_written = ActiveSnapshot::of_transaction();
    let sql = "SELECT cluster_id
         FROM (SELECT cluster_id, count(*) AS members FROM {members} GROUP BY cluster_id) AS m
             LEFT JOIN {list} AS l USING (cluster_id) WHERE l.size IS DISTINCT FROM members";
    tables.each(sql, &[], |row| {
        if let Some(cluster) = row.int8(1)? {
            memory::push(changed, cluster)?;
        }
        Ok(Continue::Yes)
    })?;
    changed.sort_unstable();
    changed.dedup();
    Ok(())
}
