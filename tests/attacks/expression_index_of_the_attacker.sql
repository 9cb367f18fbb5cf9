-- An expression index, a CHECK and a generated column whose function is the attacker's, when a superuser
-- maintains the tables: REINDEX, VACUUM, ANALYZE, minlsh_check(), minlsh_rebuild_side_table().
-- Attacker: the owner. Must not: the function run as the superuser.

-- as attacker:
CREATE FUNCTION evil.f(anyelement) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('an expression'); RETURN 'a text of ' || $1::text; END $$;
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 20) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE INDEX ON evil.docs_minlsh (evil.f(doc_id));
CREATE INDEX ON evil.docs_minlsh (doc_id) WHERE evil.f(doc_id) IS NOT NULL;
CREATE INDEX ON evil.docs (evil.f(body));
-- tried
CREATE INDEX native ON evil.docs USING minlsh (evil.f(body)) WHERE evil.f(id) IS NOT NULL;
-- as superuser:
-- tried
SELECT minlsh_rebuild_side_table('evil.docs');
-- tried
SELECT minlsh_check('evil.docs');
REINDEX TABLE evil.docs;
REINDEX TABLE evil.docs_minlsh;
VACUUM ANALYZE evil.docs, evil.docs_minlsh;
VACUUM FULL evil.docs;
CLUSTER evil.docs USING docs_pkey;
-- tried
SELECT minlsh_check('evil.native');
-- tried
REINDEX INDEX evil.native;
-- tried
REINDEX INDEX CONCURRENTLY evil.native;
-- tried
SELECT minlsh_rebuild_side_table('evil.native');
-- tried
SELECT near_duplicates(1, 0.9, 'evil.docs_minlsh');
