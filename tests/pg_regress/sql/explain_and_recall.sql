-- Why two documents are found or not, and how much of the truth is found.
SET client_min_messages = warning;
CREATE TABLE notes (id bigint PRIMARY KEY, body text);
INSERT INTO notes VALUES
	(1, 'the quick brown fox jumps over the lazy dog'), (2, 'the quick brown fox leaps over the lazy dog'),
	(3, 'completely different words'), (4, ''), (5, NULL), (6, 'the quick brown fox jumps over the lazy dog');
CREATE INDEX ON notes USING minlsh (body) WITH (shingle_size = 2, unit = word, threshold = 0.5);

\x
SELECT * FROM minlsh_explain('notes', 1, 2);
-- Equal texts share every band; at a higher threshold fewer bands are looked at.
SELECT jaccard, estimate, estimate_error, some_only_a, cardinality(bands) AS fired, probability
FROM minlsh_explain('notes', 1, 6);
SELECT jaccard, estimate, estimate_error, some_only_a, cardinality(bands) AS fired, probability
FROM minlsh_explain('notes', 1, 6, 0.9);
-- A text without shingles resembles nothing, not even another of its kind.
SELECT * FROM minlsh_explain('notes', 4, 1);
SELECT jaccard, shingles_a, shingles_b, probability FROM minlsh_explain('notes', 4, 5);
\x
-- Two texts that are stored nowhere.
\x
SELECT jaccard, shared, some_shared, some_only_a, some_only_b, cardinality(bands) AS fired FROM minlsh_explain_texts(
	'Preface. It was the best of times, it was the worst of times, it was the age of wisdom.',
	'It was the best of times,  IT WAS THE WORST OF TIMES; it was the age of foolishness.', 0.5, 3, 'word');
SELECT jaccard, shared, some_shared, some_only_b FROM minlsh_explain_texts('', 'a text');
\x
SELECT minlsh_explain_texts('a', 'b', 2);
SELECT minlsh_explain_texts('a', 'b', 0.5, unit => 'letter');
SELECT count(*) FROM minlsh_explain_texts('a', NULL);
-- A side table with the same options says the same.
CREATE TEMP TABLE said AS SELECT a, b, e.*
FROM generate_series(1, 6) AS a, generate_series(1, 6) AS b, minlsh_explain('notes', a, b) AS e;
DROP INDEX notes_body_idx;
SELECT minlsh_create_side_table('notes', 'body', shingle_size => 2, unit => 'word', threshold => 0.5);
SELECT count(*) AS different FROM (TABLE said EXCEPT
	SELECT a, b, e.*
	FROM generate_series(1, 6) AS a, generate_series(1, 6) AS b, minlsh_explain('notes', a, b) AS e) AS s;
-- As of every query: a document that is not there gives no row; keys are written as they come.
SELECT count(*) FROM minlsh_explain('notes', 1, 99);
SELECT count(*) FROM minlsh_explain('notes', NULL, 1);
SELECT shared FROM minlsh_explain('notes', '1', '2');
SELECT shared FROM minlsh_explain('notes', 1::smallint, 2::bigint);
SELECT minlsh_explain('notes', 1.5, 2);
SELECT minlsh_explain('notes', 'one', 'two');
SELECT minlsh_explain('notes', 1, 2, 0.4);
SELECT minlsh_explain('pg_class', 1, 2);
SELECT minlsh_explain(NULL, 1, 2);
SELECT a.id, b.id, round(e.jaccard::numeric, 3) AS jaccard
FROM notes AS a, notes AS b, minlsh_explain('notes', a.id, b.id) AS e WHERE a.id < b.id AND e.jaccard > 0
ORDER BY a.id, b.id;
-- Of signatures nothing is known but what they estimate; of sets all, and which elements.
ALTER TABLE notes ADD signature integer[], ADD tags text[], ADD document minlsh_document;
UPDATE notes SET signature = minhash(body, 128, 2, 'word'), tags = shingles(body, 1, 'word'),
	document = minlsh_document(shingles(body, 1, 'word'));
CREATE INDEX by_signature ON notes USING minlsh (signature minlsh_signature_ops) WITH (threshold = 0.5);
CREATE INDEX by_tags ON notes USING minlsh (tags) WITH (threshold = 0.5);
CREATE INDEX by_document ON notes USING minlsh (document) WITH (threshold = 0.5);
\x
SELECT jaccard, estimate, shared, some_shared, cardinality(bands) AS fired,
	round(probability::numeric, 3) AS probability
FROM minlsh_explain('by_signature', 1, 2);
SELECT jaccard, shingles_a, shared, some_shared, some_only_a, some_only_b, cardinality(bands) > 0 AS found
FROM minlsh_explain('by_tags', 1, 2);
SELECT jaccard, shingles_a, shared, some_shared, some_only_a, some_only_b, cardinality(bands) > 0 AS found
FROM minlsh_explain('by_document', 1, 2);
SELECT jaccard, estimate, shared, some_only_b FROM minlsh_explain('by_tags', 5, 1);
\x
SELECT i, sampled, documents, pairs, pairs_found, copies, copies_found
FROM unnest('{by_signature,by_tags,by_document}'::text[]) AS i,
	LATERAL (SELECT * FROM minlsh_recall(i, 0.5) LIMIT 1) AS r;
-- A document may ask for more than its index does: pairs below that are none.
UPDATE notes SET document = minlsh_document(tags, 0.9);
SELECT pairs, copies, copies_found FROM minlsh_recall('by_document', 0.5) LIMIT 1;
DROP TABLE notes;

-- The audit: each document of a sample is compared exactly with all documents, and that with what is found.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT i, (
	SELECT string_agg(md5(((i / 5) * 1000 + CASE WHEN w % 20 < i % 5 THEN w + 500 + i ELSE w END)::text), ' ')
	FROM generate_series(1, 12) AS w)
FROM generate_series(1, 300) AS i;
INSERT INTO docs SELECT 1000 + i, 'one boilerplate for many pages of this site' FROM generate_series(1, 20) AS i;
CREATE INDEX ON docs USING minlsh (body) WITH (threshold = 0.5);
SELECT similarity_from, similarity_to, sampled, documents, pairs, pairs_found = pairs AS all_found,
	returned = pairs_found AS nothing_wrong,
	"precision", copies, copies = copies_found AS copies_are_always_found
FROM minlsh_recall('docs', 0.55);
-- It is what a join of all with all says.
SELECT floor(jaccard(a.body, b.body) * 20) / 20 AS from, count(*) FROM docs AS a JOIN docs AS b ON a.id <> b.id
	AND a.id <= 300 AND b.id <= 300
WHERE jaccard(a.body, b.body) >= 0.55 GROUP BY 1 ORDER BY 1;
-- A sample of all documents leaves no doubt; of some, an interval.
SELECT recall_low = recall_high AS certain FROM minlsh_recall('docs', 0.6) LIMIT 1;
SELECT sampled, documents, recall_low < recall AND recall <= recall_high AS within
FROM minlsh_recall('docs', 0.6, sample => 30) LIMIT 1;
-- The sample is the same for the same seed.
SELECT array_agg(r) = (SELECT array_agg(r) FROM minlsh_recall('docs', 0.6, 30) AS r) AS same,
	array_agg(r) = (SELECT array_agg(r) FROM minlsh_recall('docs', 0.6, 30, sample_seed => 7) AS r) AS other_seed
FROM minlsh_recall('docs', 0.6, 30) AS r;
-- In memory that is too small for the sample, the answer is the same.
SET maintenance_work_mem = '1MB';
SELECT pairs, pairs_found = pairs AS all_found, copies FROM minlsh_recall('docs', 0.55) LIMIT 1;
-- A sample has as many documents as memory has room for, however many are asked for.
SELECT sampled BETWEEN 500 AND 1500 AS fits, documents
FROM minlsh_recall('SELECT i, ''text '' || i FROM generate_series(1, 3000) AS i', 0.9, sample => 2147483647) LIMIT 1;
RESET maintenance_work_mem;
SELECT minlsh_recall('docs', 0.8, sample => 0);
SELECT minlsh_recall('docs', 0.4);
SELECT minlsh_recall('docs', verify => 'maybe');
-- Pairs of one scope alone are asked for, and so is the truth.
ALTER TABLE docs ADD tenant integer;
UPDATE docs SET tenant = id % 2;
CREATE INDEX by_tenant ON docs USING minlsh (tenant, body) WITH (threshold = 0.5);
SELECT pairs < (SELECT pairs FROM minlsh_recall('docs_body_idx', 0.55) LIMIT 1) AS fewer,
	pairs_found = pairs AS all_found, copies, copies_found
FROM minlsh_recall('by_tenant', 0.55) LIMIT 1;
DROP INDEX docs_body_idx, by_tenant;
-- Without an index it is the bands of a job with those options that are audited: of a table, a view, a query.
CREATE INDEX ON docs USING minlsh (body) WITH (threshold = 0.5);
CREATE TEMP TABLE audited AS SELECT similarity_from, similarity_to, sampled, documents, pairs, copies, copies_found
FROM minlsh_recall('docs', 0.55, 100);
DROP INDEX docs_body_idx;
CREATE VIEW shown AS SELECT id, body FROM docs;
SELECT source, count(*) FILTER (WHERE s.pairs = r.pairs AND s.sampled = r.sampled AND s.documents = r.documents
	AND s.copies IS NOT DISTINCT FROM r.copies AND s.copies_found IS NOT DISTINCT FROM r.copies_found) AS same,
	count(*) AS bands, bool_and(r.pairs_found >= 0.9 * r.pairs) AS found, min("precision") AS "precision"
FROM unnest('{docs,shown,"SELECT id, body FROM docs"}'::text[]) AS source,
	LATERAL minlsh_recall(source, 0.55, 100, key_column => CASE source WHEN 'shown' THEN 'id' END) AS r
	JOIN audited AS s USING (similarity_from, similarity_to)
GROUP BY source ORDER BY source;
SELECT pairs_found < pairs AS misses_some, pairs_found > 0.2 * pairs AS but_not_most
FROM minlsh_recall('docs', 0.55, wanted_recall => 0.5, num_perm => 16) LIMIT 1;
SELECT recall < 1 AND "precision" < 1 AS errs
FROM minlsh_recall('docs', 0.6, verify => 'signature', num_perm => 64) LIMIT 1;
SELECT r.pairs < s.pairs AS fewer, r.copies < s.copies AS fewer_copies
FROM minlsh_recall('docs', 0.55, 100, scope => 'tenant') AS r, audited AS s LIMIT 1;
SET maintenance_work_mem = '1MB';
SELECT pairs, sampled, documents FROM minlsh_recall('docs', 0.55) LIMIT 1;
RESET maintenance_work_mem;
-- Sets, and signatures, which are compared by their estimate.
SELECT pairs > 0 AS some, pairs_found >= 0.9 * pairs AS found
FROM minlsh_recall('SELECT id, shingles(body) FROM docs', 0.55, 100) LIMIT 1;
SELECT pairs > 0 AS some, pairs_found >= 0.9 * pairs AS found, "precision"
FROM minlsh_recall('SELECT id, minhash(body) FROM docs', 0.6, 100) LIMIT 1;
SELECT sampled, documents, pairs, recall FROM minlsh_recall('SELECT id, body FROM docs WHERE false') LIMIT 1;
SELECT minlsh_recall('SELECT body FROM docs');
SELECT minlsh_recall('nowhere');
SELECT minlsh_recall('pg_class');
DROP VIEW shown;
-- The default way is exact. Signatures alone err on both sides of the threshold.
SELECT minlsh_create_side_table('docs', 'body', threshold => 0.5, num_perm => 64);
SELECT pairs_found = pairs AS all_found, "precision" FROM minlsh_recall('docs', 0.6) LIMIT 1;
SELECT recall < 1 OR "precision" < 1 AS errs FROM minlsh_recall('docs', 0.6, verify => 'signature') LIMIT 1;
DROP TABLE docs;
