-- Jaccard similarity: the size of the intersection over the size of the union.

-- Three in the intersection, eight in the union.
SELECT jaccard(ARRAY[1, 2, 3, 4, 5], ARRAY[3, 4, 5, 6, 7, 8]);
SELECT jaccard(ARRAY['chair', 'desk', 'rug', 'keyboard', 'mouse'], ARRAY['chair', 'rug', 'keyboard']);

-- Repeats and nulls do not count; any type with an order will do.
SELECT jaccard(ARRAY[1, 1, 2, NULL], ARRAY[2, 2, 3]) AS integers,
       jaccard(ARRAY[1.0, 2.5], ARRAY[1, 2.50]) AS numerics,
       jaccard(ARRAY['2026-01-01'::date], ARRAY['2026-01-01'::date]) AS dates,
       jaccard(ARRAY['a', 'b']::varchar[], ARRAY['b', 'c', 'd']::varchar[]) AS varchars,
       jaccard(ARRAY['a ', 'b']::char(3)[], ARRAY['a', 'c']::char(2)[]) AS padded;
SELECT jaccard(ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']::uuid[],
	ARRAY['A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11']::uuid[]) AS uuids,
       jaccard(ARRAY['NaN', '-0']::float8[], ARRAY['NaN', '0']::float8[]) AS floats,
       jaccard(ARRAY['\x00'::bytea], ARRAY['\x0000'::bytea]) AS bytes,
       jaccard(ARRAY[true, false], ARRAY[true]) AS booleans,
       jaccard(ARRAY['[1,3)'::int4range], ARRAY['[1,2]'::int4range]) AS ranges,
       jaccard(ARRAY[ROW(1, 2), ROW(3, NULL::integer)], ARRAY[ROW(3, NULL::integer)]) AS "records";

-- A set is a set, whatever dimensions or bounds its array has.
SELECT jaccard(ARRAY[[1, 2], [3, 4]], ARRAY[4, 3, 2, 1]) AS dimensions,
	jaccard('[5:6]={1,2}'::integer[], ARRAY[2, 1]) AS bounds;

-- Two empty sets have no similarity; an empty one has none to another.
SELECT jaccard('{}'::integer[], '{}'::integer[]) IS NULL AS both, jaccard('{}', ARRAY[1]) AS one,
       jaccard(ARRAY[NULL]::integer[], ARRAY[NULL]::integer[]) IS NULL AS nulls,
           jaccard(NULL, ARRAY[1]) IS NULL AS "null";

-- Of texts, exactly, by their shingles.
SELECT jaccard('abcdabd', 'abcab', 2) AS characters, jaccard('a b c d', 'a b c e', 2, 'word') AS words;
SELECT jaccard('', '') IS NULL AS both_empty, jaccard('', 'text') AS one_empty, jaccard('ab', 'ab') AS short,
       jaccard(NULL, 'text') IS NULL AS "null";

-- It is what the shingles say, it is symmetric, and it is 1 for equal sets only.
WITH texts (t) AS (VALUES ('abcdabd'), ('abcab'), ('a'), ('a b c a b'), ('naïve café'), (repeat('ab', 500)))
SELECT bool_and(jaccard(a.t, b.t, 2) = jaccard(shingles(a.t, 2), shingles(b.t, 2))) AS defined,
       bool_and(jaccard(a.t, b.t) = jaccard(b.t, a.t)) AS symmetric,
       bool_and((jaccard(a.t, b.t, 2) = 1) = (shingles(a.t, 2) <@ shingles(b.t, 2)
           AND shingles(b.t, 2) <@ shingles(a.t, 2))) AS one_if_equal
FROM texts AS a, texts AS b;

-- Containment: how much of the first is in the second.
SELECT containment(ARRAY[1, 2, 3], ARRAY[2, 3, 4, 5]) AS there, containment(ARRAY[2, 3, 4, 5], ARRAY[1, 2, 3]) AS back;
SELECT containment('quick brown', 'the quick brown fox') AS quoted, containment('', 'text') IS NULL AS nothing,
       containment('text', '') AS in_nothing, containment('{}'::text[], ARRAY['a']) IS NULL AS empty,
       containment(ARRAY['a', NULL, 'a'], ARRAY['a']) AS repeats;
SELECT containment('one two three', 'zero one two three four', 2, 'word') AS words;

-- The estimate of a pair from its signatures lies within a few standard errors.
WITH pair AS (
	SELECT string_agg(i::text, ' ') AS a, string_agg((i + 40)::text, ' ') AS b FROM generate_series(1, 400) AS i
)
SELECT scheme, abs(minhash_jaccard(minhash(a, 1024, scheme => scheme),
	minhash(b, 1024, scheme => scheme)) - jaccard(a, b))
	< 4 * minhash_error(1024, jaccard(a, b)) AS near
FROM pair, unnest(ARRAY['fss', 'permutations']) AS scheme;
SELECT minhash_jaccard(ARRAY[1, 2, 3, 4], ARRAY[1, 2, 3, 5]) AS "three of four",
	minhash_jaccard(minhash('a'), minhash('a')) AS same,
       minhash_jaccard(minhash(''), minhash('a')) IS NULL AS "no shingle";

-- Its standard error falls with the square root of num_perm.
SELECT round(minhash_error(128, 0.9)::numeric, 5) AS at_128, round(minhash_error(512, 0.9)::numeric, 5) AS at_512,
       minhash_error(128, 1) AS of_copies, minhash_error(128, 0) AS of_strangers;

-- What cannot be compared is an error.
SELECT minhash_jaccard(minhash('text', 64), minhash('text', 128));
SELECT minhash_jaccard(ARRAY[1, NULL], ARRAY[1, 2]);
SELECT minhash_jaccard(ARRAY[[1, 2], [3, 4]], ARRAY[1, 2]);
SELECT minhash_jaccard('{}', '{}');
SELECT minhash_error(128, 1.5);
SELECT minhash_error(128, 'NaN');
SELECT minhash_error(0, 0.5);
SELECT jaccard(ARRAY['{}'::json], ARRAY['{}'::json]);
\set VERBOSITY terse
SELECT jaccard(ARRAY[1], ARRAY['a']);
SELECT jaccard(ARRAY[1], ARRAY[1.5]);
\set VERBOSITY default
SELECT jaccard('a', 'b', 0);
SELECT jaccard('a', 'b', unit => 'line');
SELECT containment('a', 'b', 65);
\set VERBOSITY sqlstate
SELECT minhash_jaccard(minhash('text', 64), minhash('text', 128));
SELECT minhash_jaccard(ARRAY[1, NULL], ARRAY[1, 2]);
SELECT minhash_jaccard(ARRAY[[1, 2], [3, 4]], ARRAY[1, 2]);
SELECT minhash_error(128, 1.5);
SELECT jaccard(ARRAY['{}'::json], ARRAY['{}'::json]);
SELECT containment('a', 'b', 65);
