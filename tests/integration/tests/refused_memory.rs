//! Refused memory, wherever a session happens to ask for some: limits that go up step by step for each kind of work.

use std::time::Duration;

use minlsh_integration::{Database, Run, Server, backend, failure, is_thorough, kilobytes, number, texts, wait_until};
use postgres::error::Severity;

/// The kinds of work that a session does, on small tables.
const WORK: [&str; 31] = [
    "CREATE INDEX ON docs USING minlsh (body)",
    "CREATE INDEX ON docs USING minlsh (body minlsh_passage_ops)",
    "CREATE INDEX ON docs USING minlsh (id, (minlsh_document(body, 0.8)))",
    "SELECT minlsh_create_side_table('docs', 'body', threshold => 0.9)",
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
    "SELECT minlsh_rebuild_side_table('docs'); TRUNCATE docs",
    "SELECT count(minlsh_document(body, unit => 'anchored', stop_words => list)) FROM docs, \
     (SELECT string_agg(to_hex(i), ' ') AS list FROM generate_series(1, 13000) i) AS l",
];

/// The number of limits of memory under which each is done; `MINLSH_REFUSALS` has more tried.
fn limits() -> u64 {
    number("MINLSH_REFUSALS").unwrap_or(if is_thorough() { 8 } else { 3 })
}

/// Statements over the columns of the table `long`, whose values have [`BYTES`] bytes: one for each way in which such
/// a text is copied.
const LONG: [&str; 14] = [
    "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; \
     SELECT minhash_union_agg(numbers) FROM long",
    "SELECT near_duplicate_pairs(query, 0.9) FROM long",
    "SELECT near_duplicate_pairs(mistake, 0.9) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, body => letters) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, key_column => quoted) FROM long",
    "SELECT near_duplicate_plan('docs', 0.9, keep => 'id' || blanks) FROM long",
    "SELECT near_duplicate_plan('docs', 0.9, keep => letters || '(') FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, normalization => letters) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, stop_words => words) FROM long",
    "SELECT near_duplicates(letters, 0.9, 'docs') FROM long",
    "SELECT near_duplicate_pairs('SELECT id, fail(letters) FROM docs, long', 0.9)",
    "CREATE INDEX ON long USING minlsh (fail(letters))",
    "SELECT minhash_union(numbers, numbers) FROM long",
    "SELECT numbers ~= minlsh_signature(minhash('a text')) FROM long",
];

/// More of them, which end in the same ways.
const MORE_LONG: [&str; 46] = [
    "SELECT near_duplicate_pairs(letters, 0.9) FROM long",
    "SELECT near_duplicate_pairs(condition, 0.9) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, letters) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, scope => mistake) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, boilerplate => letters) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, apart => letters) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, apart => query) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, apart => mistake) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, unit => letters) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, normalization => steps) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, scheme => letters) FROM long",
    "SELECT near_duplicate_clusters('docs', 0.9, linkage => letters) FROM long",
    "SELECT near_duplicate_plan('docs', 0.9, keep => letters) FROM long",
    "SELECT near_duplicates_between('docs', letters, 0.9) FROM long",
    "SELECT minlsh_recall(letters) FROM long",
    "SELECT minlsh_suggest(mistake) FROM long",
    "SELECT minlsh_suggest('docs', letters) FROM long",
    "SELECT common_passages(letters) FROM long",
    "SELECT passages_between('docs', 'docs', normalization => letters) FROM long",
    "SELECT near_duplicates(letters, 0.9, 'texts') FROM long",
    "SELECT nearest_documents(letters, 3, 'docs') FROM long",
    "SELECT near_duplicate_cluster_of(letters, 0.9, 'docs') FROM long",
    "SELECT near_duplicate_cluster_of(letters, 0.9, 'texts') FROM long",
    "SELECT minlsh_explain('docs', letters, letters) FROM long",
    "SELECT minlsh_explain('texts', letters, letters) FROM long",
    "SELECT near_duplicates_of(body, 0.9, 'docs') FROM long",
    "SELECT near_duplicates_of(body, 0.9, 'docs', letters) FROM long",
    "SELECT near_duplicates_of(numbers, 0.9, 'docs') FROM long",
    "SELECT minlsh_create_side_table('docs', 'body', normalization => letters, threshold => 0.9) FROM long",
    "SELECT minlsh_create_side_table('docs', 'body', stop_words => words, threshold => 0.9) FROM long",
    "DO $$ BEGIN EXECUTE 'CREATE INDEX ON docs USING minlsh (body) WITH (normalization = ' \
     || (SELECT letters FROM long) || ')'; END $$",
    "SELECT near_duplicate_plan('SELECT id, docs.body, letters FROM docs, long', keep => 'fail(letters)')",
    "SELECT near_duplicate_cluster(letters, 0.9, stop_words => words) OVER () FROM long",
    "SELECT letters::minlsh_document, body::minlsh_document FROM long",
    "SELECT quoted::minlsh_document, ('{' || quoted)::minlsh_document FROM long",
    "SELECT body::minlsh_passage, letters::minlsh_passage FROM long",
    "SELECT minlsh_document(body, stop_words => words) FROM long",
    "SELECT minlsh_passage(letters, normalization => letters) FROM long",
    "SELECT cardinality(tokens(body, letters)), cardinality(tokens(body, 'word', steps, words)) FROM long",
    "SELECT minhash_jaccard(numbers, numbers), minhash_jaccard(numbers, numbers, 8) FROM long",
    "SELECT minhash_pack(numbers, 8), minhash_cardinality(numbers) FROM long",
    "SELECT jaccard(numbers, minlsh_signature(minhash('a text'))) FROM long",
    "SELECT minlsh_signature(numbers), minhash_to_lean(numbers) FROM long",
    "SELECT minhash_from_lean(convert_to(letters, 'UTF8')) FROM long",
    "SELECT minhash_to_lean(minhash('a text'), letters) FROM long",
    "SELECT jaccard(body, body), letters::minlsh_key = letters FROM long",
];

/// The kinds of work that a session does where its database is of another encoding.
const LATIN: [&str; 6] = [
    "SELECT normalize_text(body), count(*) FROM long, minlsh_diff(body, body) GROUP BY 1",
    "SELECT near_duplicate_pairs(query, 0.9) FROM long",
    "SELECT near_duplicate_pairs('docs', 0.9, body => body) FROM long",
    "SELECT near_duplicates(body, 0.9, 'docs') FROM long",
    "SELECT near_duplicates(body, 0.9, 'texts') FROM long",
    "SELECT near_duplicate_pairs('SELECT docs.id, fail(long.body) FROM docs, long', 0.9)",
];

/// Bytes of a long text: many times what is kept in reserve, so that a limit is between two copies of it.
const BYTES: u64 = 4 << 20;

/// A server without assertions: where PostgreSQL's own statistics are refused memory, one of those fails at the end of
/// the session (`pgstat_release_matching_entry_refs`).
fn server() -> Option<Server> {
    let server = Server::start();
    let has_assertions = texts(&mut server.connect("postgres"), "SHOW debug_assertions") == ["on"];
    if has_assertions {
        println!("SKIPPED: this PostgreSQL has assertions that do not hold where memory is refused");
    }
    (!has_assertions).then_some(server)
}

#[test]
fn memory_refused_anywhere_is_an_error_and_no_crash() {
    let Some(server) = server() else { return };
    let database = server.create_database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, repeat(md5((i / 4)::text) || ' ', 40) || i % 4 FROM generate_series(1, 400) i; \
         CREATE TABLE live (LIKE docs INCLUDING INDEXES); \
         INSERT INTO live SELECT * FROM docs; \
         CREATE TABLE apart (id int, body text, EXCLUDE USING minlsh (minlsh_document(body, 0.9) WITH ~=)); \
         SELECT minlsh_create_side_table('docs', 'body'); \
         CREATE INDEX live_near ON live USING minlsh (body); \
         SELECT minlsh_track_clusters('live_near'); \
         SELECT minlsh_refresh_clusters('live_clusters'); ANALYZE",
    );
    assert_eq!(refused(&database, &WORK, |needs| needs * 1024 / limits()), [""; 0]);
}

/// Lets a session allocate `more` bytes more than it has.
fn starve(server: &Server, pid: i32, more: u64) {
    let bytes = kilobytes(pid, "VmSize:") * 1024 + more;
    server.limit(pid, &format!("--as={bytes}"));
}

/// True if a failure says that there is no memory.
fn is_of_memory(failure: &str) -> bool {
    ["53200", "53000"].contains(&failure)
}

/// The last lines of the log.
fn last_lines(server: &Server) -> String {
    server.log().lines().rev().take(5).collect::<Vec<_>>().join("\n")
}

#[test]
fn want_of_memory_is_an_error_and_no_crash() {
    let Some(server) = server() else { return };
    let database = server.create_database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE big AS SELECT string_agg(md5(i::text), ' ') AS body FROM generate_series(1, 200000) i; \
         CREATE TABLE sets AS SELECT array_agg(i::text) AS a, array_agg(i::bigint) AS b \
           FROM generate_series(1, 500000) i; \
         CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, repeat(md5((i / 40)::text), 5) FROM generate_series(1, 8000) i; \
         SELECT minlsh_create_side_table('docs', 'body'); \
         CREATE TABLE live (LIKE docs INCLUDING INDEXES); \
         INSERT INTO live SELECT * FROM docs; \
         CREATE INDEX live_near ON live USING minlsh (body); \
         SELECT minlsh_track_clusters('live_near'); \
         SELECT minlsh_track_clusters('live_near', name => 'fresh'); \
         SELECT minlsh_refresh_clusters('live_clusters'); \
         UPDATE live SET body = body || ' altered' || id WHERE id % 20 = 0",
    );
    let start = "SELECT pg_postmaster_start_time()::text || pg_backend_pid()";
    let mut observer = database.connect();
    let before = texts(&mut observer, start);
    for (megabytes, work) in [
        (40, "SELECT cardinality(shingles(body, 20)) FROM big"),
        (40, "SELECT cardinality(shingle_hashes(body, 5)) FROM big"),
        (30, "SELECT cardinality(minhash(body)) FROM big"),
        (20, "SELECT length(normalize_text(body, 'aggressive')) FROM big"),
        (40, "SELECT cardinality(tokens(body)) FROM big"),
        (40, "SELECT cardinality(codes(body)) FROM big"),
        (40, "SELECT count(*) FROM big, text_profile(body)"),
        (40, "SELECT jaccard(body, body || 'x', 9) FROM big"),
        (40, "SELECT containment(body, body || 'x', 3, 'word') FROM big"),
        (40, "SELECT jaccard(a, a) FROM sets"),
        (40, "SELECT jaccard(b, b) FROM sets"),
        (40, "SELECT cardinality(minhash(a)) FROM sets"),
        (40, "SELECT weighted_jaccard(a, b::float8[], a, b::float8[]) FROM sets"),
        (150, "SELECT cardinality(minhash_agg(md5(i::text), 4096)) FROM generate_series(1, 100000) i"),
        (60, "SELECT count(*) FROM big, shared_passages(body, body || 'x')"),
        (60, "SELECT passage_coverage(body, body || 'x') FROM big"),
        (30, "SELECT cardinality(passage_hashes(body)) FROM big"),
        (60, "SELECT body ~> minlsh_passage(body) FROM big"),
        (20, "SELECT length(minlsh_passage(body)::text::minlsh_passage::text) FROM big"),
        (40, "SELECT count(*) FROM big, minlsh_diff(body, body || 'x')"),
        (2, "SELECT count(*) FROM common_passages('docs', 2)"),
        (2, "SELECT count(*) FROM strip_passages('docs', 2)"),
        (2, "SELECT count(*) FROM repeated_passages('docs')"),
        (6, "CREATE INDEX ON docs USING minlsh (body minlsh_passage_ops)"),
        (3, "SELECT count(*) FROM near_duplicate_pairs('docs', 0.9)"),
        (3, "SELECT count(*) FROM near_duplicate_clusters('docs', 0.9)"),
        (3, "SELECT count(*) FROM near_duplicate_plan('docs', 0.9)"),
        (3, "SELECT returned FROM minlsh_recall('docs', sample => 1000)"),
        (3, "SELECT count(*) FROM near_duplicates(1, 0.9, 'docs')"),
        (3, "SELECT count(*) FROM minlsh_check('docs')"),
        (40, "SELECT passage_coverage(body, body || 'x') FROM big"),
        (40, "SELECT count(*) FROM big, shared_passages(body, body || 'x')"),
        (40, "SELECT cardinality(passage_hashes(body, 16)) FROM big"),
        (40, "SELECT body ~> minlsh_passage(body, 1) FROM big"),
        (3, "SELECT count(*) FROM common_passages('docs', 2)"),
        (3, "SELECT count(*) FROM strip_passages('docs', 2)"),
        (3, "SELECT count(*) FROM repeated_passages('docs')"),
        (3, "SELECT count(*) FROM contained_documents('docs', 0.5)"),
        (3, "SELECT count(*) FROM passages_between('docs', 'docs')"),
        (1, "SELECT minlsh_refresh_clusters('live_clusters')"),
        (3, "SELECT minlsh_refresh_clusters('live_clusters')"),
        (1, "SELECT minlsh_refresh_clusters('fresh')"),
        (4, "SELECT minlsh_refresh_clusters('fresh')"),
        (1, "SELECT minlsh_refresh_clusters('fresh'); SELECT minlsh_check('fresh')"),
        (1, "SELECT near_duplicate_cluster_of(1, index => 'live_near')"),
        (6, "UPDATE docs SET body = body || '!'"),
        (6, "SELECT minlsh_create_side_table('docs', 'body', threshold => 0.9)"),
    ] {
        let mut client = database.connect();
        // Warm, so that what follows is all of the work's own.
        client.run("SELECT minhash('x')");
        starve(&server, backend(&mut client), megabytes << 20);
        if let Some(failure) = failure(&mut client, &format!("BEGIN; {work}; ROLLBACK")) {
            assert!(is_of_memory(&failure), "{work}: {failure}\n{}", last_lines(&server));
        }
    }
    assert_eq!(texts(&mut observer, start), before);
}

/// Makes the table `long`, and what it is used with.
fn make_long(database: &Database) {
    let mut client = database.connect();
    client.run(&format!(
        "SET client_min_messages = error; \
         CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, repeat(md5((i / 4)::text) || ' ', 4) || i % 4 FROM generate_series(1, 40) i; \
         CREATE TABLE texts (id text PRIMARY KEY, body text); \
         INSERT INTO texts SELECT * FROM docs; \
         SELECT minlsh_create_side_table('docs', 'body'), minlsh_create_side_table('texts', 'body'); \
         CREATE TABLE long (letters text, quoted text, query text, condition text, mistake text, blanks text, \
           steps text, words text, body text, numbers int[]); \
         ALTER TABLE long ALTER letters SET STORAGE external, ALTER quoted SET STORAGE external, \
           ALTER query SET STORAGE external, ALTER condition SET STORAGE external, \
           ALTER mistake SET STORAGE external, ALTER blanks SET STORAGE external, \
           ALTER steps SET STORAGE external, ALTER words SET STORAGE external, ALTER body SET STORAGE external, \
           ALTER numbers SET STORAGE external; \
         INSERT INTO long SELECT letters, '\"' || letters || '\"', 'SELECT id, id FROM docs' || blanks, \
           'SELECT id, body FROM docs WHERE body <> ''' || letters || '''', 'SELECT ' || letters || ' FROM docs', \
           blanks, repeat('nfc,', {BYTES} / 4), repeat('word+', {BYTES} / 5), \
           repeat(chr(252) || 'bung ', {BYTES} / 7), array_fill(1, ARRAY[{BYTES} / 4]) \
           FROM (SELECT repeat('x', {BYTES}) AS letters, repeat(' ', {BYTES}) AS blanks) AS made; \
         CREATE FUNCTION fail(words text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ \
           BEGIN RAISE USING MESSAGE = words, DETAIL = words, HINT = words; END $$"
    ));
}

/// A step after which the next limit has room for one more copy at most.
fn a_copy(_: u64) -> u64 {
    if is_thorough() { BYTES / 4 } else { BYTES }
}

#[test]
fn a_copy_of_a_long_text_that_is_refused_is_an_error_and_no_crash() {
    let Some(server) = server() else { return };
    let database = server.create_database();
    make_long(&database);
    assert_eq!(refused(&database, &LONG, a_copy), [""; 0]);
    if is_thorough() {
        assert_eq!(refused(&database, &MORE_LONG, a_copy), [""; 0]);
    }
}

#[test]
fn the_order_of_many_keys_that_is_refused_is_an_error_and_no_crash() {
    let Some(server) = server() else { return };
    let database = server.create_database();
    let pairs = if is_thorough() { 300_000 } else { 60_000 };
    database.connect().run(&format!(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, 'one text for all of them' FROM generate_series(1, 10) i; \
         CREATE INDEX docs_near ON docs USING minlsh (body); \
         SELECT minlsh_track_clusters('docs_near'); \
         INSERT INTO docs_clusters_apart SELECT 2 * i, 2 * i + 1 FROM generate_series(1, {pairs}) i; \
         ANALYZE"
    ));
    // Less than the order of all keys takes, four bytes each.
    let step = |_| 2 * 4 * pairs / 2;
    let refresh = ["SELECT minlsh_refresh_clusters('docs_clusters')"];
    assert_eq!(refused(&database, &refresh, step), [""; 0]);
}

#[test]
fn a_copy_in_another_encoding_that_is_refused_is_an_error_and_no_crash() {
    let Some(server) = server() else { return };
    let create = "CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'";
    server.connect("postgres").run(create);
    let database = Database { server: &server, name: "latin".into() };
    database.connect().run("CREATE EXTENSION minlsh");
    make_long(&database);
    assert_eq!(refused(&database, &LATIN, a_copy), [""; 0]);
}

#[test]
fn a_session_without_memory_can_be_terminated() {
    let Some(server) = server() else { return };
    let database = server.create_database();
    make_long(&database);
    let mut observer = database.connect();
    // From no room for the error that ends it, whose context has the long text, to some for a few copies.
    for copies in 0..6 {
        let mut client = database.connect();
        let pid = backend(&mut client);
        let waits = "DO $$ BEGIN EXECUTE 'SELECT count(*) FROM near_duplicate_pairs(''SELECT id, body \
                     FROM docs, pg_sleep(100) /*' || (SELECT letters FROM long) || '*/'')'; END $$";
        let waiting = std::thread::spawn(move || client.batch_execute(waits));
        let state = format!("SELECT wait_event FROM pg_stat_activity WHERE pid = {pid}");
        wait_until("the session sleeps", || texts(&mut observer, &state) == ["PgSleep"]);
        starve(&server, pid, copies * 2 * BYTES);
        observer.run(&format!("SELECT pg_terminate_backend({pid})"));
        let ended = waiting.join().expect("a session").expect_err("the session goes on");
        let severity = ended.as_db_error().and_then(|error| error.parsed_severity());
        assert!(matches!(severity, Some(Severity::Fatal) | None), "{copies}: {ended}");
        wait_until("the session is gone", || texts(&mut observer, &state).is_empty());
    }
}

/// Does each work without a limit of memory, and then under limits that go up by steps. The failures that are no
/// errors for want of memory, and no errors that there are without a limit.
fn refused(database: &Database, all: &[&str], step: impl Fn(u64) -> u64) -> Vec<String> {
    let only = std::env::var("MINLSH_ATTACK").unwrap_or_default();
    let mut failures = Vec::new();
    let session = || {
        let mut client = database.connect();
        // Threads and a compiler would take far more memory than the rest.
        let settings = "SET client_min_messages = error; SET log_min_messages = panic; SET jit = off; \
                        SET max_parallel_workers = 0; LOAD 'plpgsql'; SELECT minhash('x')";
        client.run(settings);
        let pid = backend(&mut client);
        (client, pid)
    };
    for work in all.iter().filter(|work| work.contains(&*only)) {
        let work = format!("BEGIN; {work}; ROLLBACK");
        let (mut client, pid) = session();
        let has = kilobytes(pid, "VmSize:");
        let unlimited = failure(&mut client, &work);
        let needs = kilobytes(pid, "VmPeak:").saturating_sub(has) + 200;
        let (mut refused, mut more) = (0, 0);
        while more < needs * 1024 {
            let (mut client, pid) = session();
            starve(database.server, pid, more);
            more = more.saturating_add(step(needs));
            // Once more in the same session, whose reserve may be gone.
            for _ in 0..2 {
                let limited = failure(&mut client, &work);
                if limited == unlimited {
                    break;
                }
                refused += 1;
                if !limited.as_deref().is_some_and(is_of_memory) {
                    let log = last_lines(database.server);
                    failures.push(format!("{work} at {more}: {limited:?}\n{log}"));
                    // The server may be about to notice that a backend died.
                    std::thread::sleep(Duration::from_secs(1));
                    database.server.wait_ready();
                    more = u64::MAX;
                    break;
                }
                // Without memory this fails as well.
                let _ = client.batch_execute("ROLLBACK");
            }
        }
        println!("refused {refused} times within {needs} kB: {unlimited:?} of {work}");
    }
    failures
}
