-- Who may do what. Side tables are kept with their owner's rights and read by nobody else;
-- whoever may SELECT a table may query its index, and sees no row that the table hides.

SET client_min_messages = warning;
CREATE ROLE regress_minlsh_writer;
CREATE ROLE regress_minlsh_reader;
CREATE ROLE regress_minlsh_column_reader;
CREATE ROLE regress_minlsh_stranger;
CREATE SCHEMA shop;
ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT ALL ON TABLES TO regress_minlsh_stranger;
CREATE TABLE shop.docs (id integer PRIMARY KEY, body text, owner name);
REVOKE ALL ON shop.docs FROM regress_minlsh_stranger;
INSERT INTO shop.docs SELECT i, 'one text for everybody', CASE WHEN i % 2 = 0 THEN 'regress_minlsh_reader' ELSE 'regress_minlsh_writer' END
FROM generate_series(1, 10) AS i;
SELECT minlsh_create_index('shop.docs', 'body');
GRANT USAGE ON SCHEMA shop TO regress_minlsh_writer, regress_minlsh_reader, regress_minlsh_column_reader;
GRANT INSERT, UPDATE, DELETE ON shop.docs TO regress_minlsh_writer;
GRANT SELECT (id, owner) ON shop.docs TO regress_minlsh_writer;
GRANT SELECT ON shop.docs TO regress_minlsh_reader;
GRANT SELECT (id, body) ON shop.docs TO regress_minlsh_column_reader;

-- A writer needs rights on the table alone.
SET ROLE regress_minlsh_writer;
INSERT INTO shop.docs VALUES (11, 'one text for everybody', 'regress_minlsh_writer');
UPDATE shop.docs SET body = 'no longer' WHERE id = 1;
DELETE FROM shop.docs WHERE id = 3;
SELECT count(*) FROM shop.docs_minlsh;
INSERT INTO shop.docs_minlsh VALUES (12, '{}', '{}');
SELECT near_duplicates(2);
SELECT minlsh_drop_index('shop.docs');
SELECT minlsh_reindex('shop.docs');
SELECT minlsh_check('shop.docs');
SELECT minlsh_create_index('shop.docs', 'body');
RESET ROLE;
SELECT * FROM minlsh_check('shop.docs');

-- A reader reads through the functions; so does one who may read key and text alone.
SET ROLE regress_minlsh_reader;
SELECT count(*) FROM near_duplicates(2);
SELECT count(*) FROM near_duplicate_pairs('shop.docs');
SELECT count(*) FROM shop.docs_minlsh;
SET ROLE regress_minlsh_column_reader;
SELECT count(*) FROM near_duplicates(2, verify => 'exact');
RESET ROLE;
REVOKE SELECT (body) ON shop.docs FROM regress_minlsh_column_reader;
SET ROLE regress_minlsh_column_reader;
SELECT count(*) FROM near_duplicates(2);

-- A stranger learns nothing, also where default privileges grant everything on new tables.
SET ROLE regress_minlsh_stranger;
SELECT near_duplicates(2);
SELECT near_duplicates_of('one text for everybody');
SELECT near_duplicate_clusters('shop.docs');
SELECT index, documents FROM minlsh_indexes;
RESET ROLE;
GRANT USAGE ON SCHEMA shop TO regress_minlsh_stranger;
SET ROLE regress_minlsh_stranger;
SELECT near_duplicates(2);
SELECT count(*) FROM shop.docs_minlsh;
RESET ROLE;

-- An owner may let others ask through a function of theirs; a view does not: its functions run as the caller.
CREATE FUNCTION shop.copies(key integer) RETURNS SETOF bigint LANGUAGE SQL STABLE SECURITY DEFINER SET search_path = shop, public, pg_temp
	AS $$ SELECT doc_id FROM near_duplicates(key, 0.9, 'shop.docs', 'exact') ORDER BY doc_id $$;
CREATE VIEW shop.copies AS SELECT d.id, n.doc_id FROM shop.docs AS d, near_duplicates(d.id, 0.9, 'shop.docs') AS n;
GRANT SELECT ON shop.copies TO regress_minlsh_stranger;
SET ROLE regress_minlsh_stranger;
SELECT count(*) FROM shop.copies(2);
SELECT count(*) FROM shop.copies;
RESET ROLE;
DROP VIEW shop.copies;
DROP FUNCTION shop.copies;

-- Column privileges on other columns than key and text are of no use.
REVOKE ALL ON shop.docs FROM regress_minlsh_column_reader;
GRANT SELECT (id, owner) ON shop.docs TO regress_minlsh_column_reader;
SET ROLE regress_minlsh_column_reader;
SELECT near_duplicates(2);
SELECT near_duplicate_pairs('shop.docs');
SELECT documents FROM minlsh_indexes;
RESET ROLE;

-- A member of the owner's role may do what the owner may.
CREATE ROLE regress_minlsh_group;
CREATE ROLE regress_minlsh_member IN ROLE regress_minlsh_group;
CREATE SCHEMA club AUTHORIZATION regress_minlsh_group;
SET ROLE regress_minlsh_group;
CREATE TABLE club.docs (id integer PRIMARY KEY, body text);
SET ROLE regress_minlsh_member;
SELECT minlsh_create_index('club.docs', 'body');
INSERT INTO club.docs VALUES (1, 'one text'), (2, 'one text');
SELECT * FROM near_duplicates(1, index => 'club.docs');
SELECT * FROM minlsh_check('club.docs');
SELECT minlsh_reindex('club.docs');
SELECT pg_get_userbyid(relowner) AS owner FROM pg_class WHERE oid = 'club.docs_minlsh'::regclass;
SELECT minlsh_drop_index('club.docs');
RESET ROLE;
DROP SCHEMA club CASCADE;
DROP ROLE regress_minlsh_member, regress_minlsh_group;

-- An owner who may not create tables in the schema cannot have a side table there.
CREATE ROLE regress_minlsh_tenant;
CREATE TABLE shop.rented (id integer PRIMARY KEY, body text);
ALTER TABLE shop.rented OWNER TO regress_minlsh_tenant;
GRANT USAGE ON SCHEMA shop TO regress_minlsh_tenant;
SET ROLE regress_minlsh_tenant;
SELECT minlsh_create_index('shop.rented', 'body');
RESET ROLE;
DROP TABLE shop.rented;
REVOKE ALL ON SCHEMA shop FROM regress_minlsh_tenant;
DROP ROLE regress_minlsh_tenant;
SET ROLE regress_minlsh_stranger;

-- Nobody registers, changes or removes an index of somebody else's table.
INSERT INTO minlsh_registry SELECT relation, 'mine', 'pg_class', scheme, num_perm, unit, shingle_size, seed, version, threshold, recall, bands, rows FROM minlsh_registry;
\set VERBOSITY sqlstate
INSERT INTO minlsh_registry SELECT 4294967290, 'early', 4294967290, scheme, num_perm, unit, shingle_size, seed, version, threshold, recall, bands, rows FROM minlsh_registry;
\set VERBOSITY default
UPDATE minlsh_registry SET threshold = 0.1;
DELETE FROM minlsh_registry;
TRUNCATE minlsh_registry;
RESET ROLE;

-- Row-level security holds: what a reader cannot see is neither found nor asked about.
ALTER TABLE shop.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON shop.docs USING (owner = current_user);
SET ROLE regress_minlsh_reader;
SELECT doc_id FROM near_duplicates(2) ORDER BY doc_id;
SELECT doc_id FROM near_duplicates(2, verify => 'exact') ORDER BY doc_id;
SELECT doc_id FROM near_duplicates(5);
SELECT count(*) FROM near_duplicates_of('one text for everybody');
SELECT count(*) FROM near_duplicate_pairs('shop.docs');
SELECT doc_id, cluster_id, size FROM near_duplicate_clusters('shop.docs', verify => 'exact') ORDER BY doc_id;
SET row_security = off;
SELECT near_duplicates(2);
RESET row_security;

-- Policies hold in prepared statements, too, whoever runs them; and for a text that is hidden.
PREPARE ask AS SELECT doc_id FROM near_duplicates(2, index => 'shop.docs') ORDER BY doc_id;
EXECUTE ask;
RESET ROLE;
EXECUTE ask;
GRANT SELECT ON shop.docs TO regress_minlsh_writer;
SET ROLE regress_minlsh_writer;
EXECUTE ask;
SELECT doc_id FROM near_duplicates(5) ORDER BY doc_id;
INSERT INTO shop.docs VALUES (12, 'one text for everybody', 'regress_minlsh_reader');
INSERT INTO shop.docs VALUES (13, 'one text for everybody', 'regress_minlsh_writer');
UPDATE shop.docs SET body = 'one text for nobody';
SET ROLE regress_minlsh_reader;
EXECUTE ask;
DEALLOCATE ask;
RESET ROLE;
SELECT * FROM minlsh_check('shop.docs');
UPDATE shop.docs SET body = 'one text for everybody' WHERE id > 1;
DELETE FROM shop.docs WHERE id = 13;
SELECT count(*) FROM near_duplicates(2);

-- An owner who is held to the policies as well still has a complete index.
CREATE ROLE regress_minlsh_owner;
GRANT ALL ON SCHEMA shop TO regress_minlsh_owner;
ALTER TABLE shop.docs OWNER TO regress_minlsh_owner;
ALTER TABLE shop.docs FORCE ROW LEVEL SECURITY;
SELECT * FROM minlsh_check('shop.docs');
SET ROLE regress_minlsh_owner;
SELECT minlsh_reindex('shop.docs');
SELECT * FROM minlsh_check('shop.docs');
SELECT count(*) FROM near_duplicates(2);
RESET ROLE;
SELECT documents, (SELECT count(*) FROM shop.docs) AS of FROM minlsh_indexes;

-- Code on a caller's search path never runs with the owner's rights.
ALTER TABLE shop.docs DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
CREATE SCHEMA trap AUTHORIZATION regress_minlsh_reader;
GRANT INSERT ON shop.docs TO regress_minlsh_reader;
SET ROLE regress_minlsh_reader;
CREATE FUNCTION trap.spring(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
CREATE FUNCTION trap.spring(bigint[], bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
CREATE FUNCTION trap.spring(float8, float8) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
CREATE OPERATOR trap.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = trap.spring);
CREATE OPERATOR trap.&& (LEFTARG = bigint[], RIGHTARG = bigint[], FUNCTION = trap.spring);
CREATE OPERATOR trap.>= (LEFTARG = float8, RIGHTARG = float8, FUNCTION = trap.spring);
SET search_path = trap, pg_catalog, public;
INSERT INTO shop.docs VALUES (21, 'one text for everybody', 'regress_minlsh_reader');
SELECT count(*) FROM near_duplicates(2);
SELECT count(*) FROM near_duplicates(2, verify => 'exact');
SELECT count(*) FROM near_duplicate_pairs('shop.docs');
RESET search_path;
RESET ROLE;

DROP SCHEMA shop, trap CASCADE;
DROP ROLE regress_minlsh_writer, regress_minlsh_reader, regress_minlsh_column_reader, regress_minlsh_stranger, regress_minlsh_owner;
