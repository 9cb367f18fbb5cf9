//! Changes that go by triggers, snapshots and dumps.

use minlsh_integration::{Client, Database, Run, Server, blocked, database, sqlstate, texts, wait_until};

/// A text of a family.
fn body(family: &str) -> String {
    format!("(SELECT string_agg(md5('{family}' || w), ' ') FROM generate_series(1, 10) w)")
}

pub fn tracked(database: &Database, table: &str) -> Client {
    let mut client = database.connect();
    client.run(&format!(
        "{table}; CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.8);
         SELECT minlsh_track_clusters('docs_near'); SELECT minlsh_refresh_clusters('docs_clusters')"
    ));
    client
}

pub const PLAIN: &str = "CREATE TABLE docs (id bigint PRIMARY KEY, body text)";

const PARTITIONED: &str = "CREATE TABLE docs (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);
    CREATE TABLE d1 PARTITION OF docs FOR VALUES FROM (0) TO (100);
    CREATE TABLE d2 PARTITION OF docs FOR VALUES FROM (100) TO (1000000)";

/// Refreshes, and finds no difference from a computation from scratch.
pub fn assert_refreshed(client: &mut Client, what: &str) {
    client.run("SELECT minlsh_refresh_clusters('docs_clusters')");
    let wrong = texts(
        client,
        "WITH kept AS (SELECT doc_id, min(doc_id) OVER (PARTITION BY cluster_id) AS least FROM docs_clusters)
         SELECT doc_id FROM kept FULL JOIN (SELECT doc_id::bigint, cluster_id
             FROM near_duplicate_clusters('docs_near')) c USING (doc_id) WHERE least IS DISTINCT FROM cluster_id",
    );
    assert!(wrong.is_empty(), "{what}: {wrong:?}");
}

pub fn insert(client: &mut Client, table: &str, keys: &str, family: &str) {
    client.run(&format!("INSERT INTO {table} SELECT i, {} FROM generate_series({keys}) i", body(family)));
}

pub fn members(client: &mut Client) -> String {
    texts(client, "SELECT count(*) FROM docs_clusters").remove(0)
}

#[test]
fn a_key_whose_transaction_commits_after_the_snapshot_stays_in_the_queue() {
    let database = database();
    let (mut client, mut other) = (tracked(&database, PLAIN), database.connect());
    other.run("BEGIN");
    insert(&mut other, "docs", "1, 1", "a");
    insert(&mut client, "docs", "2, 2", "a");
    assert_refreshed(&mut client, "before");
    other.run("COMMIT");
    assert_refreshed(&mut client, "after");
    assert_eq!(members(&mut client), "2");
}

#[test]
fn partitions_follow_attach_detach_truncate_and_what_is_written_to_them() {
    let database = database();
    let mut client = tracked(&database, PARTITIONED);
    insert(&mut client, "docs", "98, 101", "a");
    assert_refreshed(&mut client, "rows of two partitions");
    client.run("UPDATE docs SET id = id + 50 WHERE id = 98");
    assert_refreshed(&mut client, "a row that moves");
    insert(&mut client, "d2", "300, 300", "a");
    assert_refreshed(&mut client, "INSERT into a partition");
    client.run("TRUNCATE d1");
    assert_refreshed(&mut client, "TRUNCATE of a partition");
    client.run("CREATE TABLE d3 (id bigint PRIMARY KEY, body text)");
    insert(&mut client, "d3", "-5, -5", "a");
    client.run("ALTER TABLE docs ATTACH PARTITION d3 FOR VALUES FROM (-100) TO (0)");
    assert_refreshed(&mut client, "ATTACH");
    insert(&mut client, "d3", "-6, -6", "a");
    assert_refreshed(&mut client, "a row of what was attached");
    client.run("ALTER TABLE docs DETACH PARTITION d2");
    assert_refreshed(&mut client, "DETACH");
    assert_eq!(members(&mut client), "2");
}

/// Refreshes twice: nothing is left to be done by the second refresh, nor found by minlsh_check().
fn assert_clean(client: &mut Client, what: &str) {
    assert_refreshed(client, what);
    let again = "SELECT was_full FROM minlsh_refresh_clusters('docs_clusters')";
    assert_eq!(texts(client, again), ["f"], "{what}");
    let check = "SELECT problem FROM minlsh_check('docs_clusters')";
    assert_eq!(texts(client, check), Vec::<String>::new(), "{what}");
}

#[test]
fn a_partition_comes_back_with_its_triggers() {
    let database = database();
    let mut client = tracked(&database, PARTITIONED);
    insert(&mut client, "docs", "98, 101", "a");
    assert_clean(&mut client, "two partitions");
    for name in ["docs", "d2"] {
        client.run("ALTER TABLE docs DETACH PARTITION d2");
        let left = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'd2'::regclass";
        assert_eq!(texts(&mut client, left), Vec::<String>::new());
        client.run("DELETE FROM d2 WHERE id = 101");
        client.run("ALTER TABLE docs ATTACH PARTITION d2 FOR VALUES FROM (100) TO (1000000)");
        assert_clean(&mut client, "ATTACH after DETACH");
        insert(&mut client, name, "101, 101", "a");
        assert_clean(&mut client, "a row of what has come back");
        assert_eq!(members(&mut client), "4");
    }
    client.run("SELECT minlsh_untrack_clusters('docs_clusters')");
    assert_eq!(texts(&mut client, "SELECT count(*) FROM pg_trigger WHERE tgfoid = 'minlsh_capture'::regproc"), ["0"]);
}

#[test]
fn one_full_refresh_mends_triggers_that_were_disabled_and_enabled() {
    let database = database();
    for table in [PLAIN, PARTITIONED] {
        let mut client = tracked(&database, table);
        insert(&mut client, "docs", "98, 101", "a");
        assert_clean(&mut client, "rows");
        client.run("ALTER TABLE docs DISABLE TRIGGER USER; DELETE FROM docs WHERE id = 98");
        client.run("ALTER TABLE docs ENABLE TRIGGER USER");
        let check = "SELECT problem FROM minlsh_check('docs_clusters') ORDER BY problem DESC LIMIT 1";
        let problem = texts(&mut client, check).remove(0);
        assert!(problem.contains("does not fire for replicated rows"), "{problem}");
        assert_clean(&mut client, "ENABLE TRIGGER USER");
        client.run("SET session_replication_role = replica");
        insert(&mut client, "docs", "97, 97", "a");
        client.run("SET session_replication_role = origin");
        assert_clean(&mut client, "a replicated row");
        assert_eq!(members(&mut client), "4");
        client.run("DROP TABLE docs");
    }
}

#[test]
fn what_replication_applies_is_seen_and_disabled_triggers_are_noticed() {
    let database = database();
    let mut client = tracked(&database, PLAIN);
    client.run("SET session_replication_role = replica");
    insert(&mut client, "docs", "1, 4", "a");
    client.run("SET session_replication_role = origin");
    assert_refreshed(&mut client, "ENABLE ALWAYS");
    assert_eq!(members(&mut client), "4");
    client.run("ALTER TABLE docs DISABLE TRIGGER ALL; DELETE FROM docs WHERE id < 3");
    assert_refreshed(&mut client, "DISABLE TRIGGER");
    client.run("DELETE FROM docs WHERE id < 4");
    assert_refreshed(&mut client, "still disabled");
    assert_eq!(members(&mut client), "0");
}

#[test]
fn refreshes_take_turns_and_an_old_snapshot_is_refused() {
    let database = database();
    let (mut client, mut other) = (tracked(&database, PLAIN), database.connect());
    insert(&mut client, "docs", "1, 4", "a");
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM docs");
    assert_refreshed(&mut client, "meanwhile");
    assert_eq!(sqlstate(&mut other, "SELECT minlsh_refresh_clusters('docs_clusters')"), "40001");
    other.run("ROLLBACK; BEGIN; SELECT minlsh_refresh_clusters('docs_clusters')");
    // Writers and readers go on; another refresh waits.
    insert(&mut client, "docs", "5, 5", "a");
    assert_eq!(members(&mut client), "4");
    let waiting = blocked(&database, |third| {
        third.run("SELECT minlsh_refresh_clusters('docs_clusters')");
    });
    other.run("COMMIT");
    waiting.join().expect("a refresh");
    assert_eq!(members(&mut client), "5");
    // A table that was truncated behind the snapshot.
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    client.run("TRUNCATE docs");
    assert_eq!(sqlstate(&mut other, "SELECT minlsh_refresh_clusters('docs_clusters')"), "40001");
    other.run("ROLLBACK");
    assert_refreshed(&mut client, "after TRUNCATE");
}

/// A transaction in REPEATABLE READ may insert a key that its snapshot still sees, if its row was deleted since.
/// Then it sees two rows of one key.
#[test]
fn a_key_that_a_snapshot_sees_twice_is_refused() {
    let database = database();
    let (mut client, mut other) = (tracked(&database, PLAIN), database.connect());
    insert(&mut client, "docs", "1, 3", "a");
    insert(&mut client, "docs", "11, 13", "b");
    assert_refreshed(&mut client, "before");
    for full in ["false", "true"] {
        other.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM docs");
        client.run("DELETE FROM docs WHERE id = 1");
        insert(&mut other, "docs", "1, 1", "b");
        assert_eq!(texts(&mut other, "SELECT count(*) FROM docs WHERE id = 1"), ["2"]);
        let refresh = format!("SELECT minlsh_refresh_clusters('docs_clusters', \"full\" => {full})");
        assert_eq!(sqlstate(&mut other, &refresh), "40001", "full => {full}");
        other.run("ROLLBACK");
        insert(&mut client, "docs", "1, 1", "a");
        assert_refreshed(&mut client, "after");
    }
}

#[test]
fn a_listener_is_told_and_a_dump_carries_all() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = tracked(&database, PLAIN);
    let mut listener = database.connect();
    listener.run("LISTEN minlsh_clusters");
    insert(&mut client, "docs", "1, 3", "a");
    insert(&mut client, "docs", "8, 9", "b");
    client.run("INSERT INTO docs_clusters_apart VALUES (9, 8)");
    client.run("SELECT minlsh_refresh_clusters('docs_clusters')");
    assert_eq!(members(&mut client), "3");
    let mut told = Vec::new();
    wait_until("a notification", || {
        use postgres::fallible_iterator::FallibleIterator;
        let mut notifications = listener.notifications();
        let mut arrived = notifications.timeout_iter(std::time::Duration::from_millis(100));
        while let Ok(Some(notification)) = arrived.next() {
            told.push(notification.payload().to_owned());
        }
        !told.is_empty()
    });
    let seq = texts(&mut client, "SELECT max(seq) FROM docs_clusters_log").remove(0);
    assert_eq!(told, [format!("public.docs_clusters:{seq}")]);
    let file = server.data().join("dump");
    let file = file.to_str().expect("a name");
    server.run("pg_dump", &["-Fc", "-f", file, &database.name]);
    let restored = server.create_database();
    restored.connect().run("DROP EXTENSION minlsh");
    server.run("pg_restore", &["-d", &restored.name, file]);
    let mut client = restored.connect();
    let ids = "SELECT string_agg(doc_id || ':' || cluster_id, ' ' ORDER BY doc_id) FROM docs_clusters";
    let before = texts(&mut client, ids);
    let log = texts(&mut client, "SELECT count(*) FROM docs_clusters_log");
    // The first refresh is full, and writes nothing.
    client.run("SELECT minlsh_refresh_clusters('docs_clusters')");
    assert_eq!(texts(&mut client, ids), before);
    assert_eq!(texts(&mut client, "SELECT count(*) FROM docs_clusters_log"), log);
    client.run("DELETE FROM docs_clusters_apart");
    insert(&mut client, "docs", "4, 4", "a");
    assert_refreshed(&mut client, "a row after the restore");
    assert_eq!(members(&mut client), "6");
    // What belongs together is known again.
    assert_eq!(sqlstate(&mut client, "DROP INDEX docs_near"), "2BP01");
    client.run("SELECT minlsh_untrack_clusters('docs_clusters'); DELETE FROM docs");
    assert_eq!(texts(&mut client, "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"), ["0"]);
}

#[test]
fn a_refresh_that_is_cancelled_or_killed_leaves_everything_as_it_was() {
    let database = database();
    let mut client = tracked(&database, PLAIN);
    let some = |first: i64, last: i64| {
        format!(
            "INSERT INTO docs SELECT i, (SELECT string_agg(md5(i / 3 || ' ' || w), ' ')
             FROM generate_series(1, 30) w) FROM generate_series({first}, {last}) i"
        )
    };
    client.run(&some(1, 3000));
    assert_refreshed(&mut client, "before");
    client.run(&format!("{}; DELETE FROM docs WHERE id % 10 = 0", some(3001, 3300)));
    let state = "SELECT (SELECT md5(string_agg(c::text, ' ' ORDER BY doc_id)) FROM docs_clusters c)
        || (SELECT md5(string_agg(l::text, ' ' ORDER BY cluster_id)) FROM docs_clusters_list l)
        || (SELECT max(seq) FROM docs_clusters_log) || ' ' || (SELECT count(*) FROM docs_clusters_queue)";
    let before = texts(&mut client, state);
    // By time, at any place: one that comes too late to stop it is rolled back.
    for milliseconds in [1, 2, 4, 8, 16, 32, 64] {
        for full in [false, true] {
            let mut other = database.connect();
            let sql = format!(
                "BEGIN; SET LOCAL statement_timeout = {milliseconds};
                 SELECT minlsh_refresh_clusters('docs_clusters', {full}); ROLLBACK"
            );
            let _ = other.batch_execute(&sql);
            assert_eq!(texts(&mut client, state), before, "{milliseconds} ms");
        }
    }
    // One whose session is ended before it commits.
    let mut other = database.connect();
    other.run("BEGIN; SELECT minlsh_refresh_clusters('docs_clusters')");
    let pid = minlsh_integration::backend(&mut other);
    client.run(&format!("SELECT pg_terminate_backend({pid})"));
    assert_refreshed(&mut client, "after all that");
    let problems = texts(&mut client, "SELECT problem FROM minlsh_check('docs_clusters')");
    assert_eq!(problems, Vec::<String>::new());
}
