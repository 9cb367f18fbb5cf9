-- A policy on the table that swaps the side table for one with other column types while near_duplicates()
-- is between the two.
-- Attacker: the owner of an indexed table. Must not: memory be read as what it is not.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 20) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE FUNCTION evil.swap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	IF current_setting('evil.armed', true) = 'on' AND to_regclass('evil.kept') IS NULL THEN
		EXECUTE 'ALTER TABLE evil.docs_minlsh RENAME TO kept';
		EXECUTE 'CREATE TABLE evil.docs_minlsh (doc_id int, signature bigint, bands bigint)';
		EXECUTE 'INSERT INTO evil.docs_minlsh SELECT i, 4702111234474983745, 4702111234474983745
			FROM generate_series(1, 20) i';
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION evil.alter() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	IF current_setting('evil.armed', true) = 'on' THEN
		EXECUTE 'ALTER TABLE evil.docs_minlsh ALTER signature TYPE bigint USING 4702111234474983745';
	END IF;
	RETURN true;
END $$;
CREATE POLICY p ON evil.docs USING (evil.swap());
ALTER TABLE evil.docs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs');
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'exact');
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'signature');
SET evil.armed = on;
BEGIN;
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs');
ROLLBACK;
BEGIN;
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'exact');
ROLLBACK;
BEGIN;
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'signature');
ROLLBACK;
ALTER POLICY p ON evil.docs USING (evil.alter());
BEGIN;
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'signature');
ROLLBACK;
BEGIN;
-- tried
SELECT count(*) FROM near_duplicates(d.id, 0.9, 'evil.docs', 'exact'), evil.docs d;
ROLLBACK;
BEGIN;
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
ROLLBACK;
BEGIN;
-- tried
SELECT count(*) FROM near_duplicate_plan('evil.docs', 0.9);
ROLLBACK;
BEGIN;
-- tried
SELECT minlsh_recall('evil.docs');
ROLLBACK;
