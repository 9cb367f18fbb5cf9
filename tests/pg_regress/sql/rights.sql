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
RESET ROLE;
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
