//! Tables of near-duplicates, for tests of the native index.

use crate::{Client, Database, Run, texts};

/// Makes the function `near(template, edits)`: a text of 30 words of 6 letters, `edits` of them its own. Two texts of
/// one template that have k words of their own between them are (30 - k) / (30 + k) similar, nearly.
pub const NEAR: &str = "CREATE FUNCTION near(template int, edits int) RETURNS text LANGUAGE sql VOLATILE AS $$ \
     SELECT string_agg(left(md5(CASE WHEN word <= edits THEN random()::text ELSE template || ' ' || word END), 6), ' ' \
     ORDER BY word) FROM generate_series(1, 30) AS word $$";

/// Makes a table `docs` of `rows` texts: some 5 to a template, with none to 4 words of their own, so that pairs are
/// similar by 0.6 to 1; each 20th text NULL, each 21st empty; and exact copies.
pub fn docs(client: &mut Client, rows: u32) {
    client.run(&format!(
        "{NEAR}; CREATE TABLE docs (id int PRIMARY KEY, tenant int, extra int NOT NULL DEFAULT 0, body text); \
         INSERT INTO docs (id, tenant, body) SELECT i, i % 3, \
         CASE WHEN i % 20 = 0 THEN NULL WHEN i % 21 = 0 THEN '' ELSE near(i / 5, i % 5) END \
         FROM generate_series(1, {rows}) AS i; \
         INSERT INTO docs (id, tenant, body) SELECT id + 1000000, tenant, body FROM docs WHERE id % 10 = 3; \
         ANALYZE docs"
    ));
}

/// Runs statements that "; " separates one by one, as VACUUM and its like must be.
pub fn each(client: &mut Client, statements: &str) {
    for statement in statements.split("; ") {
        client.run(statement);
    }
}

/// The plans of one query that must agree.
pub const PLANS: [&str; 3] = ["seqscan", "bitmapscan", "indexscan"];

/// Has the planner use only that kind of scan.
pub fn only(client: &mut Client, plan: &str) {
    let settings: Vec<String> = PLANS
        .iter()
        .map(|other| format!("SET enable_{other} = {}", if *other == plan { "on" } else { "off" }))
        .collect();
    client.run(&settings.join("; "));
}

/// The answers of the query by each plan; the plan of the index must be one.
pub fn by_each_plan(client: &mut Client, query: &str) -> [Vec<String>; 3] {
    PLANS.map(|plan| {
        only(client, plan);
        let explained = texts(client, &format!("EXPLAIN {query}")).join("\n");
        let node = ["Seq Scan", "Bitmap Index Scan", "Index Scan using"];
        let expected = PLANS.iter().position(|other| *other == plan).map(|at| node[at]);
        assert!(expected.is_some_and(|node| explained.contains(node)), "{plan} of {query}:\n{explained}");
        texts(client, query)
    })
}

/// Asserts that the native index agrees with its table, and that lookups by it find each row of `docs` itself, and
/// its exact copies.
pub fn assert_sound(client: &mut Client, index: &str) {
    crate::assert_consistent(client, index);
    only(client, "indexscan");
    let lost = "WITH texts AS MATERIALIZED (SELECT min(id) AS id, body FROM docs WHERE body <> '' GROUP BY body), \
                copies AS MATERIALIZED (SELECT a.id AS a, b.id AS b FROM texts AS a JOIN docs AS b USING (body)), \
                found AS MATERIALIZED (SELECT a.id AS a, b.id AS b FROM texts AS a JOIN docs AS b \
                ON b.body ~= minlsh_document(a.body, 1)) SELECT * FROM copies EXCEPT SELECT * FROM found";
    assert_eq!(texts(client, lost), Vec::<String>::new(), "copies that {index} does not find");
    client.run("RESET ALL");
}

/// Asserts by amcheck that the pages of an index are a tree as PostgreSQL's own are, in which each entry is found from
/// the root. amcheck takes B-trees alone: a session shows it the index as one, and rolls that back. Servers with
/// assertions do not let an index change so.
pub fn assert_tree(database: &Database, index: &str) {
    let mut client = database.connect();
    let available = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'";
    if texts(&mut client, available).is_empty() || texts(&mut client, "SHOW debug_assertions") == ["on"] {
        return;
    }
    client
        .batch_execute(&format!(
            "CREATE EXTENSION IF NOT EXISTS amcheck; BEGIN; \
             UPDATE pg_class SET relam = 403 WHERE oid = '{index}'::regclass; \
             DELETE FROM pg_amproc WHERE amprocnum IN (7, 8); \
             SELECT bt_index_parent_check('{index}', false, true)"
        ))
        .unwrap_or_else(|cause| panic!("{index} is not a tree: {cause:?}"));
}

/// All pairs of `docs` that a join by the index finds at 0.8.
pub fn pairs(client: &mut Client) -> Vec<String> {
    only(client, "indexscan");
    let found = texts(
        client,
        "SELECT a.id || ' ' || b.id FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, 0.8) \
         WHERE a.id < b.id ORDER BY a.id, b.id",
    );
    client.run("RESET ALL");
    found
}

/// The rows of two queries are the same.
pub fn assert_same(client: &mut Client, a: &str, b: &str) {
    let difference = format!(
        // Compared as texts, since jobs return keys as a type that tables do not have.
        "WITH a AS (SELECT of_a::text FROM ({a}) AS of_a), b AS (SELECT of_b::text FROM ({b}) AS of_b) \
         SELECT count(*) FROM \
         ((TABLE a EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE a)) AS difference"
    );
    assert_eq!(texts(client, &difference), ["0"], "{a}\n{b}");
    assert_ne!(texts(client, &format!("SELECT count(*) FROM ({a}) AS a")), ["0"], "{a}");
}
