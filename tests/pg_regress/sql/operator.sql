-- a ~= b: near-duplicates, in any query.

CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES
	(1, 'The quick brown fox jumps over the lazy dog near the river bank.'),
	(2, 'The quick brown fox jumps over the lazy dog near the river.'),
	(3, 'THE QUICK BROWN FOX jumps over the lazy dog near the river bank.'),
	(4, 'A completely different text about PostgreSQL extensions.'),
	(5, ''),
	(6, NULL);

-- Which are similar to a text, by at least 0.8; and by how much.
SELECT id FROM docs WHERE body ~= minlsh_document('The quick brown fox jumps over the lazy dog near the river bank.')
ORDER BY id;
SELECT id, round(jaccard(body, d)::numeric, 3) AS similarity
FROM docs, minlsh_document('The quick brown fox jumps over the lazy dog near the river bank.', 0.3) AS d
WHERE body ~= d ORDER BY similarity DESC, id;

-- What counts is said by the document: its threshold, and how texts are cut. Case and white space do not, unless it
-- says so.
SELECT id FROM docs WHERE body ~=
       minlsh_document('The quick brown fox jumps over the lazy dog near the river bank.', 0.9,
                       normalization => 'none')
ORDER BY id;
SELECT id FROM docs
WHERE body ~= minlsh_document('the QUICK brown fox jumps over the lazy dog, near the river bank!', 1, 3, 'word')
ORDER BY id;
SELECT id FROM docs WHERE minlsh_document('The quick brown fox', 0.2, 1, 'word') ~= body ORDER BY id;

-- A join.
SELECT a.id, b.id FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, 0.8) AND a.id < b.id ORDER BY 1, 2;

-- In short, with options by default and the threshold of a setting.
SELECT id FROM docs WHERE body ~= 'The quick brown fox jumps over the lazy dog near the river bank.' ORDER BY id;
SET minlsh.threshold = 1;
SELECT id FROM docs WHERE body ~= 'The quick brown fox jumps over the lazy dog near the river bank.' ORDER BY id;
SELECT id FROM docs WHERE 'The quick brown fox jumps over the lazy dog near the river bank.' ~= body ORDER BY id;
RESET minlsh.threshold;
SET minlsh.threshold = 0;
SET minlsh.threshold = 1.5;
SHOW minlsh.threshold;

-- A text without shingles is similar to nothing, and not to itself.
SELECT '' ~= minlsh_document('') AS empty, '' ~= ''::text AS texts,
       minlsh_document('') ~= minlsh_document('') AS documents,
       jaccard('', minlsh_document('')) IS NULL AS no_similarity, jaccard('a', minlsh_document('')) AS one_empty;
SELECT '{}'::text[] ~= minlsh_document('{}'::text[]) AS sets, '{}'::integer[] ~= '{}'::integer[] AS arrays;
SELECT NULL ~= minlsh_document('a text') IS NULL AS left_null,
       'a text'::text ~= NULL::minlsh_document IS NULL AS right_null;

-- Of two documents the greater threshold counts. Their options must be the same.
SELECT minlsh_document(a.body, 0.8) ~= minlsh_document(b.body, 0.8) AS both_low,
       minlsh_document(a.body, 0.99) ~= minlsh_document(b.body, 0.8) AS left_high,
       minlsh_document(a.body, 0.8) ~= minlsh_document(b.body, 0.99) AS right_high,
       round(jaccard(minlsh_document(a.body), minlsh_document(b.body))::numeric, 3) AS similarity
FROM docs AS a, docs AS b WHERE a.id = 1 AND b.id = 2;
SELECT minlsh_document('a text', 0.8) ~= minlsh_document('a text', 0.8, 3);
SELECT minlsh_document('a text', normalization => 'plain') ~=
       minlsh_document('a text', normalization => 'whitespace, casefold,nfkc') AS same_options;
SELECT jaccard(minlsh_document('a text'), minlsh_document('a text', bag => true));

-- Sets: the elements of an array, in any order, without repeats and nulls.
CREATE TABLE baskets (id integer PRIMARY KEY, items text[]);
INSERT INTO baskets VALUES (1, '{milk,bread,eggs,tea}'), (2, '{tea,eggs,bread,milk,NULL,milk}'),
       (3, '{milk,bread,eggs}'), (4, '{tea}'), (5, '{}'), (6, NULL);
SELECT id FROM baskets WHERE items ~= minlsh_document(ARRAY['milk', 'bread', 'eggs', 'tea']) ORDER BY id;
SELECT id, jaccard(items, d) FROM baskets, minlsh_document(ARRAY['milk', 'bread', 'eggs', 'tea'], 0.5) AS d
WHERE d ~= items ORDER BY id;
SELECT id FROM baskets WHERE items ~= '{milk,bread,eggs,tea}' ORDER BY id;
SELECT minlsh_document(ARRAY[1, 2, 3]) ~= minlsh_document(ARRAY['3', '2', '1']) AS same_text_form,
       ARRAY[1, 2]::bigint[] ~= minlsh_document(ARRAY[1, 2]::smallint[]) AS integers,
       ARRAY[[1, 2], [3, 4]] ~= minlsh_document(ARRAY[4, 3, 2, 1], 1) AS dimensions,
       ARRAY['00000000-0000-0000-0000-000000000001'::uuid] ~=
       minlsh_document(ARRAY['00000000-0000-0000-0000-000000000001']) AS uuids,
       ARRAY['\x6162'::bytea] ~= ARRAY['\x6162'::bytea] AS bytes,
       ARRAY['a'::varchar] ~= ARRAY['a'::varchar] AS varchars;
SELECT ARRAY[1.0] ~= ARRAY[1.0];
-- Their type is refused, whatever is in them and beside them: an error must not depend on values.
SELECT ARRAY[]::numeric[] ~= ARRAY[NULL]::numeric[];
SELECT minlsh_document('a text') ~= ARRAY[]::numeric[];
SELECT ARRAY[true] ~= minlsh_signature(minhash('a text'));
CREATE DOMAIN article AS integer CHECK (VALUE > 0);
SELECT '{1,2,3}'::article[] ~= minlsh_document(ARRAY[1, 2, 3]) AS elements_of_a_domain;
DROP DOMAIN article;

-- Signatures: beside the document of a signature, integer[] is one too. No text is needed.
CREATE TABLE signatures AS SELECT id, minhash(body) AS signature FROM docs;
SELECT id, round(jaccard(signature, d)::numeric, 2) AS estimate
FROM signatures, minlsh_signature(minhash('The quick brown fox jumps over the lazy dog near the river'), 0.8) AS d
WHERE signature ~= d ORDER BY id;
SELECT minlsh_signature(ARRAY[1, 2, 3, 4], 0.75) ~= ARRAY[1, 2, 3, 9] AS three_of_four,
       minlsh_signature(ARRAY[1, 2, 3, 4], 0.76) ~= ARRAY[1, 2, 3, 9] AS too_few,
       minlsh_signature(ARRAY[1, 2, 3, 4]) ~= ARRAY[4, 3, 2, 1] AS order_counts,
       minlsh_signature(ARRAY[1, 2]) ~= minlsh_signature(ARRAY[1, 2]) AS documents;

-- What cannot be compared is not similar: ~= fails for no value, so it tells nothing of rows that a policy hides.
-- jaccard() says what is wrong.
SELECT 'a text'::text ~= minlsh_signature(ARRAY[1, 2]) AS text_and_signature,
       'a text'::text ~= minlsh_document(ARRAY['a text']) AS text_and_set,
       ARRAY['a text'] ~= minlsh_document('a text') AS set_and_text,
       ARRAY[1, 2, 3] ~= minlsh_signature(ARRAY[1, 2]) AS another_length,
       ARRAY[1, NULL] ~= minlsh_signature(ARRAY[1, 2]) AS nulls,
       ARRAY[1, 2]::bigint[] ~= minlsh_signature(ARRAY[1, 2]) AS bigints,
       minlsh_document('a text') ~= minlsh_document(ARRAY['a text']) AS documents;
SELECT jaccard('a text', minlsh_signature(ARRAY[1, 2]));
SELECT jaccard('a text', minlsh_document(ARRAY['a text']));
SELECT jaccard(ARRAY['a text'], minlsh_document('a text'));
SELECT jaccard(ARRAY[1, 2, 3], minlsh_signature(ARRAY[1, 2]));
SELECT oprname, oprleft::regtype, oprright::regtype, provolatile AS volatile, proleakproof AS leakproof,
       oprcom::regoperator AS commutator
FROM pg_operator JOIN pg_proc AS p ON p.oid = oprcode WHERE oprname = '~=' AND proname = 'minlsh_similar' ORDER BY 2, 3;

-- It agrees with jaccard() of texts whatever the options are, whichever side is the same in all rows.
CREATE TABLE corpus AS
	SELECT i AS id, string_agg(word, CASE WHEN i % 5 = 0 THEN '  ' ELSE ' ' END ORDER BY j) AS body
	FROM generate_series(0, 23) AS i, generate_series(0, 20) AS j,
	     LATERAL (SELECT CASE WHEN hashint4(i * 100 + j) % 12 = 0 THEN 'Other' || i
	                          ELSE 'word' || (i / 8) * 100 + j END) AS w (word)
	GROUP BY i;
INSERT INTO corpus VALUES (80, ''), (81, ' '), (82, 'ab'), (83, 'word0'), (84, repeat('word0 ', 20)),
       (85, 'ümläut 漢字 😀'), (86, 'ümläut 漢字 😀!'), (87, NULL);
CREATE TABLE options AS
	SELECT * FROM (VALUES (5, 'char', 'none', false), (5, 'char', 'plain', false), (2, 'word', 'auto', false),
	                      (1, 'word', 'plain', true), (3, 'char', 'aggressive', true))
	              AS o (size, unit, normalization, bag),
	              unnest(ARRAY[0.05, 0.5, 1]) AS threshold;
SELECT count(*) AS pairs, count(*) FILTER (WHERE s.similarity >= threshold) AS similar,
       count(*) FILTER (WHERE (b.body ~= d) IS DISTINCT FROM s.expected) AS wrong,
       count(*) FILTER (WHERE (d ~= b.body) IS DISTINCT FROM s.expected) AS commuted_wrong,
       count(*) FILTER (WHERE (d ~= minlsh_document(b.body, threshold / 2, size, unit, normalization, bag => bag))
                              IS DISTINCT FROM s.expected) AS documents_wrong,
       count(*) FILTER (WHERE jaccard(b.body, d) IS DISTINCT FROM s.similarity) AS measure_wrong
FROM options, corpus AS a, corpus AS b,
     LATERAL (SELECT minlsh_document(a.body, threshold, size, unit, normalization, bag => bag)) AS document (d),
     LATERAL (SELECT jaccard(a.body, b.body, size, unit, normalization, bag => bag)) AS j (similarity),
     LATERAL (SELECT similarity, CASE WHEN a.body IS NOT NULL AND b.body IS NOT NULL
                                      THEN coalesce(similarity, 0) >= threshold END) AS s (similarity, expected);
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.body ~= b.body) AS similar,
       count(*) FILTER (WHERE (a.body ~= b.body) <> (coalesce(jaccard(a.body, b.body), 0) >= 0.8)) AS wrong
FROM corpus AS a, corpus AS b WHERE a.body IS NOT NULL AND b.body IS NOT NULL;
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.s ~= b.s) AS similar,
       count(*) FILTER (WHERE (a.s ~= b.s) <> (coalesce(jaccard(a.s, b.s), 0) >= 0.8)) AS wrong,
       count(*) FILTER (WHERE (a.s ~= minlsh_document(b.s, 0.5)) <> (coalesce(jaccard(a.s, b.s), 0) >= 0.5))
       AS documents_wrong
FROM (SELECT shingles(body) FROM corpus) AS a (s), (SELECT shingles(body) FROM corpus) AS b (s)
WHERE a.s IS NOT NULL AND b.s IS NOT NULL;

-- The planner expects a few near-duplicates of each document, however many there are.
CREATE FUNCTION expected_rows(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
CREATE TABLE many AS SELECT i AS id, md5(i::text) AS body FROM generate_series(1, 20000) AS i;
ANALYZE docs, many;
SELECT expected_rows($$SELECT * FROM many WHERE body ~= 'a text'$$) AS lookup,
       expected_rows($$SELECT * FROM many WHERE minlsh_document('a text') ~= body$$) AS commuted,
       expected_rows($$SELECT * FROM many WHERE NOT body ~= minlsh_document('a text')$$) AS others,
       expected_rows($$SELECT * FROM many AS a JOIN many AS b ON b.body ~= minlsh_document(a.body)$$) AS self_join,
       expected_rows($$SELECT * FROM docs AS a JOIN many AS b ON b.body ~= a.body$$) AS lookups,
       expected_rows($$SELECT * FROM many AS a WHERE EXISTS
                       (SELECT FROM many AS b WHERE b.body ~= minlsh_document(a.body) AND b.id < a.id)$$) AS has_one;

-- In parallel.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM many WHERE body ~= minlsh_document(md5('17'), 0.9);
SELECT count(*) FROM many WHERE body ~= minlsh_document(md5('17'), 0.9);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- It tells nothing of the rows that a view, or a policy, hides: so it is pushed below what hides them, where an index
-- could be. That of two documents, which fails if their options differ, is not.
CREATE VIEW visible WITH (security_barrier) AS SELECT id, body, minlsh_document(body) AS document FROM docs
WHERE id % 2 = 0;
EXPLAIN (COSTS OFF) SELECT id FROM visible WHERE body ~= minlsh_document('lazy dog', 0.8);
EXPLAIN (COSTS OFF) SELECT id FROM visible WHERE document ~= minlsh_document('lazy dog', 0.8);
DROP VIEW visible;

DROP TABLE docs, baskets, signatures, corpus, options, many;
DROP FUNCTION expected_rows;

-- A document of more than 4 MB, whose shingles are counted at the first row, gives the same for each.
CREATE TABLE long AS SELECT string_agg(md5(i::text), '') AS body FROM generate_series(1, 140000) AS i;
CREATE TABLE several AS SELECT i AS id, left(md5(i::text), 8) AS body FROM generate_series(1, 3) AS i
	UNION ALL SELECT 4, body || 'more' FROM long UNION ALL SELECT 5, repeat('same ', 1000000);
WITH l AS MATERIALIZED (SELECT minlsh_document(body, 0.8) AS d, body FROM long)
SELECT id, s.body ~= d AS similar, jaccard(s.body, d) = jaccard(s.body, l.body) AS equal
FROM several AS s, l ORDER BY id;
SELECT round(jaccard('same same', d)::numeric, 2) AS repeats, 'same same' ~= d AS similar
FROM generate_series(1, 3), minlsh_document(repeat('same ', 1000000), 0.5) AS d;
DROP TABLE long, several;
