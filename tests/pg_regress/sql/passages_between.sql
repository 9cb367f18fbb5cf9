-- What documents of one table have in common with documents of another one: contamination, quotations, replies.

-- A benchmark has one question a line. Training data wraps them at another width, and has many other texts.
CREATE TABLE questions (id integer PRIMARY KEY, body text);
INSERT INTO questions VALUES
	(1, 'Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May.'),
	(2, 'A robe takes 2 bolts of blue fiber and half that much white fiber. How many bolts does it take?'),
	(3, 'Weng earns 12 dollars an hour for babysitting. Yesterday, she did 50 minutes of babysitting.'),
	(4, 'Too short.');
CREATE TABLE training (id integer PRIMARY KEY, body text);
INSERT INTO training VALUES
	(10, E'Grade school math, page 3.\nNatalia sold clips to 48 of\nher friends in April, and\nthen she sold half as\n'
		'many clips in May.\nHow many in all?'),
	(11, E'Weng earns 12 dollars an hour\n  for babysitting. Yesterday, she read a book about clips.'),
	(12, 'Nothing of this is in any of the questions, whoever reads it and however long it may take.');

SELECT a_id, b_id, a_from, a_length, b_from, b_length, passage
FROM passages_between('questions', 'training', 50) ORDER BY a_id, b_id, a_from;
-- Places are those of the texts as they are stored.
SELECT p.a_id, p.passage = substr(q.body, p.a_from, p.a_length) AS is_of_a,
	normalize_text(p.passage) = normalize_text(substr(t.body, p.b_from, p.b_length)) AS is_of_b
FROM passages_between('questions', 'training', 50) AS p
JOIN questions AS q ON q.id = p.a_id JOIN training AS t ON t.id = p.b_id ORDER BY 1;

-- Only documents of which the other one has enough.
SELECT a_id, b_id, a_length FROM passages_between('questions', 'training', coverage => 0.7);
SELECT a_id, b_id, a_length FROM passages_between('questions', 'training', coverage => 1);

-- What more than so many documents of b have is boilerplate, and a notice says so.
INSERT INTO training
SELECT 100 + i, 'Natalia sold clips to 48 of her friends in April, and that is all of example ' || i || '.'
FROM generate_series(1, 5) AS i;
SELECT a_id, count(*) FROM passages_between('questions', 'training') GROUP BY a_id ORDER BY a_id;
SELECT a_id, b_id, passage FROM passages_between('questions', 'training', max_documents => 4);

-- Within a scope: mails and their threads. Keys may be of different types, and sources may be queries.
CREATE TABLE mails (id uuid PRIMARY KEY, thread integer, sent integer, body text);
INSERT INTO mails
SELECT md5('mail' || i)::uuid, i % 2, i, format('Mail %s of the thread. > %s wrote that %s will come on %s to see it',
	i, i % 2, (SELECT string_agg(md5(w::text || i % 2), ' ') FROM generate_series(1, 3) AS w), i)
FROM generate_series(1, 4) AS i;
SELECT a_id, b_id, a_length FROM passages_between($$SELECT sent, body, thread FROM mails WHERE sent > 2$$,
	'SELECT id, body, thread FROM mails WHERE sent <= 2', scope => 'thread') ORDER BY a_id;
SELECT count(*) FROM passages_between('SELECT sent, body FROM mails', 'SELECT sent, body FROM mails WHERE false');
SELECT count(*) FROM passages_between('SELECT sent, body FROM mails WHERE false', 'SELECT sent, body FROM mails');

-- By definition: what shared_passages() finds in each pair.
CREATE TABLE words AS
SELECT i AS id, (SELECT string_agg((ARRAY['Lorem ', 'ipsum  ', 'dolor', E'sit\n', 'amet, ', 'é', '漢字 '])[1 +
	get_byte(decode(md5(i / 3 || ' ' || w / 7), 'hex'), w % 7) % 7], '' ORDER BY w) FROM generate_series(1, 60) AS w)
	AS body
FROM generate_series(1, 40) AS i;
CREATE VIEW by_definition AS
	SELECT a.id AS a_id, b.id AS b_id, s.*, passage_coverage(a.body, b.body, 20) AS coverage
	FROM words AS a, words AS b, shared_passages(a.body, b.body, 20) AS s WHERE a.id % 2 = 0 AND b.id % 2 = 1;
CREATE FUNCTION found(coverage double precision) RETURNS TABLE (a_id integer, b_id integer, a_from integer,
	a_length integer, b_from integer, b_length integer, passage text) LANGUAGE sql AS $$
	SELECT * FROM passages_between('SELECT id, body FROM words WHERE id % 2 = 0',
		'SELECT id, body FROM words WHERE id % 2 = 1', 20, coverage => coverage) $$;
SELECT share, (SELECT count(*) > 20 FROM found(share)) AS some, (SELECT count(*) FROM (
		SELECT * FROM found(share) EXCEPT SELECT a_id, b_id, a_from, a_length, b_from, b_length, passage
		FROM by_definition WHERE share IS NULL OR coverage >= share) AS x) AS wrong,
	(SELECT count(*) FROM (SELECT a_id, b_id, a_from, a_length, b_from, b_length, passage
		FROM by_definition WHERE share IS NULL OR coverage >= share EXCEPT SELECT * FROM found(share)) AS x) AS missing
FROM unnest(ARRAY[NULL, 0.3, 0.8]::double precision[]) AS share;
-- Little memory: the same answer.
SELECT count(*) AS rows, md5(string_agg(b::text, ',' ORDER BY b)) AS hash FROM found(NULL) AS b \gset
SET maintenance_work_mem = '1MB';
SELECT count(*) = :rows AND md5(string_agg(b::text, ',' ORDER BY b)) = :'hash' AS is_same FROM found(NULL) AS b;
RESET maintenance_work_mem;

-- What is refused.
SELECT * FROM passages_between('questions', NULL);
SELECT * FROM passages_between('questions', 'SELECT 1, ARRAY[1]');
SELECT * FROM passages_between('questions', 'training', 5);
SELECT * FROM passages_between('questions', 'training', coverage => 2);
SELECT * FROM passages_between('questions', 'training', max_documents => 0);
SELECT * FROM passages_between('questions', 'SELECT 1, body FROM training');

-- The rights of the caller.
CREATE ROLE regress_minlsh_reader;
GRANT SELECT ON questions TO regress_minlsh_reader;
SET ROLE regress_minlsh_reader;
SELECT count(*) FROM passages_between('questions', 'training');
RESET ROLE;
GRANT SELECT ON training TO regress_minlsh_reader;
ALTER TABLE training ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON training USING (id = 11);
SET ROLE regress_minlsh_reader;
SELECT a_id, b_id FROM passages_between('questions', 'training');
RESET ROLE;

DROP FUNCTION found;
DROP VIEW by_definition;
DROP TABLE questions, training, mails, words;
DROP ROLE regress_minlsh_reader;
