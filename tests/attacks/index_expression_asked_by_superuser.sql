-- An index on an expression of the attacker's, which a superuser asks by its table's name alone.
-- Attacker: the owner of the table. Must not: the function run as the superuser: a plain SELECT of the table does
-- not run it.

-- as attacker:
CREATE FUNCTION evil.f(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('an expression'); RETURN $1; END $$;
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 20) i;
CREATE INDEX native ON evil.docs USING minlsh (evil.f(body)) WHERE evil.f(body) IS NOT NULL;
-- as superuser:
-- tried
SELECT near_duplicates(1, 0.9, 'evil.docs');
-- tried
SELECT near_duplicates(1, 0.9, 'evil.native');
-- tried
SELECT near_duplicate_pairs('evil.docs', 0.9);
-- tried
SELECT near_duplicate_pairs('evil.native', 0.9);
-- tried
SELECT near_duplicates_of('one text', 0.9, 'evil.docs');
-- tried
SELECT minlsh_check('evil.native');
-- tried
SELECT minlsh_recall('evil.native');
-- tried
SELECT minlsh_explain('evil.native', 1, 2);
-- tried
SELECT * FROM minlsh_indexes;
-- tried
SELECT near_duplicates(1);
