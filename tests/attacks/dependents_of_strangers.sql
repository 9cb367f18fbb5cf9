-- Objects of a stranger that name a side table of somebody else, which needs no right to it.
-- Attacker: an ordinary user. Must not: keep the owner from writing, rebuilding or dropping what is the owner's, but
-- for what a plain DROP refuses without CASCADE.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
GRANT TRIGGER ON app.docs_minlsh TO attacker;
-- as attacker:
CREATE FUNCTION evil.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
CREATE TRIGGER own BEFORE INSERT OR UPDATE OR DELETE ON app.docs_minlsh FOR EACH ROW EXECUTE FUNCTION evil.refuse();
CREATE TRIGGER own_too BEFORE TRUNCATE ON app.docs_minlsh EXECUTE FUNCTION evil.refuse();
CREATE TABLE evil.docs (id int PRIMARY KEY, body text DEFAULT 'app.docs_minlsh'::regclass);
CREATE TRIGGER named AFTER INSERT OR UPDATE OF id, body ON evil.docs FOR EACH ROW
	WHEN ('app.docs_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION evil.refuse();
-- tried
CREATE TRIGGER tied AFTER INSERT OR UPDATE OF id, body ON evil.docs FOR EACH ROW
	WHEN ('app.docs_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
BEGIN;
LOCK TABLE evil.docs IN ACCESS EXCLUSIVE MODE;
-- as owner:
INSERT INTO app.docs VALUES (3, 'one text');
UPDATE app.docs SET body = 'another text' WHERE id = 1;
DELETE FROM app.docs WHERE id = 2;
SELECT minlsh_rebuild_side_table('app.docs');
-- gives: 0
SELECT count(*) FROM minlsh_check('app.docs');
-- gives: 3
SELECT id FROM app.docs, near_duplicates_of('one text', 0.9, 'app.docs') AS n WHERE n.doc_id = id::text;
-- refused within 20 s: 2BP01
SELECT minlsh_drop_side_table('app.docs');
-- as attacker:
ROLLBACK;
-- as owner:
-- refused: 2BP01
SELECT minlsh_drop_side_table('app.docs');
DROP TABLE app.docs_minlsh CASCADE;
-- gives: 0
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.docs'::regclass;
SELECT minlsh_create_side_table('app.docs', 'body');
SELECT minlsh_drop_side_table('app.docs');
-- A trigger on the side table itself goes with it.
SELECT minlsh_create_side_table('app.docs', 'body');
GRANT TRIGGER ON app.docs_minlsh TO attacker;
-- as attacker:
CREATE TRIGGER own BEFORE INSERT OR UPDATE OR DELETE ON app.docs_minlsh FOR EACH ROW EXECUTE FUNCTION evil.refuse();
-- as owner:
SELECT minlsh_drop_side_table('app.docs');
