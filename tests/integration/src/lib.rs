//! Real servers for tests.
//!
//! `make integration` installs the extension into a staging directory and sets
//!
//! - `MINLSH_PG_BIN`: the directory of `initdb`, `pg_ctl`, `psql`...
//! - `MINLSH_RUN_DIR`: a directory that the servers' user can write, with a file `settings`
//!   that lets a server find the staged extension;
//! - `MINLSH_SERVER_USER`: who runs the servers (PostgreSQL refuses root).
//!
//! A test takes a database of the shared server ([`database`]), or starts a server of its own
//! ([`Server::start`]) if it is going to break it.

pub mod manual;
pub mod near;
mod random;
mod server;
pub mod types;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use postgres::error::SqlState;
pub use postgres::{Client, NoTls, Row};
pub use random::{Random, seed};
pub use server::{Database, EXTENDED, Server, database, superuser, variable};

/// The time that a test waits for something that must happen, before it fails. It is long, as other work may take the
/// processors.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// True in `make test-all`, which tries more moments than `make test`.
#[must_use]
pub fn is_thorough() -> bool {
    std::env::var_os("MINLSH_THOROUGH").is_some()
}

/// A number of the environment, by which a test is made longer, or repeated: `MINLSH_TEST_WRITES=100000`.
#[must_use]
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Polls until `done`; panics with `what` when patience ends.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the backend `pid` waits for a lock.
pub fn wait_until_blocked(observer: &mut Client, pid: i32) {
    wait_until("a session waits for a lock", || {
        let waiting = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1";
        observer.query_one(waiting, &[&pid]).ok().and_then(|row| row.get::<_, Option<bool>>(0)) == Some(true)
    });
}

/// Starts what will wait for a lock, in a new session and a thread. Returns when it waits.
pub fn blocked<T: Send + 'static>(
    database: &Database,
    work: impl FnOnce(&mut Client) -> T + Send + 'static,
) -> JoinHandle<T> {
    let mut session = database.connect();
    let pid = backend(&mut session);
    let waiting = std::thread::spawn(move || work(&mut session));
    wait_until_blocked(&mut database.connect(), pid);
    waiting
}

/// Does some work while threads do others again and again, each at least once. Returns what the work gives, and how
/// often all others were done.
pub fn beside<T, O: FnMut() + Send>(others: Vec<O>, work: impl FnOnce() -> T) -> (T, u64) {
    /// Ends the threads, also if the work panics.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let (is_over, times) = (AtomicBool::new(false), AtomicU64::new(0));
    // All are there before the work begins, which may be short.
    let all = Barrier::new(others.len() + 1);
    let result = std::thread::scope(|scope| {
        let _end = End(&is_over);
        for mut other in others {
            let (is_over, times, all) = (&is_over, &times, &all);
            scope.spawn(move || {
                all.wait();
                loop {
                    other();
                    times.fetch_add(1, Ordering::Relaxed);
                    if is_over.load(Ordering::Acquire) {
                        break;
                    }
                }
            });
        }
        all.wait();
        work()
    });
    (result, times.into_inner())
}

/// Waits until a standby has replayed what its primary has written.
pub fn wait_until_replayed(primary: &mut Client, standby: &mut Client) {
    let position = texts(primary, "SELECT pg_current_wal_lsn()").remove(0);
    let replayed = format!("SELECT pg_last_wal_replay_lsn() >= '{position}'");
    wait_until("the standby has replayed", || texts(standby, &replayed) == ["t"]);
}

/// Subscribes to the publication `p` of a database of another server.
pub fn subscribe(subscriber: &mut Client, source: &Database) {
    subscriber.run(&format!(
        "CREATE SUBSCRIPTION s CONNECTION 'host={} port=5432 dbname={} user={}' PUBLICATION p",
        source.server.socket().display(),
        source.name,
        superuser()
    ));
}

/// Cancels what a backend does. The signal is there when this returns: unlike a cancel request of the protocol, it
/// never comes late and hits the next statement.
pub fn cancel(observer: &mut Client, pid: i32) {
    let _ = observer.query("SELECT pg_cancel_backend($1)", &[&pid]).expect("cancelled");
}

/// The process that serves a session.
pub fn backend(client: &mut Client) -> i32 {
    client.query_one("SELECT pg_backend_pid()", &[]).expect("pg_backend_pid()").get(0)
}

/// Measures a process by the clock or, where other work takes the processors, by the time that it has had of them.
pub struct Stopwatch {
    process: i32,
    start: Instant,
    used: Option<Duration>,
}

impl Stopwatch {
    /// Starts for a process.
    #[must_use]
    pub fn start(process: i32) -> Self {
        Self { process, start: Instant::now(), used: processor_time(process) }
    }

    /// The time since the start, the lesser of the two; by the clock of a process that is gone.
    ///
    /// # Panics
    /// If `/proc/PID/stat` is not what Linux writes.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let elapsed = self.start.elapsed();
        let used = processor_time(self.process).zip(self.used).map(|(now, then)| now.saturating_sub(then));
        used.map_or(elapsed, |used| used.min(elapsed))
    }
}

/// The processor time that a process has used so far.
fn processor_time(process: i32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, which may have spaces, is in parentheses; the times are fields 14 and 15, in hundredths of a second.
    let fields = stat.rsplit(')').next().expect("fields").split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks")).sum();
    Some(Duration::from_millis(ticks * 10))
}

/// A size of a process in kB, out of `/proc/PID/status`.
///
/// # Panics
/// If there is no such process, or nothing of that name.
#[must_use]
pub fn kilobytes(process: i32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// The peak of the memory of a process, in kB, without what it shares: buffers, and files such as the library, whose
/// code comes in page by page.
///
/// # Panics
/// If there is no such process.
#[must_use]
pub fn own_memory(process: i32) -> u64 {
    let shared = kilobytes(process, "RssShmem:") + kilobytes(process, "RssFile:");
    kilobytes(process, "VmHWM:").saturating_sub(shared)
}

/// A session in which statements must succeed.
pub trait Run {
    /// Runs statements.
    ///
    /// # Panics
    /// If one fails.
    fn run(&mut self, statements: &str);
}

impl Run for Client {
    #[track_caller]
    fn run(&mut self, statements: &str) {
        self.batch_execute(statements).unwrap_or_else(|cause| panic!("{statements}: {cause:?}"));
    }
}

/// The first column of all rows, as text.
pub fn texts(client: &mut Client, sql: &str) -> Vec<String> {
    let rows = client.simple_query(sql).unwrap_or_else(|cause| panic!("{sql}: {cause:?}"));
    rows.iter()
        .filter_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
            _ => None,
        })
        .collect()
}

/// The SQLSTATE with which statements fail, if they do; or how the session ended.
pub fn failure(client: &mut Client, sql: &str) -> Option<String> {
    let error = client.batch_execute(sql).err()?;
    Some(error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()))
}

/// The SQLSTATE with which a statement fails.
pub fn sqlstate(client: &mut Client, sql: &str) -> String {
    failure(client, sql).unwrap_or_else(|| panic!("{sql}: should have failed"))
}

/// Asserts that an index and its table agree.
pub fn assert_consistent(client: &mut Client, index: &str) {
    let differences =
        texts(client, &format!("SELECT coalesce(doc_id, '*') || ': ' || problem FROM minlsh_check('{index}')"));
    assert_eq!(differences, Vec::<String>::new(), "minlsh_check('{index}')");
}
