-- The cluster of a row, and tracked clusters, of a table with policies; a writer who may create triggers there.
-- Attackers: a reader under a policy, who may create triggers; the owner of a policy with a function in it. Must not: a
-- hidden row join what the reader sees, count, or show by an error; keys of the documents go to the reader's tables;
-- a policy's function run as somebody else; a refresh leave out rows without saying so.

-- as owner:
CREATE FUNCTION app.words(first int, last int) RETURNS text LANGUAGE sql
	AS $$ SELECT string_agg(md5(i::text), ' ' ORDER BY i) FROM generate_series(first, last) i $$;
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
-- 1 and 3 are near-duplicates of the hidden 2, and not of each other. 4 has many hidden copies, and one that is not.
INSERT INTO app.docs VALUES (1, app.words(1, 40), 'attacker'), (2, app.words(5, 44), 'owner'),
	(3, app.words(9, 48), 'attacker'), (4, app.words(101, 140), 'attacker'), (5, app.words(101, 140), 'attacker'),
	(6, 'SECRET', 'owner');
INSERT INTO app.docs SELECT i, app.words(101, 140), 'owner' FROM generate_series(11, 60) i;
CREATE INDEX near ON app.docs USING minlsh (body) WITH (threshold = 0.8);
SELECT minlsh_track_clusters('app.near', name => 'c');
-- gives: 55
SELECT joined FROM minlsh_refresh_clusters('app.c');
-- gives: 3
SELECT count(*) FROM near_duplicate_cluster_of(1, index => 'app.near');
GRANT SELECT, INSERT, TRIGGER ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
-- as attacker:
-- gives: 0
SELECT count(*) FROM near_duplicate_cluster_of(1, index => 'app.near');
-- gives: 2
SELECT count(*) FROM near_duplicate_cluster_of(4, index => 'app.near', max_members => 2);
-- A hidden key is one that does not exist.
CREATE FUNCTION evil.told(key int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT array_agg(c) FROM public.near_duplicate_cluster_of(key, index => 'app.near') c);
EXCEPTION WHEN OTHERS THEN
	RETURN replace(SQLSTATE || SQLERRM, key::text, 'key');
END $$;
-- gives: t
SELECT evil.told(2) IS NOT DISTINCT FROM evil.told(999) AND evil.told(11) IS NOT DISTINCT FROM evil.told(998);
-- gives: 0
SELECT count(*) FROM minlsh_indexes i WHERE i.relation = 'app.docs'::regclass AND queued IS NOT NULL;
-- refused: 42501
SELECT minlsh_check('app.c');
-- refused: 42501
SELECT minlsh_refresh_clusters('app.c');
-- refused: 42501
SELECT doc_id FROM app.c;

-- A queue of the attacker's, which triggers on the documents name.
CREATE TABLE evil.c (doc_id int PRIMARY KEY, cluster_id bigint NOT NULL, fingerprint uuid);
CREATE TABLE evil.c_list (cluster_id bigint PRIMARY KEY, size bigint, since timestamptz, changed bigint,
	least_similar float8);
CREATE TABLE evil.c_log (seq bigint PRIMARY KEY, refresh bigint, at timestamptz, event text, cluster_id bigint,
	other_id bigint, doc_id int, size bigint);
CREATE TABLE evil.c_queue (doc_id int, state text, since timestamptz);
CREATE TABLE evil.c_apart (a int, b int);
CREATE TRIGGER mine AFTER INSERT OR UPDATE OF id, body OR DELETE ON app.docs
	FOR EACH ROW WHEN ('evil.c_queue'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_capture();
CREATE TRIGGER mine_too AFTER TRUNCATE ON app.docs EXECUTE FUNCTION minlsh_capture();
-- as owner:
INSERT INTO app.docs VALUES (70, app.words(201, 240), 'owner'), (71, app.words(201, 240), 'owner');
-- gives: 2
SELECT joined FROM minlsh_refresh_clusters('app.c');
-- as attacker:
-- gives: 0
SELECT count(*) FROM evil.c_queue;
-- refused: 42704
SELECT minlsh_refresh_clusters('evil.c');
-- refused: 42704
SELECT minlsh_untrack_clusters('evil.c');
-- refused: 42704
SELECT minlsh_check('evil.c');
-- The triggers of the tracked clusters are found among them, and dropped.
-- as owner:
TRUNCATE app.docs;
-- gives: 57
SELECT removed FROM minlsh_refresh_clusters('app.c');
SELECT minlsh_untrack_clusters('app.c');
-- gives: 0
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.docs'::regclass AND tgname LIKE 'c_queue%' AND tgtype & 1 = 1;

-- A policy that holds for the owner, too, and has a function: all rows or an error.
-- as attacker:
DROP TABLE evil.c, evil.c_list, evil.c_log, evil.c_queue, evil.c_apart CASCADE;
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text of some length' FROM generate_series(1, 5) i;
CREATE INDEX docs_near ON evil.docs USING minlsh (body);
SELECT minlsh_track_clusters('evil.docs_near');
CREATE FUNCTION evil.look(id int) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('a policy of the documents'); RETURN id < 4; END $$;
ALTER TABLE evil.docs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY look ON evil.docs USING (evil.look(id));
-- refused: 42501
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- as superuser:
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- gives: t
SELECT count(*) IN (0, 5) FROM evil.docs_clusters;
