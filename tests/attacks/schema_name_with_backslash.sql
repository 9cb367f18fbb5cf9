-- A schema whose name ends a string literal where backslashes escape.
-- Attacker: the database's owner, who chooses the schema of the extension. Must not: the rest of the
-- name run as SQL of whoever indexes a table. (PostgreSQL 19 has strings without backslashes only.)
-- no extension

-- as dbowner:
CREATE SCHEMA x;
GRANT USAGE ON SCHEMA x TO PUBLIC;
CREATE FUNCTION x.p() RETURNS text LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('the name of a schema'); RETURN ''; END $$;
CREATE SCHEMA "x\'::text;select x.p()--";
GRANT USAGE ON SCHEMA "x\'::text;select x.p()--" TO PUBLIC;
CREATE EXTENSION minlsh SCHEMA "x\'::text;select x.p()--";
-- as owner:
SET search_path = app, "x\'::text;select x.p()--";
CREATE TABLE docs (id int PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
-- as superuser:
-- tried
SET standard_conforming_strings = off;
-- tried
SET escape_string_warning = off;
SET search_path = "x\'::text;select x.p()--";
-- tried
SELECT minlsh_create_side_table('app.docs', 'body');
-- tried
INSERT INTO app.docs VALUES (3, 'one text');
-- tried
SELECT near_duplicates(1, 0.9, 'app.docs');
-- tried
SELECT near_duplicate_pairs('app.docs', 0.9);
-- tried
SELECT minlsh_check('app.docs');
-- tried
SELECT minlsh_rebuild_side_table('app.docs');
-- tried
SELECT minlsh_drop_side_table('app.docs');
