-- Errors made on purpose by operators and statistics on a table of which the attacker may see nothing.
-- Attacker: who has SELECT on one column only. Must not: the other column's values come out in an error or in a
-- result.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, open int);
INSERT INTO app.docs SELECT i, 'SECRET words that nobody reads ' || i % 5, i FROM generate_series(1, 50) i;
SELECT minlsh_create_side_table('app.docs', 'body');
GRANT SELECT (id, open) ON app.docs TO attacker;
-- as attacker:
-- refused: 42501
SELECT near_duplicates(1, 0.9, 'app.docs');
-- refused: 42501
SELECT near_duplicates(1, 0.9, 'app.docs', 'signature');
-- refused: 42501
SELECT near_duplicates_of('SECRET words that nobody reads 1', 0.9, 'app.docs');
-- refused: 42501
SELECT near_duplicate_pairs('app.docs', 0.9);
-- refused: 42501
SELECT near_duplicate_clusters('app.docs', 0.9);
-- refused: 42501
SELECT near_duplicate_plan('app.docs', 0.9);
-- refused: 42501
SELECT minlsh_recall('app.docs');
-- refused: 42501
SELECT minlsh_explain('app.docs', 1, 6);
-- refused: 42501
SELECT minlsh_check('app.docs');
-- refused: 42501
SELECT minlsh_rebuild_side_table('app.docs');
-- refused: 42501
SELECT minlsh_drop_side_table('app.docs');
-- refused: 42501
SELECT minlsh_create_side_table('app.docs', 'body', name => 'second');
-- refused: 42501
SELECT * FROM app.docs_minlsh;
-- as attacker, second session:
-- refused: 42501
SELECT near_duplicates(1, 0.9, 'app.docs_minlsh');
