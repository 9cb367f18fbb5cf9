-- Pairs of exact copies: all of them, or each further copy once.
CREATE TABLE pages (id integer PRIMARY KEY, site integer, body text);
INSERT INTO pages SELECT n, n % 2, 'a text that many pages have, word for word, and nothing else'
FROM generate_series(1, 4) AS n;
INSERT INTO pages VALUES (5, 0, 'a text that many pages have, word for word, and nothing less'),
	(0, 1, 'a text that many pages have, word for word, and nothing less'), (9, 0, 'something else altogether');
SELECT count(*) FROM near_duplicate_pairs('pages', 0.7);
SELECT count(*) FROM near_duplicate_pairs('pages', 0.7, copies => 'all');
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM near_duplicate_pairs('pages', 0.7, copies => 'once') ORDER BY 1, 2;
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM near_duplicate_pairs('pages', 0.7, scope => 'site', copies => 'once') ORDER BY 1, 2;
-- A document that is listed in "apart" has no copies.
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM near_duplicate_pairs('pages', 0.7, apart => 'VALUES (1, 2)', copies => 'once') ORDER BY 1, 2;
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM near_duplicate_pairs('pages', 0.7, apart => 'VALUES (1, 9)', copies => 'once') ORDER BY 1, 2;
-- Between two sources each document that has a near-duplicate in the other one is listed.
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM near_duplicates_between('SELECT id, body FROM pages WHERE site = 0', 'SELECT id, body FROM pages WHERE site = 1',
	0.7, copies => 'once') ORDER BY 1, 2;
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM near_duplicates_between('SELECT id, body FROM pages WHERE id < 5', 'SELECT id, body FROM pages WHERE id = 5',
	0.7, copies => 'once') ORDER BY 1, 2;
SELECT count(*) FROM near_duplicate_pairs('pages', copies => 'twice');
SELECT count(*) FROM near_duplicate_pairs('pages', copies => NULL);
DROP TABLE pages;

-- Many of them are announced before they are written, and temp_file_limit may stop them.
CREATE TABLE deleted AS SELECT n AS id, '[deleted]' AS body FROM generate_series(1, 4500) AS n;
SET temp_file_limit = '8MB';
-- The message of PostgreSQL has quotes since version 17.
CREATE FUNCTION refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN configuration_limit_exceeded THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN hint;
END $$;
SELECT refused('SELECT count(*) FROM near_duplicate_pairs(''SELECT id, body FROM deleted'', 0.9)');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body FROM deleted', 0.9, copies => 'once');
SELECT refused('SELECT count(*) FROM near_duplicates_between(''SELECT id, body FROM deleted'',
	''SELECT id, body FROM deleted'', 0.9)');
SELECT count(*) FROM near_duplicates_between('SELECT id, body FROM deleted', 'SELECT id, body FROM deleted', 0.9,
	copies => 'once');
DROP FUNCTION refused;
RESET temp_file_limit;
DROP TABLE deleted;
