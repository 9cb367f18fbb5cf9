//! Pages: what the page writer makes is read, split, deduplicated and vacuumed by PostgreSQL's own B-tree code,
//! and whatever damages them is reported.

mod plans;
mod survives;

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use minlsh_integration::near::{NEAR, PLANS, assert_sound, assert_tree, by_each_plan, docs, each, only};
use minlsh_integration::{Client, Database, Run, Server, assert_consistent, database, is_thorough, sqlstate, texts};

/// Bytes of a page, and of what stands at its end.
const PAGE: u64 = 8192;
const OPAQUE: u64 = 16;
/// The offset of the line pointers in a page.
const POINTERS: u64 = 24;

/// The file of an index.
struct File {
    file: std::fs::File,
}

impl File {
    fn of(server: &Server, client: &mut Client, index: &str) -> Self {
        client.run("CHECKPOINT");
        let path = texts(client, &format!("SELECT pg_relation_filepath('{index}')"));
        let path: PathBuf = server.data().join(&path[0]);
        Self { file: std::fs::File::options().read(true).write(true).open(path).expect("the file") }
    }

    fn bytes<const N: usize>(&self, place: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, place).expect("a page");
        bytes
    }

    fn word(&self, place: u64) -> u64 {
        u32::from_ne_bytes(self.bytes(place)).into()
    }

    /// The level of the root.
    fn height(&self) -> u64 {
        self.word(POINTERS + 3 * 4)
    }

    fn root(&self) -> u64 {
        self.word(POINTERS + 2 * 4)
    }

    /// The place in the file of item `number` (from 1) of a page.
    fn item(&self, block: u64, number: u64) -> u64 {
        let pointer = self.word(block * PAGE + POINTERS + (number - 1) * 4);
        block * PAGE + (pointer & 0x7fff)
    }

    fn flip(&self, place: u64) {
        let [byte] = self.bytes(place);
        self.file.write_all_at(&[byte ^ 0x20], place).expect("a written byte");
    }

    /// Writes one text over another, as long as it, in the options of the build.
    fn pretend(&self, was: &str, is: &str) {
        let page = self.bytes::<{ PAGE as usize }>(PAGE);
        let found = page.windows(was.len()).position(|bytes| bytes == was.as_bytes());
        let place = PAGE + found.unwrap_or_else(|| panic!("no {was} in block 1")) as u64;
        assert_eq!(was.len(), is.len());
        self.file.write_all_at(is.as_bytes(), place).expect("written bytes");
    }
}

/// A session on a server that does not report changed pages by itself.
fn connect_without_checksums(server: &Server, database: &Database) -> Client {
    let mut client = database.connect();
    if texts(&mut client, "SHOW data_checksums") == ["off"] {
        return client;
    }
    drop(client);
    server.stop();
    server.run_locally("pg_checksums", &["--disable", "-D", server.data().to_str().expect("UTF-8")]);
    server.launch();
    database.connect()
}

#[test]
fn postgresql_reads_and_splits_what_the_page_writer_wrote() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = database.connect();
    docs(&mut client, 3_000);
    client.run("CREATE TABLE all_docs AS SELECT * FROM docs ORDER BY id");
    // Rows, scope columns, fillfactor, levels above the leaves.
    for (rows, scope, fillfactor, height) in [
        (0, "", 90, 0),
        (1, "", 90, 0),
        (2, "tenant, ", 100, 0),
        (22, "", 90, 0),
        (26, "tenant, extra, id, ", 90, 1),
        (300, "", 100, 1),
        (2_000, "tenant, ", 90, 1),
        (3_000, "", 10, 2),
        (3_000, "id, tenant, extra, ", 10, 2),
    ] {
        let options = format!("({scope}body) WITH (fillfactor = {fillfactor})");
        println!("{rows} rows, {options}");
        client.run(&format!(
            "TRUNCATE docs; DROP INDEX IF EXISTS near; INSERT INTO docs SELECT * FROM all_docs LIMIT {rows}; \
             CREATE INDEX near ON docs USING minlsh {options}; ANALYZE docs"
        ));
        let file = File::of(&server, &mut client, "near");
        assert_eq!(file.height(), height, "{rows} rows, {options}");
        assert_consistent(&mut client, "near");
        assert_tree(&database, "near");
        // The same text many times: equal keys are put together in posting lists, and pages full of them split.
        let size = "SELECT pg_relation_size('near')";
        let before: u64 = texts(&mut client, size)[0].parse().expect("a size");
        client.run(
            "INSERT INTO docs (id, tenant, body) SELECT i, 7, (SELECT near(77777, 0)) FROM \
            generate_series(2000000, 2001999) AS i; \
             INSERT INTO docs (id, tenant, body) SELECT i, 8, near(88888, i % 7) FROM generate_series(3000000, \
             3000499) AS i",
        );
        if scope.is_empty() && fillfactor == 90 {
            let after: u64 = texts(&mut client, size)[0].parse().expect("a size");
            // A row has 16 entries of 20 bytes each. In the first 2,000 rows an entry takes some 7.
            assert!(after - before < 2_000 * 16 * 10 + 500 * 16 * 40, "{} bytes more", after - before);
        }
        assert_consistent(&mut client, "near");
        assert_tree(&database, "near");
        each(
            &mut client,
            "DELETE FROM docs WHERE id % 3 = 0; VACUUM docs; UPDATE docs SET body = near(99, 0) WHERE id % 5 = 1; \
                 DELETE FROM docs WHERE id BETWEEN 2000000 AND 2001500; VACUUM docs; VACUUM docs; \
                 INSERT INTO docs (id, tenant, body) SELECT i, 9, near(i % 9, 1) FROM generate_series(4000000, \
                 4000300) AS i",
        );
        assert_consistent(&mut client, "near");
        assert_tree(&database, "near");
        only(&mut client, "indexscan");
        let scoped = if scope.is_empty() { "" } else { "tenant = 7 AND extra = 0 AND id = 2001902 AND " };
        let find =
            format!("SELECT count(*) FROM docs WHERE {scoped}body ~= minlsh_document((SELECT near(77777, 0)), 1)");
        let left = if scope.is_empty() { "SELECT count(*) FROM docs WHERE body = near(77777, 0)" } else { "SELECT 1" };
        let expected = texts(&mut client, left);
        assert_eq!(texts(&mut client, &find), expected);
        each(&mut client, "RESET ALL; DELETE FROM docs; VACUUM docs; VACUUM docs");
        assert_consistent(&mut client, "near");
    }
}

#[test]
fn many_equal_keys_are_built_read_and_removed() {
    let database = database();
    let mut client = database.connect();
    docs(&mut client, 100);
    client.run(
        "INSERT INTO docs (id, tenant, body) SELECT i, 1, (SELECT near(5, 0)) FROM generate_series(2000000, \
        2004999) AS i; \
         CREATE INDEX near ON docs USING minlsh (tenant, body); ANALYZE docs",
    );
    assert_consistent(&mut client, "near");
    assert_tree(&database, "near");
    only(&mut client, "bitmapscan");
    let find = "SELECT count(*) FROM docs WHERE tenant = 1 AND body ~= minlsh_document((SELECT near(5, 0)), 1)";
    assert_eq!(
        texts(&mut client, find),
        texts(&mut client, "SELECT count(*) FROM docs WHERE tenant = 1 AND body = near(5, 0)")
    );
    each(&mut client, "DELETE FROM docs WHERE id % 2 = 0; VACUUM docs");
    assert_eq!(
        texts(&mut client, find),
        texts(&mut client, "SELECT count(*) FROM docs WHERE tenant = 1 AND body = near(5, 0)")
    );
    assert_consistent(&mut client, "near");
}

#[test]
fn entries_that_do_not_fit_into_memory_are_sorted_in_files() {
    let mut client = database().connect();
    docs(&mut client, 3_000);
    let build = "CREATE INDEX near ON docs USING minlsh (body) WITH (num_perm = 256, threshold = 0.6)";
    each(&mut client, &format!("{build}; VACUUM (INDEX_CLEANUP off) docs"));
    let contents = "SELECT pg_relation_size('near')";
    let in_memory = texts(&mut client, contents);
    let files = "SELECT temp_files FROM pg_stat_database WHERE datname = current_database()";
    client.run("SELECT pg_stat_force_next_flush()");
    let before = texts(&mut client, files);
    client.run("DROP INDEX near; SET maintenance_work_mem = '1MB'");
    client.run(build);
    client.run("SELECT pg_stat_force_next_flush()");
    assert_ne!(texts(&mut client, files), before, "files were written");
    assert_eq!(texts(&mut client, contents), in_memory);
    assert_sound(&mut client, "near");
}

/// Reports of an index: problems, or an error that says that it is damaged; the session lives on.
fn told(client: &mut Client, index: &str) -> Vec<String> {
    let check = format!("SELECT problem FROM minlsh_check('{index}')");
    let told = match client.query(&check, &[]) {
        Ok(rows) => rows.iter().map(|row| row.get(0)).collect(),
        Err(error) => {
            let code = error.code().unwrap_or_else(|| panic!("the backend has ended: {error:?}")).code();
            assert!(["XX001", "XX002", "55000"].contains(&code), "{index}: {error:?}");
            vec![error.to_string()]
        }
    };
    assert_eq!(texts(client, "SELECT 1"), ["1"]);
    told
}

#[test]
fn a_flipped_byte_is_found_and_ends_no_session() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = connect_without_checksums(&server, &database);
    docs(&mut client, 500);
    // Where in the file, from what is known of the tree: what, and from where on how many bytes.
    type Place = fn(&File) -> u64;
    const LEAF: u64 = 4;
    let places: [(&str, Place, u64); 14] = [
        ("the metapage's magic, version, root and level", |_| POINTERS, 16),
        ("the metapage's fast root and its level", |_| POINTERS + 16, 8),
        ("whether equal keys have equal bytes", |_| POINTERS + 40, 1),
        ("the metapage's flags", |_| PAGE - 4, 1),
        ("the options", |file| file.item(1, 1) + 8, 40),
        ("the flags of the options' page", |_| 2 * PAGE - 4, 1),
        ("the links and level of the root", |file| (file.root() + 1) * PAGE - OPAQUE, 12),
        ("the root's second downlink", |file| file.item(file.root(), 2), 8),
        ("the bound of the root's second downlink", |file| file.item(file.root(), 2) + 8, 6),
        ("line pointers of a leaf page", |_| LEAF * PAGE + POINTERS + 4, 4),
        ("a leaf page's high key", |file| file.item(LEAF, 1) + 4, 4),
        ("the bound of a leaf page's high key", |file| file.item(LEAF, 1) + 8, 6),
        ("an entry", |file| file.item(LEAF, 3), 14),
        ("the links and level of a leaf page", |_| (LEAF + 1) * PAGE - OPAQUE, 12),
    ];
    // The same pages of documents and of passages.
    const CLASSES: [&str; 2] = ["", " minlsh_passage_ops"];
    let mut flips = Vec::new();
    for (class, part) in CLASSES.into_iter().zip(0..) {
        for (what, place, bytes) in places {
            // Each byte of both, or of one of the two.
            let bytes = (0..bytes).filter(|byte| is_thorough() || byte % 2 == part);
            flips.extend(bytes.map(|byte| (class, what, place, byte)));
        }
    }
    for (number, (class, ..)) in flips.iter().enumerate() {
        client.run(&format!("CREATE INDEX i{number} ON docs USING minlsh (body{class}) WITH (fillfactor = 30)"));
    }
    let file = |number: usize| File::of(&server, &mut client, &format!("i{number}"));
    let files: Vec<File> = (0..flips.len()).map(file).collect();
    drop(client);
    server.stop();
    let mut damaged = Vec::new();
    for (file, (class, what, place, byte)) in files.iter().zip(flips) {
        assert_eq!(file.height(), 1, "a root above leaves");
        file.flip(place(file) + byte);
        damaged.push(format!("{what}, byte {byte},{class}"));
    }
    server.launch();
    let mut client = database.connect();
    let nothing = Vec::<String>::new();
    let indexes = damaged.iter().enumerate().map(|(number, what)| (format!("i{number}"), what));
    let (silent, loud): (Vec<_>, Vec<_>) = indexes.partition(|(index, _)| told(&mut client, index).is_empty());
    let of_loud =
        |command: &str| loud.iter().map(|(index, _)| format!("{command} INDEX {index}; ")).collect::<String>();
    client.run(&of_loud("REINDEX"));
    for (index, what) in &loud {
        assert_eq!(told(&mut client, index), nothing, "REINDEX mends {what}");
    }
    client.run(&of_loud("DROP"));
    // By bounds that are somewhat too high, searches and insertions come to a page from the one to its left, and miss
    // nothing. A high key shows when there is an entry between what it was and what it is.
    client.run("INSERT INTO docs (id, body) SELECT id + 2000000, body || ' ' || id FROM docs");
    for (index, what) in silent {
        assert!(what.starts_with("the bound of"), "{what}: not told");
        let told = told(&mut client, &index);
        assert!(told.is_empty() || what.contains("high key"), "{what}: {told:?}");
    }
}

#[test]
fn an_index_of_another_version_misleads_nobody() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = connect_without_checksums(&server, &database);
    client.run(NEAR);
    let words = "unit => 'word', normalization => 'plain', shingle_size => 1";
    for (was, is, options, arguments) in [
        ("\"algorithm\":1,", "\"algorithm\":2,", String::new(), String::new()),
        (
            "\"unicode\":\"segmentation 17",
            "\"unicode\":\"segmentation 16",
            format!(", {}", words.replace("=>", "=")),
            format!(", {words}"),
        ),
    ] {
        let document = |text: &str| format!("minlsh_document({text}, 0.8{arguments})");
        let column = document("body");
        client.run(&format!(
            "DROP TABLE IF EXISTS apart; CREATE TABLE apart (id int, body text, \
             CONSTRAINT near EXCLUDE USING minlsh ({column} WITH ~=) WITH (threshold = 0.8{options})); \
             INSERT INTO apart SELECT i, near(i, 0) FROM generate_series(1, 500) AS i; ANALYZE apart"
        ));
        let search = |template: u32| {
            format!("SELECT id FROM apart WHERE {column} ~= {}", document(&format!("(SELECT near({template}, 1))")))
        };
        let five = [["5"]; 3].map(|ids| ids.map(str::to_owned).to_vec());
        assert_eq!(by_each_plan(&mut client, &search(5)), five);

        let file = File::of(&server, &mut client, "near");
        drop(client);
        server.stop();
        file.pretend(was, is);
        // Looked up as they would be made now, the entries would not be found.
        file.pretend("\"seed\":0,", "\"seed\":1,");
        server.launch();
        client = database.connect();
        assert_eq!(told(&mut client, "near"), ["it was built by another version and needs REINDEX"]);
        let needs = "SELECT index || ' ' || reindex_reason FROM minlsh_indexes WHERE needs_reindex";
        let reason = texts(&mut client, needs).concat();
        assert!(reason.starts_with("near built with "), "{reason}");
        // What an update script ends with.
        assert_eq!(texts(&mut client, "SELECT minlsh_warn_reindex()"), ["1"]);
        let log = server.log();
        assert!(log.contains("WARNING:  1 minlsh index needs to be built again"), "{log}");
        assert!(log.contains(&format!("DETAIL:  {}.", reason.replacen(' ', ": ", 1))), "{log}");
        assert!(log.contains("\tREINDEX INDEX near;"), "{log}");
        for plan in PLANS {
            only(&mut client, plan);
            assert_eq!(texts(&mut client, &search(5)), ["5"]);
        }
        // The planner does not choose it by itself.
        client.run("RESET ALL");
        let explained = texts(&mut client, &format!("EXPLAIN {}", search(5))).join("\n");
        assert!(explained.contains("Seq Scan on apart"), "{explained}");

        // Writes go on; the constraint can only ask the index, which is read in full.
        let insert = |template: u32| format!("INSERT INTO apart VALUES (0, near({template}, 1))");
        assert_eq!(sqlstate(&mut client, &insert(5)), "23P01");
        client.run(&format!(
            "{}; DELETE FROM apart WHERE id = 5; {}; UPDATE apart SET id = 6, body = near(600, 0) WHERE id = 6",
            insert(501),
            insert(5)
        ));
        for template in [5, 501, 600, 7] {
            assert_eq!(sqlstate(&mut client, &insert(template)), "23P01", "{template}");
        }
        client.run("REINDEX INDEX near; ANALYZE apart");
        assert_eq!(texts(&mut client, needs), Vec::<String>::new());
        assert_eq!(texts(&mut client, "SELECT minlsh_warn_reindex()"), ["0"]);
        assert_consistent(&mut client, "near");
        for (template, id) in [(5, "0"), (501, "0"), (600, "6"), (7, "7")] {
            let expected = [[id]; 3].map(|ids| ids.map(str::to_owned).to_vec());
            assert_eq!(by_each_plan(&mut client, &search(template)), expected);
            assert_eq!(sqlstate(&mut client, &insert(template)), "23P01", "{template}");
        }
    }
}
