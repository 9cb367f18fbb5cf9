-- A hidden text read by passages: by ~>, by the functions of passages, and by EXPLAIN ANALYZE, which counts the rows
-- that a condition removes. An index that gives all rows for recheck would tell how many have a guess of one letter,
-- and the guess would get longer from one query to the next. So where rows are hidden no plan searches by an index for
-- a passage.
-- Attacker: a reader under a policy, or of one column. Must not: a hidden text come out, or what is counted depend on
-- a guess.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, md5(i::text) || md5((i * 7)::text), 'attacker' FROM generate_series(1, 3000) i;
INSERT INTO app.docs VALUES (5000, 'the SECRET words of somebody that nobody else shall ever read', 'owner');
INSERT INTO app.docs
	SELECT 6000 + i, 'the SECRET words of somebody that nobody else shall ever read, copy ' || i, 'owner'
	FROM generate_series(1, 5) i;
CREATE INDEX quoting ON app.docs USING minlsh (body minlsh_passage_ops);
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
CREATE VIEW app.mine WITH (security_barrier) AS SELECT id, body FROM app.docs WHERE who = current_user;
GRANT SELECT ON app.mine TO attacker;
CREATE TABLE app.closed (id int PRIMARY KEY, body text, open int);
INSERT INTO app.closed SELECT id, body, id FROM app.docs;
CREATE INDEX closed_quoting ON app.closed USING minlsh (body minlsh_passage_ops);
GRANT SELECT (id, open) ON app.closed TO attacker;
ANALYZE app.docs, app.closed;
-- as attacker:
CREATE FUNCTION evil.tell(text) RETURNS boolean COST 0.0001 LANGUAGE plpgsql
	AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;
CREATE FUNCTION evil.tell(text, minlsh_passage) RETURNS boolean COST 0.0001 LANGUAGE plpgsql
	AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;
CREATE OPERATOR evil.~> (LEFTARG = text, RIGHTARG = minlsh_passage, FUNCTION = evil.tell, RESTRICT = eqsel);
SET enable_seqscan = off;
-- gives: 0
SELECT count(*) FROM app.docs
	WHERE body ~> minlsh_passage('the SECRET words of somebody that nobody else shall ever read');
SELECT count(*) FROM app.docs WHERE body OPERATOR(evil.~>) minlsh_passage('SECRET');
SELECT id, body FROM app.docs WHERE evil.tell(body)
	AND body ~> minlsh_passage('the SECRET words of somebody that nobody else shall ever read');
SELECT * FROM common_passages('app.docs', 2, body => 'body');
SELECT * FROM repeated_passages('app.docs', body => 'body');
SELECT doc_id, left(body, 5), removed FROM strip_passages('app.docs', 2, body => 'body') LIMIT 3;
-- gives: 0
SELECT count(*) FROM contained_documents('app.docs', 0.1, 'body') WHERE doc_id >= 5000;
SELECT * FROM common_passages('SELECT id, body FROM app.docs WHERE evil.tell(body)', 2);
-- refused: 42501
SELECT count(*) FROM app.closed WHERE body ~> minlsh_passage('the SECRET words of somebody that nobody else shall');
-- refused: 42501
SELECT * FROM common_passages('app.closed', 2, body => 'body');
-- refused: 42501
SELECT * FROM strip_passages('app.closed', 2, body => 'body');
-- refused: 42501
SELECT * FROM repeated_passages('app.closed', body => 'body');
-- refused: 42501
SELECT * FROM contained_documents('app.closed', body => 'body');
-- refused: 42501
SELECT * FROM passages_between('SELECT 1, ''some text''', 'app.closed');
-- refused: 42501
SELECT * FROM minlsh_check('app.closed_quoting');
-- refused: 42501
SELECT * FROM minlsh_check('app.quoting');
CREATE FUNCTION evil.removed(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING off, FORMAT json) ' || query INTO plan;
	RETURN (SELECT coalesce(sum(n::text::bigint), 0) FROM jsonb_path_query(plan, '$.**."Rows Removed by Filter"') n)
		+ 10000 * (SELECT coalesce(sum(n::text::bigint), 0)
			FROM jsonb_path_query(plan, '$.**."Rows Removed by Index Recheck"') n);
END $$;
-- A guess tells no more than any other text.
CREATE FUNCTION evil.same(query text) RETURNS boolean LANGUAGE sql AS $$
	SELECT evil.removed(format(query, 'the SECRET words')) = evil.removed(format(query, 'xyz'))
$$;
-- gives: t
SELECT evil.same($q$SELECT id FROM app.docs WHERE body ~> minlsh_passage(%L)$q$);
-- gives: t
SELECT evil.same($q$SELECT id FROM app.docs WHERE body ~> minlsh_passage(%L, 1, 16)$q$);
SET plan_cache_mode = force_generic_plan;
PREPARE by_text(text) AS SELECT id FROM app.docs WHERE body ~> minlsh_passage($1);
PREPARE by_passage(minlsh_passage) AS SELECT id FROM app.docs WHERE body ~> $1;
PREPARE by_array(minlsh_passage[]) AS SELECT id FROM app.docs WHERE body ~> ANY ($1);
PREPARE by_view(minlsh_passage) AS SELECT id FROM app.mine WHERE body ~> $1;
-- gives: t
SELECT evil.same($q$EXECUTE by_text(%L)$q$);
-- gives: t
SELECT evil.same($q$EXECUTE by_passage(minlsh_passage(%L, 0.01))$q$);
-- gives: t
SELECT evil.same($q$EXECUTE by_array(ARRAY[minlsh_passage(%L, 0.01)])$q$);
-- gives: t
SELECT evil.same($q$EXECUTE by_view(minlsh_passage(%L, 0.01))$q$);
-- In a join, where each row has a passage of its own.
-- gives: t
SELECT evil.same($q$SELECT FROM (SELECT minlsh_passage(%L, 0.01) AS p OFFSET 0) g, app.docs WHERE body ~> p$q$);
-- By a function whose value is another one when the plan is made.
SET evil.passage = 'no such text as this one was ever written by anybody alive';
-- gives: t
SELECT evil.same($q$WITH set AS MATERIALIZED (SELECT set_config('evil.passage', minlsh_passage(%L)::text, false))
	SELECT FROM set, app.docs WHERE body ~> current_setting('evil.passage')::minlsh_passage$q$);
