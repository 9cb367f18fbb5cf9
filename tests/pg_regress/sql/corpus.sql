-- Jobs over a whole table: pairs, clusters, what to keep, what two tables share. No index is needed.
SET client_min_messages = warning;

-- A chain: each version differs a little from the one before it, the last is no longer like the first.
CREATE TABLE versions (id integer PRIMARY KEY, body text, published date);
INSERT INTO versions SELECT v,
	(SELECT string_agg(md5((CASE WHEN w <= 6 * (v - 1) THEN w + 1000 ELSE w END)::text), ' ' ORDER BY w)
	FROM generate_series(1, 60) AS w), date '2026-01-01' + v FROM generate_series(1, 4) AS v;
INSERT INTO versions VALUES (10, (SELECT body FROM versions WHERE id = 2), '2026-03-01'),
	(20, 'something else altogether', '2026-02-01'),
	(21, '', NULL), (22, NULL, NULL);
SELECT a.id AS a, b.id AS b, round(jaccard(a.body, b.body)::numeric, 3) FROM versions AS a
JOIN versions AS b ON a.id < b.id AND b.id < 10;

-- All pairs, each once.
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity FROM near_duplicate_pairs('versions', 0.7)
ORDER BY doc_a, doc_b;

-- Keys join without a cast.
SELECT pg_typeof(doc_a), doc_a, doc_b, v.published FROM near_duplicate_pairs('versions', 0.7) AS p
	JOIN versions AS v ON v.id = p.doc_b ORDER BY doc_a, doc_b LIMIT 2;
SELECT doc_id, kept_id FROM near_duplicate_plan('versions', 0.7);

-- Clusters hang together by verified pairs. The weakest link is the similarity above which the cluster falls apart; the
-- least similar two of it may have far less in common.
SELECT doc_id, cluster_id, round(similarity::numeric, 3) AS similarity, size,
	round(weakest_link::numeric, 3) AS weakest_link,
	round(least_similar::numeric, 3) AS least_similar, least_is_exact
FROM near_duplicate_clusters('versions', 0.7) ORDER BY cluster_id, doc_id;
-- So a member may be far from the representative. With leaders, none is.
SELECT doc_id, cluster_id, round(similarity::numeric, 3) AS similarity, size,
	round(weakest_link::numeric, 3) AS weakest_link,
	round(least_similar::numeric, 3) AS least_similar
FROM near_duplicate_clusters('versions', 0.7, linkage => 'leader') ORDER BY cluster_id, doc_id;
SELECT count(*) FROM near_duplicate_clusters('versions', 0.7, linkage => 'complete');
SELECT count(*) FROM near_duplicate_clusters('versions', 0.7, linkage => NULL);

-- What holds a cluster together by one pair alone: its bridges, with the sizes of the two parts. Copies (2 and 10)
-- count as one document: their links are one.
SELECT cluster_id, doc_a, doc_b, round(similarity::numeric, 3) AS similarity, size_a, size_b
FROM near_duplicate_bridges('versions', 0.7) ORDER BY doc_a;
-- At a lower threshold all are linked with all: no pair alone holds anything.
SELECT count(*) FROM near_duplicate_bridges('versions', 0.4);
-- Two documents and their copies are held together by one pair; copies alone by none.
SELECT * FROM near_duplicate_bridges($$SELECT 10 * c + id, body FROM versions, generate_series(1, 3) AS c
	WHERE id IN (3, 4)$$, 0.7);
SELECT count(*) FROM near_duplicate_bridges('SELECT c, body FROM versions, generate_series(1, 3) AS c WHERE id = 3',
	0.7);

-- What to remove: of similar documents, the first in the order of "keep" stays. Nothing is changed.
SELECT doc_id, kept_id, round(similarity::numeric, 3) AS similarity FROM near_duplicate_plan('versions', 0.7);
SELECT doc_id, kept_id, round(similarity::numeric, 3) AS similarity
FROM near_duplicate_plan('versions', 0.7, keep => 'published DESC');
SELECT doc_id, kept_id FROM near_duplicate_plan('versions', 0.7, keep => 'length(body) DESC, d.published');
SELECT count(*) FROM versions;
-- After the removal, nothing is left to remove, whatever the order.
BEGIN;
DELETE FROM versions WHERE id IN (SELECT doc_id
	FROM near_duplicate_plan('versions', 0.7, keep => 'published DESC'));
SELECT id FROM versions ORDER BY id;
SELECT * FROM near_duplicate_pairs('versions', 0.7);
ROLLBACK;
-- "keep" is an ORDER BY list over the columns of the table, and no more.
SELECT * FROM near_duplicate_plan('versions', keep => 'newest');
SELECT * FROM near_duplicate_plan('versions', keep => '');
SELECT * FROM near_duplicate_plan('versions', keep => 'id; DELETE FROM versions --');
SELECT * FROM near_duplicate_plan('versions', keep => 'id LIMIT 1');
SELECT doc_id, kept_id FROM near_duplicate_plan('versions', 0.7, keep => 'id DESC -- the newest');

-- Two tables: what of one is in the other. Keys need not be of one type.
CREATE TABLE evaluation (name text PRIMARY KEY, body text);
INSERT INTO evaluation SELECT 'copy of ' || id, body FROM versions WHERE id IN (3, 4, 20);
INSERT INTO evaluation VALUES ('fresh', 'a text that nobody has written before, of some length'),
	('fresh too', 'a text that nobody has written before, of some length');
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM near_duplicates_between('versions', 'evaluation', 0.7, body => 'body', key_column => NULL);
SELECT * FROM near_duplicates_between('versions', 'SELECT name, body FROM evaluation', 0.7)
ORDER BY doc_a::integer, doc_b;
SELECT count(*) FROM near_duplicates_between('SELECT name, body FROM evaluation', 'versions', 0.7);
SELECT * FROM near_duplicates_between('versions', NULL);
SELECT * FROM near_duplicates_between('versions', 'SELECT name, shingles(body) FROM evaluation');
-- A table may be compared with itself: every document is in both.
SELECT count(*) FROM near_duplicates_between('versions', 'versions', 1);

-- Within equal values of a scope alone, by the equality of the column: NULL equals nothing.
SELECT doc_a, doc_b FROM near_duplicate_pairs('SELECT id, body, id % 2 AS tenant FROM versions', 0.6,
	scope => 'tenant') ORDER BY 1, 2;
SELECT doc_a, doc_b FROM near_duplicate_pairs('SELECT id, body, NULLIF(id % 2, 1) AS tenant FROM versions', 0.6,
	scope => 'tenant') ORDER BY 1, 2;
SELECT doc_id, cluster_id FROM near_duplicate_clusters('SELECT id, body, id % 2 AS tenant FROM versions', 0.6,
	scope => 'tenant') ORDER BY 1;
SELECT doc_id, kept_id FROM near_duplicate_plan('SELECT id, body, id % 2 AS tenant FROM versions', 0.6,
	scope => 'tenant');
SELECT doc_a, doc_b FROM near_duplicate_pairs('versions', 0.6, scope => 'tenant');

-- One boilerplate on 1,000 pages: a bucket of equal documents costs no more than their number.
INSERT INTO versions SELECT 1000 + i, 'the same text on every page of a large site, header and footer and all'
FROM generate_series(1, 1000) AS i;
SELECT cluster_id, count(*), min(similarity), max(size), min(weakest_link)
FROM near_duplicate_clusters('versions', 0.9) GROUP BY 1 ORDER BY 1;
SELECT count(*), min(kept_id) FROM near_duplicate_plan('versions', 0.9) WHERE doc_id > 1000;
-- Pairs are all listed, whatever their number: 1,000 * 999 / 2 of the copies, and one more.
SELECT count(*), count(DISTINCT doc_a) FROM near_duplicate_pairs('versions', 1);
DROP TABLE versions;

-- A template that makes documents candidates, but not near-duplicates: after minlsh.bucket_limit vain
-- comparisons in a bucket, and one with a random one of the rest, a document is left alone. What that leaves out is
-- reported, with what the random comparisons found.
CREATE TABLE forms (id integer PRIMARY KEY, body text);
INSERT INTO forms SELECT i, repeat('please fill in this form and send it back to us soon, ', 2)
	|| (SELECT string_agg(md5((i * 100 + w)::text), '') FROM generate_series(1, 2) AS w)
FROM generate_series(1, 300) AS i;
SHOW minlsh.bucket_limit;
SELECT count(*) FROM near_duplicate_clusters('forms', 0.5);
SET minlsh.bucket_limit = 10;
SET client_min_messages = notice;
SELECT count(*) FROM near_duplicate_clusters('forms', 0.5);
SET client_min_messages = warning;
RESET minlsh.bucket_limit;
SET minlsh.bucket_limit = 0;
DROP TABLE forms;

-- The licences: what a comparison of all with all finds.
CREATE TABLE licenses (id text PRIMARY KEY, name text, body text);
\getenv input PG_ABS_SRCDIR
\set file :input '/examples/licenses/licenses.csv'
COPY licenses FROM :'file' WITH (FORMAT csv, HEADER);
SELECT count(*), count(*) FILTER (WHERE similarity = 1) AS copies
FROM near_duplicate_pairs('licenses', 0.9, body => 'body', normalization => 'none');
-- Two columns of text: which is the document?
SELECT * FROM near_duplicate_pairs('licenses', 0.9);
-- An index has options, which are those of the job.
CREATE INDEX licenses_words ON licenses USING minlsh (body) WITH (threshold = 0.7, unit = 'word', shingle_size = 3);
SELECT count(*) FROM near_duplicate_pairs('licenses_words', 0.9);
SELECT count(*) FROM near_duplicate_pairs('licenses', 0.9, body => 'body');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body FROM licenses', 0.9, unit => 'word', shingle_size => 3);
SELECT count(*) FROM near_duplicate_pairs('licenses', 0.9, body => 'body', unit => 'char', shingle_size => 5);
SELECT count(*) = (SELECT count(*) FROM near_duplicate_pairs('licenses', 0.7, body => 'body',
	unit => 'word', shingle_size => 3))
FROM near_duplicate_pairs('licenses_words');
SELECT * FROM near_duplicate_pairs('licenses_pkey');
DROP TABLE licenses;

-- A table without documents.
CREATE TABLE nothing (id integer PRIMARY KEY, body text);
SELECT * FROM near_duplicate_pairs('nothing'), near_duplicate_clusters('nothing'), near_duplicate_plan('nothing');
DROP TABLE nothing, evaluation;

-- A group that maintenance_work_mem does not hold gets up to 16 MB.
CREATE TABLE docs AS
SELECT i AS id, string_agg(md5(j::text), ' ') || ' ' || i AS body
FROM generate_series(1, 300) AS i, generate_series(1, 400) AS j GROUP BY i;
SET client_min_messages = notice;
SET maintenance_work_mem = '1MB';
SELECT count(*), count(DISTINCT cluster_id) FROM near_duplicate_clusters('SELECT id, body FROM docs', 0.9);
RESET maintenance_work_mem;
DROP TABLE docs;
