#!/usr/bin/env bash
# What docs/how-to/ingest-without-end.md says of a table that grows by time: `ingest.sh DATABASE [ROWS]` makes the rows
# of twelve months (100,000 each) in one table and in one of twelve partitions, and prints what rows of the newest month
# cost in processor time and WAL, what a search costs, and the sizes of indexes. It needs the extension, and a superuser
# for its checkpoints, and leaves nothing in the database.
rows=${2:-100000}
. "$(dirname "$0")/session.sh" "$1"
added=$((rows / 10))

# made FIRST LAST MONTH: a query for rows, of which every tenth is a near-copy of the one before.
made() {
	echo "SELECT i AS id, date '2026-01-01' + ($3 - 1) * interval '1 month' AS created, (SELECT
		string_agg(md5(i - (i % 10 = 0)::integer || ' ' || word), ' ' ORDER BY word)
		FROM generate_series(1, 10 - (i % 10 = 0)::integer) AS word) AS body FROM generate_series($1, $2) AS i"
}
# insert_cost TABLE SETTING: microseconds and bytes of WAL for a row of the newest month.
insert_cost() {
	local before=$next
	next=$((next + added))
	run "CREATE TABLE more AS $(made $((before + 1)) "$next" 12); SELECT 1"
	run "$2; CHECKPOINT; SELECT pg_current_wal_insert_lsn()" && local start=$answer
	taken "INSERT INTO $1 SELECT * FROM more; SELECT 1"
	run "SELECT (pg_current_wal_insert_lsn() - '$start')::bigint / $added"
	printf '| %s | %s | %.0f µs | %d bytes |\n' "$1" "$2" "$(awk "BEGIN { print $seconds / $added * 1e6 }")" "$answer"
	run "DROP TABLE more; RESET wal_compression; SELECT 1"
}
# search_cost TABLE CONDITION: microseconds for a search.
search_cost() {
	local query="SELECT count((SELECT count(*) FROM $1 AS d WHERE d.body ~= minlsh_document(s.body, 0.8) $2))
		FROM asked AS s"
	run "$query"
	taken "$query"
	printf '| %s | %s | %.0f µs |\n' "$1" "${2:-all months}" "$(awk "BEGIN { print $seconds / $answer * 1e6 }")"
}
size() { # INDEX: bytes for a row of the newest month
	run "SELECT pg_relation_size('$1') / (SELECT count(*) FROM $2)"
	printf '| %s | %s | %d bytes |\n' "$1" "$3" "$answer"
}

run "SET client_min_messages = error; CREATE SCHEMA ingest; SET search_path = ingest, public; SELECT version()"
echo "$answer, $(machine)"
trap 'run "DROP SCHEMA ingest CASCADE; SELECT 1"' EXIT
run "CREATE TABLE whole (id bigint, created date, body text);
	CREATE TABLE months (LIKE whole) PARTITION BY RANGE (created); SELECT 1"
for month in {1..12}; do
	run "CREATE TABLE month_$month PARTITION OF months FOR VALUES FROM
		(date '2026-01-01' + interval '$((month - 1)) months') TO (date '2026-01-01' + interval '$month months');
		INSERT INTO month_$month $(made $(((month - 1) * rows + 1)) $((month * rows)) "$month"); SELECT 1"
done
next=$((12 * rows))
run "INSERT INTO whole SELECT * FROM months; CREATE INDEX whole_near ON whole USING minlsh (body);
	CREATE INDEX months_near ON months USING minlsh (body); ANALYZE whole; ANALYZE months;
	CREATE TABLE asked AS SELECT body FROM whole WHERE id % $((rows * 12 / 1000)) = 7; SELECT 1"

echo "| table | after a checkpoint | a row | WAL, a row |"
for table in whole months; do
	for compression in off pglz lz4; do insert_cost $table "SET wal_compression = $compression"; done
done
echo "| table | searched | a search |"
search_cost whole ""
search_cost months ""
search_cost months "AND d.created >= '2026-12-01'"
echo "| index | | a row |"
size month_1_body_idx month_1 "built at once"
run "CREATE TABLE grown (LIKE whole); CREATE INDEX grown_near ON grown USING minlsh (body); SELECT 1"
for part in {0..9}; do
	run "INSERT INTO grown $(made $((part * added + 1)) $(((part + 1) * added)) 1); SELECT 1"
done
size grown_near grown "grown row by row"
run "REINDEX INDEX grown_near; SELECT 1"
size grown_near grown "built again"
