-- The documents most similar to one.

SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT i, 'chapter ' || i || ': ' || string_agg(md5((i / 4 * 1000 + j)::text), ' ' ORDER BY j) || repeat('.', i % 4)
FROM generate_series(1, 40) AS i, generate_series(1, 20) AS j GROUP BY i;
SELECT minlsh_create_index('docs', 'body');

-- In the target list, in FROM, and for each row of a table.
SELECT near_duplicates(6, 0.9);
SELECT doc_id, round(similarity::numeric, 2) AS similarity FROM near_duplicates(6, 0.9);
SELECT d.id, array_agg(n.doc_id ORDER BY n.doc_id) AS copies
FROM docs AS d, near_duplicates(d.id, 0.9) AS n WHERE d.id < 12 GROUP BY d.id ORDER BY d.id;

-- A document that is not there has no near-duplicates.
SELECT near_duplicates(99);
SELECT near_duplicates(99999999999);
SELECT near_duplicates(NULL::integer);

-- The similarity is estimated from signatures, or counted out from the stored texts.
SELECT n.doc_id, n.similarity = jaccard(a.body, b.body) AS exact
FROM near_duplicates(6, 0.9, verify => 'exact') AS n, docs AS a, docs AS b WHERE a.id = 6 AND b.id = n.doc_id ORDER BY 1;

-- Exact verification gives what brute force gives.
WITH truth AS (
	SELECT a.id AS a, b.id AS b FROM docs AS a, docs AS b WHERE a.id <> b.id AND jaccard(a.body, b.body) >= 0.85
), found AS (
	SELECT d.id AS a, n.doc_id::integer AS b FROM docs AS d, near_duplicates(d.id, 0.85, verify => 'exact') AS n
)
SELECT (SELECT count(*) FROM truth) AS true, (SELECT count(*) FROM found) AS found,
       (SELECT count(*) FROM (TABLE truth EXCEPT TABLE found) AS e) AS missed,
       (SELECT count(*) FROM (TABLE found EXCEPT TABLE truth) AS e) AS wrong;

-- A text that is not stored. Keys come as text.
SELECT doc_id FROM near_duplicates_of((SELECT body || ', and more' FROM docs WHERE id = 8), 0.9) ORDER BY doc_id;
SELECT doc_id FROM near_duplicates_of((SELECT body || ', and more' FROM docs WHERE id = 8), 0.9, verify => 'exact') ORDER BY doc_id;
SELECT near_duplicates_of('');
SELECT near_duplicates_of(NULL);

-- The whole corpus: pairs, and clusters named by their least key.
SELECT doc_a, doc_b FROM near_duplicate_pairs('docs', 0.9) WHERE doc_a IN ('4', '5') ORDER BY doc_a, doc_b;
SELECT doc_id, cluster_id, size FROM near_duplicate_clusters('docs', 0.9) WHERE cluster_id IN ('4', '8') ORDER BY doc_id::integer;
WITH looked_up AS (
	SELECT d.id AS a, n.doc_id::integer AS b, n.similarity FROM docs AS d, near_duplicates(d.id, 0.85) AS n WHERE d.id < n.doc_id
), listed AS (
	SELECT doc_a::integer, doc_b::integer, similarity FROM near_duplicate_pairs(threshold => 0.85)
)
SELECT (SELECT count(*) FROM listed) AS pairs, (SELECT count(*) FROM (TABLE looked_up EXCEPT TABLE listed) AS e) AS missed,
       (SELECT count(*) FROM (TABLE listed EXCEPT TABLE looked_up) AS e) AS more;

-- In memory that is too small, the answer is the same.
SET maintenance_work_mem = '1MB';
SET work_mem = '64kB';
CREATE TEMP TABLE many AS SELECT i AS id, 'text ' || string_agg(md5((i / 3 * 100 + j)::text), ' ' ORDER BY j) || i % 3 AS body
FROM generate_series(1, 6000) AS i, generate_series(1, 4) AS j GROUP BY i;
ALTER TABLE many ADD PRIMARY KEY (id);
SELECT minlsh_create_index('many', 'body');
CREATE TEMP TABLE small AS SELECT * FROM near_duplicate_pairs('many', 0.8);
CREATE TEMP TABLE small_clusters AS SELECT * FROM near_duplicate_clusters('many', 0.8, 'exact');
SET maintenance_work_mem = '64MB';
SET work_mem = '64MB';
SELECT count(*) > 3000 AS some FROM small;
SELECT count(*) AS different FROM (TABLE small EXCEPT SELECT * FROM near_duplicate_pairs('many', 0.8)) AS e;
SELECT count(*) AS different FROM (TABLE small_clusters EXCEPT SELECT * FROM near_duplicate_clusters('many', 0.8, 'exact')) AS e;
RESET maintenance_work_mem;
RESET work_mem;
DROP TABLE many;

-- A boilerplate of many copies costs no more than it must.
INSERT INTO docs SELECT i, 'the same boilerplate on every page of the site' FROM generate_series(1001, 3000) AS i;
SELECT count(*), min(doc_id), max(doc_id), min(similarity) FROM near_duplicates(1001);
SELECT count(*), sum(similarity) FROM near_duplicate_pairs('docs', 1) WHERE doc_a::integer > 1000;
SELECT cluster_id, count(*), max(size) FROM near_duplicate_clusters('docs', 0.9) WHERE doc_id::integer > 1000 GROUP BY 1;

-- Thresholds: from the index's own upwards.
SELECT count(*) FROM near_duplicates(6);
SELECT near_duplicates(6, 0.5);
SELECT near_duplicates(6, 0);
SELECT near_duplicates(6, 1.01);
SELECT near_duplicates(6, 'NaN');
SELECT near_duplicates(6, verify => 'maybe');
SELECT near_duplicates(6, index => 'pg_class');
SELECT near_duplicate_pairs('docs', 0.5);
SELECT near_duplicate_clusters('docs', verify => 'maybe');

-- A session's plans follow what happens to the index.
PREPARE ask AS SELECT doc_id FROM near_duplicates(6, 0.9) ORDER BY doc_id;
EXECUTE ask;
SELECT minlsh_drop_index('docs');
EXECUTE ask;
SELECT minlsh_create_index('docs', 'body', num_perm => 64, scheme => 'permutations');
EXECUTE ask;
ALTER TABLE docs RENAME TO papers;
EXECUTE ask;
BEGIN;
SELECT minlsh_drop_index('papers');
EXECUTE ask;
ROLLBACK;
EXECUTE ask;
DROP TABLE papers;
