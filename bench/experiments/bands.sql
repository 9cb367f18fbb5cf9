-- Experiments 3 and 4: near-duplicates of a post among all posts and copies, at K = 1200 and
-- threshold 0.9, by bands.
--
-- The bucket query is plain SQL: candidates share a band; of these, those stay whose estimate
-- reaches the threshold.
SET search_path = experiment, public;

-- Queries ask with originals. Only copies of the same post reach 0.9: the generator's posts are
-- strangers to each other (a test compares all pairs).
CREATE TABLE truth AS
SELECT q.id AS query, c.id AS found, jaccard(q.numbers, c.numbers) AS exact
FROM posts AS q JOIN posts AS c ON c.post = q.post AND c.id <> q.id WHERE q.copy = 0;
ANALYZE truth;

CREATE TEMP TABLE signatures_1200 (id integer PRIMARY KEY, signature integer[]);
ALTER TABLE signatures_1200 ALTER signature SET STORAGE PLAIN;
CREATE TEMP TABLE buckets (hash bigint, band integer, id integer);
-- Strangers that share a bucket where each band has a table of as many slots as there are documents.
CREATE TABLE reduced (scheme text, bands integer, rows integer, strangers bigint);
CREATE TABLE answers (scheme text, bands integer, rows integer, query integer, found integer,
	estimate double precision);
CREATE TABLE choices AS
SELECT bands, 1200 / bands AS rows, NULL::double precision AS recall
FROM unnest(ARRAY[15, 20, 30, 60, 100, 120]) AS bands
UNION ALL
SELECT probes, rows, r FROM unnest(ARRAY[0.9, 0.99, 0.999]) AS r, lsh_params(0.9, 1200, r);
DO $$
#variable_conflict use_column
DECLARE
	chosen_scheme text;
	choice record;
BEGIN
	FOREACH chosen_scheme IN ARRAY ARRAY['permutations', 'fss'] LOOP
		TRUNCATE signatures_1200;
		INSERT INTO signatures_1200 SELECT id, minhash(terms, 1200, chosen_scheme) FROM posts;
		ANALYZE signatures_1200;
		FOR choice IN SELECT bands, rows FROM choices LOOP
			TRUNCATE buckets;
			INSERT INTO buckets
			SELECT hash, band, id
			FROM signatures_1200, unnest(band_hashes(signature, choice.bands, choice.rows)) WITH ORDINALITY AS h(hash, band);
			ANALYZE buckets;
			INSERT INTO reduced
			WITH slots AS (
				SELECT band, id, mod(hash & 9223372036854775807, (SELECT count(*) FROM posts)) AS slot FROM buckets
			)
			SELECT chosen_scheme, choice.bands, choice.rows, count(DISTINCT (q.id, c.id))
			FROM slots AS q JOIN slots AS c USING (band, slot) WHERE q.id % 10 = 0 AND q.id / 10 <> c.id / 10;
			INSERT INTO answers
			SELECT chosen_scheme, choice.bands, choice.rows, query, found, minhash_jaccard(x.signature, y.signature)
			FROM (SELECT DISTINCT q.id AS query, c.id AS found
			      FROM buckets AS q JOIN buckets AS c ON c.hash = q.hash AND c.id <> q.id
			      WHERE q.id % 10 = 0) AS candidates
				JOIN signatures_1200 AS x ON x.id = query JOIN signatures_1200 AS y ON y.id = found;
		END LOOP;
	END LOOP;
END
$$;
ANALYZE answers;

-- What became of each candidate.
CREATE TABLE verdicts AS
SELECT a.*, coalesce(exact, 0) AS exact, t.query IS NULL AS stranger, estimate >= 0.9 AS answer
FROM answers AS a LEFT JOIN truth AS t USING (query, found);
ANALYZE verdicts;

-- Per query: candidates that are copies, beside what the S-curve predicts from their exact similarities; strangers
-- among the candidates; those below 0.9 that share a bucket; answers (estimate >= 0.9), and of these the false
-- positives; false negatives.
CREATE TABLE bands AS
SELECT scheme, bands, rows, recall, queries,
	(SELECT sum(lsh_probability(exact, bands, rows)) FROM truth) / queries AS predicted_candidates,
	copies / queries AS candidates, counted.strangers / queries AS strangers, below / queries AS below,
	reduced.strangers / queries AS strangers_of_slots, found / queries AS found,
	false_positives / queries AS false_positives,
	("true" - hits) / queries AS false_negatives, "true" / queries AS "true"
FROM choices JOIN (
		SELECT scheme, bands, rows, count(*) FILTER (WHERE NOT stranger) AS copies,
			count(*) FILTER (WHERE stranger) AS strangers, count(*) FILTER (WHERE exact < 0.9) AS below,
			count(*) FILTER (WHERE answer) AS found, count(*) FILTER (WHERE answer AND exact < 0.9) AS false_positives,
			count(*) FILTER (WHERE answer AND exact >= 0.9) AS hits
		FROM verdicts GROUP BY scheme, bands, rows) AS counted USING (bands, rows)
	JOIN reduced USING (scheme, bands, rows),
	(SELECT count(*)::double precision AS queries FROM posts WHERE copy = 0) AS q,
	(SELECT count(*) AS "true" FROM truth WHERE exact >= 0.9) AS t;

-- The same through minlsh's index, whose bands are chosen from a recall.
SELECT minlsh_create_side_table('posts', 'body', threshold => 0.85, num_perm => 1200, unit => 'word', shingle_size => 1,
	normalization => 'classic');
CREATE TABLE indexed AS
SELECT verify, threshold, count(*)::double precision / queries AS found,
	count(*) FILTER (WHERE coalesce(exact, 0) < threshold)::double precision / queries AS false_positives,
	(SELECT count(*) FROM truth WHERE exact >= threshold)::double precision / queries AS "true"
FROM (SELECT count(*) AS queries FROM posts WHERE copy = 0) AS c,
	unnest(ARRAY['signature', 'exact']) AS verify, unnest(ARRAY[0.9, 0.88]) AS threshold,
	posts AS p, LATERAL near_duplicates(p.id, threshold, 'posts', verify) AS n
	LEFT JOIN truth AS t ON t.found = n.doc_id AND t.query <> n.doc_id
WHERE p.copy = 0 AND (t.query = p.id OR t.query IS NULL)
GROUP BY verify, threshold, queries;

-- Experiment 3, as published: ten queries, 100 bands.
CREATE TABLE queries AS
WITH ten AS (SELECT id FROM posts WHERE copy = 0 ORDER BY chance(post, 0, 61) LIMIT 10)
SELECT scheme AS method, count(*) FILTER (WHERE estimate >= 0.9) / 10.0::double precision AS found
FROM answers WHERE bands = 100 AND query IN (SELECT id FROM ten) GROUP BY scheme
UNION ALL
SELECT 'index, ' || verify || ', ' || threshold,
	(SELECT count(*) FROM ten, LATERAL near_duplicates(ten.id, threshold, 'posts', verify)) / 10.0::double precision
FROM unnest(ARRAY['signature', 'exact']) AS verify, unnest(ARRAY[0.9, 0.88]) AS threshold;
