-- Clusters as a window function: the number, in partition and order, of the first row of the row's cluster.
SET client_min_messages = warning;
CREATE TABLE posts (id integer PRIMARY KEY, tenant text, published date, body text);
INSERT INTO posts VALUES
	(1, 'a', '2026-01-03', 'the quick brown fox jumps over the lazy dog, and then it sleeps the whole day in the shade'),
	(2, 'a', '2026-01-01', 'the quick brown fox jumps over the lazy dog, and then it sleeps the whole day in the shades'),
	(3, 'b', '2026-01-02', 'the quick brown fox jumps over the lazy dog, and then it sleeps the whole day in the shade'),
	(4, 'a', '2026-01-02', 'nothing of the kind'),
	(5, 'a', '2026-01-05', NULL),
	(6, 'b', '2026-01-06', ''),
	(7, 'b', '2026-01-07', ''),
	(8, 'b', '2026-01-01', 'The quick brown fox  jumps over the lazy dog, and then it sleeps the whole day in the shade');
SELECT id, near_duplicate_cluster(body, 0.9) OVER (ORDER BY published, id) AS cluster FROM posts ORDER BY published, id;
SELECT id, tenant, near_duplicate_cluster(body, 0.9) OVER (PARTITION BY tenant ORDER BY published) AS cluster
FROM posts ORDER BY tenant, published;
-- Which keeps the first of each.
SELECT id FROM (SELECT id, near_duplicate_cluster(body, 0.9) OVER w = row_number() OVER w AS first FROM posts
	WINDOW w AS (PARTITION BY tenant ORDER BY published)) AS p WHERE first ORDER BY id;
-- Options as for minhash(); also over signatures and sets.
SELECT id, near_duplicate_cluster(body, 0.9, normalization => 'none') OVER (ORDER BY id) AS cluster FROM posts;
SELECT id, near_duplicate_cluster(minlsh_signature(minhash(body)), 0.9) OVER (ORDER BY id) AS cluster FROM posts;
SELECT id, near_duplicate_cluster(string_to_array(lower(body), ' '), 0.8) OVER (ORDER BY id) AS cluster FROM posts;
SELECT near_duplicate_cluster(body, 0.9) OVER () FROM posts WHERE false;
SELECT near_duplicate_cluster(body, 2) OVER () FROM posts;
\set VERBOSITY terse
SELECT near_duplicate_cluster(published, 0.9) OVER () FROM posts;
\set VERBOSITY default
SELECT near_duplicate_cluster(body, 0.9) FROM posts;
DROP TABLE posts;

-- The same clusters as near_duplicate_clusters(), in memory and beyond.
CREATE TABLE docs AS SELECT g * 10 + v AS id,
	(SELECT string_agg(substr(md5((CASE WHEN hashint4(g * 7919 + v * 131 + w) % 100 BETWEEN 0 AND v * (g % 5)
	THEN -w - v * 1000 - g * 9000 ELSE g * 1000 + w END)::text), 1, 6), ' ') FROM generate_series(1, 40) AS w) AS body
	FROM generate_series(1, 150) AS g, generate_series(0, 7) AS v;
SET work_mem = '64kB';
SET maintenance_work_mem = '1MB';
WITH by_window AS (SELECT id, near_duplicate_cluster(body, 0.8) OVER w AS first, row_number() OVER w AS number
	FROM docs WINDOW w AS (ORDER BY id)),
	named AS (SELECT w.id, f.id AS cluster_id FROM by_window AS w JOIN by_window AS f ON f.number = w.first),
	clusters AS (SELECT doc_id, cluster_id FROM near_duplicate_clusters('SELECT id, body FROM docs', 0.8))
SELECT count(*) AS documents, count(c.doc_id) > 500 AS in_clusters,
	count(*) FILTER (WHERE coalesce(c.cluster_id::integer, n.id) <> n.cluster_id) AS different
FROM named AS n LEFT JOIN clusters AS c ON c.doc_id = n.id;
DROP TABLE docs;
