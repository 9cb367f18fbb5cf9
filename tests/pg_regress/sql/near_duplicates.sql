-- The documents most similar to one: of an index, and of a side table.

SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs
SELECT i, 'chapter ' || i || ': ' || string_agg(md5((i / 4 * 1000 + j)::text), ' ' ORDER BY j) || repeat('.', i % 4)
FROM generate_series(1, 40) AS i, generate_series(1, 20) AS j GROUP BY i;
CREATE INDEX ON docs USING minlsh (body);

-- In the target list, in FROM, and for each row of a table.
SELECT near_duplicates(6, 0.9);
SELECT doc_id, round(similarity::numeric, 2) AS similarity FROM near_duplicates(6, 0.9);
SELECT d.id, array_agg(n.doc_id ORDER BY n.doc_id) AS copies
FROM docs AS d, near_duplicates(d.id, 0.9) AS n WHERE d.id < 12 GROUP BY d.id ORDER BY d.id;

-- Wherever a set can stand: with LIMIT, in EXISTS, joined, aggregated; by position or by name.
SELECT d.id FROM docs AS d
WHERE d.id < 20 AND NOT EXISTS (SELECT FROM near_duplicates(d.id, 0.9) AS n WHERE n.doc_id < d.id) ORDER BY d.id;
SELECT d.id, left(t.body, 10) AS nearest
FROM docs AS d
	LEFT JOIN LATERAL (SELECT * FROM near_duplicates(d.id) ORDER BY similarity DESC, doc_id LIMIT 1) AS n ON true
	LEFT JOIN docs AS t ON t.id = n.doc_id
WHERE d.id IN (1, 40) ORDER BY d.id;
SELECT count(*) FROM near_duplicates(key => 6, verify => 'exact', threshold => 0.9, index => 'docs_body_idx');
SELECT count(*) FROM near_duplicates(6, 0.9, 'docs', 'exact');
SELECT d.id, (SELECT count(*) FROM near_duplicates(d.id)) AS copies FROM docs AS d WHERE d.id IN (1, 2, 40)
ORDER BY d.id;
SELECT doc_id FROM nearest_documents(6, 2);
SELECT count(*) FROM nearest_documents('6');
SELECT nearest_documents(6, 0);

-- The most similar come first, of equals the least key; never the document itself.
SELECT bool_and((similarity, -doc_id) < (before, -id_before)) AS ordered, bool_or(doc_id = 6) AS itself
FROM (SELECT doc_id, similarity, lag(similarity) OVER w AS before, lag(doc_id) OVER w AS id_before
	FROM near_duplicates(6) WITH ORDINALITY AS n (doc_id, similarity, place) WINDOW w AS (ORDER BY place)) AS n;

-- A document that is not there has no near-duplicates.
SELECT near_duplicates(99);
SELECT near_duplicates(99999999999);
SELECT near_duplicates(NULL::integer);

-- The similarity is exact, and what is found is what brute force finds.
SELECT count(*) AS found, count(*) FILTER (WHERE n.similarity <> jaccard(a.body, b.body)) AS different
FROM docs AS a, near_duplicates(a.id) AS n JOIN docs AS b ON b.id = n.doc_id;
CREATE VIEW truth AS SELECT a.id AS a, b.id AS b FROM docs AS a, docs AS b
	WHERE a.id <> b.id AND jaccard(a.body, b.body, normalization => 'plain') >= 0.85;
CREATE VIEW found AS SELECT d.id AS a, n.doc_id::integer AS b FROM docs AS d, near_duplicates(d.id, 0.85) AS n;
CREATE VIEW compared AS SELECT (SELECT count(*) FROM truth) AS true, (SELECT count(*) FROM found) AS found,
	(SELECT count(*) FROM (TABLE truth EXCEPT TABLE found) AS e) AS missed,
	(SELECT count(*) FROM (TABLE found EXCEPT TABLE truth) AS e) AS wrong;
TABLE compared;

-- A text that is not stored. Keys come as text.
SELECT doc_id FROM near_duplicates_of((SELECT body || ', and more' FROM docs WHERE id = 8), 0.9) ORDER BY doc_id;
SELECT doc_id FROM near_duplicates_of(body => (SELECT body FROM docs WHERE id = 8), threshold => 0.9) ORDER BY doc_id;
SELECT count(*) FROM near_duplicates_of('nothing of the kind');
SELECT near_duplicates_of('');
SELECT near_duplicates_of(NULL::text);
SELECT near_duplicates_of(ARRAY['one', 'two']);

-- A side table gives the same. Signatures decide where they are asked to.
DROP INDEX docs_body_idx;
SELECT minlsh_create_side_table('docs', 'body');
TABLE compared;
SELECT count(*) AS found,
	count(*) FILTER (WHERE n.similarity <> minhash_jaccard(minhash(a.body), minhash(b.body))) AS different
FROM docs AS a, near_duplicates(a.id, verify => 'signature') AS n JOIN docs AS b ON b.id = n.doc_id;
SELECT doc_id FROM near_duplicates_of((SELECT body || ', and more' FROM docs WHERE id = 8), 0.9) ORDER BY doc_id;
SELECT doc_id FROM nearest_documents(6, 2);
SELECT doc_id, similarity FROM near_duplicates_of((SELECT minhash(body) FROM docs WHERE id = 8), 0.9)
WHERE similarity = 1;
SELECT near_duplicates_of((SELECT minhash(body, 64) FROM docs WHERE id = 8));
SELECT near_duplicates_of((SELECT minhash(body) FROM docs WHERE id = 8), verify => 'exact');

-- Both: the call names one.
CREATE INDEX ON docs USING minlsh (body);
SELECT near_duplicates(6);
SELECT near_duplicates(6, index => 'docs');
SELECT count(*) FROM near_duplicates(6, index => 'docs_body_idx')
UNION ALL SELECT count(*) FROM near_duplicates(6, index => 'docs_minlsh');
SELECT minlsh_drop_side_table('docs_minlsh');

-- Thresholds: from the index's own upwards.
SELECT count(*) FROM near_duplicates(6);
SELECT near_duplicates(6, 0.5);
SELECT near_duplicates(6, 0);
SELECT near_duplicates(6, 1.01);
SELECT near_duplicates(6, 'Infinity');
SELECT near_duplicates(6, 'NaN');
SELECT near_duplicates(6, NULL, NULL, NULL) = near_duplicates(6) AS nulls_are_defaults;
SELECT near_duplicates(6, verify => 'maybe');
SELECT near_duplicates(6, verify => 'EXACT');
SELECT near_duplicates(6, verify => 'signature');
SELECT near_duplicates(6, index => 'no_such_index');
SELECT near_duplicates(6, index => 'pg_class');
SELECT near_duplicates(6, index => 'docs_pkey');
SELECT near_duplicates(6, index => 'truth');
\set VERBOSITY sqlstate
SELECT near_duplicates(6, 0.5);
SELECT near_duplicates(6, verify => 'maybe');
SELECT near_duplicates(6, index => 'pg_class');
SELECT near_duplicates(6, index => 'docs_pkey');
SELECT near_duplicates(6, index => 'truth');
SELECT near_duplicates(6, index => 4294967290);
SELECT near_duplicates(6.5);
SELECT near_duplicates('six');
\set VERBOSITY default

-- What an index is of: expressions, parts of a table, sets, signatures, documents, one scope at a time.
CREATE TABLE article (id integer PRIMARY KEY, tenant integer, title text, body text, tags text[],
	signature integer[], document minlsh_document);
INSERT INTO article SELECT i, i % 2, 'On texts', 'this is one text of many, and so on',
	ARRAY['a', 'b', 'c', 'd', 'e', i::text], minhash('this is one text of many'),
	minlsh_document('this is one text of many', 0.9)
FROM generate_series(1, 4) AS i;
INSERT INTO article VALUES (5);
CREATE INDEX by_text ON article USING minlsh ((title || ' ' || body)) WHERE id <> 3;
SELECT doc_id FROM near_duplicates(1, index => 'by_text');
-- A key outside of a partial index gives no rows, as an unknown one, and only who names such an index asks it.
SELECT doc_id FROM near_duplicates(3, index => 'by_text');
SELECT near_duplicate_cluster_of(3, index => 'by_text');
SELECT a.id, n.doc_id FROM article AS a, near_duplicates(a.id, index => 'by_text') AS n ORDER BY a.id, n.doc_id;
SELECT count(*) FROM minlsh_explain('by_text', 1, 3);
SELECT count(*) FROM minlsh_explain('by_text', 1, 2);
SELECT doc_id FROM near_duplicates_of('on texts this is one text of many, and so on', index => 'by_text') ORDER BY 1;
CREATE INDEX by_tenant ON article USING minlsh (tenant, body);
SELECT doc_id FROM near_duplicates(1, index => 'by_tenant');
SELECT near_duplicates_of('this is one text of many, and so on', index => 'by_tenant');
CREATE INDEX by_tags ON article USING minlsh (tags) WITH (threshold = 0.6);
SELECT doc_id, round(similarity::numeric, 2) AS similarity FROM near_duplicates(1, index => 'by_tags');
SELECT doc_id FROM near_duplicates_of(ARRAY['e', 'd', 'c', 'b', 'a'], 0.8, 'by_tags') ORDER BY 1;
SELECT near_duplicates_of('a', index => 'by_tags');
CREATE INDEX by_signature ON article USING minlsh (signature minlsh_signature_ops);
SELECT doc_id FROM near_duplicates(1, index => 'by_signature');
SELECT doc_id FROM near_duplicates_of(minhash('this is one text of many'), index => 'by_signature') ORDER BY 1;
SELECT near_duplicates(1, index => 'by_signature', verify => 'exact');
CREATE INDEX by_document ON article USING minlsh (document);
SELECT doc_id, similarity FROM near_duplicates(1, 0.95, 'by_document');
SELECT near_duplicates_of('this is one text of many', index => 'by_document');
SELECT near_duplicates(5, index => 'by_text'), near_duplicates(5, index => 'by_tags'),
	near_duplicates(5, index => 'by_document');
SELECT near_duplicates(1);
DROP TABLE article;

-- A partitioned table is asked as a whole.
CREATE TABLE log (id integer, body text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (100) TO (200);
CREATE INDEX ON log USING minlsh (body) WITH (threshold = 0.9);
INSERT INTO log VALUES (1, 'one text'), (2, 'one text'), (101, 'one text');
SELECT doc_id FROM near_duplicates(1, index => 'log');
SELECT doc_id FROM near_duplicates(1, index => 'log_1');
SELECT index, relation, threshold, size > 0 AS has_size FROM minlsh_indexes ORDER BY index::text;
DROP TABLE log;

-- A boilerplate of many copies.
INSERT INTO docs SELECT i, 'the same boilerplate on every page of the site' FROM generate_series(1001, 1500) AS i;
SELECT count(*), min(doc_id), max(doc_id), min(similarity) FROM near_duplicates(1001);

-- The statement's snapshot: what a statement writes, it does not find; a volatile function does.
WITH written AS (INSERT INTO docs SELECT 7000, body FROM docs WHERE id = 6 RETURNING id)
SELECT (SELECT count(*) FROM near_duplicates(6, 1)) AS before, count(*) AS written FROM written;
SELECT count(*) FROM near_duplicates(6, 1);
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT count(*) FROM near_duplicates(6, 0.9);
SELECT count(*) FROM near_duplicates_of('the same boilerplate on every page of the site');
COMMIT;
BEGIN;
DECLARE backwards SCROLL CURSOR FOR SELECT doc_id FROM near_duplicates(6, 0.9);
FETCH LAST FROM backwards;
DELETE FROM docs WHERE id = 7000;
FETCH FIRST FROM backwards;
COMMIT;

-- In functions and views.
CREATE FUNCTION copies_sql(key integer) RETURNS bigint LANGUAGE SQL STABLE
	AS $$ SELECT count(*) FROM near_duplicates(key, 0.9) $$;
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
DROP VIEW copies_view;
DROP FUNCTION copies_sql, copies_plpgsql;
DELETE FROM docs WHERE id > 40;

-- Asked by many rows at once, whatever the planner does, the answers are the same: also above a Gather, in a session
-- that has not asked yet.
CREATE TEMP TABLE answers AS SELECT d.id, n.* FROM docs AS d, near_duplicates(d.id) AS n;
\c
SET client_min_messages = warning;
CREATE TEMP TABLE answers AS SELECT id, id::bigint AS doc_id, 0::double precision AS similarity FROM docs WHERE false;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) > 0 AS some FROM docs AS d, near_duplicates(d.id, 0.9) AS n WHERE d.body LIKE 'chapter%';
INSERT INTO answers SELECT d.id, n.* FROM docs AS d, near_duplicates(d.id) AS n;
SELECT count(*) AS different FROM (SELECT d.id, n.* FROM docs AS d, near_duplicates_of(d.body) AS n
	WHERE n.doc_id <> d.id::text
	EXCEPT SELECT id, doc_id::text, similarity FROM answers) AS e;
SET plan_cache_mode = force_generic_plan;
SET enable_bitmapscan = off;
SELECT count(*) AS different FROM (SELECT d.id, n.* FROM docs AS d, near_duplicates(d.id) AS n
	EXCEPT TABLE answers) AS e;
SET plan_cache_mode = force_custom_plan;
SET enable_indexscan = off;
SELECT count(*) AS different FROM (SELECT d.id, n.* FROM docs AS d, near_duplicates(d.id) AS n
	EXCEPT TABLE answers) AS e;
RESET ALL;
SET client_min_messages = warning;

-- PostgreSQL compiles expensive queries (JIT): one with ten thousand lookups is over before that.
CREATE FUNCTION total_cost(query text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
SELECT total_cost('SELECT FROM generate_series(1, 10000) AS i, near_duplicates(i)')
	< current_setting('jit_above_cost')::double precision AS not_compiled;
DROP FUNCTION total_cost;

DROP VIEW compared, found, truth;

-- A session's plans follow what happens to the index and its table.
PREPARE ask AS SELECT doc_id FROM near_duplicates(6, 0.9) ORDER BY doc_id;
EXECUTE ask;
DROP INDEX docs_body_idx;
EXECUTE ask;
CREATE INDEX ON docs USING minlsh (body) WITH (num_perm = 64, scheme = permutations);
EXECUTE ask;
ALTER TABLE docs RENAME TO papers;
CREATE TABLE docs AS SELECT id, 'another' AS body FROM papers;
EXECUTE ask;
ALTER TABLE papers RENAME body TO contents;
EXECUTE ask;
CREATE SCHEMA archive;
ALTER TABLE papers SET SCHEMA archive;
EXECUTE ask;
SET search_path = archive, public;
EXECUTE ask;
ALTER SCHEMA archive RENAME TO old_archive;
SET search_path = old_archive, public;
EXECUTE ask;
ALTER TABLE papers ALTER contents TYPE varchar(10000);
EXECUTE ask;
ALTER TABLE papers DROP CONSTRAINT docs_pkey;
EXECUTE ask;
BEGIN;
DROP INDEX docs_body_idx;
EXECUTE ask;
ROLLBACK;
RESET search_path;
DROP SCHEMA old_archive CASCADE;
DROP TABLE docs;
