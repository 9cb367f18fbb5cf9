-- Settings of memory at their extremes, and a function that calls the job that reads it.
-- Attacker: anybody, who may set these. Must not: a crash, an internal error, or memory taken because it is allowed.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, repeat(md5((i / 4)::text) || ' ', 5) || i % 4 FROM generate_series(1, 200) i;
CREATE INDEX docs_near ON evil.docs USING minlsh (body);
SET work_mem = 2147483647;
SET maintenance_work_mem = 2147483647;
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
SELECT count(*) FROM near_duplicate_clusters('evil.docs', 0.9);
SELECT count(*) FROM near_duplicates_between('evil.docs', 'evil.docs', 0.9);
SELECT count(*) FROM near_duplicate_cluster_of(1, 0.9, 'evil.docs_near');
SELECT near_duplicate_cluster(body, 0.9) OVER () FROM evil.docs;
SELECT count(*) FROM common_passages('evil.docs', 2);
SELECT count(*) FROM strip_passages('evil.docs', 2);
SELECT count(*) FROM repeated_passages('evil.docs');
SELECT count(*) FROM passages_between('evil.docs', 'evil.docs');
SELECT count(*) FROM contained_documents('evil.docs');
SELECT count(*) FROM minlsh_suggest('evil.docs');
SELECT count(*) FROM minlsh_recall('evil.docs_near');
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.docs_near');
REINDEX INDEX evil.docs_near;
RESET work_mem;
RESET maintenance_work_mem;

CREATE FUNCTION evil.again() RETURNS SETOF evil.docs LANGUAGE plpgsql AS $$ BEGIN
	PERFORM count(*) FROM near_duplicate_pairs('SELECT id, body FROM evil.again()', 0.9);
	RETURN QUERY SELECT * FROM evil.docs;
END $$;
-- refused: 54001
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body FROM evil.again()', 0.9);
CREATE FUNCTION evil.told() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
	PERFORM count(*) FROM evil.again();
	RETURN 'nothing';
EXCEPTION WHEN statement_too_complex THEN
	RETURN replace(sqlerrm, ' ', '_');
END $$;
-- gives: stack_depth_limit_exceeded
SELECT evil.told();
