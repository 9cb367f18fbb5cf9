//! Sessions that write at random, in every way there is.

use std::io::Write;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use minlsh_integration::{Client, Random, Run, Server, SqlState};

/// The number of sessions that write.
pub const WRITERS: u64 = 8;

/// Keys are below that.
pub const KEYS: i64 = 2_000;

/// Families of texts.
const FAMILIES: usize = 250;

/// Words of a text.
const WORDS: usize = 40;

/// The counts of what a session did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    changes: u64,
    commits: u64,
    rollbacks: u64,
    prepared: u64,
    refused: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.changes += other.changes;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.prepared += other.prepared;
        self.refused += other.refused;
    }
}

/// A text of some family with a few words replaced: one in 40 is a similarity of 0.92, three are 0.78. Some have no
/// shingles, some are NULL, some are spelled otherwise.
pub fn text(random: &mut Random) -> Option<String> {
    match random.below(50) {
        0 => return None,
        1 => return Some(random.pick(&["", "   ", "ab", "Ab"]).to_owned()),
        _ => {}
    }
    let family = random.below(FAMILIES).min(random.below(FAMILIES)) as u64;
    let mut words: Vec<u64> = (0..WORDS as u64).map(|place| family * 1000 + place).collect();
    for _ in 0..[0, 0, 1, 1, 2, 3][random.below(6)] {
        words[random.below(WORDS)] = 999_000 + random.below(12) as u64;
    }
    let words: Vec<String> = words.iter().map(|word| spelled(*word)).collect();
    let text = words.join(" ");
    Some(if random.below(10) == 0 { text.to_uppercase() } else { text })
}

/// Six letters that are another for each number.
fn spelled(word: u64) -> String {
    let seed = Random::new(word).seed();
    (0..6).map(|place| char::from(b'a' + (seed >> (8 * place) & 15) as u8)).collect()
}

/// Writes until `done` reaches `wanted`, or the server is gone. `done` is the number of changes of all sessions, and
/// `allowed` the number that there may be by now.
pub fn work(
    server: &Server,
    database: &str,
    seed: u64,
    number: u64,
    (done, allowed): (&AtomicU64, &AtomicU64),
    wanted: u64,
) -> Count {
    let mut random = Random::new(seed);
    let mut count = Count::default();
    let Ok(mut client) = server.try_connect(database) else { return count };
    while done.load(Ordering::Relaxed) < wanted {
        if done.load(Ordering::Relaxed) >= allowed.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        match transaction(&mut client, &mut random, number, &mut count) {
            Ok(changes) => {
                done.fetch_add(changes, Ordering::Relaxed);
                count.changes += changes;
            }
            Err(cause) if is_expected(&cause) => {
                count.refused += 1;
                let _ = client.batch_execute("ROLLBACK");
            }
            // Killed with the server.
            Err(cause) if is_gone(&cause, &client) => return count,
            Err(cause) => {
                done.store(u64::MAX / 2, Ordering::Relaxed);
                panic!("{cause:?}");
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    count
}

/// True if the server has ended the session, or is gone.
pub fn is_gone(cause: &postgres::Error, client: &Client) -> bool {
    let ends = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN];
    cause.code().is_none_or(|code| ends.contains(code)) || client.is_closed()
}

/// True if a retry mends it.
pub fn is_expected(cause: &postgres::Error) -> bool {
    let expected = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::UNIQUE_VIOLATION];
    cause.code().is_some_and(|code| expected.contains(code))
}

fn transaction(
    client: &mut Client,
    random: &mut Random,
    number: u64,
    count: &mut Count,
) -> Result<u64, postgres::Error> {
    let levels = ["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
    client.batch_execute(&format!("BEGIN ISOLATION LEVEL {}", random.pick(&levels)))?;
    let mut changes = 0;
    for _ in 0..[1, 1, 2, 4][random.below(4)] {
        let savepoint = random.below(5) == 0;
        if savepoint {
            client.batch_execute("SAVEPOINT s")?;
        }
        let done = statement(client, random)?;
        changes += done;
        match (savepoint, random.below(4)) {
            (true, 0 | 1) => {
                client.batch_execute("ROLLBACK TO s")?;
                changes -= done;
            }
            (true, 2) => client.batch_execute("RELEASE s")?,
            _ => {}
        }
    }
    match random.below(20) {
        0 | 1 => {
            client.batch_execute("ROLLBACK")?;
            count.rollbacks += 1;
            return Ok(0);
        }
        2 => {
            client.batch_execute(&format!("PREPARE TRANSACTION 'w{number}'"))?;
            std::thread::sleep(Duration::from_millis(random.below(200) as u64));
            let end = random.pick(&["COMMIT", "COMMIT", "ROLLBACK"]);
            client.batch_execute(&format!("{end} PREPARED 'w{number}'"))?;
            count.prepared += 1;
        }
        _ => client.batch_execute("COMMIT")?,
    }
    count.commits += 1;
    Ok(changes)
}

/// Ends what was prepared when the server was killed.
pub fn finish_prepared(client: &mut Client) {
    for row in client.query("SELECT gid FROM pg_prepared_xacts", &[]).expect("prepared") {
        let gid: String = row.get(0);
        client.run(&format!("COMMIT PREPARED '{gid}'"));
    }
}

fn key(random: &mut Random) -> i64 {
    random.below(KEYS as usize) as i64
}

fn rows(random: &mut Random, most: usize) -> (Vec<i64>, Vec<Option<String>>) {
    let mut keys: Vec<i64> = (0..=random.below(most)).map(|_| key(random)).collect();
    keys.sort_unstable();
    keys.dedup();
    let texts = keys.iter().map(|_| text(random)).collect();
    (keys, texts)
}

/// Changes something; says how many rows.
pub fn statement(client: &mut Client, random: &mut Random) -> Result<u64, postgres::Error> {
    let given = "unnest($1::bigint[], $2::text[])";
    match random.below(100) {
        0..25 => {
            let (keys, texts) = rows(random, 20);
            let action = random.pick(&["UPDATE SET body = excluded.body", "NOTHING"]);
            let sql = format!("INSERT INTO docs SELECT * FROM {given} ON CONFLICT (id) DO {action}");
            client.execute(&sql, &[&keys, &texts])
        }
        25..45 => {
            let (first, more) = (key(random), [0, 0, 2, 15][random.below(4)]);
            client.execute("DELETE FROM docs WHERE id BETWEEN $1 AND $2", &[&first, &(first + more)])
        }
        45..65 => client.execute("UPDATE docs SET body = $1 WHERE id = $2", &[&text(random), &key(random)]),
        // Twice in one transaction, and back.
        65..70 => {
            let id = key(random);
            client.execute("UPDATE docs SET body = body || ' twice' WHERE id = $1", &[&id])?;
            client.execute("UPDATE docs SET body = replace(body, ' twice', '') WHERE id = $1", &[&id])
        }
        70..75 => {
            let id = key(random);
            client.execute("UPDATE docs SET views = views + 1 WHERE id BETWEEN $1 AND $1 + 20", &[&id])
        }
        // Keys change, and swap their rows.
        75..80 => {
            let (a, b) = (key(random), key(random));
            let away = "UPDATE docs SET id = -id - 1 WHERE id IN ($1, $2)";
            let changes = client.execute(away, &[&a, &b])?;
            client.execute("UPDATE docs SET id = $1 WHERE id = -$2::bigint - 1", &[&b, &a])?;
            if a != b {
                client.execute("UPDATE docs SET id = $1 WHERE id = -$2::bigint - 1", &[&a, &b])?;
            }
            Ok(changes)
        }
        80..88 => {
            let (keys, texts) = rows(random, 6);
            let sql = format!(
                "MERGE INTO docs d USING {given} s (id, body) ON d.id = s.id
                 WHEN MATCHED AND d.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET body = s.body
                 WHEN NOT MATCHED THEN INSERT (id, body) VALUES (s.id, s.body)"
            );
            client.execute(&sql, &[&keys, &texts])
        }
        88..99 => copied(client, random),
        _ if random.below(8) == 0 => {
            client.batch_execute("TRUNCATE docs")?;
            let keys: Vec<i64> = (0..KEYS).step_by(2).collect();
            let texts: Vec<Option<String>> = keys.iter().map(|_| text(random)).collect();
            client.execute(&format!("INSERT INTO docs SELECT * FROM {given}"), &[&keys, &texts])
        }
        _ => Ok(0),
    }
}

/// Rows deleted, and others copied in their places.
fn copied(client: &mut Client, random: &mut Random) -> Result<u64, postgres::Error> {
    let first = key(random);
    let last = (first + 12).min(KEYS - 1);
    let gone = client.execute("DELETE FROM docs WHERE id BETWEEN $1 AND $2", &[&first, &last])?;
    let mut copy = client.copy_in("COPY docs (id, body) FROM STDIN")?;
    for id in first..=last {
        let line = match text(random) {
            Some(text) => format!("{id}\t{text}\n"),
            None => format!("{id}\t\\N\n"),
        };
        copy.write_all(line.as_bytes()).map_err(|_| ()).ok();
    }
    Ok(gone + copy.finish()?)
}
