//! The examples of the manual: a fenced block `sql` is run by psql, one of `sh` (where asked for) by
//! a shell in which psql finds the database; a fenced block `text` that follows is the output, with
//! its NOTICEs and WARNINGs. Empty lines at its end do not count. The blocks of one file share a database.

use std::path::Path;

use crate::{Database, variable};

/// The blocks of a page that are run beside its SQL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// Blocks of `sh` are for the reader's machine.
    Skip,
    /// Blocks of `sh`, too: they are for the database.
    Run,
}

/// Runs the examples of a page, whose path is relative to the project, and compares what they print.
///
/// # Panics
/// If an example fails or prints something else, and if there is none.
pub fn run_examples(page: &str, database: &Database, shell: Shell) {
    let server = database.server;
    let examples = variable("MINLSH_RUN_DIR") + "/examples";
    let blocks = blocks(&read(page));
    let mut examples_run = 0;
    for (position, (language, line, sql)) in blocks.iter().enumerate() {
        if language != "sql" {
            if language == "sh" && shell == Shell::Run {
                database.shell(sql);
            }
            continue;
        }
        let script = server.socket().join(format!("{}.sql", database.name));
        std::fs::write(&script, sql.replace("'examples/", &format!("'{examples}/"))).expect("write");
        // From its standard input psql reads as a user types: messages have no place, and come where they are raised.
        let script = script.to_str().expect("UTF-8");
        let printed = database.shell(&format!("psql -X -q -v ON_ERROR_STOP=1 < {script} 2>&1"));
        if let Some((_, _, expected)) = blocks.get(position + 1).filter(|(language, _, _)| language == "text") {
            assert_eq!(printed.trim_end_matches('\n'), expected.trim_end_matches('\n'), "{page}:{line}");
        } else {
            let is_silent = !printed.contains("NOTICE:  ") && !printed.contains("WARNING:  ");
            assert!(is_silent, "{page}:{line} must print this:\n{printed}");
        }
        examples_run += 1;
    }
    assert!(examples_run > 0, "{page} has no example");
}

/// The SQL of the one block of a page that has such a text, for a test that runs what readers copy.
///
/// # Panics
/// Unless there is exactly one.
#[must_use]
pub fn example(page: &str, part: &str) -> String {
    let mut found = blocks(&read(page)).into_iter().filter(|(_, _, sql)| sql.contains(part));
    match (found.next(), found.next()) {
        (Some((language, _, sql)), None) if language == "sql" => sql,
        _ => panic!("{page} must have one block of SQL with {part}"),
    }
}

fn read(page: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(page)).expect(page)
}

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
