-- How many rows there are, as a reader under row-level security and a stranger may learn it.
-- Attacker: a reader of a table with policies. Must not: a number that counts hidden rows.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, 'one text', CASE WHEN i <= 3 THEN 'attacker' ELSE 'owner' END
	FROM generate_series(1, 50) i;
SELECT minlsh_create_side_table('app.docs', 'body');
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
CREATE TABLE app.closed (id int PRIMARY KEY, body text);
INSERT INTO app.closed SELECT i, 'one text' FROM generate_series(1, 50) i;
SELECT minlsh_create_side_table('app.closed', 'body');
-- as attacker:
-- gives: 0
SELECT count(*) FROM minlsh_indexes i WHERE i::text ~ '\m(50|47)\M';
-- gives: 2
SELECT count(*) FROM near_duplicates(1, 0.9, 'app.docs');
-- gives: 3
SELECT count(*) FROM near_duplicate_pairs('app.docs', 0.9);
-- gives: 0
SELECT count(*) FROM minlsh_recall('app.docs') r WHERE r::text ~ '\m(50|47)\M';
-- refused
SELECT near_duplicates(1, 0.9, 'app.closed');
-- refused
SELECT minlsh_recall('app.closed');
-- refused
SELECT minlsh_check('app.docs');
