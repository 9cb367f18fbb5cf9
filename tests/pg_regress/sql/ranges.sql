-- A column of ranges narrows a constraint or a search by time: the same text is a copy within ten minutes alone.

CREATE TABLE posts (
	id integer PRIMARY KEY, author integer NOT NULL, posted timestamp NOT NULL, body text NOT NULL,
	CONSTRAINT posts_unlike EXCLUDE USING minlsh
		(author WITH =, tsrange(posted, posted + '10 min') WITH &&, minlsh_document(body, 0.9) WITH ~=)
);
\d posts
INSERT INTO posts VALUES (1, 7, '2026-03-01 10:58', 'Fresh bread from six, at the corner of the market.');
-- Three minutes later the hour is another one, and the text still the same.
INSERT INTO posts VALUES (2, 7, '2026-03-01 11:01', 'FRESH bread from six, at the corner of the market!');
-- Ten minutes later the first one no longer counts. Nor does it for another author, and another text is no copy.
INSERT INTO posts VALUES (3, 7, '2026-03-01 11:07:59', 'Fresh bread from six, at the corner of the market.')
	ON CONFLICT DO NOTHING;
INSERT INTO posts VALUES (4, 7, '2026-03-01 11:08', 'Fresh bread from six, at the corner of the market.'),
	(5, 8, '2026-03-01 11:01', 'Fresh bread from six, at the corner of the market.'),
	(6, 7, '2026-03-01 11:01', 'The market is closed on Sunday because of the fair.');
-- It counts in both directions: a row that comes late belongs where its time is.
INSERT INTO posts VALUES (7, 7, '2026-03-01 10:49', 'Fresh bread from six, at the corner of the market.')
	ON CONFLICT DO NOTHING;
INSERT INTO posts VALUES (7, 7, '2026-03-01 10:48', 'Fresh bread from six, at the corner of the market.')
	ON CONFLICT DO NOTHING;
SELECT id, author, posted FROM posts ORDER BY id;
-- An update may move a row there.
UPDATE posts SET posted = posted - interval '1 min' WHERE id = 4;
UPDATE posts SET posted = posted + interval '1 min' WHERE id = 4;
UPDATE posts SET author = 7 WHERE id = 5;
-- One statement: each row that stays counts for the next.
INSERT INTO posts SELECT 100 + minute, 9, timestamp '2026-03-01' + minute * interval '1 min',
	'The ferry leaves in a quarter of an hour from pier number three.'
FROM generate_series(0, 60, 4) AS minute ON CONFLICT DO NOTHING;
SELECT id, posted::time FROM posts WHERE author = 9 ORDER BY id;
-- The range of a time that is infinite is empty, and overlaps nothing.
INSERT INTO posts VALUES (201, 10, 'infinity', 'A text without a time of its own, in two copies.'),
	(202, 10, 'infinity', 'A text without a time of its own, in two copies.'),
	(203, 10, '-infinity', 'A text without a time of its own, in two copies.');
SELECT count(*) FROM posts WHERE author = 10;

-- Searches use the index of the constraint. It finds the texts, and the time is checked on their rows.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM posts
WHERE author = 7 AND tsrange(posted, posted + '10 min') && tsrange('2026-03-01 11:00', '2026-03-01 11:05')
	AND minlsh_document(body, 0.9) ~= 'Fresh bread from six, at the corner of the market'::text;
SELECT id FROM posts
WHERE author = 7 AND tsrange(posted, posted + '10 min') && tsrange('2026-03-01 11:00', '2026-03-01 11:05')
	AND minlsh_document(body, 0.9) ~= 'Fresh bread from six, at the corner of the market'::text;
-- Without a condition on the time it finds all of them.
SELECT id FROM posts
WHERE author = 7
	AND minlsh_document(body, 0.9) ~= 'Fresh bread from six, at the corner of the market'::text
ORDER BY id;
-- NULL overlaps nothing.
SELECT id FROM posts
WHERE author = 7 AND tsrange(posted, posted + '10 min') && (SELECT NULL::tsrange)
	AND minlsh_document(body, 0.9) ~= 'Fresh bread from six, at the corner of the market'::text;
RESET enable_seqscan;
RESET enable_bitmapscan;
-- Functions and jobs take the index as one of author and text.
SELECT index, key, body, scope FROM minlsh_indexes WHERE index = 'posts_unlike'::regclass;
SELECT doc_id, round(similarity::numeric, 2) AS similarity FROM near_duplicates(1, 0.9, index => 'posts_unlike')
ORDER BY doc_id;
SELECT doc_a, doc_b FROM near_duplicate_pairs('posts_unlike', 0.9) AS p JOIN posts ON id = doc_a WHERE author = 7
ORDER BY 1, 2;
SELECT * FROM minlsh_check('posts_unlike');
REINDEX TABLE posts;
INSERT INTO posts VALUES (8, 7, '2026-03-01 11:12', 'Fresh bread from six, at the corner of the market.')
	ON CONFLICT DO NOTHING;
SELECT * FROM minlsh_check('posts_unlike');

-- A table that has two of them already.
\set VERBOSITY terse
ALTER TABLE posts DROP CONSTRAINT posts_unlike;
INSERT INTO posts VALUES (8, 7, '2026-03-01 11:12', 'Fresh bread from six, at the corner of the market.');
ALTER TABLE posts ADD CONSTRAINT posts_unlike EXCLUDE USING minlsh
	(author WITH =, tsrange(posted, posted + '10 min') WITH &&, minlsh_document(body, 0.9) WITH ~=);
DELETE FROM posts WHERE id = 8;
-- The column of ranges may be the first one, and needs no scope beside it. Deferred, only the end counts.
ALTER TABLE posts ADD CONSTRAINT posts_unlike EXCLUDE USING minlsh
	(tsrange(posted, posted + '1 min') WITH &&, minlsh_document(body, 0.9) WITH ~=) DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO posts VALUES (8, 7, '2026-03-01 11:08:30', 'Fresh bread from six, at the corner of the market.');
UPDATE posts SET posted = '2026-03-01 11:09' WHERE id = 8;
COMMIT;
BEGIN;
UPDATE posts SET posted = '2026-03-01 11:08:59' WHERE id = 8;
COMMIT;
\set VERBOSITY default
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM posts
WHERE minlsh_document(body, 0.9) ~= 'Fresh bread from six, at the corner of the market'::text;
SELECT count(*) FROM posts
WHERE minlsh_document(body, 0.9) ~= 'Fresh bread from six, at the corner of the market'::text;
SELECT * FROM minlsh_check('posts_unlike');
DROP TABLE posts;

-- A time with a time zone: adding to it depends on the setting TimeZone, unless it is in UTC.
CREATE TABLE posts (posted timestamptz NOT NULL, body text NOT NULL);
ALTER TABLE posts ADD EXCLUDE USING minlsh
	(tstzrange(posted, posted + '10 min') WITH &&, minlsh_document(body, 0.9) WITH ~=);
ALTER TABLE posts ADD CONSTRAINT posts_unlike EXCLUDE USING minlsh
	(tsrange(posted AT TIME ZONE 'UTC', posted AT TIME ZONE 'UTC' + '10 min') WITH &&,
	minlsh_document(body, 0.9) WITH ~=);
INSERT INTO posts VALUES ('2026-03-29 01:55+01', 'The clocks go forward tonight, at two in the morning.'),
	('2026-03-29 03:02+02', 'The clocks go forward tonight, at two in the morning.'),
	('2026-03-29 03:06+02', 'The clocks go forward tonight, at two in the morning.') ON CONFLICT DO NOTHING;
SELECT posted AT TIME ZONE 'UTC' AS posted FROM posts ORDER BY 1;
DROP TABLE posts;

-- Any ranges will do, as columns, too: overlapping reservations must not have the same note.
CREATE TABLE reservations (id integer PRIMARY KEY, days daterange, note text,
	CONSTRAINT reservations_unlike EXCLUDE USING minlsh (minlsh_document(note, 0.8) WITH ~=, days WITH &&));
INSERT INTO reservations VALUES (1, '[2026-05-01,2026-05-04)', 'A room with a view of the lake, please'),
	(2, '[2026-05-04,2026-05-08)', 'A room with a view of the lake, please'),
	(3, NULL, 'A room with a view of the lake, please'), (4, NULL, 'A room with a view of the lake, please'),
	(5, 'empty', 'A room with a view of the lake, please'), (6, 'empty', 'A room with a view of the lake, please');
INSERT INTO reservations SELECT 10, range::daterange, 'A room with a view of the lake, please!'
FROM unnest('{"(,)","(,2026-05-02)","[2026-05-07,)","[2026-05-03,2026-05-05)","[2026-05-01,2026-05-01]"}'::text[])
	AS range ON CONFLICT DO NOTHING RETURNING days;
INSERT INTO reservations VALUES (7, '(,2026-05-01)', 'A room with a view of the lake, please'),
	(8, '[2026-05-08,)', 'A room with a view of the lake, please');
SELECT range, array_agg(id ORDER BY id) AS ids
FROM unnest('{"(,)","(,2026-04-20)","[2026-05-03,2026-05-04]",empty,NULL}'::daterange[]) AS range
	LEFT JOIN reservations ON days && range
		AND minlsh_document(note, 0.8) ~= 'a room with a view of the lake, please'::text
GROUP BY range ORDER BY range;
SELECT array_agg(id ORDER BY id) AS ids FROM reservations
WHERE days && '{[2026-05-03,2026-05-04),[2026-06-01,2026-07-01)}'::datemultirange
	AND minlsh_document(note, 0.8) ~= 'a room with a view of the lake, please'::text;
-- Other operators of ranges are checked on the rows found, as any other condition.
EXPLAIN (COSTS OFF) SELECT id FROM reservations
WHERE days @> date '2026-05-05' AND minlsh_document(note, 0.8) ~= 'a room with a view of the lake, please'::text;
SELECT * FROM minlsh_check('reservations_unlike');
DROP TABLE reservations;
CREATE TYPE floors AS RANGE (subtype = text);
CREATE TABLE many (a int4range, b int8range, c numrange, d tstzrange, e floors, f nummultirange, lang text, body text);
INSERT INTO many VALUES
	('[1,5)', '[1,5)', '[1,5)', '[2026-01-01,2026-02-01)', '[a,c)', '{[1,2),[3,4)}', 'en', 'some text'),
	('[5,9)', NULL, 'empty', '(,)', '(,b)', '{}', 'en', 'some text'),
	('[1,9)', '(,)', '[4,4]', '[2027-01-01,)', '[x,)', '{(,)}', 'de', 'some text');
CREATE INDEX ON many USING minlsh (a, b, c, lang minlsh_text_scope_ops, d, body, e, f);
SELECT count(*) FROM many WHERE body ~= 'some text' AND lang = 'en';
SELECT count(*) FROM many WHERE body ~= 'some text' AND lang = 'en' AND a && '[3,4]' AND c && '(,)' AND e && '[b,b]'
	AND f && '{[3.5,3.7]}' AND b && '[4,4]' AND d && '[2026-01-31,)';
SELECT count(*) FROM many WHERE body ~= 'some text' AND lang = 'en' AND f && '[3.5,3.7]'::numrange;
EXPLAIN (COSTS OFF) SELECT count(*) FROM many WHERE body ~= 'some text' AND lang = 'en' AND f && '[3.5,3.7]'::numrange;
SELECT * FROM minlsh_check('many');
DROP TABLE many;
DROP TYPE floors;

-- A range by itself is no document, and is no scope by which rows are told apart.
CREATE TABLE docs (during tsrange, body text);
CREATE INDEX ON docs USING minlsh (during);
CREATE INDEX ON docs USING minlsh (body, (body || '!'), during);
ALTER TABLE docs ADD EXCLUDE USING minlsh (during WITH =, minlsh_document(body, 0.9) WITH ~=);
ALTER TABLE docs ADD EXCLUDE USING minlsh (during WITH -|-, minlsh_document(body, 0.9) WITH ~=);
DROP TABLE docs;
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname IN ('minlsh_range_ops', 'minlsh_multirange_ops')
ORDER BY opcname;

-- Partitions by month: each has a constraint of its own, and a search asks all of them.
CREATE TABLE posts (id integer, posted timestamp, body text) PARTITION BY RANGE (posted);
CREATE TABLE posts_march PARTITION OF posts FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
CREATE TABLE posts_april PARTITION OF posts FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
ALTER TABLE posts_march ADD EXCLUDE USING minlsh
	(tsrange(posted, posted + '10 min') WITH &&, minlsh_document(body, 0.9) WITH ~=);
CREATE INDEX ON posts USING minlsh (minlsh_document(body, 0.9), tsrange(posted, posted + '10 min'));
INSERT INTO posts
SELECT i, timestamp '2026-03-31 23:00' + i * interval '8 min', 'All trains are late because of the storm.'
FROM generate_series(1, 9) AS i ON CONFLICT DO NOTHING;
SELECT id, posted, tableoid::regclass FROM posts ORDER BY id;
SELECT id FROM posts
WHERE minlsh_document(body, 0.9) ~= 'all trains are late because of the storm!'::text
	AND tsrange(posted, posted + '10 min') && '[2026-03-31 23:50,2026-04-01 00:05]' ORDER BY id;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT * FROM minlsh_check();
DROP TABLE posts;
