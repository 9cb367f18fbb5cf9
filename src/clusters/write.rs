//! Writes the difference between the old state and the new one: its events in the order of the log, and the SQL for
//! them.

use sketch::clusters::{ClusterEvent, ClusterId, ClusterIds, EventKind};

use crate::clusters::corpus::{Fingerprint, TrackedCorpus};
use crate::clusters::places::{ClusterPlaces, UpdatePlace};
use crate::clusters::tables::{AT_A_TIME, RefreshState, Tables};
use crate::memory::of_sort;
use crate::pg::row::{INT8, SortedRows, UUID};
use crate::pg::snapshot::ActiveSnapshot;
use crate::prelude::*;

pub struct Difference {
    pub places: ClusterPlaces,
    pub ids: ClusterIds,
    /// The cost of examining all documents, if that was done.
    pub whole: Option<f64>,
}

/// The counts of an update, for the result of a refresh.
#[derive(Clone, Copy, Default)]
pub struct WrittenCounts {
    pub joined: i64,
    pub removed: i64,
    pub moved: i64,
}

/// Writes the changes of an update, and counts the rows that PostgreSQL has written: a trigger of the owner may have
/// suppressed some. Computes the lowest similarity in changed clusters, or in all if `every`.
pub fn write(
    corpus: &TrackedCorpus,
    difference: &mut Difference,
    state: &mut RefreshState,
    every: bool,
) -> Result<WrittenCounts> {
    let tables = corpus.tables;
    state.refreshes += 1;
    let new_from = std::mem::replace(&mut state.next_id, difference.ids.next);
    // SAFETY: reads the clock.
    let now = TypedValue::time(unsafe { pg_sys::GetCurrentTimestamp() });
    let now = Parameter::new(pg_sys::TIMESTAMPTZOID, Some(now));
    let refresh = Parameter::int8(state.refreshes);
    let (counts, printed) = members(tables, difference, &mut state.last_seq, [refresh, now])?;
    let Difference { ids, whole, .. } = difference;
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
                &[some, now, refresh],
            )
        })
    };
    let (old, new) = changed.split_at(changed.partition_point(|cluster| *cluster < new_from));
    list(old)?;
    state.clusters += list(new)?;
    let delete = "DELETE FROM {list} WHERE cluster_id = ANY ($1)";
    state.clusters -= each_part(&ids.ended, |some| tables.write(delete, &[some]))?;
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

/// Calls `write` with the clusters in parts that fit the parameters of a statement. Returns the number of rows written.
fn each_part(clusters: &[ClusterId], mut write: impl FnMut(Parameter) -> Result<u64>) -> Result<i64> {
    let mut memory = Memory::scratch(c"minlsh rows of a statement");
    let mut written = 0;
    for some in clusters.chunks(AT_A_TIME) {
        check_interrupts();
        let some = || Parameter::int8s(some.iter().copied().map(Some));
        written += memory.run_and_reset(|| write(some()))? as i64;
    }
    Ok(written)
}

/// The changes of members, in the order of the log: documents leave and move before clusters merge and others join.
/// Each belongs to a kind of events, or to changes of a fingerprint, which are not events.
const CHANGES: [(Option<EventKind>, &str); 5] = [
    (
        None,
        "UPDATE {members} AS m SET fingerprint = n.fingerprint
         FROM {events} WHERE event IS NULL AND m.doc_id {=} n.doc_id",
    ),
    (
        Some(EventKind::Leave),
        "DELETE FROM {members} AS m USING {events} WHERE event = 'leave' AND m.doc_id {=} n.doc_id",
    ),
    (
        Some(EventKind::Move),
        "UPDATE {members} AS m SET cluster_id = n.cluster_id
         FROM {events} WHERE event = 'move' AND m.doc_id {=} n.doc_id",
    ),
    (
        Some(EventKind::Merge),
        "UPDATE {members} AS m SET cluster_id = n.cluster_id
         FROM {events} WHERE event = 'merge' AND m.cluster_id = n.other_id",
    ),
    // Someone may have inserted a row that the transaction's snapshot does not see.
    (
        Some(EventKind::Join),
        "INSERT INTO {members} SELECT doc_id, cluster_id, fingerprint FROM {events} WHERE event = 'join'
         ON CONFLICT (doc_id)
         DO UPDATE SET cluster_id = excluded.cluster_id, fingerprint = excluded.fingerprint",
    ),
];

/// Logs events after row `$1`, for the refresh `$2`, which began at `$3`.
const LOG: &str = "INSERT INTO {log}
    SELECT $1 + row_number() OVER (ORDER BY seq), $2, $3, event, cluster_id, other_id, doc_id, size
    FROM {events} WHERE event IS NOT NULL";

/// Writes the members by the events, and the log; `of_refresh` has the number and time of the refresh. Returns also the
/// clusters with changed fingerprints.
fn members(
    tables: &Tables,
    difference: &mut Difference,
    last_seq: &mut i64,
    [refresh, now]: [Parameter; 2],
) -> Result<(WrittenCounts, Vec<ClusterId>)> {
    let (mut counts, mut printed) = (WrittenCounts::default(), Vec::new());
    // The events of the next statement, each with the number of its key.
    let mut some: Vec<LoggedEvent<u32>> = Vec::new();
    let mut known = DocumentKeys::new(tables.key.base_type, tables.key.collation())?;
    let mut memory = Memory::scratch(c"minlsh events of a statement");
    let mut write = |some: &[LoggedEvent<u32>], known: &DocumentKeys| -> Result<()> {
        let [names, clusters, others, keys, prints, sizes] = columns(tables, some, known);
        let last = Parameter::int8(*last_seq);
        let values = [last, refresh, now, names, clusters, others, keys, prints, sizes];
        for (kind, sql) in CHANGES {
            if some.iter().any(|of| of.event.map(|event| event.kind) == kind) {
                let rows = tables.write(sql, &values)? as i64;
                match kind {
                    Some(EventKind::Leave) => counts.removed += rows,
                    Some(EventKind::Join) => counts.joined += rows,
                    Some(_) => counts.moved += rows,
                    None => {}
                }
            }
        }
        let logged = some.iter().filter(|of| of.event.is_some()).count() as i64;
        if logged > 0 {
            tables.write(LOG, &values)?;
            *last_seq += logged;
        }
        Ok(())
    };
    difference.each_event(&mut |event| {
        if some.len() == AT_A_TIME {
            memory.run_and_reset(|| write(&some, &known))?;
            some.clear();
            known.clear();
        }
        if event.event.is_none() {
            memory::push(&mut printed, event.cluster)?;
        }
        let key = event.key.map(|key| known.push(key).map(|()| known.len() as u32 - 1)).transpose()?;
        let LoggedEvent { event, cluster, print, .. } = event;
        memory::push(&mut some, LoggedEvent { event, cluster, key, print }).map_err(Into::into)
    })?;
    memory.run_and_reset(|| write(&some, &known))?;
    Ok((counts, printed))
}

/// The columns of `{events}`, as `Tables` names them.
fn columns<'a>(tables: &Tables, some: &'a [LoggedEvent<u32>], known: &DocumentKeys) -> [Parameter<'a>; 6] {
    let names = some.iter().map(|of| Some(TypedValue::text(of.event?.name())));
    let keys = some.iter().map(|of| Some(known.key(of.key?)));
    let prints = some.iter().map(|of| of.print.as_ref().map(TypedValue::uuid));
    let names = Parameter::array(names, pg_sys::TEXTOID);
    let keys = Parameter::array(keys, tables.key.base_type);
    let prints = Parameter::array(prints, pg_sys::UUIDOID);
    let clusters = Parameter::int8s(some.iter().map(|of| Some(of.cluster)));
    let others = Parameter::int8s(some.iter().map(|of| of.event?.other));
    let sizes = Parameter::int8s(some.iter().map(|of| Some(of.event?.size? as i64)));
    [names, clusters, others, keys, prints, sizes]
}

/// The ids of the clusters in the list that was just written, ascending.
pub fn listed(tables: &Tables) -> Result<Vec<ClusterId>> {
    let mut clusters = Vec::new();
    add_clusters(tables, "SELECT cluster_id FROM {list} ORDER BY cluster_id", &mut clusters)?;
    Ok(clusters)
}

/// Appends the clusters that a query of the current state returns.
fn add_clusters(tables: &Tables, sql: &'static str, clusters: &mut Vec<ClusterId>) -> Result<()> {
    let _as_written = ActiveSnapshot::of_transaction();
    tables.each(sql, &[], |row| {
        if let Some(cluster) = row.int8(1)? {
            memory::push(clusters, cluster)?;
        }
        Ok(Continue::Yes)
    })
}

/// Repairs changes that someone made in the list by hand. Deletes clusters without members, and adds clusters with
/// wrong sizes to `changed`.
fn mend(tables: &Tables, changed: &mut Vec<ClusterId>) -> Result<()> {
    tables.write(
        "DELETE FROM {list} WHERE NOT EXISTS
             (SELECT FROM {members} AS m WHERE m.cluster_id = {list}.cluster_id)",
        &[],
    )?;
    let sql = "SELECT cluster_id
         FROM (SELECT cluster_id, count(*) AS members FROM {members} GROUP BY cluster_id) AS m
             LEFT JOIN {list} AS l USING (cluster_id) WHERE l.size IS DISTINCT FROM members";
    add_clusters(tables, sql, changed)?;
    changed.sort_unstable();
    changed.dedup();
    Ok(())
}

/// An event that is read from the sort, or a change of a fingerprint, with a key of type `K`.
pub struct LoggedEvent<K> {
    /// `None` for a change of a fingerprint, which is not logged.
    pub event: Option<ClusterEvent>,
    pub cluster: ClusterId,
    /// The key of the event's document, if there is one, and the document's current fingerprint.
    pub key: Option<K>,
    pub print: Option<Fingerprint>,
}

/// The step of changes of fingerprints, before the steps of events.
const BEFORE_ALL: i64 = -1;

impl Difference {
    /// Calls `visit` with all changes of documents and clusters, in the order of the log. PostgreSQL sorts them, so
    /// that memory stays within its limit.
    pub fn each_event(&mut self, visit: &mut dyn FnMut(LoggedEvent<TypedValue>) -> Result<()>) -> Result<()> {
        let Self { places, ids, .. } = self;
        let key_type = places.key.base_type;
        let key = (key_type, places.key.collation());
        // Position in the log (`ClusterEvent::place`), size, and the document's key and fingerprint.
        let mut rows = SortedRows::new(&[INT8, INT8, INT8, INT8, INT8, key, UUID], 4, of_sort())?;
        let mut push = |numbers: [i64; 5], place: Option<&UpdatePlace>| {
            let print = place.and_then(UpdatePlace::print);
            let (key, print) =
                (Parameter::new(key_type, place.map(|place| place.key)), Parameter::uuid(print.as_ref()));
            let [step, cluster, other, document, size] = numbers.map(Parameter::int8);
            rows.push(&[step, cluster, other, document, size, key, print])
        };
        let numbers = |event: ClusterEvent| {
            let (step, cluster, other, document) = event.place();
            let size = event.size.map_or(-1, |size| size as i64);
            [step.into(), cluster, other, document.map_or(-1, i64::from), size]
        };
        for event in ids.events()? {
            check_interrupts();
            push(numbers(event), None)?;
        }
        places.each(&mut |rank, place| {
            if let (Some((cluster, old)), Some(print)) = (place.old, place.print())
                && old != Some(print)
            {
                push([BEFORE_ALL, cluster, 0, rank.into(), 0], Some(place))?;
            }
            let event = ids.event_of(rank, place.ranked());
            event.map_or(Ok(()), |event| push(numbers(event), Some(place)))
        })?;
        rows.each(&mut |row| {
            check_interrupts();
            let int = |column| Ok::<_, SqlError>(row.int8(column)?.unwrap_or_default());
            let (cluster, other, document) = (int(2)?, int(3)?, u32::try_from(int(4)?).ok());
            let place = u8::try_from(int(1)?).map(|step| (step, cluster, other, document));
            let size = u64::try_from(int(5)?).ok();
            let event = place.ok().and_then(|place| ClusterEvent::at(place, size));
            let (key, print) = (row.typed(6, key_type)?, row.uuid(7)?);
            visit(LoggedEvent { event, cluster, key, print })
        })
    }
}
