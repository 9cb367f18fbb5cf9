//! Indexes of passages under writers, crashes, standbys and partitions: every plan finds the same rows, all of them.

use minlsh_integration::near::{by_each_plan, each, only};
use minlsh_integration::{
    Client, Random, Run, Server, SqlState, assert_consistent, beside, database, texts, wait_until, wait_until_replayed,
};

const INDEXES: &str = "CREATE INDEX quoting ON docs USING minlsh (body minlsh_passage_ops); \
     CREATE INDEX per_tenant ON docs USING minlsh (tenant, body minlsh_passage_ops) \
     WITH (min_match = 20, fillfactor = 50)";

/// Makes `docs` of texts that have a footer in common, and each a passage with some others.
fn docs(client: &mut Client, rows: u32) {
    client.run(&format!(
        "CREATE FUNCTION quote(theme int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ \
         SELECT string_agg(left(md5(theme || ' ' || word), 7), ' ') FROM generate_series(1, 12) AS word $$; \
         CREATE FUNCTION quoting(theme int, own int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ \
         SELECT md5(own::text) || ' wrote: ' || quote(theme) || '. ' || md5((own || chr(65))::text) \
         || ' All rights are with those who wrote it, says the foot of each page.' $$; \
         CREATE TABLE docs (id int PRIMARY KEY, tenant int, body text); \
         INSERT INTO docs SELECT i, i % 3, CASE WHEN i % 20 = 0 THEN NULL ELSE quoting(i / 4, i) END \
         FROM generate_series(1, {rows}) AS i; ANALYZE docs"
    ));
}

/// The rows that quote each of 60 themes, by an index.
fn found(client: &mut Client) -> Vec<String> {
    only(client, "indexscan");
    let found = texts(client, JOIN);
    client.run("RESET ALL");
    found
}

const JOIN: &str = "SELECT theme || ' ' || id FROM generate_series(0, 59) AS theme \
     JOIN docs ON body ~> minlsh_passage(quote(theme), 0.9) ORDER BY theme, id";

/// The index has the entries of the rows, and finds what reading all of them finds.
fn assert_sound(client: &mut Client) {
    for index in ["quoting", "per_tenant"] {
        assert_consistent(client, index);
    }
    let by_index = found(client);
    assert!(!by_index.is_empty());
    only(client, "seqscan");
    assert_eq!(texts(client, JOIN), by_index);
    client.run("RESET ALL");
}

fn write(session: &mut Client, random: &mut Random) {
    let (id, theme, own) = (random.below(3_000), random.below(80), random.below(1 << 30));
    let sql = match random.below(10) {
        0..4 => format!(
            "INSERT INTO docs VALUES ({id}, {theme} % 3, quoting({theme}, {own})) \
             ON CONFLICT (id) DO UPDATE SET body = excluded.body || ' again'"
        ),
        4 | 5 => format!("UPDATE docs SET body = quoting({theme}, {own}) WHERE id = {id}"),
        6 => format!("DELETE FROM docs WHERE id = {id}"),
        7 => format!("UPDATE docs SET tenant = {theme} % 4 WHERE id = {id}"),
        8 => format!("BEGIN; UPDATE docs SET body = quote({theme}) WHERE id = {id}; ROLLBACK"),
        _ => format!("SELECT id FROM docs WHERE body ~> minlsh_passage(quote({theme}), 0.5)"),
    };
    session.run(&sql);
}

#[test]
fn concurrent_builds_miss_no_passage() {
    let database = database();
    let mut client = database.connect();
    docs(&mut client, 800);
    let mut random = Random::by_the_clock();
    let writer = |_| {
        let (mut session, mut random) = (database.connect(), Random::new(random.seed()));
        move || write(&mut session, &mut random)
    };
    beside((0..3).map(writer).collect(), || {
        for sql in [
            "CREATE INDEX CONCURRENTLY quoting ON docs USING minlsh (body minlsh_passage_ops)",
            "CREATE INDEX CONCURRENTLY per_tenant ON docs USING minlsh (tenant, body minlsh_passage_ops) \
             WITH (min_match = 20)",
            "REINDEX INDEX CONCURRENTLY quoting",
            "VACUUM docs",
        ] {
            client.run(sql);
        }
    });
    assert_sound(&mut client);
    each(&mut client, "VACUUM docs; REINDEX TABLE CONCURRENTLY docs");
    assert_sound(&mut client);
}

#[test]
fn partitions_come_and_go_with_their_passages() {
    let mut client = database().connect();
    docs(&mut client, 300);
    client.run(
        "ALTER TABLE docs RENAME TO plain; CREATE TABLE docs (LIKE plain) PARTITION BY HASH (id); \
         CREATE TABLE p0 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
         CREATE TABLE p1 (body text, gone int, id int NOT NULL, tenant int); ALTER TABLE p1 DROP gone; \
         CREATE INDEX quoting ON docs USING minlsh (body minlsh_passage_ops); \
         CREATE INDEX per_tenant ON docs USING minlsh (tenant, body minlsh_passage_ops) WITH (min_match = 20); \
         ALTER TABLE docs ATTACH PARTITION p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
         INSERT INTO docs SELECT id, tenant, body FROM plain; ANALYZE docs",
    );
    let before = found(&mut client);
    client.run(
        "ALTER TABLE docs DETACH PARTITION p1; UPDATE p1 SET tenant = tenant + 1; \
         ALTER TABLE docs ATTACH PARTITION p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    assert_eq!(found(&mut client), before);
    client.run("ALTER TABLE docs DETACH PARTITION p0 CONCURRENTLY");
    assert!(found(&mut client).len() < before.len());
    client.run("ALTER TABLE docs ATTACH PARTITION p0 FOR VALUES WITH (MODULUS 2, REMAINDER 0)");
    assert_eq!(found(&mut client), before);
    assert_sound(&mut client);
}

#[test]
fn a_crash_loses_no_passage_and_a_standby_has_them() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = database.connect();
    docs(&mut client, 400);
    client.run(INDEXES);
    drop(client);
    for round in 0..2 {
        let mut random = Random::by_the_clock();
        let writers: Vec<_> = (0..3)
            .map(|_| {
                let mut session = database.connect();
                let mut random = Random::new(random.seed());
                std::thread::spawn(move || {
                    // Until the server is gone.
                    loop {
                        let (id, theme) = (random.below(3_000), random.below(80));
                        let sql = format!(
                            "INSERT INTO docs VALUES ({id}, 1, quoting({theme}, {id})) ON CONFLICT (id) DO UPDATE \
                             SET body = excluded.body; DELETE FROM docs WHERE id % 500 = {id}"
                        );
                        if session.batch_execute(&sql).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        let mut observer = database.connect();
        let written = format!("SELECT count(*) > {} FROM docs WHERE id > 400", 100 + round * 100);
        wait_until("the writers have written", || texts(&mut observer, &written) == ["t"]);
        server.crash();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        server.launch();
        assert_sound(&mut database.connect());
    }
    let standby = server.standby(&[]);
    let mut client = database.connect();
    let mut random = Random::by_the_clock();
    (0..300).for_each(|_| write(&mut client, &mut random));
    each(&mut client, "VACUUM docs; REINDEX INDEX CONCURRENTLY quoting");
    let expected = found(&mut client);
    let mut replica = standby.connect(&database.name);
    wait_until_replayed(&mut client, &mut replica);
    assert_eq!(found(&mut replica), expected);
    assert_sound(&mut replica);
    replica.run("SELECT pg_promote()");
    (0..100).for_each(|_| write(&mut replica, &mut random));
    assert_sound(&mut replica);
}

#[test]
fn write_skew_between_quotes_is_found() {
    let database = database();
    let (mut first, mut second) = (database.connect(), database.connect());
    docs(&mut first, 500);
    first.run("CREATE INDEX quoting ON docs USING minlsh (body minlsh_passage_ops)");
    let look = "SELECT count(*) FROM docs WHERE body ~> minlsh_passage(quote(1000), 0.9)";
    for plan in ["bitmapscan", "indexscan", "seqscan"] {
        for session in [&mut first, &mut second] {
            only(session, plan);
            session.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
            assert_eq!(texts(session, look), ["0"]);
        }
        let insert = "INSERT INTO docs SELECT 2000000 + pg_backend_pid(), 1, quoting(1000, 1000)";
        first.run(insert);
        let second_end = second.batch_execute(insert);
        let first_end = first.batch_execute("COMMIT");
        let second_end = second_end.and_then(|()| second.batch_execute("COMMIT"));
        let failed: Vec<_> = [first_end, second_end].into_iter().filter_map(Result::err).collect();
        assert_eq!(failed.len(), 1, "{plan}");
        assert_eq!(failed[0].code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{plan}");
        second.run("ROLLBACK; DELETE FROM docs WHERE id > 2000000");
    }
    let one = "SELECT id FROM docs WHERE body ~> minlsh_passage(quote(7), 0.9) ORDER BY id";
    let [seq, bitmap, index] = by_each_plan(&mut first, one);
    assert_eq!((&seq, &seq), (&bitmap, &index));
    assert_eq!(seq, ["28", "29", "30", "31"]);
}
