-- The options of texts: an index has its own, and keeps them in its writes, searches and rebuilds.
SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'The quick brown fox jumps over the lazy dog, again and again and again'),
	(2, 'the QUICK brown fox jumps over the lazy dog; again, and again!');
CREATE INDEX by_word ON docs USING minlsh (body) WITH (unit = word, shingle_size = 2, threshold = 0.5);
CREATE INDEX classic ON docs USING minlsh (body)
	WITH (unit = word, shingle_size = 1, normalization = classic, threshold = 0.5);
CREATE INDEX bags ON docs USING minlsh (body) WITH (unit = word, shingle_size = 1, bag, threshold = 0.5);
CREATE INDEX anchored ON docs USING minlsh (body)
	WITH (unit = anchored, shingle_size = 3, stop_words = 'the and over', threshold = 0.5);
CREATE INDEX plain ON docs USING minlsh (body) WITH (normalization = 'nfkc, casefold  whitespace', threshold = 0.5);
-- Side tables take the same options.
SELECT minlsh_create_side_table('docs', 'body', name => 'folded', normalization => 'aggressive',
	scheme => 'datasketch_affine32', threshold => 0.5);
SELECT minlsh_create_side_table('docs', 'body', name => 'without', normalization => 'plain stop_words',
	stop_words => 'again', bag => true, threshold => 0.5);
-- They are shown as they are meant, not as they were written.
SELECT index, options - '{format,algorithm,unicode,num_perm,recall,bands,rows,threshold}'::text[] AS options
FROM minlsh_indexes ORDER BY index::text COLLATE "C";
INSERT INTO docs VALUES (3, 'the quick brown fox jumps over the lazy dog, again and again and again'), (4, ' , '),
	(5, 'again');
UPDATE docs SET body = body || '.' WHERE id = 1;
SELECT index, c.* FROM minlsh_indexes, minlsh_check(index) AS c;
SELECT index, n.doc_id, round(n.similarity::numeric, 3) AS similarity
FROM minlsh_indexes, near_duplicates(1, 0.5, index) AS n ORDER BY index::text COLLATE "C", n.doc_id;
SELECT index, count(*) FROM minlsh_indexes, near_duplicates_of(
	'THE QUICK BROWN FOX jumps over the lazy dog, again and again and again.', 0.9, index) AS n
GROUP BY 1 ORDER BY index::text COLLATE "C";
SELECT index, count(*) FROM minlsh_indexes, near_duplicate_pairs(index::text, 0.5) AS p
GROUP BY 1 ORDER BY index::text COLLATE "C";
SELECT e.jaccard, e.some_only_a, e.some_only_b FROM minlsh_explain('by_word', 1, 2) AS e;
REINDEX INDEX anchored;
SELECT minlsh_rebuild_side_table('folded');
SELECT index, c.* FROM minlsh_indexes, minlsh_check(index) AS c;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- The operator takes an index with the options of the document that is searched for.
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('the lazy dog', 0.5, 2, 'word');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body ~= minlsh_document('the lazy dog', 0.5, 1, 'word', bag => true);
DROP TABLE docs;

-- An index on a call that makes documents has the threshold and the options of the call, unless WITH has others.
CREATE FUNCTION built(definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE options jsonb; found text;
BEGIN
	EXECUTE 'CREATE INDEX of_call ON called USING minlsh ' || definition;
	options := minlsh_options('of_call');
	SELECT string_agg(problem, ', ') INTO found FROM minlsh_check('of_call');
	DROP INDEX of_call;
	RETURN concat_ws(' ', options->>'threshold', options->>'unit', options->>'shingle_size', options->>'normalization',
		options->>'stop_words', options->>'bag', found);
END $$;
CREATE TABLE called (id integer PRIMARY KEY, body text, tags text[], share float8 DEFAULT 0.9, signature integer[]);
INSERT INTO called VALUES (1, 'one text of some length', '{a,b}', 0.9, minhash('one text'));
SELECT d, built(d) FROM unnest(ARRAY['(minlsh_document(body, 0.7))', '(minlsh_document(body, 0.9))',
	'(minlsh_document(body))', '(minlsh_document(body, 0.9)) WITH (threshold = 0.6)',
	'(minlsh_document(body, 0.9, 3, ''word'')) WITH (recall = 0.9)',
	'(minlsh_document(body, unit => ''word'', bag => true))',
	'(minlsh_document(body, normalization => ''none'', stop_words => ''of the'')) WITH (num_perm = 64)',
	'(minlsh_document(body, share))', '(minlsh_document(tags, 0.5))', '(minlsh_signature(signature, 0.6))',
	'(id, minlsh_document(body, 0.95))', '(minlsh_document(body, 0.7::real))',
	'(body) WITH (threshold = 0.7)', '(body)']) AS d;
-- Options that the rows do not have are refused with the first row, as before.
CREATE INDEX ON called USING minlsh (minlsh_document(body, 0.9)) WITH (unit = 'word');
CREATE INDEX ON called USING minlsh (minlsh_document(body, 0.7)) WITH (threshold = 0.8);
-- A constraint holds at the threshold that it names, and REINDEX and ALTER keep to that.
ALTER TABLE called ADD CONSTRAINT near_unique EXCLUDE USING minlsh (minlsh_document(body, 0.5) WITH ~=);
INSERT INTO called VALUES (2, 'one text of some length!');
SELECT minlsh_options('near_unique')->>'threshold' AS threshold;
REINDEX INDEX near_unique;
SELECT minlsh_options('near_unique')->>'threshold' AS threshold;
ALTER INDEX near_unique SET (threshold = 0.3);
SELECT * FROM minlsh_check('near_unique');
ALTER INDEX near_unique RESET (threshold);
SELECT * FROM minlsh_check('near_unique');
DROP TABLE called;
DROP FUNCTION built(text);
