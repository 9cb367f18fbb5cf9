-- Jaccard similarity: the size of the intersection over the size of the union.

-- Three in the intersection, eight in the union.
SELECT jaccard(ARRAY[1, 2, 3, 4, 5], ARRAY[3, 4, 5, 6, 7, 8]);
SELECT jaccard(ARRAY['chair', 'desk', 'rug', 'keyboard', 'mouse'], ARRAY['chair', 'rug', 'keyboard']);

-- Repeats and nulls do not count; any type with an order will do.
SELECT jaccard(ARRAY[1, 1, 2, NULL], ARRAY[2, 2, 3]) AS integers,
       jaccard(ARRAY[1.0, 2.5], ARRAY[1, 2.50]) AS numerics,
       jaccard(ARRAY['2026-01-01'::date], ARRAY['2026-01-01'::date]) AS dates;

-- Two empty sets have no similarity; an empty one has none to another.
SELECT jaccard('{}'::integer[], '{}'::integer[]) IS NULL AS both, jaccard('{}', ARRAY[1]) AS one;

-- Of texts, exactly, by their shingles.
SELECT jaccard('abcdabd', 'abcab', 2) AS characters, jaccard('a b c d', 'a b c e', 2, 'word') AS words;
SELECT jaccard('', '') IS NULL AS both_empty, jaccard('', 'text') AS one_empty, jaccard('ab', 'ab') AS short;

-- Containment: how much of the first is in the second.
SELECT containment(ARRAY[1, 2, 3], ARRAY[2, 3, 4, 5]) AS there, containment(ARRAY[2, 3, 4, 5], ARRAY[1, 2, 3]) AS back;
SELECT containment('quick brown', 'the quick brown fox') AS quoted, containment('', 'text') IS NULL AS nothing;

-- The estimate of a pair from its signatures lies within a few standard errors.
WITH pair AS (
	SELECT string_agg(i::text, ' ') AS a, string_agg((i + 40)::text, ' ') AS b FROM generate_series(1, 400) AS i
)
SELECT abs(minhash_jaccard(minhash(a, 1024), minhash(b, 1024)) - jaccard(a, b)) < 4 * minhash_error(1024, jaccard(a, b)) AS near
FROM pair;
SELECT round(minhash_error(128, 0.9)::numeric, 5) AS at_128, round(minhash_error(512, 0.9)::numeric, 5) AS at_512;

-- What cannot be compared is an error.
SELECT minhash_jaccard(minhash('text', 64), minhash('text', 128));
SELECT minhash_jaccard(ARRAY[1, NULL], ARRAY[1, 2]);
SELECT minhash_jaccard('{}', '{}');
SELECT minhash_error(128, 1.5);
SELECT jaccard(ARRAY['{}'::json], ARRAY['{}'::json]);
