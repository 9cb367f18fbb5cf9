-- An event trigger that drops, renames or moves what a function of minlsh has just made, or is about to use.
-- Attacker: a superuser by mistake, since others make no event triggers. Must not: the backend end, or an error be
-- internal or one of syntax: the call may fail, with an error that says what is gone.

-- as superuser:
CREATE TABLE docs (id int PRIMARY KEY, body text);
INSERT INTO docs SELECT i, 'some text ' || i / 2 FROM generate_series(1, 10) i;
CREATE INDEX near ON docs USING minlsh (body);
CREATE TABLE held (id int PRIMARY KEY, body text);
INSERT INTO held SELECT * FROM docs;
CREATE INDEX held_near ON held USING minlsh (body);
SELECT minlsh_create_side_table('held', 'body');
SELECT minlsh_track_clusters('held_near');
CREATE FUNCTION act() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	act text := current_setting('event.act', true);
	rest int := coalesce(nullif(current_setting('event.rest', true), ''), '0');
BEGIN
	IF coalesce(act, '') = '' THEN
		RETURN;
	END IF;
	PERFORM set_config('event.rest', (rest - 1)::text, false);
	IF rest = 0 THEN
		PERFORM set_config('event.act', '', false);
		EXECUTE act;
	END IF;
END $$;
CREATE EVENT TRIGGER began ON ddl_command_start EXECUTE FUNCTION act();
CREATE EVENT TRIGGER ended ON ddl_command_end EXECUTE FUNCTION act();
CREATE TABLE acts (act text);
INSERT INTO acts SELECT 'DROP TABLE IF EXISTS ' || name || ' CASCADE' FROM unnest('{docs_minlsh,docs_clusters,
	docs_clusters_queue,docs_clusters_list,docs_clusters_log,docs,held_minlsh,held_clusters_queue,held}'::text[]) AS name;
INSERT INTO acts SELECT 'ALTER TABLE IF EXISTS ' || name || ' RENAME TO other' FROM unnest('{docs_minlsh,docs_clusters,
	docs_clusters_queue,docs,held_minlsh}'::text[]) AS name;
INSERT INTO acts VALUES ('CREATE SCHEMA s; ALTER TABLE IF EXISTS docs_minlsh SET SCHEMA s'),
	('ALTER TABLE IF EXISTS docs_minlsh DROP COLUMN IF EXISTS signature CASCADE'),
	('ALTER TABLE IF EXISTS docs_minlsh DROP CONSTRAINT IF EXISTS docs_minlsh_pkey'),
	('DROP INDEX IF EXISTS docs_minlsh_signature_idx'), ('DROP INDEX IF EXISTS near CASCADE'),
	('ALTER TABLE docs DROP COLUMN body CASCADE'), ('ALTER TABLE docs DROP COLUMN id CASCADE'),
	('ALTER TABLE docs RENAME body TO other'), ('ALTER TABLE held DROP COLUMN body CASCADE'),
	('DROP TRIGGER IF EXISTS docs_minlsh_sync ON docs'), ('DROP TRIGGER IF EXISTS docs_minlsh_update ON docs'),
	('DROP TRIGGER IF EXISTS docs_clusters_queue_capture ON docs'),
	('DROP TRIGGER IF EXISTS held_minlsh_truncate ON held');
CREATE TABLE calls (call text);
INSERT INTO calls VALUES ('SELECT minlsh_create_side_table(''docs'', ''body'')'),
	('SELECT minlsh_track_clusters(''near'')'),
	('SELECT minlsh_rebuild_side_table(''held_minlsh'')'), ('SELECT minlsh_drop_side_table(''held_minlsh'')'),
	('SELECT minlsh_untrack_clusters(''held_clusters'')'), ('SELECT minlsh_refresh_clusters(''held_clusters'', true)');
-- The outcome of a call if that is done at the nth event: an error that is internal or one of syntax. All is rolled
-- back.
CREATE FUNCTION outcome(act text, rest int, call text) RETURNS text LANGUAGE plpgsql
	SET client_min_messages = error AS $$
DECLARE outcome text; hint text;
BEGIN
	BEGIN
		PERFORM set_config('event.rest', rest::text, false), set_config('event.act', act, false);
		EXECUTE call;
		RAISE SQLSTATE 'ZZ000';
	EXCEPTION WHEN OTHERS THEN
		IF SQLSTATE LIKE 'XX%' OR SQLSTATE = '42601' OR act = '' AND SQLSTATE <> 'ZZ000' THEN
			outcome := concat_ws(', ', act, rest, call) || ': ' || SQLSTATE || ' ' || SQLERRM;
		END IF;
	END;
	PERFORM set_config('event.act', '', false);
	RETURN outcome;
END $$;
-- gives:
SELECT outcome FROM calls, outcome('', 0, call) AS outcome WHERE outcome IS NOT NULL;
-- gives:
SELECT outcome FROM acts, calls, generate_series(0, 45) AS at, LATERAL (SELECT outcome(act, at, call)
	WHERE current_setting('attack.thorough')::boolean OR hashtext(act || call || at) & 3 = 0) AS o(outcome)
	WHERE outcome IS NOT NULL;
DROP EVENT TRIGGER began;
DROP EVENT TRIGGER ended;
