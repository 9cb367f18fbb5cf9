-- A table whose key is of a domain with a CHECK function; a superuser asks with a key as text.
-- Attacker: the owner of the table. Must not: the CHECK run as the superuser, which a plain SELECT does not do.

-- as attacker:
CREATE FUNCTION evil.check(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('a domain'); END $$;
CREATE DOMAIN evil.key AS text CHECK (evil.check(VALUE));
CREATE TABLE evil.docs (id evil.key PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES ('a', 'one text'), ('b', 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE DOMAIN evil.number AS int CHECK (evil.check(VALUE::text));
CREATE TABLE evil.numbers (id evil.number PRIMARY KEY, body text);
INSERT INTO evil.numbers VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('evil.numbers', 'body');
-- as superuser:
-- gives: b
SELECT doc_id FROM near_duplicates('a', 0.9, 'evil.docs');
-- gives: b
SELECT doc_id FROM near_duplicates('a', 0.9, 'evil.docs', 'exact');
-- gives: 2
SELECT doc_id FROM near_duplicates('1', 0.9, 'evil.numbers');
SELECT near_duplicates(1, 0.9, 'evil.numbers', 'exact');
SELECT near_duplicates_of('one text', 0.9, 'evil.numbers');
SELECT near_duplicate_pairs('evil.numbers', 0.9);
SELECT near_duplicate_clusters('evil.numbers', 0.9);
SELECT minlsh_explain('evil.docs', 'a'::text, 'b'::text);
SELECT minlsh_check('evil.docs');
SELECT minlsh_check('evil.numbers');
SELECT minlsh_rebuild_side_table('evil.docs');
