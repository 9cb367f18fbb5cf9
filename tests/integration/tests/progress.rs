//! The progress of work can be seen from another session: CREATE INDEX, the making of a side table, and jobs.

use minlsh_integration::{Database, Run, beside, database, sqlstate, texts};

/// The builds that a second session may need until it has looked at the right moment.
const TRIES: usize = 20;

/// True if a second session sees tuples done, of as many or more, in a phase of `build`.
fn is_seen(database: &Database, build: &str, phase: &str, undo: &str) -> bool {
    let mut builder = database.connect();
    let mut watcher = database.connect();
    let look = format!(
        "SELECT count(*) FROM pg_stat_progress_create_index WHERE relid = 'docs'::regclass \
         AND phase = '{phase}' AND tuples_done > 0 AND tuples_done <= tuples_total"
    );
    (0..TRIES).any(|_| {
        let mut seen = false;
        let looks = || seen |= texts(&mut watcher, &look) == ["1"];
        beside(vec![looks], || builder.run(build));
        builder.run(undo);
        seen
    })
}

#[test]
fn a_build_shows_how_far_it_is() {
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, md5(i::text) FROM generate_series(1, 20000) i; ANALYZE docs",
    );
    let build = "CREATE INDEX docs_near ON docs USING minlsh (body)";
    assert!(is_seen(&database, build, "building index: writing pages", "DROP INDEX docs_near"));
    let build = "SELECT minlsh_create_side_table('docs', 'body')";
    let undo = "SELECT minlsh_drop_side_table('docs')";
    assert!(is_seen(&database, build, "building index: scanning table", undo));
    // Nothing stays behind.
    assert_eq!(texts(&mut client, "SELECT count(*) FROM pg_stat_progress_create_index"), ["0"]);
}

#[test]
fn a_job_shows_how_far_it_is_to_those_who_may_see_it() {
    let database = database();
    let mut client = database.connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         INSERT INTO docs SELECT i, repeat(md5((i / 3)::text), 40) || i FROM generate_series(1, 20000) i; \
         ANALYZE docs; SET maintenance_work_mem = '1MB'",
    );
    let stranger = format!("stranger_{}", database.name);
    client.run(&format!("CREATE ROLE {stranger} LOGIN"));
    let (mut watcher, mut stranger) = (database.connect(), database.connect_as(&stranger));
    let look = "SELECT phase FROM minlsh_progress \
                WHERE datname = current_database() AND relid = 'docs'::regclass \
                AND CASE phase WHEN 'reading documents' THEN documents_read > 0 AND documents_estimated = 20000 \
                  WHEN 'comparing candidates' THEN compared > 0 AND compared <= candidates \
                    AND documents_read = 20000 AND spilled_bytes > 0 END";
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..TRIES {
        let looks = || {
            seen.extend(texts(&mut watcher, look));
            let all = "SELECT count(*) FROM minlsh_progress WHERE datname = current_database()";
            assert_eq!(texts(&mut stranger, all), ["0"]);
        };
        beside(vec![looks], || client.run("SELECT count(*) FROM near_duplicate_clusters('docs', 0.9)"));
        if seen.len() == 2 {
            break;
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    // A job of passages, and a suggestion.
    let look = "SELECT phase FROM minlsh_progress \
                WHERE datname = current_database() AND relid = 'docs'::regclass AND documents_read > 0 \
                AND (phase NOT IN ('comparing candidates', 'finding neighbors') OR compared > 0)";
    let jobs: [(&str, &[&str]); 2] = [
        (
            "SELECT count(*) FROM contained_documents('docs', 0.9)",
            &["comparing candidates", "counting passages", "reading documents"],
        ),
        ("SELECT count(*) FROM minlsh_suggest('docs')", &["finding neighbors", "reading documents"]),
    ];
    for (job, expected) in jobs {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..TRIES {
            let looks = || seen.extend(texts(&mut watcher, look));
            beside(vec![looks], || client.run(job));
            if seen.len() == expected.len() {
                break;
            }
        }
        assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
    // PostgreSQL's own views do not list it, and nothing stays behind, also after an error.
    let job = "SELECT count(*) FROM near_duplicate_clusters('SELECT id / 2, body FROM docs', 0.9)";
    assert_eq!(sqlstate(&mut client, job), "22023");
    assert_eq!(texts(&mut watcher, "SELECT count(*) FROM minlsh_progress"), ["0"]);
    // A COPY keeps the place of its session.
    let copy = "COPY (SELECT count(*) FROM near_duplicate_clusters('docs', 0.9)) TO STDOUT";
    std::io::copy(&mut client.copy_out(copy).expect(copy), &mut std::io::sink()).expect(copy);
}
