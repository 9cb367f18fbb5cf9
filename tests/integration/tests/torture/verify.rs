//! After a blow: nothing acknowledged is lost, indexes and tables agree, and each plan gives the same rows.

use std::collections::{BTreeMap, BTreeSet};

use minlsh_integration::{Client, Random, Run, Server, texts};

use crate::client::{CLIENTS, random_body};
use crate::journal::Journal;

/// Panics with `context` if anything is not as it must be.
pub fn everything(server: &Server, database: &str, journals: &mut [Journal], context: &str) {
    let mut client = server.connect(database);
    acknowledged(&mut client, journals, context);
    indexes(&mut client, context);
    for table in ["docs", "parts"] {
        plans(&mut client, table, context);
    }
    let log = server.log();
    for sign in ["ERROR:  XX", "PANIC:", "signal 11", "signal 6", "panicked at"] {
        let line = log.lines().find(|line| line.contains(sign));
        assert_eq!(line, None, "{context}");
    }
}

/// Checks each index and side table against its table.
pub fn indexes(client: &mut Client, context: &str) {
    // An index whose concurrent creation was cut short is invalid, which PostgreSQL leaves to us.
    for index in
        texts(client, "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid AND indrelid >= 16384")
    {
        client.run(&format!("DROP INDEX {index}"));
    }
    let indexes = texts(
        client,
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_am a ON a.oid = c.relam \
         WHERE a.amname = 'minlsh' AND c.relkind = 'i' ORDER BY 1",
    );
    assert!(indexes.len() >= 16, "{context}: only {indexes:?}");
    let side_tables = ["docs", "parts", "own_7"].map(|table| format!("{table}_minlsh"));
    for index in indexes.iter().chain(&side_tables) {
        let problems = texts(client, &format!("SELECT c::text FROM minlsh_check('{index}') c LIMIT 5"));
        assert_eq!(problems, Vec::<String>::new(), "{context}: minlsh_check('{index}')");
    }
}

/// Checks that what was acknowledged to the clients is there, and nothing else.
fn acknowledged(client: &mut Client, journals: &mut [Journal], context: &str) {
    let tables = ["docs", "parts"].map(str::to_owned).into_iter();
    let mut found = vec![BTreeMap::new(); journals.len()];
    for table in tables.chain((0..CLIENTS).map(|number| format!("own_{number}"))) {
        for row in client.query(&format!("SELECT id, body FROM {table}"), &[]).expect("rows") {
            let (key, body): (i64, String) = (row.get(0), row.get(1));
            let owner = usize::try_from(key / 1_000_000_000).expect("a client");
            found[owner].insert((table.clone(), key), body);
        }
    }
    for (journal, found) in journals.iter_mut().zip(found) {
        if let Err(difference) = journal.settle(found) {
            panic!("{context}: {difference}");
        }
    }
}

const BY_READING: &str = "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_seqscan = on";

const BY_INDEX: [&str; 2] = [
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = on",
    "SET enable_seqscan = off; SET enable_bitmapscan = on; SET enable_indexscan = off",
];

/// Index scan, bitmap scan and sequential scan find the same, but for the stated recall; exact copies always.
/// Of passages they find the very same.
fn plans(client: &mut Client, table: &str, context: &str) {
    let mut random = Random::new(7);
    let (mut by_index, mut by_reading, mut by_passage) = (0, 0, 0);
    for _ in 0..6 {
        let body = random_body(&mut random);
        let ask = format!("SELECT id FROM {table} WHERE body ~= minlsh_document('{body}', 0.9)");
        let mut answer = |settings: &str, sql: &str| -> BTreeSet<String> {
            client.run(settings);
            texts(client, sql).into_iter().collect()
        };
        let all = answer(BY_READING, &ask);
        let start = body.get(..body.len().min(90)).unwrap_or_default();
        let quoting = format!("SELECT id FROM {table} WHERE body ~> minlsh_passage('{start}', 0.7)");
        let all_quoting = answer(BY_READING, &quoting);
        let copies = format!("SELECT id FROM {table} WHERE body = '{body}' AND body <> ''");
        let copies = answer("", &copies);
        by_passage += all_quoting.len();
        for plan in BY_INDEX {
            assert_eq!(answer(plan, &quoting), all_quoting, "{context}: {table}: {plan}: passages");
            let found = answer(plan, &ask);
            assert!(found.is_subset(&all), "{context}: {table}: {plan}: {:?} too many", found.difference(&all));
            assert!(copies.is_subset(&found), "{context}: {table}: {plan}: {:?} missing", copies.difference(&found));
            by_index += found.len();
            by_reading += all.len();
        }
    }
    assert!(by_passage > 0, "{context}: {table}: nothing quotes anything");
    assert!(by_index * 100 >= by_reading * 97, "{context}: {table}: {by_index} of {by_reading} found");
    client.run("RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_indexscan");
}
