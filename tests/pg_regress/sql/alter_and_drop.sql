-- An index is tied to its table as PostgreSQL's own are: it follows what happens to the table,
-- and nothing remains of it that makes no sense.

SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, title text, body text);
INSERT INTO docs SELECT i, 'title', 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all'
	|| repeat('!', i)
FROM generate_series(1, 3) AS i;
SELECT minlsh_create_side_table('docs', 'body');

-- Renamed, moved, columns renamed, added and dropped: it follows, within one session.
ALTER TABLE docs RENAME COLUMN body TO "Full Text";
ALTER TABLE docs RENAME COLUMN id TO "select";
ALTER TABLE docs DROP COLUMN title, ADD COLUMN extra integer DEFAULT 7;
ALTER TABLE docs RENAME TO "My Docs";
CREATE SCHEMA "Other";
ALTER TABLE "My Docs" SET SCHEMA "Other";
INSERT INTO "Other"."My Docs" VALUES (5,
	'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all?');
SELECT * FROM minlsh_check();
ALTER TABLE "Other"."My Docs" SET SCHEMA public;
DROP SCHEMA "Other";
ALTER TABLE "My Docs" RENAME TO docs;
ALTER TABLE docs RENAME "Full Text" TO body;
ALTER TABLE docs RENAME "select" TO id;

-- The side table may be renamed and moved, too.
CREATE SCHEMA aside;
ALTER TABLE docs_minlsh SET SCHEMA aside;
ALTER TABLE aside.docs_minlsh RENAME TO sketches;
INSERT INTO docs VALUES (6, 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all.');
SELECT * FROM minlsh_check('aside.sketches');
ALTER TABLE aside.sketches RENAME TO docs_minlsh;
ALTER TABLE aside.docs_minlsh SET SCHEMA public;
DROP SCHEMA aside;

-- Rewritten, clustered, vacuumed.
CLUSTER docs USING docs_pkey;
ALTER TABLE docs ALTER extra TYPE text;
VACUUM FULL docs;
VACUUM FULL docs_minlsh;
REINDEX TABLE docs_minlsh;
INSERT INTO docs VALUES (7, 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all;');
SELECT * FROM minlsh_check();

-- A trigger may be renamed. Those that are disabled are reported, and those that were enabled again, but no longer
-- fire for the rows that logical replication brings.
ALTER TRIGGER docs_minlsh_sync ON docs RENAME TO zzz_last;
ALTER TABLE docs DISABLE TRIGGER USER;
SELECT * FROM minlsh_check();
ALTER TABLE docs ENABLE TRIGGER USER;
SELECT * FROM minlsh_check();
SELECT minlsh_rebuild_side_table('docs');
INSERT INTO docs VALUES (8, 'Something else.');
SELECT * FROM minlsh_check();

-- The type of an indexed column cannot change under the index, and its key stays one.
CREATE FUNCTION refused(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN false;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM LIKE '%column%';
END $$;
SELECT refused('ALTER TABLE docs ALTER body TYPE varchar(100)') AS body,
	refused('ALTER TABLE docs ALTER id TYPE bigint') AS key;
DROP FUNCTION refused;
ALTER TABLE docs DROP CONSTRAINT docs_pkey;
BEGIN;
ALTER TABLE docs DROP CONSTRAINT docs_pkey CASCADE;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid IN ('docs'::regclass, 'docs_minlsh'::regclass);
ALTER TABLE docs ALTER id DROP NOT NULL;
INSERT INTO docs VALUES (NULL, 'no key'), (1, 'twice');
SELECT minlsh_check('docs');
ROLLBACK;

-- A key that can be NULL is reported, and a NULL refused.
BEGIN;
CREATE TABLE slips (id integer NOT NULL UNIQUE, body text);
SELECT minlsh_create_side_table('slips', 'body', key => 'id');
ALTER TABLE slips ALTER id DROP NOT NULL;
SELECT * FROM minlsh_check('slips');
INSERT INTO slips VALUES (NULL, 'no key');
ROLLBACK;

-- A build sees all committed rows, also those that its transaction's snapshot does not.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT minlsh_rebuild_side_table('docs');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT minlsh_drop_side_table('docs'), minlsh_create_side_table('docs', 'body');
INSERT INTO docs VALUES (9, 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all:');
COMMIT;
SELECT * FROM minlsh_check();

-- All of it is transactional: what is rolled back has not happened, in this session's memory neither.
BEGIN;
SELECT minlsh_drop_side_table('docs');
INSERT INTO docs VALUES (10, 'not followed by any index');
ROLLBACK;
BEGIN;
SAVEPOINT before;
SELECT minlsh_drop_side_table('docs'), minlsh_create_side_table('docs', 'body', num_perm => 32, name => 'short');
ROLLBACK TO before;
INSERT INTO docs VALUES (11, 'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all,');
COMMIT;
SELECT * FROM minlsh_check();

-- Whatever is dropped takes along what makes no sense without it. The text column:
BEGIN;
ALTER TABLE docs DROP COLUMN body;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
INSERT INTO docs VALUES (12);
ROLLBACK;

-- The key column:
BEGIN;
ALTER TABLE docs DROP COLUMN id;
SELECT to_regclass('docs_minlsh') AS side_table;
ROLLBACK;

-- The side table:
BEGIN;
DROP TABLE docs_minlsh;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
INSERT INTO docs VALUES (12, 'no trigger is left');
SELECT minlsh_create_side_table('docs', 'body');
SELECT * FROM minlsh_check();
ROLLBACK;

-- The schema:
BEGIN;
CREATE SCHEMA shelf;
CREATE TABLE shelf.books (id integer PRIMARY KEY, body text);
SELECT minlsh_create_side_table('shelf.books', 'body');
DROP SCHEMA shelf CASCADE;
COMMIT;

-- The extension goes with CASCADE only, and then takes the indexes along, not the documents.
BEGIN;
SAVEPOINT before;
DROP EXTENSION minlsh;
ROLLBACK TO before;
DROP EXTENSION minlsh CASCADE;
SELECT to_regclass('docs_minlsh') AS side_table, count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
INSERT INTO docs VALUES (12, 'still writable');
SELECT count(*) FROM docs;
ROLLBACK;

-- The table:
DROP TABLE docs;
SELECT minlsh_drop_side_table('docs_minlsh');

-- A table of the same name is another table.
CREATE TABLE docs (id bigint PRIMARY KEY, body text);
SELECT minlsh_create_side_table('docs', 'body', num_perm => 64);
INSERT INTO docs VALUES (1, 'one text'), (2, 'one text');

-- Another owner: the side table follows with the next write, and is read before it.
CREATE ROLE regress_minlsh_heir;
GRANT CREATE ON SCHEMA public TO regress_minlsh_heir;
ALTER TABLE docs OWNER TO regress_minlsh_heir;
SELECT near_duplicates(1, 0.9, 'docs');
SELECT * FROM minlsh_check('docs');
SELECT relowner <> 'regress_minlsh_heir'::regrole AS not_yet FROM pg_class WHERE oid = 'docs_minlsh'::regclass;
INSERT INTO docs VALUES (3, 'one text');
SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE 'docs_minlsh%' ORDER BY relname;
-- Building it anew is for the new owner, and so is dropping it, though nothing has been written yet.
SET ROLE regress_minlsh_heir;
INSERT INTO docs VALUES (4, 'one text');
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check();
RESET ROLE;
CREATE ROLE regress_minlsh_second_heir;
GRANT CREATE ON SCHEMA public TO regress_minlsh_second_heir;
ALTER TABLE docs OWNER TO regress_minlsh_second_heir;
SET ROLE regress_minlsh_second_heir;
SELECT minlsh_drop_side_table('docs');
RESET ROLE;
DROP TABLE docs;
REVOKE CREATE ON SCHEMA public FROM regress_minlsh_heir, regress_minlsh_second_heir;
DROP ROLE regress_minlsh_second_heir;
DROP ROLE regress_minlsh_heir;
