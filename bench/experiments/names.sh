#!/usr/bin/env bash
# pg_trgm and minlsh at 0.9 over the first lines of every sixth package description that this machine's apt knows:
# `names.sh DATABASE` needs a database with both extensions, and prints the times and what each finds. The figures are
# in docs/how-to/migrate.md.
set -euo pipefail

apt-cache dumpavail | sed -n 's/^Description: //p' | sed 's/\\/\\\\/g' | psql -Xq -v ON_ERROR_STOP=1 -d "$1" -c '
	CREATE TEMPORARY TABLE packages (id integer GENERATED ALWAYS AS IDENTITY, name text)' \
	-c '\copy packages (name) FROM STDIN' -c '
	CREATE TEMPORARY TABLE names AS SELECT id, name FROM packages WHERE id % 6 = 0' -c '
	CREATE INDEX ON names USING gin (name gin_trgm_ops)' -c 'ANALYZE names' -c '
	SET pg_trgm.similarity_threshold = 0.9' -c 'SET max_parallel_workers_per_gather = 0' -c '\timing on' -c '
	CREATE TEMPORARY TABLE by_trigrams AS
	SELECT a.id AS a, b.id AS b FROM names AS a JOIN names AS b ON a.name % b.name AND a.id < b.id' -c "
	CREATE TEMPORARY TABLE by_minlsh AS SELECT least(doc_a::integer, doc_b::integer) AS a,
		greatest(doc_a::integer, doc_b::integer) AS b FROM near_duplicate_pairs('names', 0.9, key_column => 'id')" \
	-c '\timing off' -c "
	SELECT count(*) FILTER (WHERE t.a IS NOT NULL) AS pg_trgm, count(*) FILTER (WHERE m.a IS NOT NULL) AS minlsh,
		count(*) FILTER (WHERE t.a IS NOT NULL AND m.a IS NOT NULL) AS both,
		count(*) FILTER (WHERE m.a IS NULL
			AND regexp_replace(x.name, '\\d+', '', 'g') = regexp_replace(y.name, '\\d+', '', 'g'))
			AS only_pg_trgm_differ_in_numbers
	FROM by_trigrams AS t FULL JOIN by_minlsh AS m USING (a, b) JOIN names AS x ON x.id = a JOIN names AS y ON y.id = b"
