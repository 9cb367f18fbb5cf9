-- A hidden text read through EXPLAIN ANALYZE of a search for passages: an index scan counts the rows that it found and
-- that the policy then holds back. Who knows the first characters of a text (a letterhead) would learn the next ones
-- one by one: the count is another if the guess is right.
-- Attacker: a reader under a policy. Must not: the count of removed rows depend on what hidden rows contain.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, md5(i::text) || md5((i * 7)::text), 'attacker' FROM generate_series(1, 3000) i;
INSERT INTO app.docs VALUES (5000, 'to whom it may concern: the SECRET number is 4711', 'owner');
CREATE INDEX passages ON app.docs USING minlsh (body minlsh_passage_ops) WITH (min_match = 16);
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
CREATE VIEW app.mine WITH (security_barrier) AS SELECT id, body FROM app.docs WHERE who = current_user;
GRANT SELECT ON app.mine TO attacker;
ANALYZE app.docs;
-- as attacker:
CREATE FUNCTION evil.removed(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING off, FORMAT json) ' || query INTO plan;
	RETURN concat_ws(', ', jsonb_path_query_array(plan, '$.**."Rows Removed by Filter"'),
		jsonb_path_query_array(plan, '$.**."Rows Removed by Index Recheck"'));
END $$;
-- A guess of what follows is as good as any other, and as what no text has.
CREATE FUNCTION evil.same(query text) RETURNS boolean LANGUAGE sql AS $$
	SELECT count(DISTINCT evil.removed(format(query, guess))) = 1
	FROM unnest(ARRAY['to whom it may concern: the SECRET number is 4', 'to whom it may concern: the SECRET number is 9',
		'what stands nowhere, and is as long as the others']) AS guess
$$;
SET enable_seqscan = off;
-- gives: t
SELECT evil.same($q$SELECT id FROM app.docs WHERE body ~> minlsh_passage(%L, 1, 16)$q$);
-- gives: t
SELECT evil.same($q$SELECT id FROM app.docs WHERE body ~> minlsh_passage(%L, 0.1, 16)$q$);
-- gives: t
SELECT evil.same($q$SELECT id FROM app.mine WHERE minlsh_passage(%L, 1, 16) <~ body$q$);
-- gives: t
SELECT evil.same($q$SELECT id FROM app.docs WHERE body ~> ANY (ARRAY[minlsh_passage(%L, 1, 16)])$q$);
-- gives: t
SELECT evil.same($q$SELECT FROM (SELECT minlsh_passage(%L, 1, 16) AS p OFFSET 0) g, app.docs WHERE body ~> p$q$);
-- A view that is no barrier hides nothing, and the owner's own search uses the index.
-- as owner:
SET enable_seqscan = off;
CREATE FUNCTION app.plan(query text) RETURNS SETOF text LANGUAGE plpgsql
	AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query; END $$;
-- gives: 1
SELECT count(*) FROM app.plan($q$SELECT id FROM app.docs
	WHERE body ~> minlsh_passage('what stands nowhere, and is long', 1, 16)$q$) line WHERE line ~ 'Index.* Scan';
-- as attacker:
-- Rows that are not hidden are found.
-- gives: 1
SELECT count(*) FROM app.docs WHERE body ~> minlsh_passage(md5('7') || md5('49'), 1, 16);
