-- A side table is its owner's, and can be tampered with. Whatever was done to it, the answer is
-- an error or a wrong result for this index, never more; and there is a way back.

SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, title text, body text);
INSERT INTO docs SELECT i, 'title', 'one text' FROM generate_series(1, 4) AS i;
SELECT minlsh_create_side_table('docs', 'body');

-- A signature of another length is refused by its index, as by any index of signatures.
UPDATE docs_minlsh SET signature = '{1,2}' WHERE doc_id = 1;
UPDATE docs_minlsh SET signature = '{{1,2},{3,4}}', bands = '{7}' WHERE doc_id = 3;

-- Rows that are no sketches: minlsh_check() lists them, minlsh_rebuild_side_table() mends them.
BEGIN;
UPDATE docs_minlsh SET signature = signature[2:] || 1 WHERE doc_id = 1;
UPDATE docs_minlsh SET bands = '{}' WHERE doc_id = 2;
UPDATE docs_minlsh SET bands = '{{1,2},{3,4}}' WHERE doc_id = 3;
ALTER TABLE docs_minlsh ALTER bands DROP NOT NULL, ALTER signature DROP NOT NULL;
UPDATE docs_minlsh SET signature = NULL, bands = NULL WHERE doc_id = 4;
SELECT * FROM minlsh_check();
SAVEPOINT tampered;
UPDATE docs SET body = 'another text';
SELECT * FROM minlsh_check();
ROLLBACK TO tampered;
DELETE FROM docs WHERE id > 2;
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check();
ROLLBACK;

-- Columns of another type, more or fewer of them, or computed ones are neither read nor written.
CREATE FUNCTION refused(change text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
BEGIN
	EXECUTE change;
	FOREACH statement IN ARRAY ARRAY['INSERT INTO docs VALUES (5, NULL, ''one text'')',
	'UPDATE docs SET body = ''new'' WHERE id = 1',
		'DELETE FROM docs WHERE id = 2', 'SELECT minlsh_rebuild_side_table(''docs'')',
		'SELECT * FROM minlsh_check(''docs'')'] LOOP
		BEGIN
			EXECUTE statement;
			RETURN NEXT statement || ': done';
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT SQLSTATE || ': ' || SQLERRM;
		END;
	END LOOP;
END $$;
BEGIN;
SELECT refused('ALTER TABLE docs_minlsh ALTER bands TYPE numeric[]');
SELECT * FROM minlsh_check();
ROLLBACK;
BEGIN;
SELECT refused($$ALTER TABLE docs_minlsh ALTER bands TYPE bytea USING
	'\x010000000000000017000000ffffff3f01000000'$$);
ROLLBACK;
BEGIN;
SELECT DISTINCT refused('ALTER TABLE docs_minlsh ALTER doc_id TYPE text');
ROLLBACK;
BEGIN;
SELECT DISTINCT refused('ALTER TABLE docs_minlsh ADD note text DEFAULT random()');
ROLLBACK;
BEGIN;
SELECT DISTINCT refused('ALTER TABLE docs_minlsh DROP signature');
ROLLBACK;
BEGIN;
SELECT DISTINCT refused('ALTER TABLE docs_minlsh DROP bands;
	ALTER TABLE docs_minlsh ADD bands bigint[] GENERATED ALWAYS AS (''{1}'') STORED');
ROLLBACK;

-- Nor is a side table that has lost its key, or the index over its bands.
BEGIN;
SELECT DISTINCT refused('ALTER TABLE docs_minlsh DROP CONSTRAINT docs_minlsh_pkey');
ROLLBACK;
BEGIN;
SELECT DISTINCT refused('DROP INDEX docs_minlsh_signature_idx');
ROLLBACK;
-- Another index of it is kept as well, if it has no code of its owner's.
BEGIN;
CREATE INDEX ON docs_minlsh (cardinality(signature));
INSERT INTO docs VALUES (5, NULL, 'one text');
ROLLBACK;
BEGIN;
CREATE INDEX ON docs_minlsh USING brin (doc_id);
CREATE INDEX ON docs_minlsh USING gin (bands);
INSERT INTO docs VALUES (5, NULL, 'one text');
UPDATE docs SET body = 'another text' WHERE id = 5;
SET LOCAL enable_seqscan = off;
SELECT b.doc_id FROM docs_minlsh AS a JOIN docs_minlsh AS b ON a.bands && b.bands WHERE a.doc_id = 5;
SELECT * FROM minlsh_check();
ROLLBACK;

-- Triggers, rules, policies, constraints and defaults of a side table take no part.
CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'trapped: %', TG_NAME; RETURN NULL;
	END $$;
BEGIN;
CREATE TRIGGER before BEFORE INSERT OR UPDATE OR DELETE ON docs_minlsh FOR EACH ROW EXECUTE FUNCTION trap();
CREATE TRIGGER after AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON docs_minlsh FOR EACH STATEMENT EXECUTE FUNCTION
	trap();
ALTER TABLE docs_minlsh ENABLE ALWAYS TRIGGER before;
CREATE RULE nothing AS ON INSERT TO docs_minlsh DO INSTEAD NOTHING;
ALTER TABLE docs_minlsh ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY, ADD CHECK (doc_id < 5);
INSERT INTO docs VALUES (5, NULL, 'one text');
UPDATE docs SET body = 'another text' WHERE id = 1;
DELETE FROM docs WHERE id = 2;
SELECT * FROM minlsh_check();
SELECT minlsh_rebuild_side_table('docs');
TRUNCATE docs;
SELECT * FROM minlsh_check();
ROLLBACK;

-- A table that inherits from the side table is no part of the index.
BEGIN;
CREATE TABLE more () INHERITS (docs_minlsh);
INSERT INTO more SELECT doc_id + 10, '{1,2}', bands FROM docs_minlsh;
SELECT * FROM minlsh_check();
DELETE FROM docs WHERE id = 1;
SELECT * FROM minlsh_check();
ROLLBACK;

-- An index of its signatures as sets is not the one of the signatures.
BEGIN;
DROP INDEX docs_minlsh_signature_idx;
CREATE INDEX ON docs_minlsh USING minlsh (signature);
SELECT * FROM near_duplicates(1, 0.9, 'docs');
ROLLBACK;

-- A side table is not emptied alone.
TRUNCATE docs_minlsh;
BEGIN;
TRUNCATE docs, docs_minlsh;
TRUNCATE docs_minlsh;
SELECT * FROM minlsh_check();
ROLLBACK;

-- Triggers that are lost: minlsh_check() reports them, and the side table must be made again. The one for each row
-- that names the columns is the index itself: the others go with it, and what is left is a table.
BEGIN;
DROP TRIGGER docs_minlsh_update ON docs;
DROP TRIGGER docs_minlsh_truncate ON docs;
DROP TRIGGER docs_minlsh_rows ON docs_minlsh;
SELECT * FROM minlsh_check();
SELECT minlsh_drop_side_table('docs');
SELECT minlsh_create_side_table('docs', 'body');
SELECT * FROM minlsh_check();
ROLLBACK;
BEGIN;
DROP TRIGGER docs_minlsh_sync ON docs;
INSERT INTO docs VALUES (5, 'title', 'one text');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid IN ('docs'::regclass, 'docs_minlsh'::regclass);
SELECT minlsh_check('docs');
ROLLBACK;

-- A name that is free can be taken.
BEGIN;
ALTER TABLE docs_minlsh RENAME TO sketches;
SELECT minlsh_create_side_table('docs', 'title');
SELECT * FROM minlsh_check('docs');
ROLLBACK;

-- The trigger function is of no use but where minlsh_create_side_table() puts it.
SELECT minlsh_sync();
CREATE TABLE notes (id integer PRIMARY KEY, body text, amount integer);
CREATE TABLE other (doc_id integer PRIMARY KEY, signature integer[], bands bigint[]);
CREATE PROCEDURE misuse(definition text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE ' || definition || ' EXECUTE FUNCTION minlsh_sync(''docs_minlsh'', ''body'')';
	INSERT INTO notes VALUES (1, 'a note', 1);
	UPDATE notes SET body = 'another note';
	DELETE FROM notes;
	RAISE WARNING 'nothing happened';
	RAISE EXCEPTION division_by_zero;
EXCEPTION
	WHEN division_by_zero THEN NULL;
	WHEN OTHERS THEN RAISE WARNING '%: %', SQLSTATE, SQLERRM;
END $$;
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, body OR DELETE ON notes FOR EACH ROW');
CALL misuse('TRIGGER t BEFORE INSERT ON notes FOR EACH ROW');
CALL misuse('TRIGGER t AFTER INSERT ON notes FOR EACH STATEMENT');
CALL misuse('TRIGGER t BEFORE UPDATE ON notes FOR EACH STATEMENT');
CALL misuse('TRIGGER t AFTER INSERT ON notes REFERENCING NEW TABLE AS written FOR EACH STATEMENT');
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, body OR DELETE ON notes
	FOR EACH ROW WHEN (''other''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, body OR DELETE ON notes
	FOR EACH ROW WHEN (''notes''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, body OR DELETE ON notes
	FOR EACH ROW WHEN (''notes_pkey''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, body, amount OR DELETE ON notes
	FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, amount OR DELETE ON notes
	FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF body OR DELETE ON notes
	FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER INSERT ON notes FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER UPDATE OF id, body ON notes
	FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OR DELETE ON notes
	FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
-- Another table's side table, of an owner who gave the right to.
CREATE ROLE regress_minlsh_tamperer;
ALTER TABLE notes OWNER TO regress_minlsh_tamperer;
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, body OR DELETE ON notes
	FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
GRANT CREATE ON SCHEMA public TO regress_minlsh_tamperer;
SET ROLE regress_minlsh_tamperer;
CALL misuse('TRIGGER t AFTER INSERT OR UPDATE OF id, body OR DELETE ON notes
	FOR EACH ROW WHEN (''docs_minlsh''::regclass IS NOT NULL)');
RESET ROLE;
SELECT * FROM minlsh_check('docs');
REVOKE CREATE ON SCHEMA public FROM regress_minlsh_tamperer;
DROP TABLE notes, other;
DROP PROCEDURE misuse;
DROP ROLE regress_minlsh_tamperer;

-- Hints can be pasted, whatever the names.
CREATE SCHEMA "Mixed Case";
CREATE TABLE "Mixed Case"."My Docs" (id integer PRIMARY KEY, body text);
SELECT minlsh_rebuild_side_table('"Mixed Case"."My Docs"');
SELECT minlsh_create_side_table('"Mixed Case"."My Docs"', 'body');
SELECT minlsh_create_side_table('"Mixed Case"."My Docs"', 'body');
DROP SCHEMA "Mixed Case" CASCADE;
DROP TABLE docs;
DROP FUNCTION refused, trap;
