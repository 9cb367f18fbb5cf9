//! Installing the extension, by whom and where.

use minlsh_integration::{Run, assert_consistent, database, sqlstate, texts};

#[test]
fn anybody_with_create_on_the_database_installs_it() {
    let database = database();
    let mut superuser = database.connect();
    let name = &database.name;
    superuser.run(&format!(
        "DROP EXTENSION minlsh; CREATE ROLE {name}_owner LOGIN; \
         GRANT CREATE ON DATABASE {name} TO {name}_owner"
    ));
    let mut owner = database.connect_as(&format!("{name}_owner"));
    owner.run(
        "CREATE SCHEMA \"Near Dup\"; CREATE EXTENSION minlsh SCHEMA \"Near Dup\"; \
         CREATE SCHEMA own; CREATE TABLE own.docs (id int PRIMARY KEY, body text); \
         INSERT INTO own.docs VALUES (1, 'one and the same text'), (2, 'one and the same text'); \
         SELECT \"Near Dup\".minlsh_create_side_table('own.docs', 'body')",
    );
    let found = "SELECT doc_id FROM \"Near Dup\".near_duplicates(1, 0.9)";
    assert_eq!(texts(&mut owner, found), ["2"]);
    owner.run("INSERT INTO own.docs VALUES (3, 'one and the same text')");
    assert_eq!(texts(&mut owner, found), ["2", "3"]);
    superuser.run("ALTER EXTENSION minlsh SET SCHEMA own");
    owner.run("INSERT INTO own.docs VALUES (4, 'one and the same text')");
    owner.run("SET search_path = own");
    assert_eq!(texts(&mut owner, "SELECT doc_id FROM near_duplicates(1, 0.9)"), ["2", "3", "4"]);
    assert_consistent(&mut owner, "docs");
}

#[test]
fn dropping_the_extension_needs_cascade_while_an_index_exists() {
    let mut client = database().connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); \
         SELECT minlsh_create_side_table('docs', 'body')",
    );
    assert_eq!(sqlstate(&mut client, "DROP EXTENSION minlsh"), "2BP01");
    client.run("DROP EXTENSION minlsh CASCADE");
    client.run("INSERT INTO docs VALUES (1, 'no trigger is left')");
    assert_eq!(texts(&mut client, "SELECT to_regclass('docs_minlsh') IS NULL"), ["t"]);
}
