//! The promises about recall and precision, against brute force.

use minlsh_integration::{Client, Run, database, texts};

/// 1,200 documents, 900 of them copies with 0 to 10 % of the words changed.
const CORPUS: &str = "CREATE TABLE docs (id int PRIMARY KEY, body text); \
    INSERT INTO docs SELECT d, (SELECT string_agg(CASE WHEN abs(hashint8(d * 1000 + w)) % 1000 < d % 4 * 12 \
    THEN 'changed' || d || w ELSE md5((d / 4 * 1000 + w)::text) END, ' ' ORDER BY w) \
    FROM generate_series(1, 60) w) FROM generate_series(1, 1200) d";

fn check(client: &mut Client) {
    client.run(
        "CREATE TEMP TABLE truth AS SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON a.id < b.id \
         AND b.id < a.id + 4 \
           WHERE jaccard(a.body, b.body) >= 0.9; \
         CREATE TEMP TABLE found AS SELECT d.id AS a, n.doc_id::int AS b \
         FROM docs d, near_duplicates(d.id, 0.9, verify => 'exact') n \
           WHERE d.id < n.doc_id; \
         CREATE TEMP TABLE listed AS SELECT doc_a::int AS a, doc_b::int AS b \
         FROM near_duplicate_pairs('docs', 0.9, 'exact')",
    );
    assert_eq!(texts(client, "SELECT count(*) > 300 FROM truth"), ["t"]);
    for way in ["found", "listed"] {
        // Copies lie beside their originals; all others are unrelated.
        let wrong = format!("SELECT count(*) FROM (TABLE {way} EXCEPT TABLE truth) e");
        assert_eq!(texts(client, &wrong), ["0"], "precision of {way}");
        let missed = format!(
            "SELECT (SELECT count(*) FROM (TABLE truth EXCEPT TABLE {way}) e) <= (SELECT count(*) FROM truth) * 0.01"
        );
        assert_eq!(texts(client, &missed), ["t"], "recall of {way}");
    }
    client.run("DROP TABLE truth, found, listed");
}

#[test]
fn exact_verification_has_precision_1_and_recall_0_99() {
    let mut client = database().connect();
    client.run(CORPUS);
    client.run("SELECT minlsh_create_side_table('docs', 'body')");
    check(&mut client);
}

#[test]
fn recall_holds_for_documents_that_were_written_by_several_sessions() {
    let database = database();
    let mut client = database.connect();
    client.run(CORPUS);
    client.run(
        "ALTER TABLE docs RENAME TO source; CREATE TABLE docs (id int PRIMARY KEY, body text); \
         SELECT minlsh_create_side_table('docs', 'body')",
    );
    std::thread::scope(|scope| {
        for part in 0..3 {
            let mut session = database.connect();
            scope.spawn(move || {
                for chunk in 0..10 {
                    session.run(&format!(
                        "INSERT INTO docs \
                         SELECT id, CASE WHEN id % 7 = 0 THEN 'at first another text' ELSE body END FROM source \
                           WHERE id % 3 = {part} AND id / 3 % 10 = {chunk}; \
                         UPDATE docs SET body = source.body FROM source WHERE source.id = docs.id \
                           AND docs.body <> source.body AND docs.id % 3 = {part}"
                    ));
                }
            });
        }
    });
    check(&mut client);
}
