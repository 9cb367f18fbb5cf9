-- Functions of a policy that change the types of keys, of the table, of the side table or of both, while a lookup has
-- keys at hand: integers that would be read as addresses.
-- Attacker: the owner. Must not: the backend end, or an error be internal.

-- as attacker:
CREATE FUNCTION evil.act(i text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	act text := coalesce(current_setting('evil.act', true), '');
	rest int := coalesce(nullif(current_setting('evil.rest', true), ''), '0');
BEGIN
	PERFORM set_config('evil.rest', (rest - 1)::text, false);
	IF act <> '' AND rest = 0 THEN
		EXECUTE act;
	END IF;
	RETURN true;
END $$;
CREATE TABLE evil.texts (id text PRIMARY KEY, body text);
INSERT INTO evil.texts SELECT i, 'some text ' || i / 5 FROM generate_series(1, 20) i;
CREATE TABLE evil.numbers (id int PRIMARY KEY, body text);
INSERT INTO evil.numbers SELECT i, 'some text ' || i / 5 FROM generate_series(1, 20) i;
SELECT minlsh_create_side_table('evil.texts', 'body'), minlsh_create_side_table('evil.numbers', 'body');
CREATE POLICY p ON evil.texts USING (evil.act(id));
CREATE POLICY p ON evil.numbers USING (evil.act(id::text));
ALTER TABLE evil.texts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE evil.numbers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- The outcome of a call amid which that is done: an internal error, or any if nothing is done. All is rolled back.
CREATE FUNCTION evil.outcome(act text, rest int, call text) RETURNS text LANGUAGE plpgsql
	SET client_min_messages = error AS $$
DECLARE outcome text;
BEGIN
	BEGIN
		PERFORM set_config('evil.rest', rest::text, false), set_config('evil.act', act, false);
		EXECUTE call;
		RAISE SQLSTATE 'ZZ000';
	EXCEPTION WHEN OTHERS THEN
		IF SQLSTATE LIKE 'XX%' OR act = '' AND SQLSTATE <> 'ZZ000' THEN
			outcome := act || ', ' || call || ': ' || SQLERRM;
		END IF;
	END;
	PERFORM set_config('evil.act', '', false);
	RETURN outcome;
END $$;
CREATE FUNCTION evil.swap(name text, type text) RETURNS text[] LANGUAGE sql AS $$
	SELECT ARRAY[to_side, of_table, to_side || ';' || of_table, of_table || ';' || to_side,
		format('ALTER TABLE evil.%1$s DROP COLUMN id CASCADE', name)]
	FROM format('ALTER TABLE evil.%1$s_minlsh ALTER doc_id TYPE %2$s USING 5', name, type) AS to_side,
		format('ALTER TABLE evil.%1$s ALTER id TYPE %2$s USING 5', name, type) AS of_table $$;
CREATE TABLE evil.calls AS SELECT name, act, call
	FROM (VALUES ('texts', 'int'), ('numbers', 'text')) AS t(name, type),
		unnest(evil.swap(name, type) || ''::text) AS act,
		unnest(string_to_array($$near_duplicates('4', 0.9, '@', 'signature'); near_duplicates('4', 0.9, '@');
			nearest_documents('4', 3, '@', 'signature'); near_duplicates_of('some text 1', 0.9, '@', 'signature');
			minlsh_explain('@', '4', '5'); minlsh_recall('@', 0.9, verify => 'signature');
			near_duplicate_pairs('@', 0.9, 'signature'); near_duplicate_cluster_of('4', 0.9, '@');
			minlsh_check('@')$$, ';')) AS call;
-- gives:
SELECT outcome FROM evil.calls,
	evil.outcome(act, 0, 'SELECT count(*) FROM ' || replace(call, '@', 'evil.' || name)) AS outcome
	WHERE act = '' AND outcome IS NOT NULL;
-- gives:
SELECT outcome FROM evil.calls, generate_series(0, 6) AS rest,
	evil.outcome(act, rest, 'SELECT count(*) FROM ' || replace(call, '@', 'evil.' || name)) AS outcome
	WHERE act <> '' AND outcome IS NOT NULL;
