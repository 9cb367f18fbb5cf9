-- A side table that its owner has tied to a second table, before the first goes to somebody else.
-- Attacker: the former owner. Must not: the side table show what the new owner writes.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
CREATE TABLE evil.kept (id int PRIMARY KEY, body text);
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE TRIGGER tie AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.kept
	FOR EACH ROW WHEN ('evil.docs_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
INSERT INTO evil.kept VALUES (2, 'one text');
INSERT INTO evil.docs VALUES (1, 'one text');
-- Another one, of which PostgreSQL knows that it is tied to both.
CREATE TABLE evil.more (id int PRIMARY KEY, body text);
SELECT minlsh_create_side_table('evil.more', 'body');
CREATE TRIGGER tie_more AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.kept
	FOR EACH ROW WHEN ('evil.more_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
DROP TRIGGER tie ON evil.kept;
SELECT minlsh_rebuild_side_table('evil.kept');
CREATE TRIGGER tie AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.kept
	FOR EACH ROW WHEN ('evil.docs_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
-- as superuser:
GRANT CREATE, USAGE ON SCHEMA evil TO owner;
ALTER TABLE evil.docs OWNER TO owner;
ALTER TABLE evil.more OWNER TO owner;
-- as owner:
-- refused: 55000
INSERT INTO evil.more VALUES (3, 'SECRET of the new owner');
INSERT INTO evil.docs VALUES (4, 'SECRET of the new owner');
-- as attacker:
-- refused: 42501
SELECT * FROM evil.docs_minlsh;
-- refused: 42501
SELECT near_duplicates(4, 0.9, 'evil.docs');
-- refused: 55000
INSERT INTO evil.kept VALUES (5, 'one text');
-- tried
SELECT minlsh_rebuild_side_table('evil.kept');
-- tried
SELECT minlsh_check('evil.kept');
-- refused: 42501
SELECT * FROM evil.docs_minlsh;
-- gives: 0
SELECT count(*) FROM evil.more_minlsh WHERE doc_id = 3;
-- as superuser:
-- gives: owner
SELECT relowner::regrole FROM pg_class WHERE oid = 'evil.docs_minlsh'::regclass;
