-- Documents bring thresholds of their own: a pair counts if its similarity reaches both. Equal texts may have different
-- ones, so each is compared for itself, in whatever way one asks.
CREATE TABLE docs (id integer PRIMARY KEY, body minlsh_document);
INSERT INTO docs VALUES
	(1, minlsh_document('Fresh bread is baked here every day, and the shop is open until six', 0.9)),
	(2, minlsh_document('Fresh bread is baked here every day, and the shop is open until six', 0.5)),
	(3, minlsh_document('Fresh bread is baked here every day, and the shop is open until seven on most days', 0.6)),
	(4, minlsh_document('Fresh bread is baked here every day, and the shop is open until six', 0.9));
SELECT a.id AS a, b.id AS b FROM docs AS a JOIN docs AS b ON a.id < b.id AND a.body ~= b.body ORDER BY a, b;
SELECT doc_a, doc_b, similarity FROM near_duplicate_pairs('docs', 0.5, body => 'body')
ORDER BY doc_a::integer, doc_b::integer;
SELECT doc_a, doc_b FROM near_duplicates_between('SELECT * FROM docs WHERE id = 3', 'docs', 0.5)
ORDER BY doc_a::integer, doc_b::integer;
-- With more than memory holds, and with more rows than are compared pair by pair.
INSERT INTO docs
SELECT i, minlsh_document(
	format('Bread of the %s kind is baked on day %s of the month, by baker %s', i / 3, i / 3, i / 3) ||
		CASE WHEN i % 3 = 1 THEN ' or by somebody else' ELSE '' END,
	CASE WHEN i % 3 = 0 THEN 0.9 ELSE 0.5 END)
FROM generate_series(10, 200) AS i;
CREATE TABLE expected AS
SELECT a.id AS a, b.id AS b FROM docs AS a JOIN docs AS b ON a.id < b.id AND a.body ~= b.body;
CREATE VIEW found AS
SELECT doc_a::integer AS a, doc_b::integer AS b
FROM near_duplicate_pairs('docs', 0.5, body => 'body', recall => 0.999999);
CREATE VIEW differences AS (TABLE found EXCEPT TABLE expected) UNION ALL (TABLE expected EXCEPT TABLE found);
SELECT count(*) > 150 AS many FROM expected;
TABLE differences;
SET maintenance_work_mem = '1MB';
TABLE differences;
RESET maintenance_work_mem;
-- Clusters: the third text is in one with the second alone, which equals the others.
SELECT doc_id, cluster_id, round(similarity::numeric, 2) AS similarity, round(weakest_link::numeric, 2) AS weakest_link
FROM near_duplicate_clusters('docs', 0.5, recall => 0.999999) WHERE doc_id::integer < 10 ORDER BY doc_id::integer;
SELECT doc_id, cluster_id FROM near_duplicate_clusters('docs', 0.5, linkage => 'leader', recall => 0.999999)
WHERE doc_id::integer < 10 ORDER BY doc_id::integer;
CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.5, recall = 0.999999);
TABLE differences;
-- Lookups.
SELECT a, b FROM expected WHERE a < 10
EXCEPT SELECT id, doc_id::integer FROM docs, near_duplicates(id, 0.5, 'docs_near') WHERE id < 10;
SELECT id, doc_id::integer FROM docs, near_duplicates(id, 0.5, 'docs_near') WHERE id < doc_id::integer
EXCEPT TABLE expected;
DROP VIEW differences, found;
DROP TABLE docs, expected;
