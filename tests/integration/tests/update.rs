//! The next version of the extension takes over from this one, with data, indexes and sessions in place.

use std::path::{Path, PathBuf};
use std::process::Command;

use minlsh_integration::near::{assert_tree, docs};
use minlsh_integration::{Client, Database, Run, assert_consistent, database, sqlstate, texts, variable};

/// An installed file of the extension, where the servers of this run find it.
fn installed(name: &str) -> PathBuf {
    let server = database().server;
    let run = variable("MINLSH_RUN_DIR");
    let places = [
        format!("{run}/stage"),
        server.run_locally("pg_config", &["--sharedir"]),
        server.run_locally("pg_config", &["--pkglibdir"]),
    ];
    let found = Command::new("find").args(places.map(|place| place.trim().to_owned())).args(["-name", name]).output();
    let found = String::from_utf8(found.expect("find runs").stdout).expect("UTF-8");
    PathBuf::from(found.lines().next().unwrap_or_else(|| panic!("{name} is not installed")))
}

/// A file that is removed at the end.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A database with all that can depend on the extension.
fn populated() -> Database<'static> {
    let database = database();
    let mut client = database.connect();
    docs(&mut client, 300);
    client.run(
        "CREATE INDEX docs_near ON docs USING minlsh (tenant, body); \
         CREATE TABLE papers (LIKE docs INCLUDING INDEXES); INSERT INTO papers SELECT * FROM docs; \
         SELECT minlsh_create_side_table('papers', 'body'); \
         CREATE TABLE kept (body text, EXCLUDE USING minlsh (minlsh_document(body) WITH ~=)); \
         INSERT INTO kept SELECT body FROM docs WHERE body <> '' ON CONFLICT DO NOTHING; \
         CREATE TABLE stored (document minlsh_document); \
         INSERT INTO stored SELECT minlsh_document(body) FROM docs; \
         CREATE VIEW similar_docs AS SELECT a.id AS one, b.id AS other FROM docs a JOIN docs b \
           ON b.tenant = a.tenant AND b.body ~= minlsh_document(a.body, 0.8) AND a.id <> b.id",
    );
    database
}

/// The answers that a session gets.
fn answers(client: &mut Client) -> Vec<String> {
    client.run("SET enable_seqscan = off");
    let index = texts(client, "SELECT one || ' ' || other FROM similar_docs ORDER BY one, other");
    assert!(index.len() > 100, "{} pairs", index.len());
    let others = "SELECT d FROM (SELECT doc_a || ' ' || doc_b FROM near_duplicate_pairs('papers', 0.8) \
                  UNION ALL SELECT 'kept ' || count(*) FROM kept \
                  UNION ALL SELECT document::text FROM stored) AS a (d) ORDER BY d";
    [index, texts(client, others)].concat()
}

/// Writes work, and what is kept agrees with them.
fn assert_alive(client: &mut Client) {
    client.run(
        "INSERT INTO docs (id, tenant, body) SELECT id + 5000000, tenant, body FROM docs; \
         INSERT INTO papers SELECT id + 5000000, tenant, extra, body FROM papers; \
         UPDATE docs SET body = 'another text' WHERE id % 7 = 0; UPDATE papers SET body = NULL WHERE id % 7 = 0",
    );
    assert_consistent(client, "docs_near");
    assert_consistent(client, "papers");
    assert_eq!(sqlstate(client, "INSERT INTO kept SELECT body FROM kept LIMIT 1"), "23P01");
}

fn version(client: &mut Client) -> String {
    texts(client, "SELECT extversion FROM pg_extension WHERE extname = 'minlsh'").concat()
}

/// The version that a next release might have: the last number of `version` plus 1.
fn next(version: &str) -> String {
    let (before, last) = version.rsplit_once('.').expect("numbers and dots");
    format!("{before}.{}", last.parse::<u32>().expect("a number") + 1)
}

/// The objects of the extension.
fn objects(client: &mut Client) -> Vec<String> {
    texts(
        client,
        "SELECT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend AS d \
         JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid \
         WHERE d.deptype = 'e' AND e.extname = 'minlsh' ORDER BY 1",
    )
}

#[test]
fn alter_extension_update_keeps_everything() {
    let database = populated();
    let mut client = database.connect();
    let before = answers(&mut client);
    let here = version(&mut client);
    let next = next(&here);
    let script = installed("minlsh.control").with_file_name(format!("minlsh--{here}--{next}.sql"));
    let _removed = Temporary(script.clone());
    // What a next version may do: add, replace, and declare otherwise.
    let changes = "\\echo Use \"ALTER EXTENSION minlsh UPDATE\". \\quit\n\
        CREATE FUNCTION minlsh_next() RETURNS integer LANGUAGE sql AS 'SELECT 1';\n\
        ALTER FUNCTION lsh_probability(float8, integer, integer) COST 2;\n\
        CREATE OPERATOR FAMILY minlsh_next_ops USING minlsh;\n\
        SELECT minlsh_warn_reindex();\n";
    std::fs::write(&script, changes).expect("an update script");
    let path = format!("SELECT path FROM pg_extension_update_paths('minlsh') WHERE target = '{next}'");
    assert_eq!(texts(&mut client, &path), [format!("{here}--{next}")]);

    client.run(&format!("ALTER EXTENSION minlsh UPDATE TO '{next}'"));
    assert_eq!(version(&mut client), next);
    // The library is still the former one, as it is while its package waits to be installed.
    let versions = "SELECT library || ' ' || extension FROM minlsh_versions()";
    assert_eq!(texts(&mut client, versions), [format!("{here} {next}")]);
    assert_eq!(texts(&mut client, "SELECT minlsh_next()"), ["1"]);
    assert_eq!(answers(&mut client), before);
    assert_eq!(answers(&mut database.connect()), before);
    assert_alive(&mut client);
    assert_tree(&database, "docs_near");
    // A new installation has the same objects.
    let mut fresh = self::database().connect();
    fresh.run(&format!("DROP EXTENSION minlsh; CREATE EXTENSION minlsh VERSION '{next}'"));
    assert_eq!(objects(&mut fresh), objects(&mut client));
    assert!(objects(&mut client).len() > 200);
    // What the update brought belongs to the extension.
    client.run("DROP EXTENSION minlsh CASCADE");
    assert_eq!(texts(&mut client, "SELECT proname FROM pg_proc WHERE proname = 'minlsh_next'"), Vec::<String>::new());
    assert_eq!(texts(&mut client, "SELECT count(*) > 300 FROM docs"), ["t"]);
}

/// Puts a library in place of the installed one as `install` and dpkg do: by another file of its name.
fn replace(library: &Path) {
    let mut bytes = std::fs::read(library).expect("the library");
    bytes.extend_from_slice(b"another build");
    let fresh = library.with_extension("fresh");
    std::fs::write(&fresh, bytes).expect("a library");
    std::fs::set_permissions(&fresh, std::fs::metadata(library).expect("its mode").permissions()).expect("a mode");
    std::fs::rename(&fresh, library).expect("another library");
}

/// The library that a session has loaded: its inode.
fn loaded(client: &mut Client) -> String {
    let process = minlsh_integration::backend(client);
    let maps = Command::new("grep").args(["-m1", "/minlsh.so", &format!("/proc/{process}/maps")]).output();
    let maps = String::from_utf8(maps.expect("grep runs").stdout).expect("UTF-8");
    maps.split_whitespace().nth(4).expect("an inode").to_owned()
}

#[test]
fn the_library_is_replaced_under_running_sessions() {
    let database = populated();
    let mut old = database.connect();
    let before = answers(&mut old);
    replace(&installed("minlsh.so"));
    let mut new = database.connect();
    assert_eq!(answers(&mut new), before);
    assert_ne!(loaded(&mut old), loaded(&mut new));
    assert_eq!(answers(&mut old), before);
    assert_alive(&mut new);
    old.run("DELETE FROM docs WHERE id % 5 = 0");
    old.run("VACUUM docs");
    assert_consistent(&mut old, "docs_near");
    assert_consistent(&mut new, "docs_near");
    assert_tree(&database, "docs_near");
}
