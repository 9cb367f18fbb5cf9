-- A partitioned table is indexed as one, with a trigger for each row: a statement aimed at a
-- partition does not fire its parent's statement triggers.

CREATE TABLE docs (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE docs_low PARTITION OF docs FOR VALUES FROM (0) TO (100);
-- A partition may have its columns in another order.
CREATE TABLE docs_high (body text, gone integer, id integer NOT NULL);
ALTER TABLE docs_high DROP gone;
ALTER TABLE docs ATTACH PARTITION docs_high FOR VALUES FROM (100) TO (200);
INSERT INTO docs SELECT i, 'a document that differs from the others in its number, ' || i FROM generate_series(1, 10) AS i;
SET client_min_messages = warning;
SELECT minlsh_create_index('docs', 'body');

-- Through the parent, through a partition, and from one to the other.
INSERT INTO docs VALUES (101, 'a document that differs from the others in its number, 101');
INSERT INTO docs_high VALUES ('a document that differs from the others in its number, 102', 102);
UPDATE docs SET id = id + 100 WHERE id = 5;
UPDATE docs_high SET body = body || '.' WHERE id = 102;
DELETE FROM docs_low WHERE id = 1;
SELECT * FROM minlsh_check();
SELECT doc_id FROM near_duplicates(102) ORDER BY doc_id;

-- A partition that goes takes its documents along, though no trigger is fired...
ALTER TABLE docs DETACH PARTITION docs_low;
SELECT doc_id FROM near_duplicates(102) ORDER BY doc_id;
SELECT doc_id FROM near_duplicates(102, verify => 'exact') ORDER BY doc_id;
SELECT count(*) FROM near_duplicate_pairs('docs', 0.9) WHERE doc_a::integer < 100;
-- ... and the index is cleaned by building it anew. So it is with one that comes.
SELECT * FROM minlsh_check();
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();
ALTER TABLE docs ATTACH PARTITION docs_low FOR VALUES FROM (0) TO (100);
SELECT count(*) FROM minlsh_check() WHERE problem = 'missing from the index';
SELECT minlsh_reindex('docs');
SELECT * FROM minlsh_check();

-- The whole table.
TRUNCATE docs;
SELECT * FROM minlsh_check();
DROP TABLE docs;
SELECT index FROM minlsh_indexes;

-- A child of classic inheritance can be indexed by itself.
CREATE TABLE parent (id integer, body text);
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
SELECT minlsh_create_index('child', 'body');
INSERT INTO child VALUES (1, 'the same text'), (2, 'the same text');
UPDATE parent SET body = body || '.' WHERE id = 2;
SELECT * FROM minlsh_check('child');
DROP TABLE parent CASCADE;
