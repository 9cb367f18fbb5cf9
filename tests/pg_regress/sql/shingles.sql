-- A text is compared as a set of shingles: windows of characters or of words.

-- The examples of Mining of Massive Datasets, section 3.2. A set has no repeats.
SELECT shingles('abcdabd', 2);
SELECT shingles('abcab', 2);
SELECT shingles('it is trivial to show', 3, 'word');

-- By default: five characters.
SELECT shingles('shingle');

-- A character is a Unicode scalar value, a word what Unicode's annex 29 says.
SELECT shingles('naïve 😀', 4);
SELECT shingles($$The fox can't jump 3.5 feet, he said.$$, 1, 'word');

-- A text shorter than a window is its only shingle; one without tokens has none.
SELECT shingles('abc') AS short, shingles('two words', 5, 'word') AS few,
       shingles('') AS empty, shingles(' .,;', 1, 'word') AS separators, shingles(NULL) AS "null";

-- Hashes come in the order of the shingles.
SELECT shingle_hashes('abcdabd', 2);
SELECT cardinality(shingle_hashes(t, 3)) = cardinality(shingles(t, 3)) AS same
FROM unnest(ARRAY['', 'a', 'abcabcabc', repeat('xyz', 5000)]) AS t;

-- Options outside their range are refused.
SELECT shingles('text', 0);
SELECT shingles('text', 65);
SELECT shingles('text', 5, 'line');
\set VERBOSITY sqlstate
SELECT shingles('text', 0);
