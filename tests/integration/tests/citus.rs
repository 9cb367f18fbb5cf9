//! Tables that Citus has distributed: a coordinator and two workers, where Citus can be found.
//!
//! It is looked for in the server's own folders (`citus.control` in the sharedir), or below
//! `CITUS_PREFIX`, where `make install DESTDIR=$CITUS_PREFIX` of Citus has put it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use minlsh_integration::manual::{Shell, run_examples};
use minlsh_integration::{Client, Database, Run, Server, texts, variable};

/// Says it where `cargo test` does not swallow it.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "citus: {what}");
}

/// A folder of the server.
fn folder(option: &str) -> String {
    let program = variable("MINLSH_PG_BIN") + "/pg_config";
    let output = Command::new(program).arg(option).output().expect("pg_config runs");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// The settings with which a server loads Citus, or why it cannot.
fn citus() -> Result<Vec<String>, String> {
    let (share, library) = (folder("--sharedir"), folder("--pkglibdir"));
    let control = format!("{share}/extension/citus.control");
    let preload = "shared_preload_libraries = 'citus'\nwal_level = logical".to_owned();
    if Path::new(&control).exists() {
        return Ok(vec![preload]);
    }
    let Ok(prefix) = std::env::var("CITUS_PREFIX") else {
        return Err(format!("no {control}, and no CITUS_PREFIX"));
    };
    if !Path::new(&format!("{prefix}{control}")).exists() {
        return Err(format!("no {prefix}{control}"));
    }
    // The server looks for extensions in one folder of ours only.
    let stage = PathBuf::from(variable("MINLSH_RUN_DIR") + "/stage");
    let copied = Command::new("cp").arg("-a").arg(format!("{prefix}/.")).arg(&stage).status();
    assert!(copied.expect("cp runs").success(), "cp {prefix} {}", stage.display());
    let stage = stage.display();
    let path = format!("dynamic_library_path = '{stage}{library}:$libdir'");
    // Its check of versions looks into the server's own folder only.
    Ok(vec![preload, path, "citus.enable_version_checks = off".to_owned()])
}

/// The nodes, the coordinator first, and the database that they share. The page's first example creates its
/// extension.
fn cluster(settings: &[String]) -> Vec<Server> {
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let nodes: Vec<Server> = (0..3).map(|_| Server::start_with(&settings)).collect();
    for node in &nodes {
        let mut client = node.connect("postgres");
        client.run("CREATE EXTENSION citus");
        client.run(&format!("ALTER SYSTEM SET citus.local_hostname = '{}'", node.socket().display()));
        client.run("SELECT pg_reload_conf()");
    }
    let mut coordinator = nodes[0].connect("postgres");
    for (position, node) in nodes.iter().enumerate() {
        let function = if position == 0 { "citus_set_coordinator_host" } else { "citus_add_node" };
        coordinator.run(&format!("SELECT {function}('{}', 5432)", node.socket().display()));
    }
    nodes
}

/// Statements that do not work by the page, and their errors.
const REFUSED: [(&str, &str); 6] = [
    ("SELECT minlsh_create_side_table('notes', 'body')", "triggers are not supported on distributed tables"),
    ("SELECT near_duplicates(7, 0.7, 'notes')", "could not create distributed plan"),
    (
        "SET plan_cache_mode = force_custom_plan;
         SELECT count(*) FROM notes, near_duplicates(notes.id, 0.7, 'notes')",
        "cannot execute a distributed query from a query on a shard",
    ),
    ("SELECT near_duplicate_pairs('notes', 0.7)", "invalid attnum"),
    (
        "SELECT count(*) FROM notes a JOIN notes b ON b.body ~= minlsh_document(a.body, 0.8)",
        "complex joins are only supported",
    ),
    (
        "CREATE TABLE x (id bigint, body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=));
         SELECT create_distributed_table('x', 'id')",
        "cannot create constraint",
    ),
];

/// The lines of a plan that has one of `words`.
fn plan(client: &mut Client, query: &str, words: &[&str]) -> Vec<String> {
    let lines = texts(client, &format!("EXPLAIN (COSTS OFF) {query}"));
    let lines = lines.into_iter().filter(|line| words.iter().any(|word| line.contains(word)));
    lines.map(|line| line.trim_start_matches([' ', '-', '>']).to_owned()).collect()
}

#[test]
fn distributed_tables_are_indexed_searched_and_moved() {
    let settings = match citus() {
        Ok(settings) => settings,
        Err(reason) => return say(&format!("SKIPPED: {reason}")),
    };
    let nodes = cluster(&settings);
    let coordinator = &nodes[0];
    let database = Database { server: coordinator, name: "postgres".to_owned() };
    run_examples("docs/citus.md", &database, Shell::Skip);

    let mut client = database.connect();
    client.run("SET enable_seqscan = off");
    let routed = "SELECT id FROM docs WHERE tenant = 7 AND body ~= minlsh_document('a text', 0.7)";
    let found = plan(&mut client, routed, &["Task Count", "docs_near"]);
    assert!(found[0] == "Task Count: 1" && found.len() == 2, "{found:?}");
    let fanned = "SELECT id FROM notes WHERE body ~= minlsh_document('a text', 0.7)";
    let found = plan(&mut client, fanned, &["Task Count", "notes_near"]);
    assert!(found[0] == "Task Count: 4" && found.len() >= 2, "{found:?}");

    // The workers find the pairs that the coordinator and the exact measure find.
    let by_band = "SELECT a || ' ' || b FROM halves JOIN notes ON id = b
                   WHERE body ~= minlsh_document(body_a, 0.8) ORDER BY a, b";
    let by_query = "SELECT doc_a || ' ' || doc_b
                    FROM near_duplicate_pairs('SELECT id, body FROM notes', 0.8)
                    ORDER BY doc_a, doc_b";
    let pairs = texts(&mut client, by_band);
    assert_eq!(pairs, texts(&mut client, by_query));
    let exact = "CREATE TEMP TABLE local AS SELECT id, body FROM notes;
                 SELECT a.id || ' ' || b.id FROM local a JOIN local b ON a.id < b.id
                 WHERE a.id <= 20 AND jaccard(a.body, b.body) >= 0.8 ORDER BY a.id, b.id";
    assert_eq!(pairs[..40], texts(&mut client, exact));

    // The page has moved a shard.
    let moved = "SELECT max(shards) - min(shards) FROM (SELECT count(*) AS shards FROM citus_shards
                 WHERE table_name = 'docs'::regclass GROUP BY nodename) AS nodes";
    assert_eq!(texts(&mut client, moved), ["2"]);
    for table in ["docs", "notes", "pages", "posts"] {
        let check = format!(
            "SELECT count(*) FROM run_command_on_shards('{table}', $$SELECT count(*) FROM minlsh_check('%s')$$)
             WHERE NOT success OR result <> '0'"
        );
        assert_eq!(texts(&mut client, &check), ["0"], "{table}");
    }

    // Options of all shards.
    for change in ["ALTER INDEX docs_near SET (threshold = 0.8)", "REINDEX INDEX docs_near"] {
        client.run(change);
    }
    let options = "SELECT DISTINCT result FROM run_command_on_shards('docs',
                   $$SELECT threshold FROM minlsh_indexes WHERE relation = '%s'::regclass$$)";
    assert_eq!(texts(&mut client, options), ["0.8"]);

    for (statement, refusal) in REFUSED {
        let error = database.connect().batch_execute(statement).expect_err(statement);
        let message = error.as_db_error().map_or("", |report| report.message());
        assert!(message.contains(refusal), "{statement}: {message}");
    }
}
