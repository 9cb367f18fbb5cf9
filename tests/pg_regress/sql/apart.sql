-- What people have decided stays decided: pairs of documents that are no copies, however similar they are.

SET client_min_messages = warning;
CREATE TABLE offers (id integer PRIMARY KEY, body text);
INSERT INTO offers VALUES
	(1, 'A solid wooden chair with four legs, in very good condition, to be collected in the old town.'),
	(2, 'A solid wooden chair with four legs, in very good condition, to be collected in the old town!'),
	(3, 'A solid wooden chair with four legs, in very good condition, to be collected in the old town.'),
	(4, 'A solid wooden chair with four legs, in very good condition, to be collected in the new town.'),
	(5, 'A blue bicycle, hardly used.');
SELECT doc_a, doc_b, round(similarity::numeric, 2) AS similarity FROM near_duplicate_pairs('offers', 0.8) ORDER BY 1, 2;

-- Somebody looks at them, and notes which are different things. The table has two columns of keys, in any order.
CREATE TABLE decided (a integer, b integer);
INSERT INTO decided VALUES (4, 1), (3, 4), (1, 3);
SELECT doc_a, doc_b, round(similarity::numeric, 2) AS similarity
FROM near_duplicate_pairs('offers', 0.8, apart => 'decided') ORDER BY 1, 2;
-- Also exact copies can be two things: 1 and 3. In one cluster they may still be, by way of 2.
SELECT doc_id, cluster_id, size FROM near_duplicate_clusters('offers', 0.8, apart => 'decided') ORDER BY 1;
SELECT doc_id, cluster_id, size FROM near_duplicate_clusters('offers', 0.8, linkage => 'leader', apart => 'decided')
ORDER BY 1;
SELECT doc_id, kept_id FROM near_duplicate_plan('offers', 0.8, apart => 'decided') ORDER BY 1;
SELECT doc_a, doc_b, size_a, size_b FROM near_duplicate_bridges('offers', 0.8, apart => 'decided') ORDER BY 1, 2;
SELECT doc_a, doc_b FROM near_duplicates_between('SELECT id, body FROM offers WHERE id < 3',
	'SELECT id, body FROM offers WHERE id > 2', 0.8, apart => 'decided') ORDER BY 1, 2;
-- Nothing is left once all is decided. What job lists can be the decision, and so can any query of two columns.
CREATE TABLE seen AS SELECT doc_b, doc_a FROM near_duplicate_pairs('offers', 0.8);
SELECT count(*) FROM near_duplicate_pairs('offers', 0.8, apart => 'seen');
SELECT count(*) FROM near_duplicate_plan('offers', 0.8, apart => 'seen');
SELECT count(*) FROM near_duplicate_pairs('offers', 0.8, apart => 'SELECT a::text, b::numeric FROM decided -- so far');
-- Keys that no document has, and NULL, say nothing. No table says the same as an empty one.
SELECT count(*) FROM near_duplicate_pairs('offers', 0.8, apart => 'VALUES (1, 99), (NULL, 2), (5, 1), (2, 2)');
SELECT count(*) FROM near_duplicate_pairs('offers', 0.8, apart => NULL);
-- With boilerplate, signatures and an index it is the same.
SELECT doc_a, doc_b FROM near_duplicate_pairs('offers', 0.8, 'signature', apart => 'decided') ORDER BY 1, 2;
SELECT doc_a, doc_b FROM near_duplicate_pairs('offers', 0.8, boilerplate => '*', apart => 'decided') ORDER BY 1, 2;
CREATE INDEX offers_near ON offers USING minlsh (body) WITH (threshold = 0.8);
SELECT doc_a, doc_b FROM near_duplicate_pairs('offers_near', apart => 'decided') ORDER BY 1, 2;

-- What is wrong with it is said.
SELECT near_duplicate_pairs('offers', 0.8, apart => 'nowhere');
SELECT near_duplicate_pairs('offers', 0.8, apart => 'SELECT a FROM decided');
SELECT near_duplicate_pairs('offers', 0.8, apart => 'SELECT 1, 2, 3');
SELECT near_duplicate_pairs('offers', 0.8, apart => $$VALUES ('one', 'two')$$);
SELECT near_duplicate_pairs('offers', 0.8, apart => $$SELECT 'x'::cstring, 1$$);
SELECT near_duplicate_pairs('offers', 0.8, apart => 'DELETE FROM decided RETURNING a, b');
DROP TABLE offers, decided, seen;

-- By definition, of texts many of which are copies: with and without threads, in little memory, by an index.
CREATE TABLE docs AS SELECT id, 'text ' || md5((id % 300)::text) || ' ' || md5((id % 100)::text)
	|| md5((id % 100 + 1000)::text) || md5((id % 100 + 2000)::text) || md5((id % 100 + 3000)::text) AS body
FROM generate_series(1, 1200) AS id;
ALTER TABLE docs ADD PRIMARY KEY (id);
CREATE TABLE all_pairs AS SELECT doc_a::integer AS a, doc_b::integer AS b
FROM near_duplicate_pairs('SELECT id, body FROM docs', 0.6, recall => 0.9999);
CREATE TABLE decided AS SELECT CASE WHEN a % 2 = 0 THEN a ELSE b END AS x, CASE WHEN a % 2 = 0 THEN b ELSE a END AS y
FROM all_pairs WHERE (a * 7 + b) % 5 < 2;
CREATE VIEW expected AS SELECT a, b FROM all_pairs EXCEPT SELECT least(x, y), greatest(x, y) FROM decided;
CREATE FUNCTION wrong(source text)
RETURNS TABLE (pairs bigint, wrong_pairs bigint, kept_alike bigint, wrong_members bigint) LANGUAGE sql AS $$
	WITH found AS MATERIALIZED (SELECT doc_a::integer AS a, doc_b::integer AS b
		FROM near_duplicate_pairs(source, 0.6, recall => 0.9999, apart => 'decided')),
	plan AS MATERIALIZED (SELECT doc_id::integer AS id
		FROM near_duplicate_plan(source, 0.6, recall => 0.9999, apart => 'decided')),
	clusters AS MATERIALIZED (SELECT doc_id::integer AS id, cluster_id::integer AS cluster
		FROM near_duplicate_clusters(source, 0.6, recall => 0.9999, apart => 'decided'))
	SELECT (SELECT count(*) FROM found),
		(SELECT count(*) FROM ((TABLE found EXCEPT TABLE expected) UNION ALL (TABLE expected EXCEPT TABLE found)) AS d),
		(SELECT count(*) FROM expected WHERE a NOT IN (TABLE plan) AND b NOT IN (TABLE plan)),
		(SELECT count(*) FROM expected LEFT JOIN clusters AS c ON c.id = a LEFT JOIN clusters AS d ON d.id = b
			WHERE c.cluster IS DISTINCT FROM d.cluster OR c.cluster IS NULL) $$;
SELECT * FROM wrong('docs');
SELECT * FROM wrong('SELECT id, body FROM docs ORDER BY md5(id::text)');
SET max_parallel_workers_per_gather = 0;
SELECT * FROM wrong('docs');
SET maintenance_work_mem = '1MB';
SELECT * FROM wrong('docs');
SELECT * FROM wrong('SELECT id, body FROM docs ORDER BY md5(id::text)');
-- More pairs than memory holds are refused.
SELECT count(*) FROM near_duplicate_pairs('docs', 0.6, apart => 'SELECT a.id, b.id FROM docs AS a, docs AS b');
CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.6, recall = 0.9999);
SELECT * FROM wrong('docs_near');
DROP FUNCTION wrong;
DROP VIEW expected;
DROP TABLE docs, all_pairs, decided;
