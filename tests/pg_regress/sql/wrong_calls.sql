-- Calls that newcomers make: each answer says what is wrong and shows the right call. Values and options that are
-- out of range are in errors.sql.
\pset footer off
CREATE TABLE notes (id integer PRIMARY KEY, body text);
INSERT INTO notes SELECT i, 'note number ' || i / 2 || ' about the garden, the weather and the neighbours'' cat'
FROM generate_series(1, 3) AS i;
CREATE INDEX ON notes USING minlsh (body);

-- The order of the arguments: key, threshold, index.
SELECT doc_id FROM near_duplicates(2, 0.9, 'notes');
SELECT near_duplicates('notes', 2, 0.9);
SELECT near_duplicates(2, 'notes', 0.9);
SELECT near_duplicates('notes', NULL, 0.9);
SELECT near_duplicates('notes', 1);
SELECT minlsh_explain(2, 3);
SELECT shared > 0 AS shared FROM minlsh_explain('notes', 2, 3);

-- The source comes first, and a share of passages has a name.
SELECT near_duplicate_pairs(0.9, 'notes');
SELECT near_duplicate_clusters(0.9, 'notes');
SELECT near_duplicate_bridges(0.9, 'notes');
SELECT near_duplicate_plan(0.9, 'notes');
SELECT near_duplicates_between('notes', 0.9, 'notes');
SELECT passages_between('notes', 'notes', 0.8);

-- The key comes first, the text second.
SELECT near_duplicate_pairs('SELECT body, id FROM notes', 0.9);
SELECT near_duplicate_pairs('SELECT id, id FROM notes', 0.9);
SELECT near_duplicate_pairs('notes', 0.9, body => 'id');

-- Behind the threshold, arguments have names.
SELECT near_duplicate_pairs('notes', 0.9, 'id');
SELECT near_duplicates(2, 0.9, 'notes', 'id');
SELECT doc_a, doc_b FROM near_duplicate_pairs('notes', 0.9, key_column => 'id');
SELECT near_duplicate_clusters('notes', 0.9, scope => 'tenant, lang');

-- PostgreSQL refuses these itself. The page on error messages lists what it reports.
\set VERBOSITY terse
SELECT near_duplicate_pairs('notes', 'body', 0.9);
SELECT near_duplicates_of('notes', 'text', 0.8);
SELECT near_duplicate_pairs('notes', 0.9, key => 'id');
SELECT near_duplicate_pairs('notes', 0.9, partition => 'id');
SELECT near_duplicate_pairs('notes', 0.9, shingles => 3);
SELECT near_duplicate_pairs('notes', 0.9, column => 'body');
SELECT near_duplicate_pairs('notes', 0.9, where => 'id > 1');
\set VERBOSITY default

-- A key that is not there.
SELECT minlsh_explain('notes', 2, 99999);
SELECT minlsh_explain('notes', '99999', '2');

-- The source is the name of a relation, as a text.
SELECT near_duplicate_pairs('notes'::regclass, 0.9);
SELECT near_duplicate_clusters('notes'::regclass);
SELECT near_duplicate_bridges('notes'::regclass, 0.9);
SELECT near_duplicate_plan(NULL::regclass);
SELECT near_duplicate_pairs(1::regclass);

-- Capital letters need double quotes, as in SQL, and so does a column.
CREATE TABLE "Posts" (id integer PRIMARY KEY, "Body" text);
SELECT near_duplicate_pairs('Posts');
SELECT near_duplicate_pairs('"Posts"', body => 'Body');
SELECT near_duplicate_pairs('"Posts"', body => '"Body"');

-- A table in a schema that the search path does not have, and one that does not exist at all.
CREATE SCHEMA app;
CREATE TABLE app.articles (id integer PRIMARY KEY, body text);
CREATE SCHEMA "Old";
CREATE VIEW "Old"."Posts" AS TABLE "Posts";
SELECT near_duplicate_pairs('articles');
SELECT near_duplicate_pairs('app.posts');
SELECT near_duplicate_pairs('public.Posts');
SELECT near_duplicate_pairs('"articles"');
SELECT near_duplicate_pairs('artikles');
SELECT near_duplicate_pairs('article s');
SELECT near_duplicate_pairs('');

-- Nobody is told of what they may not read.
CREATE ROLE minlsh_newcomer;
SET ROLE minlsh_newcomer;
SELECT near_duplicate_pairs('articles');
SELECT near_duplicate_pairs('Posts');
RESET ROLE;
GRANT SELECT ON app.articles TO minlsh_newcomer;
SET ROLE minlsh_newcomer;
SELECT near_duplicate_pairs('articles');
RESET ROLE;
GRANT USAGE ON SCHEMA app TO minlsh_newcomer;
SET ROLE minlsh_newcomer;
SELECT near_duplicate_pairs('articles');
RESET ROLE;

-- A table without an index, a view, and a table without a key.
CREATE TABLE plain (id integer PRIMARY KEY, body text);
CREATE VIEW seen AS TABLE plain;
SELECT near_duplicates(1, 0.9, 'plain');
SELECT near_duplicates(1, 0.9, '"Posts"');
SELECT minlsh_explain('seen', 1, 2);
SELECT minlsh_track_clusters('notes');
SELECT minlsh_track_clusters('plain');
SELECT near_duplicate_pairs('seen');
SELECT near_duplicate_pairs('seen', key_column => 'id');

-- The functions that refuse these calls take no right call away from those that it means: where a client leaves
-- the types of parameters open, PostgreSQL infers the same ones as without them.
PREPARE a AS SELECT near_duplicates($1);
PREPARE b AS SELECT near_duplicates($1, $2);
PREPARE c AS SELECT near_duplicates($1, $2, $3);
PREPARE d AS SELECT near_duplicates($1::integer, $2, $3);
PREPARE e AS SELECT near_duplicates($1::bigint, $2, $3);
PREPARE f AS SELECT near_duplicates($1::uuid, $2, $3);
PREPARE g AS SELECT near_duplicates($1, 1, $2);
PREPARE h AS SELECT near_duplicates($1, 0.9, $2);
PREPARE i AS SELECT minlsh_explain($1, $2, $3);
PREPARE j AS SELECT near_duplicate_pairs($1);
PREPARE k AS SELECT near_duplicate_pairs($1, $2);
PREPARE l AS SELECT near_duplicate_pairs($1::varchar, $2);
PREPARE m AS SELECT FROM near_duplicate_clusters($1, $2) WHERE doc_id = $3;
PREPARE n AS SELECT near_duplicate_pairs($1, $2, $3);
PREPARE n2 AS SELECT near_duplicate_pairs(source => $1, threshold => 0.9), passages_between('a', 'b', coverage => 0.8);
PREPARE n3 AS SELECT near_duplicates_between(a => $1, threshold => 0.9, b => $2);
PREPARE o AS SELECT near_duplicates_between($1, $2);
PREPARE p AS SELECT near_duplicates_between($1, $2, $3);
PREPARE q AS SELECT near_duplicates_between($1, $2, $3, $4);
PREPARE r AS SELECT passages_between($1, $2);
PREPARE s AS SELECT passages_between($1, $2, $3);
PREPARE t AS SELECT passages_between($1, $2, 50, $3);
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name;
SELECT near_duplicate_pairs(format('%I', 'plain')), near_duplicate_pairs('plain'::name);
DEALLOCATE ALL;

SET client_min_messages = warning;
DROP SCHEMA app, "Old" CASCADE;
DROP TABLE notes, "Posts", plain CASCADE;
DROP ROLE minlsh_newcomer;
