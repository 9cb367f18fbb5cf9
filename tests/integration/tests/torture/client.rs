//! A client: random transactions until its connection is lost.

use std::io::Write;

use minlsh_integration::{Client, Random};

use crate::journal::{Change, Journal};

/// The number of clients.
pub const CLIENTS: i64 = 8;

/// A text that has copies and near-duplicates; now and then none, or a long one.
pub fn random_body(random: &mut Random) -> String {
    let length = match random.below(60) {
        0 => return String::new(),
        1 => 3000,
        _ => 60,
    };
    let theme = random.below(30) as u64;
    let mut words = Random::new(theme);
    let text: Vec<_> = (0..length).map(|_| format!("w{}", words.below(5000))).collect();
    format!("{} {}", text.join(" "), random.below(4))
}

/// Works until the connection is lost; returns how many transactions were acknowledged.
pub fn work(mut session: Client, journal: &mut Journal, seed: u64) -> u64 {
    let mut random = Random::new(seed.wrapping_add(u64::try_from(journal.number).unwrap_or_default()));
    let mut acknowledged = 0;
    loop {
        if maintain(&mut session, journal.number, &mut random).is_err() && session.is_closed() {
            return acknowledged;
        }
        let own = format!("own_{}", journal.number);
        let table = ["docs", "docs", "parts", &own][random.below(4)].to_owned();
        let (changes, result) = write(&mut session, journal, &table, &mut random);
        match result {
            Ok(()) => {
                journal.commit(changes);
                acknowledged += 1;
            }
            Err(error) => {
                let code = error.code().map(|code| code.code().to_owned());
                // 57P: the server ends the session; 40: the transaction was rolled back (a deadlock).
                match code.as_deref() {
                    Some(code) if !code.starts_with("57P") => {
                        assert!(code.starts_with("40") || code == "55P03", "{table}: {error:?}");
                        let _ = session.batch_execute("ROLLBACK");
                    }
                    _ => {
                        journal.doubt = Some(changes);
                        return acknowledged;
                    }
                }
            }
        }
    }
}

/// One transaction that writes, and what it changes if it commits.
fn write(
    session: &mut Client,
    journal: &mut Journal,
    table: &str,
    random: &mut Random,
) -> (Vec<Change>, Result<(), postgres::Error>) {
    let keys = journal.keys(table);
    let some_key = |random: &mut Random| keys.get(random.below(keys.len())).copied();
    let tenant = journal.number;
    match (random.below(10), some_key(random)) {
        (0 | 1, _) => copy(session, journal, table, random),
        (2, Some(key)) => {
            let sql = format!("DELETE FROM {table} WHERE id = {key}");
            (vec![(table.into(), key, None)], session.batch_execute(&sql))
        }
        (3, Some(key)) => {
            let (body, new) = (random_body(random), journal.fresh_key());
            let sql = format!(
                "INSERT INTO {table} VALUES ({key}, {tenant}, '{body}'), ({new}, {tenant}, '{body}') \
                 ON CONFLICT (id) DO UPDATE SET body = excluded.body"
            );
            let changes = [key, new].map(|key| (table.to_owned(), key, Some(body.clone())));
            (changes.into(), session.batch_execute(&sql))
        }
        (4, Some(key)) => {
            // What is rolled back changes nothing.
            let body = random_body(random);
            let sql = format!(
                "BEGIN; INSERT INTO {table} VALUES ({}, {tenant}, '{body}'); SAVEPOINT s; \
                 DELETE FROM {table} WHERE id = {key}; ROLLBACK TO s; \
                 UPDATE {table} SET body = '{body}' WHERE id = {key}; ROLLBACK",
                journal.fresh_key()
            );
            (Vec::new(), session.batch_execute(&sql))
        }
        (5 | 6, Some(key)) => {
            let (body, new) = (random_body(random), journal.fresh_key());
            let sql = format!(
                "UPDATE {table} SET body = '{body}' WHERE id = {key}; UPDATE {table} SET id = {new} WHERE id = {key}"
            );
            let changes = vec![(table.into(), key, None), (table.into(), new, Some(body))];
            (changes, session.batch_execute(&sql))
        }
        (7, Some(_)) if table.starts_with("own") && random.below(5) == 0 => {
            let changes = keys.iter().map(|key| (table.to_owned(), *key, None)).collect();
            (changes, session.batch_execute(&format!("TRUNCATE {table}")))
        }
        _ => {
            let (key, body) = (journal.fresh_key(), random_body(random));
            let sql = format!("INSERT INTO {table} VALUES ({key}, {tenant}, '{body}')");
            (vec![(table.into(), key, Some(body))], session.batch_execute(&sql))
        }
    }
}

fn copy(
    session: &mut Client,
    journal: &mut Journal,
    table: &str,
    random: &mut Random,
) -> (Vec<Change>, Result<(), postgres::Error>) {
    // Now and then enough for the blow to come amid the entries of a statement.
    let most = if random.below(10) == 0 { 1_500 } else { 40 };
    let rows: Vec<_> = (0..random.below(most)).map(|_| (journal.fresh_key(), random_body(random))).collect();
    let lines: String = rows.iter().map(|(key, body)| format!("{key}\t{}\t{body}\n", journal.number)).collect();
    // In a transaction, since a COPY alone is said to be complete before it is committed (extended protocol).
    let memory = ["4MB", "128kB"][random.below(2)];
    let result = session.transaction().and_then(|mut transaction| {
        // The entries of more than about 400 rows exceed the lesser one, and wait in a file.
        transaction.batch_execute(&format!("SET LOCAL work_mem = '{memory}'"))?;
        let mut copy = transaction.copy_in(&format!("COPY {table} FROM STDIN"))?;
        // An error of writing comes again at the end.
        let _ = copy.write_all(lines.as_bytes());
        copy.finish()?;
        transaction.commit()
    });
    (rows.into_iter().map(|(key, body)| (table.to_owned(), key, Some(body))).collect(), result)
}

/// Now and then something else than writing: each client has its own kind.
fn maintain(session: &mut Client, number: i64, random: &mut Random) -> Result<(), postgres::Error> {
    if random.below(12) > 0 {
        return Ok(());
    }
    match number {
        0 => {
            session.batch_execute("DROP INDEX CONCURRENTLY IF EXISTS extra")?;
            session.batch_execute("CREATE INDEX CONCURRENTLY extra ON docs USING minlsh (body)")
        }
        1 => session.batch_execute("VACUUM (PARALLEL 2) docs"),
        2 => session.batch_execute("VACUUM parts"),
        3 => {
            let index = random.pick(&["docs_scope", "docs_passages"]);
            session.batch_execute(&format!("REINDEX INDEX CONCURRENTLY {index}"))
        }
        _ => {
            let body = random_body(random);
            session.batch_execute(&format!(
                "SELECT id FROM docs WHERE body ~= minlsh_document('{body}', 0.9); \
                 SELECT id FROM docs WHERE body ~> minlsh_passage('{body}', 0.9); \
                 SELECT near_duplicates_of('{body}', 0.9, 'docs_body'); \
                 SELECT near_duplicates_of('{body}', 0.9, 'parts_minlsh')"
            ))
        }
    }
}
