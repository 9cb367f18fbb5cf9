-- A text is compared as a set of shingles: windows of characters or of words.

-- The examples of Mining of Massive Datasets, section 3.2. A set has no repeats.
SELECT shingles('abcdabd', 2);
SELECT shingles('abcab', 2);
SELECT shingles('it is trivial to show', 3, 'word');

-- By default: five characters. Options by name or by place.
SELECT shingles('shingle');
SELECT shingles('a rose is a rose', shingle_size => 2, unit => 'word');

-- Punctuation counts; case, white space and Unicode form do not, unless text is taken as it is.
SELECT shingles('Ab ab', 2), shingles('a  b.', 2), shingles(E'a\tb', 2) = shingles('a b', 2) AS tab_is_space;
SELECT shingles('Ab ab', 2, normalization => 'none'), shingles('a  b.', 2, normalization => 'none'),
	shingles(E'a\tb', 2, normalization => 'none') = shingles('a b', 2, normalization => 'none') AS tab_is_space;

-- A character is a Unicode scalar value, a word what Unicode's annex 29 says.
SELECT shingles('naïve 😀', 4);
SELECT shingles($$The fox can't jump 3.5 feet, he said.$$, 1, 'word');
SELECT shingles('ein Ölkännchen – für 2,50 €', 2, 'word'), shingles('漢字かな', 2), shingles('Привет, мир!', 1, 'word');

-- A letter with a combining accent is two characters where text is taken as it is, else the composed letter.
SELECT shingles(U&'e\0301', 1, normalization => 'none') AS decomposed, shingles(U&'e\0301', 1) AS composed;

-- Words are joined by one space, however many characters stood between them.
SELECT shingles(E'one,\n  two -- three', 2, 'word');

-- The repeats of a text add nothing.
SELECT shingles(repeat('a', 1000)), shingles(repeat('la ', 1000), 3, 'word');

-- A text shorter than a window is its only shingle; one without tokens has none.
SELECT shingles('abc') AS short, shingles('abcde') AS one_window, shingles('two words', 5, 'word') AS few,
       shingles('') AS empty, shingles(' .,;', 1, 'word') AS separators, shingles(NULL) AS "null";
SELECT shingles(E' \t\n\u00a0\u3000') AS white_space, shingles('.,;') AS punctuation, shingles(' a ') AS padded;

-- Sizes from 1 to 64.
SELECT shingles('abca', 1) AS least, cardinality(shingles(repeat('0123456789', 7), 64)) AS greatest;

-- Hashes come in the order of the shingles, and do not depend on where a shingle stands.
SELECT shingle_hashes('abcdabd', 2);
SELECT shingle_hashes('bd', 2) AS bd, (shingle_hashes('abcdabd', 2))[5] AS within;
SELECT shingle_hashes('') AS empty, shingle_hashes(NULL) AS "null";
SELECT cardinality(shingle_hashes(t, 3)) = cardinality(shingles(t, 3)) AS characters,
       cardinality(shingle_hashes(t, 3, 'word')) = cardinality(shingles(t, 3, 'word')) AS words
FROM unnest(ARRAY['', 'a', 'abcabcabc', 'the cat and the cat and the cat', repeat('xyz', 5000)]) AS t;

-- As many shingles as characters allow, of characters of any width, and of the longest size.
WITH texts AS (
	SELECT width, string_agg(chr(first + i), '' ORDER BY i) AS body, chr(first) AS other
	FROM (VALUES (1, 32), (2, x'400'::integer), (3, x'4E00'::integer), (4, x'1F300'::integer)) AS of (width, first),
		generate_series(1, 94) AS i
	GROUP BY width, first)
SELECT width, cardinality(shingles(body, 64, normalization => 'none')) AS shingles,
       cardinality(shingle_hashes(body, 64, normalization => 'none')) AS hashes,
       round(jaccard(body, other || body, 64, normalization => 'none')::numeric, 4) AS jaccard
FROM texts ORDER BY width;
WITH t AS (SELECT string_agg(chr(x'1F300'::integer + i), '' ORDER BY i) AS b FROM generate_series(1, 100) AS i)
SELECT cardinality(shingles(b, 64)), cardinality(shingle_hashes(b, 64)),
       round(jaccard(b, chr(x'1F300'::integer) || b, 64)::numeric, 4) AS jaccard
FROM t;

-- NULL for any argument is NULL for an answer.
SELECT shingles('text', NULL) AS size, shingles('text', 5, NULL) AS unit, shingle_hashes('text', NULL) AS hashes;

-- Options outside their range are refused.
SELECT shingles('text', 0);
SELECT shingles('text', 65);
SELECT shingles('text', -2147483648);
SELECT shingles('text', 5, 'line');
SELECT shingles('text', 5, 'WORD');
SELECT shingles('text', 5, '');
SELECT shingle_hashes('text', 65);
SELECT shingle_hashes('text', 5, 'byte');
\set VERBOSITY sqlstate
SELECT shingles('text', 0);
SELECT shingles('text', 5, 'line');
SELECT shingle_hashes('text', 65);
