-- Indexes over ready-made sets, signatures and documents.

-- An array's elements are the set, whatever their type; order, repeats and NULLs do not count.
CREATE TABLE baskets (id integer PRIMARY KEY, items text[]);
INSERT INTO baskets VALUES (1, '{milk,bread,eggs,butter}'), (2, '{eggs,butter,milk,bread,bread}'),
	(3, '{milk,bread,eggs,beer}'),
	(4, '{crisps,beer}'), (5, '{}'), (6, NULL), (7, '{NULL}');
CREATE INDEX ON baskets USING minlsh (items) WITH (threshold = 0.5);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM baskets WHERE items ~= minlsh_document('{milk,bread,eggs,butter}'::text[], 0.5);
SELECT id FROM baskets WHERE items ~= minlsh_document('{milk,bread,eggs,butter}'::text[], 0.5) ORDER BY id;
SELECT id FROM baskets WHERE items ~= minlsh_document('{milk,bread,eggs,butter}'::text[], 1) ORDER BY id;
SELECT id FROM baskets WHERE items ~= '{milk,bread,eggs,butter,NULL}' ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM baskets WHERE items ~= '{milk,bread,eggs,butter}';
SELECT a.id, b.id FROM baskets AS a JOIN baskets AS b ON b.items ~= minlsh_document(a.items, 0.5) WHERE a.id < b.id
	ORDER BY 1, 2;
-- Below the threshold of the index, and something else than a set.
SELECT id FROM baskets WHERE items ~= minlsh_document('{milk,bread,eggs,butter}'::text[], 0.1) ORDER BY id;
SELECT id FROM baskets WHERE items ~= minlsh_document('milk');
SELECT id FROM baskets WHERE items ~= minlsh_document('{}'::text[]);
SELECT * FROM minlsh_check('baskets');
DROP TABLE baskets;
CREATE TABLE sets (id integer, numbers integer[], bigs bigint[], uuids uuid[], names varchar[]);
CREATE INDEX ON sets USING minlsh (numbers);
CREATE INDEX ON sets USING minlsh (bigs);
CREATE INDEX ON sets USING minlsh (uuids);
CREATE INDEX ON sets USING minlsh (names);
INSERT INTO sets SELECT i, ARRAY[i, 2, 3], ARRAY[i, 2, 3], ARRAY[lpad(i::text, 32, '0')::uuid], ARRAY['a', i::varchar]
FROM generate_series(1, 9) AS i;
SELECT id FROM sets WHERE numbers ~= minlsh_document(ARRAY[3, 7, 2], 1);
SELECT id FROM sets WHERE bigs ~= minlsh_document(ARRAY[3, 7, 2]::bigint[], 1);
SELECT id FROM sets WHERE uuids ~= minlsh_document(ARRAY[lpad('7', 32, '0')::uuid], 1);
SELECT id FROM sets WHERE names ~= minlsh_document(ARRAY['7', 'a'], 1);
-- Elements of other types are cast by who knows how.
SELECT id FROM sets WHERE ARRAY[date '2026-01-08'] ~= minlsh_document(ARRAY[date '2026-01-08'], 1);
SELECT ARRAY[date '2026-01-08']::text[] ~= minlsh_document(ARRAY[date '2026-01-08']::text[], 1) AS cast_to_text;
-- A column of them is refused before it has a row; so is an expression, whatever stands beside it.
CREATE DOMAIN days AS date[];
CREATE TABLE dated (kind integer, dates date[], seen days, codes varchar[], numbers bigint[]);
CREATE INDEX ON dated USING minlsh (dates);
CREATE INDEX ON dated USING minlsh (kind, seen);
CREATE INDEX ON dated USING minlsh ((kind + 1), (dates || seen::date[]));
CREATE INDEX ON dated USING minlsh ((kind + 1), (codes || 'x'::varchar));
CREATE INDEX ON dated USING minlsh (numbers minlsh_set_ops, (kind + 1));
INSERT INTO dated VALUES (1, ARRAY[date '2026-01-08'], ARRAY[date '2026-01-08'], ARRAY['a'], ARRAY[1]);
DROP TABLE dated;
DROP DOMAIN days;
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE uuids ~= minlsh_document(ARRAY[lpad('7', 32, '0')::uuid], 1);
SELECT * FROM minlsh_check('sets');
DROP TABLE sets;

-- Signatures are of one length, that of the index.
CREATE TABLE signed (id integer, signature integer[]);
CREATE INDEX ON signed USING minlsh (signature minlsh_signature_ops) WITH (num_perm = 64, threshold = 0.7);
INSERT INTO signed SELECT i, minhash('The quick brown fox jumps over the lazy dog near the river bank' ||
	repeat('.', i), 64)
FROM generate_series(1, 3) AS i;
INSERT INTO signed VALUES (4, minhash('Another text altogether', 64)), (5, NULL);
INSERT INTO signed VALUES (6, minhash('Another text altogether', 128));
INSERT INTO signed VALUES (6, '{}');
INSERT INTO signed VALUES (6, array_fill(NULL::integer, '{64}'));
INSERT INTO signed VALUES (6, ARRAY[[1, 2], [3, 4]]);
SET plan_cache_mode = force_generic_plan;
PREPARE search(integer[]) AS SELECT id FROM signed WHERE signature ~= minlsh_signature($1, 0.7);
EXPLAIN (COSTS OFF) EXECUTE search(minhash('some text', 64));
DEALLOCATE search;
RESET plan_cache_mode;
SELECT id FROM signed
WHERE signature ~= minlsh_signature(minhash('The quick brown fox jumps over the lazy dog near the river bank.', 64),
	0.7)
ORDER BY id;
SELECT id FROM signed WHERE signature ~= minlsh_signature(minhash('Another text altogether', 64), 1);
SELECT id FROM signed WHERE signature ~= minlsh_signature(minhash('Another text altogether', 64), 0.1) ORDER BY id;
SELECT id FROM signed WHERE signature ~= minlsh_signature(minhash('Another text altogether', 128), 0.9);
-- Beside a set, a signature is a set.
SELECT id FROM signed AS a WHERE signature ~= minlsh_document(minhash('Another text altogether', 64), 0.9);
SELECT * FROM minlsh_check('signed');
DROP TABLE signed;
CREATE TABLE weighted (id integer, signature integer[]);
CREATE INDEX ON weighted USING minlsh (signature minlsh_signature_ops) WITH (num_perm = 128);
INSERT INTO weighted VALUES (1, minhash_weighted('{milk,bread}', '{2.0,1.0}')), (2, minhash_weighted('{milk,bread}',
	'{1.0,2.0}'));
SELECT id FROM weighted WHERE signature ~= minlsh_signature(minhash_weighted('{bread,milk}', '{1.0,2.0}'), 0.9);
DROP TABLE weighted;

-- Documents of each kind in one column: the search finds its own kind.
CREATE TABLE mixed (id integer, document minlsh_document);
CREATE INDEX ON mixed USING minlsh (document);
INSERT INTO mixed VALUES (1, minlsh_document('one text of some length', 0.9)), (2, minlsh_document(ARRAY['milk',
	'bread'])),
	(3, minlsh_signature(minhash('one text of some length'))), (4, minlsh_document(minhash('one text of some length'))),
	(5, minlsh_document('')), (6, NULL);
SELECT id FROM mixed WHERE document ~= minlsh_document('one text of some length');
SELECT id FROM mixed WHERE document ~= 'one text of some length'::text;
SELECT id FROM mixed WHERE document ~= ARRAY['bread', 'milk'];
SELECT id FROM mixed WHERE document ~= minlsh_signature(minhash('one text of some length'));
SELECT id FROM mixed WHERE document ~= minhash('one text of some length') ORDER BY id;
CREATE DOMAIN slot AS integer;
SELECT id FROM mixed WHERE document ~= minhash('one text of some length')::slot[] ORDER BY id;
-- Of two documents the greater threshold counts.
SELECT id FROM mixed WHERE document ~= minlsh_document('one text of some lengths', 0.8);
SELECT jaccard('one text of some lengths', document) FROM mixed WHERE id = 1;
INSERT INTO mixed VALUES (7, minlsh_document('one text', 0.5));
INSERT INTO mixed VALUES (7, minlsh_document('one text', unit => 'word'));
INSERT INTO mixed VALUES (7, minlsh_signature(ARRAY[1, 2, 3]));
SELECT id FROM mixed WHERE document ~= minlsh_document('one text', unit => 'word');
SELECT * FROM minlsh_check('mixed');
DROP TABLE mixed;
DROP DOMAIN slot;
