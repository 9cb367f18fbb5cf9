-- An index: one call, and it follows the table from then on.

CREATE TABLE docs (id integer PRIMARY KEY, title text, body text);
INSERT INTO docs VALUES
	(1, 'fox', 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all.'),
	(2, 'fox', 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all!'),
	(3, 'ant', 'An ant is never late, and never early: it is where the others are.'),
	(4, 'nil', NULL);
SELECT minlsh_create_index('docs', 'body');
SELECT index, relation, key, body, threshold, recall, bands, rows, round(recall_at_threshold::numeric, 3) AS recall_at_threshold,
       scheme, num_perm, unit, shingle_size, seed, version, documents
FROM minlsh_indexes \gx
SELECT * FROM minlsh_check('docs');

-- A second one, on another column and with other options; names must then be told apart.
SELECT minlsh_create_index('docs', 'title', threshold => 0.5, num_perm => 64, shingle_size => 2, scheme => 'permutations', seed => -1);
SELECT near_duplicates(1);
SELECT minlsh_drop_index('docs');
SELECT * FROM near_duplicates(1, index => 'docs_title_minlsh');
SELECT minlsh_drop_index('docs_title_minlsh');
SELECT minlsh_create_index('docs', 'title', name => 'titles', threshold => 0.5);
SELECT minlsh_drop_index('titles');

-- The same index, built anew.
SELECT minlsh_reindex('docs');
SELECT doc_id FROM near_duplicates(1, 0.9);

-- It follows its table like an index: renamed, moved, column renamed.
ALTER TABLE docs RENAME COLUMN body TO "Full Text";
ALTER TABLE docs RENAME COLUMN id TO "select";
ALTER TABLE docs RENAME TO "My Docs";
CREATE SCHEMA "Other";
ALTER TABLE "My Docs" SET SCHEMA "Other";
INSERT INTO "Other"."My Docs" VALUES (5, '', 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all?');
SELECT doc_id FROM near_duplicates(1, 0.9);
SELECT doc_id FROM near_duplicates(1, 0.9, verify => 'exact');
SELECT relation, key, body FROM minlsh_indexes;
SELECT * FROM minlsh_check();
ALTER TABLE "Other"."My Docs" SET SCHEMA public;
DROP SCHEMA "Other";
ALTER TABLE "My Docs" RENAME TO docs;
ALTER TABLE docs RENAME "Full Text" TO body;
ALTER TABLE docs RENAME "select" TO id;

-- The type of an indexed column cannot change under the index.
ALTER TABLE docs ALTER body TYPE varchar(100);

-- A build sees all committed rows, also those that its transaction's snapshot does not.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT minlsh_reindex('docs');
COMMIT;
SELECT * FROM minlsh_check();

-- Whatever is dropped takes along what makes no sense without it.
BEGIN;
ALTER TABLE docs DROP COLUMN body;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
SELECT index FROM minlsh_indexes;
ROLLBACK;
BEGIN;
DROP TABLE docs_minlsh;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
INSERT INTO docs VALUES (6, 'no trigger', 'is left');
ROLLBACK;
BEGIN;
DROP EXTENSION minlsh;
ROLLBACK;
DROP TABLE docs;
SELECT to_regclass('docs_minlsh') AS side_table, (SELECT count(*) FROM minlsh_indexes) AS indexes;
SELECT near_duplicates(1);

-- What cannot be indexed is refused, and nothing is left of it.
CREATE TABLE docs (id integer, part integer, body text, nullable integer UNIQUE, late integer NOT NULL UNIQUE DEFERRABLE);
SELECT minlsh_create_index('docs', 'body');
SELECT minlsh_create_index('docs', 'body', key => 'nullable');
SELECT minlsh_create_index('docs', 'body', key => 'late');
ALTER TABLE docs ADD PRIMARY KEY (id, part);
SELECT minlsh_create_index('docs', 'body');
ALTER TABLE docs DROP CONSTRAINT docs_pkey, ADD PRIMARY KEY (id);
SELECT minlsh_create_index('docs', 'no such column');
SELECT minlsh_create_index('docs', 'part');
SELECT minlsh_create_index('docs', 'body', threshold => 1.5);
SELECT minlsh_create_index('docs', 'body', threshold => 'NaN');
SELECT minlsh_create_index('docs', 'body', recall => 1);
SELECT minlsh_create_index('docs', 'body', num_perm => 0);
SELECT minlsh_create_index('docs', 'body', unit => 'line');
SELECT minlsh_create_index('docs', 'body', triggers => 'never');
SELECT minlsh_create_index('docs', NULL);
SELECT minlsh_create_index('docs', 'body', threshold => 0.01, num_perm => 8);
CREATE VIEW docs_view AS SELECT * FROM docs;
SELECT minlsh_create_index('docs_view', 'body');
CREATE TABLE docs_child () INHERITS (docs);
SELECT minlsh_create_index('docs', 'body');
DROP TABLE docs_child;
SELECT minlsh_create_index('docs', 'body', name => 'docs_view');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
SELECT minlsh_drop_index('docs');
SELECT minlsh_reindex('docs');
DROP TABLE docs CASCADE;
