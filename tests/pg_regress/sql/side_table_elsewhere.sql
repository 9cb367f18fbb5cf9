-- A side table may be kept out of the way, in a schema that the tools which read an application's tables (ORMs,
-- generators of migrations) are not told of. It belongs to the owner of its table wherever it is.

SET client_min_messages = warning;
CREATE ROLE regress_minlsh_author;
CREATE ROLE regress_minlsh_member IN ROLE regress_minlsh_author;
CREATE ROLE regress_minlsh_reader;
CREATE SCHEMA app AUTHORIZATION regress_minlsh_author;
CREATE SCHEMA near;
GRANT USAGE ON SCHEMA app TO regress_minlsh_reader;

SET ROLE regress_minlsh_author;
CREATE TABLE app.docs (id integer PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'The quick brown fox jumps over the lazy dog.'),
	(2, 'The quick  brown fox jumps over the LAZY dog.'), (3, 'Something else.');
GRANT SELECT, INSERT, DELETE ON app.docs TO regress_minlsh_reader;

-- The schema must be there and usable, and the owner of the table must be allowed to create tables in it: also when a
-- superuser asks.
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'near');
RESET ROLE;
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'near');
GRANT USAGE ON SCHEMA near TO regress_minlsh_author;
SET ROLE regress_minlsh_author;
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'near');
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'nowhere');
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'pg_catalog');
-- Nothing temporary is kept for a table that stays, nor the other way round.
CREATE TEMPORARY TABLE notes (id integer PRIMARY KEY, body text);
-- The context has the number of the session's schema.
\set SHOW_CONTEXT never
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'pg_temp');
\set SHOW_CONTEXT errors
RESET ROLE;
GRANT CREATE ON SCHEMA near TO regress_minlsh_author;
SELECT minlsh_create_side_table('notes', 'body', schema => 'near');

-- A member of the owning role makes it: it belongs to the owner of the table.
SET ROLE regress_minlsh_member;
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'near');
SELECT pg_get_userbyid(relowner) AS owner FROM pg_class WHERE oid = 'near.docs_minlsh'::regclass;

-- The application sees its own table alone; the index is found all the same, by those who may not enter that schema,
-- too, and follows what they write.
SELECT table_name FROM information_schema.tables WHERE table_schema = 'app';
SET search_path = app, public;
SET ROLE regress_minlsh_reader;
INSERT INTO docs VALUES (4, 'the quick brown fox jumps over the lazy dog.');
SELECT * FROM near_duplicates(1) ORDER BY doc_id;
SELECT * FROM near_duplicates(1, index => 'docs', verify => 'signature') ORDER BY doc_id;
DELETE FROM docs WHERE id = 2;
SELECT * FROM near_duplicates(1);
SELECT index FROM minlsh_indexes WHERE relation = 'docs'::regclass;
RESET ROLE;

-- Two tables of the same name, and a second index: names are told apart within the schema.
CREATE TABLE public.docs (id integer PRIMARY KEY, body text);
SELECT minlsh_create_side_table('public.docs', 'body', schema => 'near');
SELECT minlsh_create_side_table('app.docs', 'body', schema => 'near', if_not_exists => true);
SELECT minlsh_create_side_table('app.docs', 'body', threshold => 0.5);
SELECT minlsh_drop_side_table('app.docs');
SELECT minlsh_drop_side_table('app.docs_minlsh');
DROP TABLE public.docs;

-- Each is renamed and moved by itself.
ALTER TABLE app.docs RENAME TO articles;
CREATE SCHEMA shelf AUTHORIZATION regress_minlsh_author;
ALTER TABLE app.articles SET SCHEMA shelf;
ALTER SCHEMA near RENAME TO aside;
INSERT INTO shelf.articles VALUES (5, 'The quick brown fox jumps over the lazy dog!');
SELECT doc_id FROM near_duplicates(1, index => 'shelf.articles') ORDER BY 1;
SELECT * FROM minlsh_check('shelf.articles');
SELECT minlsh_rebuild_side_table('aside.docs_minlsh');
SELECT * FROM minlsh_check('aside.docs_minlsh');

-- The schema holds something; with CASCADE the table is one without index. The table takes the side table along.
DROP SCHEMA aside;
BEGIN;
SET client_min_messages = error;
DROP SCHEMA aside CASCADE;
INSERT INTO shelf.articles VALUES (6, 'No trigger is left.');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'shelf.articles'::regclass;
ROLLBACK;
DROP TABLE shelf.articles;
SELECT to_regclass('aside.docs_minlsh') AS side_table;

DROP SCHEMA app, shelf, aside;
DROP TABLE notes;
RESET search_path;
DROP ROLE regress_minlsh_member, regress_minlsh_reader, regress_minlsh_author;
