-- A key may be of any type with an order. An integer literal reaches any integer key, a string
-- literal any key; what comes from the table itself is of the right type already.

SET client_min_messages = warning;
CREATE TYPE shade AS ENUM ('light', 'dark', 'none');
CREATE DOMAIN isbn AS text CHECK (VALUE ~ '^[0-9]+$');
CREATE FUNCTION keys_test(make text, key_type text, key_1 text, key_2 text, key_3 text)
RETURNS TABLE (type text, literal text, lateral_ok boolean, checked bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE keyed (k %s PRIMARY KEY, body text)', key_type);
	EXECUTE format('INSERT INTO keyed VALUES (%L, ''one text''), (%L, ''one text'')', key_1, key_2);
	EXECUTE make;
	EXECUTE format('INSERT INTO keyed VALUES (%L, ''another text that is long'')', key_3);
	EXECUTE format('UPDATE keyed SET body = ''one text'' WHERE k = %L', key_3);
	EXECUTE format('DELETE FROM keyed WHERE k = %L', key_2);
	type := key_type;
	EXECUTE format('SELECT string_agg(doc_id::text, '' '') FROM near_duplicates(%L, 0.9)', key_1) INTO literal;
	EXECUTE 'SELECT bool_and(n.doc_id = b.k) FROM keyed a, near_duplicates(a.k, 0.9) n, keyed b WHERE b.k <> a.k'
		INTO lateral_ok;
	SELECT count(*) INTO checked FROM minlsh_check('keyed');
	DROP TABLE keyed;
	RETURN NEXT;
END $$;
CREATE TABLE kinds (type text, a text, b text, c text);
INSERT INTO kinds VALUES
	('smallint', '1', '2', '3'), ('integer', '1', '2', '3'), ('bigint', '1', '2', '9223372036854775807'),
	('text', 'a', 'b', $$it's "c"$$), ('varchar(10)', 'a', 'b', 'c'), ('char(3)', 'a', 'b', 'c'), ('name', 'a', 'b', 'c'),
	('uuid', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002',
		'00000000-0000-0000-0000-000000000003'),
	('numeric', '1.5', '2', '3.25'), ('double precision', '1.5', '2', '3.25'),
	('date', '2026-01-01', '2026-01-02', '2026-01-03'),
	('timestamptz', '2026-01-01 00:00+00', '2026-01-01 00:00+01', '2026-01-01 00:00+02'),
	('interval', '1 day', '1 hour', '2 days'), ('oid', '1', '2', '4294967295'),
	('int4range', '[1,2)', '[2,3)', '[3,4)'), ('bytea', '\x01', '\x02', '\x03'),
	('inet', '10.0.0.1', '10.0.0.2', '10.0.0.3'),
	('integer[]', '{1}', '{2}', '{3,4}'),
	('shade', 'light', 'dark', 'none'), ('isbn', '1', '2', '3');

-- An index, and a side table.
SELECT t.* FROM kinds AS v, keys_test('CREATE INDEX ON keyed USING minlsh (body)', v.type, v.a, v.b, v.c) AS t;
SELECT t.* FROM kinds AS v, keys_test($$SELECT minlsh_create_side_table('keyed', 'body')$$, v.type, v.a, v.b, v.c) AS t;
DROP TABLE kinds;

-- Integer literals.
CREATE TABLE small (k smallint PRIMARY KEY, body text);
CREATE TABLE big (k bigint PRIMARY KEY, body text);
CREATE INDEX ON small USING minlsh (body);
SELECT minlsh_create_side_table('big', 'body');
INSERT INTO small VALUES (1, 'one text'), (2, 'one text');
INSERT INTO big VALUES (1, 'one text'), (9223372036854775807, 'one text');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates(1, 0.9, 'small');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates(1, 0.9, 'big');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates(1::smallint, 0.9, 'big');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates('1', 0.9, 'big');
SELECT s.k, n.* FROM small AS s, near_duplicates(s.k, 0.9, 'big') AS n;
SELECT doc_id FROM near_duplicates(70000, 0.9, 'small');

-- A value that is no key is an error that says what to do.
SELECT near_duplicates('one', index => 'small');
SELECT near_duplicates('a text of which near-duplicates are wanted', index => 'big');
SELECT near_duplicates(1.5, index => 'small');
SELECT near_duplicates('2026-01-01'::date, index => 'small');
DROP TABLE small, big;
CREATE TABLE exact (k numeric PRIMARY KEY, body text);
CREATE INDEX ON exact USING minlsh (body);
INSERT INTO exact VALUES (1, 'one text'), (1.5, 'one text');
SELECT near_duplicates(1, index => 'exact');
SELECT doc_id FROM near_duplicates(1::numeric, index => 'exact');
SELECT doc_id FROM near_duplicates('1', index => 'exact');
SELECT doc_id FROM near_duplicates(1.5, index => 'exact');
DROP TABLE exact;

-- Which column is the key: the primary key, or another that is unique and not null.
CREATE TABLE paper (doi text UNIQUE NOT NULL, place integer UNIQUE, body text);
CREATE INDEX ON paper USING minlsh (body);
INSERT INTO paper VALUES ('10.1/a', 1, 'one text'), ('10.1/b', 2, 'one text'), ('10.1/c', NULL, 'one text');
SELECT doc_id FROM near_duplicates('10.1/a');
ALTER TABLE paper ALTER place SET NOT NULL;
UPDATE paper SET place = 3 WHERE place IS NULL;
ALTER TABLE paper ADD PRIMARY KEY (place);
SELECT doc_id FROM near_duplicates(1);
CREATE MATERIALIZED VIEW stored AS SELECT place AS id, body FROM paper;
CREATE INDEX ON stored USING minlsh (body);
SELECT near_duplicates(1, index => 'stored');
CREATE UNIQUE INDEX ON stored (id);
SELECT doc_id FROM near_duplicates(1, index => 'stored');
DROP MATERIALIZED VIEW stored;
DROP TABLE paper;

-- Without a key of one column there is the operator.
CREATE TABLE page (site text, path text, body text, PRIMARY KEY (site, path));
CREATE INDEX page_body_idx ON page USING minlsh (body);
INSERT INTO page VALUES ('a', '/', 'one text'), ('a', '/index', 'one text'), ('b', '/', 'one text');
SELECT near_duplicates('a');
SELECT near_duplicates_of('one text');
SELECT b.site, b.path FROM page AS a JOIN page AS b ON b.body ~= minlsh_document(a.body, 0.9)
WHERE (a.site, a.path) = ('a', '/') AND (b.site, b.path) <> (a.site, a.path) ORDER BY 1, 2;
DROP TABLE page;

-- The CHECK of a domain is run when a value is stored, and not when it is looked for.
CREATE FUNCTION loud(text) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RAISE WARNING 'checked %', $1; RETURN true; END $$;
CREATE DOMAIN loud_key AS text CHECK (loud(VALUE));
CREATE DOMAIN other_key AS text CHECK (VALUE <> 'b');
CREATE TABLE guarded (k loud_key PRIMARY KEY, body text);
CREATE INDEX ON guarded USING minlsh (body);
INSERT INTO guarded VALUES ('a', 'one text'), ('b', 'one text');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates('a');
SELECT n.doc_id, pg_typeof(n.doc_id) FROM guarded AS g, near_duplicates(g.k) AS n;
DROP INDEX guarded_body_idx;
SELECT minlsh_create_side_table('guarded', 'body');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates('a');
SELECT n.doc_id, pg_typeof(n.doc_id) FROM guarded AS g, near_duplicates(g.k) AS n;
DROP TABLE guarded;
DROP DOMAIN loud_key, other_key;
DROP FUNCTION loud;

-- Texts as keys: quotes, empty, long, of other types that are read as text.
CREATE TABLE named (k text PRIMARY KEY, body text);
CREATE INDEX ON named USING minlsh (body);
SELECT near_duplicates(1);
SELECT near_duplicates(ARRAY['a']);
INSERT INTO named VALUES ('', 'one text'), ('it''s', 'one text'), ('"quoted"', 'one text'),
	('back\slash', 'one text'),
	(repeat('long ', 100), 'one text'), ('NULL', 'one text');
SELECT left(doc_id, 10) AS doc_id FROM near_duplicates('it''s') ORDER BY doc_id;
SELECT count(*) AS "each finds the others" FROM named AS n, near_duplicates(n.k) AS d;
SELECT count(*) FROM near_duplicates('') UNION ALL SELECT count(*) FROM near_duplicates('it''s'::varchar)
UNION ALL SELECT count(*) FROM near_duplicates('NULL'::name);
SELECT count(*) FROM near_duplicates('unknown') UNION ALL SELECT count(*) FROM near_duplicates(NULL);
PREPARE by_text AS SELECT count(*) FROM near_duplicates($1);
EXECUTE by_text('it''s');
EXECUTE by_text(NULL);
DEALLOCATE by_text;
DROP TABLE named;

-- Names that need quoting, and a column called "select".
CREATE SCHEMA "Mixed Case";
CREATE TABLE "Mixed Case"."a ""quoted"" $1 table" ("select" integer PRIMARY KEY, "Body; DROP TABLE x" text);
SET search_path = "Mixed Case", public;
CREATE INDEX "an ""index""" ON "a ""quoted"" $1 table" USING minlsh ("Body; DROP TABLE x");
INSERT INTO "a ""quoted"" $1 table" VALUES (1, 'one text'), (2, 'one text');
SELECT * FROM near_duplicates(1);
SELECT * FROM near_duplicates(1, index => '"an ""index"""');
SELECT * FROM near_duplicates_of('one text', index => '"a ""quoted"" $1 table"');
SELECT shared FROM minlsh_explain('"a ""quoted"" $1 table"', 1, 2);
SELECT index, relation, key, body FROM minlsh_indexes;
RESET search_path;
ALTER SCHEMA "Mixed Case" RENAME TO "A schema";
SELECT * FROM near_duplicates(1, index => '"A schema"."an ""index"""');
DROP SCHEMA "A schema" CASCADE;

-- What people type works as it stands: jobs return keys of the type minlsh_key, and PostgreSQL compares one with a
-- column in the type of the column.
CREATE FUNCTION typed_test(key_type text, key_1 text, key_2 text, key_3 text)
RETURNS TABLE (type text, joined bigint, anti bigint, updated text, deleted text, left_over text) LANGUAGE plpgsql AS $$
BEGIN
	type := key_type;
	EXECUTE format('CREATE TABLE typed (id %1$s PRIMARY KEY, copy_of %1$s, body text)', key_type);
	EXECUTE format('INSERT INTO typed VALUES (%L, NULL, ''one text of some length''),
		(%L, NULL, ''One text of some length!''), (%L, NULL, ''another'')', key_1, key_2, key_3);
	SELECT count(*) INTO joined
	FROM typed AS d JOIN near_duplicate_pairs('typed', 0.7, body => 'body') AS p ON d.id = p.doc_b;
	SELECT count(*) INTO anti FROM typed
	WHERE id NOT IN (SELECT doc_id FROM near_duplicate_plan('typed', 0.7, body => 'body'));
	UPDATE typed SET copy_of = kept_id FROM near_duplicate_plan('typed', 0.7, body => 'body') AS p
	WHERE p.doc_id = typed.id RETURNING copy_of INTO updated;
	DELETE FROM typed WHERE id IN (SELECT doc_id FROM near_duplicate_plan('typed', 0.7, body => 'body'))
	RETURNING id INTO deleted;
	SELECT string_agg(id::text, ' ' ORDER BY id) INTO left_over FROM typed;
	DROP TABLE typed;
	RETURN NEXT;
END $$;
SELECT t.* FROM (VALUES ('smallint', '1', '2', '10'), ('integer', '1', '2', '10'),
	('bigint', '1', '2', '9223372036854775807'), ('numeric', '1.0', '2.50', '10'), ('numeric(9,2)', '1', '2', '10'),
	('text', 'a', 'b', $$it's "c"$$),
	('varchar', 'a', 'b', 'c'), ('varchar(10)', '1', '2', '10'), ('char(3)', 'a', 'b', 'c'), ('name', 'a', 'b', 'c'),
	('isbn', '1', '2', '10'), ('uuid', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002',
	'00000000-0000-0000-0000-000000000010'),
	('date', '2026-01-01', '2026-01-02', '2026-01-10'), ('timestamp', '2026-01-01 00:00', '2026-01-01 12:00', 'infinity'),
	('timestamptz', '2026-01-01 00:00+00', '2026-01-01 12:00+01', '-infinity'))
	AS v(type, a, b, c), typed_test(v.type, v.a, v.b, v.c) AS t;
DROP FUNCTION typed_test;
-- Dates join as PostgreSQL's own would. Other types take a cast.
CREATE TABLE dated (id date PRIMARY KEY, at interval UNIQUE NOT NULL, body text);
INSERT INTO dated SELECT date '2026-01-01' + i, i * interval '1 hour', 'one text' FROM generate_series(1, 2) AS i;
DELETE FROM dated WHERE id IN (SELECT doc_id FROM near_duplicate_plan('dated', 0.9)) RETURNING id;
INSERT INTO dated SELECT date '2026-01-03', interval '2 hours', 'one text';
EXPLAIN (COSTS OFF) SELECT FROM dated JOIN near_duplicate_plan('dated', 0.9) ON doc_id = id;
\set VERBOSITY terse
SELECT at FROM dated WHERE at IN (SELECT doc_id FROM near_duplicate_plan('dated', 0.9, key_column => 'at'));
\set VERBOSITY default
SELECT at FROM dated WHERE at IN (SELECT doc_id::interval FROM near_duplicate_plan('dated', 0.9, key_column => 'at'));
DROP TABLE dated;

-- The index of the column serves, and hash and merge joins are possible.
CREATE TABLE many AS SELECT id, 'text ' || md5((id / 2)::text) || md5((-id / 2)::text) AS body
FROM generate_series(1, 2000) AS id;
ALTER TABLE many ADD PRIMARY KEY (id);
ANALYZE many;
CREATE TABLE plan AS SELECT doc_id, kept_id FROM near_duplicate_plan('many', 0.9);
CREATE INDEX ON plan (doc_id);
ANALYZE plan;
SET enable_hashjoin = off;
EXPLAIN (COSTS OFF) SELECT many.* FROM (SELECT doc_id FROM near_duplicate_plan('many', 0.9) LIMIT 10) AS p
	JOIN many ON many.id = p.doc_id;
EXPLAIN (COSTS OFF) SELECT * FROM plan AS a JOIN plan AS b ON a.doc_id = b.kept_id;
RESET enable_hashjoin;
EXPLAIN (COSTS OFF) SELECT FROM many JOIN plan ON many.id = plan.doc_id;
EXPLAIN (COSTS OFF) SELECT FROM plan WHERE doc_id = '77';
SELECT count(*), count(DISTINCT doc_id), min(doc_id), max(doc_id) FROM plan;
SELECT doc_id FROM plan ORDER BY doc_id LIMIT 3;
SELECT count(*) FROM plan WHERE doc_id > 9 AND doc_id <= '99' AND doc_id NOT IN (11, 13);
SELECT count(*) FROM (SELECT doc_id FROM plan UNION SELECT kept_id FROM plan) AS u;
SELECT count(*) FROM (SELECT doc_id::integer FROM plan EXCEPT SELECT id FROM many) AS e;
SELECT coalesce(kept_id, id) FROM many LEFT JOIN plan ON doc_id = id;
SELECT count(*) FROM many LEFT JOIN plan ON doc_id = id WHERE coalesce(kept_id::integer, id) <> id;
SELECT 'doc ' || doc_id AS name, length(doc_id), doc_id + 1 AS next, pg_typeof(doc_id) FROM plan WHERE doc_id = 99;
PREPARE by_key AS SELECT kept_id FROM plan WHERE doc_id = $1;
EXECUTE by_key('99');
DEALLOCATE by_key;
DROP TABLE many, plan;

-- Equal are keys of the same bytes. Numbers come first, by their values, of whatever length; the rest as text.
CREATE TABLE ordered (place serial, k minlsh_key PRIMARY KEY);
INSERT INTO ordered (k) VALUES ('-123456789012345678901234567890.5'), ('-10'), ('-9'), ('-1.25'), ('-1.2'), ('-0'),
	('-0.00'), ('0'), ('0.0'), ('00'), ('0.05'), ('0.5'), ('1'), ('1.0'), ('01'), ('1.9'), ('9'), ('10'),
	('99999999999999999999'), ('100000000000000000000'), (''), (' 1'), ('-'), ('--1'), ('.5'), ('1.'), ('1.2.3'), ('1e3'),
	('NaN'), ('a'), ('b'), ('٣');
SELECT array_agg(k ORDER BY k COLLATE "C") FROM ordered;
-- A total order, by every operator, and what the index, sorting, hashing and the aggregates say.
SELECT count(*) FILTER (WHERE (a.k < b.k) IS DISTINCT FROM (minlsh_key_cmp(a.k, b.k) < 0)
	OR (a.k <= b.k) IS DISTINCT FROM (NOT b.k < a.k) OR (a.k > b.k) IS DISTINCT FROM (b.k < a.k)
	OR (a.k >= b.k) IS DISTINCT FROM (b.k <= a.k) OR (a.k = b.k) IS DISTINCT FROM (a.k::text = b.k::text)
	OR (a.k <> b.k) IS DISTINCT FROM (a.k < b.k OR b.k < a.k)
	OR (a.k = b.k) AND minlsh_key_hash(a.k) <> minlsh_key_hash(b.k)) AS wrong,
	count(*) FILTER (WHERE a.k < b.k AND EXISTS (SELECT FROM ordered AS c WHERE b.k < c.k AND NOT a.k < c.k))
		AS intransitive,
	count(*) FILTER (WHERE CASE WHEN a.k ~ '^-?[0-9]+([.][0-9]+)?$' AND b.k ~ '^-?[0-9]+([.][0-9]+)?$'
		THEN a.k < b.k AND b.k::numeric < a.k::numeric END) AS misplaced
FROM ordered AS a, ordered AS b;
SELECT min(k), max(k) FROM ordered WHERE k ~ '^[0-9]+$';
DROP TABLE ordered;
DROP FUNCTION keys_test;
DROP TYPE shade;
DROP DOMAIN isbn;

-- A key in one column with one of another type: by JOIN ... USING, NATURAL JOIN, UNION, CASE and COALESCE. Either it
-- goes, or the error says which types do not go together. The columns of texts go.
-- A type of texts of its own, as citext is.
CREATE TYPE caseless;
CREATE FUNCTION caseless_in(cstring) RETURNS caseless AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION caseless_out(caseless) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE caseless (INPUT = caseless_in, OUTPUT = caseless_out, LIKE = text, CATEGORY = 'S', COLLATABLE = true);
CREATE CAST (caseless AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE DOMAIN word AS text;
CREATE TYPE weekday AS ENUM ('1', '2');
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE TABLE keys_with AS
SELECT format_type(t.oid, NULL) AS type, w.way, outcome(replace(replace(w.statement, '%a', CASE WHEN w.turned
	THEN 'NULL::minlsh_key' ELSE 'NULL::' || format_type(t.oid, NULL) END), '%b', CASE WHEN w.turned
	THEN 'NULL::' || format_type(t.oid, NULL) ELSE 'NULL::minlsh_key' END)) AS outcome
FROM pg_type AS t, (SELECT * FROM (VALUES
	('USING', 'SELECT k FROM (SELECT %a AS k) AS a JOIN (SELECT %b AS k) AS b USING (k)'),
	('USING, all rows', 'SELECT k FROM (SELECT %a AS k) AS a FULL JOIN (SELECT %b AS k) AS b USING (k)'),
	('NATURAL', 'SELECT * FROM (SELECT %a AS k) AS a NATURAL LEFT JOIN (SELECT %b AS k) AS b'),
	('UNION', 'SELECT %a UNION SELECT %b'), ('CASE', 'SELECT CASE WHEN random() < 0.5 THEN %a ELSE %b END'),
	('COALESCE', 'SELECT COALESCE(%a, %b)'), ('ARRAY', 'SELECT ARRAY[%a, %b]'), ('IN', 'SELECT %a IN (%b, %b)'),
	('= ANY', 'SELECT %a IN (SELECT %b)'), ('NULLIF', 'SELECT NULLIF(%a, %b)'), ('=', 'SELECT %a = %b'),
	('GREATEST', 'SELECT GREATEST(%a, %b)'), ('VALUES', 'VALUES (%a), (%b)')) AS w(way, statement),
	(VALUES (false), (true)) AS turns(turned)) AS w
WHERE t.typtype IN ('b', 'e', 'd', 'r', 'm') AND t.typname !~ '^_|^pg_toast' AND pg_type_is_visible(t.oid);
-- Of a type such as citext the extension knows nothing, so it has no cast to it: PostgreSQL compares both as text in
-- ON, but has no type for the one column of USING.
SELECT type, array_agg(DISTINCT way) FROM keys_with WHERE outcome LIKE 'XX%' GROUP BY type ORDER BY type;
SELECT type, outcome, array_agg(DISTINCT way ORDER BY way) AS ways FROM keys_with
WHERE type IN ('text', 'character varying', 'character', 'name', 'word', 'bigint', 'uuid', 'date', 'caseless')
GROUP BY type, outcome ORDER BY type COLLATE "C", outcome COLLATE "C";
-- Which of two errors an enum raises depends on the version of PostgreSQL.
SELECT DISTINCT outcome IN ('42804', '42883') AS refused FROM keys_with WHERE type = 'weekday';
DROP TABLE keys_with;
CREATE TABLE of_texts (k varchar(3) PRIMARY KEY, c char(3) UNIQUE NOT NULL, n name, t text);
INSERT INTO of_texts VALUES ('a', 'a', 'a', 'a'), ('b', 'b', 'b', 'b');
CREATE TABLE of_keys AS SELECT v.k::minlsh_key AS k, v.k::minlsh_key AS c, v.k::minlsh_key AS n, v.k::minlsh_key AS t
FROM (VALUES ('a'), ('d')) AS v(k);
SELECT k, pg_typeof(k) FROM of_texts FULL JOIN of_keys USING (k) ORDER BY k;
SELECT c, pg_typeof(c) FROM of_keys FULL JOIN of_texts USING (c) ORDER BY c;
SELECT n, pg_typeof(n) FROM of_texts FULL JOIN of_keys USING (n) ORDER BY n;
SELECT * FROM of_texts NATURAL JOIN of_keys;
SELECT k FROM of_texts UNION SELECT k FROM of_keys ORDER BY k;
DROP TABLE of_texts, of_keys;
DROP DOMAIN word;
DROP TYPE weekday;
DROP FUNCTION outcome(text);
DROP TYPE caseless CASCADE;
