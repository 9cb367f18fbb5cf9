-- Passages of a whole corpus, and passages that are sought, where a policy hides rows, and where somebody has planted
-- functions, operators and casts that fit better than those of the extension.
-- Attacker: a reader under a policy; who owns a schema on somebody's path. Must not: a hidden row count, or planted
-- code run as somebody else.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, 'SECRET words that nobody else may read in all of this house ' || i, 'owner'
	FROM generate_series(1, 20) i;
INSERT INTO app.docs SELECT i, 'public words that everybody may read in all of this house ' || i, 'attacker'
	FROM generate_series(21, 23) i;
CREATE INDEX ON app.docs USING minlsh (body minlsh_passage_ops) WITH (min_match = 16);
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
-- as attacker:
-- gives: 3
SELECT DISTINCT documents FROM common_passages('app.docs', 2, min_match => 16);
-- gives: 3
SELECT count(*) FROM strip_passages('app.docs', 2, min_match => 16);
-- gives: 2
SELECT count(*) FROM repeated_passages('app.docs', min_match => 16);
-- refused: 42501
SELECT * FROM common_passages('SELECT rolname, rolpassword FROM pg_catalog.pg_authid', 2);
-- refused
SELECT * FROM strip_passages('DELETE FROM app.docs RETURNING id, body', 2);
-- refused
SELECT * FROM repeated_passages('SELECT id, body FROM app.docs; COMMIT');
CREATE FUNCTION evil.holds(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN trap.spring('~>'); END $$;
CREATE OPERATOR evil.~> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.holds);
CREATE FUNCTION evil.holds(varchar, minlsh_passage) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RETURN trap.spring('~>'); END $$;
CREATE OPERATOR evil.~> (LEFTARG = varchar, RIGHTARG = minlsh_passage, FUNCTION = evil.holds);
CREATE FUNCTION evil.length(text) RETURNS int LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('length'); RETURN 0; END $$;
CREATE FUNCTION evil.passage_hashes(text, int, text) RETURNS bigint[] LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('passage_hashes'); RETURN '{}'; END $$;
CREATE FUNCTION evil.bttextcmp(text, text) RETURNS int LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('bttextcmp'); RETURN 0; END $$;
-- refused: 42501
CREATE OPERATOR CLASS evil.ops FOR TYPE text USING minlsh AS FUNCTION 8 evil.passage_hashes(text, int, text);
-- refused: 42501
ALTER OPERATOR FAMILY minlsh_passage_ops USING minlsh ADD OPERATOR 1 evil.~> (text, text);
-- tried
CREATE CAST (text AS minlsh_passage) WITH INOUT AS IMPLICIT;
-- as superuser:
SET search_path = evil, public, app;
-- gives: 23
SELECT DISTINCT documents FROM common_passages('app.docs', 21, min_match => 16);
SELECT * FROM strip_passages('app.docs', 2, min_match => 16);
SELECT * FROM repeated_passages('app.docs', 16);
INSERT INTO app.docs VALUES (30, 'one text of many words');
SELECT minlsh_check('app.docs');
REINDEX TABLE app.docs;
VACUUM ANALYZE app.docs;
