//! pg_dump and pg_restore carry side tables: options and columns are in what PostgreSQL dumps.

use minlsh_integration::{Client, Database, Run, assert_consistent, database, sqlstate, texts};

/// Two indexed tables, one with a side table in another schema. Dropped columns give the restored ones other numbers.
fn source() -> Database<'static> {
    let database = database();
    database.connect().run(
        "CREATE SCHEMA \"My Schema\"; CREATE SCHEMA aside; \
             CREATE TABLE \"My Schema\".docs (junk int, body text, more_junk int, id bigint PRIMARY KEY); \
             ALTER TABLE \"My Schema\".docs DROP junk, DROP more_junk; \
             INSERT INTO \"My Schema\".docs (id, body) \
               SELECT i, 'a document that differs from others in its number, ' || i / 3 FROM generate_series(1, 60) i; \
             CREATE TABLE parts (id uuid PRIMARY KEY, title varchar, body text) PARTITION BY HASH (id); \
             CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
             CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
             INSERT INTO parts SELECT md5(i::text)::uuid, 'title ' || i, 'the same text in every part' \
             FROM generate_series(1, 9) i; \
             SELECT minlsh_create_side_table('\"My Schema\".docs', 'body', threshold => 0.7, num_perm => 256); \
             SELECT minlsh_create_side_table('parts', 'body'); \
             SELECT minlsh_create_side_table('parts', 'title', threshold => 0.5, scheme => 'datasketch_affine32', \
               unit => 'word', shingle_size => 1, normalization => 'aggressive stop_words', \
               stop_words => 'the \"a\" it''s', bag => true, schema => 'aside'); \
             CREATE TABLE gone (id int PRIMARY KEY, body text); SELECT minlsh_create_side_table('gone', 'body'); \
             DROP TABLE gone",
    );
    database
}

/// All that the side tables have, their options, and what the catalog says of the triggers.
fn contents(client: &mut Client) -> Vec<String> {
    texts(
        client,
        "SELECT s::text FROM \"My Schema\".docs_minlsh s \
         UNION ALL SELECT s::text FROM parts_minlsh s UNION ALL SELECT s::text FROM aside.parts_minlsh s \
         UNION ALL SELECT relname || reloptions::text FROM pg_class WHERE relname LIKE '%minlsh_signature_idx' \
         UNION ALL SELECT tgrelid::regclass || ': ' || pg_get_triggerdef(oid) || ' ' || tgenabled::text \
           FROM pg_trigger WHERE NOT tgisinternal \
         ORDER BY 1",
    )
}

fn assert_alive(client: &mut Client, expected: &[String]) {
    for index in ["\"My Schema\".docs", "parts_minlsh", "aside.parts_minlsh"] {
        assert_consistent(client, index);
    }
    assert_eq!(contents(client), expected);
    // The triggers work, and a rebuild records in the catalog what belongs together.
    client.run(
        "INSERT INTO \"My Schema\".docs (id, body) VALUES (1000, 'new'); \
         UPDATE \"My Schema\".docs SET body = body || '.' WHERE id < 10; \
         ALTER TABLE \"My Schema\".docs RENAME body TO \"Body\"; \
         DELETE FROM \"My Schema\".docs WHERE id = 5; INSERT INTO parts VALUES (md5('x')::uuid, 'x', 'x')",
    );
    for index in ["\"My Schema\".docs", "parts_minlsh", "aside.parts_minlsh"] {
        assert_consistent(client, index);
    }
    client.run(
        "SELECT minlsh_rebuild_side_table('\"My Schema\".docs'), minlsh_rebuild_side_table('parts_minlsh'), \
         minlsh_rebuild_side_table('aside.parts_minlsh'); DROP TABLE \"My Schema\".docs, parts",
    );
    assert_eq!(
        texts(client, "SELECT relname FROM pg_class WHERE relname LIKE '%minlsh' AND relkind = 'r'"),
        Vec::<String>::new()
    );
}

/// Dumps the source, and creates a database to restore it into. Returns the name of that database, and the file.
fn dumped(source: &Database, name: &str, options: &[&str]) -> (String, String) {
    let server = source.server;
    let target = format!("{}_{name}", source.name);
    let file = server.socket().join(format!("{target}.dump"));
    let file = file.to_str().expect("UTF-8").to_owned();
    server.run("pg_dump", &[options, &["-f", &file, &source.name]].concat());
    server.run("createdb", &[&target]);
    (target, file)
}

/// Restores a dump of the source by some commands, which are followed by the database and the file.
fn assert_restored(options: &[&str], commands: &[(&str, &[&str])]) {
    let source = source();
    let expected = contents(&mut source.connect());
    assert!(expected.len() > 70);
    let (target, file) = dumped(&source, "copy", options);
    for (program, arguments) in commands {
        let last: &[&str] = if *program == "psql" { &["-f", &file] } else { &[&file] };
        source.server.run(program, &[*arguments, &["-d", &target], last].concat());
    }
    assert_alive(&mut source.server.connect(&target), &expected);
}

/// pg_restore sets an empty search_path: docs/how-to/html-and-logs.md says how to write such a function.
#[test]
fn an_index_on_a_function_around_ours_is_restored_if_it_names_the_schema() {
    let source = database();
    source.connect().run(
        "CREATE TABLE pages (id int PRIMARY KEY, body text); \
         INSERT INTO pages VALUES (1, '<p>one page'), (2, 'one page'); \
         CREATE FUNCTION returned(body text) RETURNS text LANGUAGE sql IMMUTABLE \
           RETURN normalize_text(body, 'html plain'); \
         CREATE FUNCTION named(body text) RETURNS text LANGUAGE sql IMMUTABLE \
           AS $$ SELECT public.normalize_text(body, 'html plain') $$; \
         CREATE FUNCTION unnamed(body text) RETURNS text LANGUAGE sql IMMUTABLE \
           AS $$ SELECT normalize_text(body, 'html plain') $$; \
         CREATE INDEX ON pages USING minlsh (returned(body)); CREATE INDEX ON pages USING minlsh (named(body))",
    );
    let (target, file) = dumped(&source, "functions", &["-Fc"]);
    source.server.run("pg_restore", &["-e", "-d", &target, &file]);
    let client = &mut source.server.connect(&target);
    assert_consistent(client, "pages_named_idx");
    assert_consistent(client, "pages_returned_idx");
    let index = "SET search_path = ''; CREATE INDEX ON public.pages USING minlsh (public.unnamed(body))";
    assert_eq!(sqlstate(client, index), "42883");
}

#[test]
fn a_plain_dump_restored_by_psql_has_the_same_index() {
    assert_restored(&[], &[("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1"])]);
}

#[test]
fn a_custom_dump_restored_in_parallel_has_the_same_index() {
    // Without sections pg_restore may make the triggers of a partitioned table before it has loaded all partitions.
    let section = |name: &'static str| ("pg_restore", ["-e", "-j", "2", name]);
    let sections = [section("--section=pre-data"), section("--section=data"), section("--section=post-data")];
    let commands: Vec<(&str, &[&str])> =
        sections.iter().map(|(program, arguments)| (*program, arguments.as_slice())).collect();
    assert_restored(&["-Fc"], &commands);
}

#[test]
fn a_schema_restored_first_and_the_data_after_it_have_the_same_index() {
    // The triggers are there already: the rows of the side tables come twice, in whatever order.
    let (schema, data): (&[&str], &[&str]) = (&["-e", "--schema-only"], &["-e", "--data-only"]);
    assert_restored(&["-Fc"], &[("pg_restore", schema), ("pg_restore", data)]);
}

#[test]
fn the_owner_of_a_database_restores_without_being_superuser() {
    let source = source();
    let expected = contents(&mut source.connect());
    let server = source.server;
    let (target, owner) = (format!("{}_copy", source.name), format!("{}_owner", source.name));
    source.connect().run(&format!("CREATE ROLE {owner} LOGIN"));
    let file = server.socket().join(format!("{target}.sql"));
    let file = file.to_str().expect("UTF-8");
    server.run("pg_dump", &["--no-owner", "--no-comments", "-f", file, &source.name]);
    server.run("createdb", &["-O", &owner, &target]);
    // The last -U counts. (Without comments: only a superuser may comment on an extension.)
    server.run("psql", &["-U", &owner, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &target, "-f", file]);
    let mut client = server.connect_as(&target, &owner).expect("connect");
    assert_alive(&mut client, &expected);
}

/// Restores part of the source, by psql that goes on after errors, beside an extension.
fn restored_part(source: &Database, name: &str, options: &[&str]) -> Client {
    let (target, file) = dumped(source, name, options);
    let mut client = source.server.connect(&target);
    client.run("CREATE EXTENSION minlsh");
    source.server.run("psql", &["-X", "-q", "-d", &target, "-f", &file]);
    client
}

#[test]
fn a_schema_alone_is_restored_with_its_index() {
    let source = source();
    let docs = "\"My Schema\".docs";
    let mut client = restored_part(&source, "schema", &["-n", "\"My Schema\""]);
    assert_eq!(texts(&mut client, &format!("SELECT count(*) FROM {docs}")), ["60"]);
    assert_consistent(&mut client, docs);
    client.run(&format!("DELETE FROM {docs} WHERE id < 9; UPDATE {docs} SET body = 'new' WHERE id = 9"));
    assert_consistent(&mut client, docs);
    let again = format!("SELECT minlsh_create_side_table('{docs}', 'body', threshold => 0.7, num_perm => 256)");
    assert_eq!(sqlstate(&mut client, &again), "42710");
    client.run(&format!("SELECT minlsh_drop_side_table('{docs}'); DROP TABLE {docs}; DROP SCHEMA \"My Schema\""));
}

#[test]
fn definitions_alone_are_an_empty_index_that_is_filled() {
    let source = source();
    let mut client = restored_part(&source, "definitions", &["--schema-only"]);
    client.run(
        "INSERT INTO parts SELECT md5(i::text)::uuid, 'title ' || i, 'text ' || i FROM generate_series(1, 9) i; \
         DELETE FROM parts WHERE title = 'title 1'",
    );
    for index in ["parts_minlsh", "aside.parts_minlsh"] {
        assert_consistent(&mut client, index);
        assert_eq!(texts(&mut client, &format!("SELECT count(*) FROM {index}")), ["8"]);
    }
}

#[test]
fn a_table_without_its_side_table_is_a_table_without_index() {
    let source = source();
    let docs = "\"My Schema\".docs";
    let mut client = restored_part(&source, "nothing", &["-t", "parts*"]);
    client.run("UPDATE parts SET body = 'new'");
    assert_consistent(&mut client, "parts");
    source.connect().run(&format!("ALTER TABLE {docs} SET SCHEMA public"));
    let mut client = restored_part(&source, "table", &["-t", "docs"]);
    client.run("UPDATE docs SET body = body || '!'; DELETE FROM docs WHERE id < 9; TRUNCATE docs");
    assert_eq!(sqlstate(&mut client, "SELECT minlsh_check('docs')"), "42704");
    client.run("INSERT INTO docs (id, body) VALUES (1, 'new'); SELECT minlsh_create_side_table('docs', 'body')");
    assert_consistent(&mut client, "docs");
    // Nor is a side table without its table anything else than a table.
    let mut client = restored_part(&source, "side", &["-t", "parts_minlsh"]);
    client.run("DELETE FROM parts_minlsh WHERE doc_id = md5('1')::uuid; TRUNCATE parts_minlsh");
}
