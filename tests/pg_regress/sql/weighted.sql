-- Elements that count more or less: words by their frequency, goods by their price. The weighted
-- Jaccard similarity is the sum of each element's lesser weight over that of its greater.

SELECT weighted_jaccard(ARRAY['bread', 'milk'], ARRAY[2, 1], ARRAY['milk', 'bread', 'wine'], ARRAY[3, 0.5, 1])
	AS "1.5 of 6";
SELECT weighted_jaccard(a, ARRAY[1, 1, 1], b, ARRAY[1, 1]) AS weighted, jaccard(a, b) AS plain
FROM (VALUES (ARRAY['bread', 'milk', 'beer'], ARRAY['milk', 'wine'])) AS v (a, b);
-- Scale matters: twice as much of everything is another set.
SELECT weighted_jaccard(ARRAY['a', 'b'], ARRAY[1, 2], ARRAY['a', 'b'], ARRAY[2, 4]);
-- Weights of repeats add up; an element of weight 0 is not there; order does not matter; nulls do not count.
SELECT weighted_jaccard(ARRAY['a', 'b', 'a'], ARRAY[1, 2, 3], ARRAY['b', 'c', 'a', NULL], ARRAY[2, 0, 4, 9]) AS same;
SELECT weighted_jaccard('{}', '{}', '{}', '{}') IS NULL AS both_empty,
	weighted_jaccard('{}', '{}', '{a}', '{1}') AS one_empty,
       weighted_jaccard('{a}', '{0}', '{b}', '{0}') IS NULL AS weightless,
           weighted_jaccard(NULL, '{}', '{}', '{}') IS NULL AS "null";

-- A weighted signature is compared like any other.
SELECT minhash_weighted(ARRAY['bread', 'milk'], ARRAY[2, 1], 8);
SELECT minhash_jaccard(minhash_weighted(a, wa), minhash_weighted(b, wb)) AS estimate,
	weighted_jaccard(a, wa, b, wb) AS exact
FROM (VALUES (ARRAY['bread', 'milk'], ARRAY[2::float8, 1], ARRAY['milk', 'bread'], ARRAY[1::float8, 2]))
	AS v (a, wa, b, wb);
SELECT count(*) AS pairs, count(*) FILTER (WHERE abs(estimate - exact) < 4 * minhash_error(512, exact))
	AS within_4_errors
FROM generate_series(1, 40) AS pair,
     LATERAL (SELECT array_agg(i::text), array_agg((1 + i * i * pair % 17)::float8),
         array_agg((1 + i * (i + pair) % 17)::float8) FROM generate_series(1, 60) AS i) AS s (elements, a, b),
     minhash_jaccard(minhash_weighted(elements, a, 512), minhash_weighted(elements, b, 512)) AS estimate,
         weighted_jaccard(elements, a, elements, b) AS exact;

-- Fewer slots are a prefix of more. The seed makes others.
SELECT (minhash_weighted(e, w, 64))[1:16] = minhash_weighted(e, w, 16) AS prefix,
	cardinality(minhash_weighted(e, w)) AS default_slots,
       minhash_weighted(e, w, 16) = minhash_weighted(e, w, 16, 0) AS default_seed,
           minhash_weighted(e, w, 16) = minhash_weighted(e, w, 16, 1) AS seeded,
       minhash_weighted(elements => e, weights => w, num_perm => 16, seed => 0) = minhash_weighted(e, w, 16) AS named
FROM (VALUES (ARRAY['bread', 'milk'], ARRAY[2::float8, 1])) AS v (e, w);
SELECT minhash_weighted('{a,b,a}', '{1,2,3}', 32) = minhash_weighted('{b,a}', '{2,4}', 32) AS same,
       minhash_weighted('{}', '{}') IS NULL AS empty, minhash_weighted('{a}', '{0}') IS NULL AS weightless,
           minhash_weighted('{a}', NULL) IS NULL AS "null";
-- Known answers: stored signatures stay comparable.
SELECT minhash_weighted('{bread,milk,beer}', '{0.5,3,12345.678}', 6) AS signature,
	minhash_weighted('{bread,milk,beer}', '{0.5,3,12345.678}', 3, 42) AS seeded;

-- It takes num_perm times as long as the set has elements, and can be cancelled.
CREATE TEMP TABLE many AS SELECT array_agg(i::text) AS elements, array_agg(1::float8) AS weights
FROM generate_series(1, 50000) AS i;
SET statement_timeout = '100ms';
SELECT minhash_weighted(elements, weights, 4096) FROM many;
RESET statement_timeout;
DROP TABLE many;

-- It tells similarity only: no union, no number of elements.
SELECT minhash_cardinality(minhash_weighted('{bread,milk,beer}', '{0.5,3,12}', 64));
SELECT minhash_union(minhash_weighted('{bread,beer}', '{1,2}', 64), minhash_weighted('{milk}', '{1}', 64));

-- Weights by rareness (IDF): a word that every document has says nothing, and gets the weight 0.
CREATE TABLE notes (id integer PRIMARY KEY, body text);
INSERT INTO notes VALUES (1, 'the cat sat on the mat'), (2, 'the cat sat on the sofa'),
	(3, 'the stock fell on friday'), (4, 'the stock rose on monday');
CREATE VIEW weighted_notes AS
	WITH words AS (SELECT id, word, count(*) AS frequency FROM notes, regexp_split_to_table(lower(body), '\W+') AS word
		GROUP BY id, word),
	     idf AS (SELECT word, ln((SELECT count(*) FROM notes)::float8 / count(*)) AS idf FROM words GROUP BY word)
	SELECT id, array_agg(word ORDER BY word COLLATE "C") AS elements,
		array_agg(frequency * idf ORDER BY word COLLATE "C") AS weights
	FROM words JOIN idf USING (word) GROUP BY id;
SELECT id, elements, array_agg(round(weight::numeric, 2) ORDER BY i) AS weights
FROM weighted_notes, unnest(weights) WITH ORDINALITY AS w (weight, i) GROUP BY id, elements ORDER BY id;
SELECT a.id, b.id, round(jaccard(a.elements, b.elements)::numeric, 2) AS unweighted,
       round(weighted_jaccard(a.elements, a.weights, b.elements, b.weights)::numeric, 2) AS weighted
FROM weighted_notes AS a JOIN weighted_notes AS b ON a.id < b.id ORDER BY weighted DESC, a.id, b.id;
DROP VIEW weighted_notes;
DROP TABLE notes;

-- What is no weighted set.
SELECT minhash_weighted('{a,b}', '{1}');
SELECT weighted_jaccard('{a}', '{1}', '{a}', '{1,2}');
SELECT minhash_weighted('{a}', '{-1}');
SELECT minhash_weighted('{a}', '{NaN}');
SELECT minhash_weighted('{a}', '{Infinity}');
SELECT minhash_weighted('{a}', ARRAY[NULL]::float8[]);
SELECT minhash_weighted('{a,b}', '{{1,2}}');
SELECT minhash_weighted('{a}', '{1}', 0);
\set VERBOSITY sqlstate
SELECT minhash_weighted('{a,b}', '{1}');
SELECT minhash_weighted('{a}', '{-1}');
\set VERBOSITY default

-- A text's frequent words, and their signature: equal for copies that differ in rare words, case
-- and punctuation. As Apache Nutch has it (TextProfileSignature).
SELECT * FROM text_profile('To be, or not to be: that is the question. To be!', 1);
SELECT text_profile_signature('To be, or not to be: that is the question. To be!', 1)
	= md5(E'be 2\nto 2') AS md5_of_the_profile;
SELECT text_profile_signature('The cat; the CAT. A dog?') = text_profile_signature('the cat the cat a mouse') AS same,
       text_profile_signature('the cat the cat') = text_profile_signature('the dog the dog') AS other;
-- Without repeats every word counts, whatever their order: the words, that is, of more than min_token_len characters.
SELECT * FROM text_profile('Don''t panic: naïve cafés charge 3.14 € for 漢字');
SELECT * FROM text_profile('Don''t panic: naïve cafés charge 3.14 € for 漢字', min_token_len => 0)
ORDER BY token COLLATE "C";
-- The greatest count, 10, times quant_rate is the unit in which counts are told.
SELECT quant_rate, string_agg(token || ' ' || count, ', ' ORDER BY count DESC, token COLLATE "C") AS profile
FROM unnest(ARRAY[0, 0.01, 0.3, 0.5, 1]) AS quant_rate,
	text_profile(repeat('ten ', 10) || repeat('seven ', 7) || repeat('three ', 3) || 'once', quant_rate => quant_rate)
GROUP BY quant_rate ORDER BY quant_rate;
-- Known answers of Nutch.
SELECT text_profile_signature(convert_from('\x517569636b0a', 'UTF8'), 0, 0.0)
	= '10093463f8124400095ca703bc2ac66b' AS quick,
       text_profile_signature(convert_from('\xc4b07374616e62756c20c4b07374616e62756c0a652d6d61696c2c20', 'UTF8'), 5)
           = '1be359e5a29df17adff482d463853fc3' AS istanbul,
       text_profile_signature(convert_from('\x646f6e277420', 'UTF8'), 2, 0.5)
           = '774dfa062769a2a99130d27db0782cea' AS don;
-- Where nothing is left, there is no signature (in Nutch, all such texts have the same).
SELECT text_profile_signature('') IS NULL AS empty, text_profile_signature('a an 🙂') IS NULL AS short,
	text_profile_signature(NULL) IS NULL AS "null",
       (SELECT count(*) FROM text_profile('')) AS empty_profile,
           (SELECT count(*) FROM text_profile(NULL)) AS null_profile;
SELECT text_profile_signature('text', -1);
SELECT text_profile_signature('text', quant_rate => 1.5);
SELECT text_profile('text', quant_rate => 'NaN');
