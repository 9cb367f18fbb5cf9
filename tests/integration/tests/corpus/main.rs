//! Whole-corpus jobs give what a comparison of all with all gives, at every threshold and in
//! every amount of memory, and they can be stopped.

mod indexed;

use std::time::Duration;

use minlsh_integration::near::assert_same;
use minlsh_integration::{Client, Database, Run, Stopwatch, backend, cancel, database, sqlstate, texts, wait_until};

/// Documents in groups of up to eight, each with some words changed; exact copies; short ones.
/// The index finds every pair of similarity 0.5, but for one in a million.
fn docs(database: &Database, table: &str, groups: u32, num_perm: u32) -> Client {
    let mut client = database.connect();
    client.run(&format!(
        "CREATE TABLE {table} (id int PRIMARY KEY, body text); \
         INSERT INTO {table} SELECT g * 10 + v, (SELECT string_agg(substr(md5((CASE \
           WHEN hashint4(g * 7919 + v * 131 + w) % 100 BETWEEN 0 AND v * (g % 5) THEN -w - v * 1000 - g * 9000 \
           ELSE g * 1000 + w END)::text), 1, 6), ' ') FROM generate_series(1, 40) w) \
         FROM generate_series(1, {groups}) g, generate_series(0, 7) v; \
         INSERT INTO {table} SELECT -id, body FROM {table} WHERE id % 50 = 3; \
         INSERT INTO {table} SELECT 1000000 + i, 'boilerplate of the site' FROM generate_series(1, 30) i; \
         CREATE INDEX {table}_body ON {table} USING minlsh (body) \
         WITH (threshold = 0.5, recall = 0.999999, num_perm = {num_perm})"
    ));
    client
}

/// Options by which no pair of a small corpus is missed. The index that `docs()` makes has the same.
const CERTAIN: &str = "num_perm => 256, recall => 0.999999";

#[test]
fn pairs_clusters_and_plans_are_those_of_brute_force_at_all_thresholds() {
    let database = database();
    let mut client = docs(&database, "docs", 30, 256);
    // Without statistics PostgreSQL 19 takes gigabytes for the recursion below: as much as it estimates.
    client.run(
        "CREATE TABLE truth AS SELECT a.id AS a, b.id AS b, jaccard(a.body, b.body) AS similarity \
         FROM docs a JOIN docs b ON a.id < b.id; \
         ALTER TABLE truth ADD PRIMARY KEY (a, b); ANALYZE truth; \
         CREATE FUNCTION true_plan(threshold float8) RETURNS TABLE (doc int, kept int) LANGUAGE plpgsql AS $$ \
         DECLARE d int; k int; stays int[] := '{}'; \
         BEGIN FOR d IN SELECT id FROM docs WHERE minhash(body) IS NOT NULL ORDER BY length(body) DESC, id LOOP \
           SELECT s.id INTO k FROM unnest(stays) WITH ORDINALITY AS s(id, place) JOIN truth t \
           ON t.a = least(s.id, d) AND t.b = greatest(s.id, d) WHERE t.similarity >= $1 ORDER BY s.place LIMIT 1; \
           IF k IS NULL THEN stays := stays || d; ELSE doc := d; kept := k; RETURN NEXT; END IF; \
         END LOOP; END $$;",
    );
    for threshold in [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0] {
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_a::int, doc_b::int, similarity FROM near_duplicate_pairs('docs', {threshold}, {CERTAIN})"
            ),
            &format!("SELECT a, b, similarity FROM truth WHERE similarity >= {threshold}"),
        );
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_id::int, cluster_id::int FROM near_duplicate_clusters('docs', {threshold}, {CERTAIN})"
            ),
            &format!(
                "(WITH RECURSIVE link AS (SELECT a, b FROM truth WHERE similarity >= {threshold} \
                 UNION ALL SELECT b, a FROM truth WHERE similarity >= {threshold}), \
                 reach AS (SELECT a AS id, a AS other FROM link UNION SELECT r.id, l.b FROM reach r \
                 JOIN link l ON l.a = r.other) \
                 SELECT id, min(other) FROM reach GROUP BY id)"
            ),
        );
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_id::int, kept_id::int \
                 FROM near_duplicate_plan('docs', {threshold}, 'length(body) DESC', {CERTAIN})"
            ),
            &format!("SELECT doc, kept FROM true_plan({threshold})"),
        );
        // The weakest link is the similarity above which a cluster falls apart.
        let falls_apart = texts(
            &mut client,
            &format!(
                "SELECT count(*) FROM (SELECT cluster_id, max(size) AS size, max(weakest_link) AS weakest \
                 FROM near_duplicate_clusters('docs', {threshold}, {CERTAIN}) GROUP BY 1) c, \
                 LATERAL (SELECT max(n.size) AS size \
                 FROM near_duplicate_clusters('docs', least(c.weakest + 1e-9, 1), {CERTAIN}) n \
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
    client.run(&format!(
        "CREATE TABLE links AS SELECT a.id AS a, b.id AS b, jaccard(a.body, b.body) AS similarity \
         FROM ({distinct}) a JOIN ({distinct}) b ON a.id < b.id; \
         DELETE FROM links WHERE similarity < 0.5; ANALYZE links; \
         CREATE FUNCTION reaches(start int, threshold float8, without_a int, without_b int) RETURNS SETOF int \
         LANGUAGE sql AS $$ WITH RECURSIVE reach AS (SELECT $1 AS id UNION \
           SELECT CASE WHEN l.a = r.id THEN l.b ELSE l.a END FROM reach r JOIN links l ON r.id IN (l.a, l.b) \
           WHERE l.similarity >= $2 AND (l.a, l.b) IS DISTINCT FROM ($3, $4)) SELECT id FROM reach $$"
    ));
    for threshold in [0.5, 0.7, 0.8] {
        assert_same(
            &mut client,
            &format!(
                "SELECT * FROM near_duplicate_bridges('{distinct}', {threshold}, \
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
    client.run("UPDATE eval SET body = body || ' at the end' WHERE id % 3 = 0");
    for threshold in [0.5, 0.8, 0.95] {
        assert_same(
            &mut client,
            &format!(
                "SELECT doc_a::int, doc_b::int, similarity \
                 FROM near_duplicates_between('train', 'eval', {threshold}, 'exact')"
            ),
            &format!(
                "SELECT * FROM (SELECT a.id, b.id, jaccard(a.body, b.body) AS similarity FROM train a, eval b) t \
                 WHERE similarity >= {threshold}"
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
        ("in_memory", "SET maintenance_work_mem = '256MB'; SET max_parallel_workers_per_gather = 0"),
        (
            "parallel",
            "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; \
             SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
        ),
        // The least there is, in every version.
        ("fetched_again", "SET maintenance_work_mem = '1MB'; SET work_mem = '64kB'"),
        ("spilled", "SET effective_cache_size = 1"),
    ];
    for job in jobs {
        for (name, setting) in settings {
            client
                .batch_execute(&format!(
                    "RESET effective_cache_size; {setting}; DROP TABLE IF EXISTS {name}; \
                     CREATE TABLE {name} AS SELECT * FROM {job}"
                ))
                .unwrap_or_else(|cause| panic!("{job}, {name}: {cause:?}"));
        }
        for name in ["parallel", "fetched_again", "spilled"] {
            assert_same(&mut client, "SELECT * FROM in_memory", &format!("SELECT * FROM {name}"));
        }
    }
    // The spilled ones did use temporary files: where these are not allowed, they fail.
    client.run("SET temp_file_limit = '1MB'");
    let error = client.batch_execute("SELECT count(*) FROM near_duplicate_pairs('docs', 0.8)");
    assert_eq!(error.expect_err("no room").code().map(|code| code.code()), Some("53400"));
}

#[test]
fn texts_of_a_table_in_the_cache_are_fetched_again_and_not_written_into_files() {
    let mut client = database().connect();
    client.run("SET maintenance_work_mem = '1MB'; SET temp_file_limit = '1MB'");
    let jobs = [
        ("near_duplicate_pairs('docs', 0.9)", "100"),
        ("near_duplicate_clusters('docs', 0.9)", "200"),
        ("near_duplicate_plan('docs', 0.9)", "100"),
        ("near_duplicates_between('docs', 'docs', 0.9)", "400"),
    ];
    let table = "TABLE docs (id text PRIMARY KEY, body text); \
                 INSERT INTO docs SELECT 'key ' || i, (SELECT string_agg(md5((i / 2 * 1000 + w)::text), ' ') \
                 FROM generate_series(1, 600) w) || i FROM generate_series(0, 199) i";
    // Pages of a temporary table are the backend's own.
    for kind in ["", "TEMP"] {
        client.run(&format!("CREATE {kind} {table}"));
        for index in ["", "CREATE INDEX ON docs USING minlsh (body)"] {
            client.run(index);
            for (job, found) in jobs {
                let job = format!("SELECT count(*) FROM {job}");
                client.run("RESET effective_cache_size");
                assert_eq!(texts(&mut client, &job), [found], "{kind} {index}: {job}");
                client.run("SET effective_cache_size = 1");
                assert_eq!(sqlstate(&mut client, &job), "53400", "{kind} {index}: {job}");
            }
        }
    }
}

#[test]
fn every_job_is_cancelled_within_a_second() {
    let database = database();
    let mut client = docs(&database, "docs", 2500, 128);
    client.run("SET maintenance_work_mem = '2MB'");
    for job in [
        "near_duplicate_pairs('docs', 0.5, 'exact')",
        "near_duplicate_clusters('docs', 0.5)",
        "near_duplicate_plan('docs', 0.5, verify => 'exact')",
        "minlsh_recall('docs', 0.5, 20000)",
    ] {
        for pause in [20, 150, 400] {
            let pid = backend(&mut client);
            let mut observer = database.connect();
            let canceller = std::thread::spawn(move || {
                wait_until("the job runs, or is done", || {
                    let state = "SELECT state || query FROM pg_stat_activity WHERE pid = $1";
                    let state: String = observer.query_one(state, &[&pid]).expect("activity").get(0);
                    state.starts_with("active") && state.contains("FROM")
                });
                std::thread::sleep(Duration::from_millis(pause));
                let cancelled = Stopwatch::start(pid);
                cancel(&mut observer, pid);
                cancelled
            });
            let ended = client.batch_execute(&format!("SELECT count(*) FROM {job}"));
            let took = canceller.join().expect("thread").elapsed();
            // It may have been done before it was cancelled.
            if let Err(error) = ended {
                assert_eq!(error.code().map(|code| code.code()), Some("57014"), "{job}");
                // A second on a quiet machine.
                assert!(took < Duration::from_secs(5), "{job}: {took:?}");
            }
        }
    }
    // The session works on.
    assert_ne!(texts(&mut client, "SELECT count(*) FROM near_duplicate_clusters('docs', 0.9)"), ["0"]);
}
