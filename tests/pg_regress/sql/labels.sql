-- A threshold from labels: minlsh_label_pairs() asks, you answer, minlsh_suggest_from_labels() gives the threshold.
SET client_min_messages = warning;
-- Products of a shop: 200, of which 60 are there twice, written a little differently.
CREATE TABLE label_products (id int PRIMARY KEY, name text NOT NULL);
CREATE FUNCTION label_words(seed int, words int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(substr(md5(seed || ' ' || i), 1, 5), ' ') FROM generate_series(1, words) AS i
$$;
INSERT INTO label_products
	SELECT i, 'camera of the series ' || i % 9 || ', ' || label_words(i, 7) FROM generate_series(1, 200) AS i;
INSERT INTO label_products SELECT id + 1000, left(name, 30 + id % 25) || ' ' || label_words(id + 500, 1 + id % 4)
FROM label_products WHERE id <= 60;

-- 1. Twenty pairs of all similarities, with their texts and what differs.
CREATE TABLE label_decided AS
SELECT doc_a::int, doc_b::int, similarity, text_a, text_b, difference, NULL::boolean AS same
FROM minlsh_label_pairs('label_products', body => 'name');
SELECT doc_a, doc_b, round(similarity::numeric, 2) AS similarity, difference FROM label_decided
ORDER BY similarity DESC LIMIT 3;
SELECT count(*), count(DISTINCT width_bucket(similarity, 0.1, 1, 20)) >= 10 AS spread FROM label_decided;
-- 2. A person answers.
UPDATE label_decided SET same = doc_b = doc_a + 1000;
-- 3. Twenty more, where they matter.
INSERT INTO label_decided
SELECT *, NULL FROM minlsh_label_pairs('label_products', body => 'name', decided => 'label_decided');
SELECT count(*), count(same) AS answered, count(DISTINCT (doc_a, doc_b)) AS pairs FROM label_decided;
UPDATE label_decided SET same = doc_b = doc_a + 1000 WHERE same IS NULL;
-- 4. The threshold.
SELECT * FROM minlsh_suggest_from_labels('label_products', 'label_decided', body => 'name');

-- A wanted precision: 40 answers do not show 0.99, and it is said how many would.
SELECT item, value, explanation FROM minlsh_suggest_from_labels('label_products', 'label_decided', body => 'name',
	wanted_precision => 0.99) WHERE item IN ('threshold', 'next');
SELECT item, value IS NOT NULL AS shown, explanation FROM minlsh_suggest_from_labels('label_products', 'label_decided',
	body => 'name', wanted_precision => 0.6) WHERE item = 'threshold';

-- The same answers and the same seed give the same pairs, whatever the order of the rows.
SELECT doc_a, doc_b FROM minlsh_label_pairs('label_products', body => 'name', decided => 'label_decided',
	sample_seed => 3)
EXCEPT
SELECT doc_a, doc_b FROM minlsh_label_pairs('SELECT id, name FROM label_products ORDER BY id DESC',
	decided => 'SELECT doc_b, doc_a, same FROM label_decided', sample_seed => 3);
-- Over a view as over its table: pairs, and what answers mean.
CREATE VIEW label_view AS SELECT name, id AS number FROM label_products;
SELECT doc_a, doc_b, similarity FROM minlsh_label_pairs('label_products', body => 'name', decided => 'label_decided')
EXCEPT
SELECT doc_a, doc_b, similarity FROM minlsh_label_pairs('label_view', body => 'name', key_column => 'number',
	decided => 'label_decided');
SELECT item, value, low, high FROM minlsh_suggest_from_labels('label_products', 'label_decided', body => 'name')
EXCEPT
SELECT item, value, low, high FROM minlsh_suggest_from_labels('label_view', 'label_decided', body => 'name',
	key_column => 'number');
DROP VIEW label_view;
SELECT count(*) > 0 AS others FROM (
	SELECT doc_a, doc_b FROM minlsh_label_pairs('label_products', body => 'name')
	EXCEPT
	SELECT doc_a, doc_b FROM minlsh_label_pairs('label_products', body => 'name', sample_seed => 1)) AS different;
-- A pair that was listed is not listed again, also without an answer.
SELECT count(*) FROM minlsh_label_pairs('label_products', body => 'name', pairs => 500,
	decided => 'SELECT doc_a, doc_b, NULL::boolean FROM label_decided') AS p
JOIN label_decided AS d ON d.doc_a = p.doc_a AND d.doc_b = p.doc_b;
-- A part of the documents stands for all.
SELECT value::float BETWEEN 0.5 * pairs AND 2 * pairs AS about_right
FROM (SELECT count(*) AS pairs FROM near_duplicate_pairs('label_products', 0.3, body => 'name')) AS a,
	minlsh_suggest_from_labels('label_products', 'label_decided', body => 'name', lowest => 0.3, sample => 60)
WHERE item = 'candidates';

-- Model numbers: different things have the same words. What is the same has a code in common.
CREATE TABLE label_models (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO label_models
	SELECT i, 'Camcorder ' || split_part('black silver red', ' ', 1 + i % 3) || ', optical zoom, HF-' || 1000 + i * 7
	FROM generate_series(1, 90) AS i
	UNION ALL
	SELECT 1000 + i, 'HF' || 1000 + i * 7 || ' optical zoom camcorder, ' || split_part('new used sale', ' ', 1 + i % 3)
	FROM generate_series(1, 60) AS i;
CREATE TABLE label_answers AS
SELECT doc_a::int, doc_b::int, doc_b = doc_a::int + 1000 AS same FROM minlsh_label_pairs('label_models')
UNION ALL
SELECT i, i + 1000, true FROM generate_series(1, 60, 3) AS i;
SELECT item, value, explanation FROM minlsh_suggest_from_labels('label_models', 'label_answers')
WHERE item IN ('labels', 'codes', 'pairs', 'plan');
SELECT rtrim(explanation, ';') AS statement FROM minlsh_suggest_from_labels('label_models', 'label_answers')
WHERE item = 'pairs' \gset
SELECT count(*) AS pairs, bool_and(doc_b = doc_a::int + 1000) AS same FROM (:statement) AS found;

-- Where two sources name their texts differently, no one expression gives the codes of both.
SELECT item FROM minlsh_suggest_from_labels('SELECT id, name FROM label_models WHERE id < 1000', 'label_answers',
	other => 'SELECT id, name AS title FROM label_models WHERE id > 1000') WHERE item IN ('labels', 'codes');
DROP TABLE label_models, label_answers;

-- Two sources: pairs between them.
SELECT count(*), bool_and(doc_a <= 200) AS of_a, bool_and(doc_b > 1000) AS of_b
FROM minlsh_label_pairs('SELECT id, name FROM label_products WHERE id < 1000',
	other => 'SELECT id, name FROM label_products WHERE id > 1000');
SELECT item, explanation FROM minlsh_suggest_from_labels('SELECT id, name FROM label_products WHERE id < 1000',
	'SELECT doc_a, doc_b, same FROM label_decided WHERE doc_a < 1000 AND doc_b > 1000
	UNION ALL SELECT i, 1050 - i, false FROM generate_series(1, 20) AS i', lowest => 0.05,
	other => 'SELECT id, name FROM label_products WHERE id > 1000')
WHERE item = 'pairs';
-- Within a scope; sets; options.
SELECT count(*) > 0 AS found, bool_and(doc_a::int % 2 = doc_b::int % 2) AS same_scope
FROM minlsh_label_pairs('SELECT id, name, id % 2 AS part FROM label_products', body => 'name', scope => 'part');
SELECT doc_a, doc_b, round(similarity::numeric, 2) AS similarity, text_a, text_b, difference
FROM minlsh_label_pairs($$VALUES (1, '{a,b,c}'::text[]), (2, '{a,b,d}'), (3, '{e}')$$);
SELECT count(*) FROM minlsh_label_pairs('label_products', body => 'name', shingle_size => 3, pairs => 7);

-- Answers of one kind, or about rows that are not there.
SELECT item, value, explanation FROM minlsh_suggest_from_labels('label_products',
	'SELECT i, i + 1000, true FROM generate_series(1, 12) AS i', body => 'name');
SELECT item, value, explanation FROM minlsh_suggest_from_labels('label_products',
	'SELECT i, i + 1, false FROM generate_series(1, 12) AS i UNION ALL SELECT 77777, 1, true UNION ALL SELECT 1, 9, NULL',
	body => 'name');

-- Mistakes.
SELECT * FROM minlsh_suggest_from_labels('label_products', 'SELECT i, i + 1, true FROM generate_series(1, 9) AS i
	UNION ALL SELECT 77777, 1, true UNION ALL SELECT 1, 9, NULL', body => 'name');
SELECT * FROM minlsh_suggest_from_labels('label_products', 'VALUES (1, 2, true), (2, 1, false)', body => 'name');
SELECT * FROM minlsh_suggest_from_labels('label_products', NULL);
SELECT * FROM minlsh_suggest_from_labels('label_products', 'SELECT 1, 2', body => 'name');
SELECT * FROM minlsh_suggest_from_labels('label_products', 'SELECT 1, 2, 3', body => 'name');
SELECT * FROM minlsh_suggest_from_labels('label_products', 'no_such_table', body => 'name');
SELECT * FROM minlsh_suggest_from_labels('label_products', $$SELECT 'one', '2', true$$, body => 'name');
SELECT * FROM minlsh_suggest_from_labels('label_products', 'label_decided', body => 'name', wanted_precision => 1);
SELECT * FROM minlsh_label_pairs('label_products', body => 'name', pairs => 0);
SELECT * FROM minlsh_label_pairs('label_products', body => 'name', lowest => 0);
SELECT * FROM minlsh_label_pairs('label_products', body => 'name', sample => 0);
SELECT * FROM minlsh_label_pairs('SELECT id, minlsh_signature(minhash(name)) FROM label_products');
SELECT * FROM minlsh_label_pairs('SELECT * FROM (VALUES (1, ''a text''), (1, ''a text'')) AS t');
RESET client_min_messages;
SELECT * FROM minlsh_label_pairs('SELECT 1, ''a text''');
DROP TABLE label_products, label_decided;
DROP FUNCTION label_words;
