-- Keys and tables that are out of the ordinary.

SET client_min_messages = warning;

-- A primary key of one column that includes others is of one column.
CREATE TABLE docs (id integer, extra integer, body text, PRIMARY KEY (id) INCLUDE (extra));
SELECT minlsh_create_side_table('docs', 'body');
INSERT INTO docs VALUES (1, 1, 'one text'), (2, 1, 'one text');
UPDATE docs SET id = 3 WHERE id = 2;
SELECT * FROM minlsh_check();
DROP TABLE docs;

-- A text may be its own key.
CREATE TABLE titles (title text PRIMARY KEY);
INSERT INTO titles VALUES ('The quick brown fox jumps over the lazy dog'),
	('The quick brown fox jumps over the lazy dog!');
SELECT minlsh_create_side_table('titles', 'title');
INSERT INTO titles VALUES ('The quick brown fox jumps over the lazy dog.');
UPDATE titles SET title = title || '?' WHERE title LIKE '%!';
SELECT * FROM minlsh_check();
DROP TABLE titles;

-- A key may be an array or a row.
CREATE TABLE docs (id integer[] PRIMARY KEY, body text);
SELECT minlsh_create_side_table('docs', 'body');
INSERT INTO docs VALUES ('{1}', 'one text'), ('{2,3}', 'one text'), ('{}', 'one text');
SELECT * FROM minlsh_check();
DROP TABLE docs;
CREATE TYPE edition AS (isbn text, year integer);
CREATE TABLE docs (id edition PRIMARY KEY, body text);
SELECT minlsh_create_side_table('docs', 'body');
INSERT INTO docs VALUES ('(a,2025)', 'one text'), ('(a,2026)', 'one text');
SELECT * FROM minlsh_check();
DROP TABLE docs;
DROP TYPE edition;

-- A temporary table is emptied at COMMIT, which fires no trigger. An index follows, a side table is refused.
CREATE TEMP TABLE docs (id integer PRIMARY KEY, body text) ON COMMIT DELETE ROWS;
SELECT minlsh_create_side_table('docs', 'body');
CREATE INDEX ON docs USING minlsh (body);
BEGIN;
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
COMMIT;
SELECT * FROM minlsh_check();
BEGIN;
INSERT INTO docs VALUES (2, 'another text'), (3, 'another text'), (4, 'one text');
SELECT * FROM minlsh_check();
SELECT * FROM near_duplicates(4);
SELECT * FROM near_duplicates(2);
COMMIT;
DROP TABLE docs;

-- A table that becomes a partition after it was indexed: the index follows what is written through the parent.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT minlsh_create_side_table('docs', 'body');
CREATE TABLE library (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
ALTER TABLE library ATTACH PARTITION docs FOR VALUES FROM (0) TO (100);
INSERT INTO library VALUES (1, 'through the parent'), (2, 'through the parent');
UPDATE library SET body = body || '!' WHERE id = 2;
SELECT * FROM minlsh_check();
DROP TABLE library;

-- A table that gets children after it was indexed: their rows are none of the index's.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT minlsh_create_side_table('docs', 'body');
CREATE TABLE child () INHERITS (docs);
INSERT INTO docs VALUES (1, 'a row of the parent'), (2, 'another row of the parent');
INSERT INTO child VALUES (1, 'a row of the child with the same key'), (3, 'another row of the child');
UPDATE docs SET body = body || '!';
SELECT * FROM minlsh_check();
INSERT INTO docs VALUES (4, 'another row of the parent!');
INSERT INTO child VALUES (4, 'another row of the parent!'), (5, 'another row of the parent!');
SELECT * FROM near_duplicates(2, 0.9, 'docs_minlsh');
SELECT * FROM near_duplicates(5, 0.9, 'docs_minlsh');
SELECT * FROM near_duplicates(2, 0.9, 'docs_minlsh', verify => 'signature');
SELECT DISTINCT sampled, documents, copies, copies_found FROM minlsh_recall('docs_minlsh', 0.9);
DELETE FROM docs WHERE id > 3;
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
SELECT minlsh_create_side_table('docs', 'body', name => 'sketches'),
	minlsh_create_side_table('parts.low', 'body', name => 'sketches');
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
SELECT * FROM minlsh_check('public.sketches');
SELECT * FROM minlsh_check('parts.sketches');
SELECT minlsh_drop_side_table('public.sketches');
SELECT minlsh_create_side_table('docs', 'body', name => 'sketches');
UPDATE docs SET body = 'another text';
DELETE FROM parts.low WHERE id = 2;
SELECT * FROM minlsh_check('public.sketches');
SELECT * FROM minlsh_check('parts.sketches');
DROP TABLE docs;
DROP SCHEMA parts;

-- Rows that an update has left in their page without new index entries are read again as they are.
CREATE TABLE docs (id integer PRIMARY KEY, site integer, body text, seen integer) WITH (fillfactor = 50);
INSERT INTO docs SELECT g, g % 3, 'menu of site ' || g % 3 || ', text ' || md5((g / 2)::text) ||
	md5((g / 2 + 99)::text) || ' and ' || g, 0 FROM generate_series(1, 60) g;
UPDATE docs SET seen = 1 WHERE id % 2 = 0;
UPDATE docs SET seen = 2 WHERE id % 3 = 0;
SELECT count(*), count(*) FILTER (WHERE (doc_a, doc_b) IN
		(SELECT doc_a, doc_b FROM near_duplicate_pairs('SELECT id, body, site FROM docs', 0.5, boilerplate => 'site')))
	FROM near_duplicate_pairs('docs', 0.5, body => 'body', boilerplate => 'site');
DROP TABLE docs;
