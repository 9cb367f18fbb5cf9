//! The attacks of `tests/attacks`: none gains rights, runs planted code as another role, reads hidden
//! rows, fails with an internal error, or ends a backend.

mod resources;
mod script;
mod stage;
mod subscribers;

use std::path::{Path, PathBuf};

use minlsh_integration::{Run, Server, texts};
use script::Script;
use stage::{ROLES, Stage};

/// The attacks in a folder below `tests/attacks`, in order.
fn scripts(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../attacks").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("tests/attacks")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    files.sort();
    files
}

/// A server with the roles of the attacks.
fn server() -> Server {
    // Verbose errors carry their SQLSTATE into the log.
    let server = Server::start_with(&["log_error_verbosity = verbose", "max_prepared_transactions = 4"]);
    let mut client = server.connect("postgres");
    for role in ROLES {
        client.run(&format!("CREATE ROLE {role} LOGIN"));
    }
    server
}

/// The attacks of a folder that were not held, with the reasons.
fn play(folder: &str) -> Vec<(String, Vec<String>)> {
    let server = server();
    let version: u32 = texts(&mut server.connect("postgres"), "SHOW server_version_num")[0].parse().expect("digits");
    let only = std::env::var("MINLSH_ATTACK").ok();
    let mut tried = 0;
    let mut broken = Vec::new();
    for file in scripts(folder) {
        let script = Script::read(&file);
        if only.as_ref().is_some_and(|only| !script.name.contains(only.as_str()))
            || !(script.versions.is_empty() || script.versions.contains(&(version / 10000)))
        {
            continue;
        }
        tried += 1;
        let failures = Stage::play(&server, &script);
        println!("{}: {}", script.name, if failures.is_empty() { "held" } else { "SUCCEEDED" });
        for failure in &failures {
            println!("    {}", failure.replace('\n', "\n    "));
        }
        if !failures.is_empty() {
            broken.push((script.name, failures));
        }
    }
    println!("{tried} attacks tried, {} held", tried - broken.len());
    assert!(tried > 0, "no attack in {folder}");
    broken
}

#[test]
fn no_attack_succeeds() {
    let broken = play(".");
    assert!(broken.is_empty(), "attacks that succeeded: {broken:#?}");
}

/// Attacks that are not a fault of minlsh, but must not escape this harness.
#[test]
fn what_would_succeed_is_noticed() {
    let broken = play("noticed");
    assert_eq!(broken.len(), scripts("noticed").len(), "{broken:?}");
}
