-- A partitioned table is indexed as one. PostgreSQL copies the triggers for each row to its partitions.

CREATE TABLE docs (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE docs_low PARTITION OF docs FOR VALUES FROM (0) TO (100);
-- A partition may have its columns in another order.
CREATE TABLE docs_high (body text, gone integer, id integer NOT NULL);
ALTER TABLE docs_high DROP gone;
ALTER TABLE docs ATTACH PARTITION docs_high FOR VALUES FROM (100) TO (200);
INSERT INTO docs SELECT i, 'a document that differs from the others in its number, ' || i FROM generate_series(1, 10)
	AS i;
SET client_min_messages = warning;
SELECT minlsh_create_side_table('docs', 'body');

-- Through the parent, through a partition, and from one to the other.
INSERT INTO docs VALUES (101, 'a document that differs from the others in its number, 101');
INSERT INTO docs_high VALUES ('a document that differs from the others in its number, 102', 102);
UPDATE docs SET id = id + 100 WHERE id = 5;
UPDATE docs_high SET body = body || '.' WHERE id = 102;
DELETE FROM docs_low WHERE id = 1;
SELECT * FROM minlsh_check();

-- No trigger is fired for a partition that goes, or is emptied by itself: minlsh_check() tells...
ALTER TABLE docs DETACH PARTITION docs_low;
SELECT * FROM minlsh_check() ORDER BY doc_id;
-- ... and what is written to it is none of the index's. Built anew, the index is clean. So it is with one that comes.
INSERT INTO docs_low VALUES (50, 'no document any more');
DELETE FROM docs_low WHERE id = 50;
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check();
ALTER TABLE docs ATTACH PARTITION docs_low FOR VALUES FROM (0) TO (100);
SELECT count(*) FROM minlsh_check() WHERE problem = 'missing from the index';
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check();

-- The whole table.
TRUNCATE docs;
SELECT * FROM minlsh_check();
DROP TABLE docs;

-- Hash and list partitions, one of them partitioned again, a default one; every way to write.
CREATE TABLE docs (id integer, region text, body text, PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE docs_0 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY RANGE (id);
CREATE TABLE docs_1_low PARTITION OF docs_1 FOR VALUES FROM (0) TO (100);
CREATE TABLE docs_1_rest PARTITION OF docs_1 DEFAULT;
SELECT minlsh_create_side_table('docs', 'body', threshold => 0.5);
INSERT INTO docs SELECT i, 'eu', 'a document that differs from the others in its number, ' || i FROM
	generate_series(1, 20) AS i;
COPY docs (id, body) FROM STDIN;
201	a document that differs from the others in its number, 201
202	a document that differs from the others in its number, 202
\.
INSERT INTO docs VALUES (1, 'eu', 'written over'), (30, 'eu',
	'a document that differs from the others in its number, 30')
	ON CONFLICT (id) DO UPDATE SET body = excluded.body;
INSERT INTO docs VALUES (1, 'eu', 'left out'), (31, 'eu', 'let in') ON CONFLICT DO NOTHING;
MERGE INTO docs USING (VALUES (2, 'merged'), (3, NULL), (40, 'merged, too')) AS v (id, body) ON docs.id = v.id
WHEN MATCHED AND v.body IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET body = v.body
WHEN NOT MATCHED THEN INSERT (id, body) VALUES (v.id, v.body);
UPDATE docs SET id = id + 1000 WHERE id < 20;
UPDATE docs SET region = 'us' WHERE id > 1010;
UPDATE docs_0 SET body = NULL WHERE id = 20;
DELETE FROM docs_1 WHERE id = 1005;
BEGIN;
DELETE FROM docs;
SELECT count(*) FROM docs_minlsh;
ROLLBACK;
SELECT * FROM minlsh_check();

-- Untouched documents are not rewritten.
BEGIN;
UPDATE docs SET region = 'all', body = body;
SELECT count(*) AS rewritten FROM docs_minlsh WHERE pg_current_xact_id_if_assigned()::xid = xmin;
UPDATE docs SET body = body || '!' WHERE id IN (201, 202);
SELECT count(*) AS rewritten FROM docs_minlsh WHERE pg_current_xact_id_if_assigned()::xid = xmin;
ROLLBACK;

-- A new partition has the triggers; what is written to one that is detached does not count.
ALTER TABLE docs_1 DETACH PARTITION docs_1_rest;
CREATE TABLE docs_1_high PARTITION OF docs_1 FOR VALUES FROM (2000) TO (3000);
INSERT INTO docs VALUES (2001, 'eu', 'a document that differs from the others in its number, 2001');
INSERT INTO docs_1_rest VALUES (3001, 'eu', 'no longer a partition');
SELECT DISTINCT problem FROM minlsh_check();
DROP TABLE docs_1_rest;
TRUNCATE docs_0;
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check();
SELECT count(*) FROM docs_minlsh;

-- The triggers go with a partition, which may become part of another table, and come with it again.
CREATE TABLE other (id integer, region text, body text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
ALTER TABLE docs DETACH PARTITION docs_1;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid IN ('docs_1'::regclass, 'docs_1_low'::regclass);
CREATE TABLE moved AS SELECT * FROM docs_minlsh;
ALTER TABLE other ATTACH PARTITION docs_1 FOR VALUES FROM (0) TO (10000);
INSERT INTO other SELECT i, 'eu', 'a document of another table, ' || i FROM generate_series(90, 99) AS i;
UPDATE docs_1_low SET body = body || '!' WHERE id > 95;
DELETE FROM docs_1 WHERE id < 93;
SELECT count(*) FROM (TABLE moved EXCEPT TABLE docs_minlsh) AS gone;
SELECT count(*) FROM (TABLE docs_minlsh EXCEPT TABLE moved) AS come;
-- The other table's own do their work.
SELECT minlsh_create_side_table('other', 'body');
DELETE FROM other WHERE id = 94;
INSERT INTO docs_1_low VALUES (10, 'eu', 'a document of another table, 10');
SELECT * FROM minlsh_check('other');
ALTER TABLE other DETACH PARTITION docs_1;
DELETE FROM docs_1;
ALTER TABLE docs ATTACH PARTITION docs_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT minlsh_rebuild_side_table('docs');
INSERT INTO docs SELECT i, 'eu', 'a document that has come back, ' || i FROM generate_series(2002, 2010) AS i;
SELECT * FROM minlsh_check('docs');
SELECT minlsh_rebuild_side_table('other');
SELECT * FROM minlsh_check('other');
DROP TABLE other, moved;
-- Detached and attached at once, nothing is missing.
ALTER TABLE docs DETACH PARTITION docs_1;
ALTER TABLE docs ATTACH PARTITION docs_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
UPDATE docs SET body = body || '.' WHERE id % 3 = 0;
SELECT * FROM minlsh_check('docs');

-- ENABLE TRIGGER USER leaves triggers that do not fire for replicated rows: minlsh_check() names them, and
-- minlsh_rebuild_side_table() makes them again, those of partitions too.
ALTER TABLE docs DISABLE TRIGGER USER;
UPDATE docs SET body = body || '!' WHERE id % 5 = 0;
SELECT problem FROM minlsh_check('docs') WHERE doc_id IS NULL ORDER BY problem;
ALTER TABLE docs ENABLE TRIGGER USER;
SELECT problem FROM minlsh_check('docs') WHERE doc_id IS NULL ORDER BY problem;
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check('docs');
ALTER TABLE docs_0 DISABLE TRIGGER USER;
SELECT problem FROM minlsh_check('docs') ORDER BY problem;
SELECT minlsh_rebuild_side_table('docs');
SELECT * FROM minlsh_check('docs');
SELECT DISTINCT tgenabled FROM pg_trigger
WHERE tgrelid IN ('docs'::regclass, 'docs_0'::regclass, 'docs_1_low'::regclass);

-- The table and a partition may each have an index.
SELECT minlsh_create_side_table('docs_0', 'body');
INSERT INTO docs SELECT i, 'eu', 'one text for two' FROM generate_series(50, 60) AS i;
INSERT INTO docs_0 SELECT i, 'eu', 'one text for two' FROM generate_series(61, 80) AS i WHERE
	satisfies_hash_partition('docs'::regclass, 2, 0, i);
UPDATE docs SET body = body || '!' WHERE id > 55;
SELECT (SELECT count(*) FROM docs_minlsh) - (SELECT count(*) FROM docs) AS of_all, (SELECT count(*) FROM
	docs_0_minlsh) - (SELECT count(*) FROM docs_0) AS of_one;
DROP TABLE docs_0;
DROP TABLE docs;

-- A key must be unique over all partitions.
CREATE TABLE docs (id integer NOT NULL, part integer NOT NULL, body text, PRIMARY KEY (id, part)) PARTITION BY LIST
	(part);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1);
CREATE UNIQUE INDEX ON docs_1 (id);
SELECT minlsh_create_side_table('docs', 'body');
SELECT minlsh_create_side_table('docs', 'body', key => 'id');
SELECT minlsh_create_side_table('docs_1', 'body', key => 'id');
INSERT INTO docs VALUES (1, 1, 'the same text'), (2, 1, 'the same text');
SELECT * FROM minlsh_check('docs_1');
DROP TABLE docs;

-- A child of classic inheritance can be indexed by itself.
CREATE TABLE parent (id integer, body text);
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
SELECT minlsh_create_side_table('child', 'body');
INSERT INTO child VALUES (1, 'the same text'), (2, 'the same text');
UPDATE parent SET body = body || '.' WHERE id = 2;
SELECT * FROM minlsh_check('child');
DELETE FROM parent WHERE id = 1;
SELECT * FROM minlsh_check('child');
SELECT doc_id FROM child_minlsh;
SELECT minlsh_create_side_table('parent', 'body');
DROP TABLE parent CASCADE;

-- A partitioned index that is created ON ONLY its table is not valid until an index of each partition is attached. The
-- check, and the errors of what would use it, show the statements that do that.
CREATE SCHEMA elsewhere;
CREATE TABLE parted (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE parted_a PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE elsewhere.parted_b PARTITION OF parted FOR VALUES FROM (10) TO (20);
CREATE TABLE parted_c PARTITION OF parted FOR VALUES FROM (20) TO (40) PARTITION BY RANGE (id);
CREATE TABLE parted_ca PARTITION OF parted_c FOR VALUES FROM (20) TO (30);
INSERT INTO parted SELECT i, 'one text' FROM unnest(ARRAY[1, 2, 11, 21]) AS i;
CREATE INDEX parted_near ON ONLY parted USING minlsh (body) WITH (threshold = 0.7);
CREATE INDEX other ON parted_a USING minlsh (body);
CREATE INDEX like_it ON parted_a USING minlsh (body) WITH (threshold = 0.7);
CREATE INDEX parted_c_near ON ONLY parted_c USING minlsh (body) WITH (threshold = 0.7);
SELECT * FROM minlsh_check('parted_near');
SELECT near_duplicates(1, index => 'parted_near');
SELECT near_duplicates(1, index => 'parted');
SELECT near_duplicate_pairs('parted_near');
-- Statement by statement, until nothing is missing.
CREATE FUNCTION mend() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE statement text;
BEGIN
	LOOP
		SELECT regexp_replace(problem, '^.*?is attached to it: ', '') INTO statement FROM minlsh_check('parted') LIMIT 1;
		EXIT WHEN statement IS NULL;
		EXECUTE statement;
		RETURN NEXT statement;
	END LOOP;
END $$;
SELECT mend();
SELECT array_agg(doc_id) FROM near_duplicates(1, index => 'parted');
SELECT count(*) FROM near_duplicate_pairs('parted_near');
SELECT * FROM minlsh_check();
DROP TABLE parted;
DROP FUNCTION mend();
DROP SCHEMA elsewhere;
