-- Near-duplicates are kept out by an exclusion constraint.

CREATE TABLE docs (
	id integer PRIMARY KEY, tenant integer, body text,
	CONSTRAINT near_unique EXCLUDE USING minlsh (tenant WITH =, minlsh_document(body, 0.8) WITH ~=)
);
\d docs
INSERT INTO docs VALUES (1, 1, 'The quick brown fox jumps over the lazy dog near the river bank.');
INSERT INTO docs VALUES (2, 1, 'The quick brown fox jumps over the lazy dog near the river bank!');
-- Of another tenant, of none, or without a text it is no duplicate.
INSERT INTO docs VALUES (3, 2, 'The quick brown fox jumps over the lazy dog near the river bank!');
INSERT INTO docs VALUES (4, NULL, 'The quick brown fox jumps over the lazy dog near the river bank!'),
	(5, NULL, 'The quick brown fox jumps over the lazy dog near the river bank!');
INSERT INTO docs VALUES (6, 1, NULL), (7, 1, NULL), (8, 1, ''), (9, 1, '');
INSERT INTO docs VALUES (10, 1, 'A wholly different sentence about the weather in the mountains.');
INSERT INTO docs VALUES (11, 1, 'The quick brown fox jumps over the lazy dog near the river bank.')
	ON CONFLICT DO NOTHING;
INSERT INTO docs SELECT 20 + i, 3, 'The quick brown fox jumps over the lazy dog, and so on and so forth' ||
	repeat('.', i)
FROM generate_series(1, 9) AS i ON CONFLICT ON CONSTRAINT near_unique DO NOTHING RETURNING id;
INSERT INTO docs VALUES (12, 1, 'The quick brown fox') ON CONFLICT ON CONSTRAINT near_unique DO UPDATE SET body = '';
-- An update may make a duplicate; one of itself is none.
UPDATE docs SET body = 'The quick brown fox jumps over the lazy dog near the river bank?' WHERE id = 1;
UPDATE docs SET body = 'The quick brown fox jumps over the lazy dog near the river bank' WHERE id = 10;
DELETE FROM docs WHERE id = 1;
UPDATE docs SET body = 'The quick brown fox jumps over the lazy dog near the river bank' WHERE id = 10;
SELECT id, tenant, body FROM docs ORDER BY id;
-- The constraint's index serves searches for documents.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tenant = 1
	AND minlsh_document(body, 0.8) ~= minlsh_document('The quick brown fox jumps over the lazy dog near the river bank',
	0.9);
SELECT id FROM docs WHERE tenant = 1
	AND minlsh_document(body, 0.8) ~= minlsh_document('The quick brown fox jumps over the lazy dog near the river bank',
	0.9);
SELECT id FROM docs WHERE tenant = 1
	AND minlsh_document(body, 0.8) ~= 'The quick brown fox jumps over the lazy dog near the river bank'::text;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT * FROM minlsh_check('near_unique');

-- To a table with duplicates it cannot be added.
ALTER TABLE docs DROP CONSTRAINT near_unique;
INSERT INTO docs VALUES (30, 1, 'The quick brown fox jumps over the lazy dog near the river bank!');
\set VERBOSITY terse
ALTER TABLE docs ADD CONSTRAINT near_unique EXCLUDE USING minlsh (tenant WITH =, minlsh_document(body, 0.8) WITH ~=);
\set VERBOSITY default
DELETE FROM docs WHERE id = 30;
ALTER TABLE docs ADD CONSTRAINT near_unique EXCLUDE USING minlsh (tenant WITH =, minlsh_document(body, 0.8) WITH ~=)
	DEFERRABLE;
-- Deferred, only the end counts.
BEGIN;
SET CONSTRAINTS near_unique DEFERRED;
INSERT INTO docs VALUES (30, 1, 'The quick brown fox jumps over the lazy dog near the river bank!');
DELETE FROM docs WHERE id = 10;
COMMIT;
BEGIN;
SET CONSTRAINTS near_unique DEFERRED;
INSERT INTO docs VALUES (31, 1, 'The quick brown fox jumps over the lazy dog near the river bank?');
COMMIT;
SELECT id FROM docs WHERE tenant = 1 AND body LIKE 'The%';
DROP TABLE docs;

-- A constraint depends on its rows alone, not on the minlsh.threshold of who writes.
CREATE TABLE docs (body text, EXCLUDE USING minlsh (body WITH ~=));
CREATE TABLE docs (items text[], EXCLUDE USING minlsh (items WITH ~=));
CREATE TABLE docs (id integer, body text);
ALTER TABLE docs ADD CONSTRAINT near_unique EXCLUDE USING minlsh (id WITH =, lower(body) WITH ~=);
DROP TABLE docs;

-- Threshold and options of the documents are those of the index, or a row would have every other read: it is refused.
CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.7) WITH ~=) WITH (threshold = 0.8));
INSERT INTO docs VALUES ('some text');
DROP TABLE docs;
CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.7, 2, 'word') WITH ~=)
	WITH (threshold = 0.7, unit = 'word', shingle_size = 2));
INSERT INTO docs VALUES ('one two three four five six seven eight nine ten'),
	('one two three four five six seven eight nine');
INSERT INTO docs VALUES ('one two three four five six seven eight nine ten') ON CONFLICT DO NOTHING;
SELECT * FROM docs;
DROP TABLE docs;
CREATE TABLE docs (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.9, 2, 'word') WITH ~=)
	WITH (unit = 'char', shingle_size = 5));
INSERT INTO docs VALUES ('some text');
DROP TABLE docs;

-- Part of a table; sets; signatures.
CREATE TABLE docs (body text, draft boolean, EXCLUDE USING minlsh (minlsh_document(body) WITH ~=) WHERE (NOT draft));
INSERT INTO docs VALUES ('one text of some length', true), ('one text of some length', true),
	('one text of some length', false);
UPDATE docs SET draft = false WHERE draft;
DROP TABLE docs;
CREATE TABLE baskets (items text[], EXCLUDE USING minlsh (minlsh_document(items, 0.5) WITH ~=) WITH (threshold = 0.5));
INSERT INTO baskets VALUES ('{milk,bread,eggs}'), ('{milk,beer,crisps}'), ('{eggs,milk,bread,bread}');
INSERT INTO baskets VALUES ('{milk,bread,eggs}'), ('{milk,beer,crisps}'), ('{eggs,milk,bread,bread}')
	ON CONFLICT DO NOTHING;
SELECT * FROM baskets;
DROP TABLE baskets;
CREATE TABLE signed (signature integer[], EXCLUDE USING minlsh (minlsh_signature(signature, 0.9) WITH ~=));
INSERT INTO signed VALUES (minhash('one text of some length')), (minhash('another text altogether, of some length'));
INSERT INTO signed VALUES (minhash('one text of some length')) ON CONFLICT DO NOTHING;
SELECT count(*) FROM signed;
DROP TABLE signed;

-- Instead of refusing a near-duplicate, a trigger may mark it, or send it elsewhere, with the id of the match. (Two
-- sessions that insert at once do not see each other's rows: an advisory lock has them take turns.)
CREATE TABLE docs (id integer PRIMARY KEY, body text, duplicate_of integer);
CREATE INDEX ON docs USING minlsh (body) WITH (threshold = 0.8);
CREATE TABLE duplicates (LIKE docs);
CREATE FUNCTION mark_near_duplicate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(TG_RELID::bigint);
	SELECT d.id INTO NEW.duplicate_of FROM docs AS d
	WHERE d.body ~= minlsh_document(NEW.body, 0.8) AND d.id <> NEW.id AND d.duplicate_of IS NULL
	ORDER BY jaccard(d.body, minlsh_document(NEW.body)) DESC, d.id LIMIT 1;
	RETURN NEW;
END
$$;
CREATE TRIGGER mark BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION mark_near_duplicate();
INSERT INTO docs VALUES (1, 'The quick brown fox jumps over the lazy dog near the river bank.'),
	(2, 'The quick brown fox jumps over the lazy dog near the river bank!'), (3, 'Another text altogether'),
	(4, NULL), (5, 'The quick brown fox jumps over the lazy dog near the river bank.');
SELECT id, duplicate_of FROM docs ORDER BY id;
CREATE OR REPLACE FUNCTION route_near_duplicate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.duplicate_of IS NOT NULL THEN
		INSERT INTO duplicates SELECT NEW.*;
		RETURN NULL;
	END IF;
	RETURN NEW;
END
$$;
CREATE TRIGGER route BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION route_near_duplicate();
INSERT INTO docs VALUES (6, 'Another text altogether'), (7, 'A third one, quite unlike all others');
SELECT id, duplicate_of FROM docs WHERE id > 5;
SELECT * FROM duplicates;
DROP TABLE docs, duplicates;
DROP FUNCTION mark_near_duplicate, route_near_duplicate;

-- Letters made from one template share buckets, and most are no duplicates. The same ones get in whether each comes in
-- a transaction of its own, all in one statement, or each in a subtransaction that may be rolled back.
CREATE TABLE letters AS SELECT i AS id, string_agg(CASE WHEN md5(i / 2 || ' ' || j) < '2'
	THEN substr(md5(i / 2 || 'own' || j), 1, 7) ELSE substr(md5('template' || j), 1, 7) END, ' ' ORDER BY j)
	|| CASE WHEN i % 2 = 0 THEN '' ELSE ' P.S.' END AS body
FROM generate_series(0, 299) AS i, generate_series(1, 60) AS j GROUP BY i;
CREATE TABLE each_alone (id integer, body text, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=));
CREATE TABLE all_at_once (LIKE each_alone, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=));
CREATE TABLE little_memory (LIKE each_alone, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=));
CREATE TABLE rolled_back (LIKE each_alone, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=));
DO $$
DECLARE
	letter letters;
BEGIN
	FOR letter IN SELECT * FROM letters ORDER BY id LOOP
		INSERT INTO each_alone VALUES (letter.*) ON CONFLICT DO NOTHING;
		COMMIT;
	END LOOP;
END
$$;
INSERT INTO all_at_once SELECT * FROM letters ORDER BY id ON CONFLICT DO NOTHING;
SET work_mem = '64kB';
INSERT INTO little_memory SELECT * FROM letters ORDER BY id ON CONFLICT DO NOTHING;
RESET work_mem;
DO $$
DECLARE
	letter letters;
BEGIN
	FOR letter IN SELECT * FROM letters ORDER BY id LOOP
		BEGIN
			INSERT INTO rolled_back VALUES (letter.*);
		EXCEPTION WHEN exclusion_violation THEN
		END;
	END LOOP;
END
$$;
SELECT count(*) AS letters, (SELECT count(*) BETWEEN 120 AND 150 FROM each_alone) AS half_of_them,
	(SELECT array_agg(id ORDER BY id) FROM each_alone) = (SELECT array_agg(id ORDER BY id) FROM all_at_once) AS at_once,
	(SELECT array_agg(id ORDER BY id) FROM each_alone) = (SELECT array_agg(id ORDER BY id) FROM little_memory) AS little,
	(SELECT array_agg(id ORDER BY id) FROM each_alone) = (SELECT array_agg(id ORDER BY id) FROM rolled_back) AS rolled_back
FROM letters;
-- Emptied within the transaction that made it, a table has its first rows again in the places of others.
BEGIN;
CREATE TABLE emptied (LIKE each_alone, EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=));
INSERT INTO emptied SELECT * FROM each_alone;
TRUNCATE emptied;
INSERT INTO emptied SELECT * FROM each_alone ORDER BY id DESC;
INSERT INTO emptied SELECT * FROM letters ON CONFLICT DO NOTHING;
SELECT count(*) = (SELECT count(*) FROM each_alone) AS as_many FROM emptied;
-- A changed row is what it is now.
UPDATE emptied SET body = 'Nothing of the template is left of this letter' WHERE id = 0;
INSERT INTO emptied VALUES (300, 'Nothing of the template is left of this letter!') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO emptied SELECT * FROM letters WHERE id = 0 ON CONFLICT DO NOTHING RETURNING id;
-- The same letter again and again: what one search for it has ruled out, the next one need not compare.
DELETE FROM emptied WHERE id = 0;
INSERT INTO emptied SELECT * FROM letters WHERE id = 0 ON CONFLICT DO NOTHING RETURNING id;
SAVEPOINT before;
DELETE FROM emptied WHERE body = (SELECT body FROM letters WHERE id = 0);
INSERT INTO emptied SELECT 301, body FROM letters WHERE id = 0 ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO emptied SELECT 302, body FROM letters WHERE id = 0 ON CONFLICT DO NOTHING RETURNING id;
ROLLBACK TO before;
INSERT INTO emptied SELECT 303, body FROM letters WHERE id = 0 ON CONFLICT DO NOTHING RETURNING id;
DELETE FROM emptied WHERE body = (SELECT body FROM letters WHERE id = 0);
INSERT INTO emptied SELECT 304, body FROM letters WHERE id = 0 ON CONFLICT DO NOTHING RETURNING id;
COMMIT;
DROP TABLE letters, each_alone, all_at_once, little_memory, rolled_back, emptied;

-- A statement searches for each of its rows, and keeps nothing of these searches until it ends.
CREATE TABLE many (body text, EXCLUDE USING minlsh (minlsh_document(body, 0.9) WITH ~=));
CREATE TABLE measured (rows bigint, bytes bigint);
CREATE FUNCTION measure() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO measured SELECT (SELECT count(*) FROM many), sum(used_bytes) FROM pg_backend_memory_contexts
	WHERE name = 'ExecutorState';
	RETURN NULL;
END $$;
CREATE TRIGGER measure AFTER INSERT ON many EXECUTE FUNCTION measure();
INSERT INTO many SELECT md5(i::text) FROM (SELECT generate_series(1, 100) AS i) AS numbers;
INSERT INTO many SELECT md5(i::text) FROM (SELECT generate_series(101, 4000) AS i) AS numbers;
SELECT max(rows) AS rows, max(bytes) - min(bytes) < 65536 AS none_kept FROM measured;
DROP TABLE many, measured;
DROP FUNCTION measure();
