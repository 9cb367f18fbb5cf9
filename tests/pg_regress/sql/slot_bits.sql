-- A smaller footprint: of each slot of a signature 16 or 8 bits are stored.
SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT i, (SELECT string_agg(md5(((i / 4) * 1000 + CASE WHEN w % 20 < i % 4 THEN w + 500 + i ELSE w
	END)::text), ' ') FROM generate_series(1, 60) AS w)
FROM generate_series(1, 400) AS i;
SELECT minlsh_create_index('docs', 'body', name => 'whole');
SELECT minlsh_create_index('docs', 'body', name => 'half', slot_bits => 16);
SELECT minlsh_create_index('docs', 'body', name => 'quarter', slot_bits => 8);
SELECT cardinality(w.signature) AS whole, cardinality(h.signature) AS half, cardinality(q.signature) AS quarter
FROM whole AS w JOIN half AS h USING (doc_id) JOIN quarter AS q USING (doc_id) WHERE doc_id = 1;
-- Bands are made of whole slots: the candidates are the same.
SELECT count(*) AS different FROM whole AS w JOIN half AS h USING (doc_id) JOIN quarter AS q USING (doc_id) WHERE
	w.bands <> h.bands OR w.bands <> q.bands;
-- Writes know no difference.
INSERT INTO docs SELECT 1000, body FROM docs WHERE id = 1;
SELECT * FROM minlsh_check('half');
SELECT minlsh_reindex('quarter');
SELECT * FROM minlsh_check('quarter');

-- The functions behind it.
SELECT minhash_pack(minhash('hello world', 8), 32) = minhash('hello world', 8) AS all_bits,
	minhash_pack(minhash('hello world', 8), 16), minhash_pack(minhash('hello world', 8), 8);
SELECT minhash_jaccard(minhash_pack(minhash('hello world'), 8), minhash_pack(minhash('hello worlds'), 8), 8) > 0.5 AS
	similar;
SELECT minhash_pack('{1,2,3}', 16);
SELECT minhash_pack('{1,2,3,4}', 12);
SELECT minhash_jaccard('{1,2}', '{1}', 16);
SELECT minlsh_create_index('docs', 'body', slot_bits => 64);
SELECT minlsh_create_index('docs', 'body', slot_bits => NULL);
SELECT minlsh_create_index('docs', 'body', num_perm => 126, slot_bits => 8, threshold => 0.9);
DROP TABLE docs;
