-- Tracked clusters: near-duplicate clusters whose ids stay, with a log of what happened.
CREATE FUNCTION words(first integer, last integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(md5(i::text), ' ' ORDER BY i) FROM generate_series(first, last) i $$;
CREATE TABLE docs (id bigint PRIMARY KEY, body text, views integer DEFAULT 0);
INSERT INTO docs SELECT i, words(100, 140 + i % 2) FROM generate_series(1, 3) i;
INSERT INTO docs SELECT i, words(200, 240 + i % 2) FROM generate_series(4, 5) i;
INSERT INTO docs VALUES (6, words(300, 340)), (7, ''), (8, NULL);
CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.8);

-- Track them. The tables belong to the owner of the documents; the first refresh finds the clusters.
SELECT minlsh_track_clusters('docs_near');
SELECT * FROM minlsh_refresh_clusters('docs_clusters');
SELECT doc_id, cluster_id FROM docs_clusters ORDER BY doc_id;
SELECT cluster_id, size, changed FROM docs_clusters_list ORDER BY cluster_id;
SELECT seq, refresh, event, cluster_id, other_id, doc_id, size FROM docs_clusters_log ORDER BY seq;
-- Nothing has changed since, so nothing is written. Nor does a full refresh write anything.
SELECT * FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM minlsh_refresh_clusters('docs_clusters', true);

-- What is written is noted by triggers: the keys, and only where key or text changed.
UPDATE docs SET views = views + 1;
SELECT count(*) FROM docs_clusters_queue WHERE doc_id IS NOT NULL;
INSERT INTO docs VALUES (9, words(300, 341));
UPDATE docs SET body = upper(body) WHERE id = 1;
DELETE FROM docs WHERE id = 4;
SELECT doc_id FROM docs_clusters_queue WHERE doc_id IS NOT NULL ORDER BY doc_id;
CREATE VIEW since AS SELECT event, cluster_id, other_id, doc_id, size FROM docs_clusters_log
    WHERE refresh = (SELECT max(refresh) FROM docs_clusters_log) ORDER BY seq;
SELECT changed, joined, removed, moved, clusters, last_seq FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;

-- A merge: a text between two clusters. The cluster that brings more members keeps its id.
INSERT INTO docs SELECT i, words(400, 440 + i % 2) FROM generate_series(20, 22) i;
INSERT INTO docs SELECT i, words(408, 450 + i % 2) FROM generate_series(30, 31) i;
SELECT changed, joined, removed, moved, clusters FROM minlsh_refresh_clusters('docs_clusters');
INSERT INTO docs VALUES (40, words(404, 445));
SELECT changed, joined, removed, moved, clusters FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
-- A split: without it, they fall apart. The larger part keeps the id, the other one has a new one.
DELETE FROM docs WHERE id = 40;
SELECT changed, joined, removed, moved, clusters FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
SELECT cluster_id, array_agg(doc_id ORDER BY doc_id) AS members FROM docs_clusters GROUP BY 1 ORDER BY 1;

-- Ids do not depend on how the refresh found the clusters: the state is that of near_duplicate_clusters().
CREATE VIEW wrong AS
    WITH kept AS (SELECT doc_id, min(doc_id) OVER (PARTITION BY cluster_id) AS least FROM docs_clusters)
    SELECT doc_id FROM kept FULL JOIN (SELECT doc_id::bigint, cluster_id
        FROM near_duplicate_clusters('docs_near')) c USING (doc_id) WHERE least IS DISTINCT FROM cluster_id
    UNION ALL SELECT cluster_id FROM docs_clusters_list
        FULL JOIN (SELECT cluster_id, count(*) AS members FROM docs_clusters GROUP BY 1) m USING (cluster_id)
    WHERE size IS DISTINCT FROM members;
SELECT * FROM wrong;
-- TRUNCATE, keys that change, keys that swap their rows.
UPDATE docs SET id = -id WHERE id IN (20, 30);
UPDATE docs SET id = CASE id WHEN -20 THEN 30 ELSE 20 END WHERE id < 0;
SELECT changed, joined, removed, moved, clusters FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
SELECT * FROM wrong;
BEGIN;
TRUNCATE docs;
INSERT INTO docs SELECT i, words(100, 140) FROM generate_series(1, 2) i;
SELECT changed, joined, removed, moved, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM wrong;
ROLLBACK;
SELECT * FROM wrong;

-- A rollback takes a refresh back. In a transaction a refresh sees what the transaction has done.
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM docs;
SELECT changed, joined, removed, moved, clusters FROM minlsh_refresh_clusters('docs_clusters');
SELECT count(*) FROM docs_clusters;
ROLLBACK;
SELECT count(*) FROM docs_clusters;

-- Triggers that were disabled show in the stamp: the next refresh looks at all documents.
ALTER TABLE docs DISABLE TRIGGER ALL;
DELETE FROM docs WHERE id = 21;
SELECT changed, removed, was_full FROM minlsh_refresh_clusters('docs_clusters');
ALTER TABLE docs ENABLE ALWAYS TRIGGER docs_clusters_queue_capture;
ALTER TABLE docs ENABLE ALWAYS TRIGGER docs_clusters_queue_update;
SELECT changed, removed, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT changed, removed, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM wrong;
-- ENABLE TRIGGER USER leaves triggers that do not fire for replicated rows: one refresh of all documents has them fire
-- always again.
ALTER TABLE docs DISABLE TRIGGER USER;
SELECT * FROM minlsh_check('docs_clusters');
ALTER TABLE docs ENABLE TRIGGER USER;
SELECT * FROM minlsh_check('docs_clusters');
SELECT was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM minlsh_check('docs_clusters');
SELECT DISTINCT tgenabled FROM pg_trigger WHERE tgrelid = 'docs'::regclass AND NOT tgisinternal;

-- minlsh_check() compares the state with a computation from scratch, and sizes with members.
SELECT * FROM minlsh_check('docs_clusters');
UPDATE docs_clusters SET cluster_id = 1 WHERE doc_id = 22;
DELETE FROM docs_clusters WHERE doc_id = 2;
SELECT * FROM minlsh_check('docs_clusters');
-- A full refresh heals.
SELECT joined, moved FROM minlsh_refresh_clusters('docs_clusters', true);
SELECT * FROM minlsh_check('docs_clusters');
UPDATE docs SET body = 'another text' WHERE id = 2;
SELECT * FROM minlsh_check('docs_clusters');
SELECT removed FROM minlsh_refresh_clusters('docs_clusters');

-- What cannot be tracked.
SELECT minlsh_track_clusters('docs_pkey');
SELECT minlsh_track_clusters('docs_near', 0.5);
SELECT minlsh_track_clusters('docs_near');
CREATE TABLE pairs (a integer, b integer, body text, tags text[], PRIMARY KEY (a, b));
CREATE INDEX pairs_near ON pairs USING minlsh (body);
CREATE INDEX pairs_tags ON pairs USING minlsh (tags);
SELECT minlsh_track_clusters('pairs_near');
SELECT minlsh_track_clusters('pairs_tags');
SELECT minlsh_refresh_clusters('docs');
SELECT minlsh_refresh_clusters('docs_clusters_list');
BEGIN READ ONLY;
SELECT minlsh_refresh_clusters('docs_clusters');
ROLLBACK;
-- The index and the key are needed: they are not dropped without CASCADE.
DROP INDEX docs_near;
ALTER TABLE docs DROP CONSTRAINT docs_pkey;
-- Altered tables are noticed.
ALTER TABLE docs_clusters_log ADD COLUMN note text;
SELECT minlsh_refresh_clusters('docs_clusters');
DROP VIEW wrong;
-- Nothing that others made is dropped.
SELECT minlsh_untrack_clusters('docs_clusters');
DROP VIEW since;
SELECT minlsh_untrack_clusters('docs_clusters');
SELECT relname FROM pg_class WHERE relname LIKE 'docs_clusters%';
SELECT tgname FROM pg_trigger WHERE tgrelid = 'docs'::regclass;

-- By another name, in another schema, at a higher threshold; of a table without rows. DROP TABLE drops all.
CREATE SCHEMA tracked;
SELECT minlsh_track_clusters('docs_near', 0.9, 'of_docs', 'tracked');
SELECT clusters, was_full FROM minlsh_refresh_clusters('tracked.of_docs');
DROP TABLE docs;
SELECT relname FROM pg_class WHERE relname LIKE 'of_docs%';
DROP SCHEMA tracked;

-- A key stays NOT NULL: rows without one would be in no cluster. Tracking ends with the index, and the tables stay.
CREATE TABLE codes (code text NOT NULL UNIQUE, body text);
INSERT INTO codes SELECT i, words(1, 40) FROM generate_series(1, 3) i;
CREATE INDEX codes_near ON codes USING minlsh (body);
SELECT minlsh_track_clusters('codes_near');
SELECT joined, clusters FROM minlsh_refresh_clusters('codes_clusters');
ALTER TABLE codes ALTER COLUMN code DROP NOT NULL;
INSERT INTO codes VALUES (NULL, words(1, 40));
SELECT minlsh_refresh_clusters('codes_clusters');
SELECT minlsh_refresh_clusters('codes_clusters', "full" => true);
SELECT minlsh_check('codes_clusters');
UPDATE codes SET code = 4 WHERE code IS NULL;
ALTER TABLE codes ALTER COLUMN code SET NOT NULL;
SELECT joined, clusters FROM minlsh_refresh_clusters('codes_clusters');
-- A table that inherits from one of its tables has rows that a refresh would not write. Once it is gone, all is well.
CREATE TABLE heir () INHERITS (codes_clusters);
SELECT minlsh_refresh_clusters('codes_clusters');
DROP TABLE heir;
SELECT joined, clusters FROM minlsh_refresh_clusters('codes_clusters');
DROP INDEX codes_near CASCADE;
INSERT INTO codes VALUES (5, words(1, 40));
UPDATE codes SET body = 'another text' WHERE code = '1';
SELECT minlsh_refresh_clusters('codes_clusters');
SELECT relname FROM pg_class WHERE relname LIKE 'codes_clusters%' AND relkind = 'r' ORDER BY relname;
DROP TABLE codes;
SELECT relname FROM pg_class WHERE relname LIKE 'codes_clusters%';
-- Tracking can be ended all the same.
CREATE TABLE codes (code text NOT NULL UNIQUE, body text);
CREATE INDEX codes_near ON codes USING minlsh (body);
SELECT minlsh_track_clusters('codes_near');
ALTER TABLE codes ALTER COLUMN code DROP NOT NULL;
SELECT minlsh_untrack_clusters('codes_clusters');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'codes'::regclass;
DROP TABLE codes;
DROP TABLE pairs;
DROP FUNCTION words;
