-- Types of the attacker's own as polymorphic arguments, elements of sets, keys and bodies: with an equality
-- operator class, a cast to text, an output function that are planted.
-- Attacker: an ordinary user. Must not: planted code run as anybody else, or types be taken for others.

-- as attacker:
CREATE TYPE evil.pair AS (a int, b text);
CREATE TYPE evil.mood AS ENUM ('sad', 'ok');
CREATE FUNCTION evil.cast(evil.pair) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('a cast'); RETURN ($1).b; END $$;
CREATE CAST (evil.pair AS text) WITH FUNCTION evil.cast AS IMPLICIT;
CREATE TABLE evil.docs (id evil.pair PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (ROW(1, 'x'), 'one text'), (ROW(2, 'y'), 'one text');
-- tried
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE TABLE evil.moods (id evil.mood PRIMARY KEY, body evil.pair);
INSERT INTO evil.moods VALUES ('sad', ROW(1, 'one text'));
-- tried
SELECT minlsh_create_side_table('evil.moods', 'body');
-- tried
SELECT near_duplicates(ROW(1, 'x'), 0.9, 'evil.docs');
-- tried
SELECT near_duplicates(ROW(1, 'x')::evil.pair, 0.9, 'evil.docs');
-- tried
SELECT near_duplicates('sad'::evil.mood, 0.9, 'evil.docs');
-- tried
SELECT near_duplicates('(1,x)'::text, 0.9, 'evil.docs');
-- tried
SELECT jaccard(ARRAY[ROW(1, 'x')::evil.pair, NULL], ARRAY[ROW(1, 'x')::evil.pair]);
-- tried
SELECT jaccard(ARRAY['sad', 'ok']::evil.mood[], ARRAY['ok']::evil.mood[]);
-- tried
SELECT minhash(ARRAY[ROW(1, 'x')::evil.pair]);
-- as superuser:
-- tried
SELECT near_duplicates(ROW(1, 'x')::evil.pair, 0.9, 'evil.docs', 'exact');
-- tried
SELECT near_duplicates('(1,x)'::text, 0.9, 'evil.docs');
-- tried
SELECT near_duplicate_pairs('evil.docs', 0.9);
-- tried
SELECT near_duplicate_plan('evil.docs', 0.9);
-- tried
SELECT minlsh_check('evil.docs');
-- tried
SELECT minlsh_rebuild_side_table('evil.docs');
