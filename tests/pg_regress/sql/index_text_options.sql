-- The options of texts in indexes.
SET client_min_messages = warning;

-- An index with each option keeps it, in its writes, queries and rebuilds.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'The quick brown fox jumps over the lazy dog, again and again and again'), (2, 'the QUICK brown fox jumps over the lazy dog; again, and again!');
SELECT minlsh_create_index('docs', 'body', name => 'by_word', unit => 'word', shingle_size => 2, threshold => 0.5);
SELECT minlsh_create_index('docs', 'body', name => 'classic', unit => 'word', shingle_size => 1, normalization => 'classic', threshold => 0.5);
SELECT minlsh_create_index('docs', 'body', name => 'bags', unit => 'word', shingle_size => 1, bag => true, threshold => 0.5);
SELECT minlsh_create_index('docs', 'body', name => 'anchored', unit => 'anchored', shingle_size => 3, stop_words => 'the and over', threshold => 0.5);
SELECT minlsh_create_index('docs', 'body', name => 'plain', normalization => 'nfkc, casefold  whitespace', threshold => 0.5);
SELECT minlsh_create_index('docs', 'body', name => 'folded', normalization => 'aggressive', scheme => 'datasketch_affine32', threshold => 0.5);
CALL minlsh_create_index_concurrently('docs', 'body', name => 'later', normalization => 'plain stop_words', stop_words => 'again', bag => true, threshold => 0.5);
SELECT index, unit, shingle_size, normalization, stop_words, bag, scheme, seed, unicode <> '' AS unicode FROM minlsh_indexes ORDER BY 1;
INSERT INTO docs VALUES (3, 'the quick brown fox jumps over the lazy dog, again and again and again'), (4, ' , '), (5, 'again');
UPDATE docs SET body = body || '.' WHERE id = 1;
SELECT index, c.* FROM minlsh_indexes, minlsh_check(index) AS c;
SELECT index, n.doc_id, round(n.similarity::numeric, 3) AS similarity
FROM minlsh_indexes, near_duplicates(1, 0.5, index, verify => 'exact') AS n ORDER BY index::text, n.doc_id;
SELECT index, count(*) FROM minlsh_indexes, near_duplicates_of('THE QUICK BROWN FOX jumps over the lazy dog, again and again and again.', 0.9, index, 'exact') AS n GROUP BY 1 ORDER BY index::text;
SELECT count(*) FROM minlsh_indexes, near_duplicate_pairs(index, 0.5, verify => 'exact') AS p;
SELECT e.jaccard, e.some_only_a, e.some_only_b FROM minlsh_explain('by_word', 1, 2) AS e;
SELECT minlsh_reindex('anchored'), minlsh_reindex('folded');
SELECT index, c.* FROM minlsh_indexes, minlsh_check(index) AS c;
SELECT * FROM near_duplicates_between('plain', 'later');
-- An index whose words other versions of Unicode have cut must be built anew; characters as they are written depend on none.
SELECT minlsh_create_index('docs', 'body', name => 'as_written');
UPDATE minlsh_registry SET unicode = 'of another time';
SELECT near_duplicates(1, index => 'by_word');
SELECT count(*) FROM near_duplicates(1, index => 'as_written');
SELECT minlsh_reindex('by_word');
SELECT count(*) FROM near_duplicates(1, index => 'by_word');
DROP TABLE docs;
