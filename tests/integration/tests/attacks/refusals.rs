//! Refused memory, wherever a session happens to ask for some: limits that go up step by step for each kind of work.

use minlsh_integration::{Server, backend, is_thorough, kilobytes, texts};

/// The kinds of work that a session does, on small tables.
const WORK: [&str; 30] = [
    "CREATE INDEX ON docs USING minlsh (body)",
    "CREATE INDEX ON docs USING minlsh (body minlsh_passage_ops)",
    "CREATE INDEX ON docs USING minlsh (id, (minlsh_document(body, 0.8)))",
    "SELECT minlsh_create_index('docs', 'body', threshold => 0.9)",
    "INSERT INTO docs SELECT id + 10000, body || 'x' FROM docs",
    "INSERT INTO apart SELECT id + 10000, body || 'x' FROM docs ON CONFLICT DO NOTHING",
    "INSERT INTO apart SELECT id, md5(id::text) FROM docs; UPDATE apart SET body = body || id",
    "SELECT count(*) FROM docs, near_duplicates(id, 0.9, 'live_near')",
    "SELECT count(*) FROM docs, nearest_documents(id, 3, 'docs')",
    "SELECT count(*) FROM docs, near_duplicates_of(body, 0.9, 'live_near')",
    "SELECT count(*) FROM docs, near_duplicate_cluster_of(id, 0.9, 'live_near')",
    "SELECT count(*) FROM docs, minlsh_explain('docs', id, id)",
    "SET enable_seqscan = off; SELECT count(*) FROM live a JOIN live b ON a.body ~= b.body",
    "SELECT near_duplicate_cluster(body, 0.9) OVER (PARTITION BY id % 2) FROM docs",
    "SELECT count(*) FROM near_duplicate_pairs('live_near', 0.9)",
    "SELECT count(*) FROM near_duplicate_pairs('SELECT * FROM docs', 0.9, scope => 'id')",
    "SELECT count(*) FROM near_duplicate_plan('docs', 0.9, keep => 'length(body)', boilerplate => '*')",
    "SELECT count(*) FROM near_duplicate_clusters('docs', 0.9, apart => 'SELECT id, id + 1 FROM docs')",
    "SELECT count(*) FROM near_duplicates_between('docs', 'live', 0.9)",
    "SELECT count(*) FROM minlsh_recall('live_near')",
    "SELECT count(*) FROM minlsh_suggest('docs')",
    "SELECT count(*) FROM common_passages('docs', 2)",
    "SELECT count(*) FROM contained_documents('docs')",
    "SELECT count(*) FROM passages_between('docs', 'live')",
    "SELECT minlsh_refresh_clusters('live_clusters', true)",
    "UPDATE live SET body = body || id WHERE id < 50; SELECT minlsh_refresh_clusters('live_clusters')",
    "SELECT minlsh_track_clusters('live_near', name => 'again'); SELECT minlsh_refresh_clusters('again')",
    "SELECT minlsh_check()",
    "SELECT minhash_agg(body) FROM docs GROUP BY id % 50",
    "SELECT minlsh_reindex('docs'); TRUNCATE docs",
];

/// The number of limits of memory under which each is done; `MINLSH_REFUSALS` has more tried.
fn limits() -> u64 {
    let more = std::env::var("MINLSH_REFUSALS").ok();
    more.and_then(|count| count.parse().ok()).unwrap_or(if is_thorough() { 8 } else { 4 })
}

#[test]
fn memory_refused_anywhere_is_an_error_and_no_crash() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = database.connect();
    client
        .batch_execute(
            "CREATE TABLE docs (id int PRIMARY KEY, body text); \
             INSERT INTO docs SELECT i, repeat(md5((i / 4)::text) || ' ', 40) || i % 4 FROM generate_series(1, 400) i; \
             CREATE TABLE live (LIKE docs INCLUDING INDEXES); \
             INSERT INTO live SELECT * FROM docs; \
             CREATE TABLE apart (id int, body text, EXCLUDE USING minlsh (minlsh_document(body, 0.9) WITH ~=)); \
             SELECT minlsh_create_index('docs', 'body'); \
             CREATE INDEX live_near ON live USING minlsh (body); \
             SELECT minlsh_track_clusters('live_near'); \
             SELECT minlsh_refresh_clusters('live_clusters'); ANALYZE",
        )
        .expect("tables");
    let start = "SELECT pg_postmaster_start_time()::text || pg_backend_pid()";
    let mut observer = database.connect();
    let before = texts(&mut observer, start);
    let session = || {
        let mut client = database.connect();
        // Threads and a compiler would take far more memory than the rest.
        let settings = "SET client_min_messages = error; SET jit = off; \
                        SET max_parallel_workers = 0; SELECT minhash('x')";
        client.batch_execute(settings).expect("a session");
        let pid = backend(&mut client);
        (client, pid, kilobytes(pid, "VmSize:"))
    };
    for work in WORK {
        let (mut client, pid, has) = session();
        client.batch_execute(&format!("BEGIN; {work}; ROLLBACK")).expect(work);
        let needs = kilobytes(pid, "VmPeak:").saturating_sub(has) + 200;
        let mut refused = 0;
        for limit in 0..limits() {
            let (mut client, pid, has) = session();
            let bytes = (has + needs * limit / limits()) * 1024;
            server.limit(pid, &format!("--as={bytes}"));
            let Err(error) = client.batch_execute(&format!("BEGIN; {work}; ROLLBACK")) else {
                continue;
            };
            refused += 1;
            let code = error.code().map_or("", |code| code.code());
            let log = || server.log().lines().rev().take(5).collect::<Vec<_>>().join("\n");
            assert!(["53200", "53000"].contains(&code), "{work}: {code:?} {error}\n{}", log());
        }
        println!("refused {refused} times within {needs} kB: {work}");
    }
    assert_eq!(texts(&mut observer, start), before);
}
