-- The queue of tracked clusters: what waits in it, who is shown it, and a warning if nobody empties it.
\set VERBOSITY terse
CREATE TABLE docs (id integer PRIMARY KEY, body text);
CREATE INDEX docs_near ON docs USING minlsh (body);
CREATE VIEW waiting AS SELECT index, queued, queued_since IS NOT NULL AS has_since, queued_since <= now() AS is_past
    FROM minlsh_indexes WHERE relation = 'docs'::regclass ORDER BY 1;
SELECT * FROM waiting;
SELECT minlsh_track_clusters('docs_near');
SELECT * FROM waiting;
INSERT INTO docs SELECT i, 'the same text ' || i / 2 FROM generate_series(1, 10) i;
TRUNCATE docs;
INSERT INTO docs SELECT i, 'the same text ' || i / 2 FROM generate_series(1, 10) i;
SELECT * FROM waiting;
-- Another index of the table has nothing to do with it, and one that is renamed keeps it.
CREATE INDEX docs_far ON docs USING minlsh (body) WITH (threshold = 0.5);
ALTER INDEX docs_near RENAME TO docs_renamed;
SELECT * FROM waiting;
-- It is shown to the owner alone.
CREATE ROLE regress_minlsh_stranger;
GRANT SELECT ON docs, waiting TO regress_minlsh_stranger;
SET ROLE regress_minlsh_stranger;
SELECT index, queued, queued_since FROM minlsh_indexes WHERE relation = 'docs'::regclass ORDER BY 1;
RESET ROLE;
-- A refresh empties it.
SELECT changed FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM waiting;

-- Whoever writes to a queue that has grown is warned, once for a statement.
SHOW minlsh.queue_warning;
SET minlsh.queue_warning = '32kB';
INSERT INTO docs SELECT i, 'text ' || i FROM generate_series(11, 1000) i;
\set VERBOSITY default
UPDATE docs SET body = 'another' WHERE id < 3;
\set VERBOSITY terse
SET minlsh.queue_warning = 0;
UPDATE docs SET body = 'another one' WHERE id < 3;
RESET minlsh.queue_warning;

-- minlsh_check() replays the log: what was put there by hand, and what is missing.
SELECT changed FROM minlsh_refresh_clusters('docs_clusters');
SELECT count(*) FROM minlsh_check('docs_clusters');
SELECT max(seq) AS last FROM docs_clusters_log \gset
BEGIN;
DELETE FROM docs_clusters_log WHERE seq = :last;
SELECT * FROM minlsh_check('docs_clusters');
ROLLBACK;
BEGIN;
DELETE FROM docs_clusters_log WHERE event = 'join' AND doc_id = 4;
UPDATE docs_clusters_log SET cluster_id = 77 WHERE event = 'join' AND doc_id = 5;
SELECT * FROM minlsh_check('docs_clusters');
ROLLBACK;
-- Of a log whose old rows are gone the tail is replayed.
DELETE FROM docs_clusters_log WHERE seq < :last;
SELECT count(*) FROM minlsh_check('docs_clusters');
DROP TABLE docs CASCADE;
DROP ROLE regress_minlsh_stranger;

-- Row-level security that hides rows from their owner, too, is an error, not clusters of some rows.
CREATE ROLE regress_minlsh_owner;
CREATE SCHEMA regress_minlsh AUTHORIZATION regress_minlsh_owner;
SET ROLE regress_minlsh_owner;
CREATE TABLE regress_minlsh.docs (id integer PRIMARY KEY, body text);
CREATE INDEX docs_near ON regress_minlsh.docs USING minlsh (body);
SELECT minlsh_track_clusters('regress_minlsh.docs_near');
INSERT INTO regress_minlsh.docs VALUES (1, 'the same text'), (2, 'the same text');
ALTER TABLE regress_minlsh.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY nothing ON regress_minlsh.docs USING (false) WITH CHECK (true);
SELECT joined FROM minlsh_refresh_clusters('regress_minlsh.docs_clusters');
INSERT INTO regress_minlsh.docs VALUES (3, 'the same text');
ALTER TABLE regress_minlsh.docs FORCE ROW LEVEL SECURITY;
SELECT joined FROM minlsh_refresh_clusters('regress_minlsh.docs_clusters');
SELECT count(*) FROM near_duplicate_cluster_of(1, index => 'regress_minlsh.docs_near');
ALTER TABLE regress_minlsh.docs NO FORCE ROW LEVEL SECURITY;
SELECT joined FROM minlsh_refresh_clusters('regress_minlsh.docs_clusters');
RESET ROLE;
DROP TABLE regress_minlsh.docs;
DROP SCHEMA regress_minlsh;
DROP ROLE regress_minlsh_owner;
