-- Lookups of what a call brings along: a text, an array, a signature, a minlsh_document; the k most similar of them.
SET client_min_messages = warning;
CREATE TABLE given (id bigint PRIMARY KEY, body text, tags text[]);
INSERT INTO given SELECT i, body, string_to_array(body, ' ') FROM generate_series(1, 200) AS i,
	LATERAL (SELECT string_agg(md5(CASE WHEN w <= i % 5 THEN i ELSE i / 20 END || ' ' || w), ' ' ORDER BY w)
		FROM generate_series(1, 25) AS w) AS words (body);
CREATE INDEX given_texts ON given USING minlsh (body) WITH (threshold = 0.6);

-- The natural calls.
SELECT doc_id, round(similarity::numeric, 3) AS similarity
FROM near_duplicates_of((SELECT body FROM given WHERE id = 100), 0.7, k => 3);
SELECT doc_id, round(similarity::numeric, 3) AS similarity
FROM nearest_documents_of((SELECT body FROM given WHERE id = 100), 3);
SELECT count(*) FROM nearest_documents_of((SELECT body FROM given WHERE id = 100));
SELECT near_duplicates_of('a text that nothing resembles', k => 3),
	nearest_documents_of('a text that nothing resembles');
-- As drivers call them: a parameter without a type is a text.
PREPARE untyped AS SELECT doc_id FROM nearest_documents_of($1, $2);
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
PREPARE untyped_of AS SELECT doc_id FROM near_duplicates_of($1, $2, k => $3);
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped_of';

-- A document has a threshold and options of its own. The greater threshold counts.
SELECT doc_id, round(similarity::numeric, 3) AS similarity
FROM near_duplicates_of(minlsh_document((SELECT body FROM given WHERE id = 100), 0.85));
SELECT count(*) FROM near_duplicates_of(minlsh_document((SELECT body FROM given WHERE id = 100), 0.85), 0.7);
SELECT count(*) FROM near_duplicates_of(minlsh_document((SELECT body FROM given WHERE id = 100), 0.7), 0.85);
SELECT doc_id FROM nearest_documents_of(minlsh_document((SELECT body FROM given WHERE id = 100), 0.85), 2);
SELECT near_duplicates_of(minlsh_document('some text', 0.5));
SELECT near_duplicates_of(minlsh_document('some text', 0.8, 7));
SELECT near_duplicates_of(minlsh_document(ARRAY['some', 'text']));
SELECT near_duplicates_of(NULL::minlsh_document), nearest_documents_of(NULL::text);
SELECT nearest_documents_of('some text', 0);
SELECT near_duplicates_of('some text', k => -1);

-- The answer is that of a sequential computation: sorted by similarity, then by key, and cut off.
CREATE TABLE given_truth AS
	SELECT a.id AS of, b.id AS doc_id, jaccard(a.body, b.body) AS similarity,
		row_number() OVER (PARTITION BY a.id ORDER BY jaccard(a.body, b.body) DESC, b.id) AS place
	FROM given AS a, given AS b WHERE jaccard(a.body, b.body) >= 0.6;
SELECT count(*) AS different FROM given AS g, LATERAL (
	(SELECT doc_id::bigint, similarity FROM nearest_documents_of(g.body, 4)
		EXCEPT ALL SELECT doc_id, similarity FROM given_truth WHERE of = g.id AND place <= 4)
	UNION ALL (SELECT doc_id, similarity FROM given_truth WHERE of = g.id AND place <= 4
		EXCEPT ALL SELECT doc_id::bigint, similarity FROM nearest_documents_of(g.body, 4))) AS difference;
SELECT count(*) AS different FROM given AS g, LATERAL (
	(SELECT doc_id::bigint FROM near_duplicates_of(minlsh_document(g.body, 0.65), 0.6, k => 5)
		EXCEPT ALL SELECT doc_id FROM given_truth WHERE of = g.id AND place <= 5 AND similarity >= 0.65)
	UNION ALL (SELECT doc_id FROM given_truth WHERE of = g.id AND place <= 5 AND similarity >= 0.65
		EXCEPT ALL SELECT doc_id::bigint FROM near_duplicates_of(minlsh_document(g.body, 0.65), 0.6, k => 5))) AS difference;

-- Indexes of sets, of signatures, of documents, and a side table.
CREATE INDEX given_sets ON given USING minlsh (tags) WITH (threshold = 0.6);
SELECT doc_id FROM near_duplicates_of(minlsh_document((SELECT tags FROM given WHERE id = 100), 0.9),
	index => 'given_sets');
SELECT doc_id FROM nearest_documents_of((SELECT tags FROM given WHERE id = 100), 2, 'given_sets');
SELECT near_duplicates_of(minlsh_document('some text'), index => 'given_sets');
CREATE INDEX given_signatures ON given USING minlsh (minhash(body) minlsh_signature_ops) WITH (threshold = 0.6);
SELECT doc_id FROM near_duplicates_of(minlsh_signature((SELECT minhash(body) FROM given WHERE id = 100), 0.9),
	index => 'given_signatures', k => 1);
CREATE INDEX given_documents ON given USING minlsh (minlsh_document(body, 0.7)) WITH (threshold = 0.6);
SELECT doc_id FROM near_duplicates_of(minlsh_document((SELECT body FROM given WHERE id = 100), 0.9),
	index => 'given_documents');
SELECT near_duplicates_of('some text', index => 'given_documents');
SELECT minlsh_create_index('given', 'body', threshold => 0.6) AS side \gset
SELECT doc_id FROM near_duplicates_of(minlsh_document((SELECT body FROM given WHERE id = 100), 0.9), index => :'side');
SELECT doc_id FROM nearest_documents_of((SELECT body FROM given WHERE id = 100), 2, :'side');
SELECT doc_id FROM nearest_documents_of(minlsh_document((SELECT body FROM given WHERE id = 100)), 1, :'side',
	'signature');
SELECT doc_id FROM nearest_documents_of((SELECT minhash(body) FROM given WHERE id = 100), 1, :'side');
SELECT doc_id FROM nearest_documents_of(minlsh_signature((SELECT minhash(body) FROM given WHERE id = 100)), 1, :'side');

DROP TABLE given, given_truth;
