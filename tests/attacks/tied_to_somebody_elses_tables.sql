-- Triggers whose condition names somebody else's side table and queue, on tables that the attacker then locks.
-- Attacker: an ordinary user. Must not: a row be written there, or the owner wait for the attacker's lock.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
CREATE INDEX near ON app.docs USING minlsh (body);
SELECT minlsh_create_side_table('app.docs', 'body');
SELECT minlsh_track_clusters('app.near', name => 'c');
-- as attacker:
CREATE TABLE evil.t (id int PRIMARY KEY, body text);
CREATE TRIGGER a AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t FOR EACH ROW
	WHEN ('app.docs_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
-- refused: 55000
INSERT INTO evil.t VALUES (3, 'one text');
DROP TRIGGER a ON evil.t;
CREATE TRIGGER b AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t FOR EACH ROW
	WHEN ('app.c_queue'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_capture();
INSERT INTO evil.t VALUES (3, 'one text');
CREATE TRIGGER a AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t FOR EACH ROW
	WHEN ('app.docs_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
-- Being tied to a table gives no right on it.
-- refused: 42501
SELECT minlsh_check('app.docs_minlsh');
-- refused: 42501
SELECT minlsh_drop_side_table('app.docs_minlsh');
-- refused: 42501
SELECT near_duplicates(1, index => 'app.docs_minlsh');
-- refused: 42501
SELECT minlsh_refresh_clusters('app.c');
-- as attacker, second session:
BEGIN;
LOCK TABLE evil.t;
-- as owner:
-- gives: 2
SELECT joined FROM minlsh_refresh_clusters('app.c');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, index => 'app.docs_minlsh');
INSERT INTO app.docs VALUES (4, 'one text');
-- gives: 1
SELECT joined FROM minlsh_refresh_clusters('app.c');
-- gives: 0
SELECT count(*) FROM minlsh_check('app.docs_minlsh');
-- gives: 0
SELECT count(*) FROM minlsh_check('app.c');
SELECT minlsh_rebuild_side_table('app.docs_minlsh');
-- gives: 3
SELECT count(*) FROM app.docs_minlsh;
SELECT * FROM minlsh_indexes;
TRUNCATE app.docs;
