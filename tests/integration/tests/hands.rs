//! Threads beside the backend: the same index, and nothing left running whatever ends the work.

use std::time::{Duration, Instant};

use minlsh_integration::{
    Client, Database, PATIENCE, Random, Run, Server, assert_consistent, backend, beside, cancel, database, is_thorough,
    kilobytes, sqlstate, texts, wait_until,
};

/// The number of times that each way to end the work is tried: at another moment each time.
fn tries() -> u64 {
    if is_thorough() { 20 } else { 2 }
}

/// All settings that some work is done with, or one in turn.
fn in_turn<T>(all: &[T], number: usize) -> &[T] {
    if is_thorough() { all } else { &all[number % all.len()..][..1] }
}

const BUILD: &str = "CREATE INDEX docs_near ON docs USING minlsh (body)";

/// As many threads as there may be: a table's `parallel_workers` does not look at the number of cores.
/// PostgreSQL's own workers would read the rows in another order each time.
const THREADS: &str = "SET max_parallel_maintenance_workers = 8; SET max_parallel_workers = 8; \
                       SET max_parallel_workers_per_gather = 8; SET parallel_setup_cost = 1e9";
const NO_THREADS: &str = "SET max_parallel_maintenance_workers = 0; SET max_parallel_workers_per_gather = 0";

/// A table of 5,000 texts of 2 kB in groups of four that are alike.
fn docs(client: &mut Client) {
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text) WITH (parallel_workers = 8); \
         INSERT INTO docs SELECT i, \
           CASE WHEN i % 1000 = 7 THEN NULL WHEN i % 1000 = 8 THEN '' \
           ELSE (SELECT string_agg(md5((i / 4 * 1000 + j)::text), ' ') FROM generate_series(1, 60) j) \
             || i END FROM generate_series(1, 5000) i",
    );
}

fn threads(process: i32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count)
}

/// Waits until a process has one thread: one that has ended is listed for a moment longer.
fn is_alone(process: i32) {
    wait_until("one thread", || threads(process) == 1);
}

/// The pages of an index, without the times of writing.
fn pages(client: &mut Client, index: &str) -> Vec<u8> {
    client.run("CHECKPOINT");
    let read = format!("SELECT pg_read_binary_file(pg_relation_filepath('{index}'))");
    let mut bytes: Vec<u8> = client.query_one(&read, &[]).expect("a file").get(0);
    // The LSN and the checksum.
    bytes.chunks_mut(8192).for_each(|page| page[..10].fill(0));
    bytes
}

/// The pages of an index of these columns that is built with those settings, and is consistent.
fn built(client: &mut Client, settings: &str, table: &str, columns: &str) -> Vec<u8> {
    let index = format!("{table}_near");
    client.run(&format!(
        "{settings}; DROP INDEX IF EXISTS {index}; CREATE INDEX {index} ON {table} USING minlsh ({columns})"
    ));
    assert_consistent(client, &index);
    pages(client, &index)
}

#[test]
fn an_index_is_the_same_whoever_makes_it() {
    let mut client = database().connect();
    docs(&mut client);
    // Neither old versions of rows, which a build takes while any session may see them, nor a vacuum in between.
    client.run(
        "CREATE TABLE wide WITH (parallel_workers = 8, autovacuum_enabled = off) AS \
         SELECT *, id % 5 AS tenant, string_to_array(body, ' ') AS words FROM docs",
    );
    let all = [
        "body",
        // 1 MB holds a third of these entries.
        "body) WITH (threshold = 0.7",
        "tenant, body",
        "words",
        "minhash(body) minlsh_signature_ops",
        "minlsh_document(body, 0.9)",
    ];
    for (number, columns) in all.into_iter().enumerate() {
        for memory in in_turn(&["64MB", "1MB"], number) {
            let mut build = |settings: &str| {
                let settings = format!("SET maintenance_work_mem = '{memory}'; {settings}");
                built(&mut client, &settings, "wide", columns)
            };
            assert!(build(THREADS) == build(NO_THREADS), "{columns} {memory}");
        }
    }
    // One key has more entries than there is memory for a copy of them.
    client.run(
        "CREATE TABLE same WITH (parallel_workers = 8, autovacuum_enabled = off) AS \
         SELECT id, 'a text that all have' AS body FROM generate_series(1, 20000) id; \
         SET maintenance_work_mem = '2560kB'",
    );
    let mut build = |settings: &str| built(&mut client, settings, "same", "body");
    assert!(build(THREADS) == build(NO_THREADS));
}

/// Makes the threads of a backend visible: its rows keep it waiting now and then, however busy the machine is.
const SLOWLY: &str = "CREATE FUNCTION slowly(body text, id int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS \
     'BEGIN IF id % 500 = 450 THEN PERFORM pg_sleep(0.05); END IF; RETURN body; END'";

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The threads that a backend has at most while it works.
fn most_threads(client: &mut Client, work: &str) -> usize {
    let pid = backend(client);
    let mut most = 0;
    let watch = || {
        most = most.max(threads(pid));
        std::thread::sleep(Duration::from_micros(200));
    };
    beside(vec![watch], || client.run(work));
    most
}

#[test]
fn passages_are_the_same_whoever_finds_them() {
    let mut client = database().connect();
    docs(&mut client);
    // One of the texts is so long that it is looked at by itself, and compared with the others in several batches.
    let source = "'SELECT id, CASE id WHEN 9 THEN (SELECT string_agg(body, '' '') FROM docs WHERE id < 600) \
                  ELSE body END FROM docs WHERE id < 1000'";
    let long = "SELECT sum(octet_length(body)) > 1 << 20 FROM docs WHERE id < 600";
    assert_eq!(texts(&mut client, long), ["t"]);
    let jobs = [
        // Five have the passages of the long text: passages of all would not fit.
        ("common_passages", "5", "64MB"),
        ("strip_passages", "5", "64MB"),
        ("repeated_passages", "50", "1MB"),
        ("contained_documents", "0.9", "1MB"),
        ("passages_between", "'SELECT id, body FROM docs WHERE id < 650', 50", "1MB"),
    ];
    for (job, number, little) in jobs {
        let mut answer = |settings: &str, memory: &str| {
            client.run(&format!("{settings}; SET maintenance_work_mem = '{memory}'"));
            let ask = format!(
                "SELECT count(*) || ' ' || coalesce(md5(string_agg(j::text, ',')), '') \
                 FROM {job}({source}, {number}) AS j"
            );
            texts(&mut client, &ask)
        };
        let expected = answer(NO_THREADS, "64MB");
        assert!(!expected[0].starts_with("0 "), "{job}: {expected:?}");
        let others = [(THREADS, little), (THREADS, "64MB"), (NO_THREADS, little)];
        for &(settings, memory) in if is_thorough() { &others[..] } else { &others[..1] } {
            assert_eq!(answer(settings, memory), expected, "{job} with {settings}, {memory}");
        }
    }
}

#[test]
fn settings_say_how_many_threads_there_are() {
    let mut client = database().connect();
    docs(&mut client);
    client.run(SLOWLY);
    let build = "CREATE INDEX docs_near ON docs USING minlsh (slowly(body, id))";
    let mut most = |settings: &str| {
        client.run(&format!("{THREADS}; {settings}"));
        let most = most_threads(&mut client, build);
        client.run("DROP INDEX docs_near");
        most
    };
    assert_eq!(most(""), 9);
    assert_eq!(most("SET max_parallel_maintenance_workers = 3"), 4);
    assert_eq!(most("SET max_parallel_maintenance_workers = 0"), 1);
    assert_eq!(most("SET max_parallel_workers = 2"), 3);
    assert_eq!(most("ALTER TABLE docs SET (parallel_workers = 5)"), 6);
    assert_eq!(most("ALTER TABLE docs SET (parallel_workers = 0)"), 1);
    // No more than other cores.
    assert_eq!(most("ALTER TABLE docs RESET (parallel_workers)"), cores().min(9));
    // A batch alone is no work for them.
    let few = "ALTER TABLE docs SET (parallel_workers = 8); DELETE FROM docs WHERE id > 40; VACUUM docs";
    few.split("; ").for_each(|statement| client.run(statement));
    assert_eq!(most_threads(&mut client, build), 1);
}

/// The moment of a try, as spread over the time of all of the work.
fn moment(random: &mut Random, whole: Duration) -> Duration {
    Duration::from_micros(random.below(whole.as_micros() as usize).max(1) as u64)
}

/// Ends `work` on `rows` rows in every way. Afterwards the session has one thread, and works on.
fn is_ended_in_every_way(database: &Database, work: &str, undo: &str, broken: &str, rows: usize) {
    let server = database.server;
    let mut observer = database.connect();
    let start = "SELECT pg_postmaster_start_time()::text";
    let began = texts(&mut observer, start);
    let mut client = database.connect();
    client.run(THREADS);
    let pid = backend(&mut client);
    let timer = Instant::now();
    client.run(&format!("BEGIN; {work}; ROLLBACK"));
    let whole = timer.elapsed();
    let mut random = Random::new(7);
    // A timeout, and a cancel from another session: an error unless it came too late.
    for _ in 0..tries() {
        let timeout = moment(&mut random, whole).as_millis().max(1);
        let ended = client.batch_execute(&format!("SET LOCAL statement_timeout = {timeout}; {work}"));
        let code = ended.err().and_then(|error| error.code().map(|code| code.code().to_owned()));
        assert!(matches!(code.as_deref(), None | Some("57014")), "{work}: {code:?}");
        is_alone(pid);
        // A timeout between the last look for it and the end of the work reaches the next statement.
        let _ = client.batch_execute("SELECT");
        client.run(undo);
    }
    for _ in 0..tries() {
        let moment = moment(&mut random, whole);
        let timer = Instant::now();
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment);
                cancel(&mut observer, pid);
            });
            client.batch_execute(work)
        });
        assert!(timer.elapsed() < PATIENCE, "{work}");
        let code = ended.err().and_then(|error| error.code().map(|code| code.code().to_owned()));
        assert!(matches!(code.as_deref(), None | Some("57014")), "{work}: {code:?}");
        is_alone(pid);
        client.run(undo);
    }
    // An error of what is read.
    for _ in 0..tries() {
        let row = random.below(rows);
        let broken = broken.replace("ROW", &row.to_string());
        assert_eq!(sqlstate(&mut client, &broken), "22012", "{broken}");
        is_alone(pid);
    }
    // The session ends.
    for _ in 0..tries() {
        let mut victim = database.connect();
        victim.run(THREADS);
        let pid = backend(&mut victim);
        let moment = moment(&mut random, whole);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = victim.batch_execute(&format!("BEGIN; {work}; ROLLBACK"));
            });
            std::thread::sleep(moment);
            let _ = observer.query("SELECT pg_terminate_backend($1)", &[&pid]).expect("terminated");
        });
        wait_until("the backend is gone", || threads(pid) == 0);
    }
    assert_eq!(texts(&mut observer, start), began);
    assert!(!server.log().contains("was terminated by signal"), "{}", server.log());
    client.run(work);
    client.run(undo);
}

#[test]
fn a_build_is_ended_in_every_way() {
    let database = database();
    docs(&mut database.connect());
    is_ended_in_every_way(
        &database,
        BUILD,
        "DROP INDEX IF EXISTS docs_near",
        "CREATE INDEX docs_near ON docs USING minlsh ((body || (1 / (id - ROW - 1))))",
        5000,
    );
}

/// All jobs on the table, with all rows in the order in which they come.
const JOBS: [&str; 9] = [
    "SELECT p::text FROM near_duplicate_pairs('docs', 0.9) AS p",
    "SELECT p::text FROM near_duplicate_pairs('docs', 0.9) AS p",
    "SELECT p::text FROM near_duplicate_pairs('SELECT id, body, id % 3 AS third FROM docs', 0.8, \
       verify => 'signature', scope => 'third') AS p",
    "SELECT c::text FROM near_duplicate_clusters('docs', 0.9) AS c",
    "SELECT c::text FROM near_duplicate_clusters('docs', 0.7, linkage => 'leader', unit => 'word') AS c",
    "SELECT p::text FROM near_duplicate_plan('docs', 0.9, keep => 'length(body) DESC') AS p",
    "SELECT p::text FROM near_duplicates_between('SELECT id, body FROM docs WHERE id % 2 = 0', \
       'SELECT id, body FROM docs WHERE id % 2 = 1', 0.9) AS p",
    "SELECT coalesce(near_duplicate_cluster(body, 0.9) OVER (ORDER BY id), 0)::text FROM docs",
    // 250 copies, whose pairs wait until other documents are compared.
    "SELECT p::text FROM near_duplicate_pairs('SELECT id, CASE id % 20 WHEN 3 THEN ''the text of many copies'' \
       ELSE body END FROM docs', 0.9) AS p",
];

#[test]
fn answers_are_the_same_in_the_same_order() {
    let mut client = database().connect();
    docs(&mut client);
    for (number, job) in JOBS.into_iter().enumerate() {
        for memory in in_turn(&["64MB", "1MB"], number) {
            let mut answer = |settings: &str| {
                let memory = format!("SET maintenance_work_mem = '{memory}'; SET work_mem = '{memory}'");
                client.run(&format!("{memory}; {settings}"));
                texts(&mut client, job)
            };
            let alone = answer(NO_THREADS);
            assert!(alone.len() > 1000, "{job}: {}", alone.len());
            assert!(alone == answer(THREADS), "{job} {memory}");
        }
    }
    // They do have threads, and with an index the same answers.
    client.run(THREADS);
    client.run(SLOWLY);
    let slow = "SELECT p::text FROM near_duplicate_pairs('SELECT id, slowly(body, id) FROM docs', 0.9) AS p";
    assert_eq!(most_threads(&mut client, slow), cores().min(9));
    let mut without = texts(&mut client, JOBS[0]);
    client.run(BUILD);
    let mut with = texts(&mut client, JOBS[0]);
    without.sort_unstable();
    with.sort_unstable();
    assert!(with == without);
}

/// Pages of one template, which make a group of more than 1 MB.
const PAGES: &str = "CREATE TABLE pages (id int PRIMARY KEY, body text) WITH (parallel_workers = 8); \
     INSERT INTO pages SELECT i, CASE WHEN i % 50 = 9 THEN repeat('the same page ', 400) ELSE \
       (SELECT string_agg(md5(j::text), ' ') FROM generate_series(1, 200) j) || \
       (SELECT string_agg(md5((i / 7 * 1000 + j)::text), ' ') FROM generate_series(1, 10 + i % 20) j) || i END \
       FROM generate_series(1, 200) i; \
     ALTER TABLE pages ALTER body SET STORAGE EXTERNAL";

/// Texts of 100 kB in groups of two: threads have no memory for the sets of one, and no files.
const LONG: &str = "CREATE TABLE long (id int PRIMARY KEY, body text) WITH (parallel_workers = 8); \
     ALTER TABLE long ALTER body SET STORAGE EXTERNAL; \
     INSERT INTO long SELECT i, i || (SELECT string_agg(md5((i / 2 * 10000 + j)::text), ' ') \
       FROM generate_series(1, 3000) j) FROM generate_series(2, 111) i";

#[test]
fn large_groups_are_compared_alike() {
    let mut client = database().connect();
    client.run(PAGES);
    client.run(LONG);
    client.run(THREADS);
    for job in [
        "SELECT p::text FROM near_duplicate_pairs('pages', 0.9) AS p",
        "SELECT p::text FROM near_duplicate_pairs('pages', 0.8, unit => 'word') AS p",
        "SELECT p::text FROM near_duplicate_pairs('pages', 0.8, verify => 'signature') AS p",
        "SELECT c::text FROM near_duplicate_clusters('pages', 0.9) AS c",
        "SELECT p::text FROM near_duplicate_plan('pages', 0.9) AS p",
        "SELECT p::text FROM near_duplicates_between('SELECT id, body FROM pages WHERE id % 2 = 0', \
           'SELECT id, body FROM pages WHERE id % 2 = 1', 0.9) AS p",
        "SELECT p::text FROM near_duplicate_pairs('long', 0.8) AS p",
    ] {
        let mut expected: Option<Vec<String>> = None;
        // The groups are in memory, and their sets as well; or these come and go; or the groups stay in a file.
        for memory in ["64MB", "12MB", "4MB"] {
            let mut alone: Option<Vec<String>> = None;
            let all = [0, 2, 4, 1];
            let is_short = !is_thorough() || !job.contains("0.9");
            for &threads in if is_short { &all[..2] } else { &all[..] } {
                client.run(&format!(
                    "SET maintenance_work_mem = '{memory}'; SET max_parallel_workers_per_gather = {threads}"
                ));
                let answer = texts(&mut client, job);
                assert!(answer.len() > 50, "{job}: {}", answer.len());
                let alone = alone.get_or_insert_with(|| answer.clone());
                assert!(*alone == answer, "{job} {memory} {threads}");
            }
            let mut sorted = alone.unwrap_or_default();
            sorted.sort_unstable();
            assert!(*expected.get_or_insert_with(|| sorted.clone()) == sorted, "{job} {memory}");
        }
    }
}

/// Texts that share most of their words by eight, and one in twenty a template of 20 kB; a text is stored in one of
/// four ways. Returns them once more, of the same rows in the same order, each as it is.
fn stored_in_every_way(client: &mut Client) {
    let has_lz4 = "SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'";
    let lz4 = if texts(client, has_lz4) == ["t"] { "lz4" } else { "pglz" };
    client.run(
        "CREATE TABLE packed (id int PRIMARY KEY, body text) \
         WITH (parallel_workers = 8, autovacuum_enabled = off)",
    );
    let ways = [("MAIN", "pglz"), ("EXTENDED", "pglz"), ("EXTERNAL", "pglz"), ("EXTENDED", lz4)];
    for (way, (storage, compression)) in ways.into_iter().enumerate() {
        client.run(&format!(
            "ALTER TABLE packed ALTER body SET STORAGE {storage}; \
             ALTER TABLE packed ALTER body SET COMPRESSION {compression}; \
             INSERT INTO packed SELECT i, (SELECT string_agg('the word ' || n || ' of a text', ' ') \
               FROM generate_series(1, CASE i % 20 WHEN 9 THEN 900 ELSE 150 END) j, \
               LATERAL (SELECT CASE i % 20 WHEN 9 THEN j ELSE (i / 8 * 7919 + j * j) % 10007 END) AS w(n)) \
               || ', ' || i FROM generate_series(1, 1200) i WHERE i / 2 % 4 = {way}"
        ));
    }
    // The ways differ, as far as the server knows them.
    let seen = texts(
        client,
        "SELECT DISTINCT concat_ws(' ', id / 2 % 4, pg_column_compression(body), \
           pg_column_size(body) < octet_length(body)) FROM packed ORDER BY 1",
    );
    assert_eq!(seen, ["0 pglz t", "1 pglz t", "2 f", &format!("3 {lz4} t")]);
    client.run(
        "CREATE TABLE plain (id int PRIMARY KEY, body text) WITH (parallel_workers = 8); \
         ALTER TABLE plain ALTER body SET STORAGE EXTERNAL; \
         INSERT INTO plain SELECT id, body || '' FROM packed",
    );
}

#[test]
fn texts_are_the_same_however_they_are_stored() {
    let database = database();
    let mut client = database.connect();
    client.run(NO_THREADS);
    stored_in_every_way(&mut client);
    let all = [
        "SELECT p::text FROM near_duplicate_pairs('TABLE', 0.9) AS p",
        "SELECT p::text FROM near_duplicate_pairs('SELECT id, body FROM TABLE', 0.8, verify => 'signature') AS p",
        "SELECT c::text FROM near_duplicate_clusters('TABLE', 0.9) AS c",
        "SELECT coalesce(near_duplicate_cluster(body, 0.9) OVER (ORDER BY id), 0)::text FROM TABLE",
    ];
    for (number, job) in all.into_iter().enumerate() {
        let mut expected: Option<Vec<String>> = None;
        for memory in in_turn(&["64MB", "1MB"], number) {
            let mut alone: Option<Vec<String>> = None;
            for (table, settings) in [("packed", NO_THREADS), ("packed", THREADS), ("plain", NO_THREADS)] {
                let memory = format!("SET maintenance_work_mem = '{memory}'; SET work_mem = '{memory}'");
                client.run(&format!("{memory}; {settings}"));
                let mut answer = texts(&mut client, &job.replace("TABLE", table));
                assert!(answer.len() > 1000, "{job}: {}", answer.len());
                if table == "packed" {
                    let alone = alone.get_or_insert_with(|| answer.clone());
                    assert!(*alone == answer, "{job} {memory}");
                }
                answer.sort_unstable();
                assert!(*expected.get_or_insert_with(|| answer.clone()) == answer, "{job} {memory}");
            }
        }
    }
    let mut build = |settings: &str| built(&mut client, settings, "packed", "body");
    assert!(build(THREADS) == build(NO_THREADS));
    drop(client);
    is_ended_in_every_way(
        &database,
        "SELECT count(*) FROM near_duplicate_pairs('packed', 0.9)",
        "DROP INDEX IF EXISTS packed_near",
        "SELECT near_duplicate_pairs('SELECT id, body || (1 / (id - ROW - 1)) FROM packed', 0.9)",
        1200,
    );
}

#[test]
fn thousands_of_one_template_are_compared_alike() {
    let mut client = database().connect();
    // Five are alike, and every hundredth is a copy.
    client.run(
        "CREATE TABLE many (id bigint PRIMARY KEY, body text) WITH (parallel_workers = 8); \
         INSERT INTO many SELECT i, (SELECT string_agg(md5(j::text), ' ') FROM generate_series(1, 20) j) || \
           CASE WHEN i % 100 = 9 THEN '' ELSE \
             (SELECT string_agg(md5((i / 5 * 10 + j)::text), ' ') FROM generate_series(1, 3) j) || i END \
         FROM generate_series(1, 2500) i",
    );
    client.run(THREADS);
    for job in ["near_duplicate_pairs", "near_duplicate_clusters"] {
        let query = format!(
            "SELECT count(*) || ' ' || md5(string_agg(p::text, ',')), md5(string_agg(p::text, ',' ORDER BY p)) \
             FROM {job}('many', 0.9) AS p"
        );
        let mut of_all: Vec<String> = Vec::new();
        // All sets are in memory; or some of them; or neither they nor the documents.
        for memory in ["1GB", "32MB", "3MB"] {
            let mut in_order: Vec<String> = Vec::new();
            for threads in [0, 3] {
                client.run(&format!(
                    "SET maintenance_work_mem = '{memory}'; SET max_parallel_workers_per_gather = {threads}"
                ));
                let row = client.query_one(&query, &[]).expect(job);
                let answer: String = row.get(0);
                assert!(!answer.starts_with("0 "), "{job}: {answer}");
                in_order.push(answer);
                of_all.push(row.get(1));
            }
            assert_eq!(in_order[0], in_order[1], "{job} {memory}");
        }
        of_all.dedup();
        assert_eq!(of_all.len(), 1, "{job}");
    }
}

#[test]
fn a_job_is_ended_in_every_way() {
    let database = database();
    docs(&mut database.connect());
    is_ended_in_every_way(
        &database,
        "SELECT count(*) FROM near_duplicate_clusters('docs', 0.9)",
        "SELECT",
        "SELECT near_duplicate_clusters('SELECT id, body || (1 / (id - ROW - 1)) FROM docs', 0.9)",
        5000,
    );
}

#[test]
fn a_comparison_of_large_groups_is_ended_in_every_way() {
    let database = database();
    database.connect().run(PAGES);
    is_ended_in_every_way(
        &database,
        "SET maintenance_work_mem = '12MB'; SELECT count(*) FROM near_duplicate_clusters('pages', 0.9)",
        "SELECT",
        "SELECT near_duplicate_clusters('SELECT id, body || (1 / (id - ROW - 1)) FROM pages', 0.9)",
        200,
    );
}

#[test]
fn a_key_that_is_null_is_refused_if_there_is_a_document() {
    let mut client = database().connect();
    docs(&mut client);
    let ask = |key: &str| format!("SELECT count(*) FROM near_duplicate_pairs('SELECT {key}, body FROM docs', 0.9)");
    for settings in [THREADS, NO_THREADS] {
        client.run(settings);
        // Rows 7, 1007, ... have no text, and rows 8, 1008, ... an empty one.
        let without = ask("CASE WHEN id % 1000 NOT IN (7, 8) THEN id END");
        assert_eq!(texts(&mut client, &without), texts(&mut client, &ask("id")));
        assert_eq!(sqlstate(&mut client, &ask("CASE WHEN id <> 4321 THEN id END")), "22004");
        assert_eq!(sqlstate(&mut client, &ask("CASE WHEN id = 4321 THEN 1 ELSE id END")), "22023");
        // An empty document has no key that could be another's.
        let same = ask("CASE WHEN id % 1000 = 8 THEN 1 ELSE id END");
        assert_eq!(texts(&mut client, &same), texts(&mut client, &ask("id")));
    }
}

#[test]
fn want_of_address_space_is_an_error_or_fewer_threads() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = database.connect();
    docs(&mut client);
    let began = texts(&mut client, "SELECT pg_postmaster_start_time()::text");
    // A thread takes 2 MB of stack, and 64 MB for what it allocates, or does without.
    for megabytes in [1, 2, 3, 5, 8, 12, 20, 40, 70, 100, 200, 400] {
        let mut poor = database.connect();
        poor.run(THREADS);
        poor.run("SELECT minhash('x')");
        let pid = backend(&mut poor);
        let bytes = (kilobytes(pid, "VmSize:") + megabytes * 1024) * 1024;
        server.limit(pid, &format!("--as={bytes}"));
        for work in [BUILD, JOBS[3]] {
            let timer = Instant::now();
            let ended = poor.batch_execute(work);
            assert!(timer.elapsed() < PATIENCE, "{megabytes} {work}");
            if let Err(error) = ended {
                let code = error.code().map(|code| code.code().to_owned());
                assert!(matches!(code.as_deref(), Some("53200" | "53000")), "{megabytes}: {error}");
            }
            assert_eq!(threads(pid), 1, "{megabytes} {work}");
            client.run("DROP INDEX IF EXISTS docs_near");
        }
    }
    assert_eq!(texts(&mut client, "SELECT pg_postmaster_start_time()::text"), began);
    assert!(!server.log().contains("was terminated by signal"), "{}", server.log());
}
