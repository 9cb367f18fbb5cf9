//! Signatures and LeanMinHash bytes equal what the real datasketch from PyPI makes: see
//! `tests/datasketch/compare.py`. Known answers for machines without Python are in
//! `tests/pg_regress/sql/datasketch.sql`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use minlsh_integration::{database, superuser};

/// Says it where `cargo test` does not swallow it, as it does `eprintln!` of a test that passes.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "datasketch: {what}");
}

fn run(command: &mut Command) -> std::io::Result<Output> {
    command.stdin(Stdio::null()).output()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[test]
fn signatures_made_in_python_and_in_sql_are_equal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = root.join("tests/datasketch");
    let mut venv = Command::new(root.join("scripts/venv.sh"));
    let python = match run(venv.args(["datasketch-venv", "tests/datasketch/requirements.txt"])) {
        Ok(output) if output.status.success() => text(&output.stdout),
        Ok(output) => {
            let reason = text(&output.stderr);
            let reason = reason.lines().last().unwrap_or("no reason given");
            return say(&format!("SKIPPED: no datasketch from PyPI: {reason}"));
        }
        Err(cause) => return say(&format!("SKIPPED: no datasketch from PyPI: {cause}")),
    };
    let database = database();
    let connection =
        format!("host={} port=5432 user={} dbname={}", database.server.socket().display(), superuser(), database.name);
    let output = run(Command::new(python).arg(directory.join("compare.py")).arg(connection)).expect("python runs");
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}\n{}", text(&output.stderr));
    say(&printed);
}
