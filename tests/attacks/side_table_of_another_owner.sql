-- A side table given to somebody else, and the table kept; then the table given away, and the side table kept.
-- Attacker: an owner. Must not: somebody else's table be written or read through the index.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
-- as superuser:
GRANT CREATE ON SCHEMA evil TO owner;
ALTER TABLE evil.docs_minlsh OWNER TO owner;
-- as attacker:
-- tried
INSERT INTO evil.docs VALUES (3, 'one text');
-- tried
SELECT near_duplicates(1, 0.9, 'evil.docs', 'signature');
-- tried
SELECT near_duplicate_pairs('evil.docs', 0.9, 'signature');
-- tried
SELECT minlsh_rebuild_side_table('evil.docs');
-- as superuser:
-- gives: t
SELECT count(*) = 2 OR EXISTS (SELECT FROM pg_class WHERE oid = 'evil.docs_minlsh'::regclass
	AND relowner = 'attacker'::regrole)
	FROM evil.docs_minlsh;
-- tried
SELECT minlsh_check('evil.docs');
-- tried
SELECT minlsh_rebuild_side_table('evil.docs');
-- tried
INSERT INTO evil.docs VALUES (4, 'one text');
