//! Work that is cancelled, rolled back or killed leaves nothing half done.

use std::time::Instant;

use minlsh_integration::{
    Client, PATIENCE, Run, Server, assert_consistent, backend, cancel, database, is_thorough, sqlstate, texts,
    wait_until,
};

/// Traces of an index: side table, triggers.
fn traces(client: &mut Client) -> Vec<String> {
    texts(
        client,
        "SELECT relname::text FROM pg_class WHERE relname LIKE 'docs_minlsh%' \
         UNION ALL SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = 'docs'::regclass",
    )
}

#[test]
fn a_cancelled_build_leaves_no_trace() {
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, repeat(md5(i::text), 30) FROM generate_series(1, 30000) i",
    );
    // Far too short for the build, whatever the machine.
    client.run("SET statement_timeout = '30ms'");
    let build = "SELECT minlsh_create_side_table('docs', 'body', num_perm => 4096, scheme => 'permutations')";
    assert_eq!(sqlstate(&mut client, build), "57014");
    client.run("RESET statement_timeout");
    assert_eq!(traces(&mut client), Vec::<String>::new());
    // Cancelled from another session, in the middle.
    let pid = backend(&mut client);
    let mut observer = database.connect();
    let canceller = std::thread::spawn(move || {
        wait_until("the build runs", || {
            let active = "SELECT state = 'active' AND query LIKE '%minlsh_create_side_table%' \
                          FROM pg_stat_activity WHERE pid = $1";
            observer.query_one(active, &[&pid]).expect("activity").get(0)
        });
        cancel(&mut observer, pid);
    });
    assert_eq!(sqlstate(&mut client, build), "57014");
    canceller.join().expect("thread");
    assert_eq!(traces(&mut client), Vec::<String>::new());
    client.run("SELECT minlsh_create_side_table('docs', 'body')");
    assert_consistent(&mut client, "docs");
    // Rolled back with its transaction.
    client.run("BEGIN; SELECT minlsh_drop_side_table('docs'); ROLLBACK");
    assert_consistent(&mut client, "docs");
}

#[test]
fn long_computations_can_be_cancelled() {
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE long (body text); \
         INSERT INTO long SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, 1000000) i",
    );
    for work in [
        "SELECT minhash(body, 4096, scheme => 'permutations') FROM long",
        "SELECT jaccard(body, body || 'x') FROM long, generate_series(1, 1000)",
        "SELECT cardinality(shingles(body, 64)) FROM long, generate_series(1, 1000)",
        "SELECT count(*) FROM contained_documents('SELECT i, body || i FROM long, generate_series(1, 100) i')",
        "SELECT count(*) FROM strip_passages('SELECT i, body || i FROM long, generate_series(1, 100) i', 2)",
        "SELECT count(*) FROM repeated_passages('SELECT i, body || i FROM long, generate_series(1, 100) i')",
        "SELECT count(*) FROM passages_between('SELECT 0, body FROM long', \
         'SELECT i, body || i FROM long, generate_series(1, 100) i')",
    ] {
        client.run("SET statement_timeout = '100ms'");
        let start = Instant::now();
        assert_eq!(sqlstate(&mut client, work), "57014", "{work}");
        assert!(start.elapsed() < PATIENCE, "{work}");
        client.run("RESET statement_timeout");
        // The session works on, with the sketcher it had.
        assert_eq!(
            texts(&mut client, "SELECT minhash('abc', 4)"),
            ["{39533093,2147483647,2147483647,2147483647}"].map(|_| texts(
                &mut database.connect(),
                "SELECT minhash('abc', 4)"
            )[0]
            .clone())
        );
    }
}

#[test]
fn a_comparison_of_very_long_texts_stops_within_a_second() {
    let mut client = database().connect();
    client.run(
        "CREATE TABLE long (body text); ALTER TABLE long ALTER body SET STORAGE external; \
         INSERT INTO long SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, 2000000) i",
    );
    for work in [
        "SELECT jaccard(body, body || 'x') FROM long",
        "SELECT containment(body, body || 'x') FROM long",
        "SELECT count(*) FROM long a, long b WHERE a.body || 'x' ~= minlsh_document(b.body, 0.5)",
    ] {
        // At times that meet each stage of the work.
        let times: &[u128] = if is_thorough() { &[500, 1500, 3000, 5000] } else { &[500, 2500] };
        for &after in times {
            client.run(&format!("SET statement_timeout = {after}"));
            let start = Instant::now();
            let stopped = client.batch_execute(work).is_err();
            let late = start.elapsed().as_millis().saturating_sub(after);
            println!("{work}: stopped {stopped} {late} ms after {after} ms");
            assert!(!stopped || late < 2000, "{work}: {late} ms after {after} ms");
            // A timeout between the last look for it and the end of the work reaches the next statement.
            let _ = client.batch_execute("SELECT");
        }
    }
}

/// Writers that go on until they are killed, and what they had committed.
fn write_until_killed(server: &Server, database: &str, kill: impl FnOnce(&[i32])) {
    std::thread::scope(|scope| {
        let mut pids = Vec::new();
        for writer in 0..3 {
            let mut session = server.connect(database);
            pids.push(backend(&mut session));
            scope.spawn(move || {
                for round in 0.. {
                    let id = writer * 100_000 + round;
                    let written = session.batch_execute(&format!(
                        "INSERT INTO docs VALUES ({id}, 'document {id} with a text of its own'); \
                         UPDATE docs SET body = body || '!' WHERE id = {id} - 1; \
                         DELETE FROM docs WHERE id = {id} - 5 AND id % 3 = 0"
                    ));
                    if written.is_err() {
                        return;
                    }
                }
            });
        }
        let mut observer = server.connect(database);
        wait_until("the writers have written", || texts(&mut observer, "SELECT count(*) > 200 FROM docs") == ["t"]);
        kill(&pids);
    });
}

#[test]
fn after_kill_9_of_a_backend_or_of_the_server_table_and_index_are_equal() {
    let server = Server::start_with(&["fsync = on", "checkpoint_timeout = 1h"]);
    let database = server.create_database();
    let name = database.name.clone();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); SELECT minlsh_create_side_table('docs', 'body'); \
         CREATE UNLOGGED TABLE scratch (id int PRIMARY KEY, body text); \
         SELECT minlsh_create_side_table('scratch', 'body'); \
         INSERT INTO scratch VALUES (1, 'gone after a crash'); INSERT INTO docs VALUES (-100, 'committed before')",
    );
    // One backend dies: PostgreSQL restarts all of them and recovers.
    write_until_killed(&server, &name, |pids| server.kill_9(pids[0]));
    server.wait_ready();
    let mut client = database.connect();
    assert_consistent(&mut client, "docs");
    assert_consistent(&mut client, "scratch");
    assert_eq!(texts(&mut client, "SELECT count(*) FROM scratch"), ["0"]);
    assert_eq!(texts(&mut client, "SELECT body FROM docs WHERE id = -100"), ["committed before"]);
    client.run("DELETE FROM docs WHERE id >= 0");
    // The whole server dies.
    write_until_killed(&server, &name, |_| server.crash());
    server.launch();
    server.wait_ready();
    let mut client = database.connect();
    assert_consistent(&mut client, "docs");
    client.run("INSERT INTO docs VALUES (-200, 'committed before')");
    assert_consistent(&mut client, "docs");
}
