-- A side table that its owner has let others read, before the documents go to somebody else, who looks at the rights to
-- the documents and does not know of those.
-- Attacker: the former owner, and whom he let read. Must not: they read signatures of what the new owner writes.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
GRANT SELECT ON evil.docs_minlsh TO attacker;
GRANT SELECT ON evil.docs_minlsh TO reader WITH GRANT OPTION;
GRANT SELECT (signature, bands) ON evil.docs_minlsh TO dbowner, PUBLIC;
GRANT USAGE ON SCHEMA evil TO reader, dbowner;
-- as reader:
GRANT SELECT ON evil.docs_minlsh TO dbowner;
-- as superuser:
GRANT CREATE, USAGE ON SCHEMA evil TO owner;
ALTER TABLE evil.docs OWNER TO owner;
-- as owner:
INSERT INTO evil.docs VALUES (3, 'SECRET of the new owner');
-- gives: 1
SELECT count(*) FROM evil.docs_minlsh WHERE doc_id = 3;
-- as reader:
-- refused: 42501
SELECT signature FROM evil.docs_minlsh;
-- as dbowner:
-- refused: 42501
SELECT signature FROM evil.docs_minlsh;
-- refused: 42501
SELECT doc_id FROM evil.docs_minlsh;
-- as attacker:
-- refused: 42501
SELECT bands FROM evil.docs_minlsh;
