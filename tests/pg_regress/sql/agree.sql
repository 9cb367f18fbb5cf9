-- Things that look alike and are not the same: what must agree beside the texts, such as the codes of products.

SET client_min_messages = warning;
CREATE TABLE products (id integer PRIMARY KEY, body text, numbers text[]);
INSERT INTO products VALUES
	(1, 'Canon imageRUNNER multifunction laser printer HF10 with duplex unit', '{a}'),
	(2, 'Canon imageRUNNER multifunction laser printer HF-10 with duplex unit', '{b}'),
	(3, 'Canon imageRUNNER multifunction laser printer HF100 with duplex unit', '{a,b}'),
	(4, 'Canon imageRUNNER multifunction laser printer with duplex unit', NULL),
	(5, 'Canon imageRUNNER multifunction laser printer HF100 with duplex unit', '{c,NULL}'),
	(6, 'Canon imageRUNNER multifunction laser printer HF100 with duplex unit', '{NULL}');
-- 1 and 2 have one code, and so have 3, 5 and 6; 4 has none, and is kept apart from nothing.
SELECT doc_a, doc_b, round(similarity::numeric, 2) AS similarity
FROM near_duplicate_pairs('products', 0.7, body => 'body', agree => 'codes(body)') ORDER BY 1, 2;
SELECT doc_id, kept_id FROM near_duplicate_plan('products', 0.7, body => 'body', agree => 'codes(body)') ORDER BY 1;
-- A column does as well. Of equal texts those are one document whose arrays are the same.
SELECT doc_a, doc_b FROM near_duplicate_pairs('products', 0.7, body => 'body', agree => 'numbers') ORDER BY 1, 2;
SELECT doc_id, kept_id FROM near_duplicate_plan('products', 0.7, body => 'body', agree => 'numbers') ORDER BY 1;
SELECT doc_id, cluster_id, size, round(weakest_link::numeric, 2) AS weakest, round(least_similar::numeric, 2) AS least
FROM near_duplicate_clusters('products', 0.7, body => 'body', agree => 'numbers') ORDER BY 1;
SELECT doc_id, cluster_id FROM near_duplicate_clusters($$SELECT id, body, numbers FROM products WHERE id IN (1, 2, 5)$$,
	0.7, agree => 'numbers') ORDER BY 1;
SELECT cluster_id, doc_a, doc_b FROM near_duplicate_bridges($$SELECT id, body, numbers FROM products WHERE id < 4$$,
	0.7, agree => 'numbers') ORDER BY 1;
SELECT doc_a, doc_b FROM near_duplicates_between('SELECT id, body, numbers FROM products WHERE id < 3',
	'SELECT id, body, numbers FROM products WHERE id > 2', 0.7, agree => 'numbers') ORDER BY 1, 2;
-- With signatures, boilerplate, apart and an index it is the same question.
SELECT doc_a, doc_b FROM near_duplicate_pairs('products', 0.7, 'signature', body => 'body', agree => 'codes(body)')
WHERE doc_a = '3' ORDER BY 1, 2;
SELECT doc_a, doc_b FROM near_duplicate_pairs('products', 0.7, body => 'body', agree => 'codes(body)',
	apart => 'VALUES (5, 3)') WHERE doc_a = '3' ORDER BY 1, 2;
CREATE INDEX products_near ON products USING minlsh (body) WITH (threshold = 0.7);
SELECT doc_a, doc_b FROM near_duplicate_pairs('products_near', agree => 'codes(body)') ORDER BY 1, 2;
SELECT doc_a, doc_b FROM near_duplicate_pairs('products', 0.7, body => 'body', agree => 'numbers || codes(body)')
ORDER BY 1, 2;
SELECT count(*) FROM near_duplicate_pairs('products_near', agree => NULL);

-- What is wrong with it is said.
SELECT near_duplicate_pairs('products_near', agree => 'nothing');
SELECT near_duplicate_pairs('products_near', agree => 'body');
SELECT near_duplicate_pairs('products_near', agree => '');
SELECT near_duplicate_pairs('products_near', agree => 'numbers, body');
SELECT near_duplicate_pairs('products_near', agree => 'numbers), (body');
SELECT near_duplicate_pairs('products_near', agree => 'numbers), NULL) FROM products AS x --');
SELECT near_duplicate_pairs('products_near', agree => 'array_agg(body)');
SELECT near_duplicate_pairs('products_near', agree => 'array_agg(body) OVER ()');
SELECT near_duplicate_pairs('products_near', agree => $$regexp_matches(body, '[a-z]', 'g')$$);
SELECT near_duplicate_pairs('products_near', agree => 'ARRAY[point(1, 2)]');
SELECT near_duplicates_between('products_near', 'SELECT id, body, ARRAY[1] AS numbers FROM products', 0.7,
	agree => 'numbers');
DROP TABLE products;

-- By definition, of texts many of which are copies: with and without threads, in little memory, by an index. Numerics
-- are equal whose bytes differ.
CREATE TABLE docs AS SELECT id, 'text ' || md5((id % 300)::text) || ' ' || md5((id % 100)::text)
	|| md5((id % 100 + 1000)::text) || md5((id % 100 + 2000)::text) || md5((id % 100 + 3000)::text) AS body,
	CASE WHEN id % 9 > 0 THEN ARRAY[id % 7 + 0.0, id % 11 + 0.00] END AS numbers
FROM generate_series(1, 1200) AS id;
ALTER TABLE docs ADD PRIMARY KEY (id);
CREATE TABLE expected AS SELECT doc_a::integer AS a, doc_b::integer AS b
FROM near_duplicate_pairs('SELECT id, body FROM docs', 0.6, recall => 0.9999)
JOIN docs AS d ON d.id = doc_a::integer JOIN docs AS e ON e.id = doc_b::integer
WHERE d.numbers && e.numbers OR d.numbers IS NULL OR e.numbers IS NULL;
SELECT count(*) FROM expected;
CREATE FUNCTION wrong(source text, agree text)
RETURNS TABLE (pairs bigint, wrong_pairs bigint, kept_alike bigint, wrong_members bigint) LANGUAGE sql AS $$
	WITH found AS MATERIALIZED (SELECT doc_a::integer AS a, doc_b::integer AS b
		FROM near_duplicate_pairs(source, 0.6, recall => 0.9999, agree => agree)),
	plan AS MATERIALIZED (SELECT doc_id::integer AS id
		FROM near_duplicate_plan(source, 0.6, recall => 0.9999, agree => agree)),
	clusters AS MATERIALIZED (SELECT doc_id::integer AS id, cluster_id::integer AS cluster
		FROM near_duplicate_clusters(source, 0.6, recall => 0.9999, agree => agree))
	SELECT (SELECT count(*) FROM found),
		(SELECT count(*) FROM ((TABLE found EXCEPT TABLE expected) UNION ALL (TABLE expected EXCEPT TABLE found)) AS d),
		(SELECT count(*) FROM expected WHERE a NOT IN (TABLE plan) AND b NOT IN (TABLE plan)),
		(SELECT count(*) FROM expected LEFT JOIN clusters AS c ON c.id = a LEFT JOIN clusters AS d ON d.id = b
			WHERE c.cluster IS DISTINCT FROM d.cluster OR c.cluster IS NULL) $$;
SELECT * FROM wrong('docs', 'numbers');
SELECT * FROM wrong('SELECT id, body, numbers FROM docs ORDER BY md5(id::text)', 'numbers::text::numeric[]');
SET max_parallel_workers_per_gather = 0;
SELECT * FROM wrong('docs', 'numbers');
SET maintenance_work_mem = '1MB';
SELECT * FROM wrong('docs', 'numbers');
SELECT * FROM wrong('SELECT id, body, numbers FROM docs ORDER BY md5(id::text)', 'numbers::bigint[]');
CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.6, recall = 0.9999);
SELECT * FROM wrong('docs_near', 'numbers');
SELECT * FROM wrong('docs', 'numbers');
-- Values that are kept are not more than memory holds.
\set VERBOSITY sqlstate
SELECT count(*) FROM near_duplicate_pairs('docs', 0.6,
	agree => 'ARRAY(SELECT i + 0.5 FROM generate_series(1, 20000) AS i)');
\set VERBOSITY default
DROP FUNCTION wrong;
DROP TABLE docs, expected;
