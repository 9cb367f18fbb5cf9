//! Events that do not change the answers of an index: standbys, subscribers, dumps, rewrites, crashes.

use std::os::unix::fs::FileExt;

use minlsh_integration::near::{NEAR, assert_sound, docs, each, pairs};
use minlsh_integration::{
    Client, Run, Server, assert_consistent, beside, database, subscribe, texts, wait_until, wait_until_replayed,
};

const INDEXES: &str = "CREATE INDEX near ON docs USING minlsh (body); \
     CREATE INDEX per_tenant ON docs USING minlsh (tenant, body) WITH (threshold = 0.9, fillfactor = 50)";

/// More rows, of templates that are there already, and fewer.
const CHANGES: &str = "INSERT INTO docs (id, tenant, body) SELECT i, i % 3, near(i % 100, 1) FROM \
generate_series(5000, 5200) i; \
     UPDATE docs SET body = near(id / 4, 0) WHERE id % 7 = 2; DELETE FROM docs WHERE id % 11 = 3; VACUUM docs";

fn indexed(client: &mut Client) -> Vec<String> {
    docs(client, 500);
    client.run(INDEXES);
    let found = pairs(client);
    assert!(found.len() > 100, "{found:?}");
    found
}

#[test]
fn a_standby_answers_during_replay_and_after_promotion() {
    let primary = Server::start();
    let database = primary.create_database();
    let mut client = database.connect();
    indexed(&mut client);
    let standby = primary.standby(&["max_standby_streaming_delay = -1"]);
    // A text that stays is found whatever is replayed meanwhile.
    let mut reader = standby.connect(&database.name);
    minlsh_integration::near::only(&mut reader, "indexscan");
    let find = "SELECT count(*) > 0 FROM docs WHERE body ~= minlsh_document((SELECT body FROM docs WHERE id = 1), 1)";
    let lookup = || assert_eq!(texts(&mut reader, find), ["t"]);
    let ((), lookups) = beside(vec![lookup], || {
        for round in 0..10 {
            let changes = format!(
                "INSERT INTO docs (id, body) SELECT 10000 + {round} * 100 + i, near(i % 50, i % 3) FROM \
                 generate_series(0, 99) i; \
                 DELETE FROM docs WHERE id % 13 = {round} AND id <> 1; VACUUM docs"
            );
            each(&mut client, &changes);
        }
    });
    // One is always done, though perhaps only at the end.
    assert!(lookups > 1);
    // Not amid the lookups: it does not wait for lookups on a standby, which may plan with the index that it drops,
    // of whatever kind.
    client.run("REINDEX INDEX CONCURRENTLY near");
    let expected = pairs(&mut client);
    let mut replica = standby.connect(&database.name);
    wait_until_replayed(&mut client, &mut replica);
    assert_eq!(pairs(&mut replica), expected);
    for index in ["near", "per_tenant"] {
        assert_consistent(&mut replica, index);
    }
    replica.run("SELECT pg_promote()");
    assert_eq!(pairs(&mut replica), expected);
    each(&mut replica, CHANGES);
    assert_sound(&mut replica, "near");
    assert_consistent(&mut replica, "per_tenant");
}

#[test]
fn a_subscriber_has_an_index_of_its_own() {
    let (publisher, subscriber) = (Server::start_with(&["wal_level = logical"]), Server::start());
    let (source, target) = (publisher.create_database(), subscriber.create_database());
    let (mut from, mut to) = (source.connect(), target.connect());
    docs(&mut from, 300);
    from.run("CREATE PUBLICATION p FOR TABLE docs");
    to.run(&format!(
        "{NEAR}; CREATE TABLE docs (id int PRIMARY KEY, tenant int, extra int NOT NULL, body text); {INDEXES}; \
         CREATE INDEX other ON docs USING minlsh (body) WITH (threshold = 0.5)"
    ));
    subscribe(&mut to, &source);
    let ready = "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate = 'r'";
    wait_until("the table is copied", || texts(&mut to, ready) == ["1"]);
    each(&mut from, CHANGES);
    from.run("INSERT INTO docs (id, body) VALUES (-1, 'the last one')");
    let last = "SELECT count(*) FROM docs WHERE id = -1";
    wait_until("the changes are applied", || texts(&mut to, last) == ["1"]);
    let contents = "SELECT md5(string_agg(id || ' ' || coalesce(body, ''), ',' ORDER BY id)) FROM docs";
    assert_eq!(texts(&mut to, contents), texts(&mut from, contents));
    assert_sound(&mut to, "near");
    assert_consistent(&mut to, "docs");
    from.run("CREATE INDEX near ON docs USING minlsh (body)");
    assert_eq!(pairs(&mut to), pairs(&mut from));
    to.run("DROP SUBSCRIPTION s");
}

#[test]
fn a_dump_brings_the_index_along() {
    let source = database();
    let mut client = source.connect();
    let before = indexed(&mut client);
    client.run(
        "CREATE TABLE kept (tenant int, body text, EXCLUDE USING minlsh (tenant WITH =, minlsh_document(body, \
        0.85) WITH ~=) \
         WITH (num_perm = 256)); INSERT INTO kept SELECT 1, body FROM docs ON CONFLICT DO NOTHING; \
         CREATE TABLE posts (posted timestamp, body text, \
           EXCLUDE USING minlsh (tsrange(posted, posted + '10 min') WITH &&, minlsh_document(body, 0.9) WITH ~=)); \
         INSERT INTO posts SELECT timestamp '2026-03-01' + i * interval '7 min', 'the same text again' \
           FROM generate_series(1, 9) i ON CONFLICT DO NOTHING; \
         CREATE TABLE sets (items text[], document minlsh_document); CREATE INDEX ON sets USING minlsh (items); \
         CREATE INDEX ON sets USING minlsh (document) WITH (threshold = 0.5, unit = 'word', shingle_size = 2, \
         stop_words = 'the \"a\" it''s', normalization = 'casefold', bag = true, seed = '-7'); \
         INSERT INTO sets VALUES ('{a,b}', minlsh_document('a text', 0.5, 2, 'word', 'casefold', 'the \"a\" \
         it''s', true))",
    );
    let target = source.server.create_database();
    source.shell(&format!("pg_dump -Fc | pg_restore -d {} --exit-on-error", target.name));
    let mut restored = target.connect();
    assert_eq!(pairs(&mut restored), before);
    let definitions = "SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid \
                       JOIN pg_am m ON m.oid = relam WHERE amname = 'minlsh' ORDER BY 1";
    assert_eq!(texts(&mut restored, definitions), texts(&mut client, definitions));
    assert_eq!(texts(&mut restored, "SELECT * FROM minlsh_check()"), Vec::<String>::new());
    let refused = "INSERT INTO kept SELECT 1, body || '!' FROM kept WHERE length(body) > 50 LIMIT 1";
    assert_eq!(minlsh_integration::sqlstate(&mut restored, refused), "23P01");
    assert_eq!(texts(&mut restored, "SELECT count(*) FROM posts"), ["5"]);
    let refused = "INSERT INTO posts SELECT posted + interval '5 min', body || '!' FROM posts LIMIT 1";
    assert_eq!(minlsh_integration::sqlstate(&mut restored, refused), "23P01");
    restored.run("INSERT INTO posts SELECT posted + interval '1 day', body FROM posts");
}

#[test]
fn rewrites_leave_the_answers_as_they_are() {
    let mut client = database().connect();
    indexed(&mut client);
    each(&mut client, CHANGES);
    let before = pairs(&mut client);
    for rewrite in [
        "VACUUM FULL docs",
        "CLUSTER docs USING docs_pkey",
        "ALTER TABLE docs ALTER COLUMN tenant TYPE bigint",
        "ALTER TABLE docs ALTER COLUMN body TYPE varchar(2000)",
        "ALTER TABLE docs ALTER COLUMN body TYPE text USING body || ''",
        "ALTER TABLE docs ADD COLUMN stamp float8 DEFAULT random()",
        "ALTER TABLE docs SET UNLOGGED",
        "ALTER TABLE docs SET LOGGED",
        "ALTER TABLE docs DROP COLUMN stamp",
        "VACUUM (PARALLEL 2) docs",
        "REINDEX TABLE docs",
        "REINDEX TABLE CONCURRENTLY docs",
        "SET allow_in_place_tablespaces = on; CREATE TABLESPACE elsewhere LOCATION ''; ALTER INDEX near SET \
        TABLESPACE elsewhere; \
         ALTER INDEX near SET TABLESPACE pg_default; DROP TABLESPACE elsewhere",
        "BEGIN; TRUNCATE docs; REINDEX TABLE docs; ROLLBACK",
        "BEGIN; ALTER TABLE docs ALTER COLUMN tenant TYPE int; ROLLBACK",
    ] {
        each(&mut client, rewrite);
        assert_eq!(pairs(&mut client), before, "{rewrite}");
        for index in ["near", "per_tenant"] {
            assert_consistent(&mut client, index);
        }
    }
}

#[test]
fn a_concurrent_repack_keeps_index_constraint_and_clusters() {
    let server = Server::start_with(&["wal_level = logical"]);
    let database = server.create_database();
    let mut client = database.connect();
    if texts(&mut client, "SELECT current_setting('server_version_num')::int < 190000") == ["t"] {
        println!("SKIPPED: REPACK came with PostgreSQL 19");
        return;
    }
    indexed(&mut client);
    each(
        &mut client,
        "CREATE TABLE kept (id serial PRIMARY KEY, body text, EXCLUDE USING minlsh (minlsh_document(body) WITH ~=)); \
         INSERT INTO kept (body) SELECT body FROM docs ON CONFLICT DO NOTHING; \
         SELECT minlsh_track_clusters('near'); SELECT FROM minlsh_refresh_clusters('docs_clusters'); \
         DELETE FROM docs WHERE id % 11 = 3; DELETE FROM kept WHERE id % 5 = 1",
    );
    // Writes that the repacking has to catch up with. Some of them come before its end.
    let (mut writer, mut rounds) = (database.connect(), 0);
    let writes = || {
        let changes = format!(
            "INSERT INTO docs (id, tenant, body) SELECT 5000 + {rounds} * 10 + i, i % 3, near(i, i % 3) \
             FROM generate_series(0, 9) i; \
             UPDATE docs SET body = near(id / 4, 0) WHERE id % 97 = {rounds} % 97; \
             DELETE FROM docs WHERE id % 101 = {rounds} % 101; \
             INSERT INTO kept (body) SELECT near(i, 0) FROM generate_series(0, 20) i ON CONFLICT DO NOTHING; \
             DELETE FROM kept WHERE id % 29 = {rounds} % 29"
        );
        each(&mut writer, &changes);
        rounds += 1;
    };
    let ((), times) = beside(vec![writes], || {
        for _ in 0..3 {
            for table in ["docs", "kept"] {
                each(&mut client, &format!("REPACK (CONCURRENTLY) {table}"));
            }
        }
    });
    assert!(times > 3);
    for index in ["near", "per_tenant"] {
        assert_sound(&mut client, index);
    }
    assert_eq!(texts(&mut client, "SELECT * FROM minlsh_check()"), Vec::<String>::new());
    let answers = pairs(&mut client);
    assert!(answers.len() > 100, "{answers:?}");
    client.run("REINDEX INDEX near");
    assert_eq!(pairs(&mut client), answers);
    let copy = "INSERT INTO kept (body) SELECT body || '!' FROM kept WHERE length(body) > 50 LIMIT 1";
    assert_eq!(minlsh_integration::sqlstate(&mut client, copy), "23P01");
    client.run("SELECT FROM minlsh_refresh_clusters('docs_clusters')");
    let problems = "SELECT * FROM minlsh_check('docs_clusters')";
    assert_eq!(texts(&mut client, problems), Vec::<String>::new());
}

#[test]
fn partitions_come_and_go_with_their_entries() {
    let mut client = database().connect();
    docs(&mut client, 400);
    client.run(
        "ALTER TABLE docs RENAME TO plain; CREATE INDEX plain_near ON plain USING minlsh (body); \
         CREATE TABLE docs (LIKE plain INCLUDING DEFAULTS) PARTITION BY HASH (id); \
         CREATE TABLE p0 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
         CREATE INDEX near ON docs USING minlsh (body); \
         CREATE TABLE p1 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
         INSERT INTO docs SELECT * FROM plain; ANALYZE docs",
    );
    let before = pairs(&mut client);
    client.run(
        "ALTER TABLE docs DETACH PARTITION p1; INSERT INTO p1 (id, body) SELECT id, near(3, 0) FROM p1 WHERE \
        false; \
         UPDATE p1 SET extra = extra + 1; ALTER TABLE docs ATTACH PARTITION p1 FOR VALUES WITH (MODULUS 2, \
         REMAINDER 1)",
    );
    assert_eq!(pairs(&mut client), before);
    client.run("ALTER TABLE docs DETACH PARTITION p0 CONCURRENTLY");
    client.run("ALTER TABLE docs ATTACH PARTITION p0 FOR VALUES WITH (MODULUS 2, REMAINDER 0)");
    assert_eq!(pairs(&mut client), before);
    for name in ["near", "p0", "p1"] {
        assert_consistent(&mut client, name);
    }
}

#[test]
fn a_prepared_transaction_brings_its_entries_along() {
    let server = Server::start_with(&["max_prepared_transactions = 4"]);
    let database = server.create_database();
    let mut client = database.connect();
    indexed(&mut client);
    for (name, end) in [("kept", "COMMIT"), ("dropped", "ROLLBACK")] {
        let text = format!("a text that a transaction has prepared, and that is {name}");
        let count = format!("SELECT count(*) FROM docs WHERE body ~= minlsh_document('{text}', 1)");
        client.run(&format!(
            "BEGIN; INSERT INTO docs (id, body) VALUES (9001 + length('{name}'), '{text}'); PREPARE TRANSACTION \
            '{name}'"
        ));
        drop(client);
        server.crash();
        server.launch();
        client = database.connect();
        client.run("SET enable_seqscan = off");
        assert_eq!(texts(&mut client, &count), ["0"]);
        client.run(&format!("{end} PREPARED '{name}'"));
        assert_eq!(texts(&mut client, &count), [if end == "COMMIT" { "1" } else { "0" }]);
        assert_consistent(&mut client, "docs");
    }
}

#[test]
fn with_minimal_wal_a_crash_loses_no_index() {
    let server = Server::start_with(&["wal_level = minimal", "max_wal_senders = 0", "wal_skip_threshold = 0"]);
    let database = server.create_database();
    let mut client = database.connect();
    let before = indexed(&mut client);
    client.run(
        "CREATE UNLOGGED TABLE fleeting (id int, body text); CREATE INDEX ON fleeting USING minlsh (body); \
         INSERT INTO fleeting SELECT id, body FROM docs",
    );
    // Table and index in one transaction: nothing but the files has their pages.
    client.run(
        "BEGIN; CREATE TABLE young AS SELECT * FROM docs; CREATE INDEX young_near ON young USING minlsh (body); \
         INSERT INTO young SELECT id + 3000000, tenant, extra, body FROM docs; COMMIT; \
         BEGIN; TRUNCATE young; INSERT INTO young SELECT * FROM docs; COMMIT; REINDEX INDEX near",
    );
    client.run("BEGIN; DELETE FROM docs; INSERT INTO docs (id, body) VALUES (1, 'lost')");
    server.crash();
    server.launch();
    let mut client = database.connect();
    assert_eq!(pairs(&mut client), before);
    for name in ["docs", "young", "fleeting"] {
        assert_consistent(&mut client, name);
    }
    assert_eq!(texts(&mut client, "SELECT count(*) FROM fleeting"), ["0"]);
    let fleeting = "INSERT INTO fleeting SELECT id, body FROM docs; SET enable_seqscan = off";
    client.run(fleeting);
    let copies = "SELECT count(*) > 1 FROM fleeting WHERE body ~= minlsh_document((SELECT body FROM docs WHERE id = \
    3), 1)";
    assert_eq!(texts(&mut client, copies), ["t"]);
    assert_consistent(&mut client, "fleeting");
}

#[test]
fn a_power_failure_after_a_build_amid_a_checkpoint_loses_no_page() {
    const PAGE: usize = 8192;
    let server = Server::start_with(&["full_page_writes = on", "checkpoint_timeout = 1h"]);
    let database = server.create_database();
    let (mut client, mut observer) = (database.connect(), database.connect());
    docs(&mut client, 8000);
    // The backend alone writes what is ready before it goes on.
    client.run("SET max_parallel_maintenance_workers = 0");
    let mut amid = None;
    let mut rows = 8000;
    wait_until("a checkpoint begins amid the writing of pages", || {
        client.run("DROP INDEX IF EXISTS near");
        if rows > 8000 {
            // Other work keeps the checkpoint waiting: pages are written for longer.
            client.run(&format!(
                "INSERT INTO docs (id, body) SELECT i, near(i, 1) FROM generate_series({rows} + 1, {rows} + 4000) AS i"
            ));
        }
        rows += 4000;
        std::thread::scope(|scope| {
            let create = || client.batch_execute("CREATE INDEX near ON docs USING minlsh (body)");
            let builder = scope.spawn(create);
            // It begins at once, or some time later: another part of the entries is waited for each time.
            let part = rows / 4000 % 4;
            let writes = format!(
                "SELECT phase ~ 'writing pages' AND 5 * tuples_done >= {part} * tuples_total \
                 FROM pg_stat_progress_create_index WHERE phase <> ''"
            );
            while texts(&mut observer, &writes) != ["t"] && !builder.is_finished() {}
            observer.run("CHECKPOINT");
            builder.join().expect("a builder").expect("an index");
        });
        let path = texts(&mut observer, "SELECT pg_relation_filepath('near')").remove(0);
        let redo = "SELECT redo_lsn::pg_lsn - '0/0'::pg_lsn FROM pg_control_checkpoint()";
        let redo: u64 = texts(&mut observer, redo)[0].parse().expect("a place in the WAL");
        let file = std::fs::read(server.data().join(&path)).expect("the file of the index");
        let is_late = |page: &[u8]| {
            let half = |at: usize| u64::from(u32::from_ne_bytes(page[at..at + 4].try_into().expect("4")));
            half(0) << 32 | half(4) > redo
        };
        let late: Vec<bool> = file.chunks_exact(PAGE).map(is_late).collect();
        let count = late.iter().filter(|late| **late).count();
        let is_amid = count > 20 && late.len() - count > 20;
        amid = is_amid.then_some((path, late));
        is_amid
    });
    server.crash();
    // A power failure may also take what was written since the checkpoint.
    let (path, late) = amid.expect("a file and its pages");
    let file = std::fs::OpenOptions::new().write(true).open(server.data().join(path));
    let file = file.expect("the file of the index");
    for (page, _) in late.into_iter().enumerate().filter(|(_, late)| *late) {
        file.write_all_at(&[0; PAGE], (page * PAGE) as u64).expect("a lost page");
    }
    server.launch();
    let mut client = database.connect();
    assert_sound(&mut client, "near");
}

#[test]
fn writers_that_are_killed_leave_an_index_that_is_whole() {
    let server = Server::start_with(&["full_page_writes = on", "checkpoint_timeout = 30s"]);
    let database = server.create_database();
    let mut client = database.connect();
    docs(&mut client, 300);
    client.run(INDEXES);
    client.run("CREATE SEQUENCE ids START 100000 CACHE 100");
    drop(client);
    for _ in 0..3 {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let mut session = database.connect();
                std::thread::spawn(move || {
                    // Until the server is gone.
                    while session
                        .batch_execute(&format!(
                            "INSERT INTO docs (id, tenant, body) SELECT nextval('ids'), {writer}, near(i, i % 3) \
                            FROM generate_series(1, 30) i; \
                             DELETE FROM docs WHERE id % 100 = {writer} AND id > 100000"
                        ))
                        .and_then(|()| session.batch_execute("VACUUM docs"))
                        .is_ok()
                    {}
                })
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        server.crash();
        for writer in writers {
            writer.join().expect("a writer");
        }
        server.launch();
        let mut client = database.connect();
        for index in ["near", "per_tenant"] {
            assert_consistent(&mut client, index);
        }
    }
    assert_sound(&mut database.connect(), "near");
}
