-- Functions in a query, in the expressions of an index and in its predicate that change the tables, indexes and side
-- tables which the call is about: once it has begun, or when it has gone through some rows.
-- Attacker: the owner of all of them. Must not: the backend end, or an error be internal, but for those that a plain
-- SELECT raises: none of a table that is dropped while a query of it is planned is tried here.

-- as attacker:
CREATE FUNCTION evil.act() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	act text := coalesce(current_setting('evil.act', true), '');
	rest int := coalesce(nullif(current_setting('evil.rest', true), ''), '0');
BEGIN
	IF act <> '' AND rest > 0 THEN
		PERFORM set_config('evil.rest', (rest - 1)::text, false);
	ELSIF act <> '' THEN
		PERFORM set_config('evil.act', '', false);
		EXECUTE act;
	END IF;
END $$;
CREATE FUNCTION evil.f(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.act(); RETURN t; END $$;
CREATE FUNCTION evil.c(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.act(); RETURN i; END $$;
CREATE FUNCTION evil.w(t text) RETURNS text VOLATILE LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.act(); RETURN t; END $$;
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'some text ' || i / 2 FROM generate_series(1, 30) i;
CREATE INDEX near ON evil.docs USING minlsh (evil.f(body));
CREATE INDEX part ON evil.docs USING minlsh (body) WHERE id > evil.c(0);
CREATE INDEX plain ON evil.docs USING minlsh (body);
SELECT minlsh_create_side_table('evil.docs', 'body');
SELECT minlsh_track_clusters('evil.near');
SELECT joined FROM minlsh_refresh_clusters('evil.docs_clusters');
INSERT INTO evil.docs SELECT i, 'some text ' || i / 2 FROM generate_series(31, 36) i;
CREATE TABLE evil.some AS SELECT 4 AS id, 'some text 4' AS body UNION ALL SELECT 5, 'some text 5';
CREATE VIEW evil.v AS SELECT id, evil.w(body) AS body FROM evil.docs;
CREATE VIEW evil.w AS SELECT id, evil.w(body) AS body FROM evil.some;
CREATE TABLE evil.acts (act text);
INSERT INTO evil.acts VALUES ('DROP INDEX evil.near'), ('DROP INDEX evil.plain'), ('TRUNCATE evil.docs'),
	('DELETE FROM evil.docs'), ('ALTER TABLE evil.docs DROP COLUMN id CASCADE, ADD COLUMN id text DEFAULT ''0123456789'''),
	('ALTER TABLE evil.docs DROP COLUMN body CASCADE; ALTER TABLE evil.docs ADD COLUMN body int8 DEFAULT 5'),
	('ALTER TABLE evil.docs ALTER COLUMN body TYPE int USING 5'), ('ALTER TABLE evil.docs RENAME TO other'),
	('SELECT minlsh_refresh_clusters(''evil.docs_clusters'')'), ('SELECT minlsh_untrack_clusters(''evil.docs_clusters'')'),
	('DELETE FROM evil.docs_clusters_queue'), ('DELETE FROM evil.docs_clusters'), ('TRUNCATE evil.docs_clusters_list'),
	('ALTER TABLE evil.docs_clusters ALTER COLUMN doc_id TYPE text'), ('DROP TABLE evil.docs_minlsh CASCADE'),
	('DELETE FROM evil.docs_minlsh'), ('SELECT minlsh_rebuild_side_table(''evil.docs_minlsh'')'),
	('REINDEX TABLE evil.docs'),
	('UPDATE evil.docs SET id = id + 100, body = body || id'), ('CREATE TABLE evil.child () INHERITS (evil.docs)'),
	('SELECT near_duplicate_pairs(''evil.near'')'), ('SELECT near_duplicates(4, 0.9, ''evil.docs_minlsh'')');
CREATE TABLE evil.calls (call text);
INSERT INTO evil.calls SELECT 'SELECT count(*) FROM ' || call FROM unnest(string_to_array($$
	minlsh_refresh_clusters('evil.docs_clusters', true); minlsh_check('evil.docs_clusters');
	minlsh_check('evil.near'); minlsh_check('evil.part'); minlsh_check('evil.docs');
	near_duplicate_pairs('evil.near'); near_duplicate_pairs('TABLE evil.v'); near_duplicate_pairs('evil.part');
	near_duplicates_between('TABLE evil.v', 'evil.docs'); near_duplicate_bridges('TABLE evil.v');
	near_duplicates_between('TABLE evil.w', 'evil.plain');
	near_duplicates_between('TABLE evil.w', 'evil.near'); near_duplicates_between('TABLE evil.w', 'evil.docs');
	near_duplicates_between('TABLE evil.w', 'evil.docs_minlsh'); near_duplicates(4, 0.9, 'evil.near');
	near_duplicates(4, 0.9, 'evil.part'); minlsh_explain('evil.near', 4, 5);
	near_duplicate_cluster_of(4, 0.9, 'evil.near'); minlsh_recall('evil.near'); minlsh_recall('TABLE evil.v');
	minlsh_suggest('TABLE evil.v'); common_passages('TABLE evil.v'); repeated_passages('TABLE evil.v');
	contained_documents('TABLE evil.v');
	evil.w AS w, near_duplicates(w.id, 0.9, 'evil.plain') WHERE w.body > '';
	evil.w AS w, near_duplicates_of(w.body, 0.9, 'evil.plain');
	evil.w AS w, near_duplicates_of(w.body, 0.9, 'evil.docs_minlsh');
	evil.docs WHERE evil.f(body) ~= minlsh_document('some text 4');
	(SELECT near_duplicate_cluster(evil.w(body)) OVER () FROM evil.docs) AS x;
	evil.w AS w, near_duplicates(w.id, 0.9, (evil.w('evil.docs_minlsh') || left(w.body, 0))::regclass)$$, ';')) AS call;
INSERT INTO evil.calls VALUES ('CREATE INDEX again ON evil.docs USING minlsh (evil.f(body))'),
	('INSERT INTO evil.docs SELECT id + 900, body FROM evil.w'), ('UPDATE evil.docs SET body = evil.w(body || id)'),
	('DELETE FROM evil.docs WHERE evil.w(body) > ''''');
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
-- gives:
SELECT outcome FROM evil.calls, evil.outcome('', 0, call) AS outcome WHERE outcome IS NOT NULL;
-- Each act amid each call: at both moments, or at one of the two.
-- gives:
SELECT outcome FROM evil.acts, evil.calls, (VALUES (0), (4)) AS at(rest), LATERAL (SELECT evil.outcome(act, rest, call)
	WHERE current_setting('attack.thorough')::boolean OR hashtext(act || call) & 1 = rest / 4) AS o(outcome)
	WHERE outcome IS NOT NULL;
