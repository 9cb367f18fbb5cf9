#!/usr/bin/env bash
# The memory that a session takes for one statement of many short rows, without an index, with a side table, and with
# an index of type minlsh; and for one call about a whole corpus.
#
#     bench/memory.sh                         a million rows; corpora of 100,000 and 1,000,000 documents
#     bench/memory.sh 200000 '10000 100000'
#
# Each statement runs in a session of its own, whose peak is read at the end: VmHWM of its backend, less the shared
# memory that it has touched. A call about a corpus is compared with a session that has done nothing but load the
# library.
# Prints two Markdown tables, and fails if an index takes more than 64 MB above the same statement without it, or a
# call more than maintenance_work_mem and 16 bytes a document.
set -eu
cd "$(dirname "$0")/.."
[ -n "${BENCH_DIR:-}" ] || exec env BENCH_SETTINGS='shared_buffers = 16MB
	maintenance_work_mem = 64MB' bench/server.sh bench/memory.sh "$@"

rows=${1:-1000000}
corpora=${2:-100000 1000000}
allowed_kb=$((64 * 1024))
psql=(psql -X -q -A -t -v ON_ERROR_STOP=1)
status=0

# peak STATEMENT: the most memory of its own, in kB, that a session had after it.
peak() {
	"${psql[@]}" -c 'SET client_min_messages = warning' -c "$1" -c "
		SELECT substring(status FROM 'VmHWM:\s*(\d+)')::integer - substring(status FROM 'RssShmem:\s*(\d+)')::integer
		FROM pg_read_file('/proc/' || pg_backend_pid() || '/status') AS status" | tail -n 1
}

# run STATEMENTS: in a session that nobody measures.
run() { "${psql[@]}" -c 'SET client_min_messages = warning' -c "$1" >/dev/null; }

side_table="SELECT minlsh_create_index('docs', 'body')"
index='CREATE INDEX docs_near ON docs USING minlsh (body)'

run "CREATE EXTENSION minlsh"
run "COPY (SELECT i, 'a short text, number ' || i FROM generate_series(1, $rows) AS i) TO '$BENCH_DIR/rows'"
echo "| $rows rows | without, MB | side table, MB more | index, MB more |"
echo "|---|---:|---:|---:|"
measure() {
	local name=$1 statement=$2 made peaks=()
	for made in 'SELECT' "$side_table" "$index"; do
		run 'DROP TABLE IF EXISTS docs'
		run 'CREATE TABLE docs (id bigint PRIMARY KEY, body text) WITH (autovacuum_enabled = off)'
		[ "$name" = INSERT ] || [ "$name" = COPY ] || run "COPY docs FROM '$BENCH_DIR/rows'"
		run "$made"
		peaks+=("$(peak "$statement")")
	done
	printf '| %s | %d |' "$name" $((peaks[0] / 1024))
	for more in $((peaks[1] - peaks[0])) $((peaks[2] - peaks[0])); do
		printf ' %d |' $((more / 1024))
		[ "$more" -le "$allowed_kb" ] || status=1
	done
	echo
}
measure INSERT "INSERT INTO docs SELECT i, 'a short text, number ' || i FROM generate_series(1, $rows) AS i"
measure COPY "COPY docs FROM '$BENCH_DIR/rows'"
measure UPDATE "UPDATE docs SET body = body || '!'"
measure DELETE "DELETE FROM docs"

echo
echo "| documents | call | side table, MB | index, MB | no index, MB | allowed, MB |"
echo "|---:|---|---:|---:|---:|---:|"
# corpus DOCUMENTS: four to a template, one of them a copy of another, so that none is alone: the worst case.
corpus() {
	local documents=$1 call limit_kb source own
	run 'DROP TABLE IF EXISTS docs'
	run "CREATE TABLE docs AS SELECT i AS id, md5((i / 4)::text) || ' ' || md5('x' || i / 4) || ' ' || i % 3 AS body
		FROM generate_series(1, $documents::bigint) AS i"
	run 'ALTER TABLE docs ADD PRIMARY KEY (id)'
	run "$side_table"
	run "$index"
	limit_kb=$((allowed_kb + 16 * documents / 1024))
	for call in pairs clusters plan recall; do
		printf '| %d | %s |' "$documents" "$call"
		for source in docs_minlsh docs_near 'SELECT id, body FROM docs'; do
			case $call,$source in
				recall,SELECT*) echo -n ' |' && continue ;;
				recall,*) call_text="minlsh_recall('$source')" ;;
				*) call_text="near_duplicate_$call('$source')" ;;
			esac
			own=$(($(peak "SELECT count(*) FROM $call_text") - $(peak "SELECT minhash('x')")))
			printf ' %d |' $((own / 1024))
			[ "$own" -le "$limit_kb" ] || status=1
		done
		printf ' %d |\n' $((limit_kb / 1024))
	done
}
for documents in $corpora; do corpus "$documents"; done
exit $status
