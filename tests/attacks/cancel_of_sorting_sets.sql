-- Sets of millions of elements, which are sorted for seconds, under a timeout of 50 ms.
-- Must not: the statement go on for more than a moment.

-- as attacker:
CREATE TABLE evil.sets AS SELECT array_agg(md5(i::text) ORDER BY random()) AS a,
	array_agg(md5((i + 1)::text) ORDER BY random()) AS b
	FROM generate_series(1, 1000000) i;
SET statement_timeout = '50ms';
-- refused within 3 s: 57014
SELECT jaccard(a, b) FROM evil.sets;
-- A server without ICU does not have the collation (42704).
-- refused within 3 s: 57014 42704
SELECT jaccard(a COLLATE "en-x-icu", b) FROM evil.sets;
-- refused within 3 s: 57014
SELECT containment(a, b) FROM evil.sets;
-- refused within 3 s: 57014
SELECT minhash(a, 4096, seed => i) FROM evil.sets, generate_series(1, 1000) i;
-- refused within 3 s: 57014
SELECT weighted_jaccard(a, array_fill(1::float8, ARRAY[1000000]), b, array_fill(1::float8, ARRAY[1000000]))
	FROM evil.sets;
-- refused within 3 s: 57014
SELECT minhash_weighted(a, array_fill(1::float8, ARRAY[1000000]), seed => i) FROM evil.sets, generate_series(1, 1000) i;
-- refused within 3 s: 57014
SELECT jaccard(x, y) FROM (SELECT array_agg(i ORDER BY random()) x, array_agg(i + 1 ORDER BY random()) y
	FROM generate_series(1, 3000000) i) s;
