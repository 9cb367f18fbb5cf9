-- A hidden text read through EXPLAIN ANALYZE: an index scan that has every row rechecked counts the hidden rows that
-- are a little similar to a guess, and the guess gets better from one query to the next. So no plan searches below
-- the threshold of its index where rows are hidden, neither one that was made before the threshold was lowered, nor
-- one whose document is not known when it is made.
-- Attacker: a reader under a policy. Must not: the count of removed rows depend on how similar they are.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, md5(i::text) || md5((i * 7)::text), 'attacker' FROM generate_series(1, 3000) i;
INSERT INTO app.docs VALUES (5000, 'the SECRET words of somebody that nobody else shall ever read', 'owner');
CREATE INDEX near ON app.docs USING minlsh (body);
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
CREATE VIEW app.mine WITH (security_barrier) AS SELECT id, body FROM app.docs WHERE who = current_user;
GRANT SELECT ON app.mine TO attacker;
ANALYZE app.docs;
-- as attacker:
CREATE FUNCTION evil.removed(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING off, FORMAT json) ' || query INTO plan;
	RETURN (SELECT coalesce(sum(n::text::bigint), 0) FROM jsonb_path_query(plan, '$.**."Rows Removed by Filter"') n);
END $$;
-- The guess tells no more than any other text, by a query with one parameter.
CREATE FUNCTION evil.same(query text) RETURNS boolean LANGUAGE sql AS $$
	SELECT evil.removed(format(query, 'the SECRET words')) = evil.removed(format(query, 'xyz'))
$$;
-- The index is what plans use for a threshold that it serves.
-- gives: 0
SELECT evil.removed($q$SELECT id FROM app.docs WHERE body ~= 'xyz'$q$);
SET plan_cache_mode = force_generic_plan;
PREPARE by_setting(text) AS SELECT id FROM app.docs WHERE body ~= $1;
PREPARE by_document(minlsh_document) AS SELECT id FROM app.docs WHERE body ~= $1;
PREPARE by_threshold(text, float8) AS SELECT id FROM app.docs WHERE body ~= minlsh_document($1, $2);
PREPARE by_array(minlsh_document[]) AS SELECT id FROM app.docs WHERE body ~= ANY ($1);
PREPARE by_view(minlsh_document) AS SELECT id FROM app.mine WHERE body ~= $1;
-- gives: 0
SELECT evil.removed($q$EXECUTE by_setting('xyz')$q$);
SET minlsh.threshold = 0.01;
-- gives: t
SELECT evil.same($q$EXECUTE by_setting(%L)$q$);
-- gives: t
SELECT evil.same($q$EXECUTE by_document(minlsh_document(%L, 0.01))$q$);
-- gives: t
SELECT evil.same($q$EXECUTE by_threshold(%L, 0.01)$q$);
-- gives: t
SELECT evil.same($q$EXECUTE by_array(ARRAY[minlsh_document(%L, 0.01)])$q$);
-- gives: t
SELECT evil.same($q$EXECUTE by_view(minlsh_document(%L, 0.01))$q$);
-- In a join, where each row has a document of its own.
-- gives: t
SELECT evil.same($q$SELECT FROM (SELECT minlsh_document(%L, 0.01) AS d OFFSET 0) g, app.docs WHERE body ~= d$q$);
-- By a function whose value is another one when the plan is made.
SET evil.document = 'xyz';
-- gives: t
SELECT evil.same($q$WITH set AS MATERIALIZED (SELECT set_config('evil.document',
		minlsh_document(%L, 0.01)::text, false)) SELECT FROM set, app.docs
	WHERE body ~= current_setting('evil.document')::minlsh_document$q$);
-- By a query that lowers the setting before its index is searched.
SET minlsh.threshold = 0.8;
-- refused: 55000
SELECT evil.removed($q$WITH set AS MATERIALIZED (SELECT set_config('minlsh.threshold', '0.01', false))
	SELECT FROM set, app.docs WHERE body ~= 'the SECRET words'$q$);
-- A lookup under the policy goes on using the index.
SET minlsh.threshold = 0.8;
-- gives: 0
SELECT count(*) FROM near_duplicates(1, 0.9, 'app.near');
