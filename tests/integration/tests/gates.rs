//! The functions, triggers and statements with which the manual keeps near-duplicates out, as they stand on its pages.

use std::collections::BTreeMap;

use minlsh_integration::manual::example;
use minlsh_integration::{Client, Database, Run, assert_consistent, blocked, database, sqlstate, texts};

const PAGE: &str = "docs/how-to/keep-out.md";
const SESSIONS: i64 = 8;

/// Texts of 8 words each, none similar to another. Each session has a letter of its own at the end of all.
const TEXT_OF: &str = "CREATE FUNCTION text_of(i bigint, session bigint) RETURNS text LANGUAGE sql RETURN \
     (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 8) AS j) || chr(65 + session::integer)";

/// A database with the table and the function of the page.
fn articles() -> (Database<'static>, Client) {
    let database = database();
    let mut client = database.connect();
    client.run(&example(PAGE, "CREATE TABLE articles ("));
    client.run(TEXT_OF);
    (database, client)
}

/// The answer of a call for the text of a number.
struct Answer {
    text: i64,
    article: i64,
    is_new: bool,
}

/// Has eight sessions pass these texts to `call` at once, each beginning with another one.
fn race(database: &Database, count: i64, call: &str) -> Vec<Answer> {
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|session| {
                let mut client = database.connect();
                scope.spawn(move || {
                    let call = client.prepare(call).expect("a statement");
                    (0..count)
                        .map(|turn| {
                            let text = (turn + session * 3) % count;
                            let row = client.query_one(&call, &[&text, &session]).expect("a row");
                            Answer { text, article: row.get(0), is_new: row.get(1) }
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        sessions.into_iter().flat_map(|session| session.join().expect("a session")).collect()
    })
}

/// Asserts that each text has one new row, whose key all callers got.
fn assert_one_row_each(client: &mut Client, count: i64, answers: &[Answer], rows: &str) {
    assert_eq!(answers.len() as i64, count * SESSIONS);
    assert_eq!(answers.iter().filter(|answer| answer.is_new).count() as i64, count);
    let mut article_of = BTreeMap::new();
    for answer in answers {
        let article = *article_of.entry(answer.text).or_insert(answer.article);
        assert_eq!(article, answer.article, "text {}", answer.text);
    }
    let mut articles: Vec<_> = article_of.into_values().collect();
    articles.sort_unstable();
    let there: Vec<i64> = client.query(rows, &[]).expect("rows").iter().map(|row| row.get(0)).collect();
    assert_eq!(articles, there);
    assert_consistent(client, "articles_unlike");
}

#[test]
fn eight_sessions_insert_or_get_the_same_texts() {
    let (database, mut client) = articles();
    let call = "SELECT article, is_new FROM insert_or_get(text_of($1, $2))";
    let answers = race(&database, 1_000, call);
    assert_one_row_each(&mut client, 1_000, &answers, "SELECT id FROM articles ORDER BY id");
    assert_eq!(texts(&mut client, "SELECT min(seen) || ' ' || max(seen) FROM articles"), ["8 8"]);
}

#[test]
fn eight_sessions_insert_again_what_is_older_than_the_range() {
    let (database, mut client) = articles();
    client.run(&example(PAGE, "ADD COLUMN added"));
    client.run(
        "INSERT INTO articles (body, added) SELECT text_of(i, 8), now() AT TIME ZONE 'UTC' - interval '40 days' \
         FROM generate_series(0, 199) AS i",
    );
    let call = "SELECT article, is_new FROM insert_or_get(text_of($1, $2))";
    let answers = race(&database, 200, call);
    let current = "SELECT id FROM articles WHERE added > now() AT TIME ZONE 'UTC' - interval '30 days' ORDER BY id";
    assert_one_row_each(&mut client, 200, &answers, current);
    assert_eq!(
        texts(&mut client, "SELECT count(*) FILTER (WHERE seen = 1) || ' ' || count(*) FROM articles"),
        ["200 400"]
    );
}

/// The row that the INSERT met is deleted before the UPDATE comes to it: the text is inserted by the second turn.
#[test]
fn a_row_that_goes_away_in_between_is_inserted_again() {
    let (database, mut client) = articles();
    let call = "SELECT article || ' ' || is_new FROM insert_or_get(text_of(1, 1))";
    assert_eq!(texts(&mut client, call), ["1 true"]);
    // Locked, but not changed, it is in the way of an INSERT at once, and of an UPDATE until the end.
    client.run("BEGIN; SELECT FROM articles FOR UPDATE");
    let waiting = blocked(&database, move |other| texts(other, call));
    client.run("DELETE FROM articles; COMMIT");
    let got = waiting.join().expect("a session").remove(0);
    assert!(got.ends_with(" true"), "{got}");
    let there = texts(&mut client, "SELECT id || ' true' FROM articles");
    assert_eq!(there, [got]);
}

#[test]
fn a_row_that_may_not_be_seen_is_an_error() {
    let (database, mut client) = articles();
    let call = "SELECT insert_or_get(text_of(1, 1))";
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT");
    client.run("SELECT FROM articles");
    database.connect().run(call);
    assert_eq!(sqlstate(&mut client, call), "40001");
    client.run(&format!(
        "ROLLBACK; ALTER TABLE articles ENABLE ROW LEVEL SECURITY; \
         CREATE POLICY mine ON articles USING (id > 1) WITH CHECK (true); \
         CREATE ROLE {role}; GRANT ALL ON articles TO {role}; SET ROLE {role}",
        role = database.name
    ));
    assert_eq!(sqlstate(&mut client, call), "23P01");
    client.run(&format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}", role = database.name));
}

/// Chains of six texts, each similar to its neighbours. The ends of a chain, numbers 0 and 5, are not similar.
const CHAINS: &str = "CREATE TABLE chains AS SELECT chain * 10 + link AS id, chain * 10 AS first, link, \
     (SELECT string_agg(left(md5(chain || ' ' || word), 7), ' ' ORDER BY word) \
      FROM generate_series(link, link + 59) AS word) AS body \
     FROM generate_series(1, 40) AS chain, generate_series(0, 5) AS link";

/// A database with chains, and with the table that the trigger of the page marks.
fn inbox() -> (Database<'static>, Client) {
    let database = database();
    let mut client = database.connect();
    client.run(&example(PAGE, "CREATE FUNCTION mark_copy"));
    client.run(CHAINS);
    let ends = "SELECT count(*) FROM chains AS a JOIN chains AS b USING (first) \
                WHERE a.link = 0 AND b.link = 5 AND jaccard(a.body, b.body) < 0.9";
    assert_eq!(texts(&mut client, ends), ["40"]);
    (database, client)
}

#[test]
fn copies_of_copies_in_one_batch_are_marked_with_their_original() {
    let (_database, mut client) = inbox();
    let batch = "INSERT INTO inbox (id, body) SELECT id, body FROM chains ORDER BY id";
    assert_eq!(client.execute(batch, &[]).expect("rows"), 240);
    let wrong = "SELECT id FROM inbox JOIN chains USING (id) WHERE copy_of IS DISTINCT FROM nullif(first, id)";
    assert_eq!(texts(&mut client, wrong), Vec::<String>::new());
    // A row is no copy of itself, also not by way of its own copies.
    client.run("UPDATE inbox SET body = body || '!'");
    assert_eq!(texts(&mut client, wrong), Vec::<String>::new());
}

#[test]
fn copies_of_copies_are_routed_with_their_original() {
    let (_database, mut client) = inbox();
    client.run(&example(PAGE, "CREATE TABLE duplicates"));
    client.run("TRUNCATE arrivals");
    let route = example(PAGE, "WITH found");
    // The links of the first batch are further from each other, and still a chain; the second batch fits in between.
    for rest in [0, 1] {
        client.run(&format!("INSERT INTO arrivals SELECT id, body FROM chains WHERE link % 2 = {rest}"));
        client.run(&route);
        client.run("TRUNCATE arrivals");
    }
    let wrong = "SELECT id FROM chains LEFT JOIN duplicates AS d USING (id) LEFT JOIN inbox AS i USING (id) \
                 WHERE d.of_id IS DISTINCT FROM nullif(first, id) OR (i.id IS NULL) <> (id <> first)";
    assert_eq!(texts(&mut client, wrong), Vec::<String>::new());
}
