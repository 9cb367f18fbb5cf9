-- minlsh_check(index, sample): a share of the rows, while writers go on.
CREATE TABLE check_docs (id int PRIMARY KEY, body text);
CREATE FUNCTION check_cut(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN lower(body); END';
INSERT INTO check_docs SELECT i, 'text number ' || i || ' ' || md5(i::text) FROM generate_series(1, 1000) AS i;
CREATE INDEX check_native ON check_docs USING minlsh (check_cut(body));
SELECT * FROM minlsh_check('check_docs', sample => 0.1);

-- The whole check keeps writers waiting (ShareLock); that of a sample keeps VACUUM waiting, and nothing else.
BEGIN;
SELECT * FROM minlsh_check('check_native', sample => 0.1);
SELECT mode FROM pg_locks WHERE relation = 'check_docs'::regclass AND pid = pg_backend_pid() AND mode LIKE 'Share%';
COMMIT;
BEGIN;
SELECT * FROM minlsh_check('check_native');
SELECT mode FROM pg_locks WHERE relation = 'check_docs'::regclass AND pid = pg_backend_pid() AND mode LIKE 'Share%';
COMMIT;

-- A function that was not immutable after all: about a tenth of what is wrong is found, and another seed finds other
-- rows. With 1 all rows are checked.
CREATE OR REPLACE FUNCTION check_cut(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS 'BEGIN RETURN md5(body); END';
SELECT problem, count(DISTINCT doc_id) BETWEEN 50 AND 200 AS about_a_tenth
FROM minlsh_check('check_native', sample => 0.1) GROUP BY 1 ORDER BY 1;
SELECT count(*) > 0 AS others FROM (SELECT doc_id FROM minlsh_check('check_native', sample => 0.1, sample_seed => 7)
	EXCEPT SELECT doc_id FROM minlsh_check('check_native', sample => 0.1)) AS found;
SELECT problem, count(DISTINCT doc_id) FROM minlsh_check('check_native', sample => 1) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM (SELECT * FROM minlsh_check('check_native') EXCEPT ALL
	SELECT * FROM minlsh_check('check_native', sample => 1)) AS missed;
REINDEX INDEX check_native;
SELECT * FROM minlsh_check('check_docs', sample => 1);
DROP INDEX check_native;

-- A side table.
SELECT minlsh_create_side_table('check_docs', 'body');
SELECT * FROM minlsh_check('check_docs', 0.5);
ALTER TABLE check_docs DISABLE TRIGGER check_docs_minlsh_sync;
UPDATE check_docs SET body = 'unnoticed ' || body;
DELETE FROM check_docs WHERE id > 800;
ALTER TABLE check_docs ENABLE ALWAYS TRIGGER check_docs_minlsh_sync;
SELECT problem, count(*) BETWEEN 5 AND 200 AS a_share FROM minlsh_check('check_docs', 0.1) GROUP BY 1 ORDER BY 1;
SELECT problem, count(*) FROM minlsh_check('check_docs', 1) GROUP BY 1 ORDER BY 1;

-- An index that another version has built is not used. The view shows it, and why.
SELECT index, needs_reindex, reindex_reason FROM minlsh_indexes WHERE relation = 'check_docs'::regclass;
SELECT minlsh_warn_reindex();

SELECT * FROM minlsh_check('check_docs', 0);
SELECT * FROM minlsh_check('check_docs', 10);
CREATE INDEX check_native ON check_docs USING minlsh (body);
SELECT minlsh_track_clusters('check_native');
SELECT * FROM minlsh_check('check_docs_clusters', 0.1);
DROP TABLE check_docs CASCADE;
DROP FUNCTION check_cut;
