//! An index gives a whole-corpus job what the table gives, also amid writes and on a standby.

use minlsh_integration::{Client, Run, Server, database, texts};

use super::{assert_same, docs};

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
            "SELECT n.id, f.id \
             FROM (SELECT id, near_duplicate_cluster(body, 0.7, {options}) OVER (ORDER BY id) AS first FROM docs) n \
             JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM docs) f ON f.number = n.first \
             WHERE EXISTS (SELECT FROM docs d \
             WHERE d.id <> n.id AND jaccard(d.body, (SELECT o.body FROM docs o WHERE o.id = n.id)) >= 0.7)"
        ),
        "SELECT doc_id, cluster_id FROM near_duplicate_clusters('docs', 0.7)",
    );
}

#[test]
fn an_index_amid_writes_gives_what_its_table_gives() {
    let database = database();
    let mut client = docs(&database, "docs", 60, 256);
    let same = |client: &mut Client| {
        let options = "num_perm => 256, recall => 0.999999";
        for (job, query) in [("pairs", 0.5), ("pairs", 0.8), ("clusters", 0.6), ("plan", 0.7)] {
            let of_query =
                format!("SELECT * FROM near_duplicate_{job}('SELECT id, body FROM docs', {query}, {options})");
            // A table takes its options from the call, an index has its own.
            for source in [format!("'docs', {query}, {options}"), format!("'docs_body', {query}")] {
                let of_index = format!("SELECT * FROM near_duplicate_{job}({source})");
                assert_same(client, &of_index, &of_query);
            }
        }
    };
    client.run(
        "ALTER TABLE docs ADD n int DEFAULT random(), SET (fillfactor = 50); \
         ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY half ON docs USING (id % 10 < 5); \
         DROP ROLE IF EXISTS corpus_some, corpus_none; CREATE ROLE corpus_some; CREATE ROLE corpus_none; \
         GRANT SELECT ON docs TO corpus_some",
    );
    // One whose snapshot is older than all writes.
    let mut old = database.connect();
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM docs");
    client.run(
        "BEGIN; UPDATE docs SET n = n + 1 WHERE id % 3 < 2; UPDATE docs SET n = 7 WHERE id % 6 = 0; \
         DO $$ BEGIN ASSERT pg_stat_get_xact_tuples_hot_updated('docs'::regclass) > 50; END $$; COMMIT; \
         UPDATE docs SET body = body || ' ' || id WHERE id % 7 = 0; \
         UPDATE docs SET body = (SELECT body FROM docs o WHERE o.id = docs.id + 1) WHERE id % 10 = 4; \
         DELETE FROM docs WHERE id % 11 = 0; \
         BEGIN; INSERT INTO docs SELECT id + 5000000, body FROM docs; \
         UPDATE docs SET body = 'the same text for all of them'; ROLLBACK; \
         INSERT INTO docs SELECT id + 7000000, body FROM docs WHERE id % 13 = 0; \
         INSERT INTO docs VALUES (9000001, ''), (9000002, ''), (9000003, NULL)",
    );
    same(&mut old);
    same(&mut client);
    client.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
    same(&mut client);
    client.run("COMMIT; SET maintenance_work_mem = '1MB'; SET ROLE corpus_some");
    same(&mut client);
    client.run("SET ROLE corpus_none");
    let refused = client.batch_execute("SELECT FROM near_duplicate_pairs('docs_body', 0.8)");
    assert_eq!(refused.expect_err("no right").code().map(|code| code.code()), Some("42501"));
    old.run("COMMIT");
    client.run("RESET ROLE");
    client.run("VACUUM docs");
    client.run("UPDATE docs SET n = n + 1");
    same(&mut client);
    // An index that was made after rows were updated, and one who sees them as they were.
    client.run("DROP INDEX docs_body");
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM docs");
    client.run(
        "UPDATE docs SET body = md5(id::text) || md5((-id)::text) WHERE id % 5 = 0; \
         DO $$ BEGIN ASSERT pg_stat_get_xact_tuples_hot_updated('docs'::regclass) > 20; END $$; \
         CREATE INDEX docs_body ON docs USING minlsh (body) \
         WITH (threshold = 0.5, recall = 0.999999, num_perm = 256)",
    );
    same(&mut old);
    same(&mut client);
    drop(old);
    client.run("DROP OWNED BY corpus_some; DROP ROLE corpus_some, corpus_none");
}

#[test]
fn a_row_that_shares_no_bucket_is_not_fetched() {
    let mut client = database().connect();
    client.run(
        "CREATE FUNCTION watched(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ \
         BEGIN IF body LIKE 'alone%' AND current_setting('test.watch', true) = 'on' \
         THEN RAISE 'fetched'; END IF; RETURN body; END $$; \
         CREATE TABLE docs (id int PRIMARY KEY, body text, lang text); \
         INSERT INTO docs SELECT i, 'one text and the same for two, number ' || i / 2, 'en' \
         FROM generate_series(2, 201) i; \
         INSERT INTO docs VALUES (1, 'alone: nothing else has these words', 'en'), (0, 'one text', 'de'); \
         CREATE INDEX docs_body ON docs USING minlsh (watched(body)) WHERE lang = 'en'; \
         SET test.watch = 'on'",
    );
    let pairs = "SELECT count(*)::text FROM near_duplicate_pairs('docs_body', 1)";
    assert_eq!(texts(&mut client, pairs), ["100"]);
    // In an order, and of two sources, all are read. What the index does not have is refused: it was named.
    for (job, code) in [
        ("near_duplicate_plan('docs_body', 0.9, 'length(body)')", "P0001"),
        ("near_duplicates_between('docs_body', 'docs_body', 0.9)", "P0001"),
        ("near_duplicate_pairs('docs_body', 0.7)", "22023"),
        ("near_duplicate_pairs('docs_body', 0.9, shingle_size => 3)", "22023"),
        ("near_duplicate_pairs('docs_body', 0.9, recall => 0.999)", "22023"),
    ] {
        let refused = client.batch_execute(&format!("SELECT FROM {job}"));
        assert_eq!(refused.expect_err(job).code().map(|code| code.code()), Some(code), "{job}");
    }
}

#[test]
fn a_standby_answers() {
    let primary = Server::start();
    let database = primary.create_database();
    let mut client = docs(&database, "docs", 10, 128);
    let standby = primary.standby(&[]);
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
