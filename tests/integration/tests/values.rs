//! Large, odd and foreign values.

use minlsh_integration::{Run, assert_consistent, database, is_thorough, texts};

#[test]
fn a_body_of_megabytes_is_indexed_and_found() {
    let mut client = database().connect();
    // 50 MB, or 10 MB.
    let words = if is_thorough() { 1_600_000 } else { 320_000 };
    client.run(&format!(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); SELECT minlsh_create_side_table('docs', 'body'); \
         INSERT INTO docs SELECT 1, string_agg(md5(i::text), ' ') FROM generate_series(1, {words}) i; \
         INSERT INTO docs SELECT 2, body || ' and an end of its own' FROM docs; \
         UPDATE docs SET id = 3 WHERE id = 2; \
         UPDATE docs SET body = body || '.' WHERE id = 3",
    ));
    let long = format!("SELECT octet_length(body) >= 33 * {words} - 1 FROM docs");
    assert_eq!(texts(&mut client, &long), ["t", "t"]);
    assert_eq!(texts(&mut client, "SELECT doc_id FROM near_duplicates(1, 0.95)"), ["3"]);
    let exact = "SELECT similarity > 0.999 FROM near_duplicates(1, 0.95, verify => 'exact')";
    assert_eq!(texts(&mut client, exact), ["t"]);
    assert_consistent(&mut client, "docs");
    let signature = "SELECT cardinality(minhash(body || body)) FROM docs WHERE id = 1";
    assert_eq!(texts(&mut client, signature), ["128"]);
}

#[test]
fn a_text_has_the_same_signature_whatever_the_database_s_encoding() {
    let utf8 = database();
    let server = utf8.server;
    let latin1 = format!("{}_latin1", utf8.name);
    let ascii = format!("{}_ascii", utf8.name);
    let mut client = utf8.connect();
    for (name, encoding) in [(&latin1, "LATIN1"), (&ascii, "SQL_ASCII")] {
        client.run(&format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"));
    }
    let sql = "SELECT minhash('naïve café, plain ASCII, ½ & ÿ', 32)::text || shingles('naïve', 2)::text";
    let expected = texts(&mut client, sql);
    for name in [&latin1, &ascii] {
        let mut client = server.connect(name);
        client.run("CREATE EXTENSION minlsh");
        assert_eq!(texts(&mut client, sql), expected, "{name}");
        client.run(
            "CREATE TABLE docs (id text PRIMARY KEY, body text); SELECT minlsh_create_side_table('docs', 'body'); \
             INSERT INTO docs VALUES ('é', 'naïve café and so on'), ('ü', 'naïve café and so on')",
        );
        assert_eq!(texts(&mut client, "SELECT doc_id FROM near_duplicates('é', 0.9)"), ["ü"]);
        assert_eq!(texts(&mut client, "SELECT doc_b FROM near_duplicate_pairs('docs')"), ["ü"]);
        assert_consistent(&mut client, "docs");
    }
    // SQL_ASCII takes any bytes; those that are not UTF-8 are characters of their own, for every function alike.
    let mut client = server.connect(&ascii);
    let odd = r"SELECT minhash(E'caf\xe9') IS NOT NULL AND minhash(E'caf\xe9') <> minhash(E'caf\xe8')";
    assert_eq!(texts(&mut client, odd), ["t"]);
    client.run(r"INSERT INTO docs VALUES ('x', E'the caf\xe9 in Paris'), ('y', E'The  caf\xe9 in Paris')");
    assert_eq!(texts(&mut client, "SELECT doc_id FROM near_duplicates('x', 0.9)"), ["y"]);
    assert_consistent(&mut client, "docs");
}

#[test]
fn names_may_be_as_long_as_postgresql_allows() {
    let mut client = database().connect();
    let long = "n".repeat(63);
    client.run(&format!(
        "CREATE TABLE {long} ({long} int PRIMARY KEY, b{} text, c text); \
         SELECT minlsh_create_side_table('{long}', 'b{}'); SELECT minlsh_create_side_table('{long}', 'c'); \
         INSERT INTO {long} VALUES (1, 'one text', 'c'), (2, 'one text', 'c')",
        &long[1..],
        &long[1..]
    ));
    let indexes = texts(&mut client, "SELECT index::text FROM minlsh_indexes ORDER BY 1");
    assert_eq!(indexes.len(), 2);
    for index in indexes {
        assert_consistent(&mut client, &index);
        let found = format!("SELECT doc_id FROM near_duplicates(1, 0.9, '{index}')");
        assert_eq!(texts(&mut client, &found), ["2"]);
        client.run(&format!("SELECT minlsh_drop_side_table('{index}')"));
    }
}

#[test]
fn keys_under_a_collation_that_ignores_case_are_one_where_the_table_says_so() {
    let mut client = database().connect();
    let icu = "SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu'";
    if texts(&mut client, icu) == ["0"] {
        eprintln!("this server has no ICU: nothing to test");
        return;
    }
    client.run(
        "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
         CREATE TABLE docs (id text COLLATE ci PRIMARY KEY, body text); \
         INSERT INTO docs VALUES ('A', 'one text'), ('B', 'one text'); \
         SELECT minlsh_create_side_table('docs', 'body'); \
         INSERT INTO docs VALUES ('c', 'one text'); UPDATE docs SET id = 'C' WHERE id = 'c'",
    );
    assert_eq!(texts(&mut client, "SELECT doc_id FROM near_duplicates('a', 0.9) ORDER BY 1"), ["B", "C"]);
    assert_consistent(&mut client, "docs");
}
