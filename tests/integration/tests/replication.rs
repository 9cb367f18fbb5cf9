//! Standbys and subscribers.

use minlsh_integration::{Run, Server, assert_consistent, beside, sqlstate, subscribe, texts, wait_until};

const TEXT: &str = "a text that many documents of this table have in common, more or less";

#[test]
fn a_standby_answers_read_only() {
    let primary = Server::start();
    let database = primary.create_database();
    let mut client = database.connect();
    client.run(&format!(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); INSERT INTO docs SELECT i, '{TEXT}' \
         FROM generate_series(1, 3) i; \
         SELECT minlsh_create_side_table('docs', 'body')"
    ));
    let standby = primary.standby(&[]);
    let mut replica = standby.connect(&database.name);
    let ask = "SELECT b.doc_id FROM docs_minlsh a JOIN docs_minlsh b ON b.bands && a.bands WHERE a.doc_id = 1 \
         ORDER BY 1";
    replica.run("SET enable_seqscan = off");
    assert_eq!(texts(&mut replica, ask), ["1", "2", "3"]);
    assert_consistent(&mut replica, "docs");
    // A whole-corpus job reads only, wherever it spills to.
    replica.run("SET maintenance_work_mem = '1MB'");
    for job in ["pairs('docs', 1)", "pairs('SELECT id, body FROM docs', 1)", "clusters('docs')", "plan('docs')"] {
        let job = format!("SELECT count(*) FROM near_duplicate_{job}");
        let expected = if job.contains("plan") { "2" } else { "3" };
        assert_eq!(texts(&mut replica, &job), [expected], "{job}");
    }
    let pairs = "SELECT doc_a || ' ' || doc_b FROM minlsh_label_pairs('docs', body => 'body') ORDER BY 1";
    assert_eq!(texts(&mut replica, pairs), ["1 2", "1 3", "2 3"]);
    let labels = "SELECT value FROM minlsh_suggest_from_labels( \
         'SELECT i, repeat(md5((i / 2)::text), 2) FROM generate_series(1, 40) AS i', \
         'SELECT i, i + 1, i % 2 = 0 FROM generate_series(1, 24) AS i') WHERE item IN ('labels', 'F1') ORDER BY item";
    assert_eq!(texts(&mut replica, labels)[1], "24");
    // What happens on the primary arrives.
    client.run(&format!("INSERT INTO docs VALUES (4, '{TEXT}'); ALTER TABLE docs RENAME TO papers"));
    wait_until("the standby has the new row", || texts(&mut replica, ask) == ["1", "2", "3", "4"]);
    assert_consistent(&mut replica, "papers");
}

#[test]
fn a_check_on_a_standby_finds_nothing_while_the_primary_writes() {
    let primary = Server::start();
    let database = primary.create_database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); CREATE INDEX near ON docs USING minlsh (body); \
         INSERT INTO docs SELECT i, md5(i::text) || md5((i * 7)::text) FROM generate_series(1, 20000) i; \
         CREATE UNLOGGED TABLE scratch (body text); CREATE INDEX fleeting ON scratch USING minlsh (body)",
    );
    let standby = primary.standby(&["max_standby_streaming_delay = -1"]);
    let mut replica = standby.connect(&database.name);
    let problem = texts(&mut replica, "SELECT problem FROM minlsh_check('fleeting')").join("");
    assert!(problem.contains("unlogged") && problem.contains("recovery"), "{problem}");
    assert_eq!(sqlstate(&mut replica, "SELECT near_duplicates_of('some text', index => 'fleeting')"), "0A000");
    let mut round = 0;
    let writes = || {
        round += 1;
        client.run(&format!(
            "INSERT INTO docs SELECT {round} * 100000 + i, md5(i::text || {round}) \
             FROM generate_series(1, 500) i; \
             UPDATE docs SET body = body || 'x' WHERE id % 50 = {round} % 50; \
             DELETE FROM docs WHERE id % 40 = {round} % 40"
        ));
        if round % 5 == 0 {
            client.run("VACUUM docs");
        }
    };
    let mut check = |_| texts(&mut replica, "SELECT problem FROM minlsh_check('near')");
    let (found, _) = beside(vec![writes], || (0..12).flat_map(&mut check).collect::<Vec<_>>());
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_subscriber_keeps_an_index_of_its_own() {
    let (publisher, subscriber) = (Server::start_with(&["wal_level = logical"]), Server::start());
    let (source, target) = (publisher.create_database(), subscriber.create_database());
    let table = "CREATE TABLE docs (id int PRIMARY KEY, body text)";
    let (mut from, mut to) = (source.connect(), target.connect());
    from.run(&format!(
        "{table}; INSERT INTO docs SELECT i, '{TEXT}' FROM generate_series(1, 3) i; CREATE PUBLICATION p FOR TABLE docs"
    ));
    to.run(&format!("{table}; SELECT minlsh_create_side_table('docs', 'body')"));
    subscribe(&mut to, &source);
    let count = "SELECT count(*) FROM docs_minlsh";
    wait_until("the first copy has arrived", || texts(&mut to, count) == ["3"]);
    from.run(&format!(
        "INSERT INTO docs VALUES (4, '{TEXT}'), (5, '{TEXT}'); UPDATE docs SET body = 'other' WHERE id = 2; \
         DELETE FROM docs WHERE id = 3"
    ));
    let ask = "SELECT string_agg(doc_id::text, ' ' ORDER BY doc_id) FROM docs_minlsh";
    wait_until("the changes are applied", || texts(&mut to, ask) == ["1 2 4 5"]);
    assert_consistent(&mut to, "docs");
    to.run("SELECT minlsh_rebuild_side_table('docs')");
    from.run(&format!("INSERT INTO docs VALUES (6, '{TEXT}')"));
    wait_until("triggers fire for the subscription after a reindex", || texts(&mut to, ask) == ["1 2 4 5 6"]);
    from.run("TRUNCATE docs");
    wait_until("TRUNCATE is applied", || texts(&mut to, "SELECT count(*) FROM docs") == ["0"]);
    assert_consistent(&mut to, "docs");
    to.run("DROP SUBSCRIPTION s");
}

/// FOR ALL TABLES publishes the side table, too: a subscriber that has one keeps it by itself.
#[test]
fn a_side_table_that_is_published_with_its_table_is_kept_once() {
    let (publisher, subscriber) = (Server::start_with(&["wal_level = logical"]), Server::start());
    let (source, target) = (publisher.create_database(), subscriber.create_database());
    let table = "CREATE TABLE docs (id int PRIMARY KEY, body text); SELECT minlsh_create_side_table('docs', 'body')";
    let (mut from, mut to) = (source.connect(), target.connect());
    from.run(&format!(
        "{table}; INSERT INTO docs SELECT i, '{TEXT} ' || i FROM generate_series(1, 3) i; \
         CREATE PUBLICATION p FOR ALL TABLES"
    ));
    to.run(table);
    subscribe(&mut to, &source);
    let ready = "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate = 'r'";
    wait_until("both tables are copied", || texts(&mut to, ready) == ["2"]);
    from.run(
        "INSERT INTO docs VALUES (4, 'the fourth text'); UPDATE docs SET body = 'other' WHERE id = 2; \
         DELETE FROM docs WHERE id = 3; \
         UPDATE docs SET id = 10 WHERE id = 1",
    );
    let ask = "SELECT string_agg(doc_id::text, ' ' ORDER BY doc_id) FROM docs_minlsh";
    wait_until("the changes are applied", || texts(&mut to, ask) == ["2 4 10"]);
    assert_consistent(&mut to, "docs");
    from.run("TRUNCATE docs; INSERT INTO docs VALUES (7, 'a new beginning')");
    wait_until("the new row has come", || texts(&mut to, ask) == ["7"]);
    assert_consistent(&mut to, "docs");
    to.run("DROP SUBSCRIPTION s");
}

/// Without a key, REPLICA IDENTITY FULL compares all columns, by the equality of each type.
#[test]
fn documents_and_passages_are_replicated_without_a_key() {
    let (publisher, subscriber) = (Server::start_with(&["wal_level = logical"]), Server::start());
    let (source, target) = (publisher.create_database(), subscriber.create_database());
    let table = "CREATE TABLE docs (id int, d minlsh_document, p minlsh_passage);
        ALTER TABLE docs REPLICA IDENTITY FULL";
    let (mut from, mut to) = (source.connect(), target.connect());
    from.run(&format!(
        "{table}; INSERT INTO docs SELECT i, minlsh_document('{TEXT} ' || i, 0.9), minlsh_passage('{TEXT} ' || i) \
         FROM generate_series(1, 4) i; CREATE PUBLICATION p FOR TABLE docs"
    ));
    to.run(table);
    subscribe(&mut to, &source);
    let count = "SELECT count(*) FROM docs";
    wait_until("the first copy has arrived", || texts(&mut to, count) == ["4"]);
    from.run(
        "UPDATE docs SET id = 10 WHERE id = 1; UPDATE docs SET d = NULL WHERE id = 2; \
         UPDATE docs SET p = NULL WHERE id = 3; DELETE FROM docs WHERE id = 4; INSERT INTO docs VALUES (5)",
    );
    let ask = "SELECT string_agg(concat_ws(' ', id, d IS NULL, p IS NULL), ', ' ORDER BY id) FROM docs";
    let expected = ["2 t f, 3 f t, 5 t t, 10 f f"];
    wait_until("the changes are applied", || texts(&mut to, ask) == expected);
    to.run("DROP SUBSCRIPTION s");
}
