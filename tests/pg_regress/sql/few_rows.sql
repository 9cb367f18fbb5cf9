-- Of at most 64 rows a job compares every pair, so that a first try with a few rows misses none by chance. Few of the
-- pairs right at the threshold share a band of these jobs.
CREATE TABLE few (id integer PRIMARY KEY, body text);
INSERT INTO few
SELECT n, (SELECT string_agg(md5((word * 100 + (n + 1) / 2)::text), ' ' ORDER BY w)
	FROM generate_series(1, 30) AS w, LATERAL (SELECT CASE WHEN w <= 9 AND n % 2 = 0 THEN -w ELSE w END) AS of (word))
FROM generate_series(1, 40) AS n;
SELECT count(*), round(min(similarity)::numeric, 2) AS least, round(max(similarity)::numeric, 2) AS most
FROM few AS a JOIN few AS b ON a.id < b.id, LATERAL (SELECT jaccard(a.body, b.body)) AS of (similarity)
WHERE similarity >= 0.5;
-- Rows that take no part count too.
INSERT INTO few SELECT n FROM generate_series(41, 64) AS n;
SET client_min_messages = warning;
CREATE VIEW found AS SELECT
	(SELECT count(*) FROM near_duplicate_pairs('few', 0.5, recall => 0.01)) AS pairs,
	(SELECT count(*) FROM near_duplicate_pairs('few', 0.5, recall => 0.01, verify => 'signature')) AS estimated,
	(SELECT count(*) FROM near_duplicate_clusters('few', 0.5, recall => 0.01)) AS clustered,
	(SELECT count(*) FROM near_duplicate_clusters('few', 0.5, recall => 0.01, linkage => 'leader')) AS led,
	(SELECT count(*) FROM near_duplicate_plan('few', 0.5, recall => 0.01)) AS removed,
	(SELECT count(*) FROM near_duplicate_bridges('few', 0.5, recall => 0.01)) AS bridges,
	(SELECT count(*) FROM near_duplicates_between('SELECT id, body FROM few WHERE id % 2 = 0',
		'SELECT id, body FROM few WHERE id % 2 = 1', 0.5, recall => 0.01)) AS between,
	(SELECT count(DISTINCT cluster) FROM (
		SELECT near_duplicate_cluster(body, 0.5, recall => 0.01) OVER (ORDER BY id) AS cluster FROM few) AS w) AS of_window,
	(SELECT round(recall::numeric, 2)
		FROM minlsh_recall('SELECT id, body FROM few', 0.5, wanted_recall => 0.01) LIMIT 1) AS recall;
TABLE found;
BEGIN;
INSERT INTO few VALUES (65);
TABLE found;
ROLLBACK;

-- The same by an index, of which the rows that the caller sees count. A search by the index uses bands for any number.
CREATE INDEX few_body ON few USING minlsh (body) WITH (threshold = 0.5, recall = 0.01);
CREATE VIEW found_by_index AS SELECT
	(SELECT count(*) FROM near_duplicate_pairs('few_body')) AS pairs,
	(SELECT count(*) FROM near_duplicate_pairs('few', 0.5, recall => 0.01)) AS of_table,
	(SELECT count(*) FROM near_duplicate_clusters('few_body')) AS clustered,
	(SELECT round(recall::numeric, 2) FROM minlsh_recall('few_body', 0.5) LIMIT 1) AS recall;
TABLE found_by_index;
BEGIN;
INSERT INTO few VALUES (65);
TABLE found_by_index;
DELETE FROM few WHERE id = 64;
TABLE found_by_index;
ROLLBACK;

-- Tracked clusters use bands for any number of rows, as a refresh of changed rows does.
SELECT minlsh_track_clusters('few_body');
SELECT joined FROM minlsh_refresh_clusters('few_clusters');
SELECT minlsh_untrack_clusters('few_clusters');
DROP TABLE few CASCADE;
