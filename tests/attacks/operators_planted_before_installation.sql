-- Operators with better fitting arguments than PostgreSQL's own, in the schema that the extension goes to.
-- Attacker: the database's owner, who installs the (trusted) extension. Must not: they run as the
-- superuser who runs the script, nor as a superuser who uses the extension.
-- no extension

-- as dbowner:
CREATE SCHEMA planted;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
CREATE FUNCTION planted.f(float8, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN RETURN trap.spring('float8, int'); END $$;
CREATE FUNCTION planted.f(int8, int) RETURNS int8 LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('int8, int'); RETURN 0; END $$;
CREATE FUNCTION planted.f(int8, numeric) RETURNS float8 LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('int8, numeric'); RETURN 1; END $$;
CREATE FUNCTION planted.f(oid, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN RETURN trap.spring('oid, int'); END $$;
CREATE FUNCTION planted.f(oid, regclass) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN RETURN trap.spring('oid, regclass'); END $$;
CREATE FUNCTION planted.f(oid, regprocedure) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN RETURN trap.spring('oid, regprocedure'); END $$;
CREATE FUNCTION planted.f(smallint, int) RETURNS int LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('smallint, int'); RETURN 0; END $$;
CREATE OPERATOR planted.>= (LEFTARG = float8, RIGHTARG = int, FUNCTION = planted.f);
CREATE OPERATOR planted.> (LEFTARG = float8, RIGHTARG = int, FUNCTION = planted.f);
CREATE OPERATOR planted.<= (LEFTARG = float8, RIGHTARG = int, FUNCTION = planted.f);
CREATE OPERATOR planted.< (LEFTARG = float8, RIGHTARG = int, FUNCTION = planted.f);
CREATE OPERATOR planted.% (LEFTARG = int8, RIGHTARG = int, FUNCTION = planted.f);
CREATE OPERATOR planted./ (LEFTARG = int8, RIGHTARG = numeric, FUNCTION = planted.f);
CREATE OPERATOR planted.= (LEFTARG = oid, RIGHTARG = int, FUNCTION = planted.f);
CREATE OPERATOR planted.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = planted.f);
CREATE OPERATOR planted.= (LEFTARG = oid, RIGHTARG = regprocedure, FUNCTION = planted.f);
CREATE OPERATOR planted.& (LEFTARG = smallint, RIGHTARG = int, FUNCTION = planted.f);
CREATE EXTENSION minlsh SCHEMA planted;
-- as owner:
SET search_path = app, planted;
CREATE TABLE docs (id int PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');
-- tried
SELECT minlsh_create_side_table('docs', 'body');
-- may spring for: dbowner
-- as superuser:
-- tried
TABLE planted.minlsh_indexes;
-- tried
TABLE planted.minlsh_progress;
-- tried
SELECT planted.near_duplicates(1, 0.9, 'app.docs');
-- tried
SELECT planted.near_duplicate_pairs('app.docs', 0.9);
-- tried
SELECT planted.minlsh_check('app.docs');
-- tried
SELECT planted.minlsh_rebuild_side_table('app.docs');
-- tried
SELECT planted.minlsh_create_side_table('app.docs', 'body', name => 'second');
-- tried
SELECT planted.minlsh_recall('app.docs');
DROP TABLE app.docs CASCADE;
DROP EXTENSION minlsh CASCADE;
