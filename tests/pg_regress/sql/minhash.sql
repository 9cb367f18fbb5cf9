-- A signature is a short array that estimates the similarity of sets.

SELECT minhash('the quick brown fox jumps over the lazy dog', 16);
SELECT minhash('the quick brown fox jumps over the lazy dog', 16, scheme => 'permutations');
SELECT cardinality(minhash('128 slots by default'));

-- Options by name.
SELECT minhash('one two three four', num_perm => 4, shingle_size => 2, unit => 'word');
SELECT minhash('one two three four', num_perm => 4, seed => 7)
    <> minhash('one two three four', num_perm => 4) AS a_seed_changes_it;

-- A text without shingles has no signature, and is nobody's duplicate.
SELECT minhash('') IS NULL AS empty, minhash(' .,', unit => 'word') IS NULL AS separators,
       minhash(NULL::text) IS NULL AS "null", minhash('x') IS NULL AS one_character;

-- Sets that are ready made: order, repeats and nulls do not matter.
SELECT minhash(ARRAY['bread', 'milk', 'beer'], 4);
SELECT minhash(ARRAY['beer', NULL, 'milk', 'bread', 'milk'], 4);
SELECT minhash('{}'::text[]) IS NULL AS empty, minhash(ARRAY[NULL]::text[]) IS NULL AS nulls;

-- A text's signature is that of its shingles.
SELECT minhash('abcdabd', 8, 2) = minhash(shingles('abcdabd', 2), 8) AS same;

-- The textbook's permutations do not depend on how many there are: the first slots agree.
SELECT (minhash('any text', 64, scheme => 'permutations'))[1:16]
     = minhash('any text', 16, scheme => 'permutations') AS prefix;

-- IMMUTABLE in truth: generated columns and expression indexes.
CREATE TABLE minhash_docs (
	id integer PRIMARY KEY,
	body text,
	signature integer[] GENERATED ALWAYS AS (minhash(body, 16)) STORED
);
CREATE INDEX ON minhash_docs ((minhash(body, 16)));
INSERT INTO minhash_docs VALUES (1, 'a text'), (2, NULL), (3, '');
SELECT id, signature = minhash(body, 16) AS same FROM minhash_docs ORDER BY id;

-- PARALLEL SAFE in truth: workers compute the same signatures.
INSERT INTO minhash_docs SELECT i, 'document ' || i FROM generate_series(10, 5000) AS i;
CREATE TEMP TABLE serial AS SELECT id, minhash(body, 64) AS signature FROM minhash_docs;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) AS different
FROM (SELECT id, minhash(body, 64) AS signature FROM minhash_docs OFFSET 0) AS p
JOIN serial AS s USING (id)
WHERE p.signature IS DISTINCT FROM s.signature;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE minhash_docs, serial;

-- Options outside their range are refused.
SELECT minhash('text', 0);
SELECT minhash('text', 4097);
SELECT minhash('text', scheme => 'sha1');
SELECT minhash('text', unit => 'paragraph');
\set VERBOSITY sqlstate
SELECT minhash('text', 0);
