-- A side table: one call, and it follows the table from then on.

CREATE TABLE docs (id integer PRIMARY KEY, title text, body text);
INSERT INTO docs VALUES
	(1, 'fox', 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all.'),
	(2, 'fox', 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all!'),
	(3, 'ant', 'An ant is never late, and never early: it is where the others are.'),
	(4, 'nil', NULL);
SELECT minlsh_create_side_table('docs', 'body');
SELECT * FROM minlsh_check('docs');
SET client_min_messages = warning;

-- What is stored: a row for each document that has a shingle. The index over the bands has the options.
SELECT doc_id, s.signature = minhash(d.body) AS signature, s.bands = band_hashes(minhash(d.body), 16, 6) AS bands
FROM docs_minlsh AS s JOIN docs AS d ON d.id = s.doc_id ORDER BY doc_id;
SELECT p.probes = 16 AND p.rows = 6 AS bands_that_are_probed FROM lsh_params(0.8, 128, 0.99) AS p;
\d docs_minlsh
SELECT obj_description('docs_minlsh'::regclass) AS comment;

-- It is a table, and can be queried: here, by the index, for documents that share a band.
SET enable_seqscan = off;
SELECT b.doc_id FROM docs_minlsh AS a JOIN docs_minlsh AS b ON b.bands && a.bands WHERE a.doc_id = 1 ORDER BY b.doc_id;
RESET enable_seqscan;

-- What keeps it: triggers of the table, which name it in a condition, and two of its own.
SELECT pg_get_triggerdef(oid) AS trigger, tgenabled FROM pg_trigger
WHERE tgrelid IN ('docs'::regclass, 'docs_minlsh'::regclass) AND NOT tgisinternal ORDER BY tgrelid, tgname;

-- The same again is refused, or is the one that is there.
SELECT minlsh_create_side_table('docs', 'body');
SET client_min_messages = notice;
SELECT minlsh_create_side_table('docs', 'body', if_not_exists => true);
SET client_min_messages = warning;

-- A second one, on another column and with other options; names must then be told apart.
SELECT minlsh_create_side_table('docs', 'title', threshold => 0.5, num_perm => 64, shingle_size => 2, scheme =>
	'permutations', seed => -1);
SELECT minlsh_drop_side_table('docs');
SELECT minlsh_rebuild_side_table('docs');
SELECT bool_and(s.signature = minhash(d.title, 64, 2, 'char', 'permutations', -1)) AS signatures
FROM docs_title_minlsh AS s JOIN docs AS d ON d.id = s.doc_id;
SELECT * FROM minlsh_check('docs');
SELECT minlsh_drop_side_table('docs_title_minlsh');

-- Names: of one's own, or the first that is free; the schema is that of the table, or another.
CREATE SCHEMA aside;
SELECT minlsh_create_side_table('docs', 'title', name => 'titles', threshold => 0.5, schema => 'aside');
SELECT minlsh_create_side_table('docs', 'title', name => 'Titles, "all"', threshold => 0.5, unit => 'word',
	shingle_size => 1);
SELECT minlsh_create_side_table('docs', 'body', recall => 0.9), minlsh_create_side_table('docs', 'body', seed => 1);
SELECT conrelid::regclass AS side_table FROM pg_constraint WHERE contype = 'p' AND conrelid <> 'docs'::regclass
	AND conrelid IN (SELECT tgrelid FROM pg_trigger) ORDER BY 1;
SELECT minlsh_create_side_table('docs', 'title', threshold => 0.5, if_not_exists => true);
SELECT minlsh_drop_side_table('"Titles, ""all"""'), minlsh_drop_side_table('aside.titles'),
	minlsh_drop_side_table('docs_body_minlsh'), minlsh_drop_side_table('docs_body_minlsh1');
SELECT minlsh_create_side_table('docs', 'body', seed => 1, schema => 'no such schema');
DROP SCHEMA aside;

-- Options by place or by name. Strings reach the index as they are, whatever the session makes of backslashes.
SELECT current_setting('server_version_num')::int < 190000 AS has_backslashes \gset
\if :has_backslashes
SET standard_conforming_strings = off;
\endif
SELECT minlsh_create_side_table('docs', 'body', 'id', 1, 0.9, 16, 3, 'word', 'permutations', 9223372036854775807,
	'by_place', 'aggressive stop_words', E'the "a" it\'s \\', true);
SELECT unnest(reloptions) AS option FROM pg_class WHERE oid = 'by_place_signature_idx'::regclass;
RESET standard_conforming_strings;
INSERT INTO docs SELECT 5, title, body FROM docs WHERE id = 1;
SELECT * FROM minlsh_check('by_place');
SELECT minlsh_drop_side_table('by_place_signature_idx');
DROP TABLE docs;

-- A key need not be the primary key; a text may be varchar or of a domain; rows may be none.
CREATE DOMAIN prose AS text CHECK (VALUE <> 'forbidden');
CREATE DOMAIN slug AS varchar(20) CHECK (VALUE <> '');
CREATE TABLE docs (a integer, b integer, slug slug NOT NULL UNIQUE, summary varchar(200), body prose,
	ab text GENERATED ALWAYS AS (a || '/' || b) STORED NOT NULL UNIQUE, PRIMARY KEY (a, b));
SELECT minlsh_create_side_table('docs', 'body', key => 'slug'),
	minlsh_create_side_table('docs', 'summary', key => 'ab');
INSERT INTO docs (a, b, slug, summary, body) VALUES (1, 1, 'one', 'a summary', 'a body'), (1, 2, 'two', 'a summary',
	'a body');
UPDATE docs SET b = 3 WHERE b = 2;
SELECT doc_id, pg_typeof(doc_id) FROM docs_minlsh ORDER BY doc_id;
SELECT doc_id, pg_typeof(doc_id) FROM docs_summary_minlsh ORDER BY doc_id;
SELECT * FROM minlsh_check('docs');
DROP TABLE docs;
DROP DOMAIN prose, slug;

-- An unlogged table has a side table of its own kind.
CREATE UNLOGGED TABLE quick (id integer PRIMARY KEY, body text);
SELECT minlsh_create_side_table('quick', 'body');
SELECT relname, relpersistence FROM pg_class WHERE oid = 'quick_minlsh'::regclass;
DROP TABLE quick;

-- What cannot be indexed is refused, and nothing is left of it.
CREATE TABLE docs (id integer, part integer, body text, nullable integer UNIQUE, late integer NOT NULL UNIQUE
	DEFERRABLE,
	partial integer NOT NULL, pair integer NOT NULL, fixed char(10), UNIQUE (pair, part));
CREATE UNIQUE INDEX ON docs (partial) WHERE id > 0;
CREATE UNIQUE INDEX ON docs ((pair + 1));
SELECT minlsh_create_side_table('docs', 'body');
SELECT minlsh_create_side_table('docs', 'body', key => 'nullable');
SELECT minlsh_create_side_table('docs', 'body', key => 'late');
SELECT minlsh_create_side_table('docs', 'body', key => 'partial');
SELECT minlsh_create_side_table('docs', 'body', key => 'pair');
SELECT minlsh_create_side_table('docs', 'body', key => 'no such column');
ALTER TABLE docs ADD PRIMARY KEY (id, part);
SELECT minlsh_create_side_table('docs', 'body');
ALTER TABLE docs DROP CONSTRAINT docs_pkey, ADD PRIMARY KEY (id) DEFERRABLE;
SELECT minlsh_create_side_table('docs', 'body');
ALTER TABLE docs DROP CONSTRAINT docs_pkey, ADD PRIMARY KEY (id);
SELECT minlsh_create_side_table('docs', 'no such column');
SELECT minlsh_create_side_table('docs', 'part');
SELECT minlsh_create_side_table('docs', 'fixed');
SELECT minlsh_create_side_table('docs', 'tableoid');
SELECT minlsh_create_side_table('docs', 'body', threshold => 1.5);
SELECT minlsh_create_side_table('docs', 'body', threshold => 'NaN');
SELECT minlsh_create_side_table('docs', 'body', recall => 1);
SELECT minlsh_create_side_table('docs', 'body', num_perm => 0);
SELECT minlsh_create_side_table('docs', 'body', shingle_size => 65);
SELECT minlsh_create_side_table('docs', 'body', unit => 'line');
SELECT minlsh_create_side_table('docs', 'body', scheme => 'md5');
SELECT minlsh_create_side_table('docs', 'body', threshold => NULL);
SELECT minlsh_create_side_table('docs', 'body', scheme => NULL);
SELECT minlsh_create_side_table('docs', NULL);
SELECT minlsh_create_side_table(NULL, 'body');
SELECT minlsh_create_side_table('docs', 'body', threshold => 0.01, num_perm => 8);
SELECT minlsh_create_side_table('no_such_table', 'body');
CREATE VIEW docs_view AS SELECT * FROM docs;
CREATE MATERIALIZED VIEW docs_matview AS SELECT * FROM docs;
CREATE FOREIGN DATA WRAPPER docs_wrapper;
CREATE SERVER docs_server FOREIGN DATA WRAPPER docs_wrapper;
CREATE FOREIGN TABLE docs_foreign (id integer NOT NULL, body text) SERVER docs_server;
SELECT minlsh_create_side_table('docs_view', 'body');
SELECT minlsh_create_side_table('docs_matview', 'body');
SELECT minlsh_create_side_table('docs_foreign', 'body', key => 'id');
SELECT minlsh_create_side_table('docs_pkey', 'body');
CREATE TABLE docs_child () INHERITS (docs);
SELECT minlsh_create_side_table('docs', 'body');
DROP TABLE docs_child;
SELECT minlsh_create_side_table('docs', 'body', name => 'docs_view');
INSERT INTO docs (id, body, late, partial, pair) VALUES (1, 'one text', 1, 1, 1);
SELECT minlsh_create_side_table('docs', 'body') FROM docs;
CREATE ROLE regress_minlsh_other;
SET ROLE regress_minlsh_other;
SELECT minlsh_create_side_table('docs', 'body');
RESET ROLE;
DROP ROLE regress_minlsh_other;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass AND NOT tgisinternal;
SELECT to_regclass('docs_minlsh') AS side_table;

-- Nor can an index be dropped that is not there.
SELECT minlsh_drop_side_table('docs');
SELECT minlsh_rebuild_side_table('docs');
SELECT minlsh_check('docs');
SELECT minlsh_drop_side_table('no_such_table');
SELECT minlsh_drop_side_table(NULL) IS NULL AS nothing_done;

-- Errors by their codes.
\set VERBOSITY sqlstate
SELECT minlsh_create_side_table('docs', NULL);
SELECT minlsh_create_side_table('docs', 'no such column');
SELECT minlsh_create_side_table('docs', 'part');
SELECT minlsh_create_side_table('docs', 'body', key => 'nullable');
SELECT minlsh_create_side_table('docs', 'body', threshold => 1.5);
SELECT minlsh_create_side_table('docs_view', 'body');
SELECT minlsh_drop_side_table('docs');
SELECT minlsh_create_side_table('docs', 'body') IS NOT NULL AS created;
SELECT minlsh_create_side_table('docs', 'body');
SELECT minlsh_drop_side_table('docs');
ALTER TABLE docs DROP CONSTRAINT docs_pkey;
SELECT minlsh_create_side_table('docs', 'body');
ALTER TABLE docs ADD PRIMARY KEY (id, part);
SELECT minlsh_create_side_table('docs', 'body');
DROP FOREIGN DATA WRAPPER docs_wrapper CASCADE;
DROP TABLE docs CASCADE;
