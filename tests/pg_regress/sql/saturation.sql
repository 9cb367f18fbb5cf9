-- Texts so long that all there are of their shingles are in each of them: a build says so.
CREATE TABLE dumps (id int PRIMARY KEY, body text);
INSERT INTO dumps SELECT i, string_agg(md5(i || ' ' || g), '')
FROM generate_series(1, 2) AS i, generate_series(1, 10000) AS g GROUP BY i;
SELECT round(jaccard(a.body, b.body, 4)::numeric, 2) AS by_4, round(jaccard(a.body, b.body, 8)::numeric, 2) AS by_8
FROM dumps AS a, dumps AS b WHERE a.id = 1 AND b.id = 2;
CREATE INDEX by_4 ON dumps USING minlsh (body) WITH (shingle_size = 4);
CREATE INDEX by_8 ON dumps USING minlsh (body) WITH (shingle_size = 8);
CREATE INDEX by_word ON dumps USING minlsh (body) WITH (unit = word);
SELECT minlsh_create_side_table('dumps', 'body', threshold => 0.9, shingle_size => 4);
-- One such text has no other to be confused with. Shorter ones, and what people write, are not meant.
DELETE FROM dumps WHERE id = 2;
REINDEX INDEX by_4;
TRUNCATE dumps;
INSERT INTO dumps SELECT i, string_agg(md5(i || ' ' || g), '')
FROM generate_series(1, 2) AS i, generate_series(1, 1000) AS g GROUP BY i;
REINDEX INDEX by_4;
DROP TABLE dumps;
