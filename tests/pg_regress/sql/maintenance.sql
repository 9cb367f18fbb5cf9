-- The index follows every change of its table, in the same transaction. After each change
-- minlsh_check(), which signs every document again, finds no difference.

CREATE TABLE docs (id bigint PRIMARY KEY, body text, note text);
SET client_min_messages = warning;
SELECT minlsh_create_index('docs', 'body', threshold => 0.5);
RESET client_min_messages;

-- INSERT and COPY.
INSERT INTO docs SELECT i, 'a document that differs from the others in its number, ' || i FROM generate_series(1, 5) AS i;
COPY docs (id, body) FROM STDIN;
6	a document that differs from the others in its number, 6
7	\N
8	
9	x
\.
SELECT doc_id FROM near_duplicates(6) ORDER BY doc_id;
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
INSERT INTO docs VALUES (105, 'written over'), (300, 'written anew') ON CONFLICT (id) DO UPDATE SET body = excluded.body;
INSERT INTO docs VALUES (105, 'left out'), (301, 'let in') ON CONFLICT DO NOTHING;
SELECT * FROM minlsh_check();
MERGE INTO docs USING (VALUES (105, 'merged'), (300, NULL), (302, 'merged, too')) AS v (id, body) ON docs.id = v.id
WHEN MATCHED AND v.body IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET body = v.body
WHEN NOT MATCHED THEN INSERT (id, body) VALUES (v.id, v.body);
SELECT id, body FROM docs WHERE id IN (105, 300, 302) ORDER BY id;
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

-- A trigger that changes the text on its way is seen through, also where no SET names the text.
CREATE FUNCTION docs_shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.body := upper(NEW.body); RETURN NEW; END $$;
CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION docs_shout();
UPDATE docs SET note = 'shouted' WHERE id = 401;
INSERT INTO docs VALUES (402, 'loud');
SELECT * FROM minlsh_check();
DROP TRIGGER shout ON docs;
DROP FUNCTION docs_shout();

-- Changes that come through a foreign key.
CREATE TABLE authors (id integer PRIMARY KEY);
INSERT INTO authors VALUES (1), (2);
ALTER TABLE docs ADD author integer REFERENCES authors ON DELETE CASCADE;
UPDATE docs SET author = 1 WHERE id > 300;
DELETE FROM authors WHERE id = 1;
SELECT * FROM minlsh_check();

-- TRUNCATE, which can be rolled back.
BEGIN;
TRUNCATE docs;
SELECT count(*) FROM docs_minlsh;
ROLLBACK;
SELECT * FROM minlsh_check();

-- What minlsh_check() finds: a writer who went around the triggers.
ALTER TABLE docs DISABLE TRIGGER docs_minlsh_insert;
INSERT INTO docs VALUES (500, 'unnoticed');
DELETE FROM docs_minlsh WHERE doc_id = 105;
UPDATE docs_minlsh SET signature = signature || 1 WHERE doc_id = 106;
UPDATE docs_minlsh SET bands = '{}' WHERE doc_id = 107;
INSERT INTO docs_minlsh VALUES (600, '{}', '{}');
SELECT * FROM minlsh_check();
ALTER TABLE docs ENABLE TRIGGER docs_minlsh_insert;
SET client_min_messages = warning;
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();

-- A generated column can be indexed, if it is stored.
CREATE TABLE pages (id integer PRIMARY KEY, head text, body text, full_text text GENERATED ALWAYS AS (head || ' ' || body) STORED);
SELECT minlsh_create_index('pages', 'full_text');
INSERT INTO pages VALUES (1, 'head', 'and body'), (2, 'head', 'and body');
UPDATE pages SET head = 'another' WHERE id = 2;
SELECT * FROM minlsh_check('pages');

-- The trigger function is of no use by itself.
SELECT minlsh_sync();
DROP TABLE docs, authors, pages;
