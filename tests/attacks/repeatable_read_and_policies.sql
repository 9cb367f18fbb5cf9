-- Functions of policies and views that write, change rights, roll back, or ask near_duplicates() themselves.
-- Attacker: the owner of a table that a superuser asks as a reader would. Must not: a crash or an internal
-- error; the code runs as the caller, as in a plain SELECT, so no superuser asks here.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 10) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE FUNCTION evil.policy() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	IF current_setting('evil.depth', true) = 'on' THEN RETURN true; END IF;
	PERFORM set_config('evil.depth', 'on', true);
	PERFORM near_duplicates(2, 0.9, 'evil.docs', 'exact');
	PERFORM near_duplicate_pairs('evil.docs', 0.9);
	INSERT INTO evil.docs SELECT max(id) + 1, 'one text' FROM evil.docs;
	DELETE FROM evil.docs WHERE id = 9;
	PERFORM minlsh_check('evil.docs');
	PERFORM set_config('evil.depth', 'off', true);
	RETURN true;
END $$;
CREATE POLICY p ON evil.docs USING (evil.policy());
ALTER TABLE evil.docs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'exact');
BEGIN ISOLATION LEVEL REPEATABLE READ;
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
ROLLBACK;
CREATE FUNCTION evil.drops() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	BEGIN EXECUTE 'SELECT minlsh_drop_side_table(''evil.docs'')'; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%'
		THEN RAISE; END IF; END;
	BEGIN EXECUTE 'SELECT minlsh_rebuild_side_table(''evil.docs'')'; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%'
		THEN RAISE; END IF; END;
	BEGIN EXECUTE 'TRUNCATE evil.docs'; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; END;
	BEGIN EXECUTE 'DROP TABLE evil.docs CASCADE'; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%'
		THEN RAISE; END IF; END;
	BEGIN EXECUTE 'DROP TABLE evil.docs_minlsh CASCADE'; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%'
		THEN RAISE; END IF; END;
	RETURN true;
END $$;
ALTER POLICY p ON evil.docs USING (evil.drops());
BEGIN;
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'exact');
ROLLBACK;
BEGIN;
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9, 'exact');
ROLLBACK;
BEGIN;
-- tried
SELECT minlsh_recall('evil.docs');
ROLLBACK;
