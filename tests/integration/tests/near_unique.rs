//! Two sessions that add near-duplicates at once: the constraint, and SERIALIZABLE, let one of them.

use std::time::Instant;

use minlsh_integration::near::{assert_same, by_each_plan, docs, only};
use minlsh_integration::{
    Client, Random, Run, SqlState, assert_consistent, backend, blocked, database, texts, wait_until, wait_until_blocked,
};

#[test]
fn write_skew_between_near_duplicates_is_found() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    docs(&mut first, 1_000);
    first.run("CREATE INDEX near ON docs USING minlsh (body); ANALYZE docs");
    let look = "SELECT count(*) FROM docs WHERE body ~= minlsh_document('a text that two sessions add at once', 0.9)";
    for plan in ["bitmapscan", "indexscan"] {
        for session in [&mut first, &mut second] {
            only(session, plan);
            session.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
            assert_eq!(texts(session, look), ["0"]);
            let locks = "SELECT count(*) > 1 FROM pg_locks WHERE mode = 'SIReadLock' AND locktype = 'page' \
                         AND relation = 'near'::regclass AND pid = pg_backend_pid()";
            assert_eq!(texts(session, locks), ["t"], "{plan}");
        }
        let insert = "INSERT INTO docs SELECT 2000000 + pg_backend_pid(), 1, 0, 'a text that two sessions add at once'";
        first.run(insert);
        let refused = second.batch_execute(insert).and_then(|()| second.batch_execute("SELECT 1"));
        let first_end = first.batch_execute("COMMIT");
        let second_end = refused.and_then(|()| second.batch_execute("COMMIT"));
        let failed: Vec<_> = [first_end, second_end].into_iter().filter_map(Result::err).collect();
        assert_eq!(failed.len(), 1, "{plan}");
        assert_eq!(failed[0].code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{plan}");
        second.run("ROLLBACK; DELETE FROM docs WHERE id > 2000000");
    }
}

#[test]
fn two_sessions_never_both_get_a_near_duplicate_in() {
    let database = database();
    let mut first = database.connect();
    first.run("CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=))");
    let mut observer = database.connect();
    // How the first ends, how the second goes about it, and what comes of that.
    for (number, (end, conflict, outcome)) in [
        ("COMMIT", "", Err("23P01")),
        ("COMMIT", "ON CONFLICT DO NOTHING", Ok(0)),
        ("ROLLBACK", "", Ok(1)),
        ("ROLLBACK", "ON CONFLICT DO NOTHING", Ok(1)),
    ]
    .into_iter()
    .enumerate()
    {
        let text = texts(&mut observer, &format!("SELECT repeat(md5('{number}') || ' ', 2)")).remove(0);
        first.run("BEGIN");
        first.execute("INSERT INTO docs VALUES ($1)", &[&text]).expect("the first");
        let waiting = blocked(&database, move |second| {
            second.execute(&format!("INSERT INTO docs VALUES ($1 || '!') {conflict}"), &[&text])
        });
        first.run(end);
        let got = waiting.join().expect("thread");
        let got = got.map_err(|error| error.code().map_or_else(String::new, |code| code.code().to_owned()));
        assert_eq!(got, outcome.map_err(str::to_owned), "{end}, {conflict}");
    }
    assert_consistent(&mut first, "docs");
}

#[test]
fn of_many_sessions_one_gets_each_text_in() {
    let database = database();
    let mut client = database.connect();
    client.run("CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=))");
    std::thread::scope(|scope| {
        for session in 0..8 {
            let mut writer = database.connect();
            scope.spawn(move || {
                for template in 0..30 {
                    let conflict = if template % 2 == 0 { "ON CONFLICT DO NOTHING" } else { "" };
                    let insert = format!(
                        "INSERT INTO docs SELECT string_agg(md5('{template} ' || i), ' ') || '{session}' \
                         FROM generate_series(1, 20) i {conflict}"
                    );
                    if let Err(error) = writer.batch_execute(&insert) {
                        let code = error.code().cloned();
                        let expected = [SqlState::EXCLUSION_VIOLATION, SqlState::T_R_DEADLOCK_DETECTED];
                        assert!(code.is_some_and(|code| expected.contains(&code)), "{error:?}");
                    }
                }
            });
        }
    });
    assert_eq!(texts(&mut client, "SELECT count(*) FROM docs"), ["30"]);
    assert_consistent(&mut client, "docs");
}

#[test]
fn a_row_in_the_place_of_one_rolled_back_counts() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    first.run(
        "CREATE TABLE docs (id integer, body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=)); \
         CREATE TABLE letters AS SELECT i AS id, string_agg(md5(i || ' ' || j), ' ') AS body \
         FROM generate_series(1, 6) AS i, generate_series(1, 20) AS j GROUP BY i",
    );
    first.run(
        "BEGIN; INSERT INTO docs SELECT * FROM letters WHERE id = 1; SAVEPOINT s; \
         INSERT INTO docs SELECT * FROM letters WHERE id IN (2, 3) ORDER BY id; \
         INSERT INTO docs SELECT * FROM letters WHERE id = 4",
    );
    let place = "SELECT ctid FROM docs WHERE id =";
    let place_of_two = texts(&mut first, &format!("{place} 2"));
    first.run("ROLLBACK TO s");
    second.run("VACUUM (INDEX_CLEANUP ON) docs");
    second.run("INSERT INTO docs SELECT * FROM letters WHERE id = 5");
    assert_eq!(texts(&mut second, &format!("{place} 5")), place_of_two);
    let copy = "INSERT INTO docs SELECT 6, body || '!' FROM letters WHERE id = 5 ON CONFLICT DO NOTHING";
    assert_eq!(first.execute(copy, &[]).expect("a copy"), 0);
    let refused = first.batch_execute(&copy.replace(" ON CONFLICT DO NOTHING", ""));
    let code = refused.expect_err("a near-duplicate").code().cloned();
    assert_eq!(code, Some(SqlState::EXCLUSION_VIOLATION));
    first.run("ROLLBACK");
    assert_consistent(&mut first, "docs");
}

/// A function that has a marked text wait for the lock of an advisory key when it is asked for the second time: as the
/// expression of a constraint, between the first search and the insertion.
const SECOND_TIME_SLOW: &str = "\
     CREATE FUNCTION second_time_slow(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ \
     BEGIN \
       IF body LIKE '%slow' AND current_setting('test.turns', true) <> '' THEN \
         PERFORM set_config('test.turns', (current_setting('test.turns')::integer + 1)::text, false); \
         IF current_setting('test.turns') = '2' THEN \
           PERFORM pg_advisory_lock(1), pg_advisory_unlock(1); \
         END IF; \
       END IF; \
       RETURN body; \
     END $$";

/// A function that makes texts, none similar to another.
const TEXT_OF: &str = "CREATE FUNCTION text_of(i integer) RETURNS text LANGUAGE sql RETURN \
     (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 5) AS j)";

/// Has `first` insert a marked text, and calls `meanwhile` while it waits. Returns `first`, and the number of rows that
/// it has inserted.
fn insert_slowly(
    mut first: Client,
    insert: String,
    second: &mut Client,
    meanwhile: impl FnOnce(&mut Client),
) -> (Client, u64) {
    second.run("SELECT pg_advisory_lock(1)");
    let pid = backend(&mut first);
    let waiting = std::thread::spawn(move || {
        first.run("SET test.turns = '0'");
        let inserted = first.execute(&insert, &[]).expect("an insertion");
        (first, inserted)
    });
    wait_until_blocked(second, pid);
    meanwhile(second);
    second.run("SELECT pg_advisory_unlock(1)");
    waiting.join().expect("a thread")
}

/// An INSERT ... ON CONFLICT searches before and after the insertion. Here another session adds a near-duplicate
/// between the two, and VACUUM passes by, while most of what both find was ruled out by the first.
#[test]
fn a_near_duplicate_that_came_between_the_two_searches_counts() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    first.run(SECOND_TIME_SLOW);
    first.run(
        "CREATE TABLE docs (id integer, body text, \
           EXCLUDE USING minlsh (minlsh_document(second_time_slow(body), 0.8) WITH ~=)); \
         CREATE TABLE letters AS SELECT i AS id, string_agg(CASE WHEN md5(i || ' ' || j) < '4' \
           THEN substr(md5(i || 'own' || j), 1, 7) ELSE substr(md5('template' || j), 1, 7) END, ' ' ORDER BY j) \
           AS body \
         FROM generate_series(1, 60) AS i, generate_series(1, 60) AS j GROUP BY i",
    );
    // Whether the other one commits a near-duplicate, and how many rows that leaves for us.
    for (number, (copies, expected)) in [(true, 0), (false, 1)].into_iter().enumerate() {
        let id = 51 + number;
        first.run("BEGIN; INSERT INTO docs SELECT * FROM letters WHERE id <= 50 ON CONFLICT DO NOTHING");
        first.run("DELETE FROM docs WHERE id = 7; INSERT INTO docs SELECT * FROM letters WHERE id = 7");
        let kept = texts(&mut first, "SELECT count(*) FROM docs");
        let insert =
            format!("INSERT INTO docs SELECT id, body || ' slow' FROM letters WHERE id = {id} ON CONFLICT DO NOTHING");
        let inserted;
        (first, inserted) = insert_slowly(first, insert, &mut second, |second| {
            if copies {
                second.run(&format!("INSERT INTO docs SELECT id, body FROM letters WHERE id = {id}"));
            }
            second.run("VACUUM (INDEX_CLEANUP ON) docs");
        });
        assert_eq!(inserted, expected, "copies: {copies}");
        let of_both = texts(&mut first, "SELECT count(*) FROM docs");
        assert_eq!(of_both[0].parse::<i32>(), kept[0].parse::<i32>().map(|kept| kept + 1));
        first.run("ROLLBACK; SET test.turns = ''");
        assert_consistent(&mut first, "docs");
    }
}

/// Creates a table under a constraint that waits between its two searches.
fn create_docs(client: &mut Client) {
    client.run(&[SECOND_TIME_SLOW, TEXT_OF].join("; "));
    client.run(
        "CREATE TABLE docs (id integer, body text, \
           EXCLUDE USING minlsh (minlsh_document(second_time_slow(body), 0.8) WITH ~=)) \
           WITH (autovacuum_enabled = off)",
    );
}

/// The second search begins at the pages to which the first one came. Here these are split between the two, or deleted
/// since VACUUM finds nothing alive in them, and a near-duplicate comes afterwards.
#[test]
fn a_near_duplicate_counts_after_the_pages_were_split_or_deleted() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    create_docs(&mut first);
    let fill =
        |from: i32| format!("INSERT INTO docs SELECT i, text_of(i) FROM generate_series({from}, {from} + 1499) AS i");
    let few = "INSERT INTO docs SELECT i, text_of(i) FROM generate_series(1, 9) AS i".to_owned();
    // What is there before, what happens between the searches, and how many rows that leaves for us. Pages are deleted
    // if nothing alive is in them, but for the last one: no band of our text is in that.
    for (before, meanwhile, copies, expected) in [
        (few.clone(), fill(10_000), true, 0),
        (few, fill(10_000), false, 1),
        (format!("{}; DELETE FROM docs", fill(10_000)), "VACUUM docs".to_owned(), true, 0),
        (format!("{}; DELETE FROM docs", fill(10_000)), "VACUUM docs".to_owned(), false, 1),
    ] {
        second.run(&format!("TRUNCATE docs; {before}"));
        let insert = "INSERT INTO docs SELECT 20, text_of(24) || ' slow' ON CONFLICT DO NOTHING";
        let inserted;
        (first, inserted) = insert_slowly(first, insert.to_owned(), &mut second, |second| {
            second.run(&meanwhile);
            if copies {
                second.run("INSERT INTO docs SELECT 21, text_of(24)");
                // More pages, none of them one that was deleted.
                second.run(&fill(20_000));
            }
        });
        assert_eq!(inserted, expected, "{before}, {meanwhile}, {copies}");
        let copies_now = "SELECT count(*) FROM docs WHERE id IN (20, 21)";
        assert_eq!(texts(&mut first, copies_now), ["1"]);
        first.run("SET test.turns = ''");
        assert_consistent(&mut first, "docs");
    }
}

/// The second search passes over the rows that the first one has found. Here the first finds a row that is dead, and a
/// near-duplicate takes its place between the two.
#[test]
fn a_near_duplicate_in_the_place_of_one_that_was_found_counts() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    create_docs(&mut first);
    let place = |client: &mut Client, id: i32| texts(client, &format!("SELECT ctid FROM docs WHERE id = {id}"));
    // A row that was rolled back is dead, whatever other transactions there are. The other shares no band with ours.
    second.run("BEGIN; INSERT INTO docs VALUES (1, text_of(24))");
    let place_of_first = place(&mut second, 1);
    second.run("ROLLBACK; INSERT INTO docs VALUES (2, text_of(1))");
    let insert = "INSERT INTO docs SELECT 20, text_of(24) || ' slow' ON CONFLICT DO NOTHING";
    let inserted;
    (first, inserted) = insert_slowly(first, insert.to_owned(), &mut second, |second| {
        second.run("VACUUM (INDEX_CLEANUP ON) docs");
        second.run("INSERT INTO docs VALUES (3, text_of(24))");
        assert_eq!(place(second, 3), place_of_first);
    });
    assert_eq!(inserted, 0);
    first.run("SET test.turns = ''");
    assert_eq!(texts(&mut first, "SELECT id FROM docs ORDER BY id"), ["2", "3"]);
    assert_consistent(&mut first, "docs");
}

/// One search leaves nothing to the next if the table was emptied in between, a subtransaction was rolled back or the
/// index was built again.
#[test]
fn a_search_remembers_nothing_of_a_table_that_was_emptied() {
    let mut client = database().connect();
    client.run(TEXT_OF);
    let rows = "INSERT INTO docs SELECT i, text_of(i) FROM generate_series(1, 1000) AS i ON CONFLICT DO NOTHING";
    for (between, expected) in [
        ("TRUNCATE docs", 1000),
        ("DELETE FROM docs", 1000),
        ("DELETE FROM docs WHERE id > 999", 1),
        ("REINDEX TABLE docs", 0),
        ("ALTER TABLE docs ALTER id TYPE bigint", 0),
        ("SAVEPOINT s; TRUNCATE docs; INSERT INTO docs SELECT 7, text_of(7); ROLLBACK TO s", 0),
        ("DECLARE c CURSOR FOR SELECT 1; DELETE FROM docs WHERE id = 1000", 1),
    ] {
        // A table of the same transaction is emptied in its file.
        client.run(
            "BEGIN; CREATE TABLE docs (id integer, body text, \
               EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=))",
        );
        assert_eq!(client.execute(rows, &[]).expect("rows"), 1000);
        // Each search comes to a conflict, so no second one follows.
        assert_eq!(client.execute(rows, &[]).expect("no rows"), 0);
        client.run(between);
        let copy = "INSERT INTO docs SELECT 2000, text_of(1000)";
        client.run("SAVEPOINT t");
        let plain = client.batch_execute(copy).map_err(|error| error.code().cloned());
        let refused = Err(Some(SqlState::EXCLUSION_VIOLATION));
        assert_eq!(plain, if expected == 0 { refused } else { Ok(()) }, "{between}");
        client.run("ROLLBACK TO t");
        assert_eq!(client.execute(rows, &[]).expect("rows again"), expected, "{between}");
        assert_eq!(texts(&mut client, "SELECT count(*) FROM docs"), ["1000"], "{between}");
        client.run("COMMIT");
        assert_consistent(&mut client, "docs");
        client.run("DROP TABLE docs");
    }
}

/// Two constraints, on partitions, by one statement: the rows that stay are those that a comparison of each row with
/// all before it leaves.
#[test]
fn constraints_accept_the_rows_that_comparing_all_accepts() {
    let mut client = database().connect();
    client.run(
        "CREATE TABLE docs (id integer, half integer, title text, body text) PARTITION BY LIST (half); \
         CREATE TABLE even PARTITION OF docs FOR VALUES IN (0); \
         CREATE TABLE odd PARTITION OF docs FOR VALUES IN (1); \
         ALTER TABLE even ADD EXCLUDE USING minlsh (minlsh_document(title, 0.8) WITH ~=), \
           ADD EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=); \
         ALTER TABLE odd ADD EXCLUDE USING minlsh (half WITH =, minlsh_document(body, 0.8) WITH ~=); \
         CREATE FUNCTION text_of(seed text, of integer) RETURNS text LANGUAGE sql RETURN \
           (SELECT string_agg(CASE WHEN md5(seed || of || ' ' || j) < 'a' \
             THEN substr(md5('template' || j), 1, 7) ELSE substr(md5(seed || of || j), 1, 7) END, ' ' ORDER BY j) \
            FROM generate_series(1, 60) AS j); \
         CREATE TABLE letters AS \
           SELECT i AS id, i % 2 AS half, \
             text_of('title', CASE WHEN i % 5 = 0 THEN i / 2 ELSE i END) || ' ' || i AS title, \
             text_of('body', CASE WHEN i % 7 < 2 THEN i / 3 ELSE i END) || ' ' || i AS body \
           FROM generate_series(1, 400) AS i; \
         CREATE TABLE compared (LIKE letters); \
         DO $$ \
         DECLARE letter letters; \
         BEGIN \
           FOR letter IN SELECT * FROM letters ORDER BY id LOOP \
             IF NOT EXISTS (SELECT FROM compared AS c WHERE c.half = letter.half \
               AND (minlsh_document(c.body, 0.8) ~= minlsh_document(letter.body, 0.8) \
                 OR c.half = 0 AND minlsh_document(c.title, 0.8) ~= minlsh_document(letter.title, 0.8))) \
             THEN \
               INSERT INTO compared SELECT letter.*; \
             END IF; \
           END LOOP; \
         END $$",
    );
    let rows = "INSERT INTO docs SELECT * FROM letters ORDER BY id ON CONFLICT DO NOTHING";
    let inserted = client.execute(rows, &[]).expect("rows");
    assert!((100..390).contains(&inserted), "{inserted}");
    let differences = "SELECT count(*) FROM docs FULL JOIN compared USING (id) WHERE docs IS NULL OR compared IS NULL";
    assert_eq!(texts(&mut client, differences), ["0"]);
    assert_eq!(client.execute(rows, &[]).expect("no rows"), 0);
    // In parts, with some of them rolled back, the same.
    client.run(
        "TRUNCATE docs; DO $$ BEGIN FOR part IN 0..39 LOOP \
           BEGIN \
             INSERT INTO docs SELECT * FROM letters WHERE id BETWEEN part * 10 + 1 AND part * 10 + 10 ORDER BY id \
               ON CONFLICT DO NOTHING; \
             IF part % 3 = 0 THEN RAISE division_by_zero; END IF; \
           EXCEPTION WHEN division_by_zero THEN \
             INSERT INTO docs SELECT * FROM letters WHERE id BETWEEN part * 10 + 1 AND part * 10 + 10 ORDER BY id \
               ON CONFLICT DO NOTHING; \
           END; \
         END LOOP; END $$",
    );
    assert_eq!(texts(&mut client, differences), ["0"]);
    for partition in ["even", "odd"] {
        assert_consistent(&mut client, partition);
    }
}

/// Two sessions add copies: one waits for the other if their ranges overlap, and only then.
#[test]
fn sessions_wait_for_copies_of_overlapping_ranges_alone() {
    let database = database();
    let mut first = database.connect();
    first.run(
        "CREATE TABLE posts (at timestamp, body text, \
           EXCLUDE USING minlsh (tsrange(at, at + '10 min') WITH &&, minlsh_document(body, 0.8) WITH ~=))",
    );
    let insert = "INSERT INTO posts SELECT $1::text::timestamp, repeat(md5('post'), 2) ON CONFLICT DO NOTHING";
    for (end, expected) in [("COMMIT", 0), ("ROLLBACK", 1)] {
        first.run("TRUNCATE posts");
        first.run("BEGIN");
        first.execute(insert, &[&"2026-03-01 10:58"]).expect("the first");
        let mut second = database.connect();
        for free in ["2026-03-01 11:08", "2026-03-01 10:48", "infinity"] {
            second.run("SET lock_timeout = '10s'");
            assert_eq!(second.execute(insert, &[&free]).expect("no wait"), 1);
        }
        let waiting = blocked(&database, move |third| third.execute(insert, &[&"2026-03-01 11:01"]));
        first.run(end);
        // The row of 11:08 is in the way of one of 11:01, whatever the first does.
        let inserted = waiting.join().expect("thread").expect("no error");
        assert_eq!(inserted, 0, "{end}");
        assert_eq!(second.execute(insert, &[&"2026-03-01 10:58"]).expect("no error"), expected, "{end}");
        assert_consistent(&mut first, "posts");
    }
}

/// Rows of few authors and texts, with ranges of all kinds.
const DRAWN: &str = "SELECT i AS id, nullif(floor(random() * 4)::int, 3) AS author, CASE floor(random() * 12)::int \
     WHEN 0 THEN NULL WHEN 1 THEN 'empty' WHEN 2 THEN '(,)' WHEN 3 THEN int4range(a, NULL) \
     WHEN 4 THEN int4range(NULL, a) \
     ELSE int4range(a, a + floor(random() * 9)::int, ('{[),(],[],()}'::text[])[1 + i % 4]) END AS during, \
     CASE WHEN text > 0 THEN (SELECT string_agg(md5(text || ' ' || word), ' ') FROM generate_series(1, 4) AS word) \
       || repeat('!', i % 3) END AS body \
     FROM (SELECT i, floor(random() * 200)::int AS a, floor(random() * 6)::int AS text \
       FROM generate_series(1, 600) AS i OFFSET 0) AS of";

/// Constraints with a column of ranges keep out what a comparison of each row with all before it keeps out, and their
/// indexes find what a scan of the table finds.
#[test]
fn constraints_with_ranges_accept_the_rows_that_comparing_all_accepts() {
    let (mut client, mut random) = (database().connect(), Random::by_the_clock());
    let document = "minlsh_document(body, 0.8)";
    for (columns, of_author) in [
        (format!("author WITH =, during WITH &&, {document} WITH ~="), true),
        (format!("{document} WITH ~=, during WITH &&, author WITH ="), true),
        (format!("during WITH &&, {document} WITH ~="), false),
        (format!("(int4multirange(during)) WITH &&, {document} WITH ~=, during WITH &&"), false),
    ] {
        let seed = f64::from(random.seed() as u32) / f64::from(u32::MAX);
        let same_author = if of_author { "c.author = d.author" } else { "true" };
        client.run(&format!(
            "DROP TABLE IF EXISTS drawn, docs, one_by_one, compared; SELECT setseed({seed}); \
             CREATE TABLE drawn AS {DRAWN}; \
             CREATE TABLE compared AS SELECT * FROM drawn LIMIT 0; \
             CREATE TABLE docs (LIKE drawn, CONSTRAINT near EXCLUDE USING minlsh ({columns})); \
             CREATE TABLE one_by_one (LIKE drawn, EXCLUDE USING minlsh ({columns})); \
             INSERT INTO docs SELECT * FROM drawn ORDER BY id ON CONFLICT DO NOTHING; \
             DO $$ DECLARE d drawn; BEGIN \
               FOR d IN SELECT * FROM drawn ORDER BY id LOOP \
                 INSERT INTO compared SELECT d.* WHERE NOT EXISTS (SELECT FROM compared AS c \
                   WHERE {same_author} AND c.during && d.during \
                   AND minlsh_document(c.body, 0.8) ~= minlsh_document(d.body, 0.8)); \
                 BEGIN \
                   INSERT INTO one_by_one SELECT d.*; \
                 EXCEPTION WHEN exclusion_violation THEN \
                 END; \
               END LOOP; \
             END $$",
        ));
        assert_same(&mut client, "TABLE docs", "TABLE compared");
        assert_same(&mut client, "TABLE one_by_one", "TABLE compared");
        let kept: u32 = texts(&mut client, "SELECT count(*) FROM docs")[0].parse().expect("a number");
        assert!((150..500).contains(&kept), "{kept} of 600 rows");
        assert_consistent(&mut client, "near");
        // Searches of all rows, which the constraint has not thinned out.
        client.run(&format!(
            "ALTER TABLE docs DROP CONSTRAINT near; INSERT INTO docs TABLE drawn; ANALYZE docs; \
             CREATE INDEX near ON docs USING minlsh ({})",
            columns.replace(" WITH =", "").replace(" WITH &&", "").replace(" WITH ~=", "")
        ));
        let author = if of_author { "author = 1 AND " } else { "" };
        for _ in 0..30 {
            let (from, text) = (random.below(200), 1 + random.below(5));
            let sought = format!("(SELECT string_agg(md5('{text} ' || word), ' ') FROM generate_series(1, 4) AS word)");
            let sought = texts(&mut client, &format!("SELECT {sought}")).remove(0);
            let range = random.pick(&[
                "&& '(,)'",
                "&& '(,FROM]'",
                "&& '[FROM,)'",
                "&& '[FROM,FROM]'",
                "&& 'empty'",
                "&& '{[3,9),[FROM,)}'::int4multirange",
                "&& (SELECT NULL::int4range)",
                "@> FROM",
                "IS NOT NULL",
                "IS NULL",
            ]);
            let range = range.replace("FROM", &from.to_string());
            let query = format!(
                "SELECT id FROM docs WHERE {author}during {range} AND {document} ~= '{sought}'::text ORDER BY id"
            );
            let [seq, bitmap, index] = by_each_plan(&mut client, &query);
            assert_eq!(seq, bitmap, "{query}");
            assert_eq!(seq, index, "{query}");
        }
        client.run("RESET ALL");
    }
}

#[test]
fn a_backend_that_is_terminated_amid_a_check_leaves_no_lock() {
    let database = database();
    let mut observer = database.connect();
    observer.run(
        "CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=)); \
         CREATE TABLE long AS SELECT string_agg(md5(i::text), ' ') AS body FROM generate_series(1, 150000) i",
    );
    let insert = "INSERT INTO docs SELECT body FROM long";
    let start = Instant::now();
    database.connect().run(&format!("BEGIN; {insert}; ROLLBACK"));
    let all = start.elapsed();
    for part in 1..=24 {
        let mut client = database.connect();
        let pid = backend(&mut client);
        client.execute("INSERT INTO docs VALUES (md5($1))", &[&part.to_string()]).expect("a row");
        let inserting =
            std::thread::spawn(move || client.batch_execute(&format!("BEGIN; {insert}; SELECT pg_sleep(600)")));
        std::thread::sleep(all * part / 24);
        observer.execute("SELECT pg_terminate_backend($1)", &[&pid]).expect("a termination");
        inserting.join().expect("thread").expect_err("a terminated backend");
        let here = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
        wait_until("the end of the backend", || texts(&mut observer, &here) == ["0"]);
        let held = format!("SELECT count(*) FROM pg_locks WHERE pid = {pid}");
        assert_eq!(texts(&mut observer, &held), ["0"], "after {part} of 24 parts");
    }
    // No session holds a lock, and another session goes on.
    observer.run("SET lock_timeout = '30s'; TRUNCATE docs");
    observer.run(insert);
}
