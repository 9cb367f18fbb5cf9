//! The check of tracked clusters by `minlsh_check()`: what a refresh of all documents would do, though
//! nothing was written since the last one; sizes that are not those of the members; and members that are
//! not where the log has put them.

use pgrx::pg_sys::{Datum, Oid};
use sketch::clusters::{ClusterEvent, ClusterId};

use crate::clusters::refresh::Refresh;
use crate::clusters::replay;
use crate::clusters::tables::{Tables, list, members};
use crate::clusters::tracked::Tracked;
use crate::error::Result;
use crate::pg::guc::LocalSettings;
use crate::pg::interrupts::check_interrupts;
use crate::pg::output::Output;
use crate::pg::relation::Lock;
use crate::pg::result_rows::ResultRows;
use crate::pg::row::Continue;
use crate::pg::text;

/// Checks what a name is the table of members of; false if it is not such a table.
pub fn check(name: Oid, result: &ResultRows) -> Result<bool> {
    if !Tracked::is_one(name) {
        return Ok(false);
    }
    let tracked = Tracked::find(name, Lock::Read)?;
    let key = tracked.key.base_type;
    let tables = Tables::open(tracked.oids, key, tracked.documents.owner, Lock::Read)?;
    let settings = LocalSettings::open();
    settings.set("row_security", "off");
    let output = Output::of(key);
    let report = |key: Option<Datum>, problem: &str| {
        // SAFETY: a key of the documents.
        let key = key.map(|key| unsafe { output.text(key) });
        result.push(&[key, Some(text::write(problem))]);
    };
    let refresh = Refresh::begin(&tracked, &tables)?;
    refresh.faults().iter().for_each(|fault| report(None, &fault.replacen('T', "t", 1)));
    // A refresh sees that a table has lost its rows without this one: it is no fault to look at all documents for.
    let truncate = tracked.truncate_trigger();
    let fault = truncate.as_ref().and_then(|trigger| Some((trigger, trigger.fault(true)?)));
    if let Some((trigger, fault)) = fault {
        let (name, table) = (trigger.name.to_string_lossy(), &tracked.documents.name);
        report(None, &format!("trigger \"{name}\" of table \"{table}\" {fault}"));
    }
    if refresh.is_behind()? {
        report(None, "rows were written since the last refresh; refresh before you check");
        return Ok(true);
    }
    let found = refresh.full()?;
    let places = found.places.list()?;
    for event in found.update.events {
        check_interrupts();
        let key = event.document().map(|document| places[document as usize].key);
        let cluster = event.cluster();
        match event {
            ClusterEvent::Leave { .. } => report(
                key,
                &format!(
                    "in cluster {cluster}, but has no near-duplicate or \
                 no longer exists"
                ),
            ),
            ClusterEvent::Join { .. } => report(key, "missing from its cluster"),
            ClusterEvent::Move { .. } => report(key, &format!("in another cluster than {cluster}")),
            ClusterEvent::Merge { other, .. } => {
                report(None, &format!("clusters {cluster} and {other} belong together"));
            }
            ClusterEvent::Create { .. }
            | ClusterEvent::Split { .. }
            | ClusterEvent::Dissolve { .. } => {}
        }
    }
    sizes(&tables, &refresh, &report)?;
    let keys = (key, tracked.key.collation());
    replay::check(&tables, refresh.snapshot(), keys, refresh.last_seq(), &report)?;
    Ok(true)
}

/// Compares sizes with members.
fn sizes(tables: &Tables, refresh: &Refresh, report: &dyn Fn(Option<Datum>, &str)) -> Result<()> {
    let number = |value: Option<Datum>| value.map_or(0, |value| value.value() as i64);
    let mut stored: Vec<(ClusterId, i64)> = Vec::new();
    tables.list.each(refresh.snapshot(), |row| {
        stored.push((number(row.value(list::CLUSTER)), number(row.value(list::SIZE))));
        Ok(Continue::Yes)
    })?;
    let mut counted: Vec<ClusterId> = Vec::new();
    tables.members.each(refresh.snapshot(), |row| {
        counted.push(number(row.value(members::CLUSTER)));
        Ok(Continue::Yes)
    })?;
    counted.sort_unstable();
    let counted = counted.chunk_by(|a, b| a == b).map(|of| (of[0], of.len() as i64));
    let mut counted: Vec<(ClusterId, i64)> = counted.collect();
    stored.sort_unstable();
    let missing = |of: &[(ClusterId, i64)], other: &[(ClusterId, i64)]| -> Vec<ClusterId> {
        let missing = of.iter().filter(|entry| other.binary_search(entry).is_err());
        missing.map(|(cluster, _)| *cluster).collect()
    };
    let mut wrong = missing(&stored, &counted);
    wrong.extend(missing(&counted, &stored));
    counted.clear();
    wrong.sort_unstable();
    wrong.dedup();
    for cluster in wrong {
        report(
            None,
            &format!("the listed size of cluster {cluster} differs from the number of its members"),
        );
    }
    Ok(())
}
