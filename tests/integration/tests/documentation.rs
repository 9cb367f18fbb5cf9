//! The SQL of the documentation runs, and prints what the documentation says it prints.
//!
//! A fenced block `sql` is run by psql, one of `sh` by a shell in which psql finds the database; a
//! fenced block `text` that follows is the output. The blocks of one file share a database.

use std::path::Path;

use minlsh_integration::database;

/// The files whose `sh` blocks are for the database, not for the reader's machine.
const RUNS_SHELL: [&str; 1] = ["docs/theory.md"];

/// The fenced blocks of a Markdown file: (language, line number, text).
fn blocks(markdown: &str) -> Vec<(String, usize, String)> {
    let mut blocks: Vec<(String, usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in markdown.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(_), true) => open = false,
            (Some(language), false) => {
                blocks.push((language.to_owned(), number + 1, String::new()));
                open = true;
            }
            (None, true) => {
                if let Some((_, _, text)) = blocks.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            (None, false) => {}
        }
    }
    blocks
}

fn check(file: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let markdown = std::fs::read_to_string(root.join(file)).expect(file);
    let database = database();
    let server = database.server;
    database.connect().batch_execute("DROP EXTENSION minlsh").expect("a bare database");
    let examples = std::env::var("MINLSH_RUN_DIR").expect("MINLSH_RUN_DIR") + "/examples";
    let blocks = blocks(&markdown);
    let mut examples_run = 0;
    for (position, (language, line, sql)) in blocks.iter().enumerate() {
        if language != "sql" {
            if language == "sh" && RUNS_SHELL.contains(&file) {
                database.shell(sql);
            }
            continue;
        }
        let script = server.socket().join(format!("{}.sql", database.name));
        std::fs::write(&script, sql.replace("'examples/", &format!("'{examples}/")))
            .expect("write");
        let script = script.to_str().expect("UTF-8");
        let arguments = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &database.name, "-f", script];
        let printed = server.run("psql", &arguments);
        if let Some((_, _, expected)) =
            blocks.get(position + 1).filter(|(language, _, _)| language == "text")
        {
            assert_eq!(printed, *expected, "{file}:{line}");
        }
        examples_run += 1;
    }
    assert!(examples_run > 0, "{file} has no example");
}

#[test]
fn the_readme_prints_what_it_says() {
    check("README.md");
}

#[test]
fn the_reference_prints_what_it_says() {
    check("docs/reference.md");
}

#[test]
fn the_operations_manual_prints_what_it_says() {
    check("docs/operations.md");
}

#[test]
fn the_definition_of_signatures_prints_what_it_says() {
    check("docs/signatures.md");
}

#[test]
fn the_tutorial_prints_what_it_says() {
    check("docs/theory.md");
}

#[test]
fn the_demo_runs_to_its_end() {
    let database = database();
    let examples = std::env::var("MINLSH_RUN_DIR").expect("MINLSH_RUN_DIR") + "/examples";
    let licenses = format!("licenses={examples}/licenses/licenses.csv");
    let script = format!("{examples}/demo.sql");
    let arguments =
        ["-X", "-v", "ON_ERROR_STOP=1", "-v", &licenses, "-d", &database.name, "-f", &script];
    let printed = database.server.run("psql", &arguments);
    assert!(printed.contains("MS-LPL") && printed.contains("BSL-1.0"), "{printed}");
}
