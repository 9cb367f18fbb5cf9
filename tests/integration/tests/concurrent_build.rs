//! `CALL minlsh_create_index_concurrently()`: others write meanwhile, and it may be stopped at
//! any point.

use std::sync::atomic::{AtomicBool, Ordering};

use minlsh_integration::{
    Client, Database, NoTls, Server, assert_consistent, backend, database, sqlstate, texts,
    wait_until, wait_until_blocked,
};

const BUILD: &str = "CALL minlsh_create_index_concurrently('docs', 'body', batch => 20)";

/// A table of so many documents, many of them near-duplicates.
fn docs(database: &Database, documents: u32) -> Client {
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "CREATE TABLE docs (id int PRIMARY KEY, body text); INSERT INTO docs \
             SELECT i, 'document ' || i / 10 || ' of ' || repeat(md5((i / 10)::text), 8) || i \
             FROM generate_series(1, {documents}) i"
        ))
        .expect("a table");
    client
}

fn valid(client: &mut Client) -> Vec<String> {
    texts(client, "SELECT index || ' ' || valid FROM minlsh_indexes ORDER BY 1")
}

fn phase(client: &mut Client) -> Vec<String> {
    texts(client, "SELECT phase FROM minlsh_progress")
}

#[test]
fn writers_go_on_during_the_build_and_all_they_write_is_indexed() {
    let database = database();
    let mut client = docs(&database, 6000);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3_u32 {
            let (database, done) = (&database, &done);
            scope.spawn(move || {
                let mut session = database.connect();
                // Rows of its own, in no order: if it ever waits for a writer, it is the build.
                let mut random = u64::from(writer) + 1;
                let mut id = || {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (random >> 40) as u32 % 2000 * 3 + writer
                };
                let mut round = 0;
                while !done.load(Ordering::Relaxed) {
                    let (a, b, c, d) = (id(), id(), id(), id());
                    let end = if round % 4 == 0 { "ROLLBACK" } else { "COMMIT" };
                    session
                        .batch_execute(&format!(
                            "BEGIN; UPDATE docs SET body = body || ' {round}' WHERE id = {a}; \
                             DELETE FROM docs WHERE id = {b}; \
                             UPDATE docs SET body = '' WHERE id = {c}; \
                             INSERT INTO docs VALUES ({b}, 'back again {b}') ON CONFLICT DO NOTHING; \
                             UPDATE docs SET id = id + 60000 WHERE id = {d}; {end}"
                        ))
                        .unwrap_or_else(|cause| match cause.code() {
                            // The key 60000 + d may be taken already.
                            Some(code) if code.code() == "23505" => {
                                session.batch_execute("ROLLBACK").expect("rollback");
                            }
                            _ => panic!("a writer failed: {cause:?}"),
                        });
                    round += 1;
                }
            });
        }
        let built = client.batch_execute(BUILD);
        done.store(true, Ordering::Relaxed);
        built.expect("the build");
    });
    assert_consistent(&mut client, "docs");
    assert_eq!(valid(&mut client), ["docs_minlsh true"]);
    assert_eq!(phase(&mut client), Vec::<String>::new());
}

#[test]
fn the_build_waits_for_writers_but_holds_none_up() {
    let database = database();
    let mut builder = docs(&database, 20);
    let pid = backend(&mut builder);
    let mut early = database.connect();
    early.batch_execute("BEGIN; UPDATE docs SET body = 'x' WHERE id = 1").expect("a write");
    let building = std::thread::spawn(move || builder.batch_execute(BUILD));
    let mut observer = database.connect();
    wait_until("the build waits for the writer", || {
        phase(&mut observer) == ["waiting for writers"]
    });
    // Another writer does not queue behind the build.
    observer.batch_execute("UPDATE docs SET body = 'y' WHERE id = 2").expect("a write");
    assert_eq!(texts(&mut observer, "SELECT pid FROM minlsh_progress"), [pid.to_string()]);
    early.batch_execute("COMMIT").expect("commit");
    building.join().expect("thread").expect("the build");
    assert_consistent(&mut observer, "docs");
}

#[test]
fn the_build_waits_for_the_writer_of_a_row_holding_no_other() {
    for end in ["COMMIT", "ROLLBACK"] {
        let database = database();
        let mut builder = docs(&database, 20_000);
        let pid = backend(&mut builder);
        let mut observer = database.connect();
        let building = std::thread::spawn(move || {
            let built = builder.batch_execute(BUILD);
            (builder, built)
        });
        wait_until("the documents are being filled in", || phase(&mut observer) == ["filling"]);
        let mut writer = database.connect();
        writer
            .batch_execute(
                "BEGIN; DELETE FROM docs WHERE id = 19990; UPDATE docs SET body = 'z' WHERE id = 19995",
            )
            .expect("a write");
        wait_until_blocked(&mut observer, pid);
        // All rows but the one it waits for are free.
        observer
            .batch_execute(
                "SET lock_timeout = '10s'; UPDATE docs SET body = body || '!' WHERE id BETWEEN 19970 AND 19989",
            )
            .expect("a write");
        let progress = texts(
            &mut observer,
            "SELECT done BETWEEN 19900 AND 19990 AND total = 20000 AND rate > 0 \
             AND time_left < '1 hour' FROM minlsh_progress",
        );
        assert_eq!(progress, ["t"]);
        writer.batch_execute(end).expect(end);
        building.join().expect("thread").1.expect("the build");
        assert_consistent(&mut observer, "docs");
    }
}

#[test]
fn a_cancelled_build_is_refused_by_queries_and_resumed_by_the_same_call() {
    let database = database();
    let mut client = docs(&database, 20_000);
    let token = client.cancel_token();
    let mut observer = database.connect();
    let canceller = std::thread::spawn(move || {
        wait_until("some documents are done", || {
            texts(&mut observer, "SELECT done > 100 FROM minlsh_progress") == ["t"]
        });
        token.cancel_query(NoTls).expect("cancel");
    });
    assert_eq!(sqlstate(&mut client, BUILD), "57014");
    canceller.join().expect("thread");
    assert_eq!(valid(&mut client), ["docs_minlsh false"]);
    assert_eq!(phase(&mut client), ["stopped"]);
    for query in [
        "SELECT * FROM near_duplicates(1)",
        "SELECT * FROM near_duplicates_of('some text')",
        "SELECT * FROM near_duplicate_pairs('docs')",
        "SELECT * FROM near_duplicate_clusters()",
        "SELECT * FROM minlsh_recall('docs')",
    ] {
        assert_eq!(sqlstate(&mut client, query), "55000", "{query}");
    }
    let problems =
        texts(&mut client, "SELECT problem FROM minlsh_check('docs') WHERE doc_id IS NULL");
    assert_eq!(problems.len(), 1, "{problems:?}");
    // What is written meanwhile is indexed all the same.
    client
        .batch_execute(
            "DELETE FROM docs WHERE id % 7 = 0; UPDATE docs SET id = -id WHERE id % 11 = 0; \
             UPDATE docs SET body = 'new ' || body WHERE id % 13 = 0",
        )
        .expect("writes");
    client.batch_execute(BUILD).expect("the same call");
    assert_eq!(valid(&mut client), ["docs_minlsh true"]);
    assert_consistent(&mut client, "docs");
}

#[test]
fn a_killed_build_is_resumed() {
    let server = Server::start_with(&["fsync = on"]);
    let database = server.create_database();
    let name = database.name.clone();
    docs(&database, 20_000);
    for crash in [false, true] {
        let mut builder = database.connect();
        let pid = backend(&mut builder);
        let before = texts(&mut database.connect(), "SELECT sum(done) FROM minlsh_progress");
        let building = std::thread::spawn(move || builder.batch_execute(BUILD));
        let mut observer = database.connect();
        wait_until("more documents are done", || {
            let done = "SELECT phase = 'filling' AND done > 200 + coalesce($$ $$::int, 0) FROM minlsh_progress"
                .replace("$$ $$", &format!("nullif('{}', 'NULL')", before[0]));
            texts(&mut observer, &done) == ["t"]
        });
        if crash {
            server.crash();
            server.launch();
        } else {
            server.kill_9(pid);
            // Until the server has noticed, it takes connections.
            wait_until("all sessions are ended", || observer.simple_query("SELECT").is_err());
        }
        server.wait_ready();
        assert!(building.join().expect("thread").is_err());
        let mut client = server.connect(&name);
        assert_eq!(phase(&mut client), ["stopped"]);
        assert_eq!(sqlstate(&mut client, "SELECT * FROM near_duplicates(1)"), "55000");
    }
    let mut client = server.connect(&name);
    client.batch_execute(BUILD).expect("the same call");
    assert_eq!(valid(&mut client), ["docs_minlsh true"]);
    assert_consistent(&mut client, "docs");
}

#[test]
fn an_unfinished_index_is_restored_as_unfinished() {
    let database = database();
    let mut client = docs(&database, 20_000);
    client.batch_execute("SET statement_timeout = '700ms'").expect("timeout");
    assert_eq!(sqlstate(&mut client, BUILD), "57014");
    let dump = database.server.run("pg_dump", &["-d", &database.name]);
    let restored = database.server.create_database();
    let mut client = restored.connect();
    client.batch_execute("DROP EXTENSION minlsh").expect("an empty database");
    let file = std::env::temp_dir().join(format!("{}.sql", restored.name));
    std::fs::write(&file, dump).expect("a file");
    let path = file.to_str().expect("a path");
    restored.server.run("psql", &["-q", "-v", "ON_ERROR_STOP=1", "-d", &restored.name, "-f", path]);
    std::fs::remove_file(&file).expect("removed");
    assert_eq!(phase(&mut client), ["stopped"]);
    client.batch_execute(BUILD).expect("the same call");
    assert_consistent(&mut client, "docs");
}

#[test]
fn the_default_isolation_level_makes_no_difference() {
    for level in ["repeatable read", "serializable"] {
        let database = database();
        let mut client = docs(&database, 100);
        client
            .batch_execute(&format!("SET default_transaction_isolation = '{level}'"))
            .expect("a setting");
        client.batch_execute(BUILD).expect("the build");
        assert_consistent(&mut client, "docs");
    }
}
