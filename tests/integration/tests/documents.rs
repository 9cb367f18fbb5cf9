//! Documents and `~=` with foreign encodings, through the wire, and at work for long.

use std::io::{Read, Write};
use std::time::Duration;

use minlsh_integration::{Client, Run, Stopwatch, backend, database, sqlstate, texts};

/// A session in a database of its own, of another encoding.
fn database_of(encoding: &str) -> Client {
    let utf8 = database();
    let name = format!("{}_{}", utf8.name, encoding.to_lowercase());
    let create = format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
    utf8.connect().run(&create);
    let mut client = utf8.server.connect(&name);
    client.run("CREATE EXTENSION minlsh");
    client
}

/// Fills a table `docs` with `sets` of texts: all of a set are the same, none of two sets are.
/// Then asks each pair, without an index and with one.
fn assert_told_apart(client: &mut Client, sets: &[&[&str]]) {
    client.run("CREATE TABLE docs (id serial PRIMARY KEY, set int, body text)");
    for (set, bodies) in sets.iter().enumerate() {
        for body in *bodies {
            client.run(&format!("INSERT INTO docs (set, body) VALUES ({set}, {body})"));
        }
    }
    let pairs: usize = sets.iter().map(|set| set.len() * set.len()).sum();
    let elements = "minlsh_document(ARRAY[a.body], 1)";
    for (left, right) in [
        ("b.body", "minlsh_document(a.body, 1)"),
        ("minlsh_document(b.body, 1)", "a.body"),
        ("b.body", "minlsh_document(a.body, 1, normalization => 'plain')"),
        ("b.body", "a.body"),
        ("ARRAY[b.body]", elements),
        ("minlsh_document(b.body, 1)", "minlsh_document(a.body, 1)"),
    ] {
        let wrong = format!(
            "SET minlsh.threshold = 1; \
             SELECT a.id, b.id FROM docs a, docs b WHERE ({left} ~= {right}) <> (a.set = b.set)"
        );
        assert_eq!(texts(client, &wrong), Vec::<String>::new(), "{left} ~= {right}");
    }
    client.run("CREATE INDEX ON docs USING minlsh (body); SET enable_seqscan = off");
    let found = "SELECT count(*) FROM docs a JOIN docs b ON b.body ~= minlsh_document(a.body, 1)";
    let plan = texts(client, &format!("EXPLAIN {found}")).join("\n");
    assert!(plan.contains("docs_body_idx"), "{plan}");
    assert_eq!(texts(client, found), [pairs.to_string()]);
    assert_read_alike(client, sets);
}

/// Asks all else that reads texts: signatures, side tables, whole-corpus jobs. Each has the same reading, and what
/// comes out of it is what went in.
fn assert_read_alike(client: &mut Client, sets: &[&[&str]]) {
    let wrong = "SELECT a.id, b.id FROM docs a, docs b \
                 WHERE (minhash(a.body, 512) = minhash(b.body, 512)) <> (a.set = b.set) \
                 OR (jaccard(a.body, b.body) = 1) <> (a.set = b.set)";
    assert_eq!(texts(client, wrong), Vec::<String>::new());
    let changed = "SELECT id FROM docs WHERE normalize_text(body, 'none') <> body \
                   OR array_to_string(tokens(body, 'char', 'none'), '') <> body";
    assert_eq!(texts(client, changed), Vec::<String>::new());
    let expected: usize = sets.iter().map(|set| set.len() * (set.len() - 1) / 2).sum();
    for source in ["docs", "docs_body_idx", "SELECT id, body FROM docs"] {
        let pairs = format!("SELECT count(*) FROM near_duplicate_pairs('{source}', 1)");
        assert_eq!(texts(client, &pairs), [expected.to_string()], "{source}");
    }
    client.run("SELECT minlsh_create_side_table('docs', 'body')");
    let lookups = "SELECT count(*) FROM docs, near_duplicates(id, 1, 'docs_minlsh')";
    assert_eq!(texts(client, lookups), [(2 * expected).to_string()]);
}

#[test]
fn a_character_that_unicode_does_not_have_is_kept() {
    let mut client = database_of("EUC_JP");
    // Row 2 of JIS X 0208 has no character there.
    assert_told_apart(
        &mut client,
        &[
            &["'日本語の文章'", "'日本語の文章'"],
            &[r"E'\xa2\xaf'", r"E'\xa2\xaf'"],
            &[r"E'\xa2\xb0'"],
            &[r"'日本語' || E'\xa2\xaf' || 'の文章'", r"E'日本語\xa2\xafの文章'"],
            &[r"E'日本語\xa2\xb0の文章'"],
            &[r"repeat('日本語の文章', 5000) || E'\xa2\xaf'"],
            &[r"repeat('日本語の文章', 5000) || E'\xa2\xb0'"],
        ],
    );
}

#[test]
fn bytes_that_are_no_characters_are_kept() {
    let mut client = database_of("SQL_ASCII");
    assert_told_apart(
        &mut client,
        &[
            &["'plain'", "'plain'"],
            &[r"E'caf\xe9'", r"E'caf\xe9'"],
            &[r"E'caf\xc3\xa9'", "'café'"],
            &[r"E'caf\xe8'"],
            // The private character that a lone \xe9 is read as.
            &[r"E'caf\xf4\x8f\xbb\xa9'"],
            &[r"E'\xff\xfe\x80'"],
            &[r"E'\xe6\xbc'", r"E'\xe6\xbc'"],
            &[r"E'\xe6\xbc\xa2'"],
        ],
    );
}

#[test]
fn an_encoding_without_a_way_to_unicode_is_read_as_bytes() {
    let utf8 = database();
    if texts(&mut utf8.connect(), "SELECT current_setting('server_version_num')::int < 190000") != ["t"] {
        println!("SKIPPED: PostgreSQL 19 converts each of its encodings");
        return;
    }
    let name = format!("{}_mule_internal", utf8.name);
    utf8.connect().run(&format!("CREATE DATABASE {name} ENCODING 'MULE_INTERNAL' LOCALE 'C' TEMPLATE template0"));
    // PostgreSQL cannot convert it to the UTF-8 of our client.
    let sql = r"
        CREATE EXTENSION minlsh;
        CREATE TABLE docs AS SELECT * FROM (VALUES (1, E'caf\x81\xe9'), (2, E'caf\x81\xe9'), (3, E'caf\x81\xe8'),
            (4, repeat(E'na\x81\xefve ', 3000)), (5, 'plain')) AS docs (id, body);
        SELECT a.id || '~' || b.id FROM docs a, docs b WHERE a.id < b.id AND a.body ~= b.body;
        SELECT a.id || '=' || b.id FROM docs a, docs b WHERE a.id < b.id AND minhash(a.body) = minhash(b.body);
        SELECT doc_a || '-' || doc_b FROM near_duplicate_pairs('SELECT id, body FROM docs', 1);
        CREATE INDEX ON docs USING minlsh (body);
        SELECT count(*) FROM docs a JOIN docs b ON b.body ~= minlsh_document(a.body, 1, normalization => 'none');
        SELECT count(*) FROM docs WHERE normalize_text(body, 'none') <> body;";
    let database = format!("dbname={name} client_encoding=SQL_ASCII");
    let found = utf8.server.run("psql", &["-XqtA", "-v", "ON_ERROR_STOP=1", "-d", &database, "-c", sql]);
    assert_eq!(found.split_whitespace().collect::<Vec<_>>(), ["1~2", "1=2", "1-2", "7", "0"]);
}

#[test]
fn a_byte_that_windows_left_out_is_kept() {
    let mut client = database_of("WIN1252");
    assert_told_apart(
        &mut client,
        &[&["'naïve'", r"E'na\xefve'"], &[r"E'na\x81ve'", r"E'na\x81ve'"], &[r"E'na\x8dve'"]],
    );
}

#[test]
fn every_byte_of_a_small_encoding_is_a_character() {
    let mut client = database_of("LATIN1");
    assert_told_apart(&mut client, &[&["'naïve café ÿ'", r"E'na\xefve caf\xe9 \xff'"], &["'naive cafe y'"], &["'½'"]]);
    client.run(
        "CREATE TABLE bytes AS SELECT i, convert_from(decode(lpad(to_hex(i), 2, '0'), 'hex'), 'LATIN1') AS body \
         FROM generate_series(128, 255) i",
    );
    let wrong = "SELECT a.i, b.i FROM bytes a, bytes b \
                 WHERE ('a' || a.body ~= minlsh_document('a' || b.body, 1, normalization => 'none')) <> (a.i = b.i)";
    assert_eq!(texts(&mut client, wrong), Vec::<String>::new());
}

#[test]
fn a_document_is_the_same_in_every_encoding() {
    let literal = "minlsh_document('naïve café, à la carte', 0.9, 2, 'char', 'plain', 'für über', true)";
    let sql = format!("SELECT {literal}::text || jaccard('NAÏVE café, À la carte!', {literal})");
    let expected = texts(&mut database().connect(), &sql);
    // To the client's side of SQL_ASCII these are the bytes of UTF-8.
    for encoding in ["LATIN1", "LATIN9", "WIN1252", "SQL_ASCII"] {
        assert_eq!(texts(&mut database_of(encoding), &sql), expected, "{encoding}");
    }
}

/// The bytes of a binary COPY of one row with one value.
fn binary_copy(value: &[u8]) -> Vec<u8> {
    let mut bytes = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(1_i16.to_be_bytes());
    bytes.extend(i32::try_from(value.len()).expect("a short value").to_be_bytes());
    bytes.extend(value);
    bytes.extend((-1_i16).to_be_bytes());
    bytes
}

fn copy_in(client: &mut Client, bytes: &[u8]) -> Result<u64, String> {
    let state = |cause: postgres::Error| match cause.code() {
        Some(code) => code.code().to_owned(),
        None => cause.to_string(),
    };
    let mut writer = client.copy_in("COPY docs FROM STDIN (FORMAT binary)").map_err(state)?;
    writer.write_all(bytes).expect("bytes");
    writer.finish().map_err(state)
}

#[test]
fn hostile_values_through_binary_copy_are_refused() {
    let mut client = database().connect();
    client.run("CREATE TABLE docs (d minlsh_document)");
    let good = b"\x01{\"threshold\": 0.8, \"set\": [1, 2]}";
    assert_eq!(copy_in(&mut client, &binary_copy(good)), Ok(1));
    // What is no JSON is a plain text, as in the type's text form.
    for plain in [&b"\x01"[..], b"\x01some text"] {
        assert_eq!(copy_in(&mut client, &binary_copy(plain)), Ok(1));
    }
    for (value, state) in [
        (&b""[..], "08P01"),
        (b"\x00{\"threshold\": 0.8, \"set\": []}", "22P03"),
        (b"\xff", "22P03"),
        (b"\x01{\"threshold\": 0.8, \"set\": [1, 2]", "22P02"),
        (b"\x01{\"threshold\": 0.8, \"set\": [1e3]}", "22P02"),
        (b"\x01{\"threshold\": 0.8, \"text\": \"a\0b\"}", "22021"),
        (b"\x01{\"threshold\": 0.8, \"text\": \"\xff\"}", "22021"),
        (b"\x01{\"threshold\": nan, \"text\": \"a\"}", "22023"),
        (b"\x01{\"threshold\": 0.8, \"unit\": \"\xe2\x80\xa6\", \"text\": \"a\"}", "22023"),
        (b"\x01{\"threshold\": 0.8, \"stop_words\": \"\\u0000\", \"text\": \"a\"}", "22P02"),
    ] {
        let copied = copy_in(&mut client, &binary_copy(value));
        assert_eq!(copied, Err(state.to_owned()), "{:?}", String::from_utf8_lossy(value));
    }
    // Each beginning of a value, and each value with one byte changed: refused or taken, and then
    // it is one that can be written. What does not begin as an object is a plain text.
    let good = b"\x01{\"threshold\": 0.8, \"unit\": \"word\", \"text\": \"a \\u00e9 b\"}";
    let object = b"\x01{\"threshold\":".len();
    for end in 0..good.len() {
        let taken = copy_in(&mut client, &binary_copy(&good[..end])).is_ok();
        assert_eq!(taken, (1..object).contains(&end), "{end}");
    }
    for place in 0..good.len() {
        for byte in [0, b'"', b'{', b'\\', b'9', 0x7f, 0xff] {
            let mut changed = good.to_vec();
            changed[place] = byte;
            let _ = copy_in(&mut client, &binary_copy(&changed));
        }
    }
    let unlike = "SELECT d FROM docs WHERE d::text::minlsh_document::text <> d::text";
    assert_eq!(texts(&mut client, unlike), Vec::<String>::new());
}

#[test]
fn damaged_values_are_refused() {
    let mut client = database().connect();
    // What no user can do: bytes as they are. A damaged page gives such values.
    client.run(
        "CREATE CAST (bytea AS minlsh_document) WITHOUT FUNCTION; \
         CREATE CAST (minlsh_document AS bytea) WITHOUT FUNCTION; \
         CREATE TABLE docs AS SELECT * FROM (VALUES (minlsh_document('a text', 0.9)), \
         (minlsh_document(ARRAY[1, 2])), (minlsh_signature(ARRAY[1, 2]))) AS v (d); \
         CREATE FUNCTION outcome(bytea) RETURNS text LANGUAGE plpgsql AS $$ \
         BEGIN \
            PERFORM $1::minlsh_document::text, 'a text'::text ~= $1::minlsh_document, \
                    ARRAY[1] ~= $1::minlsh_document, $1::minlsh_document ~= $1::minlsh_document; \
            RETURN 'taken'; \
         EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; \
         END $$",
    );
    let damaged = "SELECT DISTINCT outcome(damaged) FROM docs, \
         LATERAL (SELECT substring(d::bytea FOR n) FROM generate_series(0, length(d::bytea)) n \
                  UNION ALL SELECT set_byte(d::bytea, n, byte) FROM generate_series(0, length(d::bytea) - 1) n, \
                  unnest(ARRAY[0, 1, 2, 3, 127, 128, 255]) byte) AS v (damaged) ORDER BY 1";
    // The value is malformed (22P03), or its options are none that there are (22023).
    assert_eq!(texts(&mut client, damaged), ["22023", "22P03", "taken"]);
}

#[test]
fn documents_pass_through_copy_unchanged() {
    let mut client = database().connect();
    client.run(
        r#"CREATE TABLE docs AS SELECT * FROM (VALUES (minlsh_document(E'a \\ "quoted" \t text\n漢字', 0.9)),
         (minlsh_document('')), (minlsh_document(ARRAY['a', 'b'])), (minlsh_signature(ARRAY[-1, 2])),
         (minlsh_document(repeat('a long text ', 100000), 0.123456789, 3, 'word')), (NULL)) AS v (d)"#,
    );
    for format in ["text", "binary"] {
        let mut bytes = Vec::new();
        client
            .copy_out(&format!("COPY docs TO STDOUT (FORMAT {format})"))
            .map(|mut reader| reader.read_to_end(&mut bytes).expect("bytes"))
            .expect("COPY TO");
        client.run("CREATE TABLE copied (LIKE docs)");
        let mut writer = client.copy_in(&format!("COPY copied FROM STDIN (FORMAT {format})")).expect("COPY FROM");
        writer.write_all(&bytes).expect("bytes");
        assert_eq!(writer.finish().expect("COPY FROM"), 6);
        let differing = "SELECT count(*) FROM (SELECT d::text FROM docs EXCEPT ALL SELECT d::text FROM copied) AS x";
        assert_eq!(texts(&mut client, differing), ["0"], "{format}");
        client.run("DROP TABLE copied");
    }
}

#[test]
fn long_texts_are_compared_as_short_ones_are() {
    let mut client = database().connect();
    // More than a million shingles, too many for a table of them.
    let sql = "WITH texts AS MATERIALIZED ( \
                   SELECT body, left(body, -100000) AS most FROM ( \
                       SELECT string_agg(md5(i::text), ' ') AS body FROM generate_series(1, 34000) i) AS t), \
               measured AS MATERIALIZED (SELECT jaccard(body, most) AS expected FROM texts) \
               SELECT jaccard(most, minlsh_document(body)) = expected, jaccard(minlsh_document(most), d) = expected, \
                      jaccard('', d) = 0, most ~= minlsh_document(body, expected), \
                      most ~= minlsh_document(body, expected + 1e-9), '' ~= d, \
                      jaccard(string_to_array(most, ' '), minlsh_document(string_to_array(body, ' '))) > 0.9 \
               FROM texts, measured, minlsh_document(body) AS d";
    let row = client.query_one(sql, &[]).expect("similarities");
    let outcomes: Vec<bool> = (0..row.len()).map(|column| row.get(column)).collect();
    assert_eq!(outcomes, [true, true, true, true, false, false, true]);
}

#[test]
fn comparing_long_texts_can_be_cancelled() {
    let mut client = database().connect();
    let pid = backend(&mut client);
    client.run(
        "CREATE TABLE docs AS SELECT string_agg(md5(i::text), ' ') AS body FROM generate_series(1, 1000000) i; \
         INSERT INTO docs SELECT body || body || body FROM docs; SET statement_timeout = '50ms'",
    );
    for condition in [
        "body ~= minlsh_document('a text')",
        "minlsh_document(body) ~= 'a text'",
        "body ~= body",
        "minlsh_document(string_to_array(body, ' ')) ~= ARRAY['a']",
    ] {
        let start = Stopwatch::start(pid);
        let query = format!("SELECT count(*) FROM docs WHERE {condition}");
        assert_eq!(sqlstate(&mut client, &query), "57014", "{condition}");
        assert!(start.elapsed() < Duration::from_secs(5), "{condition}: {:?}", start.elapsed());
    }
}
