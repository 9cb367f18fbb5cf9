-- Tracked clusters whose tables have planted triggers, rules and policies, which a superuser refreshes; relations that
-- are swapped; triggers of an attacker that name somebody else's queue. A writer without any right writes on.
-- Attackers: the owner of the documents; a stranger. Must not: planted code run as somebody else, a queue that
-- strangers read or fill, an internal error.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text of some length' FROM generate_series(1, 5) i;
CREATE INDEX docs_near ON evil.docs USING minlsh (body);
SELECT minlsh_track_clusters('evil.docs_near');
CREATE FUNCTION evil.trap() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN PERFORM trap.spring('a trigger of a table of clusters'); RETURN coalesce(NEW, OLD); END $$;
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON evil.docs_clusters
	FOR EACH ROW EXECUTE FUNCTION evil.trap();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON evil.docs_clusters_log
	FOR EACH ROW EXECUTE FUNCTION evil.trap();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON evil.docs_clusters_list
	FOR EACH ROW EXECUTE FUNCTION evil.trap();
CREATE TRIGGER planted BEFORE INSERT OR DELETE ON evil.docs_clusters_queue FOR EACH ROW EXECUTE FUNCTION evil.trap();
CREATE FUNCTION evil.look() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('a policy'); END $$;
CREATE RULE planted AS ON INSERT TO evil.docs_clusters_log DO ALSO SELECT trap.spring('a rule');
-- as superuser:
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- as attacker:
DROP RULE planted ON evil.docs_clusters_log;
ALTER TABLE evil.docs_clusters_list ENABLE ROW LEVEL SECURITY;
CREATE POLICY planted ON evil.docs_clusters_list USING (evil.look());
ALTER TABLE evil.docs_clusters_list FORCE ROW LEVEL SECURITY;
-- as superuser:
-- refused: 42501
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- as attacker:
ALTER TABLE evil.docs_clusters_list NO FORCE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA evil TO reader;
GRANT INSERT, UPDATE, DELETE, SELECT ON evil.docs TO reader;
-- as superuser:
-- gives: 5
SELECT joined FROM minlsh_refresh_clusters('evil.docs_clusters');
-- as reader:
-- A writer has no right on the tables, and needs none.
INSERT INTO evil.docs VALUES (6, 'one text of some length');
DELETE FROM evil.docs WHERE id = 1;
-- refused: 42501
SELECT * FROM evil.docs_clusters_queue;
-- refused: 42501
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- refused: 42501
SELECT minlsh_untrack_clusters('evil.docs_clusters');
-- refused: 42501
SELECT minlsh_track_clusters('evil.docs_near', name => 'mine');
-- as superuser:
-- gives: 1
SELECT joined FROM minlsh_refresh_clusters('evil.docs_clusters');

-- Tables that were given other indexes, columns or kinds are refused.
-- as attacker:
CREATE FUNCTION evil.seen(bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN RETURN trap.spring('an index of a table of clusters'); END $$;
CREATE INDEX planted ON evil.docs_clusters (evil.seen(cluster_id));
-- as superuser:
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);
-- as attacker:
DROP INDEX evil.planted;
ALTER TABLE evil.docs_clusters_log RENAME TO hidden;
CREATE VIEW evil.docs_clusters_log AS SELECT * FROM evil.hidden WHERE evil.look();
-- as superuser:
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);
-- as attacker:
DROP VIEW evil.docs_clusters_log;
ALTER TABLE evil.hidden RENAME TO docs_clusters_log;
UPDATE evil.docs_clusters_queue SET state = '{"version": 1, "threshold": 9}' WHERE state IS NOT NULL;
-- as superuser:
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');

-- A queue of another owner is neither read nor filled.
-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs SELECT i, 'a SECRET text' FROM generate_series(1, 3) i;
CREATE INDEX docs_near ON app.docs USING minlsh (body);
SELECT minlsh_track_clusters('app.docs_near');
-- as attacker:
CREATE TABLE evil.other (id int PRIMARY KEY, body text);
CREATE TRIGGER mine AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.other
	FOR EACH ROW WHEN ('app.docs_clusters_queue'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_capture();
-- tried
INSERT INTO evil.other VALUES (2, 'x');
DROP TRIGGER mine ON evil.other;
-- tried
CREATE TRIGGER mine AFTER INSERT ON evil.other FOR EACH ROW EXECUTE FUNCTION minlsh_capture();
-- tried
INSERT INTO evil.other VALUES (1, 'x');
-- as owner:
-- gives: 0
SELECT count(*) FROM app.docs_clusters_queue WHERE doc_id IS NOT NULL;
