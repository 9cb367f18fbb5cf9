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

-- Wherever a set can stand: with LIMIT, in EXISTS, joined, aggregated; by position or by name.
SELECT d.id FROM docs AS d WHERE d.id < 20 AND NOT EXISTS (SELECT FROM near_duplicates(d.id, 0.9) AS n WHERE n.doc_id < d.id) ORDER BY d.id;
SELECT d.id, left(t.body, 10) AS nearest
FROM docs AS d LEFT JOIN LATERAL (SELECT * FROM near_duplicates(d.id) ORDER BY similarity DESC, doc_id LIMIT 1) AS n ON true LEFT JOIN docs AS t ON t.id = n.doc_id
WHERE d.id IN (1, 40) ORDER BY d.id;
SELECT count(*), min(similarity) >= 0.95 AS close FROM near_duplicates(key => 6, verify => 'exact', threshold => 0.95, index => 'docs_minlsh');
SELECT count(*) FROM near_duplicates(6, 0.9, 'docs', 'exact');
SELECT d.id, (SELECT count(*) FROM near_duplicates(d.id)) AS copies FROM docs AS d WHERE d.id IN (1, 2, 40) ORDER BY d.id;

-- The most similar come first, of equals the least key; never the document itself.
SELECT bool_and((similarity, -doc_id) < (before, -id_before)) AS ordered, bool_or(doc_id = 6) AS itself
FROM (SELECT doc_id, similarity, lag(similarity) OVER w AS before, lag(doc_id) OVER w AS id_before
	FROM near_duplicates(6) WITH ORDINALITY AS n (doc_id, similarity, place) WINDOW w AS (ORDER BY place)) AS n;

-- The estimate is that of minhash_jaccard().
SELECT count(*) AS found, count(*) FILTER (WHERE n.similarity <> minhash_jaccard(minhash(a.body), minhash(b.body))) AS different
FROM docs AS a, near_duplicates(a.id) AS n JOIN docs AS b ON b.id = n.doc_id;

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

WITH truth AS (
	SELECT a.id::text AS a, b.id::text AS b, jaccard(a.body, b.body) AS similarity FROM docs AS a, docs AS b WHERE a.id < b.id AND jaccard(a.body, b.body) >= 0.85
), found AS (
	SELECT * FROM near_duplicate_pairs('docs', 0.85, 'exact')
)
SELECT (SELECT count(*) FROM found) AS found, (SELECT count(*) FROM (TABLE truth EXCEPT TABLE found) AS e) AS missed,
       (SELECT count(*) FROM (TABLE found EXCEPT TABLE truth) AS e) AS wrong;
WITH RECURSIVE truth AS (
	SELECT a.id AS a, b.id AS b FROM docs AS a, docs AS b WHERE a.id <> b.id AND jaccard(a.body, b.body) >= 0.85
), reached AS (
	SELECT a AS id, a AS by FROM truth UNION SELECT t.b, r.by FROM reached AS r JOIN truth AS t ON t.a = r.id
), truth_clusters AS (
	SELECT id, min(by) AS cluster FROM reached GROUP BY id
), clusters AS (
	SELECT doc_id::integer AS id, cluster_id::integer AS cluster FROM near_duplicate_clusters('docs', 0.85, 'exact')
)
SELECT (SELECT count(*) FROM clusters) AS found, (SELECT count(*) FROM (TABLE truth_clusters EXCEPT TABLE clusters) AS e) AS missed,
       (SELECT count(*) FROM (TABLE clusters EXCEPT TABLE truth_clusters) AS e) AS wrong;

-- A text that is not stored. Keys come as text.
SELECT doc_id FROM near_duplicates_of((SELECT body || ', and more' FROM docs WHERE id = 8), 0.9) ORDER BY doc_id;
SELECT doc_id FROM near_duplicates_of((SELECT body || ', and more' FROM docs WHERE id = 8), 0.9, verify => 'exact') ORDER BY doc_id;
SELECT doc_id FROM near_duplicates_of(body => (SELECT body FROM docs WHERE id = 8), threshold => 0.9) ORDER BY doc_id;
SELECT count(*) FROM near_duplicates_of('nothing of the kind');
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
INSERT INTO docs SELECT i, 'the same boilerplate on every page of the site' FROM generate_series(3001, 6000) AS i;
SELECT count(*) FROM near_duplicates(6000, verify => 'exact');
SELECT cluster_id, count(*), max(size), min(similarity) FROM near_duplicate_clusters('docs', 0.9) WHERE doc_id::integer > 1000 GROUP BY 1;
SELECT cluster_id, count(*), max(size), min(similarity) FROM near_duplicate_clusters('docs', 0.9, 'exact') WHERE doc_id::integer > 1000 GROUP BY 1;

-- Thresholds: from the index's own upwards.
SELECT count(*) FROM near_duplicates(6);
SELECT near_duplicates(6, 0.5);
SELECT near_duplicates(6, 0);
SELECT near_duplicates(6, -0.8);
SELECT near_duplicates(6, 1.01);
SELECT near_duplicates(6, 'Infinity');
SELECT near_duplicates(6, 'NaN');
SELECT near_duplicates(6, NULL, NULL, NULL) = near_duplicates(6) AS nulls_are_defaults;
SELECT near_duplicates(6, verify => 'maybe');
SELECT near_duplicates(6, verify => 'EXACT');
SELECT near_duplicates(6, index => 'no_such_index');
SELECT near_duplicates(6, index => 'pg_class');
SELECT near_duplicate_pairs('docs', 0.5);
SELECT near_duplicate_clusters('docs', verify => 'maybe');

\set VERBOSITY sqlstate
SELECT near_duplicates(6, 0.5);
SELECT near_duplicates(6, verify => 'maybe');
SELECT near_duplicates(6, index => 'pg_class');
SELECT near_duplicates(6.5);
SELECT near_duplicates('six');
\set VERBOSITY default

-- The statement's snapshot: what a statement writes, it does not find; a volatile function does.
WITH written AS (INSERT INTO docs SELECT 7000, body FROM docs WHERE id = 6 RETURNING id)
SELECT (SELECT count(*) FROM near_duplicates(6, 1)) AS before, count(*) AS written FROM written;
SELECT count(*) FROM near_duplicates(6, 1);
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT count(*) FROM near_duplicates(6, 0.9);
SELECT count(*) FROM near_duplicates_of('the same boilerplate on every page of the site', verify => 'exact');
SELECT count(*) FROM near_duplicate_clusters('docs');
SELECT documents FROM minlsh_indexes;
COMMIT;
BEGIN;
DECLARE backwards SCROLL CURSOR FOR SELECT doc_id FROM near_duplicates(6, 0.9);
FETCH LAST FROM backwards;
DELETE FROM docs WHERE id = 7000;
FETCH FIRST FROM backwards;
COMMIT;

-- In functions, views and materialized views.
CREATE FUNCTION copies_sql(key integer) RETURNS bigint LANGUAGE SQL STABLE AS $$ SELECT count(*) FROM near_duplicates(key, 0.9) $$;
CREATE FUNCTION copies_plpgsql(key integer) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..2 LOOP
		RETURN QUERY SELECT count(*) FROM near_duplicates(key, 0.9);
		INSERT INTO docs SELECT 7000, body FROM docs WHERE id = 6 ON CONFLICT DO NOTHING;
	END LOOP;
END $$;
SELECT copies_sql(6), copies_sql(99);
SELECT copies_plpgsql(6);
DELETE FROM docs WHERE id = 7000;
CREATE VIEW copies_view AS SELECT d.id, n.doc_id FROM docs AS d, near_duplicates(d.id, 0.9) AS n;
SELECT * FROM copies_view WHERE id = 6 ORDER BY doc_id;
CREATE MATERIALIZED VIEW copies_stored AS SELECT * FROM near_duplicate_clusters('docs', 0.9) WHERE size < 100;
SELECT count(*) FROM copies_stored;
DELETE FROM docs WHERE id > 1000 OR id < 4;
REFRESH MATERIALIZED VIEW copies_stored;
SELECT count(*) FROM copies_stored;
DROP MATERIALIZED VIEW copies_stored;
DROP VIEW copies_view;
DROP FUNCTION copies_sql, copies_plpgsql;

-- Asked by many rows at once, whatever the planner does, the answers are the same.
CREATE TEMP TABLE answers AS SELECT d.id, n.* FROM docs AS d, near_duplicates(d.id) AS n;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) AS different FROM (SELECT d.id, n.* FROM docs AS d, near_duplicates(d.id) AS n EXCEPT TABLE answers) AS e;
SELECT count(*) AS different FROM (SELECT d.id, n.* FROM docs AS d, near_duplicates_of(d.body) AS n WHERE n.doc_id <> d.id::text
	EXCEPT SELECT id, doc_id::text, similarity FROM answers) AS e;
SET plan_cache_mode = force_generic_plan;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SELECT count(*) AS different FROM (SELECT d.id, n.* FROM docs AS d, near_duplicates(d.id) AS n EXCEPT TABLE answers) AS e;
RESET ALL;
SET client_min_messages = warning;

-- PostgreSQL compiles expensive queries (JIT): one with ten thousand lookups is over before that.
CREATE FUNCTION total_cost(query text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
SELECT total_cost('SELECT FROM generate_series(1, 10000) AS i, near_duplicates(i)') < current_setting('jit_above_cost')::double precision AS not_compiled;
DROP FUNCTION total_cost;

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
