//! Servers that are killed amid writers: what was acknowledged is there, and each index is what its table says.
//!
//! `make torture CYCLES=100`. A cycle: eight clients insert, update, delete, upsert, COPY, roll back, truncate,
//! create and drop indexes concurrently, vacuum and search, on plain and partitioned tables, for a second or two;
//! then one process is killed, or all of them, or all amid a VACUUM, or the primary while a standby follows, which
//! is promoted and takes over. Then everything is verified ([`verify`]). After [`ROUND`] cycles the tables start again
//! empty, so the last of a thousand cycles is verified as fast as the first ones.

mod client;
mod journal;
mod verify;

use std::time::Duration;

use minlsh_integration::{Client, Run, Server, backend, number, seed, superuser, texts, wait_until};

use client::{CLIENTS, work};
use journal::Journal;

/// The ends of a cycle.
#[derive(Clone, Copy, Debug)]
enum Blow {
    OneProcess,
    AllProcesses,
    AmidVacuum,
    Promotion,
}

const BLOWS: [Blow; 4] = [Blow::OneProcess, Blow::AllProcesses, Blow::AmidVacuum, Blow::Promotion];

const SETTINGS: [&str; 6] = [
    "autovacuum = on",
    "autovacuum_naptime = 1s",
    "checkpoint_timeout = 30s",
    "deadlock_timeout = 200ms",
    "log_error_verbosity = verbose",
    "max_parallel_maintenance_workers = 2",
];

/// The number of cycles through which tables grow.
const ROUND: u64 = 4;

/// The tables that all clients write, and one of each client's own, which it may truncate.
fn create_tables(client: &mut Client) {
    let columns = "(id bigint PRIMARY KEY, tenant int NOT NULL, body text)";
    let mut tables = format!(
        "CREATE TABLE docs {columns}; CREATE TABLE parts {columns} PARTITION BY HASH (id);
         CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
    );
    for number in 0..CLIENTS {
        tables.push_str(&format!("CREATE TABLE own_{number} {columns};"));
    }
    client.run(&tables);
    let own = (0..CLIENTS).map(|number| format!("own_{number}"));
    for table in ["docs", "parts"].map(str::to_owned).into_iter().chain(own) {
        client.run(&format!(
            "CREATE INDEX {table}_body ON {table} USING minlsh (body);
                 SELECT minlsh_create_side_table('{table}', 'body')"
        ));
    }
    for table in ["docs", "parts"] {
        client.run(&format!(
            "CREATE INDEX {table}_scope ON {table} USING minlsh (tenant, body)
                     WITH (threshold = 0.7, num_perm = 64);
                 CREATE INDEX {table}_passages ON {table} USING minlsh (body minlsh_passage_ops)"
        ));
    }
}

/// Empties all tables, and verifies that their indexes are empty, too.
fn empty_tables(server: &Server, database: &str, journals: &mut [Journal]) {
    let own: String = (0..CLIENTS).map(|number| format!(", own_{number}")).collect();
    let mut client = server.connect(database);
    client.run(&format!("TRUNCATE docs, parts{own}"));
    journals.iter_mut().for_each(|journal| journal.rows.clear());
    verify::indexes(&mut client, "after TRUNCATE");
}

/// A standby that holds every commit before it is acknowledged.
fn standby_of(primary: &Server) -> Server {
    let standby = primary.standby(&[]);
    let mut client = primary.connect("postgres");
    wait_until("the standby follows", || {
        texts(&mut client, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == ["1"]
    });
    client.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
    client.run("SELECT pg_reload_conf()");
    wait_until("the standby is synchronous", || {
        texts(&mut client, "SELECT sync_state FROM pg_stat_replication") == ["sync"]
    });
    standby
}

/// Waits until a VACUUM is under way, or does without if none lasts long enough.
fn await_vacuum(server: &Server) {
    let Ok(mut observer) = server.try_connect("postgres") else { return };
    for _ in 0..500 {
        let busy = "SELECT count(*) > 0 FROM pg_stat_progress_vacuum WHERE phase ~ 'index'";
        if texts(&mut observer, busy) == ["t"] {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Deals the blow; returns the server that goes on.
fn strike(blow: Blow, server: Server, standby: Option<Server>, victim: i32) -> Server {
    match blow {
        Blow::OneProcess => {
            server.kill_9(victim);
            std::thread::sleep(Duration::from_millis(500));
        }
        Blow::AllProcesses | Blow::AmidVacuum => {
            if matches!(blow, Blow::AmidVacuum) {
                await_vacuum(&server);
            }
            server.crash();
        }
        Blow::Promotion => server.crash(),
    }
    match (blow, standby) {
        (Blow::Promotion, Some(standby)) => {
            standby.run_locally("pg_ctl", &["-D", standby.data().to_str().expect("UTF-8"), "-w", "-s", "promote"]);
            standby.wait_ready();
            let mut client = standby.connect("postgres");
            client.run("ALTER SYSTEM RESET synchronous_standby_names");
            client.run("SELECT pg_reload_conf()");
            standby
        }
        (Blow::OneProcess, _) => server,
        _ => {
            server.launch();
            server
        }
    }
}

#[test]
fn after_every_blow_tables_and_indexes_agree() {
    let cycles = number("MINLSH_TORTURE_CYCLES").unwrap_or(4);
    let seed = seed("MINLSH_TORTURE_SEED");
    println!("{cycles} cycles with SEED={seed}, as {}", superuser());
    let mut server = Server::start_with(&SETTINGS);
    let database = server.create_database().name;
    create_tables(&mut server.connect(&database));
    let mut journals: Vec<Journal> = (0..CLIENTS).map(Journal::new).collect();
    let (mut killed, mut commits) = (0, 0);
    for cycle in 0..cycles {
        let blow = BLOWS[usize::try_from(cycle % 4).expect("less than 4")];
        let standby = matches!(blow, Blow::Promotion).then(|| standby_of(&server));
        let mut sessions: Vec<_> = (0..CLIENTS).map(|_| server.connect(&database)).collect();
        let victim = backend(&mut sessions[usize::try_from(seed.wrapping_add(cycle) % 8).expect("< 8")]);
        let time = Duration::from_millis(1000 + seed.wrapping_mul(31).wrapping_add(cycle * 97) % 700);
        server = std::thread::scope(|scope| {
            let workers: Vec<_> = sessions
                .into_iter()
                .zip(&mut journals)
                .map(|(session, journal)| {
                    let seed = seed.wrapping_mul(1000).wrapping_add(cycle * 10);
                    scope.spawn(move || work(session, journal, seed))
                })
                .collect();
            std::thread::sleep(time);
            let server = strike(blow, server, standby, victim);
            commits += workers.into_iter().map(|w| w.join().expect("a client")).sum::<u64>();
            server
        });
        server.wait_ready();
        killed += 1;
        verify::everything(&server, &database, &mut journals, &format!("cycle {cycle}, {blow:?}, SEED={seed}"));
        if cycle % ROUND == ROUND - 1 {
            empty_tables(&server, &database, &mut journals);
            println!("{killed} kills survived, {commits} transactions acknowledged");
        }
    }
    println!("{killed} kills survived, {commits} transactions acknowledged");
    assert!(commits > cycles * 20, "the clients hardly worked: {commits} transactions");
}
