-- The expression of `agree` reads a column that the caller may not read, or calls a function that the caller may not.
-- Attacker: whoever may read key and text of a table. Must not: anything be told of the other columns.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, secret text);
INSERT INTO app.docs SELECT i, 'one text of several words', 'SECRET' || i % 2 FROM generate_series(1, 5) i;
CREATE INDEX docs_near ON app.docs USING minlsh (body);
CREATE FUNCTION app.arrays(body text) RETURNS text[] LANGUAGE sql AS 'SELECT ARRAY[body]';
REVOKE ALL ON FUNCTION app.arrays FROM public;
GRANT USAGE ON SCHEMA app TO reader;
GRANT SELECT (id, body) ON app.docs TO reader;
-- as reader:
-- gives: 10
SELECT count(*) FROM near_duplicate_pairs('app.docs', 0.9, body => 'body', agree => 'ARRAY[body]');
-- refused: 42501
SELECT near_duplicate_pairs('app.docs', 0.9, body => 'body', agree => 'ARRAY[secret]');
-- refused: 42501
SELECT near_duplicate_pairs('SELECT id, body FROM app.docs', 0.9, agree => '(SELECT array_agg(secret) FROM app.docs)');
-- refused: 42501
SELECT near_duplicate_plan('app.docs', 0.9, body => 'body', agree => 'ARRAY[d::text]');
-- refused: 42501
SELECT near_duplicate_clusters('app.docs', 0.9, body => 'body', agree => 'app.arrays(body)');
