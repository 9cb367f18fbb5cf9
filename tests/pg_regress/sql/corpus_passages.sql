-- Passages of a whole corpus, without an index.

CREATE TABLE pages (id integer PRIMARY KEY, site text, body text);
-- 120 pages of words that differ: all have a header, every third one a notice.
INSERT INTO pages
SELECT i, 'site ' || i % 2, 'Welcome to the public library of the city. You are here: start, catalogue, page. '
	|| (SELECT string_agg(md5((i * 100 + w)::text), ' ') FROM generate_series(1, 6) AS w)
	|| CASE i % 3 WHEN 0 THEN ' Please note: the reading room stays closed on public holidays and Sundays.' ELSE '' END
FROM generate_series(1, 120) AS i;
-- Copies are one document: fifty of them make nothing boilerplate.
INSERT INTO pages
SELECT 200 + i, 'site 0', 'The same page over and over, with nothing on it that any other page would say.'
FROM generate_series(1, 50) AS i;
INSERT INTO pages VALUES (300, 'site 0', 'short'), (301, 'site 1', NULL);

-- What many documents have in common: each passage once, of the first document that has it.
SELECT * FROM common_passages('pages', 30, body => 'body') ORDER BY documents DESC, passage_length;
SELECT documents, passage, passage = substr(p.body, passage_from, passage_length) AS is_there
FROM common_passages('pages', 100, body => 'body') AS c JOIN pages AS p ON p.id = c.doc_id;
SELECT count(*) FROM common_passages('pages', 121, body => 'body');

-- Signatures of mails: two passages are meant. What some mails happen to have before or behind them is none.
SELECT documents, passage_length, left(passage, 30) AS starts, right(passage, 20) AS ends FROM common_passages($$
	SELECT i, repeat(chr(97 + i % 7), 3) || md5(i::text) || 'x' || i % 3
	|| ' This message is for its addressee alone. If it is not for you, please delete it and tell its sender. '
	|| i % 4 || md5((i * 7)::text) || chr(97 + i % 5)
	|| ' Registered office of the company: 12 Harbour Road, Port Town. Directors: A. Smith and B. Jones. '
	|| (i % 6)::text || md5((i * 3)::text) FROM generate_series(1, 400) AS i$$, 20);
-- If min_documents hides all, a notice says so.
SELECT * FROM common_passages('SELECT id, body FROM pages WHERE id < 50', 100);

-- The documents without it. Words stay whole.
SELECT doc_id, removed, length(body), left(body, 20) AS start, right(body, 20) AS ends
FROM strip_passages('pages', 30, body => 'body')
WHERE doc_id IN (1, 3, 201, 300) ORDER BY doc_id;
SELECT count(*), count(*) FILTER (WHERE removed = 0) AS unchanged FROM strip_passages('pages', 100, body => 'body');

-- What a document has that an earlier one has already.
CREATE TABLE essays (id bigint PRIMARY KEY, body text);
INSERT INTO essays VALUES
	(1, 'The sea was calm that evening, and the fishermen mended their nets in silence. Nobody spoke of the storm.'),
	(2, 'As I wrote: "the sea was calm that  evening, and the fishermen mended their nets in silence." Was it so?'),
	(3, 'Nobody saw it. THE FISHERMEN MENDED THEIR NETS IN SILENCE. NOBODY SPOKE OF THE STORM. The end of it all.'),
	(4, 'The sea was calm that evening, and the fishermen mended their nets in silence. Nobody spoke of the storm.');
SELECT r.*, substr(e.body, passage_from, passage_length) AS passage
FROM repeated_passages('essays', 50) AS r JOIN essays AS e ON e.id = r.doc_id
ORDER BY doc_id, passage_from;
SELECT * FROM repeated_passages('SELECT id, body FROM essays', min_match => 30) ORDER BY doc_id, passage_from;

-- By definition: every window that an earlier document has, and no other.
CREATE FUNCTION windows(body text, n integer) RETURNS TABLE (at integer, part text) LANGUAGE sql IMMUTABLE AS
	$$ SELECT i, substr(body, i, n) FROM generate_series(1, length(body) - n + 1) AS i $$;
CREATE TEMP TABLE texts AS SELECT id, normalize_text(body) AS body FROM essays;
SELECT count(*) AS missed_or_invented FROM (
	SELECT t.id, w.at FROM texts AS t, windows(t.body, 50) AS w
	WHERE EXISTS (SELECT FROM texts AS earlier WHERE earlier.id < t.id AND position(w.part IN earlier.body) > 0)
	EXCEPT
	SELECT doc_id::integer, generate_series(passage_from, passage_from + passage_length - 50)
	FROM repeated_passages('SELECT id, body FROM texts', 50)
) AS difference;
SELECT count(*) AS missed_or_invented FROM (
	SELECT doc_id::integer, generate_series(passage_from, passage_from + passage_length - 50)
	FROM repeated_passages('SELECT id, body FROM texts', 50)
	EXCEPT
	SELECT t.id, w.at FROM texts AS t, windows(t.body, 50) AS w
	WHERE EXISTS (SELECT FROM texts AS earlier WHERE earlier.id < t.id AND position(w.part IN earlier.body) > 0)
) AS difference;
SELECT sum(documents) FILTER (WHERE documents < 2) IS NULL AS enough,
	count(*) = count(DISTINCT passage) AS each_once FROM common_passages('essays', 2);

-- Within a scope documents of other scopes do not count.
SELECT site, count(*), min(documents), max(documents)
FROM common_passages('pages', 20, body => 'body', scope => 'site') AS c
JOIN pages AS p ON p.id = c.doc_id
GROUP BY site ORDER BY site;

-- Keys are of the type minlsh_key, as those of near_duplicate_pairs() are.
SELECT pg_typeof(doc_id), count(*) FROM strip_passages('pages', 30, 'body') GROUP BY 1;
SELECT pg_typeof(of_doc_id), count(*) FROM repeated_passages('essays', NULL) GROUP BY 1;

-- Which documents are inside others: wholly, or 30 % of them. Copies are one document, of the first key.
CREATE TABLE mails (id integer PRIMARY KEY, thread integer, body text);
INSERT INTO mails
SELECT i, i % 3, string_agg(format('%s wrote: %s.', upper(left(md5((i % 3)::text || n), 5)),
	(SELECT string_agg(md5(format('%s %s %s', i % 3, n, w)), ' ') FROM generate_series(1, 3) AS w)), ' > ' ORDER BY n DESC)
FROM generate_series(1, 30) AS i, generate_series(1, 1 + i / 3) AS n GROUP BY i;
INSERT INTO mails SELECT 100 + id, thread, '  ' || upper(body) FROM mails WHERE id IN (1, 30);
INSERT INTO mails VALUES (200, 1, 'too short'), (201, 2, '');
SELECT * FROM contained_documents('mails', 1) WHERE doc_id::integer % 3 = 1 ORDER BY doc_id;
SELECT count(*), sum(containers), round(min(coverage)::numeric, 3) AS least
FROM contained_documents('mails', 0.3, scope => 'thread');
-- By definition: all that passage_coverage() finds, the longest of them, the first of equally long ones.
CREATE FUNCTION contained_by_definition(share double precision)
RETURNS TABLE (doc_id integer, container_id integer, coverage double precision, containers bigint)
LANGUAGE sql AS $$
	WITH documents AS (SELECT min(id) AS id, normalize_text(body) AS body FROM mails
		GROUP BY normalize_text(body) HAVING length(normalize_text(body)) >= 50)
	SELECT DISTINCT ON (a.id) a.id, b.id, c, count(*) OVER (PARTITION BY a.id)
	FROM documents AS a JOIN documents AS b ON a.id <> b.id, passage_coverage(a.body, b.body) AS c
	WHERE c >= share - 1e-9 ORDER BY a.id, length(b.body) DESC, b.id
$$;
SET client_min_messages = warning;
SELECT share, (SELECT count(*) FROM contained_by_definition(share)) AS contained,
	(SELECT count(*) FROM (SELECT doc_id::integer, container_id::integer, coverage, containers
		FROM contained_documents('mails', share)
		EXCEPT SELECT * FROM contained_by_definition(share)) AS x) AS wrong,
	(SELECT count(*) FROM (SELECT * FROM contained_by_definition(share)
		EXCEPT SELECT doc_id::integer, container_id::integer, coverage, containers
		FROM contained_documents('mails', share)) AS x) AS missing
FROM unnest(ARRAY[1, 0.9, 0.5, 0.2, 0.01]::double precision[]) AS share;
RESET client_min_messages;
-- Of a part that more documents have than a tenth of the limit, so many are compared, the nearest by key.
SET minlsh.bucket_limit = 10;
SELECT count(*), max(containers) FROM contained_documents('mails', 0.2);
RESET minlsh.bucket_limit;
SET maintenance_work_mem = '1MB';
SELECT count(*), sum(containers) FROM contained_documents('mails', 0.2);
RESET maintenance_work_mem;
SELECT * FROM contained_documents('mails', 0);
\set VERBOSITY terse
SELECT * FROM contained_documents('mails', key => 1);
\set VERBOSITY default
DROP TABLE mails;
DROP FUNCTION contained_by_definition;

-- Little memory: the same answer, by way of temporary files.
SET maintenance_work_mem = '1MB';
SELECT count(*), sum(passage_length) FROM common_passages('pages', 30, body => 'body');
SELECT count(*) FROM strip_passages('pages', 30, body => 'body') WHERE removed > 0;
CREATE TABLE copies AS SELECT i AS id, (SELECT string_agg(md5(w::text), ' ') FROM generate_series(1, 200) AS w) AS body
FROM generate_series(1, 20) AS i;
SELECT count(*), min(passage_length), max(passage_length), max(of_doc_id)
FROM repeated_passages('SELECT id, body FROM copies', 50);
DROP TABLE copies;
RESET maintenance_work_mem;

-- What is refused.
SELECT * FROM common_passages('pages', 1, body => 'body');
SELECT * FROM common_passages('pages', body => 'body', min_match => 5);
SELECT * FROM common_passages('pages');
SELECT * FROM common_passages('SELECT id, ARRAY[1, 2] FROM pages');
SELECT * FROM repeated_passages('SELECT 1, body FROM essays');
SELECT * FROM strip_passages(NULL);

DROP TABLE pages, essays, texts;
DROP FUNCTION windows;
