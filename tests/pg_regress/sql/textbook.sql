-- The worked examples of Mining of Massive Datasets, section 3.3: rows 0 to 4 stand for a to e.

CREATE TEMP TABLE sets (name text, members text[], rows integer[]);
INSERT INTO sets VALUES ('S1', '{a,d}', '{0,3}'), ('S2', '{c}', '{2}'), ('S3', '{b,d,e}', '{1,3,4}'),
	('S4', '{a,c,d}', '{0,2,3}');

-- h1(x) = x + 1 mod 5, h2(x) = 3x + 1 mod 5
SELECT name, minhash_with(rows, ARRAY[1, 3], ARRAY[1, 1], 5) FROM sets ORDER BY name;

-- All 120 orders of the rows: the share of equal minima is the Jaccard similarity, exactly.
WITH RECURSIVE orders AS (
	SELECT ARRAY[]::text[] AS o
	UNION ALL
	SELECT o || x FROM orders, unnest('{a,b,c,d,e}'::text[]) AS x WHERE x <> ALL (o)
), minima AS (
	SELECT o, name, (SELECT x FROM unnest(o) WITH ORDINALITY AS u(x, place) WHERE x = ANY (members) ORDER BY place
		LIMIT 1) AS least
	FROM orders, sets WHERE cardinality(o) = 5
)
SELECT a.name AS a, b.name AS b, avg((x.least = y.least)::integer)::float8
	= jaccard(a.members, b.members) AS equal_shares
FROM sets a JOIN sets b ON a.name < b.name JOIN minima x ON x.name = a.name
JOIN minima y ON y.name = b.name AND x.o = y.o
GROUP BY a.name, b.name, a.members, b.members ORDER BY a, b;

-- The definition, for any coefficients and elements, and a modulus that is not prime.
SELECT count(*) AS wrong
FROM generate_series(1, 200) AS i,
	LATERAL (SELECT array_agg(hashint8extended(x, i) >> 8) AS s FROM generate_series(1, 1 + i % 7) AS x) AS set,
	LATERAL (SELECT hashint8extended(i, 1) AS a, hashint8extended(i, 2) AS b,
		1 + (hashint8extended(i, 3) & 2147483646) AS p) AS c
WHERE minhash_with(s, ARRAY[a], ARRAY[b], p) <> ARRAY[(SELECT min(mod(mod(a::numeric * x + b, p) + p, p))
	FROM unnest(s) AS x)::integer];

-- Order, repeats and nulls do not matter; the empty set has no signature.
SELECT minhash_with(ARRAY[3, 0], ARRAY[1, 3], ARRAY[1, 1], 5)
	= minhash_with(ARRAY[0, NULL, 3, 0], ARRAY[1, 3], ARRAY[1, 1], 5) AS same,
       minhash_with('{}', ARRAY[1], ARRAY[1], 5) IS NULL AS "empty",
           minhash_with('{NULL}', ARRAY[1], ARRAY[1], 5) IS NULL AS "nulls",
       minhash_with(NULL, ARRAY[1], ARRAY[1], 5) IS NULL AS "null",
           minhash_with(ARRAY[-1], ARRAY[1], ARRAY[0], 5) AS negative;

-- Signatures like any others: estimates and bands.
SELECT minhash_jaccard(minhash_with(ARRAY[0, 3], ARRAY[1, 3], ARRAY[1, 1], 5),
	minhash_with(ARRAY[0, 2, 3], ARRAY[1, 3], ARRAY[1, 1], 5)) AS estimate,
       band_hashes(minhash_with(ARRAY[0, 3], ARRAY[1, 3], ARRAY[1, 1], 5), 1, 2)
           = band_hashes(ARRAY[1, 0], 1, 2) AS same_bucket;

-- Limits
SELECT minhash_with(ARRAY[2147483646], ARRAY[2147483646], ARRAY[2147483646], 2147483647) AS greatest,
       minhash_with(ARRAY[7], ARRAY[9223372036854775807], ARRAY[-9223372036854775808], 1) AS least,
       cardinality(minhash_with(ARRAY[1], array_fill(1::bigint, ARRAY[4096]), array_fill(0::bigint, ARRAY[4096]), 5))
           AS longest;
\set SHOW_CONTEXT never
DO $$
DECLARE
	call text;
	state text;
	message text;
	hint text;
BEGIN
	FOREACH call IN ARRAY ARRAY[
		'minhash_with(ARRAY[1], ARRAY[1, 2], ARRAY[1], 5)',
		'minhash_with(ARRAY[1], ''{}'', ''{}'', 5)',
		'minhash_with(ARRAY[1], array_fill(1::bigint, ARRAY[4097]), array_fill(0::bigint, ARRAY[4097]), 5)',
		'minhash_with(ARRAY[1], ARRAY[1], ARRAY[1], 0)',
		'minhash_with(ARRAY[1], ARRAY[1], ARRAY[1], 2147483648)',
		'minhash_with(ARRAY[1], ARRAY[NULL::bigint], ARRAY[1], 5)',
		'minhash_with(ARRAY[1], ARRAY[[1, 2]], ARRAY[[1, 2]], 5)'
	] LOOP
		BEGIN
			EXECUTE 'SELECT ' || call;
			RAISE WARNING 'no error: %', call;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
			RAISE INFO '% % (%)', state, message, hint USING ERRCODE = '00000';
		END;
	END LOOP;
END
$$;
