-- A hidden text found by guesses through EXPLAIN, which needs no ANALYZE for it: the planner counts the rows in the
-- buckets of a text to estimate how many are similar. Of a table in which a policy or a view hides rows it must not.
-- Attacker: a reader under a policy. Must not: a number of EXPLAIN depend on whether a hidden row is like the guess.

-- as owner:
CREATE TABLE app.docs (id int, body text, who name);
INSERT INTO app.docs SELECT i, md5(i::text) || md5((i * 7)::text), 'attacker' FROM generate_series(1, 500) i;
INSERT INTO app.docs SELECT 1000 + i, 'the SECRET words of somebody that nobody else shall ever read', 'owner'
	FROM generate_series(1, 90) i;
CREATE INDEX near ON app.docs USING minlsh (body);
CREATE INDEX of_scope ON app.docs USING minlsh (id, body);
CREATE INDEX of_some ON app.docs USING minlsh (body) WHERE id > 900;
CREATE INDEX of_documents ON app.docs USING minlsh (minlsh_document(body, 0.9));
CREATE TABLE app.part () INHERITS (app.docs);
INSERT INTO app.part SELECT * FROM app.docs;
CREATE INDEX part_near ON app.part USING minlsh (body);
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
CREATE TABLE app.open AS SELECT * FROM app.docs;
CREATE INDEX open_near ON app.open USING minlsh (body);
CREATE INDEX open_some ON app.open USING minlsh (body) WHERE id > 900;
CREATE VIEW app.mine WITH (security_barrier) AS SELECT id, body FROM app.open WHERE who = current_user;
GRANT SELECT ON app.mine TO attacker;
CREATE TABLE app.closed (id int, body text);
INSERT INTO app.closed SELECT id, body FROM app.docs;
CREATE INDEX closed_near ON app.closed USING minlsh (body);
GRANT SELECT (id) ON app.closed TO attacker;
ANALYZE app.docs, app.part, app.open, app.closed;
-- as attacker:
CREATE FUNCTION evil.rows(query text, guess text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || format(query, guess) INTO plan;
	RETURN jsonb_path_query_array(plan, '$.**."Plan Rows"')::text || jsonb_path_query_array(plan, '$.**."Total Cost"');
END $$;
-- Whether a plan for the hidden text is another one than for a text that nobody has.
CREATE FUNCTION evil.tells(query text) RETURNS boolean LANGUAGE sql AS $$
	SELECT evil.rows(query, 'the SECRET words of somebody that nobody else shall ever read')
		<> evil.rows(query, 'the PUBLIC words of anybody that everybody else may as well write') $$;
CREATE FUNCTION evil.same(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1 = $2;
-- refused: 42501
CREATE OPERATOR evil.~= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.same, RESTRICT = minlsh_similar_sel,
	JOIN = minlsh_similar_joinsel);
-- gives: f
SELECT evil.tells('SELECT FROM app.docs WHERE body ~= %L');
-- gives: f
SELECT evil.tells('SELECT FROM app.docs WHERE id = 1001 AND body ~= %L');
-- gives: f
SELECT evil.tells('SELECT FROM app.docs WHERE id > 1000 AND body ~= %L');
-- gives: f
SELECT evil.tells('SELECT FROM app.mine WHERE id > 1000 AND body ~= %L');
-- gives: f
SELECT evil.tells('SELECT FROM ONLY app.docs WHERE body ~= %L');
-- gives: f
SELECT evil.tells('SELECT FROM app.docs WHERE body ~= minlsh_document(%L, 0.9)');
-- gives: f
SELECT evil.tells('SELECT FROM app.docs WHERE minlsh_document(body, 0.9) ~= minlsh_document(%L, 0.9)');
-- gives: f
SELECT evil.tells('SELECT FROM (SELECT * FROM app.docs OFFSET 0) AS d WHERE body ~= %L');
-- gives: f
SELECT evil.tells('SELECT FROM (VALUES (%L)) AS v (guess) JOIN app.docs AS d ON d.body ~= v.guess');
-- gives: f
SELECT evil.tells('SELECT FROM app.mine WHERE body ~= %L');
-- gives: f
SELECT evil.tells('SELECT FROM app.mine AS a JOIN app.mine AS b ON a.body ~= %L AND b.body ~= a.body');
-- refused: 42501
SELECT evil.tells('SELECT id FROM app.closed WHERE body ~= %L');
-- refused: 42501
SELECT evil.tells('SELECT FROM app.part WHERE body ~= %L');
-- A query is planned before its rights are checked. Whoever may not read what is compared must not have the index
-- asked, for how long that takes tells as well. What a session reads of it first are its options.
CREATE FUNCTION evil.fetched(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE before bigint;
BEGIN
	before := pg_stat_get_xact_blocks_fetched('app.closed_near'::regclass);
	BEGIN
		EXECUTE 'EXPLAIN ' || query;
		RAISE 'it is allowed';
	EXCEPTION WHEN insufficient_privilege THEN
	END;
	RETURN pg_stat_get_xact_blocks_fetched('app.closed_near'::regclass) - before;
END $$;
SELECT evil.fetched('SELECT id FROM app.closed WHERE body ~= $$the SECRET words of somebody$$');
-- gives: 0
SELECT evil.fetched('SELECT id FROM app.closed WHERE body ~= $$the SECRET words of somebody$$');
-- gives: 0
SELECT evil.fetched('SELECT a.id FROM app.closed AS a JOIN app.closed AS b ON a.body ~= b.body');
