//! `minlsh_refresh_clusters()`: updates tracked clusters.
//!
//! Locks come first: ACCESS SHARE on the documents and their leaves, so that no one truncates them after the snapshot;
//! then EXCLUSIVE on the list, so that only one refresh runs. Writers and readers never wait. The stamp is read before
//! the snapshot is taken, and again after it, so the next refresh notices what happens in between.

use std::ffi::CString;

use sketch::clusters::{Block, Outcome, Pieces};

use crate::clusters::corpus::{TrackedCorpus, components};
use crate::clusters::places::{ClusterPlaces, Mention, each_of, stored_of, too_late};
use crate::clusters::seeded::{self, cost_of_all, most_changed};
use crate::clusters::stamp::{self, Stamp};
use crate::clusters::tables::{ChangeQueue, MEMBERS, RefreshState, TRACK_AGAIN, Tables};
use crate::clusters::tracked::Tracked;
use crate::clusters::write::{Difference, WrittenCounts, write};
use crate::index::info::Info;
use crate::memory::of_queue;
use crate::pg::names::qualified;
use crate::pg::rights::{Restricted, restricted_to};
use crate::pg::snapshot::ActiveSnapshot;
use crate::prelude::*;

sql_function!(minlsh_refresh_clusters, refresh_clusters);

/// `minlsh_refresh_clusters(tracked, full) → (changed, joined, removed, moved, clusters, was_full, last_seq)`
fn refresh_clusters(call: &Call) -> Result<Option<Datum>> {
    // SAFETY: raises an ERROR on a standby and in a read-only transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"minlsh_refresh_clusters()".as_ptr()) };
    let Some(members) = call.oid(0) else {
        return Err(null_not_allowed("tracked must not be NULL")
            .set_hint("Pass the table that minlsh_track_clusters() returned."));
    };
    let every = call.bool(1).unwrap_or(false);
    let tracked = Tracked::find(members, Lock::Read)?;
    let tables = tracked.open_tables(Lock::Write)?;
    let settings = LocalSettings::of(&[(c"row_security", c"off")]);
    let row = Refresh::begin(&tracked, &tables)?.run(every)?;
    drop(settings);
    result_row(call, row).map(Some)
}

/// The keys that were written since the last refresh.
struct Queued {
    /// The keys, ascending and distinct. `None` if examining all documents costs less time or memory.
    keys: Option<DocumentKeys>,
    count: i64,
    truncated: bool,
}

/// A refresh, with its locks and its snapshot.
pub struct Refresh<'a> {
    tracked: &'a Tracked,
    tables: &'a Tables,
    index: Info,
    pub state: RefreshState,
    /// The stamp before the snapshot was taken, and true if it is the last refresh's and has not changed since.
    pub stamp: Stamp,
    nothing_went_by: bool,
    /// The digest of the pairs that are marked as apart.
    apart: String,
    snapshot: Snapshot,
    _active: ActiveSnapshot,
    /// As in REINDEX, a superuser does not run the expressions of another role's index with superuser rights.
    _rights: Restricted,
}

impl<'a> Refresh<'a> {
    /// Takes the snapshot, and reads the state. The tables are open, and the documents are locked.
    pub fn begin(tracked: &'a Tracked, tables: &'a Tables) -> Result<Self> {
        let rights = restricted_to(tracked.documents.owner);
        // The latest state names the index; the snapshot must see the same state.
        let latest = state(&tables.queue, &Snapshot::latest(), tracked)?;
        let index = tracked.index(latest.as_ref().map_or("", |state| &state.index))?;
        let stamp = stamp::of(tracked, &index.index);
        let active = ActiveSnapshot::of_transaction();
        let snapshot = Snapshot::statement();
        let state = match (latest, state(&tables.queue, &snapshot, tracked)?) {
            (None, _) => {
                return Err(wrong_state(format!(
                    "the state of \"{}\" is missing",
                    relation_name(tracked.oids[MEMBERS])
                ))
                .set_hint(TRACK_AGAIN));
            }
            (Some(latest), Some(seen)) if latest.refreshes == seen.refreshes => seen,
            _ => {
                return Err(too_late("another refresh has committed since the transaction's snapshot"));
            }
        };
        for leaf in &tracked.leaves {
            let open = Open::relation(leaf.oid, Lock::Held);
            if open.is_some_and(|open| !open.is_older_than(&snapshot)) {
                return Err(too_late("the documents were altered or truncated since the transaction's snapshot"));
            }
        }
        let after = stamp::of(tracked, &index.index);
        let apart = digest_of_apart(tables)?;
        let nothing_went_by = stamp.faults.is_empty()
            && after == stamp
            && state.stamp.as_ref() == Some(&stamp.digest)
            && state.apart.as_ref() == Some(&apart);
        Ok(Self {
            tracked,
            tables,
            index,
            state,
            stamp,
            apart,
            nothing_went_by,
            snapshot,
            _active: active,
            _rights: rights,
        })
    }

    /// Refreshes the clusters, from all documents if `every`. Returns the row of the result.
    fn run(mut self, every: bool) -> Result<[Option<Datum>; 7]> {
        let Queued { keys, count, truncated } = self.queued()?;
        let result = |state: &RefreshState, counts: WrittenCounts, was_full: bool| {
            let WrittenCounts { joined, removed, moved } = counts;
            // A boolean is passed as 0 or 1.
            let was_full = i64::from(was_full);
            [count, joined, removed, moved, state.clusters, was_full, state.last_seq]
                .map(|number| Some(Datum::from(number)))
        };
        let is_full = every || truncated || !self.nothing_went_by;
        if !is_full && count == 0 {
            return Ok(result(&self.state, WrittenCounts::default(), false));
        }
        self.tracked.link(self.index.index.oid);
        let of_changes = match keys {
            Some(changed) if !is_full => self.of_changes(changed)?,
            _ => None,
        };
        let mut found = of_changes.map_or_else(|| self.full(), Ok)?;
        if let Some(whole) = found.whole {
            self.state.whole = whole;
        }
        let before = self.state.last_seq;
        let corpus = self.corpus();
        let counts = write(&corpus, &mut found, &mut self.state, every)?;
        if !self.stamp.faults.is_empty() {
            if found.whole.is_some() && stamp::enable_triggers(self.tracked, &self.index, &self.stamp)? {
                self.stamp = stamp::of(self.tracked, &self.index.index);
            }
            warn_of(self.tracked, &self.stamp.faults);
        }
        self.state.stamp = Some(self.stamp.digest.clone());
        self.state.apart = Some(self.apart.clone());
        self.state.index = self.index.index.name.clone();
        self.finish(before)?;
        Ok(result(&self.state, counts, found.whole.is_some()))
    }

    pub fn is_behind(&self) -> Result<bool> {
        let Queued { count, truncated, .. } = self.queued()?;
        Ok(count > 0 || truncated || !self.nothing_went_by)
    }

    fn queued(&self) -> Result<Queued> {
        let key = &self.tables.key;
        let mut keys = Some(DocumentKeys::new(key.base_type, key.collation())?);
        let (mut count, mut truncated, most) = (0, false, most_changed(self.state.whole));
        let sql = "SELECT DISTINCT doc_id FROM {queue} WHERE state IS NULL ORDER BY doc_id";
        self.tables.each(sql, &[], |row| {
            let Some(value) = row.typed(1, key.base_type)? else {
                truncated = true;
                return Ok(Continue::Yes);
            };
            count += 1;
            // Beyond the limit keys are only counted.
            keys = keys.take().filter(|keys| keys.len() < most && keys.bytes() < of_queue());
            if let Some(keys) = &mut keys {
                keys.push(value)?;
            }
            Ok(Continue::Yes)
        })?;
        Ok(Queued { keys, count, truncated })
    }

    /// The update from all documents.
    pub fn full(&self) -> Result<Difference> {
        let (key, corpus) = (&self.tables.key, self.corpus());
        let mut places = ClusterPlaces::new(*key)?;
        let session = Session::open();
        let work = corpus.question(&session)?.of_all(None)?;
        let read = components(work, &mut |key, component, print| {
            places.push(key, Mention::Named, None, Some((component, Some(print))))
        })?;
        drop(session);
        let whole = cost_of_all(corpus.index, read);
        let sql = "SELECT doc_id, cluster_id, fingerprint FROM {members}";
        self.tables.each(sql, &[], |row| {
            let stored = stored_of(row, 2, self.state.next_id)?;
            if let (Some(key), Some(stored)) = (row.typed(1, key.base_type)?, stored) {
                places.push(key, Mention::Named, Some(stored), None)?;
            }
            Ok(Continue::Yes)
        })?;
        self.difference(places, Vec::new(), Some(whole))
    }

    /// The update from changed documents; `None` if examining all documents costs less.
    fn of_changes(&self, changed: DocumentKeys) -> Result<Option<Difference>> {
        let mut places = ClusterPlaces::new(self.tables.key)?;
        let index = (&self.index, &self.snapshot);
        let blocks = seeded::find(self.corpus(), index, &self.state, changed, &mut places)?;
        blocks.map(|blocks| self.difference(places, blocks, None)).transpose()
    }

    /// Assigns ids to the documents and the blocks of an update.
    fn difference(&self, mut places: ClusterPlaces, mut blocks: Vec<Block>, whole: Option<f64>) -> Result<Difference> {
        loop {
            let mut pieces = Pieces::default();
            places.each(&mut |_, place| pieces.add(place.ranked()).map_err(Into::into))?;
            blocks.iter().try_for_each(|block| pieces.add_block(*block))?;
            match pieces.assign(self.state.next_id)? {
                Outcome::Done(ids) => return Ok(Difference { places, ids, whole }),
                Outcome::Name(clusters) => {
                    places = places.reopened()?;
                    let is_named = |block: &Block| clusters.binary_search(&block.cluster).is_ok();
                    for block in blocks.iter().filter(|block| is_named(block)) {
                        self.name(block, &mut places)?;
                    }
                    blocks.retain(|block| !is_named(block));
                }
            }
        }
    }

    /// Adds the documents of a block one by one.
    fn name(&self, block: &Block, places: &mut ClusterPlaces) -> Result<()> {
        each_of(self.tables, block.cluster, &mut |key, print| {
            let (stored, found) = ((block.cluster, print), (block.component, print));
            places.push(key, Mention::Block, Some(stored), Some(found))?;
            Ok(Continue::Yes)
        })
    }

    pub fn corpus(&self) -> TrackedCorpus<'a> {
        let (index, threshold) = (self.index.index.oid, self.state.threshold);
        TrackedCorpus { tracked: self.tracked, tables: self.tables, index, threshold }
    }

    /// Empties the queue, stores the state, and sends a notification.
    fn finish(&self, seq_before: i64) -> Result<()> {
        self.tables.queue.each(&self.snapshot, &mut |_, row| {
            self.tables.queue.delete(row);
            Ok(())
        })?;
        self.tables.queue.put(None, Some(&self.state));
        if self.state.last_seq > seq_before {
            let payload = format!("{}:{}", qualified(self.tracked.oids[MEMBERS]), self.state.last_seq);
            let payload = CString::new(text::encode(&payload)).unwrap_or_default();
            // SAFETY: both strings end with a NUL, and are copied. Two names and a number are shorter than 8,000 bytes.
            unsafe { pg_sys::Async_Notify(c"minlsh_clusters".as_ptr(), payload.as_ptr()) };
        }
        Ok(())
    }
}

/// Warns of triggers that do not see every write, if there are any.
fn warn_of(tracked: &Tracked, faults: &[String]) {
    if faults.is_empty() {
        return;
    }
    let documents = &tracked.documents;
    let faults: Vec<String> = faults.iter().map(|fault| fault.replacen('t', "T", 1)).collect();
    warning(format!("triggers of table \"{}\" do not see every write", documents.name))
        .set_detail(format!("The refresh looks at all documents. {}.", faults.join(". ")))
        .set_hint(format!("Use ALTER TABLE {} ENABLE ALWAYS TRIGGER for these triggers.", visible_name(documents.oid)))
        .report();
}

fn state(queue: &ChangeQueue, snapshot: &Snapshot, tracked: &Tracked) -> Result<Option<RefreshState>> {
    let name = relation_name(tracked.oids[MEMBERS]);
    let mut state = None;
    queue.each(snapshot, &mut |text, _| {
        if let Some(text) = text {
            state = Some(RefreshState::read(text, &name)?);
        }
        Ok(())
    })?;
    Ok(state)
}

/// A digest of the pairs that are marked as apart, independent of their order and of the session's settings for output.
fn digest_of_apart(tables: &Tables) -> Result<String> {
    let _exact_text = LocalSettings::of_exact_text();
    let mut digest = String::new();
    let sql = "SELECT format('%s %s', count(*), sum(hashtextextended(format('%L %L', a, b), 0))) FROM {apart}";
    tables.each(sql, &[], |row| {
        digest = row.text(1)?.unwrap_or_default().to_owned();
        Ok(Continue::No)
    })?;
    Ok(digest)
}
