-- Jobs over a whole table: pairs, clusters, what to keep, what two tables share.
SET client_min_messages = warning;

-- A chain: each version differs a little from the one before it, the last is no longer like the first.
CREATE TABLE versions (id integer PRIMARY KEY, body text, published date);
INSERT INTO versions SELECT v, (SELECT string_agg(md5((CASE WHEN w <= 6 * (v - 1) THEN w + 1000 ELSE w END)::text), ' ' ORDER BY w)
	FROM generate_series(1, 60) AS w), date '2026-01-01' + v FROM generate_series(1, 4) AS v;
INSERT INTO versions VALUES (10, (SELECT body FROM versions WHERE id = 2), '2026-03-01'), (20, 'something else altogether', '2026-02-01'), (21, '', NULL), (22, NULL, NULL);
SELECT a.id AS a, b.id AS b, round(jaccard(a.body, b.body)::numeric, 3) FROM versions AS a JOIN versions AS b ON a.id < b.id AND b.id < 10;
SELECT minlsh_create_index('versions', 'body', threshold => 0.6);

-- All pairs, each once.
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity FROM near_duplicate_pairs('versions', 0.7, verify => 'exact') ORDER BY doc_a::integer, doc_b::integer;

-- Clusters hang together by verified pairs. The weakest link is the similarity above which the cluster falls apart.
SELECT doc_id, cluster_id, round(similarity::numeric, 3) AS similarity, size, round(weakest_link::numeric, 3) AS weakest_link
FROM near_duplicate_clusters('versions', 0.7, verify => 'exact') ORDER BY cluster_id::integer, doc_id::integer;
-- So a member may be far from the representative. With leaders, none is.
SELECT doc_id, cluster_id, round(similarity::numeric, 3) AS similarity, size, round(weakest_link::numeric, 3) AS weakest_link
FROM near_duplicate_clusters('versions', 0.7, verify => 'exact', linkage => 'leader') ORDER BY cluster_id::integer, doc_id::integer;
SELECT count(*) FROM near_duplicate_clusters('versions', 0.7, linkage => 'complete');
SELECT count(*) FROM near_duplicate_clusters('versions', 0.7, linkage => NULL);

-- What to remove: of similar documents, the first in the order of "keep" stays. Nothing is changed.
SELECT doc_id, kept_id, round(similarity::numeric, 3) AS similarity FROM near_duplicate_plan('versions', 0.7, verify => 'exact');
SELECT doc_id, kept_id, round(similarity::numeric, 3) AS similarity FROM near_duplicate_plan('versions', 0.7, keep => 'published DESC', verify => 'exact');
SELECT doc_id, kept_id FROM near_duplicate_plan('versions', 0.7, keep => 'length(body) DESC, d.published', verify => 'exact');
SELECT count(*) FROM versions;
-- After the removal, nothing is left to remove, whatever the order.
BEGIN;
DELETE FROM versions WHERE id IN (SELECT doc_id::integer FROM near_duplicate_plan('versions', 0.7, keep => 'published DESC', verify => 'exact'));
SELECT id FROM versions ORDER BY id;
SELECT * FROM near_duplicate_pairs('versions', 0.7, verify => 'exact');
ROLLBACK;
-- "keep" is an ORDER BY list over the columns of the table, read with the caller's rights.
SELECT * FROM near_duplicate_plan('versions', keep => 'publshed');
SELECT * FROM near_duplicate_plan('versions', keep => '');
SELECT * FROM near_duplicate_plan('versions', keep => 'id; DELETE FROM versions --');
SELECT doc_id, kept_id FROM near_duplicate_plan('versions', 0.7, keep => 'id DESC -- the newest', verify => 'exact');
SELECT count(*) FROM versions;

-- Two tables: what of one is in the other. Keys need not be of one type.
CREATE TABLE evaluation (name text PRIMARY KEY, body text);
INSERT INTO evaluation SELECT 'copy of ' || id, body FROM versions WHERE id IN (3, 4, 20);
INSERT INTO evaluation VALUES ('fresh', 'a text that nobody has written before, of some length'), ('fresh too', 'a text that nobody has written before, of some length');
SELECT minlsh_create_index('evaluation', 'body', threshold => 0.6);
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity FROM near_duplicates_between('versions', 'evaluation', 0.7, verify => 'exact') ORDER BY doc_a::integer, doc_b;
SELECT count(*) FROM near_duplicates_between('evaluation', 'versions');
SELECT * FROM near_duplicates_between('versions', 'versions');
SELECT * FROM near_duplicates_between('versions', NULL);
SELECT minlsh_drop_index('evaluation');
SELECT minlsh_create_index('evaluation', 'body', threshold => 0.6, shingle_size => 4);
SELECT * FROM near_duplicates_between('versions', 'evaluation');
-- A higher threshold of one of them holds for both.
SELECT minlsh_drop_index('evaluation');
SELECT minlsh_create_index('evaluation', 'body', threshold => 0.9);
SELECT doc_a, doc_b FROM near_duplicates_between('versions', 'evaluation') ORDER BY doc_a::integer;
SELECT * FROM near_duplicates_between('versions', 'evaluation', 0.7);
DROP TABLE evaluation;

-- The nearest documents, down to the threshold of the index.
SELECT doc_id, round(similarity::numeric, 3) AS similarity FROM nearest_documents(2, 2, verify => 'exact');
SELECT doc_id FROM nearest_documents(2);
SELECT count(*) FROM nearest_documents(20) UNION ALL SELECT count(*) FROM nearest_documents(99);
SELECT * FROM nearest_documents(2, 0);
SELECT doc_id FROM nearest_documents('2', 1);
SELECT id, doc_id FROM versions, nearest_documents(id, 1, verify => 'exact') ORDER BY id;

-- One boilerplate on 2,000 pages: a bucket of equal documents costs no more than their number.
INSERT INTO versions SELECT 1000 + i, 'the same text on every page of a large site, header and footer and all' FROM generate_series(1, 2000) AS i;
SELECT cluster_id, count(*), min(similarity), max(size), min(weakest_link) FROM near_duplicate_clusters('versions', 0.9) GROUP BY 1 ORDER BY 1;
SELECT count(*), min(kept_id) FROM near_duplicate_plan('versions', 0.9) WHERE doc_id::integer > 1000;
-- Pairs are all listed, whatever their number: 2,000 * 1,999 / 2 of the copies, and one more.
SELECT count(*), count(DISTINCT doc_a) FROM near_duplicate_pairs('versions', 1);
DROP TABLE versions;

-- A template that makes documents candidates, but not near-duplicates: after minlsh.bucket_limit vain
-- comparisons in a bucket a document is left alone, and what that leaves out is reported.
CREATE TABLE forms (id integer PRIMARY KEY, body text);
INSERT INTO forms SELECT i, repeat('please fill in this form and send it back to us soon, ', 2) || (SELECT string_agg(md5((i * 100 + w)::text), '') FROM generate_series(1, 2) AS w)
FROM generate_series(1, 300) AS i;
SELECT minlsh_create_index('forms', 'body', threshold => 0.5, num_perm => 256, recall => 0.999);
SHOW minlsh.bucket_limit;
SELECT count(*) FROM near_duplicate_clusters('forms', 0.8);
SET minlsh.bucket_limit = 10;
SELECT count(*) FROM near_duplicate_clusters('forms', 0.8);
RESET minlsh.bucket_limit;
SET minlsh.bucket_limit = 0;
DROP TABLE forms;

-- An index without documents.
CREATE TABLE nothing (id integer PRIMARY KEY, body text);
SELECT minlsh_create_index('nothing', 'body');
SELECT * FROM near_duplicate_pairs(), near_duplicate_clusters(), near_duplicate_plan();
SELECT * FROM minlsh_recall();
DROP TABLE nothing;
