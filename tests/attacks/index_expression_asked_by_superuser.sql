-- An index on an expression of the attacker's, when a superuser looks after indexes, or asks without naming it.
-- Who asks an index of somebody else by its name is refused.
-- Attacker: the owner of the table. Must not: the function run as the superuser.

-- as attacker:
CREATE FUNCTION evil.f(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('an expression'); RETURN $1; END $$;
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 20) i;
CREATE INDEX native ON evil.docs USING minlsh (evil.f(body)) WHERE evil.f(body) IS NOT NULL;
-- as superuser:
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.native');
SELECT * FROM minlsh_indexes;
-- tried
SELECT near_duplicates(1);
-- tried
SELECT near_duplicates_of('one text');
SELECT near_duplicate_pairs('evil.docs', 0.9, body => 'body');
REINDEX INDEX evil.native;
REINDEX INDEX CONCURRENTLY evil.native;
VACUUM ANALYZE evil.docs;
EXPLAIN SELECT * FROM evil.docs WHERE body ~= 'one text';
