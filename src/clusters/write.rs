//! The difference between the old state and the new one, written with its log.

use sketch::clusters::{ClusterId, ClusterIds, EventKind};

use crate::clusters::corpus::TrackedCorpus;
use crate::clusters::events::{Events, LoggedEvent};
use crate::clusters::places::ClusterPlaces;
use crate::clusters::tables::{AT_A_TIME, RefreshState, Tables};
use crate::pg::snapshot::ActiveSnapshot;
use crate::pg::type_storage::TypeStorage;
use crate::prelude::*;

pub struct Difference {
    pub places: ClusterPlaces,
    pub ids: ClusterIds,
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
    difference: &mut Difference,
    state: &mut RefreshState,
    every: bool,
) -> Result<WrittenCounts> {
    let tables = corpus.tables;
    let Difference { places, ids, whole } = difference;
    state.refreshes += 1;
    let new_from = std::mem::replace(&mut state.next_id, ids.next);
    // SAFETY: the time of day.
    let now = unsafe { Datum::from(pg_sys::GetCurrentTimestamp()) };
    // SAFETY: a time is passed by value.
    let now = unsafe { Parameter::new(pg_sys::TIMESTAMPTZOID, Some(now)) };
    let refresh = Parameter::int8(state.refreshes);
    let mut events = Events::of(places, ids, &tables.key)?;
    let (counts, printed) = members(tables, &mut events, &mut state.last_seq, [refresh, now])?;
    let mut changed = memory::collect(ids.changed()?.into_iter().map(|of| of.0))?;
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
    state.clusters -= each_part(&ids.ended, |some| {
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
    corpus.each_least_similar(&looked_at, |least| {
        let sql = "UPDATE {list} AS l SET least_similar = n.least_similar
             FROM unnest($1, $2) AS n (cluster_id, least_similar)
             WHERE l.cluster_id = n.cluster_id AND l.least_similar <> n.least_similar";
        tables.write(sql, least)?;
        Ok(())
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

/// Writes the members as the events say, and the log, for which `of_refresh` has the number and time of the refresh.
/// Returns also the clusters in which a fingerprint has changed.
fn members(
    tables: &Tables,
    events: &mut Events,
    last_seq: &mut i64,
    of_refresh: [Parameter; 2],
) -> Result<(WrittenCounts, Vec<ClusterId>)> {
    let (mut counts, mut printed) = (WrittenCounts::default(), Vec::new());
    // Events that are written at a time, and the memory of their keys.
    let mut some: Vec<LoggedEvent> = Vec::new();
    let mut memory = Memory::scratch(c"minlsh events of a statement");
    let key_storage = TypeStorage::of(tables.key.base_type);
    let mut write = |some: &[LoggedEvent]| -> Result<()> {
        apply(tables, some, &mut counts)?;
        *last_seq += log(tables, some, *last_seq, of_refresh)?;
        Ok(())
    };
    events.each(&mut |event| {
        if some.len() == AT_A_TIME {
            memory.run_and_reset(|| write(&some))?;
            some.clear();
        }
        if event.event.is_none() {
            memory::push(&mut printed, event.cluster)?;
        }
        // SAFETY: an event is of a document whose key is of the type of those of the tables.
        let key = event.key.map(|key| memory.run(|| unsafe { key_storage.copy(key) }));
        memory::push(&mut some, LoggedEvent { key, ..event }).map_err(Into::into)
    })?;
    memory.run_and_reset(|| write(&some))?;
    Ok((counts, printed))
}

/// Writes the members as some events say, which are in the order of the log: documents leave and move before clusters
/// merge and others join.
fn apply(tables: &Tables, events: &[LoggedEvent], counts: &mut WrittenCounts) -> Result<()> {
    let write = |kind: Option<EventKind>, sql: &'static str, values: &[ColumnOf]| {
        let of = events.iter().filter(|of| of.event.map(|event| event.kind) == kind);
        let of = memory::collect(of)?;
        let values: Vec<Parameter> = values.iter().map(|column| column(tables, &of)).collect();
        if of.is_empty() { Ok(0) } else { tables.write(sql, &values).map(|rows| rows as i64) }
    };
    write(
        None,
        "UPDATE {members} AS m SET fingerprint = n.fingerprint
         FROM unnest($1, $2) AS n (doc_id, fingerprint) WHERE m.doc_id {=} n.doc_id",
        &[keys, prints],
    )?;
    counts.removed += write(
        Some(EventKind::Leave),
        "DELETE FROM {members} AS m USING unnest($1) AS n (doc_id) WHERE m.doc_id {=} n.doc_id",
        &[keys],
    )?;
    counts.moved += write(
        Some(EventKind::Move),
        "UPDATE {members} AS m SET cluster_id = n.cluster_id
         FROM unnest($1, $2) AS n (doc_id, cluster_id) WHERE m.doc_id {=} n.doc_id",
        &[keys, clusters],
    )?;
    counts.moved += write(
        Some(EventKind::Merge),
        "UPDATE {members} AS m SET cluster_id = n.cluster_id
         FROM unnest($1, $2) AS n (other_id, cluster_id) WHERE m.cluster_id = n.other_id",
        &[others, clusters],
    )?;
    // Somebody may have inserted a row that the transaction's snapshot does not see.
    counts.joined += write(
        Some(EventKind::Join),
        "INSERT INTO {members} SELECT * FROM unnest($1, $2, $3) ON CONFLICT (doc_id)
         DO UPDATE SET cluster_id = excluded.cluster_id, fingerprint = excluded.fingerprint",
        &[keys, clusters, prints],
    )?;
    Ok(())
}

/// Logs some events behind the row of that number. Returns how many.
fn log(
    tables: &Tables,
    events: &[LoggedEvent],
    last_seq: i64,
    [refresh, now]: [Parameter; 2],
) -> Result<i64> {
    let of = &*memory::collect(events.iter().filter(|event| event.event.is_some()))?;
    if of.is_empty() {
        return Ok(0);
    }
    let names = of.iter().map(|of| Some(text::write(of.event?.name())));
    // SAFETY: texts that were just made.
    let names = unsafe { Parameter::array(names, pg_sys::TEXTOID) };
    let sizes = Parameter::int8s(of.iter().map(|of| Some(of.event?.size? as i64)));
    let last_seq = Parameter::int8(last_seq);
    let (clusters, others, keys) = (clusters(tables, of), others(tables, of), keys(tables, of));
    tables.write(
        "INSERT INTO {log} SELECT $1 + seq, $2, $3, event, cluster_id, other_id, doc_id, size
         FROM unnest($4, $5, $6, $7, $8) WITH ORDINALITY AS n (event, cluster_id, other_id, doc_id, size, seq)",
        &[last_seq, refresh, now, names, clusters, others, keys, sizes],
    )?;
    Ok(of.len() as i64)
}

/// A column of some events, as a parameter of a statement.
type ColumnOf = fn(&Tables, &[&LoggedEvent]) -> Parameter;

fn keys(tables: &Tables, events: &[&LoggedEvent]) -> Parameter {
    // SAFETY: `members` has copied keys of that type.
    unsafe { Parameter::array(events.iter().map(|event| event.key), tables.key.base_type) }
}

fn clusters(_: &Tables, events: &[&LoggedEvent]) -> Parameter {
    int8s(events, |event| event.cluster)
}

fn others(_: &Tables, events: &[&LoggedEvent]) -> Parameter {
    Parameter::int8s(events.iter().map(|of| of.event?.other))
}

fn prints(_: &Tables, events: &[&LoggedEvent]) -> Parameter {
    let prints = events.iter().map(|event| Some(Datum::from(event.print.as_ref()?.as_ptr())));
    // SAFETY: a uuid is passed as a pointer to its bytes, which are copied into the array.
    unsafe { Parameter::array(prints, pg_sys::UUIDOID) }
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
