-- An index built while others write: see also tests/integration/tests/concurrent_build.rs.
SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT i, 'the text of document ' || i FROM generate_series(1, 2500) AS i;
INSERT INTO docs VALUES (0, ''), (-1, NULL);
SET client_min_messages = notice;
\set SHOW_CONTEXT never
CALL minlsh_create_index_concurrently('docs', 'body', shingle_size => 4);
SET client_min_messages = warning;
SELECT index, valid, documents, shingle_size FROM minlsh_indexes;
SELECT * FROM minlsh_check('docs');
SELECT * FROM minlsh_progress;
SELECT doc_id FROM near_duplicates(100, 0.9) ORDER BY doc_id LIMIT 3;
SELECT minlsh_drop_index('docs');

-- It is the same index that minlsh_create_index() makes.
SELECT minlsh_create_index('docs', 'body', name => 'at_once');
CALL minlsh_create_index_concurrently('docs', 'body', name => 'bit by bit', batch => 7);
SELECT count(*) AS different FROM at_once AS a FULL JOIN "bit by bit" AS b USING (doc_id) WHERE a.signature IS DISTINCT FROM b.signature OR a.bands IS DISTINCT FROM b.bands;
SELECT minlsh_drop_index('at_once'), minlsh_drop_index('"bit by bit"');

-- It commits as it goes, so it takes no part in a transaction block.
BEGIN;
CALL minlsh_create_index_concurrently('docs', 'body');
ROLLBACK;
CREATE FUNCTION in_a_function() RETURNS void LANGUAGE SQL AS $$ CALL minlsh_create_index_concurrently('docs', 'body') $$;
SELECT in_a_function();
DROP FUNCTION in_a_function();

-- What is wrong with the arguments is said before anything is built.
CALL minlsh_create_index_concurrently('docs', 'text');
CALL minlsh_create_index_concurrently('docs', 'body', threshold => 2);
CALL minlsh_create_index_concurrently('docs', 'body', batch => 0);
CALL minlsh_create_index_concurrently('docs', 'body', batch => NULL);
CALL minlsh_create_index_concurrently(NULL, 'body');
CALL minlsh_create_index_concurrently('pg_class', 'relname');
CREATE ROLE regress_minlsh_stranger;
GRANT SELECT ON docs TO regress_minlsh_stranger;
SET ROLE regress_minlsh_stranger;
CALL minlsh_create_index_concurrently('docs', 'body');
SELECT * FROM minlsh_progress;
SELECT * FROM minlsh_builds;
RESET ROLE;
SELECT count(*) FROM minlsh_indexes;
SELECT * FROM minlsh_progress;

-- Stopped in the middle, an index is kept up to date but not asked; the same call goes on.
CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stopped at %', NEW.doc_id; END $$;
CREATE FUNCTION stop_at_2000() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('public.docs_minlsh') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'stop') THEN
		CREATE TRIGGER stop BEFORE INSERT ON public.docs_minlsh FOR EACH ROW WHEN (NEW.doc_id = 2000) EXECUTE FUNCTION public.stop();
	END IF;
END $$;
CREATE EVENT TRIGGER stop_at_2000 ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION stop_at_2000();
CALL minlsh_create_index_concurrently('docs', 'body', batch => 100);
DROP EVENT TRIGGER stop_at_2000;
SELECT index, valid, documents FROM minlsh_indexes;
SELECT relation, index, phase, done, total, rate, time_left, pid FROM minlsh_progress;
SELECT near_duplicates(1, 0.99);
SELECT problem FROM minlsh_check() WHERE doc_id IS NULL;
UPDATE docs SET body = 'changed' WHERE id IN (1, 2400);
DELETE FROM docs WHERE id IN (2, 2401);
DROP TRIGGER stop ON docs_minlsh;
CALL minlsh_create_index_concurrently('docs', 'body');
SELECT index, valid, documents FROM minlsh_indexes;
SELECT * FROM minlsh_check();
SELECT * FROM minlsh_progress;
DROP FUNCTION stop_at_2000, stop;
DROP TABLE docs;

-- Keys of any type, in any schema, and partitions.
CREATE SCHEMA "Mixed Case";
CREATE TABLE "Mixed Case"."Docs" ("select" text COLLATE "C" PRIMARY KEY, "from" varchar(200));
INSERT INTO "Mixed Case"."Docs" SELECT E'it''s \\ "' || i, 'text ' || i FROM generate_series(1, 50) AS i;
CALL minlsh_create_index_concurrently('"Mixed Case"."Docs"', 'from', batch => 7);
SELECT * FROM minlsh_check('"Mixed Case"."Docs"');
CREATE TABLE events (at timestamptz PRIMARY KEY, body text) PARTITION BY RANGE (at);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE events_2 PARTITION OF events DEFAULT;
INSERT INTO events SELECT timestamptz '2026-01-31 23:00:00+00' + i * interval '1 hour 0.000001 s', 'event ' || i FROM generate_series(-20, 20) AS i;
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
CALL minlsh_create_index_concurrently('events', 'body', batch => 7);
SELECT * FROM minlsh_check('events');
SELECT index, valid, documents FROM minlsh_indexes ORDER BY 1;
RESET ALL;
SET client_min_messages = warning;
DROP TABLE events;
DROP SCHEMA "Mixed Case" CASCADE;
DROP ROLE regress_minlsh_stranger;
