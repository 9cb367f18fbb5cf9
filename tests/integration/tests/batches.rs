//! Statements that insert several rows: from PostgreSQL 17 on, the entries of an index wait until the statement ends,
//! or until it is read. Whatever a statement runs sees the rows that it would see without the index, and index and
//! table agree whichever way the statement and its subtransactions end.

use std::io::Write as _;
use std::time::Duration;

use minlsh_integration::near::each;
use minlsh_integration::{
    Client, Random, Run, Server, SqlState, assert_consistent, backend, blocked, cancel, database, texts, wait_until,
    wait_until_blocked,
};

/// Makes functions, and the table `docs` with its index. Texts that `text_of` makes from one `template` are similar.
///
/// `compare(asked)` raises an error unless the index finds what reading the table finds, in a parallel worker and in
/// this process, and returns how many rows that are. The worker comes first and by a plan that is kept, as a search or
/// a new plan in this process would insert what waits.
const SCENE: &str = "\
     CREATE FUNCTION text_of(template integer, i integer) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql RETURN \
       (SELECT string_agg(md5(template || ' ' || j), ' ') FROM generate_series(1, 12) AS j) || ' ' || i; \
     CREATE TABLE docs (id integer PRIMARY KEY, body text); \
     CREATE INDEX near ON docs USING minlsh (body); \
     CREATE FUNCTION compare(asked text) RETURNS integer LANGUAGE plpgsql AS $$ \
     DECLARE \
       query text := 'SELECT coalesce(array_agg(id ORDER BY id), ''{}'') FROM docs \
                      WHERE body ~= minlsh_document($1, 0.8)'; \
       plan text; \
       answers integer[][] := '{}'; \
       answer integer[]; \
       of_worker integer; \
     BEGIN \
       PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true), \
         set_config(name, 'on', true) FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode'); \
       PERFORM id FROM docs WHERE body ~= minlsh_document(asked, 0.8); \
       GET DIAGNOSTICS of_worker = ROW_COUNT; \
       PERFORM set_config(name, 'off', true) FROM pg_settings \
         WHERE name IN ('debug_parallel_query', 'force_parallel_mode'); \
       FOR plan IN SELECT unnest(ARRAY['seqscan', 'bitmapscan', 'indexscan']) LOOP \
         PERFORM set_config('enable_seqscan', (plan = 'seqscan')::text, true); \
         PERFORM set_config('enable_bitmapscan', (plan = 'bitmapscan')::text, true); \
         PERFORM set_config('enable_indexscan', (plan = 'indexscan')::text, true); \
         EXECUTE query INTO answer USING asked; \
         IF plan = 'seqscan' THEN \
           answers := answer; \
         ELSIF answers <> answer THEN \
           RAISE EXCEPTION '% finds % of %', plan, answer, answers; \
         END IF; \
       END LOOP; \
       IF of_worker <> cardinality(answers) THEN \
         RAISE EXCEPTION 'a worker finds % rows of %', of_worker, answers; \
       END IF; \
       RETURN cardinality(answers); \
     END $$; \
     CREATE TABLE found (what text, count integer); \
     CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ \
     BEGIN \
       INSERT INTO found SELECT TG_NAME, compare(NEW.body); \
       RETURN NEW; \
     END $$";

/// A database with the [`SCENE`].
fn scene() -> (minlsh_integration::Database<'static>, Client) {
    let database = database();
    let mut client = database.connect();
    client.run(SCENE);
    (database, client)
}

/// Copies rows of one template, from `first` to `last`, into `docs`.
fn copy(client: &mut Client, first: u32, last: u32) {
    let texts =
        texts(client, &format!("SELECT i || E'\\t' || text_of(1, i) FROM generate_series({first}, {last}) AS i"));
    let mut writer = client.copy_in("COPY docs FROM STDIN").expect("COPY");
    writer.write_all((texts.join("\n") + "\n").as_bytes()).expect("rows");
    writer.finish().expect("the end of COPY");
}

/// A query of rows from `first` to `last` whose texts begin with an expression of the row's number `i`. It calls no
/// function with a query of its own, before which the entries that wait would be inserted, and needs no files itself.
fn rows(first: u32, last: u32, begin: &str) -> String {
    let numbers = format!("SELECT generate_series({first}, {last}) AS i");
    format!("SELECT i, {begin} || md5(i::text) || ' ' || md5((-i)::text) FROM ({numbers}) AS numbers")
}

#[test]
fn triggers_and_functions_see_the_rows_of_their_statement() {
    let (_database, mut client) = scene();
    for (number, (event, statement)) in [
        ("BEFORE INSERT", "INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(1, 9) AS i"),
        ("AFTER INSERT", "INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(11, 19) AS i"),
        ("BEFORE INSERT", "COPY"),
        ("AFTER INSERT", "COPY"),
        ("AFTER UPDATE", "UPDATE docs SET body = text_of(2, id)"),
        ("BEFORE UPDATE", "UPDATE docs SET body = text_of(1, id)"),
        (
            "AFTER INSERT OR UPDATE",
            "INSERT INTO docs SELECT i, text_of(3, i) FROM generate_series(51, 59) AS i \
             ON CONFLICT (id) DO UPDATE SET body = excluded.body",
        ),
        (
            "BEFORE INSERT OR UPDATE",
            "MERGE INTO docs USING (SELECT i, text_of(4, i) AS body FROM generate_series(55, 65) AS i) AS new \
             ON docs.id = new.i WHEN MATCHED THEN UPDATE SET body = new.body \
             WHEN NOT MATCHED THEN INSERT VALUES (new.i, new.body)",
        ),
        (
            "AFTER INSERT",
            "WITH first AS (INSERT INTO docs SELECT i, text_of(5, i) FROM generate_series(71, 75) AS i RETURNING id), \
             second AS (INSERT INTO docs SELECT i, text_of(5, i) FROM generate_series(81, 85) AS i RETURNING id) \
             SELECT count(*) FROM first, second",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        client
            .run(&format!("TRUNCATE found; CREATE TRIGGER look {event} ON docs FOR EACH ROW EXECUTE FUNCTION look()"));
        if statement == "COPY" {
            let first = 100 * u32::try_from(number).expect("few");
            copy(&mut client, first, first + 8);
        } else {
            client.run(statement);
        }
        let most = texts(&mut client, "SELECT max(count) >= 5 FROM found");
        assert_eq!(most, ["t"], "{event}: {statement}");
        client.run("DROP TRIGGER look ON docs");
        assert_consistent(&mut client, "near");
    }
    let returned = texts(
        &mut client,
        "INSERT INTO docs SELECT i, text_of(6, i) FROM generate_series(1001, 1006) AS i RETURNING compare(body)",
    );
    assert_eq!(returned, ["1", "2", "3", "4", "5", "6"]);
    assert_consistent(&mut client, "near");
}

#[test]
fn a_cursor_that_was_open_before_sees_what_it_saw() {
    let (_database, mut client) = scene();
    client.run(
        "INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(1, 20) AS i; \
         CREATE FUNCTION fetch_one() RETURNS trigger LANGUAGE plpgsql AS $$ \
         DECLARE c refcursor := TG_ARGV[0]; \
                 id integer; \
         BEGIN \
           FETCH c INTO id; \
           INSERT INTO found VALUES (c, id); \
           RETURN NEW; \
         END $$; \
         SET enable_seqscan = off; SET enable_bitmapscan = off",
    );
    // Without a row that was read before, and with one.
    for (name, before) in [("late", 0), ("early", 1)] {
        client.run(&format!(
            "CREATE TRIGGER look BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION fetch_one('{name}'); \
             BEGIN; DECLARE {name} CURSOR FOR SELECT id FROM docs WHERE body ~= minlsh_document(text_of(1, 1), 0.8); \
             FETCH {before} FROM {name}; \
             INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(101, 130) AS i; \
             CLOSE {name}; COMMIT; DROP TRIGGER look ON docs; DELETE FROM docs WHERE id > 100"
        ));
        let seen = texts(&mut client, &format!("SELECT count(*) FROM found WHERE what = '{name}' AND count <= 20"));
        assert_eq!(seen, [(20 - before).to_string()], "{name}");
    }
    assert_consistent(&mut client, "near");
}

#[test]
fn what_is_rolled_back_has_no_entries_in_the_places_of_other_rows() {
    let (database, mut client) = scene();
    // Stops amid its statement, rolls back what it has inserted, and waits while others take the places.
    client.run(
        "CREATE FUNCTION fail(lines integer) RETURNS integer LANGUAGE plpgsql AS $$ \
         BEGIN \
           BEGIN \
             INSERT INTO docs SELECT 1000 + i, text_of(2, i / (lines - i)) FROM generate_series(1, lines) AS i; \
           EXCEPTION WHEN division_by_zero THEN \
             NULL; \
           END; \
           PERFORM pg_advisory_lock(1), pg_advisory_unlock(1); \
           RETURN lines; \
         END $$",
    );
    let mut other = database.connect();
    for outer in [
        "INSERT INTO docs SELECT i, text_of(1, CASE i WHEN 5 THEN fail(30) ELSE i END) FROM generate_series(1, 9) AS i",
        "BEGIN; SELECT fail(30); INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(1, 9) AS i; COMMIT",
        "BEGIN; SAVEPOINT s; INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(11, 19) AS i; \
         ROLLBACK TO s; SELECT fail(30); INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(1, 9) AS i; \
         COMMIT",
    ] {
        other.run("SELECT pg_advisory_lock(1)");
        let waiting = blocked(&database, move |session| session.run(outer));
        other.run("VACUUM (INDEX_CLEANUP ON) docs");
        other.run("INSERT INTO docs SELECT 2000 + i, text_of(3, i) FROM generate_series(1, 40) AS i");
        other.run("SELECT pg_advisory_unlock(1)");
        waiting.join().expect("thread");
        assert_eq!(texts(&mut other, "SELECT count(*) FROM docs"), ["49"], "{outer}");
        assert_consistent(&mut other, "near");
        other.run("TRUNCATE docs");
    }
}

#[test]
fn a_row_that_on_conflict_takes_back_has_no_entries_in_the_place_of_another() {
    let database = database();
    let (mut first, mut other) = (database.connect(), database.connect());
    // The index is older than the unique one, so its entries come first.
    first.run(
        "CREATE FUNCTION slow(id integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ \
         BEGIN \
           IF id IN (2, 7) AND current_setting('test.turns', true) <> '' THEN \
             PERFORM set_config('test.turns', (current_setting('test.turns')::integer + 1)::text, false); \
             IF current_setting('test.turns') IN ('2', '5') THEN \
               PERFORM pg_advisory_lock(id), pg_advisory_unlock(id); \
             END IF; \
           END IF; \
           RETURN id; \
         END $$; \
         CREATE TABLE docs (id integer, body text); \
         CREATE INDEX near ON docs USING minlsh (body); \
         CREATE UNIQUE INDEX one ON docs (slow(id)); \
         SET test.turns = '0'",
    );
    let pid = backend(&mut first);
    other.run("SELECT pg_advisory_lock(2), pg_advisory_lock(7)");
    let insert = "INSERT INTO docs SELECT i, string_agg(md5(i || ' ' || j), ' ') \
                  FROM generate_series(1, 9) AS i, generate_series(1, 20) AS j GROUP BY i ORDER BY i \
                  ON CONFLICT DO NOTHING";
    std::thread::scope(|scope| {
        let inserting = scope.spawn(|| first.execute(insert, &[]));
        wait_until_blocked(&mut other, pid);
        // It has not been seen when the insertion looked for conflicts.
        other.run("INSERT INTO docs VALUES (2, 'another two')");
        other.run("SELECT pg_advisory_unlock(2)");
        wait_until("the insertion waits at the next row", || {
            let at = "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
            texts(&mut other, at) == ["7"]
        });
        other.run("VACUUM (INDEX_CLEANUP ON) docs");
        other.run("INSERT INTO docs VALUES (20, 'in its place')");
        assert_eq!(texts(&mut other, "SELECT ctid FROM docs WHERE id = 20"), ["(0,2)"], "the place of the row");
        other.run("SELECT pg_advisory_unlock(7)");
        assert_eq!(inserting.join().expect("thread").expect("the insertion"), 8);
    });
    assert_consistent(&mut other, "near");
}

#[test]
fn a_cancelled_insertion_that_is_caught_loses_and_repeats_no_entry() {
    let (database, mut client) = scene();
    // The entries of the outer statement are inserted when the inner one begins, which catches the cancellation.
    client.run(
        "CREATE FUNCTION read() RETURNS integer LANGUAGE plpgsql AS $$ \
         BEGIN \
           RETURN count(*) FROM found; \
         EXCEPTION WHEN query_canceled THEN \
           RETURN -1; \
         END $$",
    );
    let (mut observer, pid) = (database.connect(), backend(&mut client));
    let mut random = Random::new(minlsh_integration::seed("batches"));
    let caught = "SELECT count(*) FROM docs WHERE body LIKE '-1%'";
    let mut turn = 0;
    while turn < 5 || texts(&mut client, caught)[0].parse::<u32>().expect("a count") < 3 {
        turn += 1;
        assert!(turn < 300, "none was caught");
        // In memory, or in files too.
        let memory = if turn % 2 == 0 { "4MB" } else { "256kB" };
        let caught =
            rows(turn * 100_000, turn * 100_000 + 4001, "CASE WHEN i % 1000 = 0 THEN read() || ' ' ELSE '' END");
        let insert = format!("SET work_mem = '{memory}'; INSERT INTO docs {caught}");
        std::thread::scope(|scope| {
            let session = &mut client;
            let inserting = scope.spawn(move || session.batch_execute(&insert));
            std::thread::sleep(Duration::from_millis(random.below(400) as u64));
            cancel(&mut observer, pid);
            if let Err(error) = inserting.join().expect("thread") {
                assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
            }
        });
    }
    assert_consistent(&mut client, "near");
    client.run("VACUUM docs");
    assert_consistent(&mut client, "near");
}

#[test]
fn a_session_that_is_ended_leaves_nothing() {
    let (database, mut client) = scene();
    for wait in [20, 100, 300] {
        let mut session = database.connect();
        let pid = backend(&mut session);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let insert = "INSERT INTO docs SELECT i, md5(i::text) FROM generate_series(1, 1000000) AS i";
                assert!(session.batch_execute(insert).is_err(), "it was ended");
            });
            std::thread::sleep(Duration::from_millis(wait));
            let _ = texts(&mut client, &format!("SELECT pg_terminate_backend({pid})"));
        });
    }
    assert_eq!(texts(&mut client, "SELECT count(*) FROM docs"), ["0"]);
    assert_consistent(&mut client, "near");
}

#[test]
fn partitions_share_the_memory() {
    let (_database, mut client) = scene();
    client.run(
        "CREATE TABLE parts (id integer, body text) PARTITION BY HASH (id); \
         CREATE INDEX parts_near ON parts USING minlsh (body); \
         SET work_mem = '64kB'",
    );
    let names: Vec<String> = (0..40).map(|part| format!("parts_{part}")).collect();
    for (part, name) in names.iter().enumerate() {
        client.run(&format!("CREATE TABLE {name} PARTITION OF parts FOR VALUES WITH (MODULUS 40, REMAINDER {part})"));
    }
    client.run(&format!("INSERT INTO parts {}", rows(1, 2000, "''")));
    // To other partitions, and then by way of files.
    client.run("UPDATE parts SET id = id + 10000; SET work_mem = '256kB'; UPDATE parts SET id = id + 10000");
    client.run("SET work_mem = '4MB'; UPDATE parts SET id = id + 10000; UPDATE parts SET body = body || '!'");
    for name in names {
        assert_consistent(&mut client, &format!("{name}_body_idx"));
    }
}

#[test]
fn what_exceeds_work_mem_waits_in_files() {
    let (database, mut client) = scene();
    // Number of files of this session at every 100th row.
    let own = "(SELECT pg_ls_dir('base/pgsql_tmp', true, false) AS name) AS files \
               WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%'";
    let files = format!("CASE WHEN i % 100 = 0 THEN (SELECT count(*) FROM {own} AND i > 0) || ' ' ELSE '' END");
    for (settings, most) in [
        ("work_mem = '64kB'", "0"),
        ("work_mem = '256kB'", "2"),
        ("work_mem = '1MB'", "2"),
        ("work_mem = '4MB'", "0"),
        ("temp_file_limit = '1GB'; SET work_mem = '1MB'", "0"),
    ] {
        client.run(&format!("TRUNCATE docs; SET {settings}; INSERT INTO docs {}", rows(1, 8_000, &files)));
        let seen = texts(&mut client, "SELECT max(substring(body FROM '^\\d+ ')) FROM docs WHERE id % 100 = 0");
        assert_eq!(seen, [format!("{most} ")], "{settings}");
        assert_consistent(&mut client, "near");
        client.run("RESET ALL");
    }
    let left = &format!("SELECT count(*) FROM {own}");
    assert_eq!(texts(&mut client, left), ["0"]);

    // A trigger that reads, and a statement that fails, amid files.
    let mut other = database.connect();
    let same = "(SELECT string_agg(md5(j::text), ' ') FROM generate_series(1, 20) AS j)";
    client.run(&format!(
        "SET work_mem = '256kB'; TRUNCATE docs, found; \
         CREATE TRIGGER look BEFORE INSERT ON docs FOR EACH ROW WHEN (NEW.id IN (2000, 2900)) EXECUTE FUNCTION look(); \
         INSERT INTO docs {}; \
         DROP TRIGGER look ON docs; \
         DO $$ BEGIN INSERT INTO docs {}; EXCEPTION WHEN division_by_zero THEN NULL; END $$; \
         INSERT INTO docs {}",
        rows(1, 5000, &format!("CASE WHEN i % 2 = 0 THEN {same} ELSE '' END")),
        rows(5001, 9000, "(1 / (8000 - i))"),
        rows(9001, 12_000, "''"),
    ));
    assert_eq!(texts(&mut client, "SELECT count FROM found ORDER BY count"), ["999", "1449"]);
    assert_eq!(texts(&mut client, left), ["0"]);
    other.run("VACUUM (INDEX_CLEANUP ON) docs");
    other.run(&format!("INSERT INTO docs {}", rows(20_000, 23_000, "''")));
    assert_eq!(texts(&mut other, "SELECT count(*) FROM docs"), ["11001"]);
    assert_consistent(&mut other, "near");
}

#[test]
fn a_transaction_changes_the_table_after_its_statement() {
    let (_database, mut client) = scene();
    let insert = |first: u32| {
        format!("INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series({first}, {first} + 20) AS i")
    };
    for (change, end) in [
        ("TRUNCATE docs", "COMMIT"),
        ("TRUNCATE docs", "ROLLBACK TO s; COMMIT"),
        ("REINDEX INDEX near", "COMMIT"),
        ("REINDEX INDEX near", "ROLLBACK TO s; COMMIT"),
        ("CLUSTER docs USING docs_pkey", "COMMIT"),
        ("CLUSTER docs USING docs_pkey", "ROLLBACK TO s; COMMIT"),
        ("ALTER TABLE docs ALTER id TYPE bigint", "ROLLBACK"),
        ("ALTER TABLE docs SET UNLOGGED", "COMMIT"),
        ("DROP INDEX near", "ROLLBACK TO s; COMMIT"),
        ("DROP TABLE docs", "ROLLBACK"),
        ("DROP INDEX near; CREATE INDEX near ON docs USING minlsh (body)", "COMMIT"),
        ("DELETE FROM docs", "COMMIT"),
    ] {
        each(&mut client, &format!("TRUNCATE docs; BEGIN; {}; SAVEPOINT s; {change}", insert(1)));
        if !change.starts_with("DROP INDEX near") && !change.starts_with("DROP TABLE") {
            client.run(&insert(100));
        }
        each(&mut client, end);
        assert_consistent(&mut client, "near");
        client.run("VACUUM docs");
        assert_consistent(&mut client, "near");
    }
}

#[test]
fn a_new_table_is_filled_in_its_transaction() {
    let (_database, mut client) = scene();
    client.run(
        "BEGIN; CREATE TABLE new (id integer, body text); CREATE INDEX new_near ON new USING minlsh (body); \
         INSERT INTO new SELECT i, text_of(1, i) FROM generate_series(1, 50) AS i; COMMIT; \
         CREATE TEMPORARY TABLE old (id integer, body text) ON COMMIT DELETE ROWS; \
         CREATE INDEX old_near ON old USING minlsh (body)",
    );
    client.run("BEGIN; INSERT INTO old SELECT i, text_of(1, i) FROM generate_series(1, 50) AS i; COMMIT");
    let rows = texts(&mut client, "SELECT E'1\\t' || text_of(1, i) FROM generate_series(1, 50) AS i").join("\n");
    each(&mut client, "BEGIN; TRUNCATE new");
    let mut writer = client.copy_in("COPY new FROM STDIN (FREEZE)").expect("COPY");
    writer.write_all(rows.as_bytes()).expect("rows");
    writer.finish().expect("the end of COPY");
    client.run("COMMIT");
    assert_consistent(&mut client, "new_near");
    assert_consistent(&mut client, "old_near");
}

#[test]
fn a_prepared_transaction_has_its_entries() {
    let server = Server::start_with(&["max_prepared_transactions = 2"]);
    let mut client = server.connect("postgres");
    client.run("CREATE EXTENSION minlsh");
    client.run(SCENE);
    client.run(
        "BEGIN; INSERT INTO docs SELECT i, text_of(1, i) FROM generate_series(1, 50) AS i; \
         PREPARE TRANSACTION 'one'",
    );
    server.crash();
    server.launch();
    server.wait_ready();
    let mut client = server.connect("postgres");
    client.run("COMMIT PREPARED 'one'");
    assert_eq!(texts(&mut client, "SELECT compare(text_of(1, 1))"), ["50"]);
    assert_consistent(&mut client, "near");
}

#[test]
fn serializable_sessions_do_not_both_insert_what_neither_saw() {
    let (database, mut first) = scene();
    let mut second = database.connect();
    first.run("INSERT INTO docs SELECT -i, text_of(i, 1) FROM generate_series(1, 500) AS i; ANALYZE docs");
    let look = "SELECT count(*) FROM docs WHERE body ~= minlsh_document(text_of(0, 0), 0.8)";
    for session in [&mut first, &mut second] {
        each(session, "SET enable_seqscan = off; BEGIN ISOLATION LEVEL SERIALIZABLE");
        assert_eq!(texts(session, look), ["0"]);
    }
    // The entries of the last row wait.
    let insert = |i| format!("INSERT INTO docs SELECT {i} - j, text_of(j, j) FROM generate_series(5, 0, -1) AS j");
    let refused = [(&mut first, 10), (&mut second, 20)].map(|(session, i)| session.batch_execute(&insert(i)));
    let ends = [first, second].map(|mut session| session.batch_execute("COMMIT; SELECT count(*) FROM docs"));
    let failed: Vec<_> = refused.into_iter().chain(ends).filter_map(Result::err).collect();
    assert!(failed.iter().any(|error| error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE)), "{failed:?}");
    let mut client = database.connect();
    assert_eq!(texts(&mut client, look), ["1"]);
    assert_consistent(&mut client, "near");
}
