-- The index follows every change of its table, in the same transaction. After each change
-- minlsh_check(), which signs every document again, finds no difference.

CREATE TABLE docs (id bigint PRIMARY KEY, body text, note text);
SET client_min_messages = warning;
SELECT minlsh_create_side_table('docs', 'body', threshold => 0.5);

-- INSERT and COPY.
INSERT INTO docs SELECT i, 'a document that differs from the others in its number, ' || i FROM generate_series(1, 5)
	AS i;
COPY docs (id, body) FROM STDIN;
6	a document that differs from the others in its number, 6
7	\N
8	
9	x
\.
SELECT doc_id FROM docs_minlsh ORDER BY doc_id;
SELECT * FROM minlsh_check();

-- UPDATE: only a change of key or text touches the index.
BEGIN;
UPDATE docs SET note = 'seen', body = body;
SELECT count(*) AS rewritten FROM docs_minlsh WHERE pg_current_xact_id_if_assigned()::xid = xmin;
UPDATE docs SET body = body || '!' WHERE id <= 2;
SELECT count(*) AS rewritten FROM docs_minlsh WHERE pg_current_xact_id_if_assigned()::xid = xmin;
SELECT * FROM minlsh_check();
ROLLBACK;

-- To and from a text that has no shingle.
UPDATE docs SET body = NULL WHERE id = 1;
UPDATE docs SET body = 'a document that differs from the others in its number, 7' WHERE id = 7;
SELECT doc_id FROM docs_minlsh ORDER BY doc_id;
SELECT * FROM minlsh_check();

-- Keys change, also from one document to another within a statement.
UPDATE docs SET id = id + 100;
SELECT * FROM minlsh_check();
UPDATE docs SET id = CASE id WHEN 102 THEN 202 ELSE 102 END WHERE id IN (102, 103) AND id <> 103;
WITH gone AS (DELETE FROM docs WHERE id = 104 RETURNING body) INSERT INTO docs SELECT 204, body FROM gone;
SELECT * FROM minlsh_check();

-- INSERT ... ON CONFLICT, and MERGE with all its actions.
INSERT INTO docs VALUES (105, 'written over'), (300, 'written anew') ON CONFLICT (id) DO UPDATE SET body =
	excluded.body;
INSERT INTO docs VALUES (105, 'left out'), (301, 'let in') ON CONFLICT DO NOTHING;
SELECT * FROM minlsh_check();
MERGE INTO docs USING (VALUES (105, 'merged'), (300, NULL), (302, 'merged, too')) AS v (id, body) ON docs.id = v.id
WHEN MATCHED AND v.body IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET body = v.body
WHEN NOT MATCHED THEN INSERT (id, body) VALUES (v.id, v.body);
SELECT id, body FROM docs WHERE id IN (105, 300, 302) ORDER BY id;
SELECT * FROM minlsh_check();

-- A statement may give the key of one document to another: by MERGE, ON CONFLICT, or a writable CTE.
BEGIN;
INSERT INTO docs VALUES (310, 'will be deleted, and its key reused'), (311, 'will move, and its key be reused'), (312,
	'stays');
MERGE INTO docs USING (VALUES (310), (311), (390), (391)) AS v (id) ON docs.id = v.id
WHEN MATCHED AND v.id = 310 THEN DELETE
WHEN MATCHED THEN UPDATE SET id = 320
WHEN NOT MATCHED THEN INSERT (id, body) VALUES (v.id - 80, 'a new document of an old key');
INSERT INTO docs VALUES (312, ''), (330, 'a new one'), (312, 'a new document of an old key') ON CONFLICT (id) DO
	UPDATE SET id = 340;
UPDATE docs SET id = id + 1 WHERE id IN (330, 340);
WITH gone AS (DELETE FROM docs WHERE id IN (320, 331) RETURNING id) INSERT INTO docs SELECT id,
	'a new document of an old key' FROM gone;
SELECT id, body FROM docs WHERE id BETWEEN 310 AND 350 ORDER BY id;
SELECT * FROM minlsh_check();
ROLLBACK;

-- One statement that inserts, updates and deletes; one that does nothing.
WITH i AS (INSERT INTO docs VALUES (350, 'inserted'), (351, 'inserted, too')), d AS (DELETE FROM docs WHERE id = 301)
UPDATE docs SET body = body || ' and updated' WHERE id = 302;
UPDATE docs SET body = 'nobody' WHERE false;
DELETE FROM docs WHERE false;
INSERT INTO docs SELECT 1, 'nobody' WHERE false;
SELECT * FROM minlsh_check();

-- Rollback and savepoints leave table and index equal.
BEGIN;
INSERT INTO docs VALUES (400, 'kept');
SAVEPOINT before;
DELETE FROM docs;
SELECT count(*) FROM docs_minlsh;
ROLLBACK TO before;
INSERT INTO docs VALUES (401, 'kept, too');
COMMIT;
SELECT * FROM minlsh_check();

-- An error takes everything back, also where it is caught.
DO $$
BEGIN
	BEGIN
		INSERT INTO docs VALUES (410, 'twice'), (410, 'twice');
	EXCEPTION WHEN unique_violation THEN
		INSERT INTO docs VALUES (411, 'instead');
	END;
	BEGIN
		UPDATE docs SET body = 'all the same';
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		DELETE FROM docs WHERE id = 400;
	END;
END $$;
SELECT * FROM minlsh_check();

-- A text that is stored out of line.
INSERT INTO docs SELECT 420, string_agg(md5(i::text), ' ') FROM generate_series(1, 2000) AS i;
BEGIN;
UPDATE docs SET note = 'seen' WHERE id = 420;
UPDATE docs SET body = body || '' WHERE id = 420;
SELECT count(*) AS rewritten FROM docs_minlsh WHERE pg_current_xact_id_if_assigned()::xid = xmin;
UPDATE docs SET id = 421 WHERE id = 420;
SELECT * FROM minlsh_check();
COMMIT;

-- Through a view; through a rule.
CREATE VIEW docs_view AS SELECT id, body FROM docs WHERE id >= 400 WITH CHECK OPTION;
INSERT INTO docs_view VALUES (430, 'through a view');
UPDATE docs_view SET body = 'changed through a view' WHERE id = 430;
DELETE FROM docs_view WHERE id = 421;
CREATE RULE docs_rule AS ON INSERT TO docs_view DO INSTEAD INSERT INTO docs VALUES (NEW.id + 1000, NEW.body);
INSERT INTO docs_view VALUES (431, 'through a rule');
SELECT doc_id FROM docs_minlsh WHERE doc_id >= 430 ORDER BY doc_id;
SELECT * FROM minlsh_check();
DROP VIEW docs_view;

-- A trigger that changes the text on its way is seen through, also where no SET names the text.
CREATE FUNCTION docs_shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.body := upper(NEW.body); RETURN NEW; END
	$$;
CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION docs_shout();
UPDATE docs SET note = 'shouted' WHERE id = 401;
INSERT INTO docs VALUES (402, 'loud');
SELECT * FROM minlsh_check();
DROP FUNCTION docs_shout CASCADE;
CREATE FUNCTION docs_keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN NEW.body LIKE '%keep out%'
	THEN NULL ELSE NEW END; END $$;
CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION docs_keep();
INSERT INTO docs VALUES (403, 'keep out'), (404, 'let in');
UPDATE docs SET body = 'keep out of ' || id WHERE id IN (402, 404);
SELECT * FROM minlsh_check();
DROP FUNCTION docs_keep CASCADE;

-- Changes that come through foreign keys: to documents, to their keys, and the loss of their text.
CREATE TABLE authors (id integer PRIMARY KEY);
INSERT INTO authors VALUES (1), (2);
ALTER TABLE docs ADD author integer REFERENCES authors ON DELETE CASCADE;
UPDATE docs SET author = 1 WHERE id > 400;
DELETE FROM authors WHERE id = 1;
SELECT * FROM minlsh_check();
CREATE TABLE texts (body text PRIMARY KEY, id bigint UNIQUE);
INSERT INTO texts VALUES ('a text of texts', 900), ('another text of texts', 901);
CREATE TABLE copies (id bigint PRIMARY KEY REFERENCES texts (id) ON UPDATE CASCADE ON DELETE CASCADE,
	body text REFERENCES texts (body) ON UPDATE CASCADE ON DELETE SET NULL);
SELECT minlsh_create_side_table('copies', 'body');
INSERT INTO copies VALUES (900, 'a text of texts'), (901, 'a text of texts');
UPDATE texts SET id = id + 10;
UPDATE texts SET body = 'a changed text of texts' WHERE body = 'a text of texts';
SELECT doc_id FROM copies_minlsh ORDER BY doc_id;
SELECT * FROM minlsh_check('copies');
DELETE FROM texts WHERE id = 910;
SELECT * FROM copies;
SELECT * FROM minlsh_check('copies');
TRUNCATE texts CASCADE;
SELECT count(*) FROM copies_minlsh;
DROP TABLE copies, texts;

-- TRUNCATE, which can be rolled back, and after which documents may come again.
BEGIN;
TRUNCATE docs;
SELECT count(*) FROM docs_minlsh;
INSERT INTO docs VALUES (1, 'a new beginning');
SELECT * FROM minlsh_check();
ROLLBACK;
SELECT * FROM minlsh_check();

-- What minlsh_check() finds: a writer who went around the triggers. minlsh_rebuild_side_table() mends all of it.
ALTER TABLE docs DISABLE TRIGGER docs_minlsh_sync;
ALTER TABLE docs_minlsh DISABLE TRIGGER docs_minlsh_rows;
INSERT INTO docs VALUES (500, 'unnoticed');
DELETE FROM docs_minlsh WHERE doc_id = 105;
UPDATE docs_minlsh SET signature = signature[2:] || 1 WHERE doc_id = 106;
UPDATE docs_minlsh SET bands = '{}' WHERE doc_id = 107;
INSERT INTO docs_minlsh SELECT 600, signature, bands FROM docs_minlsh WHERE doc_id = 107;
SELECT * FROM minlsh_check() ORDER BY doc_id;
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check();

-- A generated column can be indexed, if it is stored.
CREATE TABLE pages (id integer PRIMARY KEY, head text, body text, full_text text GENERATED ALWAYS AS (head || ' ' ||
	body) STORED);
SELECT minlsh_create_side_table('pages', 'full_text');
INSERT INTO pages VALUES (1, 'head', 'and body'), (2, 'head', 'and body');
UPDATE pages SET head = 'another' WHERE id = 2;
SELECT * FROM minlsh_check('pages');

-- Several indexes, and triggers that read transition tables.
CREATE TABLE many (id integer PRIMARY KEY, title text, body text);
SELECT minlsh_create_side_table('many', 'body'), minlsh_create_side_table('many', 'title', num_perm => 32);
CREATE FUNCTION many_count() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '% %: %', TG_NAME, TG_OP,
	(SELECT count(*) FROM written); RETURN NULL; END $$;
CREATE TRIGGER aaa AFTER INSERT ON many REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION
	many_count();
CREATE TRIGGER zzz AFTER UPDATE ON many REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION
	many_count();
INSERT INTO many SELECT i, 'title ' || i, repeat('text ' || i || ' ', 20) FROM generate_series(1, 3000) AS i;
UPDATE many SET id = id + 10000, body = body || '!' WHERE id % 2 = 0;
UPDATE many SET title = NULL WHERE id % 3 = 0;
DELETE FROM many WHERE id % 5 = 0;
SELECT * FROM minlsh_check('many');
DROP TABLE many;
DROP FUNCTION many_count;

-- A text that old rows have by the column's default alone.
CREATE TABLE late (id integer PRIMARY KEY);
INSERT INTO late VALUES (1), (2), (3);
ALTER TABLE late ADD body text DEFAULT 'a text by default';
SELECT minlsh_create_side_table('late', 'body');
ALTER TABLE late ADD more text DEFAULT 'more';
UPDATE late SET id = id + 10 WHERE id > 1;
SELECT * FROM minlsh_check('late');
DROP TABLE late;

-- The trigger function is of no use by itself.
SELECT minlsh_sync();
DROP TABLE docs, authors, pages;
