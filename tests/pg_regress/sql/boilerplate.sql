-- What the documents of one origin share does not count: the menu and footer of a site, a template of products.

-- Two newspapers print some articles of the same agency, each in its own frame.
CREATE TABLE articles (id integer PRIMARY KEY, body text);
INSERT INTO articles VALUES
	(1, 'The river rose by two metres overnight and flooded the old town, where the fire brigade rescued nine people.'),
	(2, 'A court in Lyon has acquitted the former mayor of all charges, eleven years after the stadium was built.'),
	(3, 'Bees are returning to the vineyards of Tuscany since growers stopped spraying between the rows of vines.'),
	(4, 'The orchestra opens its season with a symphony that was lost for a century and found behind a stove.'),
	(5, 'Engineers drained the canal lock for the first time since 1974 and counted more than three hundred bicycles.'),
	(6, 'The price of cocoa has doubled within a year because swollen shoot disease spreads in Ghana and Ivory Coast.'),
	(7, 'Voters in Graz chose a new council on Sunday, and for the first time no party holds more than a third.'),
	(8, 'Astronomers measured a comet whose tail consists mostly of sodium, which nobody had thought possible.'),
	(9, 'The last typewriter factory in Yorkshire closes its gates after one hundred and twelve years of work.');
CREATE TABLE pages (id integer PRIMARY KEY, site text, article integer, body text);
INSERT INTO pages
SELECT 10 + id, 'herald', id,
	'The Northern Herald. Home | World | Business | Sport | Culture | Weather | Jobs | Subscribe now for 9.99 a month. '
		|| body || ' Share this article. Read our privacy policy and our terms of use. Copyright Northern Herald Ltd.'
FROM articles WHERE id <= 6
UNION ALL
SELECT 20 + id, 'tribune', id,
	'TRIBUNE online. Sign in or register. Latest news, opinion, podcasts, puzzles and recipes every day. '
		|| body || ' More on this topic. Follow us on all channels. Tribune Media Group, all rights reserved 2026.'
FROM articles WHERE id <= 3 OR id > 6;

-- Pages of one site are alike, whatever they say. The copies are not.
SELECT a.site, count(*), count(*) FILTER (WHERE a.article = b.article AND a.site <> b.site) AS copies
FROM near_duplicate_pairs('pages', 0.4, body => 'body') AS p
JOIN pages AS a ON a.id::text = p.doc_a JOIN pages AS b ON b.id::text = p.doc_b
GROUP BY a.site ORDER BY a.site;
SELECT round(jaccard(a.body, b.body)::numeric, 3) AS copies, round(jaccard(a.body, c.body)::numeric, 3) AS not_copies
FROM pages AS a, pages AS b, pages AS c WHERE a.id = 11 AND b.id = 21 AND c.id = 12;

-- boilerplate names the column that says where a document comes from.
-- The column of the source is not taken for the document.
SELECT * FROM near_duplicate_pairs('pages', 0.8, boilerplate => 'site') ORDER BY doc_a;
SELECT * FROM near_duplicate_pairs('pages', 0.8, verify => 'signature', body => 'body', boilerplate => 'site')
ORDER BY doc_a;
SELECT doc_id, cluster_id, similarity, size
FROM near_duplicate_clusters('pages', 0.8, body => 'body', boilerplate => 'site') ORDER BY doc_id;
SELECT * FROM near_duplicate_clusters('pages', 0.8, linkage => 'leader', body => 'body', boilerplate => 'site')
ORDER BY doc_id LIMIT 2;
SELECT * FROM near_duplicate_plan('pages', 0.8, keep => 'site DESC', body => 'body', boilerplate => 'site')
ORDER BY doc_id;
SELECT * FROM near_duplicate_bridges('pages', 0.8, body => 'body', boilerplate => 'site') ORDER BY doc_a;
-- The origins of two sources are one: pages of the tribune are known to it, wherever they are.
SELECT * FROM near_duplicates_between($$SELECT id, body, site FROM pages WHERE site = 'herald'$$,
	$$SELECT id, body, site FROM pages WHERE site = 'tribune'$$, 0.8, boilerplate => 'site') ORDER BY doc_a;
SELECT * FROM near_duplicates_between($$SELECT id, body, site FROM pages WHERE id % 2 = 0$$,
	$$SELECT id, body, site FROM pages WHERE id % 2 = 1$$, 0.8, boilerplate => 'site');

-- An index has the bands of whole texts. With boilerplate the table is read, and the answer is the same.
CREATE INDEX pages_near ON pages USING minlsh (body);
SELECT * FROM near_duplicate_pairs('pages', 0.8, body => 'body', boilerplate => 'site') ORDER BY doc_a;
SELECT * FROM near_duplicate_pairs('pages_near', 0.8, boilerplate => 'site') ORDER BY doc_a;
DROP INDEX pages_near;

-- In a query, with a scope, or with an expression as origin.
SELECT * FROM near_duplicate_pairs('SELECT id, body, site, id % 2 AS odd FROM pages', 0.8, scope => 'odd',
	boilerplate => 'site') ORDER BY doc_a;
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body, site, id % 3 AS part FROM pages', 0.8, scope => 'part',
	boilerplate => 'site');
SELECT count(*) FROM near_duplicate_pairs($$SELECT id, body, left(site, 1) || '.org' AS host FROM pages$$, 0.8,
	boilerplate => 'host');

-- Documents without an origin count as they are; so do those of an origin with fewer than five.
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body, nullif(site, site) AS site FROM pages', 0.5,
	boilerplate => 'site');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body, id AS site FROM pages', 0.4, boilerplate => 'site');
-- NULL leaves nothing out.
SELECT count(*) FROM near_duplicate_pairs('pages', 0.4, body => 'body', boilerplate => NULL);

-- A page that has nothing but the frame is similar to its copies alone.
INSERT INTO pages
SELECT 30 + n, 'herald', NULL, 'The Northern Herald. Home | World | Business | Sport | Culture | Weather | Jobs | '
	'Subscribe now for 9.99 a month. ' || CASE n WHEN 3 THEN 'Oops' ELSE '' END ||
	' Share this article. Read our privacy policy and our terms of use. Copyright Northern Herald Ltd.'
FROM generate_series(1, 3) AS n;
SELECT round(jaccard(a.body, b.body)::numeric, 3) FROM pages AS a, pages AS b WHERE a.id = 31 AND b.id = 33;
SELECT * FROM near_duplicate_pairs('pages', 0.8, body => 'body', boilerplate => 'site') ORDER BY doc_a;
-- Copies count once: however many there are, they do not make their text boilerplate.
INSERT INTO pages SELECT 100 + n, 'herald', 1, upper(body) FROM generate_series(1, 40) AS n, pages WHERE id = 11;
SELECT count(*), min(similarity) FROM near_duplicate_pairs('pages', 0.8, body => 'body', boilerplate => 'site')
WHERE doc_a = '21' OR doc_b = '21';
DROP TABLE pages;

-- Products of a template: '*' says that all documents have one origin.
CREATE TABLE products (id integer PRIMARY KEY, body text);
INSERT INTO products
SELECT id, 'Men''s running shoe. Free shipping on all orders over 50. Return it within 30 days, no questions asked. '
	'Our customers love it: five stars. Colour, size and number: ' ||
	regexp_replace(md5((id / 2)::text) || md5((-id / 2)::text), '(.{4})', '\1 ', 'g') ||
	CASE WHEN id % 2 = 1 THEN 'NEW' ELSE '' END
FROM generate_series(1, 60) AS id;
SELECT count(*) FROM near_duplicate_pairs('products', 0.6);
SELECT count(*), bool_and(doc_a::integer / 2 = doc_b::integer / 2)
FROM near_duplicate_pairs('products', 0.8, boilerplate => '*');
-- Of sets as of texts, of documents, and with the options of any job.
SELECT count(*) FROM near_duplicate_pairs('SELECT id, string_to_array(body, '' '') FROM products', 0.6);
SELECT count(*) FROM near_duplicate_pairs('SELECT id, string_to_array(body, '' '') FROM products', 0.8,
	boilerplate => '*');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, minlsh_document(body) FROM products', 0.8, boilerplate => '*');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, minlsh_document(string_to_array(body, '' '')) FROM products',
	0.8, boilerplate => '*');
SELECT count(*) FROM near_duplicate_pairs('products', 0.8, boilerplate => '*', unit => 'word', shingle_size => 1);
SELECT count(*) FROM near_duplicate_pairs('products', 0.8, boilerplate => '*', bag => true, scheme => 'permutations');
SELECT count(*) FROM near_duplicate_pairs('products', 0.8, boilerplate => '*', scheme => 'datasketch_legacy');
SELECT count(*) FROM near_duplicate_pairs('products', 0.8, boilerplate => '*', verify => 'signature', num_perm => 64);

-- Signatures have lost what they are of.
SELECT * FROM near_duplicate_pairs('SELECT id, minlsh_signature(minhash(body)) FROM products', 0.8,
	boilerplate => '*');
-- Columns that are not there, or that have no equality.
SELECT * FROM near_duplicate_pairs('products', 0.8, boilerplate => 'site');
SELECT * FROM near_duplicate_pairs('SELECT id, body FROM products', 0.8, boilerplate => 'site');
SELECT * FROM near_duplicate_pairs('products', 0.8, boilerplate => 'lower(site)');
SELECT * FROM near_duplicate_pairs('SELECT id, body, ''{}''::json AS site FROM products', 0.8, boilerplate => 'site');
SELECT * FROM near_duplicates_between('SELECT id, body, 1 AS site FROM products',
	'SELECT id, body, ''one''::text AS site FROM products', 0.8, boilerplate => 'site');
DROP TABLE products, articles;

-- How much of each document counts, and why.
SELECT * FROM near_duplicate_boilerplate($$SELECT n, 'Home | News | Weather | Sport | Culture | Jobs | Subscribe | '
	'All rights reserved, the Northern Herald. ' ||
	(SELECT string_agg(md5(n || '-' || i), ' ') FROM generate_series(1, n) AS i),
	'a.org' AS site FROM generate_series(1, 6) AS n$$, 'site');
-- A row without a scope is not a document: it does not judge its origin.
SELECT origin, judged_by, level, counted FROM near_duplicate_boilerplate($$SELECT n, 'Home | News | Weather | ' || n,
	nullif(n % 3, 2) AS site, nullif(n, 1) AS part FROM generate_series(1, 15) AS n$$, 'site', scope => 'part')
ORDER BY origin, counted LIMIT 6;
SELECT count(*) FROM near_duplicate_boilerplate('SELECT 1, ''a text''', NULL);
SELECT * FROM near_duplicate_boilerplate('SELECT 1, minlsh_signature(minhash(''a text''))', '*');

-- Different texts of which the same few shingles are left are not copies: manuals and manual pages in six languages.
CREATE TABLE packages AS
SELECT row_number() OVER () AS id, 'maintainer' AS maintainer,
	language || form || 'a terminal-based package manager' AS body
FROM unnest(ARRAY['Czech', 'Spanish', 'Finnish', 'French', 'Italian', 'Japanese']) AS language,
	unnest(ARRAY[' manual for aptitude, ', ' man pages for aptitude, ']) AS form;
ALTER TABLE packages ADD PRIMARY KEY (id);
SELECT * FROM near_duplicate_pairs('packages', 0.3, body => 'body', boilerplate => 'maintainer');
-- Copies of them are.
INSERT INTO packages SELECT id + 100, maintainer, upper(body) FROM packages WHERE body LIKE 'French%';
SELECT * FROM near_duplicate_pairs('packages', 0.3, body => 'body', boilerplate => 'maintainer') ORDER BY doc_a;
SELECT doc_id, shingles, counted, by_equality FROM near_duplicate_boilerplate('packages', 'maintainer', body => 'body')
WHERE doc_id IN ('7', '107');
DROP TABLE packages;

-- A text of which nothing counts is no shingle of another one, however short it is.
CREATE TABLE words (id integer PRIMARY KEY, site text, body text);
INSERT INTO words
SELECT n, 'a', 'frame ' || repeat(md5(n::text) || ' ', 3) FROM generate_series(1, 9) AS n;
INSERT INTO words
VALUES (20, 'a', 'frame'), (21, 'b', 'blue sky and sea frame'), (22, 'b', 'Frame'), (23, 'a', 'FRAME');
SELECT * FROM near_duplicate_pairs('words', 0.2, body => 'body', unit => 'word', shingle_size => 1,
	boilerplate => 'site');
SELECT * FROM near_duplicate_pairs('words', 0.9, body => 'body', boilerplate => 'site');
UPDATE words SET body = replace(lower(body), 'frame', 'xxxxxxx');
SELECT * FROM near_duplicate_pairs('words', 0.9, body => 'body', boilerplate => 'site');
DROP TABLE words;

-- The definition, in SQL: what counts of each document, and every second pair of these sets. Of four origins nothing
-- is common to all.
CREATE FUNCTION frame(seed text, words integer) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(left(md5(seed || n), 3 + n % 5), ' ') FROM generate_series(1, words) AS n $$;
CREATE TABLE docs (id integer PRIMARY KEY, origin text, body text);
INSERT INTO docs
SELECT id, 'origin ' || id % 5,
	frame('head ' || id % 5, 3 * (id % 5) + 1) || ' ' || frame('text ' || id / 4, 10 + id % 40 / 4 * 4) ||
		CASE WHEN id % 4 = 3 THEN ' ' || id ELSE '' END || ' ' || frame('foot ' || id % 5, 9 * (id % 5 % 3) + 1) ||
		CASE WHEN id % 7 < id % 5 THEN ' ' || frame('banner ' || id % 5, 20) ELSE '' END
FROM generate_series(1, 300) AS id;
UPDATE docs SET origin = NULL WHERE origin = 'origin 4';
UPDATE docs SET body = frame('head 3', 9) || ' ' || frame('foot 3', 1) WHERE origin = 'origin 3' AND id % 11 = 0;
INSERT INTO docs SELECT id + 1000, origin, body FROM docs WHERE id % 9 = 0;

CREATE TABLE texts AS
SELECT DISTINCT ON (origin, body) id, origin, shingle_hashes(body) AS hashes FROM docs WHERE origin IS NOT NULL
ORDER BY origin, body, id;
CREATE TABLE counts AS
SELECT origin, hash, count(*) AS number, (SELECT count(*) FROM texts WHERE texts.origin = t.origin) AS documents
FROM texts AS t, unnest(hashes) AS hash GROUP BY origin, hash HAVING count(*) >= 5;
CREATE INDEX ON counts (origin);
ANALYZE counts;
CREATE TABLE levels AS
SELECT DISTINCT ON (origin) origin, level FROM (
	SELECT origin, level, 4 * count(*) FILTER (WHERE kept >= least(total, 150, greatest(20, ceil(0.8 * total))))
		>= 3 * count(*) AS is_enough
	FROM texts, generate_series(20, 70, 5) AS level, cardinality(hashes) AS total, LATERAL (
		SELECT total - count(*) AS kept FROM counts AS c
		WHERE c.origin = texts.origin AND c.hash = ANY (hashes) AND 100 * number > level * documents) AS k
	GROUP BY origin, level) AS judged
WHERE is_enough OR level = 70 ORDER BY origin, level;
CREATE TABLE counted AS
WITH left_over AS (
	SELECT id, body, cardinality(shingle_hashes(body)) AS shingles, array(
		SELECT unnest(shingle_hashes(body))
		EXCEPT SELECT hash FROM counts JOIN levels USING (origin)
		WHERE origin = docs.origin AND 100 * number > level * documents) AS hashes
	FROM docs
), enough AS (
	SELECT *, cardinality(hashes) AS count FROM left_over
)
SELECT id, shingles, count, by_equality,
	CASE WHEN by_equality THEN ARRAY[hashtextextended(body, 0)] ELSE hashes END AS hashes
FROM enough, LATERAL (SELECT count < shingles AND count < 60 AND NOT (count >= 20 AND count >= 0.8 * shingles))
	AS e (by_equality);
SELECT origin, level, count(*) AS documents, count(*) FILTER (WHERE by_equality) AS by_equality
FROM counted JOIN docs USING (id) LEFT JOIN levels USING (origin) GROUP BY origin, level ORDER BY origin;
SELECT count(*) FROM near_duplicate_boilerplate('docs', 'origin', body => 'body') AS f
	FULL JOIN (counted JOIN docs USING (id) LEFT JOIN levels USING (origin)) AS c ON c.id::text = f.doc_id
WHERE (c.origin, c.level, c.shingles, c.count, c.by_equality)
	IS DISTINCT FROM (f.origin, round(100 * f.level), f.shingles, f.counted, f.by_equality);
CREATE TABLE expected AS
WITH all_pairs AS MATERIALIZED (
	SELECT a.id AS a, b.id AS b, jaccard(a.hashes, b.hashes) AS similarity
	FROM counted AS a JOIN counted AS b ON a.id < b.id AND (a.id + b.id) % 2 = 0)
SELECT * FROM all_pairs WHERE similarity >= 0.7;
SELECT count(*), count(*) FILTER (WHERE similarity = 1), round(min(similarity)::numeric, 3) FROM expected;
CREATE VIEW found AS
SELECT doc_a::integer AS a, doc_b::integer AS b, similarity
FROM near_duplicate_pairs('docs', 0.7, body => 'body', recall => 0.9999, boilerplate => 'origin')
WHERE (doc_a::integer + doc_b::integer) % 2 = 0;
CREATE VIEW differences AS
(TABLE found EXCEPT TABLE expected) UNION ALL (TABLE expected EXCEPT TABLE found);
TABLE differences;
-- However little memory there is, with threads and without, and in whatever order the rows are.
SET maintenance_work_mem = '1MB';
TABLE differences;
SET max_parallel_workers_per_gather = 0;
TABLE differences;
RESET maintenance_work_mem;
TABLE differences;
CREATE TABLE other AS SELECT * FROM docs ORDER BY md5(id::text);
SELECT count(*) FROM (
	SELECT doc_a::integer, doc_b::integer, similarity
	FROM near_duplicate_pairs('SELECT id, body, origin FROM other', 0.7, recall => 0.9999, boilerplate => 'origin')
	WHERE (doc_a::integer + doc_b::integer) % 2 = 0
	EXCEPT TABLE expected) AS d;
RESET max_parallel_workers_per_gather;

-- Of many documents 200 are looked at. Which ones depends on their texts, and on nothing else.
CREATE TABLE many AS
SELECT id, 'one origin' AS origin, frame('head', 12) || ' ' || frame('text ' || id / 2, 20) ||
	CASE WHEN id % 10 < 2 THEN frame('banner', 12) ELSE '' END AS body
FROM generate_series(0, 1999) AS id;
CREATE FUNCTION answer(source text) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(doc_a || ' ' || doc_b || ' ' || similarity, ',' ORDER BY doc_a, doc_b))
	FROM near_duplicate_pairs(source, 0.6, boilerplate => 'origin') $$;
SELECT left(answer('SELECT id, body, origin FROM many'), 4);
SELECT count(DISTINCT answer(source)) FROM unnest(ARRAY[
	'SELECT id, body, origin FROM many ORDER BY id',
	'SELECT id, body, origin FROM many ORDER BY id DESC',
	'SELECT id, body, origin FROM many ORDER BY md5(id::text)']) AS source;
DROP VIEW differences, found;
DROP TABLE docs, texts, counts, levels, counted, expected, other, many;
DROP FUNCTION frame(text, integer);
DROP FUNCTION answer(text);
