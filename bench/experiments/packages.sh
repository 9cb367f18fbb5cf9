#!/usr/bin/env bash
# What must agree in short rows: of the descriptions of all packages that this machine's apt knows, the rows that a plan
# at 0.9 removes, and the pairs whose texts differ. `packages.sh DATABASE [SAMPLE]` needs a database with the extension,
# prints the table of docs/how-to/short-texts.md, and SAMPLE pairs to read for each row (60).
set -euo pipefail

database=$1 sample=${2:-60}
descriptions() {
	apt-cache dumpavail | awk -F '\t' '
		function flush() { if (name != "") print name "\t" body; name = body = "" }
		/^$/ { flush() }
		/^Package: / { name = substr($0, 10) }
		/^[A-Za-z0-9-]+:/ { inside = /^Description: / }
		/^Description: / { body = substr($0, 14) }
		/^ / && inside { body = body "\\n" substr($0, 2) }
		END { flush() }' | sed 's/\\\([^n]\)/\\\\\1/g'
}

descriptions | psql -XqAt -v ON_ERROR_STOP=1 -d "$database" -c '
	CREATE TEMPORARY TABLE packages (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, body text)' \
	-c '\copy packages (name, body) FROM STDIN' -c "
	CREATE TEMPORARY TABLE removed (agree text, a text, b text)" -c "
	INSERT INTO removed SELECT rule, a.body, b.body
	FROM (VALUES (NULL), ('codes(body, 1)'), ('ARRAY[tokens(body)::text]')) AS r(rule)
		CROSS JOIN LATERAL near_duplicate_plan('packages', 0.9, body => 'body', agree => rule) AS p
		JOIN packages AS a ON a.id = p.doc_id JOIN packages AS b ON b.id = p.kept_id" -c '\pset format aligned' \
	-c '\pset tuples_only off' -c "
	SELECT agree, count(*) AS removed, count(*) FILTER (WHERE a <> b) AS texts_differ,
		count(*) FILTER (WHERE tokens(a) <> tokens(b)) AS words_differ
	FROM removed GROUP BY agree ORDER BY removed DESC" -c '\pset format unaligned' -c '\pset tuples_only on' -c "
	SELECT agree, a, b FROM (SELECT *, row_number() OVER (PARTITION BY agree ORDER BY md5(a || b)) AS n
		FROM removed WHERE a <> b) AS s WHERE n <= $sample ORDER BY agree, n"
