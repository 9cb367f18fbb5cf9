-- Operator classes, families, access methods and operators that PostgreSQL keeps to superusers, or does not.
-- Attacker: an ordinary user. Must not: support functions of theirs be called by the index, or a handler directly.

-- as attacker:
CREATE FUNCTION evil.cmp(text, text) RETURNS int LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('a support function'); RETURN 0; END $$;
CREATE FUNCTION evil.hash(text, bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('a support function'); RETURN 0; END $$;
-- refused: 42501
CREATE OPERATOR CLASS evil.ops FOR TYPE text USING minlsh AS FUNCTION 1 evil.cmp(text, text);
-- refused: 42501
CREATE OPERATOR FAMILY evil.family USING minlsh;
-- refused: 42501
ALTER OPERATOR FAMILY minlsh_text_ops USING minlsh ADD FUNCTION 6 (text, text) evil.hash(text, bigint);
-- refused: 42501
CREATE ACCESS METHOD evil TYPE INDEX HANDLER minlsh_handler;
-- refused
SELECT minlsh_handler(NULL);
-- refused
SELECT minlsh_handler('x');
-- refused
UPDATE pg_opclass SET opcdefault = false;
CREATE FUNCTION evil.similar(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN RETURN trap.spring('an operator'); END $$;
CREATE OPERATOR evil.~= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.similar, COMMUTATOR = OPERATOR(evil.~=),
	RESTRICT = eqsel);
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 20) i;
CREATE INDEX ON evil.docs USING minlsh (body);
-- as superuser:
SET search_path = evil, public;
SET enable_seqscan = off;
-- gives: 19
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs');
-- gives: 190
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
SELECT count(*) FROM minlsh_check('evil.docs_body_idx');
REINDEX TABLE evil.docs;
VACUUM ANALYZE evil.docs;
