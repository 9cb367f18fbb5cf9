-- The cluster of one row as it is now: near-duplicates, and their near-duplicates, found by the index.
-- Nothing is stored.
CREATE TABLE pages (id integer PRIMARY KEY, body text);
-- A chain of texts that differ in one word from the next, five copies of its last, and a text beside them.
CREATE FUNCTION words(first integer, last integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(md5(i::text), ' ' ORDER BY i) FROM generate_series(first, last) i $$;
INSERT INTO pages SELECT i, words(i, i + 40) FROM generate_series(1, 12) i;
INSERT INTO pages SELECT i, upper(words(12, 52)) FROM generate_series(13, 17) i;
INSERT INTO pages VALUES (18, 'a text that no other one is like'), (19, ''), (20, NULL);
CREATE INDEX pages_near ON pages USING minlsh (body) WITH (threshold = 0.8);

-- The ends of the chain are not similar, but belong to one cluster. A row is a member of its own.
SELECT jaccard(words(1, 41), words(12, 52)) < 0.8 AS ends_differ;
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of(1);
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of(15);
SELECT id, (SELECT count(*) FROM near_duplicate_cluster_of(id)) FROM pages
WHERE id IN (1, 7, 17, 18, 19, 20) ORDER BY id;
-- It is the cluster that near_duplicate_clusters() finds.
SELECT count(*) AS differences FROM pages p, LATERAL (
    SELECT array_agg(c.doc_id::bigint ORDER BY c.doc_id) AS members
    FROM near_duplicate_clusters('pages_near') c
    JOIN near_duplicate_clusters('pages_near') o USING (cluster_id) WHERE o.doc_id = p.id) a
WHERE members IS DISTINCT FROM (SELECT array_agg(doc_id ORDER BY doc_id) FROM near_duplicate_cluster_of(p.id));
-- A higher threshold cuts the chain. A row that there is not has no cluster, nor has NULL.
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of(13, 0.99);
SELECT count(*) FROM near_duplicate_cluster_of(1, 0.99);
SELECT count(*) FROM near_duplicate_cluster_of(1000000);
SELECT count(*) FROM near_duplicate_cluster_of(NULL::integer);
-- It follows what is written, in the same transaction.
BEGIN;
DELETE FROM pages WHERE id IN (5, 6, 7, 8);
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of(1);
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of(16);
ROLLBACK;

-- Errors: too many members, a threshold below that of the index, a limit that is none.
SELECT count(*) FROM near_duplicate_cluster_of(1, max_members => 17);
SELECT count(*) FROM near_duplicate_cluster_of(1, max_members => 16);
\echo :LAST_ERROR_SQLSTATE
SELECT near_duplicate_cluster_of(1, 0.5);
\echo :LAST_ERROR_SQLSTATE
SELECT near_duplicate_cluster_of(1, max_members => 0);

-- Keys of other types; a side table; scopes: rows of other tenants are not looked at.
CREATE TABLE notes (name text COLLATE "C" PRIMARY KEY, tenant integer, body text);
INSERT INTO notes SELECT 'note ' || id, id % 2, body FROM pages;
CREATE INDEX notes_near ON notes USING minlsh (tenant, body);
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of('note 13', index => 'notes_near');
SELECT minlsh_create_side_table('notes', 'body', name => 'notes_side');
SELECT count(*) FROM near_duplicate_cluster_of('note 13', index => 'notes_side');
-- A key is given out as it is stored, and once, whichever way it was written.
CREATE TABLE prices (price numeric PRIMARY KEY, body text);
INSERT INTO prices SELECT id * 1.0, body FROM pages WHERE id < 5;
CREATE INDEX prices_near ON prices USING minlsh (body);
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of(1.00, index => 'prices_near');
SELECT count(*) FROM near_duplicate_cluster_of(9.0, index => 'prices_near') AS unknown;
DROP TABLE prices;
-- A composite key comes as a row of its type. Documents may be of a domain.
CREATE TYPE place AS (shelf integer, box text);
CREATE DOMAIN document AS minlsh_document;
CREATE TABLE boxes (place place PRIMARY KEY, body document);
INSERT INTO boxes SELECT (id, 'box')::place, minlsh_document(body) FROM pages WHERE id < 4;
CREATE INDEX boxes_near ON boxes USING minlsh (body);
SELECT * FROM near_duplicate_cluster_of('(1,box)'::place, index => 'boxes_near');
SELECT near_duplicate_cluster_of('(1,box)'::place, index => 'boxes_near');
SELECT doc_id FROM near_duplicates('(2,box)'::place, index => 'boxes_near') ORDER BY doc_id;
DROP TABLE boxes;
DROP TYPE place;
DROP DOMAIN document;
-- Row-level security applies: what the caller cannot see does not hold a cluster together.
CREATE ROLE regress_reader;
GRANT SELECT ON pages TO regress_reader;
ALTER TABLE pages ENABLE ROW LEVEL SECURITY;
CREATE POLICY but_some ON pages TO regress_reader USING (id NOT BETWEEN 5 AND 8);
SET ROLE regress_reader;
SELECT array_agg(doc_id) FROM near_duplicate_cluster_of(1, index => 'pages_near');
SELECT count(*) FROM near_duplicate_cluster_of(6, index => 'pages_near');
RESET ROLE;
DROP TABLE pages, notes;
DROP FUNCTION words;
DROP ROLE regress_reader;
