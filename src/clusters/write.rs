//! The difference between the old state and the new one, written with its log.

use pgrx::pg_sys::{self, Datum};
use sketch::clusters::{Block, ClusterEvent, ClusterId, Update};
use sketch::memory;

use crate::clusters::places::{ClusterPlaces, Place};
use crate::clusters::state::State;
use crate::clusters::tables::{Table, Tables, list, members};
use crate::error::Result;
use crate::pg::bulk::Bulk;
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;
use crate::pg::row::Continue;
use crate::pg::snapshot::Snapshot;
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

/// Writes what an update changes.
pub fn write(
    tables: &Tables,
    snapshot: &Snapshot,
    difference: &Difference,
    state: &mut State,
) -> Result<Counts> {
    let Difference { places, blocks, update, .. } = difference;
    let mut memory = Memory::scratch(c"minlsh cluster");
    let mut counts = Counts::default();
    // First, while the snapshot shows the members that are named as they are stored.
    for event in &update.events {
        if let ClusterEvent::Merge { cluster, other, .. } = *event
            && blocks.iter().any(|block| block.cluster == other)
        {
            merge(tables, snapshot, places, (cluster, other), &mut counts)?;
        }
    }
    let places = &*places.list()?;
    let ids = new_ids(places, update)?;
    let mut joined = tables.members.bulk();
    for (place, id) in places.iter().zip(&ids) {
        check_interrupts();
        memory.run_and_reset(|| {
            document(&tables.members, &mut joined, snapshot, (place, *id), &mut counts)
        })?;
    }
    joined.finish();
    state.refreshes += 1;
    // Somebody may have put rows of ids there that were never given.
    // SAFETY: the column is a bigint.
    let is_sound =
        unsafe { !tables.list.has_from(list::CLUSTER, Datum::from(state.next_id), snapshot)? };
    let new_from = std::mem::replace(&mut state.next_id, update.next);
    // SAFETY: the time of day.
    let now = Datum::from(unsafe { pg_sys::GetCurrentTimestamp() });
    let mut new = tables.list.bulk();
    for &of in &update.changed {
        check_interrupts();
        let is_new = is_sound && of.0 >= new_from;
        memory.run_and_reset(|| changed(tables, &mut new, snapshot, (of, is_new), now, state))?;
    }
    new.finish();
    for &cluster in &update.ended {
        check_interrupts();
        // SAFETY: the column is a bigint.
        let is_there = unsafe {
            tables.list.of_key(list::CLUSTER, Datum::from(cluster), snapshot, |row| {
                tables.list.delete(row);
                Ok(())
            })?
        };
        state.clusters -= i64::from(is_there);
    }
    if difference.whole.is_some() {
        state.clusters = mend(tables, snapshot, &ids, update, now, state.refreshes)?;
    }
    let mut rows = tables.log.bulk();
    for event in &update.events {
        check_interrupts();
        memory.run_and_reset(|| log(&mut rows, places, *event, now, state));
    }
    rows.finish();
    Ok(counts)
}

/// Gives the members of a block that ends to the cluster that it belongs to now.
fn merge(
    tables: &Tables,
    snapshot: &Snapshot,
    places: &ClusterPlaces,
    (cluster, other): (ClusterId, ClusterId),
    counts: &mut Counts,
) -> Result<()> {
    let mut memory = Memory::scratch(c"minlsh member");
    let table = &tables.members;
    // SAFETY: the columns are of the key's type, bigint and uuid.
    unsafe {
        table.of_value(members::CLUSTER, Datum::from(other), snapshot, |row| {
            check_interrupts();
            let key = row.value(members::DOC_ID);
            if key.is_some_and(|key| !places.has(key)) {
                counts.moved += 1;
                let print = row.value(members::FINGERPRINT);
                memory.run_and_reset(|| {
                    table.update(row, &[key, Some(Datum::from(cluster)), print]);
                });
            }
            Ok(Continue::Yes)
        })?;
    }
    Ok(())
}

/// The cluster of each document after the update.
fn new_ids(places: &[Place], update: &Update) -> Result<Vec<Option<ClusterId>>> {
    let merges = update.events.iter().filter_map(|event| match *event {
        ClusterEvent::Merge { cluster, other, .. } => Some((other, cluster)),
        _ => None,
    });
    // In the order of `other` they are searched.
    let mut merges = memory::collect(merges)?;
    merges.sort_unstable();
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

/// Writes the row of a document.
fn document(
    table: &Table,
    joined: &mut Bulk,
    snapshot: &Snapshot,
    (place, id): (&Place, Option<ClusterId>),
    counts: &mut Counts,
) -> Result<()> {
    let print = place.print.or(place.old.and_then(|(_, print)| print));
    let row_of = |id: ClusterId| {
        // A uuid is passed as a pointer to its bytes.
        let print = print.as_ref().map(|print| Datum::from(print.as_ptr()));
        [Some(place.key), Some(Datum::from(id)), print]
    };
    match (place.old, id) {
        (None, None) => {}
        (None, Some(id)) => {
            counts.joined += 1;
            // SAFETY: values of the columns' types.
            unsafe { joined.push(&row_of(id)) };
        }
        (Some((old, stored)), id) => {
            if id == Some(old) && (place.print.is_none() || place.print == stored) {
                return Ok(());
            }
            // SAFETY: a key of the table's own, and values of the columns' types.
            unsafe {
                table.of_key(members::DOC_ID, place.key, snapshot, |row| {
                    match id {
                        None => {
                            counts.removed += 1;
                            table.delete(row);
                        }
                        Some(id) => {
                            counts.moved += i64::from(id != old);
                            let mut values = row_of(id);
                            // As it is spelled there: equal keys may differ.
                            values[0] = row.value(members::DOC_ID);
                            table.update(row, &values);
                        }
                    }
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

/// Writes the row of a cluster to which something happened.
fn changed(
    tables: &Tables,
    new: &mut Bulk,
    snapshot: &Snapshot,
    ((cluster, size), is_new): ((ClusterId, u64), bool),
    now: Datum,
    state: &mut State,
) -> Result<()> {
    let row_of = |since: Datum| {
        [Datum::from(cluster), Datum::from(size as i64), since, Datum::from(state.refreshes)]
            .map(Some)
    };
    // SAFETY: the column is a bigint, and values are of the columns' types.
    unsafe {
        let is_there = !is_new
            && tables.list.of_key(list::CLUSTER, Datum::from(cluster), snapshot, |row| {
                let since = row.value(list::SINCE).unwrap_or(now);
                tables.list.update(row, &row_of(since));
                Ok(())
            })?;
        if !is_there {
            new.push(&row_of(now));
            state.clusters += 1;
        }
    }
    Ok(())
}

/// Mends what somebody has changed in the list by hand, of clusters to which nothing happened. `ids` are those of all
/// documents. Returns how many clusters there are.
fn mend(
    tables: &Tables,
    snapshot: &Snapshot,
    ids: &[Option<ClusterId>],
    update: &Update,
    now: Datum,
    refreshes: i64,
) -> Result<i64> {
    let mut ids = memory::collect(ids.iter().copied().flatten())?;
    ids.sort_unstable();
    let sizes = ids.chunk_by(|a, b| a == b).map(|of_one| (of_one[0], of_one.len() as i64));
    let sizes = memory::collect(sizes)?;
    let is_written = |cluster: ClusterId| {
        update.changed.binary_search_by_key(&cluster, |changed| changed.0).is_ok()
            || update.ended.binary_search(&cluster).is_ok()
    };
    let row_of = |(cluster, size): (ClusterId, i64), since: Datum| {
        [Datum::from(cluster), Datum::from(size), since, Datum::from(refreshes)].map(Some)
    };
    let mut met = memory::filled(false, sizes.len())?;
    tables.list.each(snapshot, |row| {
        check_interrupts();
        let number = |column| row.value(column).map(|value: Datum| value.value() as i64);
        let cluster = number(list::CLUSTER).unwrap_or_default();
        if is_written(cluster) {
            return Ok(Continue::Yes);
        }
        match sizes.binary_search_by_key(&cluster, |size| size.0) {
            Ok(place) => {
                met[place] = true;
                if number(list::SIZE) != Some(sizes[place].1) {
                    let since = row.value(list::SINCE).unwrap_or(now);
                    // SAFETY: values of the columns' types.
                    unsafe { tables.list.update(row, &row_of(sizes[place], since)) };
                }
            }
            Err(_) => tables.list.delete(row),
        }
        Ok(Continue::Yes)
    })?;
    for (size, _) in sizes.iter().zip(&met).filter(|(size, met)| !**met && !is_written(size.0)) {
        // SAFETY: values of the columns' types.
        unsafe { tables.list.insert(&row_of(*size, now)) };
    }
    Ok(sizes.len() as i64)
}

/// Writes a row of the log.
fn log(rows: &mut Bulk, places: &[Place], event: ClusterEvent, now: Datum, state: &mut State) {
    state.last_seq += 1;
    let key = |document: u32| places[document as usize].key;
    let values = [
        Some(Datum::from(state.last_seq)),
        Some(Datum::from(state.refreshes)),
        Some(now),
        Some(text::write(event.name())),
        Some(Datum::from(event.cluster())),
        event.other().map(Datum::from),
        event.document().map(key),
        event.size().map(|size| Datum::from(size as i64)),
    ];
    // SAFETY: values of the columns' types.
    unsafe { rows.push(&values) };
}
