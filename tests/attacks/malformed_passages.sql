-- Values of type minlsh_passage that no constructor made: by its text form, and by casts of bytes.
-- Attacker: an ordinary user. Must not: a length, a number or a step be believed.

-- as attacker:
CREATE TABLE evil.p (p minlsh_passage);
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'a text of more characters than a passage has at least, number ' || i
	FROM generate_series(1, 100) i;
CREATE INDEX ON evil.docs USING minlsh (body minlsh_passage_ops) WITH (min_match = 16);
DO $$
DECLARE
	form text;
BEGIN
	FOREACH form IN ARRAY ARRAY['', ' ', '{', '{}', '{"coverage":', '{"coverage": }', '{"coverage": 1}',
		'{"coverage": 1, "passage": "x"}', '{"coverage": 1e400, "passage": "x"}', '{"coverage": NaN, "passage": "x"}',
		'{"coverage": -1, "passage": "x"}', '{"coverage": 1e-320, "passage": "a text of more characters"}',
		'{"coverage": 1, "min_match": 9223372036854775808, "passage": "x"}',
		'{"coverage": 1, "min_match": -16, "passage": "x"}', '{"coverage": 1, "min_match": 65552, "passage": "x"}',
		'{"coverage": 1, "min_match": 16.5, "passage": "x"}',
		'{"coverage": 1, "normalization": "", "passage": "x"}',
		'{"coverage": 1, "normalization": "stop_words", "passage": "x"}',
		'{"coverage": 1, "normalization": "plain\u0000", "passage": "x"}',
		'{"coverage": 1, "normalization": "min_length 3", "passage": "x"}',
		'{"coverage": 1, "coverage": 1, "passage": "x"}', '{"coverage": 1, "passage": "\ud800"}',
		'{"coverage": 1, "passage": "' || repeat('x', 1000000) || '"}', '{"coverage": ' || repeat('[', 100000)] LOOP
		BEGIN
			EXECUTE 'INSERT INTO evil.p VALUES ($1::text::minlsh_passage)' USING form;
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF;
		END;
		BEGIN
			EXECUTE format('INSERT INTO evil.p VALUES (%L)', form);
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF;
		END;
	END LOOP;
END $$;
-- What was taken can be used, by each plan.
SELECT p::text, minlsh_passage_send(p) FROM evil.p;
SELECT count(*) FROM evil.docs JOIN evil.p ON body ~> p;
SET enable_seqscan = off;
SELECT count(*) FROM evil.docs JOIN evil.p ON body ~> p;
-- tried
CREATE CAST (bytea AS minlsh_passage) WITHOUT FUNCTION;
-- tried
SELECT minlsh_passage('x', 'NaN');
-- tried
SELECT minlsh_passage('x', 'Infinity');
-- tried
SELECT minlsh_passage('x', 1, 2147483647);
-- tried
SELECT minlsh_passage('x', 1, 16, repeat('casefold ', 100000));
-- tried
SELECT shared_passages('x', 'x', -2147483648);
-- tried
SELECT passage_coverage(repeat('x', 100), repeat('x', 100), 16, E'plain\u00e9');
-- tried
CREATE INDEX ON evil.docs USING minlsh (body minlsh_passage_ops) WITH (min_match = 2147483647);
-- tried
CREATE INDEX ON evil.docs USING minlsh (body minlsh_passage_ops) WITH (min_match = 16, normalization = 'stop_words');
-- as superuser:
-- Bytes of a damaged page: each cut, and each byte changed, of a sound value.
CREATE CAST (bytea AS minlsh_passage) WITHOUT FUNCTION;
DO $$
DECLARE
	sound bytea := '\x019a9999999999e93f3200'::bytea || convert_to('nfkc casefold whitespace', 'UTF8') || '\x00'::bytea
		|| convert_to('a text of more characters than a passage has at least, number', 'UTF8');
	damaged bytea;
	asked boolean;
BEGIN
	SET LOCAL enable_seqscan = off;
	FOR i IN 0..length(sound) * 4 - 1 LOOP
		damaged := CASE WHEN i < length(sound) THEN substr(sound, 1, i)
			ELSE set_byte(sound, i / 4, (ARRAY[0, 1, 127, 255])[i % 4 + 1]) END;
		BEGIN
			SELECT 'a text of more characters than a passage has' ~> damaged::minlsh_passage INTO asked;
			PERFORM damaged::minlsh_passage::text, minlsh_passage_send(damaged::minlsh_passage);
			PERFORM count(*) FROM evil.docs WHERE body ~> damaged::minlsh_passage;
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE <> '22P03' THEN RAISE; END IF;
		END;
	END LOOP;
END $$;
DROP CAST (bytea AS minlsh_passage);
