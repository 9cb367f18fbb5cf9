//! How far a build is can be seen from another session: CREATE INDEX, and the making of a side table.

use std::sync::atomic::{AtomicBool, Ordering};

use minlsh_integration::{Database, database, texts};

/// The phases that a second session sees while `statement` runs, and the most tuples done in each.
fn seen(database: &Database, statement: &str) -> Vec<String> {
    let mut builder = database.connect();
    let mut watcher = database.connect();
    watcher
        .batch_execute("CREATE TEMP TABLE seen (phase text, done bigint, total bigint)")
        .expect("a table");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            builder.batch_execute(statement).expect(statement);
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            watcher
                .batch_execute(
                    "INSERT INTO seen SELECT phase, tuples_done, tuples_total \
                     FROM pg_stat_progress_create_index WHERE relid = 'docs'::regclass",
                )
                .expect("the view");
        }
    });
    texts(
        &mut watcher,
        "SELECT phase FROM seen WHERE done > 0 AND done <= total GROUP BY phase ORDER BY phase",
    )
}

#[test]
fn a_build_shows_how_far_it_is() {
    let database = database();
    let mut client = database.connect();
    client
        .batch_execute(
            "CREATE TABLE docs (id int PRIMARY KEY, body text); \
             INSERT INTO docs SELECT i, repeat(md5(i::text), 30) FROM generate_series(1, 60000) i; ANALYZE docs",
        )
        .expect("a table");
    let phases = seen(&database, "CREATE INDEX ON docs USING minlsh (body)");
    assert!(phases.contains(&"building index: writing pages".to_owned()), "{phases:?}");
    let phases = seen(&database, "SELECT minlsh_create_index('docs', 'body')");
    assert!(phases.contains(&"building index: scanning table".to_owned()), "{phases:?}");
    // Nothing stays behind.
    assert_eq!(texts(&mut client, "SELECT count(*) FROM pg_stat_progress_create_index"), ["0"]);
}
