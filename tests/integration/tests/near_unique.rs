//! Two sessions that add near-duplicates at once: the constraint, and SERIALIZABLE, let one of them.

use minlsh_integration::near::{docs, only};
use minlsh_integration::{
    SqlState, assert_consistent, backend, database, texts, wait_until_blocked,
};

#[test]
fn write_skew_between_near_duplicates_is_found() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    docs(&mut first, 1_000);
    first
        .batch_execute("CREATE INDEX near ON docs USING minlsh (body); ANALYZE docs")
        .expect("an index");
    let look = "SELECT count(*) FROM docs WHERE body ~= minlsh_document('a text that two sessions add at once', 0.9)";
    for plan in ["bitmapscan", "indexscan"] {
        for session in [&mut first, &mut second] {
            only(session, plan);
            session.batch_execute("BEGIN ISOLATION LEVEL SERIALIZABLE").expect("BEGIN");
            assert_eq!(texts(session, look), ["0"]);
            let locks = "SELECT count(*) > 1 FROM pg_locks WHERE mode = 'SIReadLock' AND locktype = 'page' \
                         AND relation = 'near'::regclass AND pid = pg_backend_pid()";
            assert_eq!(texts(session, locks), ["t"], "{plan}");
        }
        let insert = "INSERT INTO docs SELECT 2000000 + pg_backend_pid(), 1, 0, 'a text that two sessions add at once'";
        first.batch_execute(insert).expect("the first");
        let refused = second.batch_execute(insert).and_then(|()| second.batch_execute("SELECT 1"));
        let first_end = first.batch_execute("COMMIT");
        let second_end = refused.and_then(|()| second.batch_execute("COMMIT"));
        let failed: Vec<_> = [first_end, second_end].into_iter().filter_map(Result::err).collect();
        assert_eq!(failed.len(), 1, "{plan}");
        assert_eq!(failed[0].code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{plan}");
        second.batch_execute("ROLLBACK; DELETE FROM docs WHERE id > 2000000").expect("rollback");
    }
}

#[test]
fn two_sessions_never_both_get_a_near_duplicate_in() {
    let database = database();
    let mut first = database.connect();
    first
        .batch_execute("CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=))")
        .expect("a table");
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
        let text =
            texts(&mut observer, &format!("SELECT repeat(md5('{number}') || ' ', 2)")).remove(0);
        first.batch_execute("BEGIN").expect("BEGIN");
        first.execute("INSERT INTO docs VALUES ($1)", &[&text]).expect("the first");
        let mut second = database.connect();
        let pid = backend(&mut second);
        let waiting = std::thread::spawn(move || {
            second.execute(&format!("INSERT INTO docs VALUES ($1 || '!') {conflict}"), &[&text])
        });
        wait_until_blocked(&mut observer, pid);
        first.batch_execute(end).expect("the end");
        let got = waiting.join().expect("thread");
        let got = got
            .map_err(|error| error.code().map_or_else(String::new, |code| code.code().to_owned()));
        assert_eq!(got, outcome.map_err(str::to_owned), "{end}, {conflict}");
    }
    assert_consistent(&mut first, "docs");
}

#[test]
fn of_many_sessions_one_gets_each_text_in() {
    let database = database();
    let mut client = database.connect();
    client
        .batch_execute("CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=))")
        .expect("a table");
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
    first
        .batch_execute(
            "CREATE TABLE docs (id integer, body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=)); \
             CREATE TABLE letters AS SELECT i AS id, string_agg(md5(i || ' ' || j), ' ') AS body \
             FROM generate_series(1, 6) AS i, generate_series(1, 20) AS j GROUP BY i",
        )
        .expect("tables");
    first
        .batch_execute(
            "BEGIN; INSERT INTO docs SELECT * FROM letters WHERE id = 1; SAVEPOINT s; \
             INSERT INTO docs SELECT * FROM letters WHERE id IN (2, 3) ORDER BY id; \
             INSERT INTO docs SELECT * FROM letters WHERE id = 4",
        )
        .expect("rows");
    let place = "SELECT ctid FROM docs WHERE id =";
    let place_of_two = texts(&mut first, &format!("{place} 2"));
    first.batch_execute("ROLLBACK TO s").expect("a rollback");
    second.batch_execute("VACUUM (INDEX_CLEANUP ON) docs").expect("VACUUM");
    second.batch_execute("INSERT INTO docs SELECT * FROM letters WHERE id = 5").expect("a row");
    assert_eq!(texts(&mut second, &format!("{place} 5")), place_of_two);
    let copy =
        "INSERT INTO docs SELECT 6, body || '!' FROM letters WHERE id = 5 ON CONFLICT DO NOTHING";
    assert_eq!(first.execute(copy, &[]).expect("a copy"), 0);
    let refused = first.batch_execute(&copy.replace(" ON CONFLICT DO NOTHING", ""));
    let code = refused.expect_err("a near-duplicate").code().cloned();
    assert_eq!(code, Some(SqlState::EXCLUSION_VIOLATION));
    first.batch_execute("ROLLBACK").expect("ROLLBACK");
    assert_consistent(&mut first, "docs");
}

/// An INSERT ... ON CONFLICT searches before and after the insertion. Here another session adds a near-duplicate
/// between the two, and VACUUM passes by, while most of what both find was ruled out by the first.
#[test]
fn a_near_duplicate_that_came_between_the_two_searches_counts() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    // The constraint's expression has a marked text wait for the lock of an advisory key, the second time.
    first
        .batch_execute(
            "CREATE FUNCTION second_time_slow(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ \
             BEGIN \
               IF body LIKE '%slow' AND current_setting('test.turns', true) <> '' THEN \
                 PERFORM set_config('test.turns', (current_setting('test.turns')::integer + 1)::text, false); \
                 IF current_setting('test.turns') = '2' THEN \
                   PERFORM pg_advisory_lock(1), pg_advisory_unlock(1); \
                 END IF; \
               END IF; \
               RETURN body; \
             END $$; \
             CREATE TABLE docs (id integer, body text, \
               EXCLUDE USING minlsh (minlsh_document(second_time_slow(body), 0.8) WITH ~=)); \
             CREATE TABLE letters AS SELECT i AS id, string_agg(CASE WHEN md5(i || ' ' || j) < '4' \
               THEN substr(md5(i || 'own' || j), 1, 7) ELSE substr(md5('template' || j), 1, 7) END, ' ' ORDER BY j) \
               AS body \
             FROM generate_series(1, 60) AS i, generate_series(1, 60) AS j GROUP BY i",
        )
        .expect("tables");
    // Whether the other one commits a near-duplicate, and how many rows that leaves for us.
    for (number, (copies, expected)) in [(true, 0), (false, 1)].into_iter().enumerate() {
        let id = 51 + number;
        first
            .batch_execute("BEGIN; INSERT INTO docs SELECT * FROM letters WHERE id <= 50 ON CONFLICT DO NOTHING")
            .expect("letters");
        first
            .batch_execute("DELETE FROM docs WHERE id = 7; INSERT INTO docs SELECT * FROM letters WHERE id = 7")
            .expect("a row that came again");
        let kept = texts(&mut first, "SELECT count(*) FROM docs");
        second.batch_execute("SELECT pg_advisory_lock(1)").expect("a lock");
        let pid = backend(&mut first);
        let waiting = std::thread::spawn(move || {
            let insert = format!(
                "INSERT INTO docs SELECT id, body || ' slow' FROM letters WHERE id = {id} ON CONFLICT DO NOTHING"
            );
            first.batch_execute("SET test.turns = '0'").expect("a setting");
            let inserted = first.execute(&insert, &[]).expect("an insertion");
            (first, inserted)
        });
        wait_until_blocked(&mut second, pid);
        if copies {
            second
                .batch_execute(&format!(
                    "INSERT INTO docs SELECT id, body FROM letters WHERE id = {id}"
                ))
                .expect("a near-duplicate");
        }
        second.batch_execute("VACUUM (INDEX_CLEANUP ON) docs").expect("VACUUM");
        second.batch_execute("SELECT pg_advisory_unlock(1)").expect("no lock");
        let inserted;
        (first, inserted) = waiting.join().expect("a thread");
        assert_eq!(inserted, expected, "copies: {copies}");
        let of_both = texts(&mut first, "SELECT count(*) FROM docs");
        assert_eq!(of_both[0].parse::<i32>(), kept[0].parse::<i32>().map(|kept| kept + 1));
        first.batch_execute("ROLLBACK; SET test.turns = ''").expect("ROLLBACK");
        assert_consistent(&mut first, "docs");
    }
}
