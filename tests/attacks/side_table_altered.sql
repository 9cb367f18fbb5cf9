-- A side table that is changed in each way that its owner can change it, while the table is written and asked.
-- Attacker: the owner of an indexed table. Must not: an internal error, a crash, or a way of no return.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 5) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE FUNCTION evil.use() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	answer text := '';
BEGIN
	FOREACH statement IN ARRAY ARRAY[
		'INSERT INTO evil.docs VALUES (10, ''one text'')', 'UPDATE evil.docs SET body = body || ''!'' WHERE id = 1',
		'UPDATE evil.docs SET id = 11 WHERE id = 2', 'DELETE FROM evil.docs WHERE id = 3',
		'SELECT near_duplicates(4, 0.9, ''evil.docs'')', 'SELECT near_duplicates(4, 0.9, ''evil.docs'', ''exact'')',
		'SELECT near_duplicates_of(''one text'', 0.9, ''evil.docs'')',
			'SELECT near_duplicate_pairs(''evil.docs'', 0.9)',
		'SELECT minlsh_check(''evil.docs'')', 'SELECT minlsh_recall(''evil.docs'')', 'SELECT * FROM minlsh_indexes',
		'SELECT minlsh_explain(''evil.docs'', 4, 5)', 'COPY evil.docs TO ''/dev/null''', 'TRUNCATE evil.docs',
		'SELECT minlsh_rebuild_side_table(''evil.docs'')'] LOOP
		BEGIN
			EXECUTE statement;
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN answer := answer || statement || ': ' || SQLERRM || '; '; END IF;
		END;
	END LOOP;
	RETURN answer;
END $$;
BEGIN;
ALTER TABLE evil.docs_minlsh ALTER doc_id TYPE bigint;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh ALTER doc_id TYPE text;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh DROP CONSTRAINT docs_minlsh_pkey;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh DROP CONSTRAINT docs_minlsh_pkey, ALTER doc_id DROP NOT NULL,
	ALTER signature DROP NOT NULL, ALTER bands DROP NOT NULL;
UPDATE evil.docs_minlsh SET doc_id = NULL, signature = NULL, bands = NULL;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh DROP CONSTRAINT docs_minlsh_pkey, ADD UNIQUE (doc_id) DEFERRABLE INITIALLY DEFERRED;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh ADD extra text DEFAULT 'more', ADD CHECK (trap.spring('a CHECK on the side table'));
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh DROP COLUMN bands;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
DO $$ DECLARE i regclass; BEGIN
	FOR i IN SELECT indexrelid FROM pg_index WHERE indrelid = 'evil.docs_minlsh'::regclass AND NOT indisprimary
		LOOP EXECUTE 'DROP INDEX ' || i; END LOOP;
END $$;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
CREATE TABLE evil.child () INHERITS (evil.docs_minlsh);
INSERT INTO evil.child SELECT * FROM evil.docs_minlsh;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
CREATE TABLE evil.parent (LIKE evil.docs_minlsh);
ALTER TABLE evil.docs_minlsh INHERIT evil.parent;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
CREATE TABLE evil.whole (LIKE evil.docs_minlsh INCLUDING CONSTRAINTS) PARTITION BY RANGE (doc_id);
-- tried
ALTER TABLE evil.whole ATTACH PARTITION evil.docs_minlsh DEFAULT;
-- tried
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh SET UNLOGGED;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
ALTER TABLE evil.docs_minlsh RENAME signature TO bands2;
ALTER TABLE evil.docs_minlsh RENAME bands TO signature;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
CREATE RULE r AS ON INSERT TO evil.docs_minlsh DO INSTEAD NOTHING;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
DO $$ BEGIN ALTER TABLE evil.docs DROP COLUMN body; EXCEPTION WHEN feature_not_supported
	OR dependent_objects_still_exist THEN NULL; END $$;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
DO $$ BEGIN ALTER TABLE evil.docs ALTER body TYPE bytea USING body::bytea; EXCEPTION WHEN feature_not_supported
	OR dependent_objects_still_exist THEN NULL; END $$;
-- gives: 
SELECT evil.use();
ROLLBACK;
BEGIN;
DO $$ BEGIN ALTER TABLE evil.docs ALTER id TYPE text; EXCEPTION WHEN feature_not_supported
	OR dependent_objects_still_exist THEN NULL; END $$;
-- gives: 
SELECT evil.use();
ROLLBACK;
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.docs');
