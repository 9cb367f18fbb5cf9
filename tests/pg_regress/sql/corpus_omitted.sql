-- Rows that take no part in a job: one NOTICE reports them, with a line for each reason.
CREATE TABLE posts (id integer PRIMARY KEY, site text, body text);
INSERT INTO posts VALUES (1, 'a', 'the quick brown fox jumps over the lazy dog'),
	(2, 'a', 'the quick brown fox jumps over the lazy dog!'), (3, NULL, 'the quick brown fox jumps over the lazy dog'),
	(4, NULL, 'something else'), (5, 'a', NULL), (6, NULL, NULL), (7, 'a', ' '), (8, 'b', 'and something else again');

-- Nothing is reported where all rows take part.
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM posts WHERE body > '' ''', 0.8) ORDER BY 1, 2;
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM posts WHERE body > '' ''', 0.8, copies => 'once');
-- A NULL in the column of the scope leaves a row out.
SELECT doc_a, doc_b FROM near_duplicate_pairs('posts', 0.8, body => 'body', scope => 'site');
SELECT doc_a, doc_b FROM near_duplicate_pairs($$SELECT id, body, coalesce(site, '') AS site FROM posts$$, 0.8,
	scope => 'site');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body, NULL::text AS site FROM posts', 0.8, scope => 'site');
-- All jobs report it.
SELECT count(*) FROM near_duplicate_clusters('posts', 0.8, body => 'body', scope => 'site');
SELECT count(*) FROM near_duplicate_plan('posts', 0.8, body => 'body', scope => 'site');
SELECT count(*) FROM near_duplicate_bridges('posts', 0.8, body => 'body', scope => 'site');
SELECT count(*) FROM near_duplicates_between('SELECT id, body FROM posts WHERE id > 4', 'SELECT id, body FROM posts',
	0.8);
SELECT count(*) FROM common_passages('posts', body => 'body', min_match => 16, scope => 'site');
SELECT count(*) FROM strip_passages('SELECT id, body FROM posts', min_match => 16);
SELECT count(*) FROM repeated_passages('SELECT id, body FROM posts', min_match => 16);
SELECT count(*) FROM contained_documents('SELECT id, body FROM posts', min_match => 16);
SELECT count(*) FROM passages_between('SELECT id, body FROM posts', 'SELECT id, body FROM posts', min_match => 16);
SELECT documents FROM minlsh_suggest('SELECT id, body, site FROM posts', scope => 'site') WHERE item = 'documents';
SELECT documents FROM minlsh_recall('SELECT id, body, site FROM posts', 0.8, scope => 'site') LIMIT 1;
-- A key may be NULL where there is nothing to compare.
SELECT count(*) FROM near_duplicate_pairs('SELECT nullif(id, 7), body FROM posts', 0.8);
SELECT count(*) FROM near_duplicate_pairs('SELECT nullif(id, 8), body FROM posts', 0.8);
SELECT documents FROM minlsh_suggest('SELECT nullif(id, 8), body FROM posts') WHERE item = 'documents';
-- Other documents than texts.
SELECT count(*) FROM near_duplicate_pairs('SELECT id, nullif(string_to_array(body, '' ''), ''{}'') FROM posts', 0.8);
SELECT count(*) FROM near_duplicate_pairs($$VALUES (1, '{}'::integer[]), (2, '{1}'), (3, NULL)$$, 0.8);
-- An index says the same, though only rows that share a bucket are read otherwise.
CREATE INDEX posts_body ON posts USING minlsh (site minlsh_text_scope_ops, body);
SELECT doc_a, doc_b FROM near_duplicate_pairs('posts_body', 0.8);
SELECT doc_a, doc_b FROM near_duplicate_pairs('posts', 0.8, body => 'body', scope => 'site');
-- What is not in the index is not in the source.
CREATE INDEX posts_of_sites ON posts USING minlsh (site minlsh_text_scope_ops, body) WHERE site IS NOT NULL;
SELECT doc_a, doc_b FROM near_duplicate_pairs('posts_of_sites', 0.8);
-- The window function gives each row.
SELECT id, near_duplicate_cluster(body, 0.8) OVER (ORDER BY id) AS cluster FROM posts ORDER BY id;
DROP TABLE posts;
