//! The difference between the old state and the new one, written with its log.

use pgrx::pg_sys::{self, Datum};
use sketch::clusters::{Block, ClusterEvent, ClusterId, Update};
use sketch::memory;

use crate::clusters::least::LeastOfEach;
use crate::clusters::places::{ClusterPlaces, Place};
use crate::clusters::state::State;
use crate::clusters::tables::{AT_A_TIME, Tables};
use crate::error::Result;
use crate::pg::call::float8_datum;
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;
use crate::pg::row::Continue;
use crate::pg::snapshot::ActiveSnapshot;
use crate::pg::spi::Parameter;
use crate::pg::text;

/// The difference that an update makes.
pub struct Difference {
    /// Its documents.
    pub places: ClusterPlaces,
    /// The clusters of which it does not name every document.
    pub blocks: Vec<Block>,
    /// The update of their ids and log.
    pub update: Update,
    /// The cost of looking at all documents, if they were looked at.
    pub whole: Option<f64>,
}

/// The counts of an update, as the result of a refresh shows them.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub joined: i64,
    pub removed: i64,
    pub moved: i64,
}

/// Writes what an update changes. `least` finds how similar the members of clusters are.
pub fn write(
    tables: &Tables,
    difference: &Difference,
    state: &mut State,
    least: &dyn Fn(&[ClusterId]) -> Result<LeastOfEach>,
) -> Result<Counts> {
    let Difference { places, blocks, update, whole } = difference;
    let places = &*places.list()?;
    let merges = merges(update)?;
    let mut ids = new_ids(places, update, &merges)?;
    let (mut counts, touched) = documents(tables, places, &ids)?;
    // Those that are left of a block have no place.
    let is_block = |cluster| blocks.iter().any(|block| block.cluster == cluster);
    let merged = memory::collect(merges.into_iter().filter(|merge| is_block(merge.0)));
    each_part(&merged?, |some| {
        let moved = tables.write(
            "UPDATE {members} AS m SET cluster_id = n.cluster_id
             FROM unnest($1, $2) AS n (other_id, cluster_id) WHERE m.cluster_id = n.other_id",
            &[int8s(some, |merge| merge.0), int8s(some, |merge| merge.1)],
        )?;
        counts.moved += moved as i64;
        Ok(())
    })?;
    state.refreshes += 1;
    let new_from = std::mem::replace(&mut state.next_id, update.next);
    // SAFETY: the time of day.
    let now = unsafe { Datum::from(pg_sys::GetCurrentTimestamp()) };
    // SAFETY: a time is passed by value.
    let now = unsafe { Parameter::new(pg_sys::TIMESTAMPTZOID, Some(now)) };
    let refresh = Parameter::int8(state.refreshes);
    let mut changed = memory::copied(&update.changed)?;
    if whole.is_some() {
        mend(tables, &mut changed)?;
    }
    each_part(&changed, |some| {
        tables.write(
            "INSERT INTO {list} SELECT cluster_id, size, $3, $4, 1 FROM unnest($1, $2) AS n (cluster_id, size)
             ON CONFLICT (cluster_id) DO UPDATE SET size = excluded.size, changed = excluded.changed",
            &[int8s(some, |of| of.0), int8s(some, |of| of.1 as i64), now, refresh],
        )?;
        state.clusters += some.iter().filter(|changed| changed.0 >= new_from).count() as i64;
        Ok(())
    })?;
    let mut looked_at = memory::collect(changed.iter().map(|of| of.0).chain(touched))?;
    looked_at.sort_unstable();
    looked_at.dedup();
    let least = least(&looked_at)?;
    each_part(&looked_at, |some| {
        let least = some.iter().map(|cluster| least.get(cluster).copied().unwrap_or(1.0));
        // SAFETY: numbers that were just made datums of that type.
        let least = unsafe {
            Parameter::array(least.map(|least| Some(float8_datum(least))), pg_sys::FLOAT8OID)
        };
        let sql = "UPDATE {list} AS l SET least_similar = n.least_similar
             FROM unnest($1, $2) AS n (cluster_id, least_similar)
             WHERE l.cluster_id = n.cluster_id AND l.least_similar <> n.least_similar";
        tables.write(sql, &[int8s(some, |cluster| *cluster), least]).map(drop)
    })?;
    each_part(&update.ended, |some| {
        let ended = [int8s(some, |cluster| *cluster)];
        state.clusters -=
            tables.write("DELETE FROM {list} WHERE cluster_id = ANY ($1)", &ended)? as i64;
        Ok(())
    })?;
    if whole.is_some() {
        // All that there are have a place.
        ids.sort_unstable();
        ids.dedup();
        state.clusters = ids.iter().flatten().count() as i64;
    }
    each_part(&update.events, |some| {
        // SAFETY: texts that were just made, and keys of places, which were merged from keys of `tables.key`.
        let (names, keys) = unsafe {
            let name = |event: &ClusterEvent| Some(text::write(event.name()));
            let key = |event: &ClusterEvent| Some(places[event.document()? as usize].key);
            (
                Parameter::array(some.iter().map(name), pg_sys::TEXTOID),
                Parameter::array(some.iter().map(key), tables.key),
            )
        };
        let others = Parameter::int8s(some.iter().map(|event| event.other()));
        let sizes = Parameter::int8s(some.iter().map(|event| Some(event.size()? as i64)));
        let clusters = int8s(some, |event| event.cluster());
        tables.write(
            "INSERT INTO {log} SELECT $1 + seq, $2, $3, event, cluster_id, other_id, doc_id, size
             FROM unnest($4, $5, $6, $7, $8) WITH ORDINALITY AS n (event, cluster_id, other_id, doc_id, size, seq)",
            &[Parameter::int8(state.last_seq), refresh, now, names, clusters, others, keys, sizes],
        )?;
        state.last_seq += some.len() as i64;
        Ok(())
    })?;
    Ok(counts)
}

/// Calls `write` with as many rows at a time as a statement is given.
fn each_part<T>(rows: &[T], mut write: impl FnMut(&[T]) -> Result<()>) -> Result<()> {
    let mut memory = Memory::scratch(c"minlsh rows of a statement");
    for some in rows.chunks(AT_A_TIME) {
        check_interrupts();
        memory.run_and_reset(|| write(some))?;
    }
    Ok(())
}

fn int8s<T>(rows: &[T], value: impl Fn(&T) -> i64) -> Parameter {
    Parameter::int8s(rows.iter().map(|row| Some(value(row))))
}

/// The old clusters that belong to others now, and these, in the order of the old ones.
fn merges(update: &Update) -> Result<Vec<(ClusterId, ClusterId)>> {
    let merges = update.events.iter().filter_map(|event| match *event {
        ClusterEvent::Merge { cluster, other, .. } => Some((other, cluster)),
        _ => None,
    });
    let mut merges = memory::collect(merges)?;
    merges.sort_unstable();
    Ok(merges)
}

/// The cluster of each document after the update.
fn new_ids(
    places: &[Place],
    update: &Update,
    merges: &[(ClusterId, ClusterId)],
) -> Result<Vec<Option<ClusterId>>> {
    let stays = |old: ClusterId| match merges.binary_search_by_key(&old, |merge| merge.0) {
        Ok(place) => merges[place].1,
        Err(_) => old,
    };
    let ids = places.iter().map(|place| place.old.map(|(old, _)| stays(old)));
    let mut ids = memory::collect(ids)?;
    for event in &update.events {
        if let Some(document) = event.document() {
            let left = matches!(event, ClusterEvent::Leave { .. });
            ids[document as usize] = (!left).then_some(event.cluster());
        }
    }
    Ok(ids)
}

/// Writes the rows of documents. Returns the clusters of those that were in one before, too.
fn documents(
    tables: &Tables,
    places: &[Place],
    ids: &[Option<ClusterId>],
) -> Result<(Counts, Vec<ClusterId>)> {
    let (mut removed, mut written, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    let mut counts = Counts::default();
    for (place, id) in places.iter().zip(ids) {
        match (place.old, *id) {
            (None, None) => {}
            (Some(_), None) => memory::push(&mut removed, place)?,
            (None, Some(id)) => {
                counts.joined += 1;
                memory::push(&mut written, (place, id))?;
            }
            (Some((old, stored)), Some(id)) => {
                counts.moved += i64::from(id != old);
                if id != old || place.print.is_some() && place.print != stored {
                    memory::push(&mut written, (place, id))?;
                    memory::push(&mut touched, id)?;
                }
            }
        }
    }
    counts.removed = removed.len() as i64;
    // SAFETY: keys of that type, and bytes of a uuid, which is passed as a pointer to them.
    let keys = |some: &mut dyn Iterator<Item = &Place>| unsafe {
        Parameter::array(some.map(|place| Some(place.key)), tables.key)
    };
    each_part(&removed, |some| {
        let sql =
            "DELETE FROM {members} AS m USING unnest($1) AS n (doc_id) WHERE m.doc_id {=} n.doc_id";
        tables.write(sql, &[keys(&mut some.iter().copied())]).map(drop)
    })?;
    each_part(&written, |some| {
        let print = |(place, _): &(&Place, ClusterId)| {
            let stored = place.old.as_ref().and_then(|(_, print)| print.as_ref());
            place.print.as_ref().or(stored).map(|print| Datum::from(print.as_ptr()))
        };
        // SAFETY: a uuid is passed as a pointer to its bytes, which are those of places.
        let prints = unsafe { Parameter::array(some.iter().map(print), pg_sys::UUIDOID) };
        let rows = [keys(&mut some.iter().map(|row| row.0)), int8s(some, |row| row.1), prints];
        // A key that is there stays as it is spelled: equal ones may differ.
        let sql = "INSERT INTO {members} SELECT * FROM unnest($1, $2, $3) ON CONFLICT (doc_id)
             DO UPDATE SET cluster_id = excluded.cluster_id, fingerprint = excluded.fingerprint";
        tables.write(sql, &rows).map(drop)
    })?;
    Ok((counts, touched))
}

/// Mends what somebody has changed in the list by hand: deletes clusters that have no members, and adds to `changed`
/// those whose sizes are wrong.
fn mend(tables: &Tables, changed: &mut Vec<(ClusterId, u64)>) -> Result<()> {
    tables.write(
        "DELETE FROM {list} WHERE NOT EXISTS
             (SELECT FROM {members} AS m WHERE m.cluster_id = {list}.cluster_id)",
        &[],
    )?;
    let _as_written = ActiveSnapshot::of_transaction();
    let sql = "SELECT cluster_id, members
         FROM (SELECT cluster_id, count(*) AS members FROM {members} GROUP BY cluster_id) AS m
             LEFT JOIN {list} AS l USING (cluster_id) WHERE l.size IS DISTINCT FROM members";
    tables.each(sql, &[], |rows, row| {
        if let (Some(cluster), Some(size)) = (rows.int8(row, 1)?, rows.int8(row, 2)?) {
            memory::push(changed, (cluster, size as u64))?;
        }
        Ok(Continue::Yes)
    })?;
    changed.sort_unstable();
    changed.dedup();
    Ok(())
}
