-- A source may be a query: key first, then a text, a set or a signature.
SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, title text, body text, tenant text, added date);
INSERT INTO docs SELECT i, 'title ' || i % 3, (SELECT string_agg(md5((i % 4 * 100 + w)::text), ' ')
	FROM generate_series(1, 20) AS w) || CASE WHEN i > 4 THEN ' again' ELSE '' END,
	CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, date '2026-01-01' + i FROM generate_series(1, 8) AS i;

SELECT doc_a, doc_b, round(similarity::numeric, 3) FROM near_duplicate_pairs('SELECT id, body FROM docs', 0.9)
ORDER BY 1;
SELECT doc_a, doc_b FROM near_duplicate_pairs($$SELECT id, title || ' ' || body FROM docs
	WHERE id <> 3$$, 0.9) ORDER BY 1;
-- Any query: with comments, a semicolon, VALUES, TABLE, WITH, parentheses, columns without names.
SELECT doc_a, doc_b FROM near_duplicate_pairs('-- all of them
	/* and /* more */ */ SELECT id, body FROM docs WHERE id IN (1, 5); -- the end', 0.9);
SELECT doc_a, doc_b FROM near_duplicate_pairs('VALUES (1, ''one and the same''), (2, ''one and the same'')', 0.9);
SELECT doc_a, doc_b FROM near_duplicate_pairs(
	'SELECT 1, ''one and the same'' UNION ALL SELECT 2, ''one and the same''', 0.9);
SELECT doc_a, doc_b FROM near_duplicate_pairs('WITH d AS (SELECT id, body FROM docs WHERE id IN (2, 6)) TABLE d', 0.9);
SELECT doc_a, doc_b FROM near_duplicate_pairs('(SELECT id, body FROM docs WHERE id IN (2, 6))', 0.9);
CREATE TABLE pairs_of_two AS TABLE docs;
ALTER TABLE pairs_of_two DROP COLUMN title, DROP COLUMN tenant, DROP COLUMN added;
SELECT doc_a, doc_b FROM near_duplicate_pairs('TABLE pairs_of_two', 1 - 0.1) ORDER BY 1 LIMIT 1;
DROP TABLE pairs_of_two;
-- Further columns are there for keep and scope.
SELECT doc_id, kept_id FROM near_duplicate_plan('SELECT id, body, added AS first FROM docs', 0.9,
	keep => 'first DESC') ORDER BY 1;
SELECT doc_id, kept_id FROM near_duplicate_plan('SELECT id, body, tenant FROM docs', 0.9, keep => 'tenant, id DESC',
	scope => 'tenant') ORDER BY 1;
-- Sets and signatures.
SELECT doc_a, doc_b FROM near_duplicate_pairs('SELECT id, minlsh_signature(minhash(body)) FROM docs', 0.9) ORDER BY 1;
SELECT doc_a, doc_b FROM near_duplicate_pairs('SELECT id, string_to_array(body, '' '') FROM docs', 0.9) ORDER BY 1;
SELECT count(*) FROM near_duplicate_pairs('SELECT id, minlsh_signature(minhash(body, num_perm => 64)) FROM docs', 0.9);
-- Views, functions, cursors, CREATE TABLE AS.
CREATE VIEW evens AS SELECT id, body FROM docs WHERE tenant = 'even';
SELECT doc_a, doc_b FROM near_duplicate_pairs('evens', 0.9, key_column => 'id') ORDER BY 1;
SELECT doc_a, doc_b FROM near_duplicate_pairs('evens', 0.9);
CREATE TABLE kept AS SELECT doc_a, doc_b FROM near_duplicate_pairs('docs', 0.9, body => 'body');
SELECT * FROM kept ORDER BY 1;
DO $$ DECLARE n bigint; BEGIN SELECT count(*) INTO n
FROM near_duplicate_pairs('SELECT id, body FROM docs', 0.9); RAISE INFO '% pairs', n; END $$;
-- Names are those of SQL.
CREATE SCHEMA "App";
CREATE TABLE "App"."Docs" ("The Key" uuid UNIQUE NOT NULL, "The Body" varchar);
INSERT INTO "App"."Docs" SELECT md5(i::text)::uuid, 'the very same text' FROM generate_series(1, 2) AS i;
SELECT * FROM near_duplicate_pairs('"App"."Docs"');
SELECT count(*) FROM "App"."Docs" WHERE "The Key" IN (SELECT doc_b FROM near_duplicate_pairs('"App"."Docs"'));
SET search_path = "App", public;
SELECT count(*) FROM near_duplicate_pairs('"Docs"');
RESET search_path;
SELECT count(*) FROM near_duplicate_pairs('App.Docs');

-- Errors name the argument.
SELECT * FROM near_duplicate_pairs(NULL);
SELECT * FROM near_duplicate_pairs('nowhere');
SELECT * FROM near_duplicate_pairs('SELECT id FROM docs');
SELECT * FROM near_duplicate_pairs('SELECT tenant, body FROM docs');
SELECT * FROM near_duplicate_pairs('SELECT NULL::integer, body FROM docs');
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM docs WHERE id = $1');
SELECT * FROM near_duplicate_pairs('SELECT id, added FROM docs');
SELECT * FROM near_duplicate_pairs('SELECT id, text FROM docs');
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM docs; DROP TABLE docs');
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM docs) AS d; DROP TABLE docs; --');
SELECT * FROM near_duplicate_pairs('WITH gone AS (DELETE FROM docs RETURNING id, body) SELECT * FROM gone');
SELECT * FROM near_duplicate_pairs('SELECT id, body INTO stolen FROM docs');
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM docs FOR UPDATE');
SELECT * FROM near_duplicate_pairs('DELETE FROM docs RETURNING id, body');
SELECT * FROM near_duplicate_pairs('docs', body => 'title, body');
SELECT * FROM near_duplicate_pairs('docs', body => 'text');
SELECT * FROM near_duplicate_pairs('docs', key_column => 'key', body => 'body');
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM docs', body => 'body');
SELECT * FROM near_duplicate_pairs('docs', 1.5, body => 'body');
SELECT * FROM near_duplicate_pairs('docs', 0.9, 'exactly', body => 'body');
SELECT * FROM near_duplicate_pairs('docs', 0.9, body => 'body', unit => 'sentence');
SELECT * FROM near_duplicate_pairs('docs', scope => 'owner', body => 'body');
SELECT * FROM near_duplicate_pairs('docs_pkey');
-- Not even a function that the query calls can write.
CREATE FUNCTION writes(integer) RETURNS integer LANGUAGE sql VOLATILE AS 'DELETE FROM docs WHERE id = $1 RETURNING id';
SELECT * FROM near_duplicate_pairs('SELECT writes(id), body FROM docs');
SELECT count(*) FROM docs;

-- A reader sees pairs of the rows that the reader sees.
CREATE ROLE minlsh_reader;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON docs TO minlsh_reader USING (tenant = 'odd');
SET ROLE minlsh_reader;
SELECT * FROM near_duplicate_pairs('docs', 0.9, body => 'body');
RESET ROLE;
GRANT SELECT (id, body, tenant) ON docs TO minlsh_reader;
SET ROLE minlsh_reader;
SELECT doc_a, doc_b FROM near_duplicate_pairs('docs', 0.9, body => 'body') ORDER BY 1;
SELECT doc_a, doc_b FROM near_duplicate_pairs('SELECT id, body FROM docs', 0.9) ORDER BY 1;
SELECT doc_a, doc_b FROM near_duplicate_pairs('docs', 0.9, body => 'title') ORDER BY 1;
SELECT doc_id, kept_id FROM near_duplicate_plan('docs', 0.9, keep => 'added', body => 'body');
RESET ROLE;
DROP TABLE docs CASCADE;
DROP TABLE kept;
DROP FUNCTION writes;
DROP SCHEMA "App" CASCADE;
DROP ROLE minlsh_reader;
