-- A key may be of any type with an order. An integer literal reaches any integer key, a string
-- literal any key; what comes from the table itself is of the right type already.

SET client_min_messages = warning;
CREATE TYPE shade AS ENUM ('light', 'dark', 'none');
CREATE DOMAIN isbn AS text CHECK (VALUE ~ '^[0-9]+$');
CREATE FUNCTION keys_test(key_type text, key_1 text, key_2 text, key_3 text) RETURNS TABLE (type text, literal text, lateral_ok boolean, checked bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE keyed (k %s PRIMARY KEY, body text)', key_type);
	EXECUTE format('INSERT INTO keyed VALUES (%L, ''one text''), (%L, ''one text'')', key_1, key_2);
	PERFORM minlsh_create_index('keyed', 'body');
	EXECUTE format('INSERT INTO keyed VALUES (%L, ''another text that is long'')', key_3);
	EXECUTE format('UPDATE keyed SET body = ''one text'' WHERE k = %L', key_3);
	EXECUTE format('DELETE FROM keyed WHERE k = %L', key_2);
	type := key_type;
	EXECUTE format('SELECT string_agg(doc_id::text, '' '') FROM near_duplicates(%L, 0.9)', key_1) INTO literal;
	EXECUTE 'SELECT bool_and(n.doc_id = b.k) FROM keyed a, near_duplicates(a.k, 0.9) n, keyed b WHERE b.k <> a.k' INTO lateral_ok;
	SELECT count(*) INTO checked FROM minlsh_check('keyed');
	DROP TABLE keyed;
	RETURN NEXT;
END $$;
SELECT t.* FROM (VALUES
	('smallint', '1', '2', '3'), ('integer', '1', '2', '3'), ('bigint', '1', '2', '9223372036854775807'),
	('text', 'a', 'b', $$it's "c"$$), ('varchar(10)', 'a', 'b', 'c'), ('char(3)', 'a', 'b', 'c'), ('name', 'a', 'b', 'c'),
	('uuid', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000003'),
	('numeric', '1.5', '2', '3.25'), ('double precision', '1.5', '2', '3.25'), ('date', '2026-01-01', '2026-01-02', '2026-01-03'),
	('timestamptz', '2026-01-01 00:00+00', '2026-01-01 00:00+01', '2026-01-01 00:00+02'), ('interval', '1 day', '1 hour', '2 days'),
	('oid', '1', '2', '4294967295'), ('int4range', '[1,2)', '[2,3)', '[3,4)'),
	('bytea', '\x01', '\x02', '\x03'), ('inet', '10.0.0.1', '10.0.0.2', '10.0.0.3'),
	('shade', 'light', 'dark', 'none'), ('isbn', '1', '2', '3'), ('"char"', 'a', 'b', 'c')
) AS v (type, a, b, c), keys_test(v.type, v.a, v.b, v.c) AS t;

-- Integer literals.
CREATE TABLE small (k smallint PRIMARY KEY, body text);
CREATE TABLE big (k bigint PRIMARY KEY, body text);
SELECT minlsh_create_index('small', 'body'), minlsh_create_index('big', 'body');
INSERT INTO small VALUES (1, 'one text'), (2, 'one text');
INSERT INTO big VALUES (1, 'one text'), (9223372036854775807, 'one text');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates(1, 0.9, 'small');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates(1, 0.9, 'big');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates(1::smallint, 0.9, 'big');
SELECT doc_id, pg_typeof(doc_id) FROM near_duplicates('1', 0.9, 'big');
SELECT s.k, n.* FROM small AS s, near_duplicates(s.k, 0.9, 'big') AS n;
SELECT doc_id FROM near_duplicates(70000, 0.9, 'small');

-- A value that is no key of the index is an error that says what to do.
SELECT near_duplicates('one', index => 'small');
SELECT near_duplicates(1.5, index => 'small');
SELECT near_duplicates('2026-01-01'::date, index => 'small');
DROP TABLE small, big;
CREATE TABLE exact (k numeric PRIMARY KEY, body text);
SELECT minlsh_create_index('exact', 'body');
INSERT INTO exact VALUES (1, 'one text'), (1.5, 'one text');
SELECT near_duplicates(1, index => 'exact');
SELECT doc_id FROM near_duplicates(1::numeric, index => 'exact');
SELECT doc_id FROM near_duplicates('1', index => 'exact');
SELECT doc_id FROM near_duplicates(1.5, index => 'exact');
DROP TABLE exact;
CREATE TABLE named (k text PRIMARY KEY, body text);
SELECT minlsh_create_index('named', 'body');
SELECT near_duplicates(1, index => 'named');
SELECT near_duplicates(ARRAY['a'], index => 'named');

-- Texts as keys: quotes, empty, long, of other types that are read as text.
INSERT INTO named VALUES ('', 'one text'), ('it''s', 'one text'), ('"quoted"', 'one text'), ('back\slash', 'one text'), (repeat('long ', 100), 'one text'), ('NULL', 'one text');
SELECT left(doc_id, 10) AS doc_id FROM near_duplicates('it''s') ORDER BY doc_id;
SELECT count(*) AS "each finds the others" FROM named AS n, near_duplicates(n.k, verify => 'exact') AS d;
SELECT count(*) FROM near_duplicates('') UNION ALL SELECT count(*) FROM near_duplicates('it''s'::varchar) UNION ALL SELECT count(*) FROM near_duplicates('NULL'::name);
SELECT count(*) FROM near_duplicates('unknown') UNION ALL SELECT count(*) FROM near_duplicates(NULL);
SELECT left(doc_a, 10) AS doc_a, left(doc_b, 10) AS doc_b FROM near_duplicate_pairs('named') WHERE doc_a IN ('', 'back\slash') ORDER BY 1, 2;
SELECT DISTINCT cluster_id, size FROM near_duplicate_clusters('named');
PREPARE by_text AS SELECT count(*) FROM near_duplicates($1);
EXECUTE by_text('it''s');
EXECUTE by_text(NULL);
DEALLOCATE by_text;

-- Names that need quoting, and a column called "select".
CREATE SCHEMA "Mixed Case";
CREATE TABLE "Mixed Case"."a ""quoted"" table" ("select" integer PRIMARY KEY, "Body; DROP TABLE x" text);
SELECT minlsh_create_index('named', 'body', key => 'K');
SET search_path = "Mixed Case", public;
SELECT minlsh_create_index('a ""quoted"" table', 'Body; DROP TABLE x');
SELECT minlsh_create_index('"a ""quoted"" table"', 'Body; DROP TABLE x');
INSERT INTO "a ""quoted"" table" VALUES (1, 'one text'), (2, 'one text');
SELECT * FROM near_duplicates(1, index => '"a ""quoted"" table"', verify => 'exact');
SELECT * FROM near_duplicate_pairs('"a ""quoted"" table"', verify => 'exact');
SELECT * FROM minlsh_check('"a ""quoted"" table"');
SELECT minlsh_reindex('"a ""quoted"" table"');
UPDATE "a ""quoted"" table" SET "select" = -"select";
DELETE FROM "a ""quoted"" table" WHERE "select" = -1;
SELECT near_duplicates_of('one text', index => '"a ""quoted"" table_minlsh"');
SELECT * FROM minlsh_check('"a ""quoted"" table"');
SELECT minlsh_drop_index('"a ""quoted"" table"');
RESET search_path;
DROP SCHEMA "Mixed Case" CASCADE;
DROP TABLE named;
DROP FUNCTION keys_test;
DROP TYPE shade;
DROP DOMAIN isbn;
