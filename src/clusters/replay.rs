//! The log against the state: replayed, it gives the clusters.
//!
//! The owner may delete old rows of the log, and then its tail is replayed from a state that is not known. So a
//! document that the tail names must be in the cluster where the last event has put it, and no other one in a
//! cluster that has ended. An id is never used again, so a document that was put into a cluster is where that
//! cluster's merges lead to.

use std::collections::HashMap;

use ahash::RandomState;
use pgrx::pg_sys::{Datum, Oid};
use sketch::clusters::ClusterId;
use sketch::memory;

use crate::clusters::tables::{Tables, log, members};
use crate::error::Result;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::interrupts::check_interrupts;
use crate::pg::row::{Continue, Row};
use crate::pg::snapshot::Snapshot;
use crate::pg::text;

/// The function that takes a problem, and the key of a document if it is about one.
type Report<'a> = dyn Fn(Option<Datum>, &str) + 'a;

/// A row of the log that names a document.
struct Named {
    seq: i64,
    /// The cluster that the document is in from then on.
    cluster: Option<ClusterId>,
}

/// The log, read.
struct Log {
    numbers: Vec<i64>,
    /// By the number of its key among `keys`.
    named: Vec<Named>,
    keys: DocumentKeys,
    /// The cluster that has the documents of an id that has ended, if any.
    ended: HashMap<ClusterId, Option<ClusterId>, RandomState>,
}

/// Compares the members with the log, whose last row is `last_seq`.
pub fn check(
    tables: &Tables,
    snapshot: &Snapshot,
    (key_type, collation): (Oid, Oid),
    last_seq: i64,
    report: &Report,
) -> Result<()> {
    let mut log = Log {
        numbers: Vec::new(),
        named: Vec::new(),
        keys: DocumentKeys::new(key_type, collation)?,
        ended: HashMap::default(),
    };
    tables.log.each(snapshot, |row| {
        check_interrupts();
        log.take(row).map(|()| Continue::Yes)
    })?;
    log.check_numbers(last_seq, report);
    // Of each document the last row that names it.
    let mut last = log.keys.sorted();
    last.sort_by(|a, b| {
        let seq = |at: u32| log.named[at as usize].seq;
        log.keys.compare(*a, *b).then(seq(*b).cmp(&seq(*a)))
    });
    last.dedup_by(|later, first| log.keys.compare(*first, *later).is_eq());
    let mut met = memory::filled(false, last.len())?;
    let is_whole = log.numbers.first().map_or(last_seq == 0, |first| *first == 1);
    tables.members.each(snapshot, |row| {
        check_interrupts();
        let stored = (row.value(members::DOC_ID), row.value(members::CLUSTER));
        let (Some(key), Some(cluster)) = stored else { return Ok(Continue::Yes) };
        let cluster = cluster.value() as i64;
        // SAFETY: the column was found to be of the key's type.
        match unsafe { log.keys.find(&last, key) } {
            Some(at) => {
                let place = last.partition_point(|other| log.keys.compare(*other, at).is_lt());
                met[place] = true;
                let expected = log.now(log.named[at as usize].cluster);
                if expected != Some(cluster) {
                    report(Some(key), &shown(expected));
                }
            }
            None if is_whole => report(Some(key), &shown(None)),
            None if log.ended.contains_key(&cluster) => {
                report(Some(key), &format!("in cluster {cluster}, which has ended by the log"));
            }
            None => {}
        }
        Ok(Continue::Yes)
    })?;
    for (at, _) in last.iter().zip(&met).filter(|(_, met)| !**met) {
        check_interrupts();
        let expected = log.now(log.named[*at as usize].cluster);
        if expected.is_some() {
            report(Some(log.keys.datum(*at)), &shown(expected));
        }
    }
    Ok(())
}

fn shown(cluster: Option<ClusterId>) -> String {
    match cluster {
        Some(cluster) => format!("in cluster {cluster} by the log"),
        None => "in no cluster by the log".to_owned(),
    }
}

impl Log {
    /// Takes a row.
    fn take(&mut self, row: &Row) -> Result<()> {
        let number = |column| row.value(column).map(|value: Datum| value.value() as i64);
        let (Some(seq), Some(cluster)) = (number(log::SEQ), number(log::CLUSTER)) else {
            return Ok(());
        };
        memory::push(&mut self.numbers, seq)?;
        let Some(event) = row.value(log::EVENT) else { return Ok(()) };
        // SAFETY: the column was found to be a text.
        let event = unsafe { text::read(event)? };
        match (event, number(log::OTHER), row.value(log::DOC_ID)) {
            ("join" | "move", _, Some(key)) => self.name(seq, key, Some(cluster)),
            ("leave", _, Some(key)) => self.name(seq, key, None),
            ("merge", Some(other), _) => self.end(other, Some(cluster)),
            ("dissolve", ..) => self.end(cluster, None),
            _ => Ok(()),
        }
    }

    fn name(&mut self, seq: i64, key: Datum, cluster: Option<ClusterId>) -> Result<()> {
        // SAFETY: the column was found to be of the key's type.
        unsafe { self.keys.push(key)? };
        memory::push(&mut self.named, Named { seq, cluster }).map_err(Into::into)
    }

    fn end(&mut self, cluster: ClusterId, other: Option<ClusterId>) -> Result<()> {
        memory::insert_at(&mut self.ended, cluster, other).map(|_| ()).map_err(Into::into)
    }

    /// Finds the cluster that has the documents of a cluster now.
    fn now(&self, mut cluster: Option<ClusterId>) -> Option<ClusterId> {
        // Somebody may have written a circle.
        for _ in 0..=self.ended.len() {
            match cluster.and_then(|cluster| self.ended.get(&cluster)) {
                Some(other) => cluster = *other,
                None => return cluster,
            }
        }
        None
    }

    /// The rows are numbered without a gap, up to the last one.
    fn check_numbers(&mut self, last_seq: i64, report: &Report) {
        self.numbers.sort_unstable();
        for pair in self.numbers.windows(2).filter(|pair| pair[0].checked_add(1) != Some(pair[1])) {
            report(None, &format!("the log has no row behind {}", pair[0]));
        }
        match self.numbers.last() {
            Some(last) if *last != last_seq => {
                report(None, &format!("the log ends with row {last} instead of {last_seq}"));
            }
            _ => {}
        }
    }
}
