//! Whatever a whole-corpus job reads, it answers as a comparison of all with all does, and nothing is left behind.

use minlsh_integration::near::assert_same;
use minlsh_integration::{Client, Database, Run, database, texts, variable};

/// Options by which every pair above 0.5 is found, but for one in a million.
const OPTIONS: &str = "num_perm => 256, recall => 0.999999";
const INDEX: &str = "USING minlsh (body) WITH (threshold = 0.5, recall = 0.999999, num_perm = 256)";

/// Pages of templates: most of each is its template's, some words are its own.
const PAGES: &str = "SELECT t * 10 + p AS id, \
     (SELECT string_agg(substr(md5((t * 1000 + w)::text), 1, 7), ' ' ORDER BY w) FROM generate_series(1, 60) w) || \
     (SELECT string_agg(' ' || substr(md5((-t * 1000 - p * 100 - w)::text), 1, 7), '' ORDER BY w) \
      FROM generate_series(1, 2 + p * 3) w) AS body \
     FROM generate_series(1, 9) t, generate_series(0, 5) p";

/// The shorter of the licences, numbered.
const LICENSES: &str = "SELECT row_number() OVER (ORDER BY id)::int AS id, body FROM all_licenses \
     WHERE length(body) < 1700";

/// The table `docs`, its true similar pairs, and the sources that have its rows.
fn sources(database: &Database, rows: &str) -> (Client, Vec<String>) {
    let mut client = database.connect();
    let examples = variable("MINLSH_RUN_DIR") + "/examples";
    let file = database.server.socket().join(format!("{}.csv", database.name));
    let file = file.display();
    client.run(&format!(
        "CREATE TABLE all_licenses (id text, name text, body text); \
         COPY all_licenses FROM '{examples}/licenses/licenses.csv' WITH (FORMAT csv, HEADER); \
         CREATE TABLE docs AS {rows}; ALTER TABLE docs ADD PRIMARY KEY (id); COPY docs TO '{file}'; \
         CREATE TABLE indexed AS TABLE docs; ALTER TABLE indexed ADD PRIMARY KEY (id); \
         CREATE INDEX indexed_body ON indexed {INDEX}; \
         CREATE VIEW a_view AS SELECT * FROM docs; CREATE MATERIALIZED VIEW stored AS TABLE docs; \
         CREATE TABLE parted (LIKE docs) PARTITION BY HASH (id); \
         CREATE TABLE part0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
         CREATE TABLE part1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
         INSERT INTO parted TABLE docs; \
         CREATE TABLE measured AS SELECT id, body, cardinality(shingle_hashes(body)) AS size FROM docs; \
         CREATE TABLE truth AS SELECT a.id AS a, b.id AS b, jaccard(a.body, b.body) AS similarity \
         FROM measured a JOIN measured b ON a.id < b.id AND least(a.size, b.size) >= 0.6 * greatest(a.size, b.size)
         ; ANALYZE truth"
    ));
    let mut sources: Vec<String> = ["'indexed'", "'indexed_body'"].map(|name| format!("{name}, 0.7")).into();
    let named = ["a_view", "stored", "parted"].map(|name| format!("'{name}', 0.7, key_column => 'id'"));
    let queries = ["SELECT * FROM docs", "WITH d AS (TABLE docs) SELECT id, body FROM d ORDER BY random()"]
        .map(|query| format!("'{query}', 0.7"));
    let read = std::iter::once("'docs', 0.7".to_owned()).chain(named).chain(queries);
    sources.extend(read.map(|source| format!("{source}, {OPTIONS}")));
    let has_files = "SELECT count(*) FROM pg_available_extensions WHERE name = 'file_fdw'";
    if texts(&mut client, has_files) == ["1"] {
        client.run(&format!(
            "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; \
             CREATE FOREIGN TABLE elsewhere (id int, body text) SERVER files OPTIONS (filename '{file}')"
        ));
        sources.push(format!("'elsewhere', 0.7, key_column => 'id', {OPTIONS}"));
    }
    (client, sources)
}

/// All that a session could leave behind.
const TRACES: &str = "SELECT (SELECT count(*) FROM pg_class) || ' ' || (SELECT count(*) FROM pg_depend) || ' ' || \
     (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode <> 'AccessShareLock') || ' ' || \
     (SELECT count(*) FROM pg_prepared_statements) || ' ' || (SELECT count(*) FROM pg_cursors) || ' ' || \
     (SELECT count(*) FROM pg_ls_tmpdir())";

fn all_sources_agree(rows: &str) {
    let database = database();
    let (mut client, sources) = sources(&database, rows);
    let all_pairs = "SELECT a, b, similarity FROM truth WHERE similarity >= 0.7";
    let clusters = format!("SELECT doc_id, cluster_id FROM near_duplicate_clusters('docs', 0.7, {OPTIONS})");
    let plan = format!("SELECT * FROM near_duplicate_plan('docs', 0.7, {OPTIONS})");
    assert_same(
        &mut client,
        &clusters,
        "(WITH RECURSIVE link AS (SELECT a, b FROM truth WHERE similarity >= 0.7 UNION ALL \
         SELECT b, a FROM truth WHERE similarity >= 0.7), reach AS (SELECT a AS id, b AS other FROM link \
         UNION SELECT r.id, l.b FROM reach r JOIN link l ON l.a = r.other) \
         SELECT id, min(other) FROM reach GROUP BY id)",
    );
    let before = texts(&mut client, TRACES);
    for source in &sources {
        let of = |job: &str| format!("near_duplicate_{job}({source})");
        assert_same(&mut client, all_pairs, &format!("SELECT * FROM {}", of("pairs")));
        let found = format!("SELECT doc_id, cluster_id FROM {}", of("clusters"));
        assert_same(&mut client, &clusters, &found);
        assert_same(&mut client, &plan, &format!("SELECT * FROM {}", of("plan")));
        assert_eq!(texts(&mut client, TRACES), before, "{source}");
    }
    assert_same(
        &mut client,
        &clusters,
        &format!(
            "(WITH w AS (SELECT id, near_duplicate_cluster(body, 0.7, {OPTIONS}) OVER w AS first, \
             row_number() OVER w AS number FROM docs WINDOW w AS (ORDER BY id)), \
             named AS (SELECT w.id, f.id AS cluster FROM w JOIN w f ON f.number = w.first) \
             SELECT id, cluster FROM named n WHERE (SELECT count(*) FROM named o WHERE o.cluster = n.cluster) > 1)"
        ),
    );
}

#[test]
fn all_sources_agree_on_licenses() {
    all_sources_agree(LICENSES);
}

#[test]
fn all_sources_agree_on_pages_of_templates() {
    all_sources_agree(PAGES);
}

#[test]
fn a_job_runs_where_nothing_can_be_written() {
    let database = database();
    let (mut client, sources) = sources(&database, PAGES);
    client.run(
        "CREATE FUNCTION pairs(source text) RETURNS bigint STABLE LANGUAGE plpgsql AS $$ BEGIN \
         RETURN (SELECT count(*) FROM near_duplicate_pairs(source, 0.7)); END $$; \
         CREATE TABLE kept AS SELECT * FROM near_duplicate_pairs('docs', 0.7); \
         BEGIN READ ONLY",
    );
    let expected = texts(&mut client, "SELECT count(*) FROM near_duplicate_pairs('docs', 0.7)");
    assert_ne!(expected, ["0"]);
    assert_eq!(texts(&mut client, "SELECT pairs('SELECT id, body FROM docs')"), expected);
    assert_eq!(texts(&mut client, "SELECT count(*) FROM kept"), expected);
    for source in sources {
        for job in ["pairs", "clusters", "plan", "bridges"] {
            let job = format!("SELECT count(*) >= 0 FROM near_duplicate_{job}({source})");
            assert_eq!(texts(&mut client, &job), ["t"], "{job}");
        }
    }
}
