-- The trigger functions in triggers that minlsh did not make: on other tables, at other times, with other
-- columns and arguments, aimed at somebody else's tables.
-- Attacker: an ordinary user, who may execute them. Must not: anything be written, read or ended by them.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
CREATE TABLE app.other (id int PRIMARY KEY, signature integer[], bands bigint[]);
-- as attacker:
CREATE TABLE evil.t (id int PRIMARY KEY, body text, "more" text);
CREATE TRIGGER a AFTER INSERT ON evil.t FOR EACH ROW EXECUTE FUNCTION minlsh_sync();
-- refused
INSERT INTO evil.t VALUES (1, 'one text');
DROP TRIGGER a ON evil.t;
CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON evil.t FOR EACH ROW EXECUTE
	FUNCTION minlsh_sync('app.docs_minlsh');
-- tried
INSERT INTO evil.t VALUES (1, 'one text');
DROP TRIGGER a ON evil.t;
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON evil.t FOR EACH STATEMENT EXECUTE
	FUNCTION minlsh_sync('docs_minlsh', 'x', 'y');
-- refused
INSERT INTO evil.t VALUES (1, 'one text');
-- refused
DELETE FROM evil.t;
DROP TRIGGER a ON evil.t;
CREATE TRIGGER a AFTER TRUNCATE ON evil.t FOR EACH STATEMENT EXECUTE FUNCTION minlsh_sync('docs_minlsh');
-- tried
TRUNCATE evil.t;
DROP TRIGGER a ON evil.t;
CREATE TRIGGER a AFTER UPDATE OF "more", body, id ON evil.t FOR EACH ROW EXECUTE FUNCTION minlsh_sync('docs_minlsh');
INSERT INTO evil.t VALUES (1, 'one text');
-- refused
UPDATE evil.t SET "more" = 'x';
DROP TRIGGER a ON evil.t;
CREATE VIEW evil.v AS SELECT * FROM evil.t;
CREATE TRIGGER a INSTEAD OF INSERT ON evil.v FOR EACH ROW EXECUTE FUNCTION minlsh_sync('docs_minlsh');
-- tried
INSERT INTO evil.v VALUES (1, 'one text');
-- refused
SELECT minlsh_sync();
-- A trigger whose condition names somebody else's table, for which PostgreSQL asks no right.
-- tried
CREATE TRIGGER c AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t FOR EACH ROW
	WHEN ('app.docs_minlsh'::regclass IS NOT NULL)
	EXECUTE FUNCTION minlsh_sync();
-- tried
CREATE TRIGGER d AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t
	FOR EACH ROW WHEN ('app.other'::regclass IS NOT NULL) EXECUTE
	FUNCTION minlsh_sync();
-- tried
CREATE TRIGGER e AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t
	FOR EACH ROW WHEN ('pg_class'::regclass IS NOT NULL) EXECUTE
	FUNCTION minlsh_sync();
-- tried
INSERT INTO evil.t VALUES (7, 'a text of the attacker');
-- tried
DELETE FROM evil.t;
-- as owner:
-- gives: 0
SELECT count(*) FROM app.other;
-- gives: 0
SELECT count(*) FROM minlsh_check('app.docs');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, 0.9, 'app.docs');
-- gives: 2
SELECT count(*) FROM app.docs_minlsh;
