-- Triggers, rules and policies on a side table, sprung by a superuser's minlsh_rebuild_side_table() and minlsh_check(),
-- directly or by a deferred trigger at the end of the transaction.
-- Attacker: the owner of an indexed table. Must not: planted code run as the superuser, or settings stay.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE TABLE evil.queue (id int);
CREATE FUNCTION evil.now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	PERFORM trap.spring('a trigger on the side table');
	SET search_path = evil, pg_catalog;
	INSERT INTO evil.queue VALUES (1);
	RETURN COALESCE(NEW, OLD);
END $$;
CREATE FUNCTION evil.later() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('a deferred trigger'); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON evil.queue DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION evil.later();
CREATE TRIGGER now BEFORE INSERT OR UPDATE OR DELETE ON evil.docs_minlsh FOR EACH ROW EXECUTE FUNCTION evil.now();
CREATE TRIGGER truncated BEFORE TRUNCATE ON evil.docs_minlsh FOR EACH STATEMENT EXECUTE FUNCTION evil.now();
CREATE FUNCTION evil.policy() RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RETURN trap.spring('a policy on the side table'); END $$;
ALTER TABLE evil.docs_minlsh ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON evil.docs_minlsh USING (evil.policy()) WITH CHECK (evil.policy());
-- as superuser:
BEGIN;
SET search_path = public;
SELECT minlsh_rebuild_side_table('evil.docs');
-- gives: public
SHOW search_path;
COMMIT;
-- gives: public
SHOW search_path;
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.docs');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, 0.9, 'evil.docs');
-- gives: 1
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
