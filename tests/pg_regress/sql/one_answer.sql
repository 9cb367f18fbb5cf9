-- A question has one answer, whichever way it is asked: what the document, the index, the key and the options are is
-- decided by rules, and an index changes how quickly an answer comes, never what it is.
SET client_min_messages = notice;
CREATE TABLE offers (id integer PRIMARY KEY, tenant text, body text);
INSERT INTO offers SELECT i, 'tenant ' || i % 2, CASE WHEN i <= 4 THEN 'the quick brown fox jumps over the lazy dog'
	ELSE (SELECT string_agg(md5((i * 100 + w)::text), ' ') FROM generate_series(1, 20) w) END
FROM generate_series(1, 40) i;

-- The document of an index is found by its operator class, never by its place: here the scope comes first.
CREATE INDEX by_tenant ON offers USING minlsh (tenant minlsh_text_scope_ops, body);
SELECT doc_a, doc_b FROM near_duplicate_pairs('by_tenant', 0.9) ORDER BY 1, 2;
SELECT doc_id, kept_id FROM near_duplicate_plan('by_tenant', 0.9) ORDER BY 1;
SELECT doc_id, cluster_id FROM near_duplicate_clusters('by_tenant', 0.9) ORDER BY 1;
SELECT count(*) FROM near_duplicates_between('by_tenant', 'by_tenant', 0.9);
SELECT doc_id FROM near_duplicates(1, 0.9, 'offers') ORDER BY 1;
SELECT pairs, pairs_found, copies, copies_found FROM minlsh_recall('by_tenant', 0.9) LIMIT 1;
SELECT pairs, copies, copies_found FROM minlsh_recall('offers', 0.9, body => 'body', scope => 'tenant') LIMIT 1;

-- A table is read by what the call says, not as its indexes are: it has two columns of text, with an index and without.
SELECT near_duplicate_pairs('offers', 0.9);
SELECT count(*) FROM near_duplicate_pairs('offers', 0.9, body => 'body');
SELECT count(*) FROM near_duplicate_pairs('offers', 0.9, body => 'body', scope => 'tenant');
CREATE INDEX words ON offers USING minlsh (body) WITH (unit = 'word', shingle_size = 1, threshold = 0.5);
-- Who passed no options is told of indexes that have others.
SELECT count(*) FROM near_duplicate_pairs('offers', 0.9, body => 'body');
SELECT count(*) FROM near_duplicate_pairs('offers', 0.9, body => 'body', shingle_size => 5);
SELECT count(*) FROM near_duplicate_pairs('words');
DROP INDEX words;
SELECT count(*) FROM near_duplicate_pairs('offers', 0.9, body => 'body');

-- What names an index has its document, its scopes, its options and its threshold, however its rows are read.
CREATE INDEX lower_body ON offers USING minlsh (lower(tenant) minlsh_text_scope_ops, id, lower(body)) WHERE id <> 3;
SELECT doc_a, doc_b FROM near_duplicate_pairs('lower_body');
DROP INDEX lower_body;
CREATE INDEX lower_body ON offers USING minlsh (lower(tenant) minlsh_text_scope_ops, lower(body)) WHERE id <> 3;
SELECT doc_a, doc_b FROM near_duplicate_pairs('lower_body');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT doc_a, doc_b FROM near_duplicate_pairs('lower_body');
SELECT doc_id, kept_id FROM near_duplicate_plan('lower_body', NULL, keep => 'id DESC');
COMMIT;
SELECT near_duplicate_pairs('lower_body', 0.5);
SELECT near_duplicate_pairs('lower_body', recall => 0.999);
SELECT near_duplicate_pairs('lower_body', shingle_size => 3);
SELECT near_duplicate_pairs('lower_body', body => 'body');
-- A partial index must be named, and a key outside of it gives no rows.
DROP INDEX by_tenant;
SELECT near_duplicates(1, 0.9, 'offers');
SELECT near_duplicates(2, 0.9);
SELECT doc_id FROM near_duplicates(2, 0.9, 'lower_body');
SELECT near_duplicates(3, 0.9, 'lower_body');
DROP INDEX lower_body;

-- Lookups by the name of a table take the indexes of all its rows, if they agree. What is invalid does not count.
CREATE INDEX first ON offers USING minlsh (body);
CREATE INDEX second ON offers USING minlsh (body);
SELECT doc_id FROM near_duplicates(1, 0.9, 'offers') ORDER BY 1;
SELECT doc_id FROM near_duplicates(1, 0.9) ORDER BY 1;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'second'::regclass;
SELECT doc_id FROM near_duplicates(1, 0.9, 'offers') ORDER BY 1;
SELECT near_duplicates(1, 0.9, 'second');
SELECT near_duplicate_pairs('second', 0.9);
DROP INDEX second;
CREATE INDEX second ON offers USING minlsh (body) WITH (threshold = 0.9);
SELECT near_duplicates(1, 0.9, 'offers');

-- Keys are given out as they are stored, or by a cast under which they stay unique.
CREATE TABLE prices (id numeric PRIMARY KEY, code char(5) UNIQUE NOT NULL, body text);
INSERT INTO prices VALUES (1.1, 'a', 'the same text for all'), (1.2, 'b', 'the same text for all'),
	(1.4, 'c', 'the same text for all');
SELECT doc_id, kept_id FROM near_duplicate_plan('prices', 0.9, body => 'body') ORDER BY 1;
SELECT doc_id, kept_id FROM near_duplicate_plan('prices', 0.9, body => 'body', key_column => 'code') ORDER BY 1;
SELECT count(*) FROM prices JOIN near_duplicate_plan('prices', 0.9, key_column => 'code') ON doc_id = code;
-- keep means the columns of the source, also those of the key, which is shown as text.
CREATE TABLE numbers (id integer PRIMARY KEY, body text);
INSERT INTO numbers SELECT i, 'the same text for all' FROM unnest('{2, 10, 9}'::integer[]) i;
SELECT doc_id, kept_id FROM near_duplicate_plan('numbers', 0.9, keep => 'id DESC') ORDER BY 1;
-- Of several unique keys lookups and jobs take the same one: the first in the table that is not the document.
CREATE TABLE coded (body text UNIQUE NOT NULL, b integer UNIQUE NOT NULL, a integer UNIQUE NOT NULL);
INSERT INTO coded SELECT 'a text like all others, but for its number ' || i, i, i + 10 FROM generate_series(1, 2) i;
CREATE INDEX ON coded USING minlsh (body);
SELECT * FROM near_duplicate_pairs('coded', 0.8);
SELECT * FROM near_duplicates(1, 0.8, 'coded');

-- A column of a query that nothing names is refused; body names the one of the documents.
SELECT near_duplicate_pairs('SELECT id, tenant, body FROM offers', 0.9);
SELECT near_duplicate_pairs('SELECT * FROM offers', 0.9);
SELECT count(*) FROM near_duplicate_pairs('SELECT * FROM offers', 0.9, body => 'body');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body, tenant FROM offers', 0.9, scope => 'tenant');
SELECT count(*) FROM near_duplicate_plan('SELECT id, body, tenant FROM offers', 0.9, keep => 'tenant');
-- Names are written as in SQL.
CREATE TABLE "Mixed" ("Id" integer PRIMARY KEY, "Body" text, body text, minlsh_body text, column2 text);
INSERT INTO "Mixed" SELECT i, 'text ' || i * 77777, 'the same text for all', i, i FROM generate_series(1, 2) i;
SELECT count(*) FROM near_duplicate_pairs('"Mixed"', 0.9, body => 'body');
SELECT count(*) FROM near_duplicate_pairs('"Mixed"', 0.9, body => 'BODY');
SELECT count(*) FROM near_duplicate_pairs('"Mixed"', 0.9, body => '"Body"');
SELECT near_duplicate_pairs('"Mixed"', 0.9, body => '"BODY"');
-- No name of a column is reserved, and the whole row is an expression as others are.
CREATE FUNCTION text_of("Mixed") RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1.body';
CREATE INDEX mixed_all ON "Mixed" USING minlsh (text_of("Mixed"));
SELECT count(*) FROM near_duplicate_pairs('mixed_all');
CREATE INDEX mixed_lower ON "Mixed" USING minlsh (lower(body));
SELECT count(*) FROM near_duplicate_pairs('mixed_lower');
SELECT count(*) FROM near_duplicate_pairs('SELECT "Id", body, body, column2 FROM "Mixed"', 0.9, body => 'column2');

-- An array is a set, of integers too; a signature is made one by minlsh_signature(), or by its operator class.
CREATE TABLE tagged (id integer PRIMARY KEY, tags integer[], signature integer[]);
INSERT INTO tagged SELECT i, array_agg(n) || i, minhash('the same text for all')
FROM generate_series(1, 3) i, generate_series(100, 120) n GROUP BY i;
CREATE INDEX tagged_set ON tagged USING minlsh (tags);
SELECT count(*) FROM near_duplicate_pairs('tagged_set');
SELECT count(*) FROM near_duplicate_pairs('tagged', body => 'tags');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, tags FROM tagged');
SELECT count(*) FROM tagged a JOIN tagged b ON a.tags ~= b.tags AND a.id < b.id;
SELECT id, near_duplicate_cluster(tags) OVER (ORDER BY id) FROM tagged;
SELECT pairs, pairs_found FROM minlsh_recall('tagged_set') LIMIT 1;
CREATE INDEX tagged_signature ON tagged USING minlsh (signature minlsh_signature_ops);
SELECT count(*) FROM near_duplicate_pairs('tagged_signature');
SELECT count(*) FROM near_duplicate_pairs('SELECT id, minlsh_signature(signature) FROM tagged');

-- Documents are read with their own options and thresholds; of two the greater threshold counts.
CREATE TABLE posts (id integer PRIMARY KEY, doc minlsh_document);
INSERT INTO posts SELECT i, minlsh_document('one two three four five six seven eight nine ten ' || i,
	CASE i WHEN 3 THEN 0.9 ELSE 0.7 END, 1, 'word') FROM generate_series(1, 3) i;
SELECT a.id, b.id FROM posts a JOIN posts b ON a.doc ~= b.doc AND a.id < b.id;
SELECT doc_a, doc_b, round(similarity::numeric, 2) AS similarity FROM near_duplicate_pairs('posts');
CREATE INDEX posts_doc ON posts USING minlsh (doc) WITH (threshold = 0.7, unit = 'word', shingle_size = 1);
SELECT doc_a, doc_b FROM near_duplicate_pairs('posts_doc');
SELECT doc_id FROM near_duplicates(1, 0.7, 'posts_doc');
SELECT pairs, pairs_found FROM minlsh_recall('posts_doc') LIMIT 1;
SELECT near_duplicate_pairs('posts', unit => 'char');
INSERT INTO posts SELECT 4, minlsh_document('text', 0.8, 1, 'word');
SELECT near_duplicate_pairs('SELECT id, CASE id WHEN 1 THEN minlsh_document(''a'') ELSE doc END FROM posts');

-- Two sources are read alike: as the index that is named says.
SELECT count(*) FROM near_duplicates_between('SELECT id, body FROM offers', 'offers', 0.9, body => 'body');
SELECT count(*) FROM near_duplicates_between('SELECT id, body FROM offers', 'first', 0.9);
SELECT near_duplicates_between('posts_doc', 'first', 0.9);
SELECT near_duplicates_between('tagged_set', 'first', 0.9);

-- The options of the window function hold for a partition.
SELECT near_duplicate_cluster(body, id / 10.0) OVER () FROM offers WHERE id < 5;
SELECT id, near_duplicate_cluster(doc) OVER (ORDER BY id) FROM posts;
SELECT DISTINCT near_duplicate_cluster(body, 0.8 + length(tenant) / 100.0) OVER () FROM offers WHERE id < 5;

-- The key is never the document, also where it is the only column of text; nor is it unique among tables that inherit
-- from its own.
CREATE TABLE labels (name text PRIMARY KEY, tags text[]);
INSERT INTO labels VALUES ('blue', '{x,y}'), ('red', '{y,x}'), ('reds', '{z}');
SELECT doc_a, doc_b FROM near_duplicate_pairs('labels', 0.5);
CREATE TABLE old_labels () INHERITS (labels);
INSERT INTO old_labels VALUES ('red', '{y,x,x}');
SELECT near_duplicate_plan('labels', 0.5);

-- A job over an index fetches rows by their places: also those that were updated in their page, or deleted, and many
-- short ones in one page. Where a policy hides rows, none of them is found.
CREATE TABLE shorts (id int PRIMARY KEY, body text, changes int) WITH (fillfactor = 60);
INSERT INTO shorts SELECT i, md5((i / 2)::text) FROM generate_series(2, 401) AS i;
CREATE INDEX ON shorts USING minlsh (body);
UPDATE shorts SET changes = 1 WHERE id % 3 = 0;
DELETE FROM shorts WHERE id % 50 = 0;
SELECT (SELECT max((ctid::text::point)[1]) > 64 FROM shorts) AS many_in_a_page, count(*),
       bool_and(doc_a::integer / 2 = doc_b::integer / 2)
FROM near_duplicate_pairs('shorts', 0.9);
SELECT count(*) FROM near_duplicate_pairs('SELECT id, body FROM shorts', 0.9);
CREATE ROLE regress_minlsh_reader;
GRANT SELECT ON shorts TO regress_minlsh_reader;
ALTER TABLE shorts ENABLE ROW LEVEL SECURITY;
CREATE POLICY early ON shorts USING (id < 100);
SET ROLE regress_minlsh_reader;
SELECT count(*) FROM near_duplicate_pairs('shorts', 0.9);
RESET ROLE;

-- Elements that cannot be hashed are refused beside a set and beside a text, with an index and without.
CREATE TABLE mixed (id int PRIMARY KEY, doc minlsh_document);
INSERT INTO mixed SELECT i, minlsh_document('one text') FROM generate_series(1, 100) AS i;
SELECT count(*) FROM mixed WHERE doc ~= '1'::oidvector;
CREATE INDEX mixed_doc ON mixed USING minlsh (doc);
SET enable_seqscan = off;
SELECT count(*) FROM mixed WHERE doc ~= '1'::oidvector;
INSERT INTO mixed VALUES (101, minlsh_document(ARRAY['a', 'b'], 0.8));
SELECT count(*) FROM mixed WHERE doc ~= '1'::oidvector;
SELECT id FROM mixed WHERE doc ~= ARRAY['b', 'a'];
DROP INDEX mixed_doc;
SELECT count(*) FROM mixed WHERE doc ~= '1'::oidvector;
RESET enable_seqscan;

DROP TABLE mixed, offers, prices, numbers, coded, tagged, posts, labels, old_labels, shorts;
DROP ROLE regress_minlsh_reader;
DROP TABLE "Mixed" CASCADE;
