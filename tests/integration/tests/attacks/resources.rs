//! Attacks by what a server has and gets: memory, threads, its environment, and bytes in a binary COPY.

use std::io::Write;

use minlsh_integration::{Client, Run, Server, backend, database, is_thorough, kilobytes, own_memory, sqlstate, texts};

#[test]
fn without_threads_the_work_is_done_all_the_same() {
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, repeat(md5((i / 4)::text), 20) FROM generate_series(1, 5000) i",
    );
    let ask = "SELECT count(*) FROM near_duplicate_pairs('docs', 0.9)";
    // No process of this user can have another thread. (Root's limits do not bind, but servers
    // do not run as root.)
    let mut poor = database.connect();
    database.server.limit(backend(&mut poor), "--nproc=1");
    poor.run("SELECT minlsh_create_side_table('docs', 'body')");
    assert_eq!(texts(&mut poor, ask), texts(&mut client, ask));
    assert_eq!(texts(&mut poor, "SELECT count(*) FROM minlsh_check('docs')"), ["0"]);
}

#[test]
fn many_rows_in_one_statement_take_little_memory() {
    const ROWS: u32 = 50_000;
    let database = database();
    let mut peaks = Vec::new();
    for table in ["plain", "indexed"] {
        let mut client = database.connect();
        client.run(&format!("CREATE TABLE {table} (id int PRIMARY KEY, body text)"));
        if table == "indexed" {
            client.run("SELECT minlsh_create_side_table('indexed', 'body')");
        }
        let pid = backend(&mut client);
        for statement in [
            format!("INSERT INTO {table} SELECT i, 'short ' || i FROM generate_series(1, {ROWS}) i"),
            format!("UPDATE {table} SET body = body || '.'"),
        ] {
            client.run(&statement);
        }
        // Shared memory is not the backend's own.
        peaks.push(own_memory(pid));
    }
    let more = peaks[1].saturating_sub(peaks[0]);
    println!("{ROWS} rows: {} kB without the index, {more} kB more with it", peaks[0]);
    assert!(more < 16 * 1024, "{more} kB more than without the index");
}

/// Makes the table `long`: two texts of `words` words of 32 letters, nearly the same.
fn make_long(client: &mut Client, words: u32) {
    client.run(&format!(
        "CREATE TABLE long (a text, b text); \
         ALTER TABLE long ALTER a SET STORAGE external, ALTER b SET STORAGE external; \
         INSERT INTO long SELECT body, body || ' and a few words more' \
           FROM (SELECT string_agg(md5(i::text), ' ') AS body FROM generate_series(1, {words}) i) AS made",
    ));
}

#[test]
fn two_long_texts_are_compared_in_little_memory() {
    let database = database();
    let mut client = database.connect();
    make_long(&mut client, 750_000);
    for (measure, least, most) in [
        ("jaccard(a, b)", 0.999, 1.0),
        ("containment(a, b, bag => true)", 0.999, 1.0),
        ("(a ~= minlsh_document(b, 0.9))::int::float8", 1.0, 1.0),
    ] {
        let mut client = database.connect();
        client.run("SELECT minhash('x'); SELECT md5(a || b) FROM long");
        let pid = backend(&mut client);
        let (row, more) = more_memory(&mut client, pid, |client| {
            client.query_one(&format!("SELECT {measure} FROM long"), &[]).expect("a measure")
        });
        let found: f64 = row.get(0);
        assert!((least..=most).contains(&found), "{measure}: {found}");
        println!("{measure}: {more} kB for two texts of 25 MB");
        assert!(more < 160 * 1024, "{measure}: {more} kB");
    }
}

/// Gives a session so much for maintenance; its process.
fn warm(client: &mut Client, maintenance: &str) -> i32 {
    client.run(&format!("SET maintenance_work_mem = '{maintenance}'; SELECT minhash('x')"));
    backend(client)
}

/// The result of some work, and the kB by which it raised the peak of its process's own memory.
fn more_memory<T>(client: &mut Client, pid: i32, work: impl FnOnce(&mut Client) -> T) -> (T, u64) {
    let before = own_memory(pid);
    let result = work(client);
    (result, own_memory(pid).saturating_sub(before))
}

#[test]
fn two_long_arrays_are_compared_in_little_memory() {
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE long (a int[], b int[]); \
             ALTER TABLE long ALTER a SET STORAGE external, ALTER b SET STORAGE external; \
             INSERT INTO long SELECT a, a[2:] \
               FROM (SELECT array_agg(i) AS a FROM generate_series(1, 6000000) i) AS made",
    );
    let mut client = database.connect();
    let pid = warm(&mut client, "64MB");
    let (found, more) = more_memory(&mut client, pid, |client| texts(client, "SELECT jaccard(a, b) > 0.99 FROM long"));
    assert_eq!(found, ["t"]);
    println!("{more} kB for two arrays of 24 MB");
    // The arrays, a datum for each element, and what sorting takes.
    assert!(more < 224 * 1024, "{more} kB");
}

#[test]
fn texts_are_explained_in_the_memory_that_is_set() {
    let database = database();
    let mut client = database.connect();
    make_long(&mut client, 310_000);
    let explain = "SELECT jaccard > 0.99 FROM long, minlsh_explain_texts(a, b)";
    let mut client = database.connect();
    let pid = warm(&mut client, "64MB");
    assert_eq!(sqlstate(&mut client, explain), "53400");
    client.run("SET maintenance_work_mem = '240MB'");
    let (found, more) = more_memory(&mut client, pid, |client| texts(client, explain));
    println!("{more} kB for two texts of 10 MB");
    assert_eq!(found, ["t"]);
    assert!(more < 240 * 1024, "{more} kB");
}

#[test]
fn many_scopes_take_little_memory() {
    const ROWS: u32 = 400_000;
    let database = database();
    let mut peaks = Vec::new();
    for scope in ["''", "md5(i::text) || repeat('x', 100)"] {
        let mut client = database.connect();
        client.run("SET maintenance_work_mem = '16MB'; SELECT minhash('x')");
        let pid = backend(&mut client);
        let pairs = format!(
            "SELECT count(*) FROM near_duplicate_pairs( \
             $$SELECT i, md5(i::text), {scope} AS tenant FROM generate_series(1, {ROWS}) i$$, \
             0.9, scope => 'tenant')"
        );
        let (found, more) = more_memory(&mut client, pid, |client| texts(client, &pairs));
        assert_eq!(found, ["0"]);
        peaks.push(more);
    }
    println!("{} kB with one scope, {} kB with {ROWS}", peaks[0], peaks[1]);
    assert!(peaks[1] < peaks[0] + 48 * 1024, "{peaks:?}");
}

#[test]
fn members_of_tracked_clusters_take_little_memory() {
    let database = database();
    let mut client = database.connect();
    let (few, many) = (10_000, 60_000);
    let mut peaks = Vec::new();
    for rows in [few, many] {
        client.run(&format!(
            "CREATE TABLE docs_{rows} AS SELECT i AS id, md5((i / 2)::text) AS body \
                   FROM generate_series(2, {rows} + 1) i; \
                 ALTER TABLE docs_{rows} ADD PRIMARY KEY (id); \
                 CREATE INDEX ON docs_{rows} USING minlsh (body); \
                 SELECT minlsh_track_clusters('docs_{rows}_body_idx')",
        ));
        let mut session = database.connect();
        let pid = warm(&mut session, "4MB");
        let refresh = format!("SELECT clusters FROM minlsh_refresh_clusters('docs_{rows}_clusters')");
        let (clusters, more) = more_memory(&mut session, pid, |session| texts(session, &refresh));
        assert_eq!(clusters, [(rows / 2).to_string()]);
        peaks.push(more);
    }
    let each = 1024 * peaks[1].saturating_sub(peaks[0]) / (many - few);
    println!("{} kB for {few} members, {} kB for {many}: {each} bytes for each", peaks[0], peaks[1]);
    assert!(each < 160, "{each} bytes for each member");
}

#[test]
fn many_equal_texts_take_little_memory() {
    const ROWS: u32 = 400_000;
    let database = database();
    let mut client = database.connect();
    let pid = warm(&mut client, "16MB");
    let clusters = |body: &str, verify: &str| {
        format!(
            "SELECT count(*) || ' ' || count(DISTINCT cluster_id) FROM near_duplicate_clusters( \
             $$SELECT i, {body} FROM generate_series(1, {ROWS}) i$$, 0.5, verify => '{verify}')"
        )
    };
    // Two that are similar in half of all, so that not all are the same.
    let body = "CASE i % 2 WHEN 0 THEN 'the same text as all the others' ELSE 'the same text as all others' END";
    let all = [("'the same text'", "exact"), (body, "signature"), (body, "exact"), ("'the same text'", "signature")];
    for &(body, verify) in if is_thorough() { &all[..] } else { &all[..2] } {
        let (found, more) = more_memory(&mut client, pid, |client| texts(client, &clusters(body, verify)));
        println!("{more} kB for {ROWS} equal texts, verified by {verify}");
        assert_eq!(found, [format!("{ROWS} 1")]);
        assert!(more < 80 * 1024, "{more} kB");
    }
}

#[test]
fn many_pairs_of_equal_texts_take_little_memory() {
    const ROWS: u32 = 400_000;
    let database = database();
    let mut client = database.connect();
    let pid = warm(&mut client, "16MB");
    // There are more pairs than any disk holds.
    client.run("SET temp_file_limit = '128MB'");
    let pairs = format!(
        "SELECT count(*) FROM near_duplicate_pairs($$SELECT i, 'the same text' FROM generate_series(1, {ROWS}) i$$)"
    );
    assert_refused_within(&mut client, pid, &pairs, 80 * 1024);
}

/// Asserts that a statement is refused for what it would take, and that the session has grown by less than `most` kB.
fn assert_refused_within(client: &mut Client, pid: i32, sql: &str, most: u64) {
    let (state, more) = more_memory(client, pid, |client| sqlstate(client, sql));
    println!("{more} kB until {state}: {sql}");
    assert_eq!(state, "53400");
    assert!(more < most, "{more} kB");
}

#[test]
fn bytes_that_are_no_text_are_no_key() {
    let database = database();
    let mut client = database.connect();
    client.run("CREATE TABLE keys (k minlsh_key)");
    for (field, state) in [(&b"a\xff\x80"[..], "22021"), (b"a\0b", "22021"), (b"a", "")] {
        let mut copy = client.copy_in("COPY keys FROM STDIN BINARY").expect("COPY");
        copy.write_all(&binary_row(field)).expect("a row");
        let error = copy.finish().err();
        let code = error.and_then(|error| error.code().map(|code| code.code().to_owned()));
        assert_eq!(code.unwrap_or_default(), state, "{field:?}");
    }
    assert_eq!(texts(&mut client, "SELECT k FROM keys"), ["a"]);
}

#[test]
fn many_scopes_of_a_type_with_an_equality_of_its_own_are_refused() {
    let database = database();
    let mut client = database.connect();
    let pid = warm(&mut client, "16MB");
    let pairs = |count: u32| {
        format!(
            "SELECT count(*) FROM near_duplicate_pairs( \
             $$SELECT i, md5(i::text), i + 1e200 AS tenant FROM generate_series(1, {count}) i$$, \
             0.9, scope => 'tenant')"
        )
    };
    assert_eq!(texts(&mut client, &pairs(10_000)), ["0"]);
    assert_refused_within(&mut client, pid, &pairs(400_000), 32 * 1024);
}

#[test]
fn many_repeated_runs_take_little_memory() {
    let database = database();
    let mut client = database.connect();
    // Texts of some of the same 5,000 pieces, in any order: nearly each piece is a run of its own.
    client.run(
        "SELECT setseed(0.5); CREATE TABLE docs AS \
               SELECT i, string_agg(left(md5((random() * 5000)::int::text), 20), '') \
               FROM generate_series(1, 2000) i, generate_series(1, 400) GROUP BY i",
    );
    let mut client = database.connect();
    let pid = warm(&mut client, "16MB");
    let (runs, more) = more_memory(&mut client, pid, |client| {
        texts(client, "SELECT count(*) FROM repeated_passages('SELECT * FROM docs', 16)")
    });
    println!("{more} kB for {runs:?} runs");
    assert!(runs[0].parse::<u64>().is_ok_and(|runs| runs > 2_000_000), "{runs:?}");
    assert!(more < 48 * 1024, "{more} kB");
}

#[test]
fn a_long_queue_takes_little_memory() {
    const ROWS: u32 = 400_000;
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE live (id text PRIMARY KEY, body text); \
             INSERT INTO live SELECT i, 'one text for all of them' FROM generate_series(1, 100) i; \
             CREATE INDEX live_near ON live USING minlsh (body); \
             SELECT minlsh_track_clusters('live_near'); \
             SELECT minlsh_refresh_clusters('live_clusters')",
    );
    // As if `ROWS` rows had come and gone.
    client.run(&format!("INSERT INTO live_clusters_queue SELECT md5(i::text) FROM generate_series(1, {ROWS}) i"));
    let mut client = database.connect();
    client.run("SET maintenance_work_mem = '4MB'; SELECT minhash('x')");
    let pid = backend(&mut client);
    let changed = "SELECT changed, was_full FROM minlsh_refresh_clusters('live_clusters')";
    let (row, more) = more_memory(&mut client, pid, |client| client.query_one(changed, &[]).expect("a refresh"));
    assert_eq!((row.get(0), row.get(1)), (i64::from(ROWS), true));
    println!("{more} kB for {ROWS} keys");
    assert!(more < 14 * 1024, "{more} kB for {ROWS} keys");
}

#[test]
fn refreshes_that_fail_keep_nothing() {
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE live (id int PRIMARY KEY, body text); \
         INSERT INTO live SELECT i, 'one text for all of them' FROM generate_series(1, 10) i; \
         CREATE INDEX live_near ON live USING minlsh (body); \
         SELECT minlsh_track_clusters('live_near'); \
         CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE division_by_zero; END'; \
         CREATE TRIGGER fails BEFORE INSERT ON live_clusters FOR EACH ROW EXECUTE FUNCTION fail(); \
         CREATE FUNCTION refresh(times int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN \
           FOR i IN 1..times LOOP \
             BEGIN PERFORM minlsh_refresh_clusters('live_clusters'); EXCEPTION WHEN division_by_zero THEN END; \
           END LOOP; END $$; \
         SELECT refresh(10)",
    );
    let mut kept = || -> i64 {
        let sql = "SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts";
        client.run("SELECT refresh(100)");
        client.query_one(sql, &[]).expect("memory").get(0)
    };
    let (before, after) = (kept(), kept());
    println!("{} bytes more after 100 refreshes that failed", after - before);
    assert!(after - before < 1 << 20, "{before} {after}");
}

#[test]
fn calls_that_fail_keep_nothing() {
    const CALLS: [&str; 24] = [
        "SELECT near_duplicates(1, 0.1, 'live_near')",
        "SELECT 1 / (doc_id - 2) FROM near_duplicates(1, 0.8, 'live_near')",
        "SELECT near_duplicates_of('one text', 0.9, 'plain')",
        "SELECT nearest_documents('a key', 3, 'live_near')",
        "SELECT near_duplicate_cluster_of(1, 0.9, 'live_near', 2)",
        "SELECT near_duplicate_cluster_of(1, 0.9, 'side', 2)",
        "SELECT near_duplicate_cluster_of(1, 0.9)",
        "SELECT minlsh_explain('live_near', 1, 'x')",
        "SELECT minlsh_recall('failing')",
        "SELECT near_duplicate_pairs('failing', 0.9)",
        "SELECT near_duplicate_clusters('failing', 0.9)",
        "SELECT near_duplicate_plan('SELECT id, 1 / (id - 9) || body FROM plain', 0.9)",
        "SELECT near_duplicates_between('plain', 'failing', 0.9)",
        "SELECT near_duplicate_cluster(body, 0.9) OVER () FROM failing",
        "SELECT minlsh_suggest('failing')",
        "SELECT common_passages('failing', 2)",
        "SELECT contained_documents('failing')",
        "SELECT minhash_agg(body) FROM failing",
        "SELECT minlsh_create_side_table('plain', 'none')",
        "SELECT minlsh_track_clusters('live_near')",
        "SELECT minlsh_untrack_clusters('plain')",
        "SELECT minlsh_check('plain')",
        "SELECT minlsh_document('one text', 1.5)",
        "SELECT id / (id - id) FROM live WHERE body ~= 'one text for all of them'",
    ];
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE live (id int PRIMARY KEY, body text); \
             INSERT INTO live SELECT i, 'one text for all of them' FROM generate_series(1, 10) i; \
             CREATE TABLE plain AS SELECT * FROM live; \
             CREATE TABLE side (LIKE live INCLUDING ALL); \
             INSERT INTO side SELECT * FROM live; \
             CREATE INDEX live_near ON live USING minlsh (body); \
             SELECT minlsh_create_side_table('side', 'body'); \
             SELECT minlsh_track_clusters('live_near'); \
             CREATE VIEW failing AS SELECT id, body || 1 / (id - 9) AS body FROM plain; \
             CREATE FUNCTION call(what text, times int) RETURNS bigint LANGUAGE plpgsql AS $$ \
               DECLARE failed bigint := 0; BEGIN \
               FOR i IN 1..times LOOP \
                 BEGIN EXECUTE what; EXCEPTION WHEN OTHERS THEN failed := failed + 1; END; \
               END LOOP; RETURN failed; END $$",
    );
    let mut kept = |call: &str, times: i32| -> i64 {
        let sql = "SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts";
        let failed: i64 = client.query_one("SELECT call($1, $2)", &[&call, &times]).expect("calls").get(0);
        assert_eq!(failed, i64::from(times), "{call}");
        client.query_one(sql, &[]).expect("memory").get(0)
    };
    for call in CALLS {
        // What the session keeps for good is there after the first calls.
        let (before, after) = (kept(call, 10), kept(call, 200));
        println!("{} bytes more: {call}", after - before);
        assert!(after - before < 10_000, "{call}: {before} {after}");
    }
}

#[test]
fn an_exclusion_constraint_keeps_nothing_of_its_comparisons() {
    let database = database();
    let mut client = database.connect();
    // Rows that share half of their text are compared, and are no near-duplicates.
    client.run(
        "CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=)); \
         CREATE FUNCTION article(i int) RETURNS text LANGUAGE sql AS $$ \
         SELECT repeat('The terms of use of this page are those of all pages. ', 1) \
         || string_agg(CASE WHEN j <= 14 THEN md5(j::text) ELSE md5(i || ' ' || j) END, ' ') \
         FROM generate_series(1, 20) j $$; \
         INSERT INTO docs SELECT article(i) FROM generate_series(1, 100) i ON CONFLICT DO NOTHING",
    );
    let pid = backend(&mut client);
    let before = kilobytes(pid, "VmHWM:");
    client.run("INSERT INTO docs SELECT article(i) FROM generate_series(101, 600) i ON CONFLICT DO NOTHING");
    let more = kilobytes(pid, "VmHWM:").saturating_sub(before);
    println!("{more} kB more");
    assert!(more < 16 * 1024, "{more} kB for 500 rows");
}

#[test]
fn an_error_carries_no_backtrace() {
    let server = Server::start();
    server.stop();
    server.launch_in(&[("RUST_BACKTRACE", "1")]);
    let database = server.create_database();
    let mut client = database.connect();
    for mistake in [
        "SELECT minhash('x', -1)",
        "SELECT near_duplicates(1)",
        "SELECT jaccard('a', 'b', 0)",
        "SELECT minlsh_create_side_table('pg_class', 'relname')",
        "CREATE TABLE docs (body text); CREATE INDEX ON docs USING minlsh (body) WITH (threshold = 2)",
    ] {
        let error = client.batch_execute(mistake).expect_err(mistake);
        let detail = error.as_db_error().and_then(|error| error.detail()).unwrap_or_default();
        assert!(!detail.contains(".rs") && !detail.contains(" 0: "), "{mistake}: {detail}");
    }
}

/// One field of a binary COPY of one column, with the bytes of the row that the server sends.
fn binary_row(field: &[u8]) -> Vec<u8> {
    let mut bytes = b"PGCOPY\n\xff\r\n\0".to_vec();
    bytes.extend([0; 8]);
    bytes.extend(1_i16.to_be_bytes());
    bytes.extend(i32::try_from(field.len()).expect("a short field").to_be_bytes());
    bytes.extend(field);
    bytes.extend((-1_i16).to_be_bytes());
    bytes
}

#[test]
fn bytes_that_are_no_document_are_refused() {
    let database = database();
    let mut client = database.connect();
    if texts(&mut client, "SELECT to_regtype('minlsh_document') IS NOT NULL") != ["t"] {
        return;
    }
    let receive = "SELECT typreceive <> 0 FROM pg_type WHERE typname = 'minlsh_document'";
    client.run("CREATE TABLE documents (d minlsh_document)");
    if texts(&mut client, receive) != ["t"] {
        assert_eq!(sqlstate(&mut client, "COPY documents FROM STDIN BINARY"), "42883");
        return;
    }
    client.run(
        "INSERT INTO documents VALUES (minlsh_document('a text')), (minlsh_document(ARRAY['a', 'b'], 0.5)), \
         (minlsh_signature(minhash('a text'), 0.5))",
    );
    let send = texts(&mut client, "SELECT string_agg(encode(minlsh_document_send(d), 'hex'), ',') FROM documents");
    let sound: Vec<Vec<u8>> = send[0]
        .split(',')
        .map(|hex| {
            let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
            (0..hex.len()).step_by(2).map(digit).collect()
        })
        .collect();
    // Each cut, and each byte changed, of each sound value.
    for bytes in &sound {
        let cuts = (0..bytes.len()).map(|end| bytes[..end].to_vec());
        let changes = (0..bytes.len().min(200)).flat_map(|at| {
            [0_u8, 1, 0x7f, 0x80, 0xff].map(|byte| {
                let mut bytes = bytes.clone();
                bytes[at] = byte;
                bytes
            })
        });
        for field in cuts.chain(changes) {
            let mut copy = client.copy_in("COPY documents FROM STDIN BINARY").expect("COPY");
            let sent = copy.write_all(&binary_row(&field)).map(|()| copy.finish());
            if let Ok(Err(error)) = sent {
                let code = error.code().map(|code| code.code().to_owned());
                assert!(code.as_deref().is_some_and(|code| !code.starts_with("XX")), "{field:?}: {code:?} {error}");
            }
        }
    }
    // What was taken can be used.
    client.run(
        "SELECT d::text FROM documents; SELECT count(*) FROM documents a WHERE a.d ~= a.d; \
             SELECT minlsh_document_send(d) FROM documents",
    );
}
