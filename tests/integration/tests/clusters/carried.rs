//! Tracked clusters where rows come from elsewhere: a subscription, and a dump that brings the schema before the data.

use minlsh_integration::{Run, Server, database, sqlstate, subscribe, texts, wait_until};

use crate::traps::{PLAIN, assert_refreshed, insert, members, tracked};

#[test]
fn what_a_subscription_applies_is_tracked() {
    let (publisher, subscriber) = (Server::start_with(&["wal_level = logical"]), Server::start());
    let (source, target) = (publisher.create_database(), subscriber.create_database());
    let mut from = source.connect();
    from.run(&format!("{PLAIN}; CREATE PUBLICATION p FOR TABLE docs"));
    insert(&mut from, "docs", "1, 3", "a");
    let mut to = tracked(&target, PLAIN);
    subscribe(&mut to, &source);
    let keys = "SELECT string_agg(id::text, ' ' ORDER BY id) FROM docs";
    wait_until("the first copy has arrived", || texts(&mut to, keys) == ["1 2 3"]);
    assert_refreshed(&mut to, "the first copy");
    assert_eq!(members(&mut to), "3");
    // Each of these is seen by a trigger: no refresh has to look at all documents.
    let changes = [
        ("INSERT INTO docs SELECT id + 10, body FROM docs", "1 2 3 11 12 13", "6"),
        ("DELETE FROM docs WHERE id IN (1, 11)", "2 3 12 13", "4"),
        ("UPDATE docs SET id = id + 20 WHERE id > 10", "2 3 32 33", "4"),
        ("UPDATE docs SET body = 'another text'; DELETE FROM docs WHERE id = 33", "2 3 32", "3"),
    ];
    for (change, after, expected) in changes {
        from.run(&format!("BEGIN; {change}; COMMIT"));
        wait_until(change, || texts(&mut to, keys) == [after]);
        let full = "SELECT was_full FROM minlsh_refresh_clusters('docs_clusters')";
        assert_eq!(texts(&mut to, full), ["f"], "{change}");
        assert_refreshed(&mut to, change);
        assert_eq!(members(&mut to), expected, "{change}");
    }
    from.run("TRUNCATE docs");
    wait_until("TRUNCATE is applied", || texts(&mut to, "SELECT count(*) FROM docs") == ["0"]);
    assert_refreshed(&mut to, "TRUNCATE");
    assert_eq!(members(&mut to), "0");
    to.run("DROP SUBSCRIPTION s");
}

/// As pg_upgrade does: the schema is there, with its triggers, before the rows are.
#[test]
fn a_dump_of_the_schema_and_then_of_the_data_keeps_ids_and_log() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = tracked(&database, PLAIN);
    insert(&mut client, "docs", "1, 3", "a");
    insert(&mut client, "docs", "4, 5", "b");
    assert_refreshed(&mut client, "before the dump");
    client.run("DELETE FROM docs WHERE id = 1");
    let restored = server.create_database();
    restored.connect().run("DROP EXTENSION minlsh");
    for (part, file) in [("--schema-only", "schema"), ("--data-only", "data")] {
        let file = server.data().join(file);
        let file = file.to_str().expect("a name");
        server.run("pg_dump", &["-Fc", "--quote-all-identifiers", part, "-f", file, &database.name]);
        server.run("pg_restore", &["-d", &restored.name, file]);
    }
    let mut copy = restored.connect();
    assert_refreshed(&mut client, "the row that waited");
    assert_refreshed(&mut copy, "after the restore");
    for sql in [
        "SELECT doc_id || ':' || cluster_id FROM docs_clusters ORDER BY doc_id",
        "SELECT seq || event || cluster_id FROM docs_clusters_log ORDER BY seq",
        "SELECT cluster_id || ':' || size FROM docs_clusters_list ORDER BY cluster_id",
        "SELECT count(*) FROM docs_clusters_queue",
        "SELECT problem FROM minlsh_check('docs_clusters')",
    ] {
        assert_eq!(texts(&mut client, sql), texts(&mut copy, sql), "{sql}");
    }
    insert(&mut copy, "docs", "6, 6", "b");
    assert_refreshed(&mut copy, "a row after the restore");
    assert_eq!(members(&mut copy), "5");
}

#[test]
fn a_dump_warns_of_nothing_and_replaces_what_is_there() {
    let database = database();
    let mut client = tracked(&database, PLAIN);
    insert(&mut client, "docs", "1, 3", "a");
    assert_refreshed(&mut client, "before the dump");
    let state = "SELECT doc_id || ':' || cluster_id FROM docs_clusters ORDER BY doc_id";
    let before = texts(&mut client, state);
    drop(client);
    database.shell(
        "told=$(pg_dump --clean -f /dev/null 2>&1)
         test -z \"$told\" || { echo \"$told\" >&2; exit 1; }
         pg_dump --clean | psql -X -q -v ON_ERROR_STOP=1 >/dev/null",
    );
    let mut client = database.connect();
    assert_eq!(texts(&mut client, state), before);
    assert_refreshed(&mut client, "after the restore");
    assert_eq!(texts(&mut client, state), before);
    assert_eq!(sqlstate(&mut client, "DROP INDEX docs_near"), "2BP01");
    client.run("DROP TABLE docs");
    let left = "SELECT relname FROM pg_class WHERE relname LIKE 'docs_clusters%'";
    assert_eq!(texts(&mut client, left), [""; 0]);
}
