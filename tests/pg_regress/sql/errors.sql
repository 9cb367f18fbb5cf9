-- What is wrong in a call is named, and what to do instead. One line, one mistake.
SET client_min_messages = warning;
CREATE TABLE docs (id bigint PRIMARY KEY, title text, body text);
INSERT INTO docs SELECT i, 'a title', md5(i::text) FROM generate_series(1, 20) AS i;
CREATE INDEX ON docs USING minlsh (body);

-- Which of them to keep: an ORDER BY list, and no more.
SELECT near_duplicate_plan('docs', 0.9, keep => 'newest', body => 'body');
SELECT near_duplicate_plan('docs', 0.9, keep => 'id; DROP TABLE docs', body => 'body');
SELECT near_duplicate_plan('docs', 0.9, keep => 'id LIMIT 1', body => 'body');
SELECT near_duplicate_plan('docs', 0.9, keep => '', body => 'body');

-- A query: of keys and texts, each key once, no parameters, one statement, that only reads.
SELECT near_duplicate_pairs('SELECT body FROM docs');
SELECT near_duplicate_pairs('SELECT 1, body FROM docs');
SELECT near_duplicate_pairs('SELECT nullif(id, 1), body FROM docs');
SELECT near_duplicate_pairs('SELECT id, id FROM docs');
SELECT near_duplicate_pairs('SELECT id, body FROM docs WHERE id > $1');
SELECT near_duplicate_pairs('SELECT id, body FROM docs; SELECT 1');
SELECT near_duplicate_pairs('SELECT id, body FROM nowhere');
SELECT near_duplicate_pairs('WITH gone AS (DELETE FROM docs RETURNING *) SELECT id, body FROM gone');
SELECT near_duplicate_pairs('DELETE FROM docs');

-- A name: of a table, view or index, and of its columns. An expression needs a query, or an index of it.
SELECT near_duplicate_pairs('nowhere');
SELECT near_duplicate_pairs('docs_pkey');
SELECT near_duplicate_pairs(NULL);
SELECT near_duplicate_pairs('docs', body => 'title, body');
SELECT near_duplicate_pairs('docs', body => 'text');
SELECT near_duplicate_pairs('docs', key_column => 'key');
SELECT near_duplicate_pairs('docs', scope => 'tenant', body => 'body');
SELECT minlsh_create_side_table('docs', 'title, body');
SELECT minlsh_create_side_table('docs', 'body', key => 'number');
CREATE INDEX ON docs USING minlsh (title, body);

-- An index.
SELECT near_duplicates(1, 0.9, index => 'docs_pkey');
SELECT near_duplicates(1, 0.9, index => 'pg_class');
SELECT near_duplicates(1, 0.9, index => 'nowhere');
SELECT minlsh_explain('docs_pkey', 1, 2);
SELECT minlsh_recall('docs_pkey');

-- A key is the key of a stored document, not its text.
SELECT near_duplicates('a title and a text that is stored nowhere', 0.9, 'docs');
SELECT minlsh_explain('docs', 'a text', 'another text');
SELECT near_duplicates(1.5, 0.9, 'docs');
SELECT near_duplicates('2026-01-01'::date, 0.9, 'docs');

-- An index is dropped and built again as any other.
SELECT minlsh_drop_side_table('docs_body_idx');
SELECT minlsh_rebuild_side_table('docs_body_idx');
-- A threshold is a similarity, and not below that of the index.
SELECT near_duplicates(1, 90, 'docs');
SELECT near_duplicates(1, 0.5, 'docs');
SELECT near_duplicates(1, 'NaN', 'docs');
SELECT near_duplicate_pairs('docs', 90, body => 'body');
SELECT nearest_documents(1, 0, 'docs');

-- Options.
SELECT near_duplicates(1, 0.9, 'docs', verify => 'fast');
SELECT near_duplicates(1, 0.9, 'docs', verify => 'signature');
SELECT near_duplicate_pairs('docs', verify => 'fast', body => 'body');
SELECT near_duplicate_pairs('docs', unit => 'line', body => 'body');
SELECT near_duplicate_pairs('docs', shingle_size => 0, body => 'body');
SELECT near_duplicate_pairs('docs', recall => 1, body => 'body');
DROP TABLE docs;

-- A name in place of verify is told where it belongs.
SELECT near_duplicate_pairs('VALUES (1, ''a text''), (2, ''a text'')', 0.9, 'id');
