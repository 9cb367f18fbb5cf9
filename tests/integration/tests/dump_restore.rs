//! pg_dump and pg_restore carry an index: the restored database answers the same.

use minlsh_integration::{Client, Database, assert_consistent, database, texts};

/// Two indexed tables. Dropped columns give the restored columns other numbers.
fn source() -> Database<'static> {
    let database = database();
    database
        .connect()
        .batch_execute(
            "CREATE SCHEMA \"My Schema\"; \
             CREATE TABLE \"My Schema\".docs (junk int, body text, more_junk int, id bigint PRIMARY KEY); \
             ALTER TABLE \"My Schema\".docs DROP junk, DROP more_junk; \
             INSERT INTO \"My Schema\".docs (id, body) \
               SELECT i, 'a document that differs from others in its number, ' || i / 3 FROM generate_series(1, 60) i; \
             CREATE TABLE parts (id uuid PRIMARY KEY, title varchar, body text) PARTITION BY HASH (id); \
             CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
             CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
             INSERT INTO parts SELECT md5(i::text)::uuid, 'title ' || i, 'the same text in every part' FROM generate_series(1, 9) i; \
             SELECT minlsh_create_index('\"My Schema\".docs', 'body', threshold => 0.7, num_perm => 256); \
             SELECT minlsh_create_index('parts', 'body'); \
             SELECT minlsh_create_index('parts', 'title', threshold => 0.5, scheme => 'datasketch_affine32', unit => 'word', \
               shingle_size => 1, normalization => 'aggressive stop_words', stop_words => 'the \"a\" it''s', bag => true, slot_bits => 16); \
             CREATE TABLE gone (id int PRIMARY KEY, body text); SELECT minlsh_create_index('gone', 'body'); DROP TABLE gone",
        )
        .expect("indexed tables");
    database
}

fn answers(client: &mut Client) -> Vec<String> {
    texts(
        client,
        "SELECT d.id || ' ' || n::text FROM \"My Schema\".docs d, near_duplicates(d.id, 0.8, '\"My Schema\".docs') n \
         UNION ALL SELECT d.id || ' ' || n::text FROM parts d, near_duplicates(d.id, 0.8, 'parts_minlsh') n \
         UNION ALL SELECT d.id || ' ' || n::text FROM parts d, near_duplicates(d.id, 0.6, 'parts_title_minlsh') n \
         UNION ALL SELECT i::text FROM (SELECT index, relation, key, body, threshold, bands, rows, documents, \
           scheme, seed, slot_bits, unit, normalization, stop_words, bag, unicode, valid FROM minlsh_indexes) i \
         ORDER BY 1",
    )
}

fn assert_alive(client: &mut Client, expected: &[String]) {
    for index in ["\"My Schema\".docs", "parts_minlsh", "parts_title_minlsh"] {
        assert_consistent(client, index);
    }
    assert_eq!(answers(client), expected);
    // The triggers work, and the first write tells the catalog what belongs together.
    client
        .batch_execute(
            "INSERT INTO \"My Schema\".docs (id, body) VALUES (1000, 'new'); \
             UPDATE \"My Schema\".docs SET body = body || '.' WHERE id < 10; \
             ALTER TABLE \"My Schema\".docs RENAME body TO \"Body\"; \
             DELETE FROM \"My Schema\".docs WHERE id = 5; INSERT INTO parts VALUES (md5('x')::uuid, 'x', 'x')",
        )
        .expect("writes");
    for index in ["\"My Schema\".docs", "parts_minlsh", "parts_title_minlsh"] {
        assert_consistent(client, index);
    }
    client.batch_execute("DROP TABLE \"My Schema\".docs, parts").expect("drop");
    assert_eq!(
        texts(
            client,
            "SELECT relname FROM pg_class WHERE relname LIKE '%minlsh' AND relkind = 'r'"
        ),
        Vec::<String>::new()
    );
}

#[test]
fn a_plain_dump_restored_by_psql_answers_the_same() {
    let source = source();
    let expected = answers(&mut source.connect());
    assert!(expected.len() > 150);
    let server = source.server;
    let target = format!("{}_copy", source.name);
    let file = server.socket().join(format!("{target}.sql"));
    let file = file.to_str().expect("UTF-8");
    server.run("pg_dump", &["-f", file, &source.name]);
    server.run("createdb", &[&target]);
    server.run("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &target, "-f", file]);
    assert_alive(&mut server.connect(&target), &expected);
}

#[test]
fn a_custom_dump_restored_in_parallel_answers_the_same() {
    let source = source();
    let expected = answers(&mut source.connect());
    let server = source.server;
    let target = format!("{}_copy", source.name);
    let file = server.socket().join(format!("{target}.dump"));
    let file = file.to_str().expect("UTF-8");
    server.run("pg_dump", &["-Fc", "-f", file, &source.name]);
    server.run("createdb", &[&target]);
    server.run("pg_restore", &["-e", "-j", "2", "-d", &target, file]);
    assert_alive(&mut server.connect(&target), &expected);
}

#[test]
fn the_owner_of_a_database_restores_without_being_superuser() {
    let source = source();
    let expected = answers(&mut source.connect());
    let server = source.server;
    let (target, owner) = (format!("{}_copy", source.name), format!("{}_owner", source.name));
    source.connect().batch_execute(&format!("CREATE ROLE {owner} LOGIN")).expect("a role");
    let file = server.socket().join(format!("{target}.sql"));
    let file = file.to_str().expect("UTF-8");
    server.run("pg_dump", &["--no-owner", "--no-comments", "-f", file, &source.name]);
    server.run("createdb", &["-O", &owner, &target]);
    // The last -U counts. (Without comments: only a superuser may comment on an extension.)
    server.run(
        "psql",
        &["-U", &owner, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &target, "-f", file],
    );
    let mut client = server.connect_as(&target, &owner).expect("connect");
    assert_alive(&mut client, &expected);
}
