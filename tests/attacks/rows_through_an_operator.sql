-- A function that tells what it is given, and the operators of minlsh, under row-level security.
-- Attacker: a reader under a policy. Must not: a hidden row reach the function, or an error tell of one.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, 'SECRET of many words ' || i, 'owner' FROM generate_series(1, 50) i;
INSERT INTO app.docs SELECT i, 'a public text ' || i, 'attacker' FROM generate_series(51, 60) i;
SELECT minlsh_create_side_table('app.docs', 'body');
-- tried
CREATE INDEX native ON app.docs USING minlsh (body);
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
ANALYZE app.docs;
-- as attacker:
CREATE FUNCTION evil.tell(text) RETURNS boolean COST 0.0001 LANGUAGE plpgsql
	AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;
CREATE FUNCTION evil.tell(text, text) RETURNS boolean COST 0.0001 LANGUAGE plpgsql
	AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;
CREATE OPERATOR evil.~= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.tell, RESTRICT = eqsel);
SET enable_seqscan = off;
SELECT count(*) FROM app.docs WHERE evil.tell(body);
SELECT count(*) FROM app.docs WHERE body OPERATOR(evil.~=) 'x';
-- tried
SELECT id, body FROM app.docs WHERE body OPERATOR(public.~=) 'SECRET of many words 7' AND evil.tell(body);
-- tried
SELECT id, body FROM app.docs WHERE evil.tell(body) AND body ~= minlsh_document('SECRET of many words 7', 0.1);
-- tried
SELECT id FROM app.docs WHERE body ~= minlsh_document('a public text 55', 0.5, 3, 'word');
SELECT near_duplicates(1, 0.9, 'app.docs_minlsh');
SELECT near_duplicates_of('SECRET of many words 7', 0.9, 'app.docs_minlsh');
-- tried
SELECT near_duplicates(1, 0.9, 'app.native');
-- tried
SELECT near_duplicates_of('SECRET of many words 7', 0.9, 'app.native');
SELECT near_duplicate_pairs('app.docs', 0.9);
SELECT near_duplicate_clusters('app.docs', 0.9);
SELECT near_duplicate_plan('app.docs', 0.9);
SELECT minlsh_recall('app.docs_minlsh');
-- tried
SELECT minlsh_explain('app.docs', 1, 2);
-- tried
SELECT near_duplicate_pairs('SELECT id, body FROM app.docs', 0.5);
-- tried
SELECT near_duplicate_pairs('SELECT id, body FROM app.docs WHERE evil.tell(body)', 0.5);
-- tried
SELECT near_duplicate_plan('app.docs', 0.9, 'evil.tell(body)');
-- refused
SELECT minlsh_check('app.native');
-- refused: 42501
SELECT * FROM app.docs_minlsh;
-- tried
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT id FROM app.docs
	WHERE body ~= minlsh_document('SECRET of many words 7', 0.9);
