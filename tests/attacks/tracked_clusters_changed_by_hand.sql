-- Tables of tracked clusters that their owner has changed by hand: sizes, ids and fingerprints that cannot be, rows
-- that are missing, another index. A superuser refreshes what has changed, which trusts them, and then looks at all
-- documents.
-- Attacker: the owner of the documents. Must not: an internal error, a crash, an answer that a full refresh leaves
-- wrong.

-- as attacker:
CREATE FUNCTION evil.words(first integer) RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(md5(i::text), ' ') FROM generate_series(first, first + 20) AS i $$;
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, evil.words(100 * (i / 4)) FROM generate_series(1, 200) i;
CREATE INDEX docs_near ON evil.docs USING minlsh (body);
SELECT minlsh_track_clusters('evil.docs_near');
SELECT joined FROM minlsh_refresh_clusters('evil.docs_clusters');

-- Sizes.
UPDATE evil.docs_clusters_list SET size = CASE cluster_id % 6 WHEN 0 THEN 0 WHEN 1 THEN -1 WHEN 2 THEN 1
	WHEN 3 THEN 9223372036854775807 WHEN 4 THEN 4611686018427387904 ELSE 7 END;
INSERT INTO evil.docs SELECT i, evil.words(100 * (i % 50)) FROM generate_series(201, 220) i;
DELETE FROM evil.docs WHERE id BETWEEN 10 AND 30;
-- as superuser:
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- tried
SELECT minlsh_check('evil.docs_clusters');
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);

-- Ids and fingerprints.
-- as attacker:
UPDATE evil.docs_clusters SET cluster_id = CASE doc_id % 5 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 0
	WHEN 2 THEN 9223372036854775807 WHEN 3 THEN cluster_id + 1 ELSE cluster_id END;
UPDATE evil.docs_clusters SET fingerprint = CASE doc_id % 4 WHEN 0 THEN NULL
	WHEN 1 THEN repeat('f', 32)::uuid WHEN 2 THEN gen_random_uuid() ELSE repeat('0', 32)::uuid END;
INSERT INTO evil.docs_clusters_list VALUES (0, 3, now(), 1, 1), (-9223372036854775808, 3, now(), 1, 'NaN'),
	(9223372036854775807, 3, now(), 1, '-inf');
INSERT INTO evil.docs_clusters VALUES (9999, 1, NULL), (-1, 4, NULL);
INSERT INTO evil.docs SELECT i, evil.words(100 * (i % 50)) FROM generate_series(221, 240) i;
UPDATE evil.docs SET body = evil.words(id) WHERE id BETWEEN 40 AND 50;
-- as superuser:
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters');
-- tried
SELECT minlsh_check('evil.docs_clusters');
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);
-- as attacker:
DELETE FROM evil.docs_clusters WHERE cluster_id NOT BETWEEN 1 AND 50;
-- as superuser:
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters');
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);
-- The log knows nothing of what was done by hand.
-- as attacker:
DELETE FROM evil.docs_clusters_log;
-- as superuser:
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.docs_clusters');

-- Rows that are missing, and no index to find the members of a cluster by.
-- as attacker:
DELETE FROM evil.docs_clusters_list WHERE cluster_id % 2 = 0;
DELETE FROM evil.docs_clusters WHERE doc_id % 7 = 0;
DROP INDEX evil.docs_clusters_cluster_id_idx;
CREATE INDEX ON evil.docs_clusters USING hash (cluster_id);
INSERT INTO evil.docs SELECT i, evil.words(100 * (i % 50)) FROM generate_series(241, 250) i;
-- as superuser:
-- tried
SELECT minlsh_refresh_clusters('evil.docs_clusters');
SELECT minlsh_refresh_clusters('evil.docs_clusters', true);
-- as attacker:
DELETE FROM evil.docs_clusters_log;
-- as superuser:
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.docs_clusters');
-- A circle in the log.
-- as attacker:
INSERT INTO evil.docs_clusters_log SELECT i, 1, now(), 'merge', i, 3 - i, NULL, 2 FROM generate_series(1, 2) i;
INSERT INTO evil.docs_clusters_log VALUES (3, 1, now(), 'join', 1, NULL, 5, 2), (9223372036854775807, 1, now(),
	'merge', 5, NULL, NULL, NULL), (-9223372036854775808, 1, now(), 'what', 5, NULL, NULL, NULL);
-- as superuser:
-- tried
SELECT minlsh_check('evil.docs_clusters');

-- A queue that is not given what it demands, with an index.
-- as attacker:
CREATE INDEX ON evil.docs_clusters_queue (doc_id);
INSERT INTO evil.docs VALUES (1000, 'a text of its own');
DELETE FROM evil.docs_clusters_queue WHERE state IS NULL;
ALTER TABLE evil.docs_clusters_queue ALTER state SET NOT NULL;
-- refused: 55000
INSERT INTO evil.docs VALUES (1001, 'another text');
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');
ALTER TABLE evil.docs_clusters_queue ALTER state DROP NOT NULL;
DELETE FROM evil.docs_clusters_queue;
ALTER TABLE evil.docs_clusters_queue ALTER doc_id SET NOT NULL;
-- refused: 55000
SELECT minlsh_refresh_clusters('evil.docs_clusters');
