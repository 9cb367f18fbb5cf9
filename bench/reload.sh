#!/usr/bin/env bash
# A table loaded anew: with its index there, and with the index dropped before and made afterwards. Prints a
# Markdown table of medians: bench/reload.sh [DOCUMENTS [ROUNDS]]
set -euo pipefail
cd "$(dirname "$0")/.."
exec bench/server.sh psql -X -q -v ON_ERROR_STOP=1 -v documents="${1:-100000}" -v rounds="${2:-5}" -f - <<'END'
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION minlsh;
CREATE TABLE source AS
SELECT i AS id, (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 31) AS j) AS body
FROM generate_series(1, :documents) AS i;
CREATE TABLE docs (id bigint PRIMARY KEY, body text);
CREATE INDEX docs_near ON docs USING minlsh (body);
CREATE TABLE times (way text, seconds double precision);
-- Each way commits by itself, so that it pays for what it has written.
CREATE PROCEDURE reload(way text) LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz;
BEGIN
    CHECKPOINT;
    COMMIT;
    start := clock_timestamp();
    IF way = 'drop, load, create' THEN DROP INDEX docs_near; END IF;
    TRUNCATE docs;
    INSERT INTO docs SELECT id, body FROM source;
    IF way = 'drop, load, create' THEN CREATE INDEX docs_near ON docs USING minlsh (body); END IF;
    COMMIT;
    INSERT INTO times VALUES (way, extract(epoch FROM clock_timestamp() - start));
END $$;
SET maintenance_work_mem = '256MB';
SELECT format('CALL reload(%L)', way)
FROM generate_series(0, :rounds) AS round, unnest(ARRAY['load', 'drop, load, create']) AS way ORDER BY round, way \gexec
-- The first round warms up.
DELETE FROM times WHERE ctid IN (SELECT ctid FROM times LIMIT 2);
\echo '| way | seconds, median | times as long |'
\echo '|---|---:|---:|'
WITH medians AS (SELECT way, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds FROM times GROUP BY way)
SELECT format('| %s | %s | %s |', way, round(seconds::numeric, 2), round((seconds / min(seconds) OVER ())::numeric, 1))
FROM medians ORDER BY seconds DESC;
END
