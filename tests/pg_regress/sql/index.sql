-- CREATE INDEX ... USING minlsh: an index like any other.

CREATE TABLE docs (id integer PRIMARY KEY, lang text DEFAULT 'en', title text DEFAULT '', body text);
INSERT INTO docs (id, body) VALUES
	(1, 'The quick brown fox jumps over the lazy dog near the river bank.'),
	(2, 'The quick brown fox jumps over the lazy dog near the river bank!'),
	(3, 'The quick brown fox jumps over the lazy cat near the river bank.'),
	(4, 'A wholly different sentence about the weather in the mountains.'),
	(5, NULL), (6, ''), (7, '');
INSERT INTO docs (id, body) SELECT i, md5(i::text) || md5((i * 7)::text) FROM generate_series(100, 1100) AS i;
CREATE INDEX ON docs USING minlsh (body);
ANALYZE docs;
\d docs
\d docs_body_idx
SELECT * FROM minlsh_check('docs_body_idx');

-- The planner takes it: for a document, for a bare text, with the sides swapped, and in a join.
EXPLAIN (COSTS OFF) SELECT id FROM docs
WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy dog near the river bank.', 0.9);
EXPLAIN (COSTS OFF) SELECT id FROM docs
WHERE body ~= 'The quick brown fox jumps over the lazy dog near the river bank.';
EXPLAIN (COSTS OFF) SELECT b.id FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, 0.9)
WHERE a.id = 1 AND b.id <> 1;
EXPLAIN (COSTS OFF) SELECT b.id FROM docs AS a JOIN docs AS b ON minlsh_document(a.body, 0.9) ~= b.body WHERE a.id = 1;
SELECT id FROM docs
WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy dog near the river bank.', 0.9) ORDER BY id;
SELECT id FROM docs WHERE body ~= 'The quick brown fox jumps over the lazy dog near the river bank.' ORDER BY id;
SELECT a.id, b.id FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body) WHERE a.id < b.id ORDER BY 1, 2;
SELECT count(*) FROM docs AS a WHERE EXISTS (SELECT FROM docs AS b
	WHERE b.body ~= minlsh_document(a.body) AND b.id <> a.id);

-- Every plan finds the same.
CREATE FUNCTION found(threshold float8, OUT plan text, OUT ids text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	setting text;
	line text;
	query text := format('SELECT id FROM docs WHERE body ~= minlsh_document(%L, %s)',
		'The quick brown fox jumps over the lazy dog near the river bank.', threshold);
BEGIN
	FOREACH setting IN ARRAY ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_indexscan'] LOOP
		PERFORM set_config(name, CASE name WHEN setting THEN 'on' ELSE 'off' END, true)
		FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_indexscan']) AS name;
		plan := NULL;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			plan := coalesce(plan, regexp_replace(line, ' on .*| using .*', ''));
		END LOOP;
		EXECUTE 'SELECT string_agg(id::text, '' '' ORDER BY id) FROM (' || query || ') AS found' INTO ids;
		RETURN NEXT;
	END LOOP;
	RESET enable_seqscan;
	RESET enable_bitmapscan;
	RESET enable_indexscan;
END
$$;
SELECT * FROM found(0.95);
SELECT * FROM found(0.8);
-- Below the index's threshold too.
SELECT DISTINCT ids FROM found(0.6);
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.6);
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.9, 3, 'word');
BEGIN;
SET LOCAL enable_seqscan = off;
SELECT id FROM docs WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy cow', 0.4, 2, 'word')
	ORDER BY id;
SET LOCAL minlsh.threshold = 0.5;
SELECT id FROM docs WHERE body ~= 'The quick brown fox jumps over the lazy dog' ORDER BY id;
ROLLBACK;
-- NULL finds nothing, and is not found; a text without shingles neither.
SELECT id FROM docs WHERE body ~= minlsh_document(NULL::text);
SELECT id FROM docs WHERE body ~= minlsh_document('');
SELECT count(*) FROM docs WHERE body IS NULL;

-- The threshold at run time: the same by any plan.
SET plan_cache_mode = force_generic_plan;
PREPARE search(text, float8) AS SELECT id FROM docs WHERE body ~= minlsh_document($1, $2) ORDER BY id;
EXECUTE search('The quick brown fox jumps over the lazy dog near the river bank.', 0.9);
EXECUTE search('The quick brown fox jumps over the lazy dog near the river bank.', 0.5);
DEALLOCATE search;
RESET plan_cache_mode;

-- It is kept: rows come, change and go.
INSERT INTO docs (id, body) VALUES (8, 'The quick brown fox jumps over the lazy dog near the river bank.');
UPDATE docs SET body = 'Now something else altogether, about the weather.' WHERE id = 2;
DELETE FROM docs WHERE id = 3;
BEGIN;
INSERT INTO docs (id, body) VALUES (9, 'The quick brown fox jumps over the lazy dog near the river bank.');
SAVEPOINT s;
DELETE FROM docs WHERE id = 1;
SELECT * FROM found(0.8) WHERE plan <> 'Seq Scan';
ROLLBACK TO s;
SELECT * FROM found(0.8) WHERE plan <> 'Seq Scan';
ROLLBACK;
SELECT * FROM found(0.8);
VACUUM docs;
SELECT * FROM found(0.8);
SELECT * FROM minlsh_check('docs_body_idx');

-- REINDEX, and everything that writes the table anew.
REINDEX INDEX docs_body_idx;
REINDEX INDEX CONCURRENTLY docs_body_idx;
VACUUM FULL docs;
CLUSTER docs USING docs_pkey;
ALTER TABLE docs ALTER COLUMN id TYPE bigint;
ALTER TABLE docs SET UNLOGGED;
ALTER TABLE docs SET LOGGED;
SELECT * FROM found(0.8);
SELECT * FROM minlsh_check('docs_body_idx');
BEGIN;
TRUNCATE docs;
SELECT * FROM found(0.8);
INSERT INTO docs (id, body) VALUES (1, 'The quick brown fox jumps over the lazy dog near the river bank.');
SELECT * FROM found(0.8);
ROLLBACK;
SELECT * FROM found(0.8);

-- It is no order of rows, no guard of uniqueness, and holds no columns.
CLUSTER docs USING docs_body_idx;
CREATE UNIQUE INDEX ON docs USING minlsh (body);
\set VERBOSITY sqlstate
CREATE INDEX ON docs USING minlsh (body DESC);
CREATE INDEX ON docs USING minlsh (body NULLS FIRST);
\set VERBOSITY default
CREATE INDEX ON docs USING minlsh (body) INCLUDE (id);
CREATE INDEX ON docs USING minlsh (title, body);
CREATE INDEX ON docs USING minlsh (id);
CREATE INDEX ON docs USING minlsh (ctid);

-- Other words of CREATE INDEX.
CREATE INDEX IF NOT EXISTS docs_body_idx ON docs USING minlsh (body);
BEGIN;
CREATE INDEX CONCURRENTLY ON docs USING minlsh (body);
ROLLBACK;
CREATE INDEX CONCURRENTLY docs_again ON docs USING minlsh (body) WITH (threshold = 0.5);
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.6);
SELECT * FROM found(0.6);
DROP INDEX CONCURRENTLY docs_again;
COMMENT ON INDEX docs_body_idx IS 'near-duplicates of bodies';
ALTER INDEX docs_body_idx RENAME TO near;
SELECT obj_description('near'::regclass);
SELECT pg_get_indexdef('near'::regclass);
DROP INDEX near;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= 'some text';
SELECT * FROM found(0.8) LIMIT 1;

-- Options: what is searched for must have the same.
CREATE INDEX words ON docs USING minlsh (body)
WITH (threshold = 0.5, unit = 'word', shingle_size = 2, recall = 0.999, num_perm = 256, fillfactor = 70);
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.6, 2, 'word');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.6, 3, 'word');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= 'some text';
SELECT id FROM docs WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy cow near the river bank',
	0.5, 2, 'word');
-- A value without quotes may be a word that SQL takes for a type; some tools write none.
CREATE INDEX unquoted ON docs USING minlsh (body) WITH (unit = char, scheme = fss, normalization = none, bag = off);
SELECT o ->> 'unit' AS unit, o ->> 'normalization' AS normalization FROM minlsh_options('unquoted') AS o;
DROP INDEX unquoted;
-- ALTER INDEX SET waits for REINDEX, and minlsh_check says so.
ALTER INDEX words SET (threshold = 0.7);
SELECT * FROM minlsh_check('words');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.6, 2, 'word');
REINDEX INDEX words;
SELECT * FROM minlsh_check('words');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.6, 2, 'word');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.7, 2, 'word');
ALTER INDEX words RESET (threshold);
REINDEX INDEX words;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('some text', 0.7, 2, 'word');
-- A lookup below the threshold of what is there says so, too.
ALTER INDEX words SET (threshold = 0.7);
SELECT near_duplicates_of('some text', 0.75, 'words');
SELECT near_duplicates_of('some text', 0.65, 'words');
ALTER INDEX words RESET (threshold);
ALTER INDEX words SET (unit = 'nonsense');
DROP INDEX words;

-- Options that are refused, with what is allowed.
CREATE FUNCTION refused(options text, OUT state text, OUT message text, OUT help text) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE 'CREATE INDEX ON docs USING minlsh (body) WITH (' || options || ')';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	help := concat_ws(' ', nullif(detail, ''), nullif(hint, ''));
END
$$;
\x on
SELECT refused.* FROM unnest(ARRAY[
	'threshold = 1.5', 'threshold = 0', 'threshold = much', 'threshold = 0.01', 'recall = 0', 'recall = 1',
	'num_perm = 0', 'num_perm = 100000', 'num_perm = 1', 'scheme = md5', 'seed = many', 'seed = 99999999999999999999',
	'shingle_size = 0', 'shingle_size = 1000000', 'unit = letter', 'normalization = upper',
	'normalization = ''stop_words=''',
	'bag = perhaps', 'fillfactor = 5', 'deduplicate_items = 2', 'bands = 3'
]) WITH ORDINALITY AS o (options, place), refused(options) ORDER BY place;
\x off
DROP FUNCTION refused;

-- Expressions, and part of a table.
CREATE INDEX both_parts ON docs USING minlsh ((title || ' ' || body)) WHERE lang = 'en';
INSERT INTO docs VALUES (20, 'en', 'On foxes', 'The quick brown fox jumps over the lazy dog near the river.'),
	(21, 'de', 'On foxes', 'The quick brown fox jumps over the lazy dog near the river.');
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE title || ' ' || body ~= minlsh_document('some text') AND lang = 'en';
RESET enable_indexscan;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE title || ' ' || body ~= minlsh_document('some text') AND lang = 'de';
SELECT id FROM docs
WHERE title || ' ' || body ~= minlsh_document('On foxes The quick brown fox jumps over the lazy dog near the river.')
	AND lang = 'en';
SELECT * FROM minlsh_check('both_parts');
DROP TABLE docs;

-- Types that PostgreSQL takes for text as they are, and others by an expression.
CREATE DOMAIN body_text AS text;
CREATE TABLE typed (v varchar(100), d body_text, c char(40), j jsonb);
CREATE INDEX ON typed USING minlsh (v);
CREATE INDEX ON typed USING minlsh (d);
CREATE INDEX ON typed USING minlsh ((c::text));
CREATE INDEX ON typed USING minlsh ((j ->> 'body'));
CREATE INDEX ON typed USING minlsh (c);
CREATE INDEX ON typed USING minlsh (j);
INSERT INTO typed SELECT t, t, t, jsonb_build_object('body', t)
	FROM (VALUES ('a text of some kind, or another')) AS v (t);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM typed WHERE v ~= minlsh_document('a text of some kind, or another');
EXPLAIN (COSTS OFF) SELECT count(*) FROM typed WHERE d ~= 'a text of some kind, or another';
SELECT count(*) FROM typed WHERE v ~= minlsh_document('a text of some kind, or another'::varchar);
SELECT count(*) FROM typed WHERE v ~= 'a text of some kind, or another'::varchar;
SELECT count(*) FROM typed WHERE d ~= 'a text of some kind, or another';
SELECT count(*) FROM typed WHERE c::text ~= 'a text of some kind, or another';
SELECT count(*) FROM typed WHERE j ->> 'body' ~= 'a text of some kind, or another';
RESET enable_seqscan;
DROP TABLE typed;
DROP DOMAIN body_text;

-- UNLOGGED and temporary tables, materialized views.
CREATE UNLOGGED TABLE fleeting (body text);
CREATE INDEX ON fleeting USING minlsh (body);
CREATE TEMPORARY TABLE session (body text) ON COMMIT DELETE ROWS;
CREATE INDEX ON session USING minlsh (body);
CREATE MATERIALIZED VIEW bodies AS SELECT 'a text of some kind, number ' || i / 2 AS body
FROM generate_series(0, 99) AS i;
CREATE INDEX ON bodies USING minlsh (body);
CREATE UNIQUE INDEX ON bodies (body) WHERE false;
INSERT INTO fleeting SELECT body FROM bodies;
BEGIN;
INSERT INTO session SELECT body FROM bodies;
SET LOCAL enable_seqscan = off;
SELECT count(*) FROM fleeting WHERE body ~= minlsh_document('a text of some kind, number 7', 1);
SELECT count(*) FROM session WHERE body ~= minlsh_document('a text of some kind, number 7', 1);
SELECT count(*) FROM bodies WHERE body ~= minlsh_document('a text of some kind, number 7', 1);
COMMIT;
SELECT count(*) FROM session;
REFRESH MATERIALIZED VIEW bodies;
SELECT * FROM minlsh_check('bodies');
SELECT * FROM minlsh_check('fleeting');
SELECT * FROM minlsh_check('session');
DROP TABLE fleeting, session;
DROP MATERIALIZED VIEW bodies;

-- Partitions: each has its part of the index.
CREATE TABLE parts (id integer, day integer, body text) PARTITION BY RANGE (day);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
INSERT INTO parts VALUES (1, 1, 'The quick brown fox jumps over the lazy dog near the river bank.');
CREATE INDEX parts_body ON parts USING minlsh (body) WITH (threshold = 0.7);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (200);
CREATE TABLE parts_3 (id integer, day integer, body text);
CREATE INDEX parts_3_other ON parts_3 USING minlsh (body) WITH (threshold = 0.9);
INSERT INTO parts VALUES (2, 101, 'The quick brown fox jumps over the lazy dog near the river bank!');
INSERT INTO parts_3 VALUES (3, 201, 'The quick brown fox jumps over the lazy dog near the river bank?');
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (200) TO (300);
SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'parts_body'::regclass ORDER BY 1;
BEGIN;
SET LOCAL enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM parts WHERE body ~= minlsh_document('some text', 0.9) AND day < 200;
SELECT id FROM parts
WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy dog near the river bank', 0.7) ORDER BY id;
-- An update that moves a row to another partition.
UPDATE parts SET day = 150 WHERE id = 1;
SELECT id, tableoid::regclass FROM parts
WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy dog near the river bank', 0.7) ORDER BY id;
COMMIT;
-- A partition that came with an index of its own kept that, which has other options.
SELECT * FROM minlsh_check('parts_body');
ALTER TABLE parts DETACH PARTITION parts_2;
SELECT * FROM minlsh_check('parts_2');
DROP TABLE parts, parts_2;
DROP FUNCTION found;
