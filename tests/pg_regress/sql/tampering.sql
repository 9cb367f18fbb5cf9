-- A side table is its owner's, and can be tampered with. Whatever was done to it, the answer is
-- an error or a wrong result for this index, never more; and there is a way back.

SET client_min_messages = warning;
CREATE FUNCTION refused(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN false;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE NOT LIKE 'XX%';
END $$;
CREATE TABLE docs (id integer PRIMARY KEY, title text, body text);
INSERT INTO docs SELECT i, 'title', 'one text' FROM generate_series(1, 4) AS i;
SELECT minlsh_create_index('docs', 'body');

-- Rows that are no sketches: minlsh_check() lists them, minlsh_reindex() mends them.
BEGIN;
UPDATE docs_minlsh SET signature = '{1,2}' WHERE doc_id = 1;
SAVEPOINT broken;
SELECT near_duplicate_pairs();
ROLLBACK TO broken;
UPDATE docs_minlsh SET bands = '{}' WHERE doc_id = 2;
UPDATE docs_minlsh SET signature = '{{1,2},{3,4}}', bands = ARRAY[NULL]::bigint[] WHERE doc_id = 3;
SELECT refused('SELECT near_duplicates(1)'), refused('SELECT near_duplicates(3)'), refused('SELECT near_duplicate_pairs()'), refused('SELECT near_duplicate_clusters()');
SELECT * FROM minlsh_check();
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();
SELECT count(*) FROM near_duplicate_pairs();
ROLLBACK;

-- Columns of another type are never read as if they were of the right one.
BEGIN;
ALTER TABLE docs_minlsh ALTER signature TYPE bigint[];
SELECT refused('SELECT near_duplicates(1)') AS lookup, refused('SELECT near_duplicate_pairs()') AS pairs, refused('SELECT near_duplicate_clusters()') AS clusters;
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();
ROLLBACK;
BEGIN;
ALTER TABLE docs_minlsh ALTER doc_id TYPE text;
SAVEPOINT altered;
SELECT near_duplicates(1);
ROLLBACK TO altered;
SELECT refused('SELECT near_duplicate_pairs()') AS pairs, refused('SELECT near_duplicate_clusters()') AS clusters;
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();
ROLLBACK;
BEGIN;
DROP INDEX docs_minlsh_bands_idx;
SELECT * FROM minlsh_check();
SELECT count(*) FROM near_duplicates(1);
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();
ROLLBACK;

-- A table that inherits from the side table is no part of the index.
BEGIN;
CREATE TABLE more () INHERITS (docs_minlsh);
INSERT INTO more SELECT doc_id + 10, '{1,2}', bands FROM docs_minlsh;
SELECT documents FROM minlsh_indexes;
SELECT doc_id FROM near_duplicates(1) ORDER BY doc_id;
SELECT count(*) FROM near_duplicate_pairs();
SELECT * FROM minlsh_check();
ROLLBACK;

-- Triggers that are lost: minlsh_check() tells, minlsh_reindex() brings them back, as long as one
-- knows the columns; minlsh_drop_index() works in any case.
BEGIN;
DROP TRIGGER docs_minlsh_insert ON docs;
INSERT INTO docs VALUES (5, 'title', 'one text');
SELECT * FROM minlsh_check();
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();
ROLLBACK;
BEGIN;
DROP TRIGGER docs_minlsh_truncate ON docs;
SAVEPOINT broken;
SELECT near_duplicates(1);
ROLLBACK TO broken;
SELECT index, key, body, documents FROM minlsh_indexes;
SELECT minlsh_drop_index('docs_minlsh');
SELECT to_regclass('docs_minlsh') AS side_table, count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
INSERT INTO docs VALUES (5, 'title', 'one text');
ROLLBACK;

-- A name that is free can be taken.
BEGIN;
ALTER TABLE docs_minlsh RENAME TO sketches;
SELECT minlsh_create_index('docs', 'title') IS NOT NULL AS created;
SELECT body FROM minlsh_indexes ORDER BY body;
SELECT c.* FROM minlsh_indexes AS i, minlsh_check(i.index) AS c;
ROLLBACK;

-- Hints can be pasted, whatever the names.
CREATE SCHEMA "Mixed Case";
CREATE TABLE "Mixed Case"."My Docs" (id integer PRIMARY KEY, body text);
SELECT near_duplicates(1, index => '"Mixed Case"."My Docs"');
SELECT minlsh_create_index('"Mixed Case"."My Docs"', 'body');
SELECT near_duplicates(1, 0.1, '"Mixed Case"."My Docs"');
DROP SCHEMA "Mixed Case" CASCADE;

-- The registry takes no row that minlsh_create_index() would not have written: not of a view, whose
-- code would run as whoever asks, nor one that makes minlsh_indexes fail for everybody.
CREATE ROLE regress_minlsh_tamperer;
GRANT CREATE ON SCHEMA public TO regress_minlsh_tamperer;
SET ROLE regress_minlsh_tamperer;
CREATE TABLE mine (id integer PRIMARY KEY, body text);
INSERT INTO mine VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_index('mine', 'body');
CREATE FUNCTION trap(integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'trapped %', current_user; RETURN $1; END $$;
CREATE VIEW trap AS SELECT trap(id) AS id, body FROM mine;
CREATE TRIGGER trap AFTER UPDATE OF id, body ON trap FOR EACH STATEMENT EXECUTE FUNCTION minlsh_sync('trap');
CREATE TABLE trap_minlsh AS TABLE mine_minlsh;
CREATE TABLE no_sketches (doc_id integer, signature bigint[], bands text);
SELECT refused($$INSERT INTO minlsh_registry SELECT 'trap', 'trap', 'trap_minlsh', scheme, num_perm, unit, shingle_size, seed, version, threshold, recall, bands, rows, slot_bits
	FROM minlsh_registry WHERE relation = 'mine'::regclass$$) AS view_refused;
SELECT refused($$INSERT INTO minlsh_registry SELECT relation, 'second', 'no_sketches', scheme, num_perm, unit, shingle_size, seed, version, threshold, recall, bands, rows, slot_bits
	FROM minlsh_registry WHERE relation = 'mine'::regclass$$) AS storage_refused;
SELECT refused($$INSERT INTO minlsh_registry SELECT relation, 'third', 'trap_minlsh', 'nonsense', -5, unit, shingle_size, seed, version, threshold, recall, -1, 7, slot_bits
	FROM minlsh_registry WHERE relation = 'mine'::regclass$$) AS options_refused;
INSERT INTO minlsh_registry (relation, name, storage, scheme, num_perm, unit, shingle_size, seed, version, threshold, recall, bands, rows)
	SELECT relation, 'third', 'trap_minlsh', scheme, num_perm, unit, shingle_size, seed, version, threshold, recall, -1, 7 FROM minlsh_registry WHERE relation = 'mine'::regclass;
RESET ROLE;
SELECT doc_id FROM near_duplicates(1, index => 'mine_minlsh', verify => 'exact');
SELECT index, documents FROM minlsh_indexes ORDER BY index::text;

-- What an owner has broken concerns nobody else: others are answered by the only index that can answer.
DROP TRIGGER mine_minlsh_truncate ON mine;
SELECT count(*) FROM near_duplicates(1);
SELECT index, key, documents FROM minlsh_indexes ORDER BY index::text;
SET ROLE regress_minlsh_tamperer;
SELECT near_duplicates(1);
SELECT near_duplicates(1, index => 'mine');
SELECT minlsh_drop_index('docs');
SELECT minlsh_drop_index('mine');
RESET ROLE;
SELECT index FROM minlsh_indexes;
DROP OWNED BY regress_minlsh_tamperer CASCADE;
DROP ROLE regress_minlsh_tamperer;

-- Row-level security tells keys apart by their values, not by how a session prints them.
CREATE ROLE regress_minlsh_reader;
CREATE TABLE scores (id double precision PRIMARY KEY, body text, owner name);
SELECT minlsh_create_index('scores', 'body');
INSERT INTO scores VALUES (1.00000000001, 'one text', 'regress_minlsh_reader'), (1.00000000002, 'one text', 'other'), (1.00000000003, 'one text', 'regress_minlsh_reader');
GRANT SELECT ON scores TO regress_minlsh_reader;
ALTER TABLE scores ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON scores USING (owner = current_user);
SET ROLE regress_minlsh_reader;
SET extra_float_digits = -12;
SELECT count(*) FROM near_duplicate_pairs('scores');
SELECT count(*) FROM near_duplicate_clusters('scores');
RESET extra_float_digits;
RESET ROLE;
DROP TABLE docs, scores;
DROP ROLE regress_minlsh_reader;
DROP FUNCTION refused;
SELECT index FROM minlsh_indexes;
