//! Tracked clusters amid writers: the state is a computation from scratch under the same snapshot, an independent model
//! gives the same ids, and the log replayed gives the state. Beside them the same clusters are tracked once more, and
//! refreshed in full each time: both have the same rows. Some refreshes see rows that their transaction has written.
//!
//! A short run in `make integration`; `make torture-clusters` makes it as long as CHANGES says, with kills.

mod apart;
mod carried;
mod model;
mod traps;
mod writers;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use minlsh_integration::{Client, PATIENCE, Random, Run, Server, is_thorough, number, seed, texts, wait_until};

use model::{Log, State, ids, replay};
use writers::{Count, WRITERS, work};

/// Changes of a short run in `make test-all`.
const SHORT: u64 = 4_000;

/// Changes of a short run.
fn short() -> u64 {
    if is_thorough() { SHORT } else { SHORT / 2 }
}

/// The number of changes that may be written while a refresh runs and is compared.
const MEANWHILE: u64 = 60;

/// Makes the table and tracks its clusters.
fn create(client: &mut Client, seed: u64, partitioned: bool) {
    let (end, parts) = if partitioned {
        (
            " PARTITION BY HASH (id)",
            "CREATE TABLE docs_0 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE docs_1 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 1);",
        )
    } else {
        ("", "")
    };
    client.run(&format!(
        "CREATE TABLE docs (id bigint PRIMARY KEY, body text, views int DEFAULT 0){end}; {parts}
             CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.8)"
    ));
    let mut random = Random::new(seed);
    for id in 0..writers::KEYS {
        let body = writers::text(&mut random);
        client.execute("INSERT INTO docs VALUES ($1, $2)", &[&id, &body]).expect("a row");
    }
    client.run(
        "ANALYZE docs; SELECT minlsh_track_clusters('docs_near');
             SELECT minlsh_track_clusters('docs_near', name => 'docs_full')",
    );
}

/// Queries that refreshes of changes and of all documents must answer alike. Of the log what is behind a number.
const SAME: [(&str, &str, &str); 3] = [
    ("", "doc_id, cluster_id, fingerprint", "$1::bigint IS NOT NULL"),
    ("_list", "cluster_id, size, least_similar", "$1::bigint IS NOT NULL"),
    ("_log", "seq, event, cluster_id, other_id, doc_id, size", "seq > $1::bigint"),
];

/// Number of comparisons after which dead rows are removed: deleted rows are written over then.
const VACUUM: u64 = 20;

/// The comparison of what a refresh found.
#[derive(Default)]
struct Observer {
    state: State,
    next: i64,
    seq: i64,
    /// The state after a refresh that may have committed.
    after: Option<(State, i64, i64)>,
    comparisons: u64,
    full: u64,
    late: u64,
    /// The number of rows that refreshes have written themselves before.
    own: u64,
}

impl Observer {
    fn new() -> Self {
        Self { next: 1, ..Self::default() }
    }

    /// Refreshes in one transaction, and compares under its snapshot. An error that a retry mends is counted.
    fn compare(&mut self, client: &mut Client, random: &mut Random) -> Result<(), postgres::Error> {
        let result = self.attempt(client, random).and_then(|after| {
            self.after = Some(after);
            client.batch_execute("COMMIT")?;
            self.committed();
            if self.comparisons.is_multiple_of(VACUUM) {
                client.batch_execute("VACUUM (ANALYZE)")?;
            }
            Ok(())
        });
        match result {
            Err(cause) if writers::is_expected(&cause) => {
                self.after = None;
                client.batch_execute("ROLLBACK")?;
                self.late += 1;
                Ok(())
            }
            other => other,
        }
    }

    /// The last refresh has committed.
    fn committed(&mut self) {
        if let Some((state, next, seq)) = self.after.take() {
            (self.state, self.next, self.seq) = (state, next, seq);
            self.comparisons += 1;
        }
    }

    /// After a kill that may have met a COMMIT: the log shows whether it had an effect.
    fn find_out(&mut self, client: &mut Client) {
        let last = "SELECT coalesce(max(seq), 0) FROM docs_clusters_log";
        let last: i64 = client.query_one(last, &[]).expect("the log").get(0);
        if self.after.as_ref().is_some_and(|after| after.2 == last) {
            self.committed();
        }
        self.after = None;
        assert_eq!(self.seq, last, "the log ends where a refresh has ended");
    }

    fn attempt(&mut self, client: &mut Client, random: &mut Random) -> Result<(State, i64, i64), postgres::Error> {
        let level = random.pick(&["REPEATABLE READ", "REPEATABLE READ", "SERIALIZABLE"]);
        // Locks before the snapshot: else a TRUNCATE in between makes the refresh refuse the snapshot.
        client.batch_execute(&format!(
            "BEGIN ISOLATION LEVEL {level}; LOCK TABLE docs IN ACCESS SHARE MODE;
             LOCK TABLE docs_clusters_list, docs_full_list IN EXCLUSIVE MODE"
        ))?;
        let mut own = 0;
        if random.below(4) == 0 {
            own = writers::statement(client, random)?;
            self.own += own;
        }
        let row = client.query_one("SELECT was_full, r::text FROM minlsh_refresh_clusters('docs_clusters') r", &[])?;
        self.full += u64::from(row.get::<_, bool>(0));
        client.batch_execute("SELECT minlsh_refresh_clusters('docs_full', \"full\" => true)")?;
        for (table, columns, which) in SAME {
            let rows = |name: &str| format!("SELECT {columns} FROM {name}{table} WHERE {which}");
            let (a, b) = (rows("docs_clusters"), rows("docs_full"));
            let sql = format!("SELECT * FROM (({a} EXCEPT {b}) UNION ALL ({b} EXCEPT {a})) d LIMIT 5");
            let rows = client.query(&format!("SELECT d::text FROM ({sql}) d"), &[&self.seq])?;
            let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            if !rows.is_empty() {
                println!("level {level}, {own} own changes, refresh {}", row.get::<_, String>(1));
                self.show(client);
            }
            assert!(rows.is_empty(), "incremental and full: {columns}: {rows:?}");
        }
        let stored = client.query("SELECT doc_id, cluster_id FROM docs_clusters", &[])?;
        let stored: State = stored.iter().map(|row| (row.get(0), row.get(1))).collect();
        let scratch = client.query(
            "SELECT doc_id::bigint, cluster_id::bigint, similarity FROM near_duplicate_clusters('docs_near')",
            &[],
        )?;
        let mut parts: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        let mut least: BTreeMap<i64, f64> = BTreeMap::new();
        for row in scratch {
            let key = row.get(0);
            parts.entry(row.get(1)).or_default().push(key);
            let least = least.entry(stored.get(&key).copied().unwrap_or_default()).or_insert(1.0);
            *least = least.min(row.get(2));
        }
        let listed = client.query("SELECT cluster_id, least_similar FROM docs_clusters_list", &[])?;
        let listed: BTreeMap<i64, f64> = listed.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(listed, least, "the least similarity to the first row of a cluster");
        let parts: Vec<Vec<i64>> = parts.into_values().collect();
        let (expected, next) = ids(&self.state, &parts, self.next);
        assert_same(&stored, &expected, "state and model");
        let log = client.query(
            "SELECT seq, event, cluster_id, other_id, doc_id, size FROM docs_clusters_log
             WHERE seq > $1 ORDER BY seq",
            &[&self.seq],
        )?;
        let mut last = self.seq;
        for row in &log {
            last += 1;
            assert_eq!(row.get::<_, i64>(0), last, "no gap in the log");
        }
        let log: Vec<Log> = log.iter().map(Log::of).collect();
        let replayed = replay(&self.state, &log);
        assert_same(&replayed, &stored, "log and state");
        let sizes = client.query_one(
            "SELECT count(*) FROM docs_clusters_list l
             FULL JOIN (SELECT cluster_id, count(*) AS members FROM docs_clusters GROUP BY 1) m USING (cluster_id)
             WHERE size IS DISTINCT FROM members",
            &[],
        )?;
        assert_eq!(sizes.get::<_, i64>(0), 0, "sizes");
        Ok((stored, next, last))
    }

    /// Shows what a difference can be understood by.
    fn show(&self, client: &mut Client) {
        let log = format!("SELECT l::text FROM docs_clusters_log l WHERE seq > {} ORDER BY seq", self.seq);
        let documents = "SELECT concat_ws(' ', 'document', id, 'changes', c.cluster_id, 'full', f.cluster_id,
                'scratch', s.cluster_id, body)
             FROM docs LEFT JOIN docs_clusters c ON c.doc_id = id LEFT JOIN docs_full f ON f.doc_id = id
             LEFT JOIN near_duplicate_clusters('docs_near') s ON s.doc_id = id
             ORDER BY f.cluster_id, c.cluster_id, id";
        let again = "SELECT 'full again: ' || r FROM minlsh_refresh_clusters('docs_full', true) r";
        let index = "SELECT 'index: ' || problem FROM minlsh_check('docs_near')";
        for sql in [&log, documents, again, index] {
            println!("{}", texts(client, sql).join("\n"));
        }
        println!("before: {:?}", self.state);
    }

    /// Compares, and has the audit look at it and at the index, while no session writes.
    fn audit(&mut self, client: &mut Client, random: &mut Random) {
        let before = self.comparisons;
        while self.comparisons == before {
            self.compare(client, random).expect("a refresh while nobody writes");
        }
        for table in ["docs_clusters", "docs_full", "docs_near"] {
            let sql = format!("SELECT problem FROM minlsh_check('{table}')");
            assert_eq!(texts(client, &sql), [""; 0], "{table}");
        }
    }
}

fn assert_same(a: &State, b: &State, what: &str) {
    let differences: Vec<_> = a
        .iter()
        .filter(|(key, id)| b.get(key) != Some(id))
        .chain(b.iter().filter(|(key, id)| a.get(key) != Some(id)))
        .take(10)
        .collect();
    assert!(differences.is_empty(), "{what}: {differences:?}");
}

/// Ends a server amid everything, and starts it again: all of it is killed, or one backend, or it is shut down.
fn end(server: &Server, round: u64) {
    match round % 3 {
        0 => {
            server.crash();
            server.launch();
        }
        1 => {
            let backend = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
                           AND pid <> pg_backend_pid() AND datname <> 'postgres' ORDER BY pid LIMIT 1";
            let mut client = server.connect("postgres");
            server.kill_9(client.query_one(backend, &[]).expect("a session").get(0));
            wait_until("the others are gone", || client.query("SELECT 1", &[]).is_err());
        }
        _ => {
            server.stop();
            server.launch();
        }
    }
}

/// Has the other threads end if this one panics: they are waited for.
struct Ending<'a> {
    done: &'a AtomicU64,
    allowed: &'a AtomicU64,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.allowed.store(u64::MAX, Ordering::Relaxed);
            self.done.store(u64::MAX / 2, Ordering::Relaxed);
        }
    }
}

/// Writers and a refresher, until there were `changes` changes.
fn run(server: &Server, changes: u64, partitioned: bool, kills: u64) {
    let seed = seed("MINLSH_TORTURE_SEED");
    println!("seed {seed}");
    let database = server.create_database();
    let mut client = database.connect();
    create(&mut client, seed, partitioned);
    let mut observer = Observer::new();
    let mut total = Count::default();
    let is_long = changes > 10 * SHORT;
    let begun = Instant::now();
    for round in 0..=kills {
        let (done, allowed, ended) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let mut random = Random::new(seed.wrapping_add(round));
        let wanted = changes / (kills + 1);
        let round_begun = Instant::now();
        // For each thousand changes.
        let limit = PATIENCE * u32::try_from(wanted / 1000 + 1).expect("a number");
        std::thread::scope(|scope| {
            let _ending = Ending { done: &done, allowed: &allowed };
            let workers: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let (database, progress) = (&database, (&done, &allowed));
                    let seed = seed.wrapping_add(round * 1000 + number);
                    let wanted = if round < kills { u64::MAX / 4 } else { wanted };
                    scope.spawn(move || work(server, &database.name, seed, number, progress, wanted))
                })
                .collect();
            let killer = (round < kills).then(|| {
                let (done, ended, delay) = (&done, &ended, random.below(400) as u64);
                scope.spawn(move || {
                    while done.load(Ordering::Relaxed) < wanted {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    std::thread::sleep(Duration::from_millis(delay));
                    end(server, round);
                    ended.store(true, Ordering::Relaxed);
                })
            });
            let mut turn = 0;
            // Those that are killed go on until then.
            let is_over = |done: u64| killer.is_none() && done >= wanted;
            while !is_over(done.load(Ordering::Relaxed)) {
                // Few changes at a time, or many: refreshes of changes and of all documents. Writers go on meanwhile.
                let more = if is_long { [20, 60, 120, 800] } else { [10, 30, 60, 500] };
                let until = done.load(Ordering::Relaxed) + more[turn % more.len()];
                turn += 1;
                allowed.store(until + MEANWHILE, Ordering::Relaxed);
                while done.load(Ordering::Relaxed) < until && !is_over(done.load(Ordering::Relaxed)) {
                    assert!(round_begun.elapsed() < limit, "the writers are too slow");
                    std::thread::sleep(Duration::from_millis(2));
                    if ended.load(Ordering::Relaxed) {
                        break;
                    }
                }
                match observer.compare(&mut client, &mut random) {
                    Err(cause) if killer.is_some() && writers::is_gone(&cause, &client) => break,
                    other => other.expect("a refresh"),
                }
            }
            allowed.store(u64::MAX, Ordering::Relaxed);
            workers.into_iter().for_each(|worker| total += worker.join().expect("a writer"));
            if let Some(killer) = killer {
                killer.join().expect("an end");
            }
        });
        if round < kills {
            server.wait_ready();
            client = database.connect();
            writers::finish_prepared(&mut client);
            observer.find_out(&mut client);
        }
        observer.audit(&mut client, &mut random);
        println!(
            "round {round} of {kills}, {} s: {total:?}; {} comparisons, {} full, {} retried, {} changes of refreshes, \
             {} log rows, {} members",
            begun.elapsed().as_secs(),
            observer.comparisons,
            observer.full,
            observer.late,
            observer.own,
            observer.seq,
            observer.state.len()
        );
    }
    assert!(observer.comparisons > 3 && observer.seq > 100);
    assert!(observer.full < observer.comparisons, "no refresh looked at what has changed alone");
}

fn server() -> Server {
    Server::start_with(&["max_prepared_transactions = 20", "deadlock_timeout = 100ms"])
}

#[test]
fn eight_writers_and_a_refresher_agree() {
    let changes = number("MINLSH_TORTURE_CHANGES").unwrap_or(short());
    run(&server(), changes, false, changes / 25_000);
}

#[test]
fn partitions_too_and_after_a_crash() {
    let changes = number("MINLSH_TORTURE_CHANGES").map_or(short() / 2, |changes| changes / 10);
    run(&server(), changes, true, (changes / 25_000).max(1));
}
