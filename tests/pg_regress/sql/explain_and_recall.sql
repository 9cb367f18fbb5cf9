-- Why two documents are found or not, and how much of the truth is found.
SET client_min_messages = warning;
CREATE TABLE notes (id bigint PRIMARY KEY, body text);
INSERT INTO notes VALUES
	(1, 'the quick brown fox jumps over the lazy dog'), (2, 'the quick brown fox leaps over the lazy dog'),
	(3, 'completely different words'), (4, ''), (5, NULL), (6, 'the quick brown fox jumps over the lazy dog');
SELECT minlsh_create_index('notes', 'body', shingle_size => 2, unit => 'word', threshold => 0.5);

\x
SELECT * FROM minlsh_explain('notes', 1, 2);
-- Equal texts share every band; at a higher threshold fewer bands are looked at.
SELECT jaccard, estimate, estimate_error, some_only_a, cardinality(bands) AS fired, probability FROM minlsh_explain('notes', 1, 6);
SELECT jaccard, estimate, estimate_error, some_only_a, cardinality(bands) AS fired, probability FROM minlsh_explain('notes', 1, 6, 0.9);
-- A text without shingles resembles nothing, not even another of its kind.
SELECT * FROM minlsh_explain('notes', 4, 1);
SELECT jaccard, shingles_a, shingles_b, probability FROM minlsh_explain('notes', 4, 5);
\x
-- As of every query: a document that is not there gives no row; keys are written as they come.
SELECT count(*) FROM minlsh_explain('notes', 1, 99);
SELECT count(*) FROM minlsh_explain('notes', NULL, 1);
SELECT shared FROM minlsh_explain('notes', '1', '2');
SELECT shared FROM minlsh_explain('notes', 1::smallint, 2::bigint);
SELECT minlsh_explain('notes', 1.5, 2);
SELECT minlsh_explain('notes', 'one', 'two');
SELECT minlsh_explain('notes', 1, 2, 0.4);
SELECT minlsh_explain('pg_class', 1, 2);
SELECT a.id, b.id, round(e.jaccard::numeric, 3) AS jaccard FROM notes AS a, notes AS b, minlsh_explain('notes', a.id, b.id) AS e WHERE a.id < b.id AND e.jaccard > 0 ORDER BY a.id, b.id;
DROP TABLE notes;

-- The audit: each document of a sample is compared exactly with all documents, and what near_duplicates() finds with that.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT i, (SELECT string_agg(md5(((i / 5) * 1000 + CASE WHEN w % 20 < i % 5 THEN w + 500 + i ELSE w END)::text), ' ') FROM generate_series(1, 60) AS w)
FROM generate_series(1, 600) AS i;
INSERT INTO docs SELECT 1000 + i, 'one boilerplate for many pages of this site' FROM generate_series(1, 50) AS i;
SELECT minlsh_create_index('docs', 'body', threshold => 0.7);
\x
SELECT sampled, documents, pairs, pairs_found, recall >= 0.98 AS recall, recall_low < recall AND recall <= recall_high AS within,
	returned = pairs_found AS nothing_wrong, "precision", precision_high, copies, copies = copies_found AS copies_are_always_found
FROM minlsh_recall('docs', 0.8, verify => 'exact');
-- An estimate errs on both sides of the threshold.
SELECT recall < 1 OR "precision" < 1 AS errs FROM minlsh_recall('docs', 0.85);
-- The sample is the same for the same seed.
SELECT sampled, documents FROM minlsh_recall('docs', 0.8, sample => 10);
SELECT (SELECT r FROM minlsh_recall('docs', 0.8, 50) AS r) = (SELECT r FROM minlsh_recall('docs', 0.8, 50) AS r) AS same,
	(SELECT r FROM minlsh_recall('docs', 0.8, 50) AS r) = (SELECT r FROM minlsh_recall('docs', 0.8, 50, seed => 7) AS r) AS other_seed;
\x
-- It is what a join of all with all says.
SELECT count(*) FROM docs AS a JOIN docs AS b ON a.id <> b.id AND a.id <= 600 AND b.id <= 600 AND a.id / 5 = b.id / 5 WHERE jaccard(a.body, b.body) >= 0.8;
SELECT pairs FROM minlsh_recall('docs', 0.8, verify => 'exact');
SELECT minlsh_recall('docs', 0.8, sample => 0);
SELECT minlsh_recall('docs', 0.5);
SELECT minlsh_recall('docs', verify => 'maybe');
DROP TABLE docs;
