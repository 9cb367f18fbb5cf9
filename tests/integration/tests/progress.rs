//! How far a build is can be seen from another session: CREATE INDEX, and the making of a side table.

use std::sync::atomic::{AtomicBool, Ordering};

use minlsh_integration::{Database, database, texts};

/// The builds that a second session may need until it has looked at the right moment.
const TRIES: usize = 20;

/// Whether a second session sees tuples done, of as many or more, in a phase of `build`.
fn is_seen(database: &Database, build: &str, phase: &str, undo: &str) -> bool {
    let mut builder = database.connect();
    let mut watcher = database.connect();
    let look = format!(
        "SELECT count(*) FROM pg_stat_progress_create_index WHERE relid = 'docs'::regclass \
         AND phase = '{phase}' AND tuples_done > 0 AND tuples_done <= tuples_total"
    );
    (0..TRIES).any(|_| {
        let done = AtomicBool::new(false);
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| {
                builder.batch_execute(build).expect(build);
                done.store(true, Ordering::Release);
            });
            let mut seen = false;
            while !done.load(Ordering::Acquire) {
                seen |= texts(&mut watcher, &look) == ["1"];
            }
            seen
        });
        builder.batch_execute(undo).expect(undo);
        seen
    })
}

#[test]
fn a_build_shows_how_far_it_is() {
    let database = database();
    let mut client = database.connect();
    client
        .batch_execute(
            "CREATE TABLE docs (id int PRIMARY KEY, body text); \
             INSERT INTO docs SELECT i, md5(i::text) FROM generate_series(1, 20000) i; ANALYZE docs",
        )
        .expect("a table");
    let build = "CREATE INDEX docs_near ON docs USING minlsh (body)";
    assert!(is_seen(&database, build, "building index: writing pages", "DROP INDEX docs_near"));
    let build = "SELECT minlsh_create_index('docs', 'body')";
    let undo = "SELECT minlsh_drop_index('docs')";
    assert!(is_seen(&database, build, "building index: scanning table", undo));
    // Nothing stays behind.
    assert_eq!(texts(&mut client, "SELECT count(*) FROM pg_stat_progress_create_index"), ["0"]);
}
