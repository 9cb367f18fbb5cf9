-- Keys and tables that are out of the ordinary.

SET client_min_messages = warning;

-- A primary key of one column that includes others is of one column.
CREATE TABLE docs (id integer, extra integer, body text, PRIMARY KEY (id) INCLUDE (extra));
SELECT minlsh_create_index('docs', 'body');
INSERT INTO docs VALUES (1, 1, 'one text'), (2, 1, 'one text');
SELECT doc_id FROM near_duplicates(1);
DROP TABLE docs;

-- A text may be its own key.
CREATE TABLE titles (title text PRIMARY KEY);
INSERT INTO titles VALUES ('The quick brown fox jumps over the lazy dog'), ('The quick brown fox jumps over the lazy dog!');
SELECT minlsh_create_index('titles', 'title');
INSERT INTO titles VALUES ('The quick brown fox jumps over the lazy dog.');
UPDATE titles SET title = title || '?' WHERE title LIKE '%!';
SELECT doc_id FROM near_duplicates('The quick brown fox jumps over the lazy dog') ORDER BY doc_id;
SELECT key, body FROM minlsh_indexes;
SELECT * FROM minlsh_check();
DROP TABLE titles;

-- A key may be an array or a row.
CREATE TABLE docs (id integer[] PRIMARY KEY, body text);
SELECT minlsh_create_index('docs', 'body');
INSERT INTO docs VALUES ('{1}', 'one text'), ('{2,3}', 'one text'), ('{}', 'one text');
SELECT doc_id FROM near_duplicates('{1}') ORDER BY doc_id;
SELECT doc_id FROM near_duplicates('{1}', verify => 'exact') ORDER BY doc_id;
SELECT d.id, n.doc_id FROM docs AS d, near_duplicates(d.id, verify => 'exact') AS n ORDER BY d.id, n.doc_id;
SELECT doc_a, doc_b FROM near_duplicate_pairs(verify => 'exact') ORDER BY doc_a, doc_b;
SELECT * FROM minlsh_check();
DROP TABLE docs;
CREATE TYPE edition AS (isbn text, year integer);
CREATE TABLE docs (id edition PRIMARY KEY, body text);
SELECT minlsh_create_index('docs', 'body');
INSERT INTO docs VALUES ('(a,2025)', 'one text'), ('(a,2026)', 'one text');
SELECT doc_id FROM near_duplicates('(a,2025)');
SELECT doc_id FROM near_duplicates('(a,2025)', verify => 'exact');
SELECT d.id, n.doc_id FROM docs AS d, near_duplicates(d.id, verify => 'exact') AS n ORDER BY d.id;
SELECT * FROM minlsh_check();
DROP TABLE docs;
DROP TYPE edition;

-- So it is where the answer is joined with the table: partitions, and rows that are hidden from the caller.
CREATE TABLE docs (id integer[] PRIMARY KEY, body text) PARTITION BY HASH (id);
CREATE TABLE docs_0 PARTITION OF docs FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT minlsh_create_index('docs', 'body');
INSERT INTO docs VALUES ('{1}', 'one text'), ('{2,3}', 'one text'), ('{}', 'one text');
SELECT doc_id FROM near_duplicates('{1}') ORDER BY doc_id;
DROP TABLE docs;
CREATE ROLE regress_minlsh_reader;
CREATE TYPE edition AS (isbn text, year integer);
CREATE TABLE docs (id edition PRIMARY KEY, body text);
INSERT INTO docs VALUES ('(a,2024)', 'one text'), ('(a,2025)', 'one text'), ('(a,2026)', 'one text');
SELECT minlsh_create_index('docs', 'body');
GRANT SELECT ON docs TO regress_minlsh_reader;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY recent ON docs USING ((id).year > 2024);
SET ROLE regress_minlsh_reader;
SELECT doc_id FROM near_duplicates('(a,2026)');
SELECT doc_id FROM nearest_documents('(a,2025)', 1, verify => 'exact');
SELECT doc_a, doc_b FROM near_duplicate_pairs(verify => 'exact');
RESET ROLE;
DROP TABLE docs;
DROP TYPE edition;
DROP ROLE regress_minlsh_reader;

-- A temporary table that is emptied at COMMIT: so is its index.
CREATE TEMP TABLE docs (id integer PRIMARY KEY, body text) ON COMMIT DELETE ROWS;
SELECT minlsh_create_index('docs', 'body');
BEGIN;
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
SELECT doc_id FROM near_duplicates(1);
COMMIT;
SELECT near_duplicates_of('one text');
SELECT * FROM minlsh_check();
SELECT documents FROM minlsh_indexes;
BEGIN;
INSERT INTO docs VALUES (2, 'another text'), (3, 'another text');
SELECT doc_id FROM near_duplicates(2);
SELECT * FROM minlsh_check();
SELECT documents FROM minlsh_indexes;
COMMIT;
SELECT near_duplicate_pairs();
DROP TABLE docs;
BEGIN;
CREATE TEMP TABLE docs (id integer PRIMARY KEY, body text) ON COMMIT DROP;
SELECT minlsh_create_index('docs', 'body');
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
SELECT doc_id FROM near_duplicates(1);
COMMIT;
SELECT index FROM minlsh_indexes;

-- A table that becomes a partition after it was indexed: once built anew, the index follows
-- what is written through the parent.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT minlsh_create_index('docs', 'body');
CREATE TABLE library (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
ALTER TABLE library ATTACH PARTITION docs FOR VALUES FROM (0) TO (100);
SELECT * FROM minlsh_check();
SELECT minlsh_reindex('docs');
INSERT INTO library VALUES (1, 'through the parent'), (2, 'through the parent');
UPDATE library SET body = body || '!' WHERE id = 2;
SELECT * FROM minlsh_check();
DROP TABLE library;

-- A table that gets children after it was indexed: their rows are none of the index's.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT minlsh_create_index('docs', 'body');
CREATE TABLE child () INHERITS (docs);
INSERT INTO docs VALUES (1, 'a row of the parent'), (2, 'another row of the parent');
INSERT INTO child VALUES (1, 'a row of the child with the same key'), (3, 'another row of the child');
UPDATE docs SET body = body || '!';
SELECT * FROM minlsh_check();
DELETE FROM ONLY docs WHERE id = 2;
DELETE FROM docs WHERE id = 3;
SELECT * FROM minlsh_check();
DELETE FROM child WHERE id = 1;
SELECT * FROM minlsh_check();
DROP TABLE docs CASCADE;

-- A partitioned table and its partition in another schema may have indexes of the same name.
CREATE SCHEMA parts;
CREATE TABLE docs (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE parts.low PARTITION OF docs FOR VALUES FROM (0) TO (100);
SELECT minlsh_create_index('docs', 'body', name => 'sketches'), minlsh_create_index('parts.low', 'body', name => 'sketches');
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
SELECT * FROM minlsh_check('public.sketches');
SELECT * FROM minlsh_check('parts.sketches');
SELECT minlsh_drop_index('public.sketches');
SELECT minlsh_create_index('docs', 'body', name => 'sketches');
UPDATE docs SET body = 'another text';
DELETE FROM parts.low WHERE id = 2;
SELECT i.index, i.documents, c.problem FROM minlsh_indexes AS i LEFT JOIN LATERAL minlsh_check(i.index) AS c ON true ORDER BY i.index::text;
DROP TABLE docs;
DROP SCHEMA parts;
