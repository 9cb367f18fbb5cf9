-- Other triggers of the table may write it, too. Whatever they do, and whichever fires first,
-- the index has the documents as they are in the end.

SET client_min_messages = warning;
CREATE TABLE docs (id integer PRIMARY KEY, body text, words integer);
SELECT minlsh_create_side_table('docs', 'body');

-- An AFTER ROW trigger that updates the row just written.
CREATE FUNCTION docs_shout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE docs SET body = upper(body) WHERE id = NEW.id AND body <> upper(body);
	RETURN NULL;
END $$;
CREATE TRIGGER shout AFTER INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION docs_shout();
INSERT INTO docs VALUES (1, 'one text'), (2, 'another text');
SELECT id, body FROM docs ORDER BY id;
SELECT * FROM minlsh_check();
UPDATE docs SET body = body || ', changed';
SELECT * FROM minlsh_check();
UPDATE docs SET id = id + 10, body = 'one text';
SELECT * FROM minlsh_check();
DROP TRIGGER shout ON docs;

-- One that counts words: it leaves key and text alone.
CREATE FUNCTION docs_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE docs SET words = cardinality(shingles(body, 1, 'word')) WHERE id = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER count AFTER INSERT OR UPDATE OF body ON docs FOR EACH ROW EXECUTE FUNCTION docs_count();
INSERT INTO docs VALUES (3, 'a text of five words');
UPDATE docs SET body = 'five' WHERE id = 3;
SELECT * FROM minlsh_check();
DROP TRIGGER count ON docs;

-- One that deletes the row just written, one that gives it another key.
CREATE FUNCTION docs_reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM docs WHERE id = NEW.id; RETURN
	NULL; END $$;
CREATE TRIGGER reject AFTER INSERT ON docs FOR EACH ROW WHEN (NEW.body LIKE '%rejected%') EXECUTE FUNCTION
	docs_reject();
INSERT INTO docs VALUES (4, 'to be rejected'), (5, 'to be kept');
SELECT * FROM minlsh_check();
DROP TRIGGER reject ON docs;
CREATE FUNCTION docs_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE docs SET id = -id WHERE id = NEW.id
	AND id > 0; RETURN NULL; END $$;
CREATE TRIGGER move AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION docs_move();
INSERT INTO docs VALUES (6, 'to be moved');
SELECT * FROM minlsh_check();
DROP TRIGGER move ON docs;

-- One that brings a deleted row back.
CREATE FUNCTION docs_revive() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO docs VALUES (OLD.id, OLD.body
	|| ' (back)'); RETURN NULL; END $$;
CREATE TRIGGER revive AFTER DELETE ON docs FOR EACH ROW EXECUTE FUNCTION docs_revive();
DELETE FROM docs WHERE id = 5;
SELECT id, body FROM docs WHERE id = 5;
SELECT * FROM minlsh_check();
DROP TRIGGER revive ON docs;

-- Statement triggers that fire before and after those of the index.
CREATE FUNCTION docs_tidy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE docs SET body = trim(body) WHERE body
	<> trim(body); RETURN NULL; END $$;
CREATE TRIGGER aaa AFTER INSERT ON docs FOR EACH STATEMENT EXECUTE FUNCTION docs_tidy();
INSERT INTO docs VALUES (7, '   a text with margins   ');
SELECT * FROM minlsh_check();
ALTER TRIGGER aaa ON docs RENAME TO zzz;
INSERT INTO docs VALUES (8, '   another text with margins   ');
SELECT * FROM minlsh_check();
DROP TRIGGER zzz ON docs;

-- A deferred constraint trigger.
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON docs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION
	docs_shout();
BEGIN;
INSERT INTO docs VALUES (9, 'late');
UPDATE docs SET body = 'later' WHERE id = 9;
COMMIT;
SELECT body FROM docs WHERE id = 9;
SELECT * FROM minlsh_check();
DROP TRIGGER late ON docs;

-- A function in the statement itself that writes the table.
CREATE FUNCTION docs_note(key integer) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO docs VALUES (key + 100,
	'noted ' || key); RETURN 'noting ' || key; END $$;
INSERT INTO docs SELECT 20, docs_note(20);
UPDATE docs SET body = docs_note(30) WHERE id = 20;
SELECT * FROM minlsh_check();

-- A writable CTE that is not read to its end runs after the main statement has.
WITH gone AS (DELETE FROM docs WHERE id IN (20, 120, 130) RETURNING id) INSERT INTO docs SELECT id, 'reborn' FROM gone
	LIMIT 1;
SELECT * FROM minlsh_check();
WITH gone AS (UPDATE docs SET id = id + 1000 WHERE id IN (7, 8) RETURNING id) INSERT INTO docs SELECT id - 1000,
	'in its place' FROM gone LIMIT 1;
SELECT * FROM minlsh_check();

-- The same with triggers for each row, which fire among the others in the order of their names.
DROP TABLE docs;
CREATE TABLE docs (id integer PRIMARY KEY, body text, words integer) PARTITION BY HASH (id);
CREATE TABLE docs_0 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT minlsh_create_side_table('docs', 'body');
CREATE TRIGGER aaa AFTER INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION docs_shout();
INSERT INTO docs VALUES (1, 'one text'), (2, 'another text');
UPDATE docs SET id = id + 10, body = 'one text';
SELECT id, body FROM docs ORDER BY id;
SELECT * FROM minlsh_check();
ALTER TRIGGER aaa ON docs RENAME TO zzz;
INSERT INTO docs VALUES (1, 'one text'), (2, 'another text');
UPDATE docs SET id = id + 20, body = 'one text';
SELECT * FROM minlsh_check();
DROP TRIGGER zzz ON docs;
CREATE TRIGGER aaa AFTER INSERT ON docs FOR EACH ROW WHEN (NEW.body LIKE '%rejected%') EXECUTE FUNCTION docs_reject();
INSERT INTO docs VALUES (4, 'to be rejected'), (5, 'to be kept');
SELECT * FROM minlsh_check();
DROP TABLE docs;
DROP FUNCTION docs_shout, docs_count, docs_reject, docs_move, docs_revive, docs_tidy, docs_note;

-- An UPDATE of another column does not read a text that is stored out of line, nor sign it again.
CREATE TABLE long_texts (id integer PRIMARY KEY, n integer, body text);
ALTER TABLE long_texts ALTER body SET STORAGE EXTERNAL;
INSERT INTO long_texts SELECT i, 0, repeat('text ' || i || ' ', 500) FROM generate_series(1, 20) AS i;
SELECT minlsh_create_side_table('long_texts', 'body') IS NOT NULL AS created;
CREATE VIEW toast_pages AS SELECT pg_stat_get_xact_blocks_fetched(reltoastrelid) AS read
FROM pg_class WHERE oid = 'long_texts'::regclass;
SELECT pg_stat_force_next_flush();
BEGIN;
UPDATE long_texts SET n = n + 1;
UPDATE long_texts SET id = id, n = n + 1;
SELECT read FROM toast_pages;
UPDATE long_texts SET body = body || '.' WHERE id = 1;
SELECT read > 0 AS read FROM toast_pages;
ROLLBACK;
DROP VIEW toast_pages;
SELECT minlsh_drop_side_table('long_texts');
DROP TABLE long_texts;
