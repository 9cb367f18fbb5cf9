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
SELECT minlsh_create_side_table('given', 'body', threshold => 0.6) AS side \gset
SELECT doc_id FROM near_duplicates_of(minlsh_document((SELECT body FROM given WHERE id = 100), 0.9), index => :'side');
SELECT doc_id FROM nearest_documents_of((SELECT body FROM given WHERE id = 100), 2, :'side');
SELECT doc_id FROM nearest_documents_of(minlsh_document((SELECT body FROM given WHERE id = 100)), 1, :'side',
	'signature');
SELECT doc_id FROM nearest_documents_of((SELECT minhash(body) FROM given WHERE id = 100), 1, :'side');
SELECT doc_id FROM nearest_documents_of(minlsh_signature((SELECT minhash(body) FROM given WHERE id = 100)), 1, :'side');

DROP TABLE given, given_truth;

-- An index with scopes is searched within the scope that is passed: the value of the only column, or an array in the
-- order of the columns. Each value is read as the type of its column.
CREATE TYPE lang AS ENUM ('en', 'de');
CREATE DOMAIN tenant AS integer CHECK (VALUE > 0);
CREATE TABLE scoped (id integer PRIMARY KEY, tenant tenant, lang lang, site text, day date, body text, tags text[]);
INSERT INTO scoped SELECT i, 1 + i % 2, CASE WHEN i < 5 THEN 'en' ELSE 'de' END::lang, 'it''s ' || i % 2,
	'2026-01-01'::date + i % 2, 'one text of all rows', '{a,b}' FROM generate_series(1, 8) AS i;
CREATE INDEX by_tenant ON scoped USING minlsh (tenant, body);
CREATE INDEX by_three ON scoped USING minlsh (body, site minlsh_text_scope_ops, lang, day) WITH (unit = 'word');
CREATE INDEX by_expression ON scoped USING minlsh ((upper(site)) minlsh_text_scope_ops, (body || ''));
CREATE INDEX of_tags ON scoped USING minlsh (lang, tags);
CREATE INDEX of_documents ON scoped USING minlsh (tenant, minlsh_document(body, 0.9));
CREATE INDEX without ON scoped USING minlsh (body);
SELECT array_agg(doc_id) FROM near_duplicates_of('One text of all rows', 0.9, 'by_tenant', scope => 1);
SELECT array_agg(doc_id) FROM near_duplicates_of('One text of all rows', 0.9, 'by_tenant', scope => '2');
SELECT array_agg(doc_id) FROM near_duplicates_of('One text of all rows', index => 'by_tenant', k => 2,
	scope => ARRAY[1]);
SELECT array_agg(doc_id) FROM near_duplicates_of('One text of all rows', index => 'by_tenant', scope => 2::bigint);
SELECT array_agg(doc_id) FROM near_duplicates_of('One text of all rows', index => 'by_three',
	scope => ARRAY['it''s 1', 'en', '2026-01-02']);
SELECT array_agg(doc_id) FROM near_duplicates_of(minlsh_document('One text of all rows', 0.9, 5, 'word'),
	index => 'by_three', scope => ARRAY['it''s 1', 'de', '2026-01-02']);
SELECT array_agg(doc_id) FROM nearest_documents_of('One text of all rows', 2, 'by_expression',
	scope => 'IT''S 0');
SELECT array_agg(doc_id) FROM nearest_documents_of('{a,b}'::text[], 10, 'of_tags', scope => 'de');
SELECT array_agg(doc_id) FROM nearest_documents_of('{a,b}'::text[], 10, 'of_tags', scope => 'en'::lang);
SELECT array_agg(doc_id) FROM near_duplicates_of(minlsh_document('One text of all rows', 0.9), index => 'of_documents',
	scope => 1);
SELECT s.id, array_agg(n.doc_id) FROM scoped AS s, near_duplicates_of(s.body, 0.9, 'by_tenant', scope => s.tenant) AS n
WHERE s.id < 3 GROUP BY s.id ORDER BY s.id;
PREPARE given(text, text) AS SELECT array_agg(doc_id) FROM near_duplicates_of($1, 0.9, 'by_tenant', scope => $2);
EXECUTE given('One text of all rows', 1);
DEALLOCATE given;
-- NULL equals nothing.
SELECT count(*) FROM near_duplicates_of('One text of all rows', index => 'by_three',
	scope => ARRAY['it''s 1', NULL, '2026-01-02']);
SELECT s.id, n.doc_id FROM scoped AS s LEFT JOIN near_duplicates_of(s.body, 0.9, 'by_tenant', k => 1,
	scope => nullif(s.tenant, 2)) AS n ON true WHERE s.id < 3 ORDER BY s.id;
-- What is missing or too much, and values that the column cannot have.
SELECT near_duplicates_of('some text', index => 'by_tenant');
SELECT near_duplicates_of('some text', index => 'by_three');
SELECT nearest_documents_of('some text', index => 'by_expression', scope => NULL);
SELECT near_duplicates_of('some text', index => 'by_three', scope => 7);
SELECT near_duplicates_of('some text', index => 'by_tenant', scope => ARRAY[1, 2]);
SELECT near_duplicates_of('some text', index => 'without', scope => 1);
SELECT near_duplicates_of('some text', index => 'by_tenant', scope => 'seven');
SELECT near_duplicates_of('some text', index => 'by_three', scope => ARRAY['a', 'fr', '2026-01-02']);
-- The statement that a HINT shows for a table without a key of one column is right for each kind of index.
CREATE TABLE composite (a integer, b integer, tenant integer, body text, tags text[],
	signature integer[], PRIMARY KEY (a, b));
INSERT INTO composite VALUES (1, 1, 7, 'some text', '{a,b}', minhash('some text'));
CREATE FUNCTION advice(columns text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text; rows bigint;
BEGIN
	EXECUTE 'CREATE INDEX advised ON composite USING minlsh ' || columns;
	BEGIN
		PERFORM near_duplicates(1, index => 'advised');
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	END;
	DROP INDEX advised;
	EXECUTE format('SELECT count(*) FROM (%s) AS s', replace(rtrim(split_part(hint, ': ', 2), ';'), '...', '7')) INTO rows;
	RETURN rows || ' row: ' || hint;
END $$;
SELECT advice(c) FROM unnest(ARRAY['(body)', '(tenant, body) WITH (unit = ''word'', shingle_size = 1, threshold = 0.5)',
	'((body || '''')) WITH (normalization = ''none'')', '(minlsh_document(body, 0.9))', '(tags)',
	'(signature minlsh_signature_ops)', '(tenant, (a + b), body)']) AS c;
DROP FUNCTION advice(text);
DROP TABLE composite, scoped;
DROP TYPE lang;
DROP DOMAIN tenant;
