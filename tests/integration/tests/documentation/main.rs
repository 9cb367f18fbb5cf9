//! The SQL of the documentation runs, and prints what the documentation says it prints.

mod reference;

use std::path::{Path, PathBuf};

use minlsh_integration::manual::{Shell, run_examples};
use minlsh_integration::{Run, database, texts, variable};

/// Pages that tests of their own execute: drivers, three servers, and figures that a benchmark writes.
const EXECUTED_ELSEWHERE: [&str; 2] = ["citus.md", "clients.md"];

/// The page whose blocks of `sh` load files into the database.
const TEXTBOOK: &str = "examples/TEXTBOOK.md";

/// The pages of a folder of the manual that have SQL, and of the folders in it.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("docs") {
        let path = entry.expect("entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        if path.is_dir() {
            pages(&path, found);
        } else if name.ends_with(".md") && !EXECUTED_ELSEWHERE.contains(&name) {
            let text = std::fs::read_to_string(&path).expect("page");
            if text.contains("\n```sql\n") {
                found.push(path);
            }
        }
    }
}

/// Runs those pages whose number leaves `rest` when divided by [`PARTS`]: tests run side by side, pages do not.
fn check(rest: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md"), root.join("llms.txt"), root.join(TEXTBOOK)];
    pages(&root.join("docs"), &mut all);
    all.sort();
    assert!(all.len() > 10, "the pages of the manual are there");
    for page in all.iter().skip(rest).step_by(PARTS) {
        let page = page.strip_prefix(&root).expect("below").to_str().expect("UTF-8");
        let shell = if page == TEXTBOOK { Shell::Run } else { Shell::Skip };
        let database = database();
        database.connect().run("DROP EXTENSION minlsh");
        run_examples(page, &database, shell);
        // A table that a page makes must outlive the extension, and be restored without it.
        let tied = texts(&mut database.connect(), OF_KEYS);
        assert_eq!(tied, Vec::<String>::new(), "{page}: columns of keys need a cast");
    }
}

/// The columns of tables that have the type of keys.
const OF_KEYS: &str = "SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid AND t.typname = 'minlsh_key'
    JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'm')";

const PARTS: usize = 2;

#[test]
fn every_page_prints_what_it_says() {
    check(0);
}

#[test]
fn every_other_page_prints_what_it_says() {
    check(1);
}

#[test]
fn the_demo_runs_to_its_end() {
    let database = database();
    let examples = variable("MINLSH_RUN_DIR") + "/examples";
    let licenses = format!("licenses={examples}/licenses/licenses.csv");
    let script = format!("{examples}/demo.sql");
    let arguments = ["-X", "-v", "ON_ERROR_STOP=1", "-v", &licenses, "-d", &database.name, "-f", &script];
    let printed = database.server.run("psql", &arguments);
    assert!(printed.contains("MS-LPL") && printed.contains("BSL-1.0"), "{printed}");
}
