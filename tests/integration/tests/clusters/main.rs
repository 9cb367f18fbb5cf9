//! Tracked clusters amid writers: the state is a computation from scratch under the same snapshot, ids are those of an
//! independent model, and the log replayed gives the state. Beside them the same clusters are tracked once more, and
//! refreshed in full each time: both have the same rows.
//!
//! A short run in `make integration`; `make torture` makes it as long as CHANGES says: with kills and restarts.

mod carried;
mod model;
mod traps;
mod writers;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use minlsh_integration::{Client, Random, Server, SqlState};

use model::{Log, State, ids, replay};
use writers::{Count, WRITERS, work};

/// Changes of a short run.
const SHORT: u64 = 4_000;

/// How long a run may take at most, for each thousand changes.
const PATIENCE: Duration = Duration::from_secs(40);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

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
    client
        .batch_execute(&format!(
            "CREATE TABLE docs (id bigint PRIMARY KEY, body text, views int DEFAULT 0){end}; {parts}
             CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.8)"
        ))
        .expect("a table");
    let mut random = Random::new(seed);
    for id in 0..writers::KEYS {
        let body = writers::text(&mut random);
        client.execute("INSERT INTO docs VALUES ($1, $2)", &[&id, &body]).expect("a row");
    }
    client
        .batch_execute(
            "ANALYZE docs; SELECT minlsh_track_clusters('docs_near');
             SELECT minlsh_track_clusters('docs_near', name => 'docs_full')",
        )
        .expect("tracked");
}

/// What refreshes of changes and refreshes of all documents write alike.
const SAME: [(&str, &str); 3] = [
    ("", "doc_id, cluster_id, fingerprint"),
    ("_list", "cluster_id, size"),
    ("_log", "seq, event, cluster_id, other_id, doc_id, size"),
];

/// What a refresh found, compared.
#[derive(Default)]
struct Observer {
    state: State,
    next: i64,
    seq: i64,
    comparisons: u64,
    full: u64,
    late: u64,
}

impl Observer {
    fn new() -> Self {
        Self { next: 1, ..Self::default() }
    }

    /// Refreshes in one transaction, and compares under its snapshot. An error that a retry mends is counted.
    fn compare(&mut self, client: &mut Client) -> Result<(), postgres::Error> {
        let (state, next, seq) = (self.state.clone(), self.next, self.seq);
        let result = self.attempt(client);
        if result.is_err() {
            (self.state, self.next, self.seq) = (state, next, seq);
            let _ = client.batch_execute("ROLLBACK");
        }
        match result {
            Err(cause) if cause.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) => {
                self.late += 1;
                Ok(())
            }
            other => other,
        }
    }

    fn attempt(&mut self, client: &mut Client) -> Result<(), postgres::Error> {
        // Locks before the snapshot: else a TRUNCATE in between makes the refresh refuse the snapshot.
        client.batch_execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE docs IN ACCESS SHARE MODE;
             LOCK TABLE docs_clusters_list, docs_full_list IN EXCLUSIVE MODE",
        )?;
        let row = client
            .query_one("SELECT was_full FROM minlsh_refresh_clusters('docs_clusters')", &[])?;
        self.full += u64::from(row.get::<_, bool>(0));
        client.batch_execute("SELECT minlsh_refresh_clusters('docs_full', \"full\" => true)")?;
        for (table, columns) in SAME {
            let rows = |name: &str| format!("SELECT {columns} FROM {name}{table}");
            let (a, b) = (rows("docs_clusters"), rows("docs_full"));
            let sql =
                format!("SELECT * FROM (({a} EXCEPT {b}) UNION ALL ({b} EXCEPT {a})) d LIMIT 5");
            let rows = client.query(&format!("SELECT d::text FROM ({sql}) d"), &[])?;
            let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            assert!(rows.is_empty(), "incremental and full: {columns}: {rows:?}");
        }
        let stored = client.query("SELECT doc_id, cluster_id FROM docs_clusters", &[])?;
        let stored: State = stored.iter().map(|row| (row.get(0), row.get(1))).collect();
        let scratch = client.query(
            "SELECT doc_id, cluster_id FROM near_duplicate_clusters('docs_near', NULL, NULL::bigint)",
            &[],
        )?;
        let mut parts: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for row in scratch {
            parts.entry(row.get(1)).or_default().push(row.get(0));
        }
        let parts: Vec<Vec<i64>> = parts.into_values().collect();
        let (expected, next) = ids(&self.state, &parts, self.next);
        assert_same(&stored, &expected, "state and model");
        let log = client.query(
            "SELECT seq, event, cluster_id, other_id, doc_id, size FROM docs_clusters_log
             WHERE seq > $1 ORDER BY seq",
            &[&self.seq],
        )?;
        for row in &log {
            let seq: i64 = row.get(0);
            assert_eq!(seq, self.seq + 1, "no gap in the log");
            self.seq = seq;
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
        client.batch_execute("COMMIT")?;
        (self.state, self.next) = (stored, next);
        self.comparisons += 1;
        Ok(())
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

/// Writers and a refresher, until there were so many changes.
fn run(server: &Server, changes: u64, partitioned: bool, kills: u64) {
    let seed = number("MINLSH_TORTURE_SEED").unwrap_or_else(|| Random::by_the_clock().seed());
    println!("seed {seed}");
    let database = server.create_database();
    let mut client = database.connect();
    create(&mut client, seed, partitioned);
    let mut observer = Observer::new();
    let mut total = Count::default();
    let is_long = changes > 10 * SHORT;
    for round in 0..=kills {
        let (done, allowed) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut random = Random::new(seed.wrapping_add(round));
        let wanted = changes / (kills + 1);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let (database, progress) = (&database, (&done, &allowed));
                    let seed = seed.wrapping_add(round * 1000 + number);
                    scope
                        .spawn(move || work(server, &database.name, seed, number, progress, wanted))
                })
                .collect();
            let mut last = Ok(());
            while done.load(Ordering::Relaxed) < wanted && last.is_ok() {
                // Few changes at a time, or many: refreshes of changes and of all documents.
                let more = if is_long { [30, 100, 300, 2000] } else { [10, 30, 60, 500] };
                let more = more[random.below(4)];
                allowed.store(done.load(Ordering::Relaxed) + more, Ordering::Relaxed);
                let limit = PATIENCE * u32::try_from(wanted / 1000 + 1).expect("a number");
                assert!(begun.elapsed() < limit, "the writers are too slow");
                last = observer.compare(&mut client);
                std::thread::sleep(Duration::from_millis(30));
            }
            last.expect("a refresh");
            allowed.store(u64::MAX, Ordering::Relaxed);
            if round < kills {
                server.crash();
            }
            workers.into_iter().for_each(|worker| total += worker.join().expect("a writer"));
        });
        if round < kills {
            server.launch();
            client = database.connect();
            writers::finish_prepared(&mut client);
        }
    }
    observer.compare(&mut client).expect("the last refresh");
    println!(
        "{total:?}; {} comparisons, {} full, {} too late, {} log rows, {} members",
        observer.comparisons,
        observer.full,
        observer.late,
        observer.seq,
        observer.state.len()
    );
    assert!(observer.comparisons > 5 && observer.seq > 100);
    assert!(observer.full < observer.comparisons, "no refresh looked at what has changed alone");
}

fn server() -> Server {
    Server::start_with(&["max_prepared_transactions = 20", "deadlock_timeout = 100ms"])
}

#[test]
fn eight_writers_and_a_refresher_agree() {
    let changes = number("MINLSH_TORTURE_CHANGES").unwrap_or(SHORT);
    run(&server(), changes, false, changes / 50_000);
}

#[test]
fn partitions_too_and_after_a_crash() {
    let changes = number("MINLSH_TORTURE_CHANGES").map_or(SHORT / 2, |changes| changes / 20);
    run(&server(), changes, true, 1);
}
