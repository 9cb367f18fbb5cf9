-- Tables of tracked clusters whose triggers drop the index, empty the tables, refresh once more or wait for the end of
-- the transaction; foreign keys, generated columns and heirs of these tables.
-- Attacker: the owner of the documents. Must not: planted code run as somebody else, an internal error, or tables that
-- a refresh does not mend once the trigger is gone.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text of some length, in which there is more than enough to be alike, of form '
	|| i % 2 FROM generate_series(1, 9) i;
CREATE INDEX docs_near ON evil.docs USING minlsh (body);
SELECT minlsh_track_clusters('evil.docs_near');
CREATE FUNCTION evil.act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	PERFORM trap.spring('a trigger');
	EXECUTE current_setting('evil.act');
	RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER acts BEFORE INSERT OR UPDATE OR DELETE ON evil.docs_clusters FOR EACH ROW EXECUTE FUNCTION evil.act();

-- as superuser:
SET evil.act = 'DROP INDEX IF EXISTS evil.docs_near CASCADE';
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');
SET evil.act = 'TRUNCATE evil.docs_clusters';
-- refused: 55006
SELECT minlsh_refresh_clusters('evil.docs_clusters');
SET evil.act = 'SELECT public.minlsh_refresh_clusters(''evil.docs_clusters'')';
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters');
SET evil.act = 'SELECT public.minlsh_untrack_clusters(''evil.docs_clusters'')';
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters');
SET evil.act = 'ALTER TABLE evil.docs_clusters ALTER doc_id TYPE text';
-- refused: 55006
SELECT minlsh_refresh_clusters('evil.docs_clusters');
SET evil.act = 'CLOSE ALL';
-- refused: 42501
SELECT joined FROM minlsh_refresh_clusters('evil.docs_clusters');
SET evil.act = 'DELETE FROM evil.docs_clusters_queue; DELETE FROM evil.docs_clusters_list';
INSERT INTO evil.docs VALUES (10, 'one text of some length');
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);
SET evil.act = 'SELECT 1';
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);
-- gives: 1
SELECT clusters FROM minlsh_refresh_clusters('evil.docs_clusters', true);
-- gives:
SELECT problem FROM minlsh_check('evil.docs_clusters');

-- What waits for the end of the transaction would run as whoever ends it.
-- as attacker:
DROP TRIGGER acts ON evil.docs_clusters;
CREATE CONSTRAINT TRIGGER waits AFTER INSERT OR UPDATE OR DELETE ON evil.docs_clusters DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION evil.act();
-- as superuser:
INSERT INTO evil.docs VALUES (12, 'one text of some length');
-- refused: 42501
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- as attacker:
DROP TRIGGER waits ON evil.docs_clusters;
CREATE TABLE evil.allowed (id bigint PRIMARY KEY);
ALTER TABLE evil.docs_clusters_list ADD CONSTRAINT allowed FOREIGN KEY (cluster_id) REFERENCES evil.allowed NOT VALID;
-- as superuser:
INSERT INTO evil.docs VALUES (20, 'a text that is quite another'), (21, 'a text that is quite another');
-- refused: 23503
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- as attacker:
ALTER TABLE evil.docs_clusters_list DROP CONSTRAINT allowed;
ALTER TABLE evil.docs_clusters_list ADD COLUMN twice bigint GENERATED ALWAYS AS (size * 2) STORED;
-- as superuser:
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- as attacker:
ALTER TABLE evil.docs_clusters_log ALTER seq SET DEFAULT 1 / 0;
CREATE TABLE evil.heir () INHERITS (evil.docs_clusters);
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');
DROP TABLE evil.heir;
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');
