//! Servers, each in a directory of its own, and their databases.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use postgres::{Client, NoTls};

use crate::{PATIENCE, wait_until};

/// A variable that `make integration` sets.
///
/// # Panics
/// If it does not.
#[must_use]
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `make integration`"))
}

fn program(name: &str) -> PathBuf {
    Path::new(&variable("MINLSH_PG_BIN")).join(name)
}

/// The user that runs servers, and is their superuser.
pub fn superuser() -> String {
    variable("MINLSH_SERVER_USER")
}

/// A command that runs as the servers' user.
fn as_server_user(program: &Path) -> Command {
    let user = superuser();
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", &user, "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").env_remove("RUST_BACKTRACE").env("TZ", "UTC");
    command
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout.trim_ascii() == b"0"
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// True if a process exists and is not a zombie.
fn is_running(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A name that no other test in this process uses.
fn fresh(prefix: &str) -> String {
    format!("{prefix}{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// The database with the extension in it. Other databases are copies of it, and no test connects to it.
pub const EXTENDED: &str = "extended";

/// A running server, in a directory of its own, reached through a socket there.
pub struct Server {
    directory: PathBuf,
}

impl Server {
    /// Starts a new server.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a new server with settings, as lines of `postgresql.conf`.
    pub fn start_with(settings: &[&str]) -> Self {
        let server = Self::new_directory();
        succeed(Command::new("cp").arg("-a").arg(template()).arg(server.data()));
        server.configure(settings);
        server.launch();
        server
    }

    /// A standby that follows it, with additional settings.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn standby(&self, settings: &[&str]) -> Self {
        let standby = Self::new_directory();
        let data = standby.data();
        self.run("pg_basebackup", &["-D", data.to_str().expect("UTF-8"), "-R", "-c", "fast"]);
        standby.configure(settings);
        standby.launch();
        standby
    }

    fn new_directory() -> Self {
        let directory = Path::new(&variable("MINLSH_RUN_DIR")).join(fresh("s"));
        succeed(as_server_user(Path::new("mkdir")).arg("-p").arg(&directory));
        Self { directory }
    }

    /// Adds settings; they hold from the next start on.
    pub fn configure(&self, settings: &[&str]) {
        let file = self.data().join("postgresql.conf");
        let socket = format!("unix_socket_directories = '{}'", self.directory.display());
        let lines = [&socket as &str].iter().chain(settings).copied().collect::<Vec<_>>().join("\n");
        let script = format!("cat >> '{}' <<'END'\n{lines}\nEND", file.display());
        succeed(as_server_user(Path::new("sh")).args(["-c", &script]));
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// The directory of its socket.
    pub fn socket(&self) -> &Path {
        &self.directory
    }

    /// Starts it (again), and waits until it answers.
    pub fn launch(&self) {
        self.launch_in(&[]);
    }

    /// Starts it with these variables in its environment.
    pub fn launch_in(&self, environment: &[(&str, &str)]) {
        let status = as_server_user(&program("pg_ctl"))
            .envs(environment.iter().copied())
            .args(["-w", "-s", "-t", &PATIENCE.as_secs().to_string(), "-D"])
            .arg(self.data())
            .arg("-l")
            .arg(self.directory.join("log"))
            .arg("start")
            // pg_ctl's server must not hold our pipes open.
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .expect("pg_ctl runs");
        assert!(status.success(), "no start: {status}\n{}", self.log());
    }

    /// The log so far.
    pub fn log(&self) -> String {
        let log = self.directory.join("log");
        let output = succeed(as_server_user(Path::new("cat")).arg(&log));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Stops it in order.
    pub fn stop(&self) {
        self.shut("fast");
    }

    fn shut(&self, mode: &str) {
        let _ = as_server_user(&program("pg_ctl"))
            .args(["-w", "-s", "-m", mode, "-D"])
            .arg(self.data())
            .arg("stop")
            .output();
    }

    /// Kills every process of the server with SIGKILL, as a power failure would.
    pub fn crash(&self) {
        let lock_file = self.data().join("postmaster.pid");
        let lock = std::fs::read_to_string(&lock_file).expect("postmaster.pid");
        let postmaster = lock.lines().next().expect("a process id");
        // A stopped postmaster has no new children while they are killed.
        let script = format!(
            "kill -STOP {postmaster} && processes=\"{postmaster} $(pgrep -P {postmaster})\" && \
             echo $processes && {{ kill -9 $processes || true; }}"
        );
        let killed = succeed(Command::new("sh").arg("-c").arg(script)).stdout;
        let killed = String::from_utf8(killed).expect("process ids");
        wait_until("the server is gone", || !killed.split_whitespace().any(is_running));
        // As long as no process has reaped the dead (in a container without init: never), the lock
        // files would make the next server believe that this one lives.
        for lock in [lock_file, self.socket().join(".s.PGSQL.5432.lock")] {
            std::fs::remove_file(lock).expect("lock file removed");
        }
    }

    /// Kills one backend with SIGKILL; the server recovers by itself.
    pub fn kill_9(&self, backend: i32) {
        succeed(Command::new("kill").args(["-9", &backend.to_string()]));
    }

    /// Limits a resource of one of its processes, as `ulimit` or a container would: `--as=BYTES`.
    pub fn limit(&self, process: i32, limit: &str) {
        let mut command = as_server_user(Path::new("prlimit"));
        succeed(command.args([limit, "--pid", &process.to_string()]));
    }

    /// Waits until the server takes connections.
    pub fn wait_ready(&self) {
        wait_until("the server takes connections", || self.try_connect("postgres").is_ok());
    }

    /// Connects to a database as superuser.
    pub fn connect(&self, database: &str) -> Client {
        self.try_connect(database).unwrap_or_else(|cause| panic!("connect to {database}: {cause}"))
    }

    /// Connects as superuser, if the server lets us.
    pub fn try_connect(&self, database: &str) -> Result<Client, postgres::Error> {
        self.connect_as(database, &superuser())
    }

    pub fn connect_as(&self, database: &str, user: &str) -> Result<Client, postgres::Error> {
        postgres::Config::new().host_path(self.socket()).port(5432).dbname(database).user(user).connect(NoTls)
    }

    /// Creates a database with the extension in it.
    pub fn create_database(&self) -> Database<'_> {
        let name = fresh("d");
        self.connect("postgres")
            .batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {EXTENDED}"))
            .expect("CREATE DATABASE");
        Database { server: self, name }
    }

    /// Runs a PostgreSQL program (`pg_dump`, `psql`...) against this server as superuser and
    /// returns what it printed.
    pub fn run(&self, name: &str, arguments: &[&str]) -> String {
        let mut command = as_server_user(&program(name));
        command.arg("-h").arg(self.socket()).args(["-U", &superuser()]).args(arguments);
        String::from_utf8(succeed(&mut command).stdout).expect("UTF-8 output")
    }

    /// Runs a PostgreSQL program that takes no connection options.
    pub fn run_locally(&self, name: &str, arguments: &[&str]) -> String {
        let output = succeed(as_server_user(&program(name)).args(arguments));
        String::from_utf8(output.stdout).expect("UTF-8 output")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut("immediate");
        let _ = Command::new("rm").arg("-rf").arg(&self.directory).output();
    }
}

/// A database of a server.
pub struct Database<'a> {
    pub server: &'a Server,
    pub name: String,
}

impl Database<'_> {
    /// A new session as superuser.
    pub fn connect(&self) -> Client {
        self.server.connect(&self.name)
    }

    /// A new session as `user`.
    pub fn connect_as(&self, user: &str) -> Client {
        self.server.connect_as(&self.name, user).unwrap_or_else(|cause| panic!("connect as {user}: {cause}"))
    }

    /// Runs a shell script whose psql finds this database, in the directory where `examples/` is; returns what it
    /// printed.
    pub fn shell(&self, script: &str) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = as_server_user(Path::new("sh"));
        command
            .args(["-ec", "cd \"$1\"; eval \"$2\"", "sh", &variable("MINLSH_RUN_DIR"), script])
            .env("PATH", format!("{}:{path}", variable("MINLSH_PG_BIN")))
            .env("PGHOST", self.server.socket())
            .env("PGPORT", "5432")
            .env("PGUSER", superuser())
            .env("PGDATABASE", &self.name);
        String::from_utf8(succeed(&mut command).stdout).expect("UTF-8 output")
    }
}

/// A new data directory, made once for all files of tests, and copied for each server.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let template = Path::new(&variable("MINLSH_RUN_DIR")).join("template");
        if template.exists() {
            return template;
        }
        let server = Server::new_directory();
        let directory = server.data();
        let mut initdb = as_server_user(&program("initdb"));
        initdb.arg("-D").arg(&directory).args(["-E", "UTF8", "--no-locale", "-N"]);
        succeed(initdb.args(["-U", &superuser(), "-A", "trust"]));
        let settings = Path::new(&variable("MINLSH_RUN_DIR")).join("settings");
        let common = "listen_addresses = ''\nport = 5432\nfsync = off\nshared_buffers = 64MB\n\
                      max_connections = 50\nautovacuum = off\nlog_statement = none";
        let script = format!(
            "{{ cat '{}'; printf '%b\\n' '{}'; }} >> '{}/postgresql.conf'",
            settings.display(),
            common.replace('\'', "'\\''"),
            directory.display()
        );
        succeed(as_server_user(Path::new("sh")).args(["-c", &script]));
        server.configure(&[]);
        server.launch();
        let create = format!("CREATE DATABASE {EXTENDED}");
        server.connect("postgres").batch_execute(&create).expect("a database");
        server.connect(EXTENDED).batch_execute("CREATE EXTENSION minlsh").expect("the extension");
        server.stop();
        // Whole, if it is there: the next file may look for it at any moment.
        succeed(as_server_user(Path::new("mv")).arg("-T").arg(&directory).arg(&template));
        template
    })
}

/// A fresh database, with the extension, on a server that the tests of one file share.
#[expect(clippy::zombie_processes, reason = "the watcher outlives this process by design")]
pub fn database() -> Database<'static> {
    static SERVER: OnceLock<&'static Server> = OnceLock::new();
    static STARTING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = STARTING.lock();
    let server = SERVER.get_or_init(|| {
        // A static is never dropped: a watcher stops the server when this process ends.
        let server: &'static Server = Box::leak(Box::new(Server::start()));
        let script = format!(
            "while kill -0 {} 2>/dev/null; do sleep 0.2; done; \
             {}'{}' -m immediate -D '{}' stop; rm -rf '{}'",
            std::process::id(),
            if is_root() { format!("runuser -u {} -- ", superuser()) } else { String::new() },
            program("pg_ctl").display(),
            server.data().display(),
            server.directory.display(),
        );
        Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("a watcher");
        server
    });
    server.create_database()
}
