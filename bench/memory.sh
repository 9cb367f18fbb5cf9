#!/usr/bin/env bash
# The memory that a session takes for one statement of many short rows, with and without a side table.
#
#     bench/memory.sh          a million rows
#     bench/memory.sh 200000
#
# Each statement runs in a session of its own, whose peak (VmHWM of its backend) is read at the end; it counts
# the shared buffers that were touched, too, of which there are few.
# Prints a Markdown table, and fails if an index takes more than 64 MB above the same statement
# without it.
set -eu
cd "$(dirname "$0")/.."
[ -n "${BENCH_DIR:-}" ] || exec env BENCH_SETTINGS='shared_buffers = 16MB' bench/server.sh bench/memory.sh "$@"

rows=${1:-1000000}
allowed_kb=$((64 * 1024))
psql=(psql -X -q -A -t -v ON_ERROR_STOP=1)

# peak STATEMENT: the most memory, in kB, that a session had after it.
peak() {
	"${psql[@]}" -c 'SET client_min_messages = warning' -c "$1" \
		-c "SELECT substring(pg_read_file('/proc/' || pg_backend_pid() || '/status') FROM 'VmHWM:\s*(\d+)')" | tail -n 1
}

"${psql[@]}" <<END
CREATE EXTENSION minlsh;
COPY (SELECT i, 'a short text, number ' || i FROM generate_series(1, $rows) AS i) TO '$BENCH_DIR/rows';
END
echo "| $rows rows | without, MB | with, MB | more, MB |"
echo "|---|---:|---:|---:|"
status=0
measure() {
	local name=$1 statement=$2 without with
	for index in no yes; do
		"${psql[@]}" >/dev/null <<-END
			SET client_min_messages = warning;
			DROP TABLE IF EXISTS docs;
			CREATE TABLE docs (id bigint PRIMARY KEY, body text);
			ALTER TABLE docs SET (autovacuum_enabled = off);
			$([ "$name" = INSERT ] || [ "$name" = COPY ] || echo "COPY docs FROM '$BENCH_DIR/rows';")
			$([ "$index" = no ] || echo "SELECT minlsh_create_index('docs', 'body');")
		END
		if [ "$index" = no ]; then without=$(peak "$statement"); else with=$(peak "$statement"); fi
	done
	printf '| %s | %d | %d | %d |\n' "$name" $((without / 1024)) $((with / 1024)) $(((with - without) / 1024))
	[ $((with - without)) -le "$allowed_kb" ] || status=1
}
measure INSERT "INSERT INTO docs SELECT i, 'a short text, number ' || i FROM generate_series(1, $rows) AS i"
measure COPY "COPY docs FROM '$BENCH_DIR/rows'"
measure UPDATE "UPDATE docs SET body = body || '!'"
measure DELETE "DELETE FROM docs"
exit $status
