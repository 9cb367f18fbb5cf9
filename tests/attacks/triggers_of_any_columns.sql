-- Triggers that tie a side table, or a queue of tracked clusters, to any two columns of its documents, of any types:
-- the owner of a table can make such, and their names come first.
-- Attacker: the owner of an indexed table. Must not: a value be read as one of another type, which ends the backend, or
-- be an internal error.

-- as attacker:
CREATE TYPE evil.pair AS (a int, b text);
CREATE TABLE evil.docs (id int PRIMARY KEY, n int8 UNIQUE NOT NULL, t text UNIQUE NOT NULL, body text,
	u uuid UNIQUE DEFAULT gen_random_uuid(), arr int[] DEFAULT '{1,2}', c evil.pair DEFAULT '(1,x)',
	f float8 DEFAULT 1.5, b bool DEFAULT true, nm name DEFAULT 'x', ch "char" DEFAULT 'x', by bytea DEFAULT 'xx',
	j jsonb DEFAULT '{}', bp char(5) DEFAULT 'x', v varchar(5) DEFAULT 'v',
	r int4range DEFAULT '[1,2)', doc minlsh_document DEFAULT 'one text');
INSERT INTO evil.docs (id, n, t, body) SELECT i, i, 'k' || i, 'some text ' || i / 2 FROM generate_series(1, 20) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE INDEX near ON evil.docs USING minlsh (body);
SELECT minlsh_track_clusters('evil.near');
SELECT joined FROM minlsh_refresh_clusters('evil.docs_clusters');
CREATE TABLE evil.calls (call text);
INSERT INTO evil.calls VALUES
	($$near_duplicates(1, 0.9, 'evil.docs_minlsh')$$),
	($$near_duplicates(1, 0.9, 'evil.docs_minlsh', 'signature')$$),
	($$near_duplicates('k1'::text, 0.9, 'evil.docs_minlsh')$$),
	($$near_duplicates_of('some text 1', 0.9, 'evil.docs_minlsh')$$),
	($$near_duplicate_cluster_of(1, 0.9, 'evil.docs_minlsh')$$),
	($$near_duplicate_pairs('evil.docs_minlsh', 0.9)$$),
	($$minlsh_explain('evil.docs_minlsh', 1, 2)$$),
	($$minlsh_recall('evil.docs_minlsh')$$),
	($$minlsh_check('evil.docs_minlsh')$$),
	($$minlsh_check('evil.docs')$$),
	($$minlsh_rebuild_side_table('evil.docs_minlsh')$$),
	($$minlsh_refresh_clusters('evil.docs_clusters')$$),
	($$minlsh_refresh_clusters('evil.docs_clusters', true)$$),
	($$minlsh_check('evil.docs_clusters')$$),
	($$minlsh_indexes$$);
-- Makes a trigger, writes to the table and calls all functions; gives the internal errors, and rolls all of it back.
CREATE FUNCTION evil.internal(trigger text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE statement text;
BEGIN
	EXECUTE trigger;
	FOR statement IN SELECT 'SELECT * FROM ' || call FROM evil.calls
		UNION ALL SELECT unnest(ARRAY['UPDATE evil.docs SET body = body || id, n = n + 100, t = t || 1 WHERE id = 1',
			'DELETE FROM evil.docs WHERE id = 3', $q$INSERT INTO evil.docs (id, n, t, body) VALUES (99, 99, 'm', 'text')$q$])
		UNION ALL SELECT 'SELECT * FROM ' || call FROM evil.calls UNION ALL SELECT 'TRUNCATE evil.docs'
	LOOP
		BEGIN
			EXECUTE statement;
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN RETURN NEXT statement || ': ' || SQLERRM; END IF;
		END;
	END LOOP;
	RAISE SQLSTATE 'ZZ000';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
END $$;
CREATE FUNCTION evil.internal(called text, tied text) RETURNS bigint LANGUAGE sql SET client_min_messages = error AS $$
	WITH columns AS (SELECT attname AS name FROM pg_attribute WHERE attrelid = 'evil.docs'::regclass AND attnum > 0)
	SELECT count(internal) FROM columns AS a CROSS JOIN columns AS b CROSS JOIN evil.internal(format(
		'CREATE CONSTRAINT TRIGGER a AFTER INSERT OR UPDATE OF %s OR DELETE ON evil.docs '
		'FOR EACH ROW WHEN (''evil.%I''::regclass IS NOT NULL) EXECUTE FUNCTION %I()',
		concat_ws(', ', a.name, nullif(b.name, a.name)), tied, called)) AS internal
	WHERE a.name IN ('id', 'n', 't', 'u', b.name) AND (a.name IN ('id', b.name) OR b.name IN ('id', 'n', 'body'))
		-- A third of the pairs, others for each kind of trigger.
		AND (current_setting('attack.thorough')::boolean OR hashtext(concat(a.name, b.name, tied, called)) % 3 = 0) $$;
-- gives: 0
SELECT evil.internal('minlsh_sync', 'docs_minlsh');
-- gives: 0
SELECT evil.internal('minlsh_capture', 'docs_clusters_queue');
-- gives: 0
SELECT evil.internal('minlsh_capture', 'docs_minlsh');
-- gives: 0
SELECT evil.internal('minlsh_sync', 'docs_clusters');
