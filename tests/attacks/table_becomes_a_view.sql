-- A table that a rule turns into a view (PostgreSQL 15 can do that) after it was indexed or, as in version 0.1,
-- registered; a superuser asks without naming an index.
-- Attacker: the owner of the table. Must not: the view's code run as the superuser.
-- only: 15

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE FUNCTION evil.look(int) RETURNS int LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('a view'); RETURN $1; END $$;
CREATE TABLE evil.bare (id int, body text);
CREATE TABLE evil.bare_minlsh AS TABLE evil.docs_minlsh;
-- tried
INSERT INTO minlsh_registry (relation, name, storage, scheme, num_perm, unit, shingle_size, seed, version, threshold,
	recall, bands, rows)
	SELECT 'evil.bare', 'bare_minlsh', 'evil.bare_minlsh', r.scheme, r.num_perm, r.unit, r.shingle_size, r.seed,
		r.version, r.threshold, r.recall, r.bands, r.rows
	FROM minlsh_registry r WHERE r.relation = 'evil.docs'::regclass;
SELECT minlsh_drop_side_table('evil.docs');
CREATE RULE "_RETURN" AS ON SELECT TO evil.bare DO INSTEAD SELECT evil.look(id) AS id, body FROM evil.docs;
CREATE TRIGGER t AFTER UPDATE OF id, body ON evil.bare FOR EACH STATEMENT EXECUTE FUNCTION minlsh_sync('bare_minlsh');
CREATE TRIGGER bare_minlsh_insert AFTER INSERT ON evil.bare FOR EACH STATEMENT EXECUTE
	FUNCTION minlsh_sync('bare_minlsh');
CREATE TRIGGER bare_minlsh_delete AFTER DELETE ON evil.bare FOR EACH STATEMENT EXECUTE
	FUNCTION minlsh_sync('bare_minlsh');
-- as superuser:
-- tried
SELECT * FROM near_duplicates(1, verify => 'exact');
-- tried
SELECT * FROM near_duplicates_of('one text', verify => 'exact');
-- tried
SELECT * FROM minlsh_indexes;
-- tried
SELECT * FROM minlsh_check();
