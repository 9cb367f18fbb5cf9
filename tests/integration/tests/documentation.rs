//! The SQL of the documentation runs, and prints what the documentation says it prints.

use minlsh_integration::database;
use minlsh_integration::manual::{Shell, run_examples};

fn check(page: &str) {
    let shell = if page == "docs/theory.md" { Shell::Run } else { Shell::Skip };
    let database = database();
    database.connect().batch_execute("DROP EXTENSION minlsh").expect("a bare database");
    run_examples(page, &database, shell);
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
fn the_recipes_print_what_they_say() {
    check("docs/recipes.md");
}

#[test]
fn the_page_on_scaling_prints_what_it_says() {
    check("docs/scaling.md");
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
