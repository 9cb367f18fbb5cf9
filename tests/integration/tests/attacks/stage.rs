//! A database where an attack takes place, and its sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use minlsh_integration::{Client, EXTENDED, NoTls, Run, Server, is_thorough, superuser};
use postgres::SimpleQueryMessage;

use crate::script::{Expected, Script, Statement};

/// The word that must never reach an attacker: rows that hold it are hidden.
const SECRET: &str = "SECRET";
/// No block of an attack takes longer.
const LIMIT: Duration = Duration::from_secs(100);

/// The roles that all attacks share.
pub const ROLES: [&str; 4] = ["dbowner", "owner", "reader", "attacker"];

/// A role that runs `trap.spring` has fallen into a trap: the log shows the role, and its rights are used to make the
/// attacker a superuser.
const TRAP: &str = "
    CREATE SCHEMA app AUTHORIZATION owner; GRANT USAGE ON SCHEMA app TO PUBLIC;
    CREATE SCHEMA evil AUTHORIZATION attacker; GRANT USAGE ON SCHEMA evil TO PUBLIC;
    CREATE SCHEMA trap; GRANT USAGE ON SCHEMA trap TO PUBLIC;
    CREATE FUNCTION trap.spring(what text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        RAISE LOG 'TRAP % sprang for % with %', pg_catalog.current_database(), current_user, what;
        BEGIN
            EXECUTE 'ALTER ROLE attacker SUPERUSER';
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
        RETURN true;
    END $$";

struct Session {
    statements: Sender<Vec<Statement>>,
    outcomes: Receiver<Vec<String>>,
    pid: i32,
    running: bool,
}

/// A fresh database, what happens in it, and what went wrong.
pub struct Stage<'a> {
    server: &'a Server,
    database: String,
    sessions: HashMap<String, Session>,
    logged: usize,
    /// True if a session ended unasked.
    lost: Arc<AtomicBool>,
    failures: Vec<String>,
}

impl<'a> Stage<'a> {
    /// Plays an attack; returns what was not held.
    pub fn play(server: &'a Server, script: &Script) -> Vec<String> {
        let mut stage = Self {
            server,
            database: format!("attack_{}", script.name),
            sessions: HashMap::new(),
            logged: server.log().len(),
            lost: Arc::default(),
            failures: Vec::new(),
        };
        stage.set_up(script);
        for block in &script.blocks {
            if let Err(cause) = stage.run(block) {
                stage.failures.push(cause);
                break;
            }
        }
        let names: Vec<_> = stage.sessions.keys().cloned().collect();
        for name in names {
            stage.wait(&name);
        }
        stage.sessions.clear();
        stage.judge(script);
        stage.failures
    }

    fn set_up(&self, script: &Script) {
        let mut client = self.server.connect("postgres");
        let database = &self.database;
        let is_copy = script.extension && script.encoding == "UTF8";
        let template = if is_copy { EXTENDED } else { "template0" };
        for statement in [
            format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)"),
            format!(
                "CREATE DATABASE {database} OWNER dbowner TEMPLATE {template} ENCODING '{}' LOCALE 'C'",
                script.encoding
            ),
            format!("ALTER DATABASE {database} SET attack.thorough = {}", is_thorough()),
        ] {
            client.run(&statement);
        }
        let mut client = self.server.connect(database);
        client.run(TRAP);
        if script.extension && !is_copy {
            client.run("CREATE EXTENSION minlsh");
        }
    }

    fn run(&mut self, block: &crate::script::Block) -> Result<(), String> {
        if !self.sessions.contains_key(&block.session) {
            let session = self.open(&block.role)?;
            self.sessions.insert(block.session.clone(), session);
        }
        self.wait(&block.session);
        let Some(session) = self.sessions.get_mut(&block.session) else { return Ok(()) };
        session.statements.send(block.statements.clone()).map_err(|_| "session is gone")?;
        session.running = true;
        if block.meanwhile {
            let pid = session.pid;
            self.wait_until_blocked(pid);
        } else {
            self.wait(&block.session);
        }
        Ok(())
    }

    fn open(&self, role: &str) -> Result<Session, String> {
        let user = if role == "superuser" { superuser() } else { role.to_owned() };
        let notices = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&notices);
        let mut client = postgres::Config::new()
            .host_path(self.server.socket())
            .port(5432)
            .dbname(&self.database)
            .user(&user)
            .notice_callback(move |notice| {
                if let Ok(mut heard) = heard.lock() {
                    heard.push_str(notice.message());
                }
            })
            .connect(NoTls)
            .map_err(|cause| format!("{role} cannot connect: {cause}"))?;
        let pid = minlsh_integration::backend(&mut client);
        let (statements, orders) = channel::<Vec<Statement>>();
        let (results, outcomes) = channel();
        let hidden = role == "attacker";
        let lost = Arc::clone(&self.lost);
        std::thread::spawn(move || {
            while let Ok(block) = orders.recv() {
                let failures = block
                    .iter()
                    .filter_map(|statement| execute(&mut client, statement, hidden, &notices).err())
                    .collect();
                lost.fetch_or(client.is_closed(), Ordering::Relaxed);
                if results.send(failures).is_err() {
                    return;
                }
            }
        });
        Ok(Session { statements, outcomes, pid, running: false })
    }

    /// Waits for the statement that a session runs.
    fn wait(&mut self, name: &str) {
        let Some(session) = self.sessions.get_mut(name).filter(|session| session.running) else {
            return;
        };
        session.running = false;
        match session.outcomes.recv_timeout(LIMIT) {
            Ok(failures) => self.failures.extend(failures),
            Err(_) => {
                self.failures.push(format!("{name} hangs"));
                self.server.kill_9(session.pid);
                self.lost.store(true, Ordering::Relaxed);
                self.sessions.remove(name);
            }
        }
    }

    fn wait_until_blocked(&self, pid: i32) {
        let Ok(mut observer) = self.server.try_connect("postgres") else { return };
        let start = Instant::now();
        let waits = "SELECT wait_event_type = 'Lock' OR state <> 'active' FROM pg_stat_activity WHERE pid = $1";
        while start.elapsed() < minlsh_integration::PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
            let row = observer.query_opt(waits, &[&pid]);
            let Ok(Some(row)) = row else { return };
            if row.get::<_, Option<bool>>(0) == Some(true) {
                return;
            }
        }
    }

    /// Judges by the log and the catalog.
    fn judge(&mut self, script: &Script) {
        if self.lost.load(Ordering::Relaxed) {
            // The server may be about to notice that a backend died.
            std::thread::sleep(Duration::from_secs(1));
        }
        self.server.wait_ready();
        let mut client = self.server.connect("postgres");
        let superusers = minlsh_integration::texts(
            &mut client,
            "SELECT rolname::text FROM pg_roles \
             WHERE rolsuper AND rolname IN ('dbowner', 'owner', 'reader', 'attacker')",
        );
        for role in superusers {
            self.failures.push(format!("{role} became a superuser"));
            client.run(&format!("ALTER ROLE {role} NOSUPERUSER"));
        }
        client.run(&format!("DROP DATABASE {} WITH (FORCE)", self.database));
        let log = self.server.log();
        for line in log.get(self.logged..).unwrap_or(&log).lines() {
            let message = line.split_once(" UTC ").map_or(line, |(_, message)| message);
            if let Some((_, trap)) = line.split_once("sprang for ") {
                let who = trap.split(' ').next().unwrap_or_default();
                if !script.springs_for.iter().any(|role| role == who) {
                    self.failures.push(format!("planted code ran for {trap}"));
                }
            } else if ["was terminated by signal", "PANIC:", "ERROR:  XX", "panicked at"]
                .iter()
                .any(|sign| line.contains(sign))
            {
                self.failures.push(message.to_owned());
            }
        }
        self.failures.sort();
        self.failures.dedup();
    }
}

/// Runs one statement; the error says what was not as it should be.
fn execute(client: &mut Client, statement: &Statement, hidden: bool, notices: &Mutex<String>) -> Result<(), String> {
    let start = Instant::now();
    let result = client.simple_query(&statement.sql);
    let took = start.elapsed();
    let mut seen = match &result {
        Ok(messages) => messages.iter().map(all_columns).collect(),
        Err(error) => error.as_db_error().map_or_else(
            || error.to_string(),
            |error| {
                let detail = error.detail().unwrap_or_default();
                let hint = error.hint().unwrap_or_default();
                format!("{} {} {detail} {hint}", error.code().code(), error.message())
            },
        ),
    };
    if let Ok(mut notices) = notices.lock() {
        seen.push_str(&notices);
        notices.clear();
    }
    let sql = statement.sql.trim();
    if hidden && seen.contains(SECRET) && !sql.contains(SECRET) {
        return Err(format!("a hidden row was seen: {sql}\n{seen}"));
    }
    if statement.limit.is_some_and(|limit| took > limit) {
        return Err(format!("{sql}\ntook {took:?}"));
    }
    match (&statement.expected, result) {
        (Expected::Anything, _) | (Expected::Success, Ok(_)) => Ok(()),
        (Expected::Refusal(codes), Err(error)) => {
            let code = error.code().map_or("no connection", |code| code.code());
            let foreseen = codes.is_empty() || codes.iter().any(|one| one == code);
            if foreseen { Ok(()) } else { Err(format!("{sql}\nfailed with {seen}")) }
        }
        (Expected::Refusal(_), Ok(_)) => Err(format!("not refused: {sql}\n{seen}")),
        (Expected::Values(values), Ok(messages)) => {
            let given = messages.iter().filter_map(first_column).collect::<Vec<_>>().join(" ");
            if given == *values { Ok(()) } else { Err(format!("{sql}\ngave {given}")) }
        }
        (_, Err(_)) => Err(format!("{sql}\nfailed with {seen}")),
    }
}

fn first_column(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL")),
        _ => None,
    }
}

fn all_columns(message: &SimpleQueryMessage) -> String {
    let SimpleQueryMessage::Row(row) = message else { return String::new() };
    (0..row.len()).filter_map(|column| row.get(column)).collect::<Vec<_>>().join(" ")
}
