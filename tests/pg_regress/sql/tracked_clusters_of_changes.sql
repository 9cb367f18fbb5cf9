-- A refresh looks at what has changed alone, unless to look at all documents costs less.
\set VERBOSITY terse
CREATE FUNCTION words(first integer, last integer, without integer[] DEFAULT '{}') RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(md5(i::text), ' ' ORDER BY i) FROM generate_series(first, last) i WHERE i <> ALL (without) $$;
-- 400 texts of their own, and five clusters: two that a text between them would join, one of copies, one that hangs
-- together by one text alone, and a pair.
CREATE TABLE docs (id integer PRIMARY KEY, body text, views integer DEFAULT 0);
INSERT INTO docs SELECT i, words(1000 * i, 1000 * i + 9) FROM generate_series(1000, 1399) i;
INSERT INTO docs VALUES
    (1, words(1, 40)), (2, words(1, 40, '{40}')), (3, words(1, 40, '{39,40}')),
    (11, words(9, 48)), (12, words(9, 48, '{48}')), (13, words(9, 48, '{47}')), (14, words(9, 48, '{46}')),
    (21, words(101, 140)), (22, words(101, 140)), (23, words(101, 140)), (24, words(101, 140, '{101}')),
    (31, words(201, 240)), (32, words(204, 243)), (33, words(207, 246)),
    (41, words(301, 340)), (42, words(301, 340));
CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.8);
SELECT minlsh_track_clusters('docs_near');
SELECT joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
CREATE VIEW state AS SELECT cluster_id, array_agg(doc_id ORDER BY doc_id) AS members FROM docs_clusters GROUP BY 1;
SELECT * FROM state ORDER BY 1;
CREATE VIEW since AS SELECT event, cluster_id, other_id, doc_id, size FROM docs_clusters_log
    WHERE refresh = (SELECT max(refresh) FROM docs_clusters_log) ORDER BY seq;

-- A text that is written again as it was changes nothing, nor does a copy that goes where others stay.
UPDATE docs SET body = upper(body) WHERE id = 1;
DELETE FROM docs WHERE id = 21;
SELECT changed, joined, removed, moved, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
-- A text between two clusters: the smaller one belongs to the larger one.
INSERT INTO docs VALUES (50, words(5, 44));
SELECT changed, joined, removed, moved, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
-- Without it they are two again, and so are the ends of a chain without its middle.
DELETE FROM docs WHERE id IN (50, 32);
SELECT changed, joined, removed, moved, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
-- A row that goes from one cluster to another, one that comes to a text that had none, a pair that ends, and a key
-- that changes.
UPDATE docs SET body = words(101, 140) WHERE id = 14;
INSERT INTO docs SELECT 60, body FROM docs WHERE id = 1100;
DELETE FROM docs WHERE id = 41;
UPDATE docs SET id = 25 WHERE id = 22;
SELECT changed, joined, removed, moved, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
SELECT * FROM state ORDER BY 1;
SELECT * FROM minlsh_check('docs_clusters');
-- What is not part of a document is none of its changes.
UPDATE docs SET views = views + 1;
SELECT changed, was_full FROM minlsh_refresh_clusters('docs_clusters');
-- Half of the table: all documents are looked at.
UPDATE docs SET body = body || ' more' WHERE id < 1200;
SELECT changed, joined, removed, moved, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM minlsh_check('docs_clusters');

-- SERIALIZABLE makes no difference.
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO docs SELECT 61, body FROM docs WHERE id = 1101;
SELECT changed, joined, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM since;
COMMIT;
SELECT * FROM minlsh_check('docs_clusters');
DROP TABLE docs CASCADE;

-- Nor do partitions, of which each has columns in an order of its own, and scopes: rows of two tenants have nothing
-- to do with each other, and one that changes its tenant leaves its cluster.
CREATE TABLE docs (tenant integer, id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE docs_1 (body text, id integer NOT NULL, tenant integer);
CREATE TABLE docs_2 (gone text, tenant integer, body text, id integer NOT NULL);
ALTER TABLE docs_2 DROP COLUMN gone;
ALTER TABLE docs ATTACH PARTITION docs_1 FOR VALUES FROM (0) TO (1000);
ALTER TABLE docs ATTACH PARTITION docs_2 FOR VALUES FROM (1000) TO (2000);
INSERT INTO docs (tenant, id, body) SELECT 1, i, words(1000 * i, 1000 * i + 9) FROM generate_series(901, 1200) i;
INSERT INTO docs VALUES (1, 1, words(1, 40)), (1, 1901, words(1, 40, '{40}')), (2, 2, words(1, 40)),
    (2, 1902, words(1, 40));
CREATE INDEX docs_near ON docs USING minlsh (tenant, body) WITH (threshold = 0.8);
SELECT minlsh_track_clusters('docs_near');
SELECT joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
UPDATE docs SET tenant = 1 WHERE id = 1902;
INSERT INTO docs_1 (tenant, id, body) VALUES (2, 3, words(1, 40));
SELECT changed, joined, removed, moved, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT event, cluster_id, other_id, doc_id, size FROM docs_clusters_log WHERE refresh = 2 ORDER BY seq;
SELECT * FROM minlsh_check('docs_clusters');
DROP TABLE docs;

-- A row beside many copies, and one that joins them to another cluster.
CREATE TABLE docs (id text PRIMARY KEY, body text);
INSERT INTO docs SELECT 'alone ' || i, words(1000 * i, 1000 * i + 9) FROM generate_series(1, 400) i;
INSERT INTO docs SELECT 'copy ' || i, words(1, 40) FROM generate_series(1, 400) i;
INSERT INTO docs SELECT 'other ' || i, words(7, 46) FROM generate_series(1, 2) i;
CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.8);
SELECT minlsh_track_clusters('docs_near');
SELECT joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
INSERT INTO docs VALUES ('copy', words(1, 40)), ('between', words(4, 43));
DELETE FROM docs WHERE id = 'copy 7';
SELECT changed, joined, removed, moved, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT event, cluster_id, other_id, doc_id, size FROM docs_clusters_log WHERE refresh = 2 ORDER BY seq;
SELECT * FROM minlsh_check('docs_clusters');
DELETE FROM docs WHERE id = 'between';
SELECT changed, removed, moved, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM minlsh_check('docs_clusters');
DROP TABLE docs CASCADE;
DROP FUNCTION words;
