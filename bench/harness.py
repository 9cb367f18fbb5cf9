"""What every section of the benchmarks stands on: servers, rounds, time, memory."""

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parents[1]
THRESHOLD = 0.9
NUM_PERM = 128
QUIET = {"stdout": sys.stderr}
CORES = os.sched_getaffinity(0)


def note(message: str) -> None:
    """Progress, kept out of the tables."""
    print(f"# {message}", file=sys.stderr, flush=True)


def build() -> None:
    """Compiles what is measured before this process is bound to one core."""
    environment = {**os.environ, "PROFILE": "release"}
    subprocess.run(["scripts/build.sh"], cwd=ROOT, env=environment, check=True, **QUIET)
    command = ["scripts/cargo.sh", "build", "--quiet", "--locked", "--release", "-p", "minlsh-sketch"]
    command += ["--examples", "--target-dir", "build/target/bench"]
    subprocess.run(command, cwd=ROOT, check=True, **QUIET)


def bind_to_one_core() -> None:
    """Servers and peers inherit it. The last core: the first serves the machine's interrupts."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


class Server:
    """A private server that lives as long as the `with` block, and one session on it. Its data are in a folder that
    is kept, if one is given."""

    def __init__(self, settings: str = "", data: Path | None = None, port: int = 5432):
        self.port = port
        self.environment = {**os.environ, "BENCH_SETTINGS": f"{settings}\nport = {port}"}
        if data:
            self.environment["BENCH_DATA"] = str(data)

    def __enter__(self):
        # The server ends with the command beside it, which waits for the end of its input.
        self.process = subprocess.Popen(
            ["bench/server.sh", "sh", "-c", 'echo "$BENCH_DIR"; exec cat'],
            cwd=ROOT, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.directory = Path(self.process.stdout.readline().strip())
        if not self.directory.is_dir():
            raise RuntimeError("the server did not start")
        self.address = f"host={self.directory} port={self.port} user=postgres dbname=postgres"
        self.connect()
        self.run("CREATE EXTENSION IF NOT EXISTS minlsh")
        return self

    def __exit__(self, *failure):
        self.connection.close()
        self.process.stdin.close()
        self.process.wait()

    def connect(self) -> None:
        self.connection = psycopg.connect(self.address, autocommit=True)
        self.run("SET client_min_messages = error")
        self.pid = self.connection.info.backend_pid

    def reconnect(self) -> None:
        """A session that has done nothing yet."""
        self.connection.close()
        self.connect()

    def run(self, sql: str, parameters=None):
        return self.connection.execute(sql, parameters)

    def rows(self, sql: str, parameters=None) -> list:
        return self.run(sql, parameters).fetchall()

    def value(self, sql: str, parameters=None):
        return self.rows(sql, parameters)[0][0]

    def processor(self) -> float:
        """Seconds that this session has been on the processor, by the clock that clock_getcpuclockid(3) finds."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def time(self, sql: str) -> float:
        """Seconds of the processor: on a shared machine those of the clock tell about the neighbours."""
        start = self.processor()
        self.run(sql)
        return self.processor() - start

    def sessions(self) -> float:
        """Seconds of the processor of all sessions, which end first, by what the server's first process waited for."""
        others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> %s"
        while self.value(others, [self.pid]):
            time.sleep(0.05)
        # A process is no longer listed a little before it has ended.
        time.sleep(0.2)
        pid = int(self.value("SELECT pg_read_file('postmaster.pid')").split()[0])
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        # cutime and cstime of proc(5): fields 16 and 17, of which the first two are cut off.
        return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")

    def beside(self, command: list, **arguments) -> dict:
        """Runs a program that asks this server. Seconds of the processor, its own and of its sessions, and of the
        clock."""
        sessions, before, clock = self.sessions(), children(), time.perf_counter()
        subprocess.run(list(map(str, command)), check=True, **arguments)
        taken = {"clock": time.perf_counter() - clock, "own": children() - before}
        return {**taken, "sessions": self.sessions() - sessions}

    def load(self, name: str, texts: Path) -> int:
        """Makes a table of the texts in a file that corpus.py wrote; returns how many there are."""
        self.run(f"DROP TABLE IF EXISTS {name} CASCADE")
        self.run(f"CREATE TABLE {name} (id bigint PRIMARY KEY, body text)")
        self.copy(name, texts)
        self.run(f"VACUUM ANALYZE {name}")
        return self.value(f"SELECT count(*) FROM {name}")

    def copy(self, name: str, texts: Path) -> None:
        with self.connection.cursor().copy(f"COPY {name} FROM STDIN") as copy, open(texts, "rb") as file:
            while block := file.read(1 << 20):
                copy.write(block)

    def memory(self) -> int:
        """The most bytes that this backend has had of its own, without the buffers that all share."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            values = dict(line.split(":", 1) for line in file)
        return (int(values["VmHWM"].split()[0]) - int(values["RssShmem"].split()[0])) * 1024


def children() -> float:
    """Seconds of the processor of all programs that this process has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(work) -> float:
    """Seconds of the processor that this process takes for some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def alternate(options, measures: dict, of: str = "") -> dict:
    """Medians of what the measures return, over `options.rounds` that run all of them in turn.

    The other tenants of a machine come and go: what is compared is measured side by side, not one
    after the other. A measure returns one figure, or a dict of several. One that takes longer than
    `options.repeat_below` seconds runs once; the page says so, and what it was a measure `of`.
    """
    figures, left = {}, dict(measures)
    options.repeats = True
    for done in range(options.rounds):
        for name, measure in list(left.items()):
            start = time.perf_counter()
            result = measure()
            for key, value in (result if isinstance(result, dict) else {name: result}).items():
                figures.setdefault(key, []).append(value)
            if not done and time.perf_counter() - start > options.repeat_below:
                del left[name]
                if options.rounds > 1:
                    options.once.append(f"{name} ({of})" if of else name)
    return {name: statistics.median(values) for name, values in figures.items()}


def commit() -> str:
    return subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()


def postgres() -> str:
    config = os.environ.get("PG_CONFIG") or subprocess.check_output(["scripts/pg-config.sh"], cwd=ROOT, text=True)
    return " ".join(subprocess.check_output([config.strip(), "--version"], text=True).split()[:2])


def machine() -> str:
    """One line that says where and with what the figures were taken."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        about = dict(line.split(":", 1) for line in file if ":" in line)
    about = {name.strip(): value.strip() for name, value in about.items()}
    flags = about.get("flags", "").split()
    simd = "AVX-512" if "avx512bw" in flags else "AVX2" if "avx2" in flags else platform.machine()
    peers = ", ".join(f"{name} {version(name)}" for name in ("datasketch", "rensa", "numpy"))
    model = about.get("model name", platform.machine())
    return f"{model} ({simd}), {os.cpu_count()} shared cores, Python {platform.python_version()}, {peers}"
