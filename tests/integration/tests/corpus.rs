//! Whole-corpus jobs give what a comparison of all with all gives, at every threshold and in
//! every amount of memory, and they can be stopped.

use std::time::{Duration, Instant};

use minlsh_integration::near::assert_same;
use minlsh_integration::{Client, Database, NoTls, Server, backend, database, texts, wait_until};

/// Documents in groups of up to eight, each with some words changed; exact copies; short ones.
/// The index finds every pair of similarity 0.5, but for one in a million.
fn docs(database: &Database, table: &str, groups: u32, num_perm: u32) -> Client {
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "CREATE TABLE {table} (id int PRIMARY KEY, body text); \
             INSERT INTO {table} SELECT g * 10 + v, (SELECT string_agg(substr(md5((CASE \
               WHEN hashint4(g * 7919 + v * 131 + w) % 100 BETWEEN 0 AND v * (g % 5) THEN -w - v * 1000 - g * 9000 \
               ELSE g * 1000 + w END)::text), 1, 6), ' ') FROM generate_series(1, 40) w) \
             FROM generate_series(1, {groups}) g, generate_series(0, 7) v; \
             INSERT INTO {table} SELECT -id, body FROM {table} WHERE id % 50 = 3; \
             INSERT INTO {table} SELECT 1000000 + i, 'boilerplate of the site' FROM generate_series(1, 30) i; \
             CREATE INDEX {table}_body ON {table} USING minlsh (body) \
             WITH (threshold = 0.5, recall = 0.999999, num_perm = {num_perm})"
        ))
        .expect("an index");
    client
}

#[test]
fn pairs_clusters_and_plans_are_those_of_brute_force_at_all_thresholds() {
    let database = database();
    let mut client = docs(&database, "docs", 30, 256);
    client
        .batch_execute(
            "CREATE TABLE truth AS SELECT a.id AS a, b.id AS b, jaccard(a.body, b.body) AS similarity \
             FROM docs a JOIN docs b ON a.id < b.id; \
             CREATE FUNCTION true_plan(threshold float8) RETURNS TABLE (doc int, kept int) LANGUAGE plpgsql AS $$ \
             DECLARE d int; k int; stays int[] := '{}'; \
             BEGIN FOR d IN SELECT id FROM docs WHERE minhash(body) IS NOT NULL ORDER BY length(body) DESC, id LOOP \
               SELECT s.id INTO k FROM unnest(stays) WITH ORDINALITY AS s(id, place) JOIN truth t \
               ON t.a = least(s.id, d) AND t.b = greatest(s.id, d) WHERE t.similarity >= $1 ORDER BY s.place LIMIT 1; \
               IF k IS NULL THEN stays := stays || d; ELSE doc := d; kept := k; RETURN NEXT; END IF; \
             END LOOP; END $$;",
        )
        .expect("the truth");
    for threshold in [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0] {
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_a::int, doc_b::int, similarity FROM near_duplicate_pairs('docs', {threshold}, 'exact')"
            ),
            &format!("SELECT a, b, similarity FROM truth WHERE similarity >= {threshold}"),
        );
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_id::int, cluster_id::int FROM near_duplicate_clusters('docs', {threshold}, 'exact')"
            ),
            &format!(
                "(WITH RECURSIVE link AS (SELECT a, b FROM truth WHERE similarity >= {threshold} \
                 UNION ALL SELECT b, a FROM truth WHERE similarity >= {threshold}), \
                 reach AS (SELECT a AS id, a AS other FROM link UNION SELECT r.id, l.b FROM reach r JOIN link l ON l.a = r.other) \
                 SELECT id, min(other) FROM reach GROUP BY id)"
            ),
        );
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_id::int, kept_id::int FROM near_duplicate_plan('docs', {threshold}, 'length(body) DESC', 'exact')"
            ),
            &format!("SELECT doc, kept FROM true_plan({threshold})"),
        );
        // The weakest link is the similarity above which a cluster falls apart.
        let falls_apart = texts(
            &mut client,
            &format!(
                "SELECT count(*) FROM (SELECT cluster_id, max(size) AS size, max(weakest_link) AS weakest \
                 FROM near_duplicate_clusters('docs', {threshold}, 'exact') GROUP BY 1) c, \
                 LATERAL (SELECT max(n.size) AS size FROM near_duplicate_clusters('docs', least(c.weakest + 1e-9, 1), 'exact') n \
                 WHERE n.doc_id = c.cluster_id) n WHERE c.weakest < 1 AND n.size >= c.size"
            ),
        );
        assert_eq!(falls_apart, ["0"], "weakest links at {threshold}");
    }
}

#[test]
fn bridges_are_the_pairs_without_which_a_cluster_falls_in_two() {
    let database = database();
    let mut client = docs(&database, "docs", 20, 256);
    let distinct = "SELECT DISTINCT ON (body) id, body FROM docs ORDER BY body, id";
    client
        .batch_execute(&format!(
            "CREATE TABLE links AS SELECT a.id AS a, b.id AS b, jaccard(a.body, b.body) AS similarity \
             FROM ({distinct}) a JOIN ({distinct}) b ON a.id < b.id; \
             DELETE FROM links WHERE similarity < 0.5; \
             CREATE FUNCTION reaches(start int, threshold float8, without_a int, without_b int) RETURNS SETOF int \
             LANGUAGE sql AS $$ WITH RECURSIVE reach AS (SELECT $1 AS id UNION \
               SELECT CASE WHEN l.a = r.id THEN l.b ELSE l.a END FROM reach r JOIN links l ON r.id IN (l.a, l.b) \
               WHERE l.similarity >= $2 AND (l.a, l.b) IS DISTINCT FROM ($3, $4)) SELECT id FROM reach $$"
        ))
        .expect("the truth");
    for threshold in [0.5, 0.7, 0.8] {
        assert_same(
            &mut client,
            &format!(
                "SELECT * FROM near_duplicate_bridges('{distinct}', {threshold}, key => NULL::int, \
                 num_perm => 256, recall => 0.999999)"
            ),
            &format!(
                "SELECT * FROM (SELECT (SELECT min(r) FROM reaches(a, {threshold}, NULL, NULL) r), a, b, similarity, \
                 (SELECT count(*) FROM reaches(a, {threshold}, a, b)), \
                 (SELECT count(*) FROM reaches(b, {threshold}, a, b)) FROM links l WHERE similarity >= {threshold} \
                 AND NOT EXISTS (SELECT FROM reaches(a, {threshold}, a, b) r WHERE r = l.b)) AS bridges"
            ),
        );
    }
}

#[test]
fn pairs_between_two_tables_are_those_of_brute_force() {
    let database = database();
    let mut client = docs(&database, "train", 20, 256);
    docs(&database, "eval", 7, 256);
    client
        .batch_execute("UPDATE eval SET body = body || ' at the end' WHERE id % 3 = 0")
        .expect("edits");
    for threshold in [0.5, 0.8, 0.95] {
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_a::int, doc_b::int, similarity FROM near_duplicates_between('train', 'eval', {threshold}, 'exact')"
            ),
            &format!(
                "SELECT * FROM (SELECT a.id, b.id, jaccard(a.body, b.body) AS similarity FROM train a, eval b) t WHERE similarity >= {threshold}"
            ),
        );
    }
}

#[test]
fn results_do_not_depend_on_memory_or_plans() {
    let database = database();
    let mut client = docs(&database, "docs", 1500, 128);
    docs(&database, "other", 300, 128);
    let jobs = [
        "near_duplicate_pairs('docs', 0.8)",
        "near_duplicate_pairs('docs', 0.8, 'signature')",
        "near_duplicate_clusters('docs', 0.7)",
        "near_duplicate_clusters('docs', 0.7, linkage => 'leader')",
        "near_duplicate_plan('docs', 0.8, 'length(body), id DESC')",
        "near_duplicates_between('docs', 'other', 0.9)",
    ];
    let settings = [
        (
            "in_memory",
            "SET maintenance_work_mem = '256MB'; SET max_parallel_workers_per_gather = 0",
        ),
        (
            "parallel",
            "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; \
             SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
        ),
        // The least there is, in every version.
        ("spilled", "SET maintenance_work_mem = '1MB'; SET work_mem = '64kB'"),
    ];
    for job in jobs {
        for (name, setting) in settings {
            client
                .batch_execute(&format!("{setting}; DROP TABLE IF EXISTS {name}; CREATE TABLE {name} AS SELECT * FROM {job}"))
                .unwrap_or_else(|cause| panic!("{job}, {name}: {cause:?}"));
        }
        for name in ["parallel", "spilled"] {
            assert_same(&mut client, "SELECT * FROM in_memory", &format!("SELECT * FROM {name}"));
        }
    }
    // The spilled ones did use temporary files: where these are not allowed, they fail.
    client
        .batch_execute("SET maintenance_work_mem = '1MB'; SET temp_file_limit = '1MB'")
        .expect("settings");
    let error = client.batch_execute("SELECT count(*) FROM near_duplicate_pairs('docs', 0.8)");
    assert_eq!(error.expect_err("no room").code().map(|code| code.code()), Some("53400"));
}

#[test]
fn every_job_is_cancelled_within_a_second() {
    let database = database();
    let mut client = docs(&database, "docs", 2500, 128);
    client.batch_execute("SET maintenance_work_mem = '2MB'").expect("settings");
    for job in [
        "near_duplicate_pairs('docs', 0.5, 'exact')",
        "near_duplicate_clusters('docs', 0.5)",
        "near_duplicate_plan('docs', 0.5, verify => 'exact')",
        "minlsh_recall('docs', 0.5, 20000)",
    ] {
        for pause in [20, 150, 400] {
            let token = client.cancel_token();
            let pid = backend(&mut client);
            let mut observer = database.connect();
            let canceller = std::thread::spawn(move || {
                wait_until("the job runs, or is done", || {
                    let state = "SELECT state || query FROM pg_stat_activity WHERE pid = $1";
                    let state: String =
                        observer.query_one(state, &[&pid]).expect("activity").get(0);
                    state.starts_with("active") && state.contains("FROM")
                });
                std::thread::sleep(Duration::from_millis(pause));
                let cancelled = Instant::now();
                token.cancel_query(NoTls).expect("cancel");
                cancelled
            });
            let ended = client.batch_execute(&format!("SELECT count(*) FROM {job}"));
            let end = Instant::now();
            let cancelled = canceller.join().expect("thread");
            // It may have been done before it was cancelled.
            if let Err(error) = ended {
                assert_eq!(error.code().map(|code| code.code()), Some("57014"), "{job}");
                // A second on a quiet machine.
                assert!(end.duration_since(cancelled) < Duration::from_secs(5), "{job}");
            } else {
                // Let a late cancellation hit nothing.
                let _ = client.batch_execute("SELECT pg_sleep(0.1)");
            }
        }
    }
    // The session works on.
    assert_ne!(
        texts(&mut client, "SELECT count(*) FROM near_duplicate_clusters('docs', 0.9)"),
        ["0"]
    );
}

#[test]
fn an_index_a_table_a_query_and_a_window_give_the_same() {
    let database = database();
    let mut client = docs(&database, "docs", 40, 256);
    let options = "num_perm => 256, recall => 0.999999";
    let by_index = "SELECT * FROM near_duplicate_pairs('docs_body', 0.7)";
    for other in [
        "near_duplicate_pairs('docs', 0.7)",
        &format!("near_duplicate_pairs('SELECT id, body FROM docs', 0.7, {options})"),
    ] {
        assert_same(&mut client, by_index, &format!("SELECT * FROM {other}"));
    }
    assert_same(
        &mut client,
        &format!(
            "SELECT n.id, f.id FROM (SELECT id, near_duplicate_cluster(body, 0.7, {options}) OVER (ORDER BY id) AS first \
             FROM docs) n JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM docs) f ON f.number = n.first \
             WHERE EXISTS (SELECT FROM docs d WHERE d.id <> n.id AND jaccard(d.body, (SELECT o.body FROM docs o WHERE o.id = n.id)) >= 0.7)"
        ),
        "SELECT doc_id, cluster_id FROM near_duplicate_clusters('docs', 0.7, key => NULL::int)",
    );
}

#[test]
fn an_index_amid_writes_gives_what_its_table_gives() {
    let database = database();
    let mut client = docs(&database, "docs", 60, 256);
    let same = |client: &mut Client| {
        let options = "num_perm => 256, recall => 0.999999";
        for (job, query) in [("pairs", 0.5), ("pairs", 0.8), ("clusters", 0.6), ("plan", 0.7)] {
            let of_query = format!(
                "SELECT * FROM near_duplicate_{job}('SELECT id, body FROM docs', {query}, {options}, key => NULL::int)"
            );
            for source in ["docs", "docs_body"] {
                let of_index = format!(
                    "SELECT * FROM near_duplicate_{job}('{source}', {query}, key => NULL::int)"
                );
                assert_same(client, &of_index, &of_query);
            }
        }
    };
    client
        .batch_execute(
            "ALTER TABLE docs ADD n int DEFAULT random(), SET (fillfactor = 50); \
             ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY half ON docs USING (id % 10 < 5); \
             DROP ROLE IF EXISTS corpus_some, corpus_none; CREATE ROLE corpus_some; CREATE ROLE corpus_none; \
             GRANT SELECT ON docs TO corpus_some",
        )
        .expect("a policy");
    // One whose snapshot is older than all writes.
    let mut old = database.connect();
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM docs")
        .expect("a snapshot");
    client
        .batch_execute(
            "BEGIN; UPDATE docs SET n = n + 1 WHERE id % 3 < 2; UPDATE docs SET n = 7 WHERE id % 6 = 0; \
             DO $$ BEGIN ASSERT pg_stat_get_xact_tuples_hot_updated('docs'::regclass) > 50; END $$; COMMIT; \
             UPDATE docs SET body = body || ' ' || id WHERE id % 7 = 0; \
             UPDATE docs SET body = (SELECT body FROM docs o WHERE o.id = docs.id + 1) WHERE id % 10 = 4; \
             DELETE FROM docs WHERE id % 11 = 0; \
             BEGIN; INSERT INTO docs SELECT id + 5000000, body FROM docs; \
             UPDATE docs SET body = 'the same text for all of them'; ROLLBACK; \
             INSERT INTO docs SELECT id + 7000000, body FROM docs WHERE id % 13 = 0; \
             INSERT INTO docs VALUES (9000001, ''), (9000002, ''), (9000003, NULL)",
        )
        .expect("writes");
    same(&mut old);
    same(&mut client);
    client.batch_execute("BEGIN ISOLATION LEVEL SERIALIZABLE").expect("a transaction");
    same(&mut client);
    client
        .batch_execute("COMMIT; SET maintenance_work_mem = '1MB'; SET ROLE corpus_some")
        .expect("a role");
    same(&mut client);
    client.batch_execute("SET ROLE corpus_none").expect("a role");
    let refused = client.batch_execute("SELECT FROM near_duplicate_pairs('docs_body', 0.8)");
    assert_eq!(refused.expect_err("no right").code().map(|code| code.code()), Some("42501"));
    old.batch_execute("COMMIT").expect("an end");
    client.batch_execute("RESET ROLE").expect("a role");
    client.batch_execute("VACUUM docs").expect("a vacuum");
    client.batch_execute("UPDATE docs SET n = n + 1").expect("more");
    same(&mut client);
    // An index that was made after rows were updated, and one who sees them as they were.
    client.batch_execute("DROP INDEX docs_body").expect("no index");
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM docs")
        .expect("a snapshot");
    client
        .batch_execute(
            "UPDATE docs SET body = md5(id::text) || md5((-id)::text) WHERE id % 5 = 0; \
             DO $$ BEGIN ASSERT pg_stat_get_xact_tuples_hot_updated('docs'::regclass) > 20; END $$; \
             CREATE INDEX docs_body ON docs USING minlsh (body) \
             WITH (threshold = 0.5, recall = 0.999999, num_perm = 256)",
        )
        .expect("an index");
    same(&mut old);
    same(&mut client);
    drop(old);
    client
        .batch_execute("DROP OWNED BY corpus_some; DROP ROLE corpus_some, corpus_none")
        .expect("no roles");
}

#[test]
fn a_row_that_shares_no_bucket_is_not_fetched() {
    let database = database();
    let mut client = database.connect();
    client
        .batch_execute(
            "CREATE FUNCTION watched(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ \
             BEGIN IF body LIKE 'alone%' AND current_setting('test.watch', true) = 'on' \
             THEN RAISE 'fetched'; END IF; RETURN body; END $$; \
             CREATE TABLE docs (id int PRIMARY KEY, body text, lang text); \
             INSERT INTO docs SELECT i, 'one text and the same for two, number ' || i / 2, 'en' \
             FROM generate_series(2, 201) i; \
             INSERT INTO docs VALUES (1, 'alone: nothing else has these words', 'en'), (0, 'one text', 'de'); \
             CREATE INDEX docs_body ON docs USING minlsh (watched(body)) WHERE lang = 'en'; \
             SET test.watch = 'on'",
        )
        .expect("an index");
    let pairs = "SELECT count(*)::text FROM near_duplicate_pairs('docs_body', 1)";
    assert_eq!(texts(&mut client, pairs), ["100"]);
    // Below the threshold of the index, with other options, and in an order, all are read.
    for job in [
        "near_duplicate_pairs('docs_body', 0.7)",
        "near_duplicate_pairs('docs_body', 0.9, shingle_size => 3)",
        "near_duplicate_pairs('docs_body', 0.9, recall => 0.999)",
        "near_duplicate_plan('docs_body', 0.9, 'length(body)')",
        "near_duplicates_between('docs_body', 'docs_body', 0.9)",
    ] {
        let all = client.batch_execute(&format!("SELECT FROM {job}"));
        assert_eq!(all.expect_err(job).code().map(|code| code.code()), Some("P0001"), "{job}");
    }
}

#[test]
fn a_standby_answers() {
    let primary = Server::start_with(&["wal_level = replica", "max_wal_senders = 2"]);
    let database = primary.create_database();
    let mut client = docs(&database, "docs", 10, 128);
    let standby = Server::new_directory();
    let data = standby.data();
    primary.run(
        "pg_basebackup",
        &["-D", &data.display().to_string(), "-R", "-c", "fast", "-X", "stream"],
    );
    standby.configure(&["hot_standby = on"]);
    standby.launch();
    standby.wait_ready();
    let mut reader = standby.connect(&database.name);
    assert_eq!(texts(&mut reader, "SELECT pg_is_in_recovery()::text"), ["true"]);
    for job in [
        "SELECT count(*)::text FROM near_duplicate_pairs('docs', 0.7)",
        "SELECT count(*)::text FROM near_duplicate_clusters('SELECT id, body FROM docs', 0.7)",
        "SELECT count(*)::text FROM near_duplicate_plan('docs', 0.7, 'length(body)')",
        "SELECT sum(c)::text FROM (SELECT near_duplicate_cluster(body, 0.7) OVER (ORDER BY id) AS c FROM docs) d",
    ] {
        let (there, here) = (texts(&mut reader, job), texts(&mut client, job));
        assert_eq!(there, here, "{job}");
        assert_ne!(there, ["0"], "{job}");
    }
}
