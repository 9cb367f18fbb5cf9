//! The access method: every plan of a query agrees, and the entries of the rows are there whatever writers do.

use std::time::Duration;

use minlsh_integration::near::{PLANS, assert_sound, by_each_plan, docs, each, only, pairs};
use minlsh_integration::{
    Client, Database, Random, Run, SqlState, beside, blocked, database, is_thorough, number, sqlstate, texts,
};

fn writes() -> u64 {
    number("MINLSH_TEST_WRITES").unwrap_or(if is_thorough() { 20_000 } else { 6_000 })
}

#[test]
fn all_plans_agree_up_to_the_recall() {
    let mut random = Random::by_the_clock();
    let mut client = database().connect();
    docs(&mut client, 400);
    for _ in 0..4 {
        let unit = random.pick(&["char", "word", "anchored"]);
        let size = 2 + random.below(4);
        let recall = random.pick(&["0.9", "0.99", "0.999"]);
        let threshold = random.pick(&["0.6", "0.7", "0.8"]);
        let scope = random.pick(&["", "tenant, "]);
        let options = format!(
            "threshold = {threshold}, recall = {recall}, unit = '{unit}', shingle_size = {size}, num_perm = {}, \
             seed = '{}', fillfactor = {}",
            random.pick(&["96", "128", "256"]),
            random.below(1 << 31),
            10 + random.below(90),
        );
        println!("WITH ({options})");
        client.run(&format!(
            "DROP INDEX IF EXISTS near; CREATE INDEX near ON docs USING minlsh ({scope}body) WITH ({options})"
        ));
        assert_eq!(texts(&mut client, "SELECT problem FROM minlsh_check('near')"), Vec::<String>::new());
        let tenant = if scope.is_empty() { "" } else { "b.tenant = a.tenant AND " };
        for asked in ["0.55", threshold, "1"] {
            let document = format!("minlsh_document(a.body, {asked}, {size}, '{unit}')");
            let find = |condition: &str, of: &str| {
                format!(
                    "SELECT a.id || ' ' || b.id FROM docs AS a JOIN docs AS b ON {tenant}{condition} WHERE {of} \
                     ORDER BY a.id, b.id"
                )
            };
            // By jaccard() alone, of one row and of all of them.
            let brute = find(&format!("jaccard(b.body, {document}) >= {asked}"), "a.id % 9 = 1");
            let join = find(&format!("b.body ~= {document}"), "a.id % 9 = 1");
            let truth = texts(&mut client, &brute);
            let found = PLANS.map(|plan| {
                only(&mut client, plan);
                texts(&mut client, &join)
            });
            client.run("RESET ALL");
            assert_eq!(found[0], truth, "reading all, at {asked}");
            assert_eq!(found[1], found[2], "bitmap and index scan, at {asked}");
            assert!(found[2].iter().all(|pair| truth.contains(pair)), "too much, at {asked}");
            let share = found[2].len() as f64 / truth.len() as f64;
            let promised: f64 = recall.parse().expect("a number");
            // The slack is what chance takes of a few hundred pairs.
            assert!(share >= promised - 0.03, "{share} of {} at {asked} by {options}", truth.len());
            if asked == "1" || asked < threshold {
                assert_eq!(found[2], truth, "copies, or everything read, at {asked}");
            }
        }
    }
}

#[test]
fn one_row_is_found_by_each_plan() {
    let mut client = database().connect();
    docs(&mut client, 300);
    client.run("CREATE INDEX near ON docs USING minlsh (body)");
    for id in [3, 13, 101, 7, 20, 21, 1_000_003] {
        for asked in ["0.8", "1", "0.5"] {
            let query = format!(
                "SELECT id FROM docs WHERE body ~= minlsh_document((SELECT body FROM docs WHERE id = {id}), {asked}) \
                ORDER BY id"
            );
            let [seq, bitmap, index] = by_each_plan(&mut client, &query);
            assert_eq!(bitmap, index, "{query}");
            assert!(index.iter().all(|id| seq.contains(id)), "{query}");
            let empty = id == 20 || id == 21;
            assert_eq!(index.contains(&id.to_string()), !empty, "{query}");
        }
    }
}

/// Eight sessions insert, update, delete, roll back and vacuum.
#[test]
fn the_entries_of_the_rows_are_there_and_no_others() {
    let database = database();
    let mut client = database.connect();
    docs(&mut client, 2_000);
    // To give pages back a VACUUM waits five seconds for those behind it, which wait for it.
    client.run("ALTER TABLE docs SET (vacuum_truncate = off)");
    client.run(
        "CREATE INDEX near ON docs USING minlsh (body); CREATE INDEX per_tenant ON docs USING minlsh (tenant, \
        body) \
         WITH (fillfactor = 50, threshold = 0.7); \
         CREATE INDEX partial ON docs USING minlsh (body) WHERE extra > 50; CREATE SEQUENCE ids START 10000",
    );
    let mut random = Random::by_the_clock();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let seed = random.seed();
            let mut session = database.connect();
            scope.spawn(move || churn(&mut session, Random::new(seed), writes() / 8));
        }
    });
    for index in ["near", "per_tenant", "partial"] {
        minlsh_integration::assert_consistent(&mut client, index);
    }
    each(&mut client, "VACUUM docs; DROP INDEX per_tenant, partial");
    assert_sound(&mut client, "near");
    let leftover = "SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND relation = 'docs'::regclass";
    assert_eq!(texts(&mut client, leftover), ["0"]);
}

fn churn(session: &mut Client, mut random: Random, writes: u64) {
    let mut depth = 0;
    for _ in 0..writes {
        let (id, template) = (random.below(4_000), random.below(400));
        let sql = match random.below(100) {
            0..40 => format!(
                "INSERT INTO docs (id, tenant, extra, body) VALUES (nextval('ids'), {}, {}, {})",
                random.pick(&["1", "2", "NULL"]),
                random.below(100),
                random.pick(&["near(7, 0)", "near(8, 1)", "NULL", "''", "md5(random()::text)"]),
            ),
            40..50 => format!("UPDATE docs SET body = near({template}, 2) WHERE id = {id}"),
            50..55 => {
                format!("UPDATE docs SET body = near(9, 0), tenant = 2 WHERE id % 4000 = {id}")
            }
            55..65 => format!("UPDATE docs SET extra = extra + 1 WHERE id = {id}"),
            65..78 => format!("DELETE FROM docs WHERE id % 4000 = {id}"),
            78..84 if depth == 0 => "BEGIN".to_owned(),
            78..84 => "SAVEPOINT s".to_owned(),
            84..88 if depth > 1 => "ROLLBACK TO s".to_owned(),
            84..92 => "COMMIT".to_owned(),
            92..96 => "ROLLBACK".to_owned(),
            96 if depth == 0 => "VACUUM docs".to_owned(),
            97 if depth == 0 => "VACUUM (INDEX_CLEANUP on) docs".to_owned(),
            98 => format!("SELECT count(*) FROM docs WHERE body ~= minlsh_document(near({template}, 0))"),
            _ => format!(
                "INSERT INTO docs (id, body) SELECT nextval('ids'), near({template}, i) FROM generate_series(0, 9) i"
            ),
        };
        depth = match &sql[..5] {
            "BEGIN" => 1,
            "SAVEP" => 2,
            "COMMI" => 0,
            "ROLLB" if sql == "ROLLBACK" => 0,
            _ => depth,
        };
        if let Err(error) = session.batch_execute(&sql) {
            // Who holds rows of a transaction and waits for others may meet a deadlock: that is the table's.
            assert_eq!(error.code(), Some(&SqlState::T_R_DEADLOCK_DETECTED), "{sql}: {error:?}");
            session.run("ROLLBACK");
            depth = 0;
        }
    }
    session.run("COMMIT");
}

/// `count` sessions that write a little each time that they are called.
fn churners(database: &Database, count: usize) -> Vec<impl FnMut() + Send> {
    let mut random = Random::by_the_clock();
    let churner = |_| {
        let (mut session, mut seeds) = (database.connect(), Random::new(random.seed()));
        move || {
            churn(&mut session, Random::new(seeds.seed()), 20);
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    (0..count).map(churner).collect()
}

/// Records of WAL that an update of `extra` writes: of its own process, whatever a checkpoint or a vacuum adds.
fn records(client: &mut Client, table: &str) -> i64 {
    let plan = texts(client, &format!("EXPLAIN (ANALYZE, WAL, TIMING OFF) UPDATE {table} SET extra = 1"));
    let found = plan.iter().find_map(|line| line.split("records=").nth(1));
    let number = found.and_then(|rest| rest.split_whitespace().next()).expect("records of WAL");
    number.parse().expect("a number")
}

#[test]
fn an_update_of_another_column_stays_hot() {
    let mut client = database().connect();
    client.run(
        "CREATE TABLE docs (id int PRIMARY KEY, extra int, body text) WITH (fillfactor = 40); \
         CREATE TABLE plain (id int PRIMARY KEY, extra int, body text) WITH (fillfactor = 40); \
         INSERT INTO docs SELECT i, 0, md5(i::text) || md5((i * 7)::text) FROM generate_series(1, 2000) i; \
         INSERT INTO plain SELECT * FROM docs; CREATE INDEX near ON docs USING minlsh (body)",
    );
    each(&mut client, "VACUUM ANALYZE docs; VACUUM ANALYZE plain");
    let size = "SELECT pg_relation_size('near')";
    let before = texts(&mut client, size);
    let (indexed, plain) = (records(&mut client, "docs"), records(&mut client, "plain"));
    // An entry is a record of WAL, and a row would have 16 of them.
    assert!(indexed < plain + 500, "{indexed} records of WAL against {plain}");
    assert_eq!(texts(&mut client, size), before);
    client.run("SELECT pg_stat_force_next_flush()");
    let hot = "SELECT n_tup_upd || ' ' || n_tup_hot_upd FROM pg_stat_all_tables WHERE relname = 'docs'";
    assert_eq!(texts(&mut client, hot), ["2000 2000"]);
    minlsh_integration::assert_consistent(&mut client, "near");
}

/// While four sessions write, an index is built, rebuilt and dropped.
#[test]
fn concurrent_builds_miss_no_row() {
    let database = database();
    let mut client = database.connect();
    docs(&mut client, 1_000);
    client.run("CREATE SEQUENCE ids START 10000");
    beside(churners(&database, 4), || {
        client.run("CREATE INDEX CONCURRENTLY near ON docs USING minlsh (body)");
        client.run("REINDEX INDEX CONCURRENTLY near");
    });
    assert_sound(&mut client, "near");
    let before = pairs(&mut client);
    client.run("REINDEX INDEX near");
    assert_eq!(pairs(&mut client), before);
}

/// A writer that the check has to wait for changes rows: what the check sees of them is how they are now.
#[test]
fn a_check_that_had_to_wait_takes_no_old_row_for_a_present_one() {
    let database = database();
    let mut writer = database.connect();
    docs(&mut writer, 200);
    writer.run("CREATE INDEX near ON docs USING minlsh (body)");
    writer.run("BEGIN; DELETE FROM docs WHERE id < 50; UPDATE docs SET body = near(7, 0) WHERE id < 100");
    let waiting = blocked(&database, |checker| texts(checker, "SELECT problem FROM minlsh_check('near')"));
    writer.run("COMMIT");
    assert_eq!(waiting.join().expect("thread"), Vec::<String>::new());
}

/// A check of a sample waits for no writer, and takes nothing of what they do for a problem.
#[test]
fn a_check_of_a_sample_lets_writers_write() {
    let database = database();
    let mut client = database.connect();
    docs(&mut client, 1_000);
    client.run(
        "CREATE SEQUENCE ids START 10000; CREATE INDEX near ON docs USING minlsh (body); \
         ALTER TABLE docs SET (autovacuum_enabled = off)",
    );
    let mut writer = database.connect();
    writer.run("BEGIN; UPDATE docs SET body = near(7, 0) WHERE id < 100");
    client.run("SET lock_timeout = '1ms'");
    assert_eq!(sqlstate(&mut client, "SELECT minlsh_check('near')"), "55P03");
    let check = |part| format!("SELECT problem FROM minlsh_check('near', sample => {part})");
    assert_eq!(texts(&mut client, &check(1)), Vec::<String>::new());
    writer.run("ROLLBACK");
    client.run("RESET lock_timeout");
    let (found, _) = beside(churners(&database, 2), || {
        let mut found = Vec::new();
        for round in 0..20 {
            found.extend(texts(&mut client, &check(1)));
            if round % 5 == 0 {
                each(&mut client, "VACUUM docs");
            }
        }
        found
    });
    assert_eq!(found, Vec::<String>::new());
    assert_sound(&mut client, "near");
}

#[test]
fn a_body_of_megabytes_is_indexed_and_found() {
    let mut client = database().connect();
    // 53 MB, or 11 MB.
    let sentences = if is_thorough() { 1_200_000 } else { 240_000 };
    client.run(&format!(
        "CREATE TABLE docs (id int, body text); ALTER TABLE docs ALTER body SET STORAGE EXTERNAL; \
         CREATE INDEX near ON docs USING minlsh (body) WITH (unit = 'word', shingle_size = 1); \
         INSERT INTO docs SELECT 1, repeat('the quick brown fox jumps over the lazy dog ', {sentences})",
    ));
    only(&mut client, "indexscan");
    let find = "SELECT id FROM docs WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy dog', 1, \
    1, 'word')";
    assert_eq!(texts(&mut client, find), ["1"]);
    client.run("REINDEX INDEX near; UPDATE docs SET id = 2");
    assert_eq!(texts(&mut client, find), ["2"]);
    client.run("SET statement_timeout = '1ms'");
    assert_eq!(sqlstate(&mut client, "REINDEX INDEX near"), "57014");
}
