-- Whole-corpus functions that take a query as text: statements that write, several statements, names that are
-- queries, functions with side effects.
-- Attacker: whoever chooses part of the name of a table. Must not: more than a plain SELECT be done.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs SELECT i, 'one text' FROM generate_series(1, 5) i;
CREATE TABLE app."SELECT 1, 'x'" (id int PRIMARY KEY, body text);
-- refused
SELECT near_duplicate_pairs('DELETE FROM app.docs RETURNING id, body', 0.9);
-- refused
SELECT near_duplicate_pairs('SELECT id, body FROM app.docs; DELETE FROM app.docs', 0.9);
-- refused
SELECT near_duplicate_pairs('WITH d AS (DELETE FROM app.docs RETURNING id, body) SELECT * FROM d', 0.9);
-- refused
SELECT near_duplicate_pairs('TRUNCATE app.docs', 0.9);
-- refused
SELECT near_duplicate_pairs('COPY app.docs TO STDOUT', 0.9);
-- refused
SELECT near_duplicate_pairs('CREATE TABLE app.x AS SELECT id, body FROM app.docs', 0.9);
-- refused
SELECT near_duplicate_pairs('SELECT id, body INTO app.x FROM app.docs', 0.9);
-- refused
SELECT near_duplicate_pairs('BEGIN', 0.9);
-- refused
SELECT near_duplicate_pairs('COMMIT', 0.9);
-- refused
SELECT near_duplicate_pairs('VACUUM', 0.9);
-- refused
SELECT near_duplicate_pairs('', 0.9);
-- refused
SELECT near_duplicate_pairs(';', 0.9);
-- tried
SELECT near_duplicate_pairs('SELECT id, body FROM app.docs FOR UPDATE', 0.9);
-- tried
SELECT near_duplicate_pairs('SELECT pg_advisory_lock(1)::text, ''x''', 0.9);
-- tried
SELECT near_duplicate_plan('app.docs', 0.9, keep => 'id; DELETE FROM app.docs');
-- tried
SELECT near_duplicate_plan('app.docs', 0.9, keep => '(SELECT 1 FROM pg_sleep(0)) LIMIT 1');
-- tried
SELECT near_duplicate_plan('app.docs', 0.9, keep => 'id) ; --');
-- refused
SELECT near_duplicate_pairs('app.docs', 0.9, agree => 'ARRAY[id]; DELETE FROM app.docs');
-- refused
SELECT near_duplicate_pairs('app.docs', 0.9, agree => 'ARRAY[1]), NULL) FROM app.docs; DELETE FROM app.docs; --');
-- refused
SELECT near_duplicate_pairs('app.docs', 0.9,
	agree => '(WITH x AS (DELETE FROM app.docs RETURNING id) SELECT array_agg(id) FROM x)');
-- gives: 5
SELECT count(*) FROM app.docs;
