-- Triggers of the user's, beside those of minlsh, that drop, rebuild or empty the index amid a statement.
-- Attacker: the owner. Must not: a crash or an internal error; table and index agree afterwards.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 10) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE FUNCTION evil.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	BEGIN EXECUTE TG_ARGV[0]; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; END;
	RETURN COALESCE(NEW, OLD);
END $$;
CREATE FUNCTION evil.try(what text, event text) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN
	BEGIN
		EXECUTE format('CREATE TRIGGER aaa %s ON evil.docs FOR EACH ROW EXECUTE FUNCTION evil.meddle(%L)', event, what);
		INSERT INTO evil.docs VALUES (20, 'one text'), (21, 'one text');
		UPDATE evil.docs SET body = 'two texts' WHERE id IN (1, 2);
		UPDATE evil.docs SET id = 30, body = 'x' WHERE id = 3;
		INSERT INTO evil.docs VALUES (4, 'new') ON CONFLICT (id) DO UPDATE SET body = excluded.body;
		DELETE FROM evil.docs WHERE id IN (5, 6);
		DROP TRIGGER aaa ON evil.docs;
	EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF;
	END;
	SELECT count(*) FROM minlsh_check('evil.docs') INTO n;
	RETURN n;
END $$;
-- gives: 0
SELECT evil.try('SELECT minlsh_rebuild_side_table(''evil.docs'')', 'BEFORE INSERT OR UPDATE OR DELETE');
-- gives: 0
SELECT evil.try('SELECT minlsh_rebuild_side_table(''evil.docs'')', 'AFTER INSERT OR UPDATE OR DELETE');
-- gives: 0
SELECT evil.try('TRUNCATE evil.docs', 'AFTER INSERT OR UPDATE OR DELETE');
-- gives: 0
SELECT evil.try('DELETE FROM evil.docs WHERE id = 7', 'BEFORE INSERT OR UPDATE');
-- gives: 0
SELECT evil.try('UPDATE evil.docs SET body = ''changed meanwhile'' WHERE id IN (1, 8, 21)', 'AFTER INSERT OR DELETE');
-- gives: 0
SELECT evil.try('INSERT INTO evil.docs VALUES (5, ''again'')', 'AFTER DELETE');
BEGIN;
-- tried
SELECT evil.try('SELECT minlsh_drop_side_table(''evil.docs'')', 'AFTER INSERT OR UPDATE OR DELETE');
ROLLBACK;
BEGIN;
-- tried
SELECT evil.try('ALTER TABLE evil.docs_minlsh DROP COLUMN bands CASCADE', 'AFTER INSERT OR UPDATE OR DELETE');
ROLLBACK;
