-- The type minlsh_key as a key, in indexes, partitions, domains, arrays, ranges and a binary COPY, and its functions in
-- aggregates, operators and casts of somebody else's.
-- Attacker: an ordinary user. Must not: bytes that are no text become a key, an internal error, or an order in which
-- keys are lost.

-- as attacker:
CREATE TABLE evil.docs (id minlsh_key PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i::text::minlsh_key, 'one text for all of them' FROM generate_series(1, 20) i;
INSERT INTO evil.docs VALUES ('', 'one text for all of them'), ('-0', 'one text for all of them'),
	('1.0', 'one text for all of them'), ('a', 'one text for all of them'),
	(repeat('9', 1000), 'one text for all of them');
CREATE INDEX docs_near ON evil.docs USING minlsh (body);
-- gives: 24
SELECT count(*) FROM near_duplicates('1.0', index => 'evil.docs_near');
-- gives: 24
SELECT count(*) FROM near_duplicates('3', index => 'evil.docs_near');
-- gives: 300
SELECT count(*) FROM near_duplicate_pairs('evil.docs');
SELECT minlsh_track_clusters('evil.docs_near');
-- gives: 25
SELECT joined FROM minlsh_refresh_clusters('evil.docs_clusters');
UPDATE evil.docs SET id = id || 'x';
-- gives: 25
SELECT removed FROM minlsh_refresh_clusters('evil.docs_clusters');
-- gives:
SELECT problem FROM minlsh_check('evil.docs_clusters');
-- gives: 0
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY id) AS before FROM evil.docs) AS rows WHERE NOT before < id;
CREATE TABLE evil.parts (id minlsh_key PRIMARY KEY, body text) PARTITION BY HASH (id);
CREATE TABLE evil.part_0 PARTITION OF evil.parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE evil.part_1 PARTITION OF evil.parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO evil.parts TABLE evil.docs;
SELECT minlsh_create_side_table('evil.parts', 'body');
-- gives: 24
SELECT count(*) FROM near_duplicates('1.0x', index => 'evil.parts_minlsh');
CREATE DOMAIN evil.checked AS minlsh_key CHECK (VALUE <> '7');
CREATE TABLE evil.domains (id evil.checked PRIMARY KEY, body text);
INSERT INTO evil.domains SELECT i::text::minlsh_key, 'one text for all of them' FROM generate_series(10, 20) i;
CREATE INDEX ON evil.domains USING minlsh (body);
-- gives: 10
SELECT count(*) FROM near_duplicates('11', index => 'evil.domains');
-- gives:
SELECT near_duplicates('7', index => 'evil.domains');
-- gives: 11
SELECT count(*) FROM near_duplicate_cluster_of('11', index => 'evil.domains');
-- refused: 42804
SELECT minhash(ARRAY['a', 'b']::minlsh_key[]);
-- gives: 0.5
SELECT jaccard(ARRAY['a', 'b']::minlsh_key[], ARRAY['a']::minlsh_key[]);
CREATE TYPE evil.span AS RANGE (SUBTYPE = minlsh_key);
-- gives: t
SELECT '[1,2)'::evil.span @> '1.5'::minlsh_key;
CREATE AGGREGATE evil.most(minlsh_key) (SFUNC = minlsh_key_larger, STYPE = minlsh_key);
-- gives: 10
SELECT evil.most(i::text::minlsh_key) FROM generate_series(1, 10) i;
-- refused: 22P02
SELECT id::bigint FROM evil.docs;
-- refused: 42501
CREATE CAST (int AS minlsh_key) WITH INOUT;
-- refused: 42501
CREATE OPERATOR evil.~= (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq, RESTRICT = minlsh_similar_sel);
-- refused: 42P13
CREATE AGGREGATE evil.signatures(integer[]) (SFUNC = minlsh_set_add_signature, STYPE = internal);
