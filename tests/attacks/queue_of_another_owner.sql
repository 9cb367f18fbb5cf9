-- Triggers of the attacker's that name the queue of somebody else's tracked clusters, or another table that they may
-- not write, and tables that take the places of those that are tracked.
-- Attacker: a user who may create tables in the owner's schema. Must not: a row be written there, a refresh read
-- tables of the attacker's, or be refused because of them.

-- as owner:
GRANT USAGE, CREATE ON SCHEMA app TO attacker;
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text'), (3, 'SECRET, one of its kind');
CREATE INDEX near ON app.docs USING minlsh (body);
SELECT minlsh_track_clusters('app.near', name => 'c');
-- gives: 2
SELECT joined FROM minlsh_refresh_clusters('app.c');
GRANT INSERT ON app.docs TO attacker;
-- as attacker:
CREATE TABLE evil.t (id int PRIMARY KEY, body text);
-- tried
CREATE TRIGGER a AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t FOR EACH ROW
	WHEN ('app.c_queue'::regclass IS NOT NULL)
	EXECUTE FUNCTION minlsh_capture();
-- tried
CREATE TRIGGER b AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.t FOR EACH ROW
	WHEN ('app.docs'::regclass IS NOT NULL)
	EXECUTE FUNCTION minlsh_capture();
-- tried
INSERT INTO evil.t VALUES (2, 'a text of the attacker');
-- tried
DELETE FROM evil.t;
-- refused: 42501
SELECT minlsh_refresh_clusters('app.c');
-- refused: 42501
SELECT minlsh_untrack_clusters('app.c');
-- refused: 42501
SELECT minlsh_track_clusters('app.near', name => 'd');
-- refused: 42501
SELECT * FROM app.c;
-- What may be written is captured, without a right on the queue.
INSERT INTO app.docs VALUES (4, 'one text');
-- as owner:
-- gives: 1
SELECT changed FROM minlsh_refresh_clusters('app.c');
DROP TABLE app.c_log;
-- as attacker:
CREATE TABLE app.c_log (seq bigint NOT NULL PRIMARY KEY, refresh bigint NOT NULL, at timestamptz NOT NULL,
	event text NOT NULL, cluster_id bigint NOT NULL, other_id bigint, doc_id int, size bigint);
CREATE FUNCTION evil.now() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('a log of the attacker'); RETURN NEW; END $$;
CREATE TRIGGER now BEFORE INSERT ON app.c_log FOR EACH ROW EXECUTE FUNCTION evil.now();
-- as owner:
INSERT INTO app.docs VALUES (5, 'one text');
-- refused: 55000
SELECT minlsh_refresh_clusters('app.c');
-- as attacker:
-- gives: 0
SELECT count(*) FROM app.c_log;
