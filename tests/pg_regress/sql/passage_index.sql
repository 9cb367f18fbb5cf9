-- Which texts contain a passage, by an index of passages.

CREATE TABLE articles (id integer PRIMARY KEY, lang text, body text);
-- 400 articles of words that differ, all with the same footer.
INSERT INTO articles
SELECT i, CASE WHEN i % 2 = 0 THEN 'en' ELSE 'de' END,
	(SELECT string_agg(md5((i * 1000 + w)::text), ' ') FROM generate_series(1, 20) AS w)
	|| ' This article may be shared under the terms of the license that the publisher grants to its readers.'
FROM generate_series(1, 400) AS i;
-- Three of them quote a paragraph: in other case and with other white space, one with a changed word.
CREATE TABLE quotes (id integer PRIMARY KEY, quote text);
INSERT INTO quotes VALUES
	(1, 'It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, '
		'it was the epoch of belief, it was the epoch of incredulity, it was the season of Light'),
	(2, 'Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, '
		'I thought I would sail about a little and see the watery part of the world.');
UPDATE articles SET body = body || ' ' || (SELECT quote FROM quotes WHERE id = 1) || ' End.' WHERE id = 10;
UPDATE articles SET body = 'Start. ' || upper((SELECT replace(quote, ' ', E'\n ') FROM quotes WHERE id = 1)) || body
	WHERE id = 21;
UPDATE articles SET body = body || replace((SELECT quote FROM quotes WHERE id = 1), 'the epoch of belief', 'the era')
	WHERE id = 32;
INSERT INTO articles VALUES (1000, 'en', NULL), (1001, 'en', ''), (1002, 'en', 'too short for a passage');

CREATE INDEX articles_passages ON articles USING minlsh (body minlsh_passage_ops);
ANALYZE articles;
SELECT minlsh_options('articles_passages') - 'unicode' AS options;
SELECT * FROM minlsh_check('articles_passages');

-- An index scan, and the same without the index.
EXPLAIN (COSTS off) SELECT id FROM articles
WHERE body ~> minlsh_passage('It was the best of times, it was the worst of times');
SELECT a.id FROM articles AS a, quotes AS q WHERE q.id = 1 AND body ~> minlsh_passage(quote) ORDER BY a.id;
CREATE FUNCTION answers(coverage double precision, min_match integer DEFAULT 50) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	by_index text;
	by_table text;
BEGIN
	SET LOCAL enable_seqscan = off;
	SELECT string_agg(q.id || ':' || a.id, ' ' ORDER BY q.id, a.id) INTO by_index
	FROM quotes AS q JOIN articles AS a ON a.body ~> minlsh_passage(q.quote, coverage, min_match);
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	SELECT string_agg(q.id || ':' || a.id, ' ' ORDER BY q.id, a.id) INTO by_table
	FROM quotes AS q JOIN articles AS a
		ON passage_coverage(q.quote, a.body, min_match) >= coverage AND a.body <> '';
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = on;
	RETURN CASE WHEN by_index IS NOT DISTINCT FROM by_table THEN coalesce(by_index, 'none')
		ELSE format('index: %s, table: %s', by_index, by_table) END;
END $$;
SELECT coverage, answers(coverage) FROM unnest(ARRAY[1, 0.9, 0.8, 0.5, 0.3]) AS coverage;
SELECT min_match, answers(0.5, min_match) FROM unnest(ARRAY[50, 60, 150, 500]) AS min_match;
-- Passages shorter than those of the index: it is not used, or gives every row for recheck.
SELECT answers(0.8, 20);
SELECT id FROM articles WHERE body ~> minlsh_passage('may be shared under the terms') ORDER BY id LIMIT 3;
SET enable_seqscan = off;
SELECT count(*) FROM articles WHERE body ~> minlsh_passage('may be shared under the terms');
-- Boilerplate that all have does not stop a search.
SELECT id FROM articles WHERE body ~> minlsh_passage('license that the publisher grants to its readers. '
	|| (SELECT quote FROM quotes WHERE id = 1), 0.9) ORDER BY id;
SELECT count(*) FROM articles
WHERE body ~> minlsh_passage('may be shared under the terms of the license that the publisher grants to its', 1);
SELECT count(*) FROM articles WHERE body ~> minlsh_passage('');
-- The commutator, a prepared statement, and the bitmap of several.
SELECT id FROM articles WHERE minlsh_passage((SELECT quote FROM quotes WHERE id = 1), 1) <~ body ORDER BY id;
PREPARE find(text) AS SELECT id FROM articles WHERE body ~> minlsh_passage($1) ORDER BY id;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS off) EXECUTE find('');
EXECUTE find('it was the epoch of belief, it was the epoch of incredulity, it was the season of Light');
EXECUTE find('too short for');
RESET plan_cache_mode;
DEALLOCATE find;
SELECT id FROM articles
WHERE body ~> minlsh_passage('it was the epoch of belief, it was the epoch of incredulity, it was the season', 1)
	OR body ~> minlsh_passage((SELECT quote FROM quotes WHERE id = 2)) ORDER BY id;
RESET enable_seqscan;

-- The index follows the table.
INSERT INTO articles SELECT 2000, 'en', 'Call it a quote: ' || quote FROM quotes WHERE id = 2;
UPDATE articles SET body = 'without' WHERE id = 10;
DELETE FROM articles WHERE id = 21;
VACUUM articles;
SELECT coverage, answers(coverage) FROM unnest(ARRAY[1, 0.5]) AS coverage;
SELECT * FROM minlsh_check('articles_passages');
-- Many rows of one text: entries of one key are kept together, at build and by inserts.
INSERT INTO articles SELECT 10000 + i, 'en', (SELECT quote FROM quotes WHERE id = 2) FROM generate_series(1, 3000) AS i;
SELECT * FROM minlsh_check('articles_passages');
REINDEX INDEX articles_passages;
SELECT * FROM minlsh_check('articles_passages');
SELECT pg_relation_size('articles_passages') < 600000 AS is_small;
SET enable_seqscan = off;
SELECT count(*) FROM articles WHERE body ~> minlsh_passage((SELECT quote FROM quotes WHERE id = 2), 1);
RESET enable_seqscan;
DELETE FROM articles WHERE id > 10000;
DROP INDEX articles_passages;

-- Scopes, partial indexes, options.
CREATE INDEX articles_scoped ON articles USING minlsh (lang minlsh_text_scope_ops, body minlsh_passage_ops)
	WITH (min_match = 20, normalization = 'aggressive') WHERE id < 5000;
SELECT minlsh_options('articles_scoped') - 'unicode' AS options;
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT id FROM articles WHERE id < 5000 AND lang = 'en'
	AND body ~> minlsh_passage('the epoch of incredulity', 1, 20, 'aggressive');
SELECT id FROM articles WHERE id < 5000 AND lang = 'en'
	AND body ~> minlsh_passage('THE EPOCH OF INCREDULITY!', 1, 20, 'aggressive') ORDER BY id;
SELECT id FROM articles WHERE id < 5000 AND lang = 'de'
	AND body ~> minlsh_passage('the epoch of incredulity', 1, 20, 'aggressive') ORDER BY id;
RESET enable_seqscan;
SELECT * FROM minlsh_check('articles_scoped');

-- It is not asked about whole documents.
SELECT * FROM near_duplicates(10, index => 'articles_scoped');
SELECT * FROM near_duplicate_pairs('articles_scoped');

-- What is refused.
CREATE INDEX ON articles USING minlsh (body minlsh_passage_ops) WITH (min_match = 15);
CREATE INDEX ON articles USING minlsh (body minlsh_passage_ops) WITH (normalization = 'plain min_length=3');
CREATE INDEX ON articles USING minlsh (body minlsh_passage_ops) WITH (threshold = 0.9);
CREATE INDEX ON articles USING minlsh (body) WITH (min_match = 20);
\set VERBOSITY terse
ALTER TABLE articles ADD EXCLUDE USING minlsh (body minlsh_passage_ops WITH ~>);
\set VERBOSITY default
SELECT minlsh_passage('a', 0);
SELECT minlsh_passage('a', 0.5, 10);
SELECT minlsh_passage('a', normalization => 'stop_words');

-- The type: with its options as JSON, or just the passage.
SELECT minlsh_passage('So "it" is', 0.5, 20), 'a passage'::minlsh_passage;
SELECT minlsh_passage('So "it" is', 0.5, 20)::text::minlsh_passage::text
	= minlsh_passage('So "it" is', 0.5, 20)::text AS same;
SELECT '{"coverage": 2, "passage": "a"}'::minlsh_passage;
SELECT '{"coverage": 0.5}'::minlsh_passage;
SELECT '{"coverage": 0.5, "passage": "a", "length": 1}'::minlsh_passage;
SELECT cardinality(passage_hashes('The quick brown fox jumps over the lazy dog.', 16)) AS hashes,
	passage_hashes('too short') AS of_short,
	passage_hashes('the quick brown fox jumps', 16) && passage_hashes('A QUICK BROWN FOX JUMPS', 16) AS meet;

DROP TABLE articles, quotes;
DROP FUNCTION answers;
