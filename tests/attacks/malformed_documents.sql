-- Values of type minlsh_document that no constructor made: by its text form, and by casts of bytes.
-- Attacker: an ordinary user. Must not: a length or an offset be believed.

-- as attacker:
-- tried
CREATE TABLE evil.d (d minlsh_document);
DO $$
DECLARE
	form text;
BEGIN
	FOREACH form IN ARRAY ARRAY['', ' ', '{', '{}', '[]', 'null', '"', '(', '(text,0.8,x)', '{"text":"x"}',
		'{"threshold":1e400,"text":"x"}',
		'{"set":[1,2,3],"threshold":0.5}', '{"set":[18446744073709551616]}', '{"signature":[1,null],"threshold":0.5}',
			'0.9:text', repeat('{', 100000),
		'{"text":"' || repeat('x', 1000000) || '"}', E'\\x00', '{"text":"\u0000"}', '{"text":"\ud800"}',
			'{"shingle_size":-1,"text":"x"}',
		'{"signature":[],"threshold":0.5}', '{"threshold":"NaN","text":"x"}', '0.8 ''x''', '0.8 char 5 plain ''x''',
			minlsh_version()] LOOP
		BEGIN
			EXECUTE 'INSERT INTO evil.d VALUES ($1::text::minlsh_document)' USING form;
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF;
		END;
		BEGIN
			EXECUTE format('INSERT INTO evil.d VALUES (%L)', form);
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF;
		END;
	END LOOP;
END $$;
-- tried
CREATE CAST (bytea AS minlsh_document) WITHOUT FUNCTION;
-- tried
SELECT count(*) FROM evil.d a, evil.d b WHERE a.d ~= b.d;
-- tried
SELECT d::text FROM evil.d;
-- tried
CREATE INDEX ON evil.d USING minlsh (d);
-- tried
SELECT minlsh_document('x', 'NaN');
-- tried
SELECT minlsh_document('x', 0.5) ~= minlsh_document('x', 0.5, 9, 'word');
-- tried
SELECT minlsh_signature('{{1,2},{3,4}}', 0.5) ~= minlsh_signature('{1}', 0.5);
-- tried
SELECT minlsh_signature(array_fill(NULL::int, ARRAY[128]), 0.5);
-- tried
SELECT '{1}'::int[] ~= minlsh_signature(minhash('x'), 0.5);
