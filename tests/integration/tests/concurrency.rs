//! Sessions that work while others do.

use minlsh_integration::{Client, Database, Run, assert_consistent, blocked, database, sqlstate, texts};

const TEXT: &str = "a text that many documents of this table have in common, more or less";

fn docs(database: &Database) -> Client {
    let mut client = database.connect();
    client.run(&format!(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, '{TEXT}' FROM generate_series(1, 5) i; \
         SELECT minlsh_create_side_table('docs', 'body')"
    ));
    client
}

fn copies_of_1(client: &mut Client) -> Vec<String> {
    let sharing = "SELECT b.doc_id FROM docs_minlsh a JOIN docs_minlsh b ON b.bands && a.bands \
                   WHERE a.doc_id = 1 AND b.doc_id <> 1 ORDER BY 1";
    client.run("SET enable_seqscan = off");
    texts(client, sharing)
}

#[test]
fn uncommitted_documents_are_seen_by_their_writer_alone() {
    let database = database();
    let mut writer = docs(&database);
    let mut reader = database.connect();
    writer.run(&format!("BEGIN; INSERT INTO docs VALUES (6, '{TEXT}')"));
    assert_eq!(copies_of_1(&mut writer), ["2", "3", "4", "5", "6"]);
    assert_eq!(copies_of_1(&mut reader), ["2", "3", "4", "5"]);
    writer.run("COMMIT");
    assert_eq!(copies_of_1(&mut reader), ["2", "3", "4", "5", "6"]);
}

#[test]
fn two_writers_of_one_row_end_with_the_text_of_the_last() {
    let database = database();
    let mut first = docs(&database);
    first.run("BEGIN; UPDATE docs SET body = 'the first' WHERE id = 2");
    let waiting = blocked(&database, |second| {
        second.run("UPDATE docs SET body = body || ' and the second' WHERE id = 2");
    });
    first.run("COMMIT");
    waiting.join().expect("an update");
    assert_eq!(texts(&mut first, "SELECT body FROM docs WHERE id = 2"), ["the first and the second"]);
    assert_consistent(&mut first, "docs");
}

#[test]
fn a_key_inserted_twice_is_indexed_once_whoever_wins() {
    for end in ["COMMIT", "ROLLBACK"] {
        let database = database();
        let mut first = docs(&database);
        first.run("BEGIN; INSERT INTO docs VALUES (9, 'by the first')");
        let waiting = blocked(&database, |second| second.batch_execute("INSERT INTO docs VALUES (9, 'by the second')"));
        first.run(end);
        let outcome = waiting.join().expect("thread");
        assert_eq!(outcome.is_err(), end == "COMMIT");
        assert_consistent(&mut first, "docs");
    }
}

#[test]
fn many_writers_leave_table_and_index_equal() {
    let database = database();
    let mut client = docs(&database);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let mut session = database.connect();
            scope.spawn(move || {
                for round in 0..60 {
                    let id = 10 + (round * 7 + writer * 3) % 40;
                    let statement = match (round + writer) % 4 {
                        0 => format!("DELETE FROM docs WHERE id = {id}"),
                        1 => format!("UPDATE docs SET body = body || '{round}' WHERE id = {id}"),
                        2 => format!("BEGIN; INSERT INTO docs VALUES ({id}, 'x') ON CONFLICT DO NOTHING; ROLLBACK"),
                        _ => format!(
                            "INSERT INTO docs VALUES ({id}, '{TEXT} {writer}') \
                             ON CONFLICT (id) DO UPDATE SET body = excluded.body"
                        ),
                    };
                    session.run(&statement);
                }
            });
        }
    });
    assert_consistent(&mut client, "docs");
}

#[test]
fn a_writer_waits_for_the_build_and_is_indexed_after_it() {
    let database = database();
    let mut builder = database.connect();
    builder.run("CREATE TABLE docs (id int PRIMARY KEY, body text)");
    builder.run("BEGIN; SELECT minlsh_create_side_table('docs', 'body')");
    let mut reader = database.connect();
    assert_eq!(texts(&mut reader, "SELECT count(*) FROM docs"), ["0"]);
    let waiting = blocked(&database, |writer| writer.run("INSERT INTO docs VALUES (1, 'late')"));
    builder.run("COMMIT");
    waiting.join().expect("an insertion");
    assert_consistent(&mut reader, "docs");
    assert_eq!(texts(&mut reader, "SELECT count(*) FROM docs_minlsh"), ["1"]);
}

#[test]
fn a_session_follows_what_another_does_to_the_index() {
    let database = database();
    let mut writer = docs(&database);
    let mut other = database.connect();
    let mut write = |table: &str, id: i32| {
        writer.run(&format!("INSERT INTO {table} VALUES ({id}, '{TEXT}')"));
    };
    write("docs", 10);
    other.run("ALTER TABLE docs RENAME TO papers");
    write("papers", 11);
    other.run("CREATE SCHEMA s; ALTER TABLE papers SET SCHEMA s");
    write("s.papers", 12);
    other.run("ALTER TABLE docs_minlsh RENAME TO side");
    write("s.papers", 13);
    other.run("SELECT minlsh_rebuild_side_table('side')");
    write("s.papers", 14);
    other.run("SELECT minlsh_create_side_table('s.papers', 'body', name => 'second', num_perm => 64)");
    write("s.papers", 15);
    assert_consistent(&mut other, "s.papers");
    assert_eq!(texts(&mut other, "SELECT count(*) FROM side UNION ALL SELECT count(*) FROM s.second"), ["11", "11"]);
    other.run("SELECT minlsh_drop_side_table('s.second'), minlsh_drop_side_table('s.papers')");
    write("s.papers", 16);
}

#[test]
fn a_dropped_index_waits_for_its_readers() {
    let database = database();
    let mut reader = docs(&database);
    reader.run("BEGIN");
    assert_eq!(copies_of_1(&mut reader).len(), 4);
    let waiting = blocked(&database, |dropper| dropper.run("SELECT minlsh_drop_side_table('docs')"));
    assert_eq!(copies_of_1(&mut reader).len(), 4);
    reader.run("COMMIT");
    waiting.join().expect("a drop");
    assert_eq!(texts(&mut reader, "SELECT to_regclass('docs_minlsh') IS NULL"), ["t"]);
}

#[test]
fn a_build_in_a_repeatable_read_transaction_sees_rows_committed_after_its_snapshot() {
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let database = database();
        let mut builder = database.connect();
        builder.run("CREATE TABLE docs (id int PRIMARY KEY, body text)");
        builder.run(&format!("BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM docs"));
        database.connect().run("INSERT INTO docs VALUES (1, 'committed later')");
        builder.run("SELECT minlsh_create_side_table('docs', 'body'); COMMIT");
        assert_consistent(&mut builder, "docs");
        assert_eq!(texts(&mut builder, "SELECT count(*) FROM docs_minlsh"), ["1"]);
    }
}

#[test]
fn a_transaction_older_than_the_index_is_told_that_it_cannot_read_it() {
    let database = database();
    let mut reader = database.connect();
    reader.run("CREATE TABLE docs (id int PRIMARY KEY, body text); INSERT INTO docs VALUES (1, 'one text')");
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs");
    let mut builder = database.connect();
    builder.run("SELECT minlsh_create_side_table('docs', 'body')");
    assert_eq!(sqlstate(&mut reader, "SELECT * FROM minlsh_check('docs')"), "40001");
    reader.run("ROLLBACK");
    assert_consistent(&mut reader, "docs");
}

#[test]
fn a_transaction_older_than_the_index_keeps_it_right() {
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let database = database();
        let mut writer = database.connect();
        writer.run(
            "CREATE TABLE docs (id int PRIMARY KEY, body text); \
             INSERT INTO docs SELECT i, 'the text of document ' || i FROM generate_series(1, 5) i",
        );
        writer.run(&format!("BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM pg_class"));
        let mut builder = database.connect();
        builder.run("SELECT minlsh_create_side_table('docs', 'body')");
        writer.run(
            "DELETE FROM docs WHERE id = 1; UPDATE docs SET body = 'new' WHERE id = 2; \
             UPDATE docs SET body = '' WHERE id = 3; INSERT INTO docs VALUES (6, 'six'); COMMIT",
        );
        assert_consistent(&mut builder, "docs");
        assert_eq!(texts(&mut builder, "SELECT count(*) FROM docs_minlsh"), ["4"]);
    }
}
