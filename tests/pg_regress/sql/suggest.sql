-- minlsh_suggest(): which threshold and options suit a source, before anything is built.
SET client_min_messages = warning;
-- Reports of 30 words each: 40 of them have an edited copy, 10 an exact one. All begin with the same template.
CREATE TABLE suggest_reports (id int PRIMARY KEY, region text, body text);
CREATE FUNCTION suggest_words(seed int, words int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(substr(md5(seed || ' ' || i), 1, 7), ' ') FROM generate_series(1, words) AS i
$$;
INSERT INTO suggest_reports
	SELECT i, 'north', 'Report of the day, for all readers: ' || suggest_words(i, 25) FROM generate_series(1, 100) AS i;
INSERT INTO suggest_reports SELECT id + 1000, region, body || ' (corrected)' FROM suggest_reports WHERE id <= 40;
INSERT INTO suggest_reports SELECT id + 2000, 'south', upper(body) FROM suggest_reports WHERE id BETWEEN 41 AND 50;
-- Twenty share two thirds with another one.
INSERT INTO suggest_reports SELECT id + 3000, region, replace(left(body, 160), '  ', ' ') || suggest_words(id, 10)
	FROM suggest_reports WHERE id BETWEEN 61 AND 80;
INSERT INTO suggest_reports VALUES (5001, 'north', ''), (5002, 'north', NULL);
SELECT * FROM minlsh_suggest('suggest_reports', 'body');

-- It is a sample: the same seed takes the same documents, whatever the order of the rows.
SELECT item, value, documents FROM minlsh_suggest('suggest_reports', 'body', sample => 20, sample_seed => 7)
EXCEPT
SELECT item, value, documents FROM minlsh_suggest('SELECT id, body FROM suggest_reports ORDER BY id DESC',
	sample => 20, sample_seed => 7);
SELECT documents, share FROM minlsh_suggest('suggest_reports', 'body', sample => 20) WHERE item = 'sample';
-- Memory is work_mem: texts of 6 kB leave room for fewer of them than were asked for.
SET work_mem = '1MB';
SELECT documents BETWEEN 30 AND 60 AS fits, explanation
FROM minlsh_suggest('SELECT i, suggest_words(i, 800) FROM generate_series(1, 100) AS i') WHERE item = 'sample';
SELECT item, documents, explanation FROM minlsh_suggest('SELECT i, repeat(suggest_words(i, 800), 1 + 9 * (i % 2))
	FROM generate_series(1, 10) AS i') WHERE item IN ('sample', 'too large') ORDER BY item;
-- These, too, are the same whatever the order of the rows: texts of 1 to 16 kB, of which some fit where others do not.
WITH given AS (SELECT $$SELECT i, suggest_words(i, 140 + i * 37 % 2000) FROM generate_series(1, 200) AS i$$ AS rows)
SELECT a.documents < 200 AS some, a.documents = b.documents AS same
FROM given, minlsh_suggest(rows) AS a JOIN minlsh_suggest(rows || ' ORDER BY i DESC') AS b USING (item)
WHERE item = 'sample';
RESET work_mem;

-- No threshold lies below random pairs, however few documents there are.
SELECT count(*) AS tables, count(*) FILTER (WHERE threshold < random) AS below_random
FROM generate_series(1, 150) AS n, LATERAL (
	SELECT max(value::float8) FILTER (WHERE item = 'threshold') AS threshold,
		max(value::float8) FILTER (WHERE item = 'random pairs') AS random
	FROM minlsh_suggest(format('SELECT i, left(md5((i %% %s)::text), %s) || repeat(md5(%s::text), %s)
		FROM generate_series(1, %s) AS i', 1 + n % 9, 4 + n % 25, n, n % 3, 2 + n % 31))) AS suggested;
-- Few documents show little.
SELECT item, value, explanation FROM minlsh_suggest('SELECT id, body FROM suggest_reports WHERE id <= 50', 'body')
WHERE item IN ('sample', 'random pairs', 'threshold', 'labels');
-- Copies that are far less similar than the default, but more than any others: people with typing errors.
CREATE TABLE suggest_people AS
SELECT id, format('%s %s, %s %s street', left(md5('first' || id % 90), 6), left(md5('last' || id), 8), 1 + id % 70,
	left(md5('street' || id), 9)) AS record FROM generate_series(1, 300) AS id;
INSERT INTO suggest_people
	SELECT id + 1000, overlay(overlay(overlay(record PLACING '' FROM 4 FOR 1) PLACING 'xy' FROM 12 FOR 1)
		PLACING '' FROM 21 FOR 2) FROM suggest_people WHERE id % 3 = 0;
SELECT item, value, documents, explanation FROM minlsh_suggest('suggest_people', 'record', key_column => 'id')
WHERE item NOT IN ('empty', 'saturated', 'short');
SELECT count(*) AS found, count(*) FILTER (WHERE doc_b::text = '1' || lpad(doc_a::text, 3, '0')) AS copies
FROM near_duplicate_pairs('suggest_people', 0.3, body => 'record', key_column => 'id');

-- Titles are short: shingles of three characters.
CREATE VIEW suggest_titles AS SELECT id, initcap(left(suggest_words(id, 3), 20)) AS title FROM suggest_reports;
SELECT item, value, documents, share, explanation FROM minlsh_suggest('suggest_titles', key_column => 'id')
WHERE item NOT IN ('nearest', 'random pairs');
-- What you pass is taken as it is.
SELECT item, value, explanation FROM minlsh_suggest('suggest_titles', 'title', key_column => 'id', unit => 'word',
	shingle_size => 1) WHERE value IS NOT NULL AND item NOT IN ('nearest', 'random pairs') OR item = 'pairs';

-- Within a scope: the exact copies are in another region.
SELECT item, documents, explanation FROM minlsh_suggest('suggest_reports', 'body', scope => 'region')
WHERE item IN ('identical', 'index');
-- Equal sets of shingles do not make copies: one text says more often what both say.
SELECT item, documents
FROM minlsh_suggest($$SELECT i, repeat('all work and no play ', i) FROM generate_series(3, 4) AS i
	UNION ALL SELECT i, 'a copy of  this text' FROM generate_series(5, 6) AS i
	UNION ALL SELECT 7, 'A copy of this text'$$)
WHERE item IN ('identical', 'near copies');
SELECT item, documents FROM minlsh_suggest($$VALUES (1, '{a,b,c}'::text[]), (2, '{c,b,a,a}')$$)
WHERE item IN ('identical', 'near copies');

-- An index is asked with its own options, a column of arrays has no shingles.
CREATE INDEX suggest_index ON suggest_reports USING minlsh (body) WITH (threshold = 0.9, shingle_size = 7);
SELECT item, value, explanation FROM minlsh_suggest('suggest_index')
WHERE item IN ('shingle_size', 'threshold', 'index', 'pairs');
SELECT item, value, documents, explanation
FROM minlsh_suggest('SELECT id, string_to_array(body, '' '') FROM suggest_reports')
WHERE item NOT IN ('nearest', 'random pairs');
-- The frame of each site explains what its pages share; neither the section does, nor what the copies are of. A line
-- in the histogram is where random pairs are, and some pages are too short to be compared.
CREATE TABLE suggest_pages AS
SELECT id, id % 7 AS section, id / 2 AS story, 'site ' || id % 10 AS "Site",
	suggest_words(-1 - id % 10, 12) || CASE WHEN id > 20 THEN ' ' || suggest_words(id / 2, 15) ELSE '' END AS body
FROM generate_series(1, 400) AS id;
UPDATE suggest_pages SET body = 'empty page ' || id WHERE id <= 20;
ALTER TABLE suggest_pages ADD PRIMARY KEY (id);
SELECT item, value, documents, share, explanation FROM minlsh_suggest('suggest_pages', 'body')
WHERE item IN ('short', 'nearest', 'threshold', 'random pairs', 'template', 'pairs');
SELECT count(*) FROM near_duplicate_pairs('suggest_pages', 0.8, body => 'body', boilerplate => '"Site"');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body FROM suggest_pages WHERE length(body) >= 50', 0.35);
-- Columns that explain nothing, too few pages of a site, and a reader who may not see the column.
SELECT item, value FROM minlsh_suggest('SELECT id, body, section, story FROM suggest_pages', 'body')
WHERE item = 'template';
SELECT item, value FROM minlsh_suggest('SELECT id, body, "Site" FROM suggest_pages WHERE id BETWEEN 30 AND 70', 'body')
WHERE item = 'template';
CREATE ROLE suggest_reader;
GRANT SELECT (id, body) ON suggest_pages TO suggest_reader;
SET ROLE suggest_reader;
SELECT item, value, share FROM minlsh_suggest('suggest_pages', 'body') WHERE item IN ('sample', 'template');
RESET ROLE;
-- Nothing to choose by.
SELECT item, value, documents, explanation FROM minlsh_suggest('SELECT id, body FROM suggest_reports WHERE false')
WHERE item IN ('documents', 'threshold');
SELECT item, value, documents FROM minlsh_suggest('SELECT 1, ''alone''') WHERE item IN ('documents', 'threshold');

-- Different products of one template are similar whatever they are. No threshold is suggested that such pairs reach.
CREATE TABLE suggest_products AS
SELECT id, format('Buy our %s now, in all colours: free shipping to every country, thirty days to send it back, and a
	warranty of two years. Our shop is open day and night. Call us or write to us, we answer within an hour.',
	left(md5(id::text), 12)) AS body FROM generate_series(1, 1200) AS id;
ALTER TABLE suggest_products ADD PRIMARY KEY (id);
SELECT item, value, explanation FROM minlsh_suggest('suggest_products', 'body')
WHERE item IN ('random pairs', 'threshold', 'template', 'pairs');
-- A plan and clusters say so when they see one.
SET client_min_messages = notice;
SELECT count(*) FROM near_duplicate_plan('suggest_products', 0.8, body => 'body');
SELECT count(DISTINCT cluster_id) FROM near_duplicate_clusters('SELECT id, body FROM suggest_products', 0.8);
SELECT count(*) FROM near_duplicate_plan('suggest_products', 0.8, body => 'body', boilerplate => '*');
-- Copies of one text are no template.
SELECT count(*) FROM near_duplicate_plan($$SELECT id, 'the same text' FROM suggest_products$$, 0.8);
SET client_min_messages = warning;

-- Each second product is a near copy of the one before. A third of them have another number.
CREATE TABLE suggest_models AS
SELECT id, format('%s laser printer %s with two trays', translate(md5((id / 2)::text), '0123456789', 'ghijklmnop'),
	CASE WHEN id % 2 = 0 THEN 'HF10' WHEN id % 6 = 1 THEN 'HF100' ELSE 'HF-10' END) AS name
FROM generate_series(2, 601) AS id;
ALTER TABLE suggest_models ADD PRIMARY KEY (id);
SELECT item, value, documents, share, explanation FROM minlsh_suggest('suggest_models', 'name')
WHERE item IN ('near copies', 'numbers', 'pairs');
SELECT rtrim(explanation, ';') AS statement FROM minlsh_suggest('suggest_models', 'name')
WHERE item = 'pairs' AND value = 'numbers agree' \gset
SELECT count(*), count(*) FILTER (WHERE doc_b::text::int % 6 = 1) AS other_numbers FROM (:statement) AS pairs;

-- Wrong calls show the right ones.
SELECT * FROM minlsh_suggest('suggest_reports');
SELECT * FROM minlsh_suggest('suggest_reports', 'title');
SELECT * FROM minlsh_suggest('suggest_reports', 'body', 0);
SELECT * FROM minlsh_suggest('SELECT 1, body FROM suggest_reports');
SELECT * FROM minlsh_suggest('SELECT id, minlsh_signature(minhash(body)) FROM suggest_reports WHERE body <> ''''');
SELECT * FROM minlsh_suggest(NULL);

DROP VIEW suggest_titles;
DROP TABLE suggest_reports, suggest_people, suggest_pages, suggest_products, suggest_models;
DROP ROLE suggest_reader;
DROP FUNCTION suggest_words;
