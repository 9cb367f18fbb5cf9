-- minlsh_rebuild_side_table() fills the side table that is there, so what was done to it stays.

SET client_min_messages = warning;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_minlsh_tablespace LOCATION '';
CREATE ROLE regress_minlsh_reader;
CREATE SCHEMA aside;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('docs', 'body');

-- Its name, schema, tablespaces, grants and comment, and the views that read it.
ALTER TABLE docs_minlsh SET SCHEMA aside;
ALTER TABLE aside.docs_minlsh RENAME TO sketches;
ALTER TABLE aside.sketches SET TABLESPACE regress_minlsh_tablespace;
ALTER INDEX aside.docs_minlsh_signature_idx SET TABLESPACE regress_minlsh_tablespace;
ALTER INDEX aside.docs_minlsh_signature_idx RENAME TO bands;
GRANT SELECT ON aside.sketches TO regress_minlsh_reader;
CREATE VIEW signatures AS SELECT doc_id, signature FROM aside.sketches;
DELETE FROM aside.sketches WHERE doc_id = 1;
SELECT * FROM minlsh_check();
SELECT minlsh_rebuild_side_table('docs');
SELECT c.oid::regclass AS relation, t.spcname AS tablespace, c.relacl IS NOT NULL AS granted
FROM pg_class AS c JOIN pg_tablespace AS t ON t.oid = c.reltablespace WHERE t.spcname LIKE 'regress%' AND
	c.relnamespace = 'aside'::regnamespace ORDER BY c.relname;
SELECT has_table_privilege('regress_minlsh_reader', 'aside.sketches', 'SELECT'), (SELECT count(*) FROM signatures);
SELECT * FROM minlsh_check();
INSERT INTO docs VALUES (3, 'one text');
DROP VIEW signatures;

-- Another index of the table takes the name that has become free.
SELECT minlsh_create_side_table('docs', 'body', threshold => 0.5);
INSERT INTO docs VALUES (4, 'one text');
SELECT * FROM minlsh_check('docs');
SELECT minlsh_drop_side_table('docs_minlsh');

-- A table that is no longer logged: minlsh_check() reports a side table that still is.
ALTER TABLE docs SET UNLOGGED;
SELECT * FROM minlsh_check();
ALTER TABLE aside.sketches SET UNLOGGED;
SELECT * FROM minlsh_check();

-- Cancelled or rolled back, the index is what it was.
BEGIN;
SELECT minlsh_rebuild_side_table('docs');
ROLLBACK;
SELECT * FROM minlsh_check();

DROP TABLE docs;
DROP SCHEMA aside;
DROP ROLE regress_minlsh_reader;
DROP TABLESPACE regress_minlsh_tablespace;
