#!/usr/bin/env bash
# Runs the recipes of docs/clients.md with tests/clients/checks.md, or those whose headings are given, against a private
# server, and compares what they print with the page. A recipe whose driver cannot be had is SKIPPED, with the reason.
# --accept writes what they print into the page.
. "$(dirname "$0")/lib.sh"
forget_connection_settings
command -v python3 >/dev/null || { echo "SKIPPED: no python3"; exit; }
bin=$("$pg_config" --bindir)
trap remove_run_dir EXIT
make_run_dir clients

# JDBC knows no Unix sockets: so TCP, by a password that only this run knows.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
password=$(python3 -c 'import secrets; print(secrets.token_hex(16))')
mkdir "$run_dir/stage"
settings=$(stage "$run_dir/stage")
chmod -R a+rX "$run_dir"
as_server_user sh -c "umask 077; cat >'$run_dir/password'" <<<"$password"
as_server_user "$bin/initdb" -D "$run_dir/data" --username=postgres --auth=scram-sha-256 \
	--pwfile="$run_dir/password" --encoding=UTF8 --locale=C >/dev/null
cat >"$run_dir/postgresql.conf" <<-END
	$settings
	listen_addresses = '127.0.0.1'
	port = $port
	unix_socket_directories = ''
	fsync = off
	END
as_server_user sh -c "cat '$run_dir/postgresql.conf' >>'$run_dir/data/postgresql.conf'"
as_server_user "$bin/pg_ctl" -D "$run_dir/data" -l "$run_dir/data/log" -w -t 60 -s start </dev/null >/dev/null

# The runtimes. $WITHOUT_... says what is missing: run.py leaves out the recipes that need it.
why() { grep -im 1 error "$run_dir/why" || echo "failed"; }
python_packages() {
	scripts/venv.sh "$1" "$2" >/dev/null 2>"$run_dir/why" || why
}
node_packages() {
	command -v node >/dev/null && command -v npm >/dev/null || { echo "no node with npm"; return; }
	local modules=$root/build/clients-node
	cmp -s tests/clients/package-lock.json "$modules/installed" && return
	mkdir -p "$modules"
	cp tests/clients/package.json tests/clients/package-lock.json "$modules/"
	npm --prefix "$modules" ci --loglevel=error --ignore-scripts --no-audit --no-fund >/dev/null 2>"$run_dir/why" ||
		{ echo "npm: $(why)"; return; }
	cp tests/clients/package-lock.json "$modules/installed"
}
java_driver() {
	command -v javac >/dev/null || { echo "no JDK"; return; }
	[ -e /usr/share/java/postgresql.jar ] || echo "no libpostgresql-jdbc-java"
}
pgbouncer() {
	scripts/fetch-pgbouncer.sh "$root/build/pgbouncer" >/dev/null 2>"$run_dir/why" || tail -n 1 "$run_dir/why"
}
WITHOUT_PYTHON=$(python_packages clients-venv tests/clients/requirements.txt)
# Its packages take minutes.
WITHOUT_DBT="make test-all has it"
[ -z "${MINLSH_THOROUGH:-}${*:-}" ] || WITHOUT_DBT=$(python_packages dbt-venv tests/clients/dbt.txt)
WITHOUT_NODE=$(node_packages)
WITHOUT_JAVA=$(java_driver)
# Its recipe has two clients in Python.
WITHOUT_PGBOUNCER=${WITHOUT_PYTHON:-$(pgbouncer)}
PGBOUNCER_PORT=$(free_port)
export WITHOUT_PYTHON WITHOUT_DBT WITHOUT_NODE WITHOUT_JAVA WITHOUT_PGBOUNCER PGBOUNCER_PORT

export PATH=$root/build/clients-venv/bin:$root/build/dbt-venv/bin:$root/build/pgbouncer:$bin:$PATH
export NODE_PATH=$root/build/clients-node/node_modules CLASSPATH=/usr/share/java/postgresql.jar
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGPASSWORD=$password
python3 tests/clients/run.py docs/clients.md tests/clients/checks.md build/clients "$@"
