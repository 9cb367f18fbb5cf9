//! Attacks by logical replication: by what a publisher sends, and by what the owner of a subscriber's table plants.

use minlsh_integration::{Client, Database, Run, Server, sqlstate, subscribe, texts, wait_until};

/// Settings under which each side sends and gets what it can: transactions in pieces, and errors again at once.
const SETTINGS: [&str; 5] = [
    "wal_level = logical",
    "max_prepared_transactions = 4",
    "logical_decoding_work_mem = '64kB'",
    "wal_retrieve_retry_interval = '50ms'",
    "log_error_verbosity = verbose",
];

/// The tables of both sides.
const TABLES: &str = "CREATE TABLE docs (id int PRIMARY KEY, body text); \
     CREATE TABLE parts (id int PRIMARY KEY, body text) PARTITION BY RANGE (id)";

/// A publisher and a subscriber.
struct Pair {
    publisher: Server,
    subscriber: Server,
}

impl Pair {
    fn start() -> Self {
        Self { publisher: Server::start_with(&SETTINGS), subscriber: Server::start_with(&SETTINGS) }
    }
}

/// The rows of a table, in order.
fn rows(client: &mut Client, table: &str) -> Vec<String> {
    texts(client, &format!("SELECT id || md5(coalesce(body, 'NULL')) FROM {table} ORDER BY id"))
}

/// Asserts that what a subscriber keeps beside its tables is as they are, and that no error was an internal one.
fn assert_follows(to: &mut Client, server: &Server, after: &str) {
    for tracked in ["docs_clusters", "parts_clusters"] {
        to.batch_execute(&format!("SELECT minlsh_refresh_clusters('{tracked}')")).expect(after);
    }
    for index in ["docs", "docs_near", "docs_clusters", "parts", "parts_near", "parts_clusters"] {
        let problems = format!("SELECT concat(doc_id, ': ', problem) FROM minlsh_check('{index}')");
        assert_eq!(texts(to, &problems), [""; 0], "{index} after {after}");
    }
    let log = server.log();
    let signs = ["ERROR:  XX", "terminated by signal", "panicked at", "PANIC:"];
    let wrong = log.lines().find(|line| signs.iter().any(|sign| line.contains(sign)));
    assert_eq!(wrong, None, "{after}");
}

/// Has a table of the subscriber followed by all that can stand beside one.
fn follow(to: &mut Client) {
    to.run(
        "CREATE INDEX docs_near ON docs USING minlsh (body); \
         CREATE INDEX parts_near ON parts USING minlsh (body); \
         SELECT minlsh_create_side_table('docs', 'body'); SELECT minlsh_create_side_table('parts', 'body'); \
         SELECT minlsh_track_clusters('docs_near'); SELECT minlsh_track_clusters('parts_near')",
    );
}

#[test]
fn what_a_publisher_sends_is_followed() {
    let pair = Pair::start();
    let (source, target) = (pair.publisher.create_database(), pair.subscriber.create_database());
    let (mut from, mut to) = (source.connect(), target.connect());
    // Publisher and subscriber have different parts, with columns in another order.
    from.run(&format!(
        "{TABLES}; CREATE TABLE part PARTITION OF parts DEFAULT; ALTER TABLE docs REPLICA IDENTITY FULL; \
         INSERT INTO docs SELECT i, 'one of the first texts: ' || i / 3 FROM generate_series(1, 300) i; \
         INSERT INTO parts SELECT * FROM docs; \
         CREATE PUBLICATION p FOR TABLE docs, parts WITH (publish_via_partition_root = true)"
    ));
    to.run(&format!(
        "{TABLES}; CREATE TABLE odd (gone int, body text, id int NOT NULL); ALTER TABLE odd DROP gone; \
         CREATE TABLE low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (100); \
         ALTER TABLE parts ATTACH PARTITION odd FOR VALUES FROM (100) TO (MAXVALUE)"
    ));
    follow(&mut to);
    subscribe(&mut to, &source);
    to.run("ALTER SUBSCRIPTION s SET (streaming = on, binary = true)");
    let mut arrives = |from: &mut Client, change: &str| {
        for table in ["docs", "parts"] {
            let sent = rows(from, table);
            wait_until(change, || rows(&mut to, table) == sent);
        }
        assert_follows(&mut to, &pair.subscriber, change);
    };
    arrives(&mut from, "the first copy");
    for change in [
        "INSERT INTO {} VALUES (1000, NULL), (1001, ''), (1002, repeat('long ', 50000)), \
         (1003, repeat(U&'a\\0301\\0327', 20000)), (1004, U&'\\+01F600\\200D\\FEFF')",
        // What is stored out of line does not come again.
        "UPDATE {} SET id = id + 1000 WHERE id > 1000",
        "UPDATE {} SET id = -id",
        "UPDATE {} SET body = body WHERE id < -10",
        "UPDATE {} SET body = 'one text for all of them' WHERE id % 2 = 0",
        "DELETE FROM {} WHERE id % 3 = 0; INSERT INTO {} SELECT i, 'again ' || i % 7 FROM generate_series(2, 90) i",
        "SAVEPOINT a; INSERT INTO {} SELECT i, repeat(md5(i::text), 9) FROM generate_series(5000, 6000) i; \
         ROLLBACK TO a; INSERT INTO {} SELECT i, repeat(md5((i / 2)::text), 9) FROM generate_series(5000, 6000) i; \
         UPDATE {} SET id = id + 2000 WHERE id > 5900",
        "TRUNCATE {}; INSERT INTO {} VALUES (7, 'a new beginning'), (107, 'a new beginning')",
        "INSERT INTO {} VALUES (8, 'a new beginning'); TRUNCATE {}",
    ] {
        let both: Vec<_> = ["docs", "parts"].iter().map(|table| change.replace("{}", table)).collect();
        from.batch_execute(&format!("BEGIN; {}; COMMIT", both.join("; "))).expect(change);
        arrives(&mut from, change);
    }
    to.run("DROP SUBSCRIPTION s");
}

/// Waits until an apply worker has failed with that SQLSTATE.
fn wait_for_failure(server: &Server, database: &Database, state: &str) {
    let start = server.log().len();
    wait_until(&format!("{}: {state}", database.name), || server.log()[start..].contains(&format!("ERROR:  {state}")));
}

#[test]
fn what_a_subscriber_refuses_ends_no_worker_for_good() {
    let pair = Pair::start();
    let (source, target) = (pair.publisher.create_database(), pair.subscriber.create_database());
    let (mut from, mut to) = (source.connect(), target.connect());
    from.run(
        "CREATE TABLE apart (id int PRIMARY KEY, body text); \
         INSERT INTO apart VALUES (1, 'a text'), (2, 'a text'); \
         CREATE TABLE typed (id int PRIMARY KEY, d bytea, p bytea, k bytea); \
         CREATE PUBLICATION p FOR TABLE apart, typed",
    );
    to.run(
        "CREATE TABLE apart (id int PRIMARY KEY, body text, \
             EXCLUDE USING minlsh (minlsh_document(body, 0.9) WITH ~=)); \
         CREATE TABLE typed (id int PRIMARY KEY, d minlsh_document, p minlsh_passage, k minlsh_key)",
    );
    subscribe(&mut to, &source);
    // The first copy brings what the constraint refuses, again and again.
    wait_for_failure(&pair.subscriber, &target, "23P01");
    from.run("UPDATE apart SET body = 'another one' WHERE id = 2");
    let keys = "SELECT string_agg(id::text, ' ' ORDER BY id) FROM apart";
    wait_until("the first copy", || texts(&mut to, keys) == ["1 2"]);
    from.run("INSERT INTO apart VALUES (3, 'a text')");
    wait_for_failure(&pair.subscriber, &target, "23P01");
    to.run("DELETE FROM apart WHERE id = 1");
    wait_until("the row that was refused", || texts(&mut to, keys) == ["2 3"]);
    assert_eq!(texts(&mut to, "SELECT count(*) FROM minlsh_check()"), ["0"]);
    assert_eq!(sqlstate(&mut to, "INSERT INTO apart VALUES (4, 'another one')"), "23P01");
    // The publisher has other types of that column, and sends bytes as they are.
    to.run("ALTER SUBSCRIPTION s SET (binary = true)");
    for column in ["d", "p", "k"] {
        from.run(&format!("INSERT INTO typed (id, {column}) VALUES (1, '\\xff00ff')"));
        wait_for_failure(&pair.subscriber, &target, "22021");
        to.run(&format!("ALTER TABLE typed ALTER {column} TYPE bytea USING NULL"));
        let arrived = format!("SELECT encode({column}, 'hex') FROM typed");
        wait_until("the bytes", || texts(&mut to, &arrived) == ["ff00ff"]);
        from.run("TRUNCATE typed");
    }
    let log = pair.subscriber.log();
    assert!(!log.contains("ERROR:  XX") && !log.contains("by signal"), "{log}");
    to.run("DROP SUBSCRIPTION s");
}

#[test]
fn the_owner_of_a_subscribers_table_gets_no_more_rights() {
    let pair = Pair::start();
    let (source, target) = (pair.publisher.create_database(), pair.subscriber.create_database());
    let (mut from, mut to) = (source.connect(), target.connect());
    let table = "CREATE TABLE docs (id int PRIMARY KEY, body text)";
    from.run(&format!("{table}; CREATE PUBLICATION p FOR TABLE docs"));
    // Since PostgreSQL 16 an apply worker acts as the owner of the table. Before, its own writes run an index's code.
    let acts_as_owner = texts(&mut to, "SELECT current_setting('server_version_num')::int >= 160000");
    let springs = if acts_as_owner == ["t"] { "true" } else { "pg_trigger_depth() > 0" };
    to.run(&format!(
        "CREATE ROLE owner; GRANT ALL ON SCHEMA public TO owner; SET ROLE owner; {table}; \
         CREATE FUNCTION planted(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN \
           IF {springs} AND current_user <> 'owner' THEN RAISE LOG 'SPRUNG for %', current_user; END IF; \
           RETURN body; END $$; \
         CREATE INDEX docs_near ON docs USING minlsh (planted(body)); \
         SELECT minlsh_track_clusters('docs_near'); \
         CREATE FUNCTION ask() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$ BEGIN \
           PERFORM minlsh_refresh_clusters('docs_clusters'); \
           BEGIN PERFORM near_duplicates(NEW.id, index => 'docs_near'); \
           EXCEPTION WHEN insufficient_privilege THEN END; \
           BEGIN PERFORM near_duplicate_pairs('docs_near'); EXCEPTION WHEN insufficient_privilege THEN END; \
           PERFORM minlsh_check('docs_near'); \
           RETURN NEW; END $$; \
         CREATE TRIGGER ask AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION ask(); \
         ALTER TABLE docs ENABLE ALWAYS TRIGGER ask; RESET ROLE"
    ));
    subscribe(&mut to, &source);
    from.run("INSERT INTO docs SELECT i, 'one text of all' FROM generate_series(1, 5) i");
    wait_until("the rows", || texts(&mut to, "SELECT count(*) FROM docs") == ["5"]);
    assert_eq!(texts(&mut to, "SELECT problem FROM minlsh_check('docs_near')"), [""; 0]);
    assert_eq!(texts(&mut to, "SELECT count(*) FROM docs_clusters"), ["5"]);
    let log = pair.subscriber.log();
    for sign in ["SPRUNG", "ERROR:  XX", "by signal"] {
        assert!(!log.contains(sign), "{log}");
    }
    to.run("DROP SUBSCRIPTION s");
}
