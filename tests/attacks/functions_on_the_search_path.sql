-- Functions and operators that fit better than PostgreSQL's own, in a schema on the search path.
-- Attacker: who may create in a schema on somebody's path. Must not: they run as whoever indexes, writes
-- an indexed table, or asks.

-- as attacker:
CREATE FUNCTION evil.format(text, name, name) RETURNS text LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('format'); RETURN pg_catalog.format($1, $2, $3); END $$;
CREATE FUNCTION evil.format(text, text, text) RETURNS text LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('format'); RETURN pg_catalog.format($1, $2, $3); END $$;
CREATE FUNCTION evil.mask(smallint, int) RETURNS int LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('&'); RETURN 0; END $$;
CREATE OPERATOR evil.& (LEFTARG = smallint, RIGHTARG = int, FUNCTION = evil.mask);
CREATE FUNCTION evil.unnest(integer[]) RETURNS SETOF int LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('unnest'); RETURN; END $$;
CREATE FUNCTION evil.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('unnest'); RETURN; END $$;
CREATE FUNCTION evil.count(bigint) RETURNS bigint LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('count'); RETURN 0; END $$;
CREATE FUNCTION evil.eq(text, name) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('='); END $$;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = name, FUNCTION = evil.eq);
CREATE FUNCTION evil.eq(name, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('='); END $$;
CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = text, FUNCTION = evil.eq);
CREATE FUNCTION evil.eq(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('='); END $$;
CREATE OPERATOR evil.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = evil.eq);
CREATE FUNCTION evil.eq(smallint, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('='); END $$;
CREATE OPERATOR evil.= (LEFTARG = smallint, RIGHTARG = int, FUNCTION = evil.eq);
CREATE FUNCTION evil.ge(float8, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('>='); END $$;
CREATE OPERATOR evil.>= (LEFTARG = float8, RIGHTARG = int, FUNCTION = evil.ge);
CREATE FUNCTION evil.cat(text, name) RETURNS text LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('||'); RETURN $1; END $$;
CREATE OPERATOR evil.|| (LEFTARG = text, RIGHTARG = name, FUNCTION = evil.cat);
-- as owner:
SET search_path = evil, public, app;
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
INSERT INTO app.docs VALUES (3, 'one text');
UPDATE app.docs SET body = 'one text ' WHERE id = 2;
DELETE FROM app.docs WHERE id = 3;
GRANT SELECT ON app.docs TO reader;
SELECT near_duplicates(1, 0.9, 'app.docs', 'exact');
SELECT minlsh_check('app.docs');
SELECT minlsh_rebuild_side_table('app.docs');
-- as superuser:
SET search_path = evil, public, app;
INSERT INTO app.docs VALUES (4, 'one text');
SELECT near_duplicates(1, 0.9, 'app.docs');
SELECT near_duplicates(1, 0.9);
SELECT near_duplicate_pairs('app.docs', 0.9);
SELECT near_duplicate_clusters('app.docs', 0.9);
SELECT near_duplicate_plan('app.docs', 0.9, 'id DESC');
-- tried
SELECT near_duplicates_between('app.docs', 'app.docs', 0.9);
SELECT minlsh_recall('app.docs');
SELECT minlsh_explain('app.docs', 1, 2);
SELECT * FROM minlsh_indexes;
SELECT minlsh_check('app.docs');
SELECT minlsh_rebuild_side_table('app.docs');
SELECT minlsh_drop_side_table('app.docs');
