-- A side table that is renamed under a lock, and a view put in its place, while a monitoring session asks.
-- Attacker: the owner of an indexed table. Must not: the view's code run as the superuser who monitors.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE FUNCTION evil.look() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('a view'); END $$;
-- as superuser:
SELECT * FROM minlsh_indexes;
SELECT * FROM minlsh_indexes;
-- as superuser, second session:
SELECT * FROM near_duplicates(1, 0.9, 'evil.docs');
SELECT * FROM near_duplicates(1, 0.9, 'evil.docs', 'signature');
SELECT * FROM minlsh_check('evil.docs');
-- as attacker:
BEGIN;
LOCK TABLE evil.docs_minlsh IN ACCESS EXCLUSIVE MODE;
-- as superuser, meanwhile:
-- tried
SELECT * FROM minlsh_indexes;
-- tried
SELECT * FROM minlsh_indexes;
-- as superuser, second session, meanwhile:
-- tried
SELECT * FROM near_duplicates(1, 0.9, 'evil.docs', 'signature');
-- tried
SELECT * FROM near_duplicates(1, 0.9, 'evil.docs');
-- tried
SELECT * FROM minlsh_check('evil.docs');
-- as attacker:
ALTER TABLE evil.docs_minlsh RENAME TO hidden;
CREATE VIEW evil.docs_minlsh AS SELECT * FROM evil.hidden WHERE evil.look();
COMMIT;
-- as superuser:
-- tried
SELECT * FROM minlsh_indexes;
-- tried
SELECT * FROM near_duplicate_pairs('evil.docs', 0.9);
-- tried
SELECT * FROM minlsh_recall('evil.docs');
-- tried
SELECT minlsh_rebuild_side_table('evil.docs');
