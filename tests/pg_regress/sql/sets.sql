-- A set need not be a text: baskets of goods, followers, k-mers, one element in each row.

CREATE TABLE baskets (customer integer, item text);
INSERT INTO baskets VALUES (1, 'bread'), (1, 'milk'), (1, 'beer'), (2, 'milk'), (2, 'bread'), (2, 'beer'), (2, 'milk'),
	(3, 'beer'), (3, 'crisps'), (3, NULL), (4, NULL);
SELECT customer, minhash_agg(item, 4) FROM baskets GROUP BY customer ORDER BY customer;
SELECT a.customer, b.customer, minhash_jaccard(a.signature, b.signature) AS similarity
FROM (SELECT customer, minhash_agg(item) AS signature FROM baskets GROUP BY customer) AS a,
     (SELECT customer, minhash_agg(item) AS signature FROM baskets GROUP BY customer) AS b
WHERE a.customer < b.customer AND minhash_jaccard(a.signature, b.signature) > 0.9;

-- The aggregate of rows is the signature of their array, with the same options in the same order.
SELECT minhash_agg(item) = minhash(array_agg(item)) AS defaults,
       minhash_agg(item, 16) = minhash(array_agg(item), 16) AS num_perm,
       minhash_agg(item, 16, 'permutations', 0) = minhash(array_agg(item), 16, 'permutations') AS scheme,
       minhash_agg(item, 16, 'permutations', 7) = minhash(array_agg(item), 16, 'permutations', 7) AS seed
FROM baskets;
SELECT scheme, minhash_agg(i::text, 16, scheme, 5) = minhash(array_agg(i::text), 16, scheme, 5) AS same
FROM generate_series(1, 3000) AS i, unnest(ARRAY['fss', 'permutations', 'datasketch_affine32', 'datasketch_legacy',
	'datasketch_affine32_xxh32', 'datasketch_affine32_xxh3', 'datasketch_legacy_xxh32', 'datasketch_legacy_xxh3'])
		AS scheme
GROUP BY scheme ORDER BY scheme COLLATE "C";
SELECT count(*) AS different
FROM (SELECT n, minhash_agg(i::text, 128) AS rows, minhash(array_agg(i::text), 128) AS elements
      FROM unnest(ARRAY[1, 2, 100, 1023, 1024, 1025, 2047, 2048, 20000]) AS n, generate_series(1, n) AS i GROUP BY n)
          AS sizes
WHERE rows IS DISTINCT FROM elements;

-- An element is a string of bytes: a text in UTF-8, a bytea as it is, a number in decimal, a uuid as
-- it is written. So a number and its text are one element, and Python's update(b'42') is the same.
SELECT minhash_agg(v) = minhash(ARRAY['-42', '0', '9223372036854775807', '-9223372036854775808']) AS bigint
FROM unnest(ARRAY[-42, 0, 9223372036854775807, -9223372036854775808]) AS v;
SELECT minhash_agg(v::integer) = minhash_agg(v) AS integer, minhash_agg(v::smallint) = minhash_agg(v) AS smallint,
       minhash_agg(v::numeric::text) = minhash_agg(v) AS numeric
FROM unnest(ARRAY[-42, 0, 7::bigint]) AS v;
SELECT minhash_agg(v) = minhash(array_agg(v::text)) AS uuid
FROM unnest(ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12']::uuid[]) AS v;
SELECT minhash_agg(v) = minhash(ARRAY['bread', 'naïve']) AS bytea
FROM unnest(ARRAY['bread', convert_to('naïve', 'UTF8')]) AS v;
SELECT minhash_agg(v::varchar(9)) = minhash(array_agg(v)) AS varchar FROM unnest(ARRAY['bread', 'milk']) AS v;
CREATE DOMAIN barcode AS bigint CHECK (VALUE > 0);
SELECT minhash_agg(v::barcode) = minhash(ARRAY['12', '13']) AS domain FROM unnest(ARRAY[12, 13]) AS v;
DROP DOMAIN barcode;
SELECT minhash_agg(v) FROM unnest(ARRAY[1.5, 2.5]) AS v;
SELECT minhash_agg(v) FROM unnest(ARRAY['bread', 'milk']::name[]) AS v;
\set VERBOSITY terse
SELECT minhash_agg(ARRAY[v]) FROM unnest(ARRAY['bread', 'milk']) AS v;
\set VERBOSITY default

-- No elements, no signature.
SELECT minhash_agg(item) IS NULL AS no_rows FROM baskets WHERE false;
SELECT minhash_agg(item) IS NULL AS nulls FROM baskets WHERE item IS NULL;

-- FILTER, DISTINCT, ORDER BY and windows as with every aggregate.
SELECT minhash_agg(item, 8) FILTER (WHERE customer = 1) = minhash(ARRAY['bread', 'milk', 'beer'], 8) AS filter,
       minhash_agg(DISTINCT item) = minhash_agg(item) AS "distinct",
       minhash_agg(item ORDER BY customer DESC, item) = minhash_agg(item) AS "order",
       minhash_agg(item) FILTER (WHERE false) IS NULL AS nothing
FROM baskets;
SELECT count(*) AS rows, count(*) FILTER (WHERE running = minhash(items, 8)) AS running_right,
       count(*) FILTER (WHERE moving IS NOT DISTINCT FROM minhash(three, 8)) AS moving_right
FROM (SELECT minhash_agg(i, 8) OVER running AS running, array_agg(i::text) OVER running AS items,
             minhash_agg(i, 8) OVER moving AS moving, array_agg(i::text) OVER moving AS three
      FROM generate_series(1, 1500) AS i
      WINDOW running AS (ORDER BY i), moving AS (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)) AS w;
SELECT customer, item, minhash_jaccard(minhash_agg(item) OVER (PARTITION BY customer), minhash_agg(item) OVER ())
	> 0.5 AS typical
FROM baskets WHERE item IS NOT NULL ORDER BY customer, item;
SELECT grouping(customer) AS total, count(minhash_agg) FROM
	(SELECT customer, minhash_agg(item, 4) FROM baskets GROUP BY ROLLUP (customer)) AS r GROUP BY ROLLUP (customer)
	HAVING grouping(customer) = 1;

-- Options belong to the group, not to the row.
SELECT minhash_agg(item, customer) FROM baskets WHERE customer < 3;
SELECT minhash_agg(item, 4, CASE customer WHEN 1 THEN 'fss' ELSE 'permutations' END, 0) FROM baskets WHERE customer < 3;
SELECT minhash_agg(item, 4, 'fss', customer) FROM baskets WHERE customer < 3;
SELECT customer, minhash_agg(item, 4, 'fss', customer) = minhash(array_agg(item), 4, 'fss', customer) AS same
FROM baskets WHERE item IS NOT NULL GROUP BY customer ORDER BY customer;
SELECT minhash_agg(item, 0) FROM baskets;
SELECT minhash_agg(item, 4097) FROM baskets;
SELECT minhash_agg(item, NULL) FROM baskets;
SELECT minhash_agg(item, 4, NULL, 0) FROM baskets;
SELECT minhash_agg(item, 4, 'fss', NULL) FROM baskets;
SELECT minhash_agg(item, 4, 'sha1', 0) FROM baskets;
SELECT minhash_agg(item, 4, 'datasketch_affine32', -1) FROM baskets;
\set VERBOSITY sqlstate
SELECT minhash_agg(item, customer) FROM baskets WHERE customer < 3;
SELECT minhash_agg(item, NULL) FROM baskets;
\set VERBOSITY default

-- A failed or rolled back transaction leaves nothing behind.
BEGIN;
SAVEPOINT before;
SELECT minhash_agg(i, 64, 'fss', i / 5000) FROM generate_series(1, 9999) AS i;
ROLLBACK TO before;
SELECT minhash_agg(item, 4) FROM baskets;
INSERT INTO baskets VALUES (5, 'wine');
SELECT cardinality(minhash_agg(item, 4)) FROM baskets;
ROLLBACK;
SELECT minhash_agg(item, 4) FROM baskets;
DO $$
BEGIN
	PERFORM minhash_agg(i, 64, 'fss', i / 5000) FROM generate_series(1, 9999) AS i;
EXCEPTION WHEN invalid_parameter_value THEN RAISE NOTICE 'caught: %', SQLERRM;
END $$;
DROP TABLE baskets;

-- Parallel: each worker has a set of its own, and they are united in the end. Groups are hashed in
-- memory that PostgreSQL counts: with little of it, they spill.
CREATE TABLE followers (account integer, follower bigint, device uuid);
INSERT INTO followers SELECT i % 7, i / 3, md5(i::text)::uuid FROM generate_series(1, 30000) AS i;
ANALYZE followers;
CREATE TEMP TABLE serial AS
	SELECT account, minhash_agg(follower, 32) AS followers, minhash_agg(device, 32, 'permutations', 3) AS devices,
	       minhash_union_agg(minhash(ARRAY[follower::text], 32)) AS united
	FROM followers GROUP BY account;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT minhash_agg(follower, 32), minhash_union_agg(minhash(ARRAY[follower::text], 32))
FROM followers;
CREATE TEMP TABLE parallel AS
	SELECT account, minhash_agg(follower, 32) AS followers, minhash_agg(device, 32, 'permutations', 3) AS devices,
	       minhash_union_agg(minhash(ARRAY[follower::text], 32)) AS united
	FROM followers GROUP BY account;
SELECT count(*) AS groups, count(*) FILTER (WHERE s = p) AS same,
	count(*) FILTER (WHERE s.followers = s.united) AS united
FROM serial AS s JOIN parallel AS p USING (account);
\set VERBOSITY terse
SELECT minhash_agg(follower, 16, 'fss', follower / 9000) FROM followers;
\set VERBOSITY default
SELECT minhash_agg(follower) IS NULL AS nothing FROM followers WHERE follower < 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET work_mem = '64kB';
SET enable_sort = off;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) AS groups, count(DISTINCT signature) AS different FROM
	(SELECT minhash_agg(device, 32) AS signature FROM followers GROUP BY follower) AS many;
DO $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) SELECT minhash_agg(device, 32) FROM followers GROUP BY follower' INTO plan;
	RAISE NOTICE '% in several batches: %', plan #>> '{0,Plan,Node Type}',
		(plan #>> '{0,Plan,HashAgg Batches}')::integer > 1;
END $$;
RESET work_mem;
RESET enable_sort;
RESET max_parallel_workers_per_gather;
DROP TABLE followers, serial, parallel;

-- minhash_hashes() takes hashes, not elements: those of shingle_hashes(), or of anything else that
-- spreads over 64 bits (of 32, with the schemes of datasketch).
SELECT minhash_hashes(shingle_hashes(body)) = minhash(body) AS text,
	minhash_hashes(shingle_hashes(body, 2, 'word'), 16, 'permutations', 7)
     = minhash(body, 16, 2, 'word', 'permutations', 7) AS options
FROM (VALUES ('the quick brown fox jumps over the lazy dog')) AS v (body);
SELECT minhash_hashes(hashes => ARRAY[hashtextextended('bread', 0), NULL, hashtextextended('milk', 0)], num_perm => 4);
SELECT minhash_hashes('{}') IS NULL AS empty, minhash_hashes(ARRAY[NULL]::bigint[]) IS NULL AS nulls,
	minhash_hashes(NULL) IS NULL AS "null";
SELECT minhash_hashes(ARRAY[1, 2], 0);
-- Integers, uuids and byte strings are elements like texts: hashed by their text form, byte strings by their bytes.
SELECT minhash(array_agg(i), 16) = minhash_agg(i, 16) AS integers,
	minhash(array_agg(i::bigint), 16) = minhash_agg(i, 16) AS bigints,
	minhash(array_agg(i::smallint), 16) = minhash(array_agg(i::text), 16) AS texts FROM generate_series(1, 100) AS i;
SELECT cardinality BETWEEN 800 AND 1200 AS thousand
	FROM minhash_cardinality((SELECT minhash(array_agg(i)) FROM generate_series(1, 1000) AS i));
SELECT minhash(ARRAY['00112233-4455-6677-8899-AABBCCDDEEFF'::uuid])
	= minhash(ARRAY['00112233-4455-6677-8899-aabbccddeeff']) AS uuid,
	minhash(ARRAY['naïve'::varchar]) = minhash(ARRAY[convert_to('naïve', 'UTF8')]) AS bytes;
SELECT minhash(ARRAY[now()]);

-- The signature of a union is known without its elements, whatever the scheme.
CREATE TEMP TABLE parts AS
	SELECT scheme, num_perm, minhash(array_agg(i::text), num_perm, scheme) AS signature,
	       minhash(array_agg(i::text) FILTER (WHERE i < n * 0.7), num_perm, scheme) AS a,
	       minhash(array_agg(i::text) FILTER (WHERE i > n * 0.3), num_perm, scheme) AS b
	FROM unnest(ARRAY[2, 30, 3000]) AS n, generate_series(1, n) AS i, unnest(ARRAY[8, 128]) AS num_perm,
	     unnest(ARRAY['fss', 'permutations', 'datasketch_affine32', 'datasketch_legacy',
		'datasketch_affine32_xxh32', 'datasketch_affine32_xxh3', 'datasketch_legacy_xxh32', 'datasketch_legacy_xxh3'])
			AS scheme
	GROUP BY n, scheme, num_perm;
SELECT scheme, count(*) AS sets, count(*) FILTER (WHERE minhash_union(a, b, scheme) = signature) AS united,
       count(*) FILTER (WHERE minhash_union(b, a, scheme) = signature AND minhash_union(a, a, scheme) = a)
           AS commutative_idempotent
FROM parts GROUP BY scheme ORDER BY scheme COLLATE "C";
SELECT scheme, bool_and(rows = signature) AS aggregate
FROM (SELECT scheme, signature, minhash_union_agg(part, scheme) AS rows FROM parts, unnest(ARRAY[0, 1, 2]) AS i,
      LATERAL (SELECT CASE i WHEN 1 THEN a WHEN 2 THEN b END) AS u (part) GROUP BY scheme, signature) AS g
GROUP BY scheme ORDER BY scheme COLLATE "C";
DROP TABLE parts;
SELECT minhash_union_agg(s) IS NULL AS nulls, minhash_union_agg(s, 'permutations') IS NULL AS nulls_too
FROM unnest(ARRAY[NULL, NULL]::text[]) AS n, minhash(n) AS s;
-- A set without a signature adds nothing.
SELECT minhash_union(minhash('a text', 8), NULL) = minhash('a text', 8) AS "right",
	minhash_union(NULL, minhash('a text', 8)) = minhash('a text', 8) AS "left",
	minhash_union(NULL, NULL) IS NULL AS both, minhash_union(minhash('a text', 8), NULL, NULL) IS NULL AS scheme;

-- Signatures that do not belong together, where it can be seen.
SELECT minhash_union(minhash('a text', 8), minhash('a text', 16));
SELECT minhash_union('{}', '{}');
SELECT minhash_union(minhash('a', 16), minhash('a', 16, scheme => 'permutations'));
SELECT minhash_union(minhash('a', 16), minhash('b', 16), 'FSS');
SELECT minhash_union_agg(minhash('a text', n)) FROM unnest(ARRAY[8, 16]) AS n;
SELECT minhash_union_agg(minhash('a text', 8), scheme) FROM unnest(ARRAY['fss', 'permutations']) AS scheme;
SELECT minhash_union_agg('{}'::integer[]);
SELECT minhash_union_agg(minhash('a text', 8), NULL);
SELECT minhash_union_agg(ARRAY[[1, 2], [3, 4]]);
SELECT minhash_union_agg(ARRAY[1, NULL]);

-- How many elements a set has: the error is the standard error of the estimate.
SELECT round(cardinality) AS cardinality, round(error) AS error
FROM (SELECT minhash_agg(i, 128) FROM generate_series(1, 1000) AS i) AS s (signature), minhash_cardinality(signature);
SELECT scheme, n, round(cardinality) AS cardinality, round(error) AS error,
	abs(cardinality - n) < 3 * error AS within_3_errors
FROM unnest(ARRAY['fss', 'permutations', 'datasketch_affine32']) AS scheme, unnest(ARRAY[10, 1000, 50000]) AS n,
     LATERAL (SELECT minhash_agg(i, 1024, scheme, 0) FROM generate_series(1, n) AS i) AS s (signature),
     minhash_cardinality(signature, scheme)
ORDER BY scheme COLLATE "C", n;
SELECT minhash_cardinality(minhash('text', 2));
SELECT minhash_cardinality('{}');
SELECT minhash_cardinality(array_fill(0, ARRAY[128]));
SELECT minhash_cardinality(minhash('a', 128, scheme => 'permutations'));
SELECT minhash_cardinality(NULL);

-- Containment, both ways: 500 of 1000 in 2500 of which 500 are shared.
SELECT round(containment_a::numeric, 1) AS of_a, round(containment_b::numeric, 1) AS of_b
FROM (SELECT minhash_agg(i, 1024) FROM generate_series(1, 1000) AS i) AS a (signature),
     (SELECT minhash_agg(i, 1024) FROM generate_series(501, 3000) AS i) AS b (signature),
     minhash_containment(a.signature, b.signature);
SELECT containment(array_agg(i) FILTER (WHERE i <= 1000), array_agg(i) FILTER (WHERE i > 500)) AS exact_a,
       containment(array_agg(i) FILTER (WHERE i > 500), array_agg(i) FILTER (WHERE i <= 1000)) AS exact_b
FROM generate_series(1, 3000) AS i;
SELECT minhash_containment(s, s), minhash_containment(s, t)
FROM minhash('one text of some words') AS s, minhash('another that is quite different') AS t;
SELECT minhash_containment(minhash('text', 8), minhash('text', 16));

-- The parts of the aggregates are of no use by themselves: no SQL value is of type internal.
SELECT count(*) AS callable FROM pg_proc WHERE proname LIKE 'minlsh\_set\_%' AND prokind = 'f'
	AND NOT 'internal'::regtype = ANY (proargtypes);
