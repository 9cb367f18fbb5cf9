-- Operator classes of the access method whose functions take values of other types than the class is for.
-- Attacker: a superuser by mistake, since nobody else makes operator classes. Must not: a function read a number as the
-- address of a text.

-- as superuser:
CREATE TABLE docs (id int PRIMARY KEY, v int, body text);
INSERT INTO docs SELECT i, i, 'some text' FROM generate_series(1, 5) i;
CREATE OPERATOR CLASS hashed_as_text FOR TYPE int4 USING minlsh AS STORAGE "char",
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid), FUNCTION 7 hashtextextended(text, int8);
CREATE OPERATOR CLASS compared_as_text FOR TYPE int4 USING minlsh AS STORAGE "char",
	FUNCTION 1 bttextcmp(text, text), FUNCTION 4 btequalimage(oid), FUNCTION 7 hashint4extended(int4, int8);
CREATE OPERATOR CLASS stored_as_text FOR TYPE int4 USING minlsh AS STORAGE text,
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid), FUNCTION 7 hashint4extended(int4, int8);
-- gives: f f f
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname LIKE '%_as_text';
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (v hashed_as_text, body);
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (body, v hashed_as_text);
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (v compared_as_text, body);
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (v stored_as_text, body);
CREATE UNLOGGED TABLE unlogged (LIKE docs);
-- refused: 0A000
CREATE INDEX ON unlogged USING minlsh (v hashed_as_text, body);
-- Our own hash some types as others.
CREATE TABLE many (d date, b bool, y bytea, c "char", z timestamptz, i int2, body text);
INSERT INTO many VALUES (now(), true, 'x', 'x', now(), 1, 'some text');
CREATE INDEX ON many USING minlsh (d, b, y, c, z, i, body);
-- gives: 0
SELECT count(*) FROM minlsh_check();
-- Every type with every function that can be taken for a hash with a seed. What amvalidate accepts makes an index that
-- answers, and what it refuses makes none.
CREATE TYPE mood AS ENUM ('a', 'b');
CREATE TABLE samples (type regtype, value text);
INSERT INTO samples SELECT t.oid, v.value FROM pg_type t JOIN (VALUES ('int2', '1'), ('int4', '1'), ('int8', '1'),
	('float4', '1'), ('float8', '1'), ('numeric', '1'), ('oid', '1'), ('xid', '1'), ('xid8', '1'), ('cid', '1'),
	('money', '1'), ('bool', 't'), ('text', 'a'), ('varchar', 'a'), ('bpchar', 'a'), ('name', 'a'), ('char', 'a'),
	('bytea', 'a'), ('uuid', '11111111-2222-3333-4444-555555555555'), ('date', '2000-01-01'), ('time', '12:00'),
	('timetz', '12:00+00'), ('timestamp', '2000-01-01'), ('timestamptz', '2000-01-01'), ('interval', '1 day'),
	('inet', '127.0.0.1'), ('cidr', '127.0.0.1'), ('macaddr', '08:00:2b:01:02:03'),
	('macaddr8', '08:00:2b:01:02:03:04:05'), ('jsonb', '1'), ('json', '1'), ('bit', '1'), ('varbit', '1'),
	('point', '(0,0)'), ('tid', '(0,1)'), ('pg_lsn', '0/0'), ('int4range', '[1,2)'), ('int4multirange', '{[1,2)}'),
	('tsvector', 'a'), ('_int4', '{1}'), ('_text', '{a}'), ('minlsh_document', '{"text": "some text"}'),
	('minlsh_key', '1'), ('mood', 'a'), ('samples', '(text,a)'), ('regclass', 'docs'), ('aclitem', 'owner=r/owner'))
	AS v(type, value) ON t.typname = v.type AND pg_type_is_visible(t.oid);
CREATE TABLE hashes AS SELECT p.oid::regprocedure AS function FROM pg_proc p
	WHERE p.prokind = 'f' AND p.pronargs = 2 AND p.proargtypes[1] = 'int8'::regtype AND p.prorettype = 'int8'::regtype
		AND p.proname !~ '(div|mod)$' AND (p.proname ~ 'extended|setval' OR current_setting('attack.thorough')::boolean)
		OR p.proname IN ('hashint4', 'hashtext', 'btcharcmp', 'btint4cmp', 'bttidcmp', 'btequalimage', 'lag', 'nth_value',
		'hashvarlena', 'int4pl', 'btint4sortsupport', 'minlsh_key_hash');
-- What comes of a class, of an index with it, and of a search in that: a word for each. All is rolled back.
CREATE FUNCTION outcome(class text, of regtype, value text, OUT outcome text) LANGUAGE plpgsql
	SET client_min_messages = error AS $$
DECLARE has_class boolean; is_valid boolean; is_equal boolean;
BEGIN
	EXECUTE class;
	has_class := true;
	SELECT amvalidate(oid) INTO is_valid FROM pg_opclass WHERE opcname = 'tried';
	EXECUTE format('CREATE TABLE tried (id int, v %s, body text)', of);
	EXECUTE format('INSERT INTO tried VALUES (1, %L, ''some text''), (2, NULL, ''some text'')', value);
	CREATE INDEX ON tried USING minlsh (v tried, body);
	EXECUTE format('INSERT INTO tried VALUES (3, %L, ''some text'')', value);
	SET LOCAL enable_seqscan = off;
	EXECUTE format('SELECT count(*) = 2 FROM tried WHERE v = %L AND body ~= ''some text''', value) INTO is_equal;
	RAISE SQLSTATE 'ZZ000';
EXCEPTION WHEN OTHERS THEN
	outcome := CASE WHEN has_class IS NULL AND SQLSTATE NOT LIKE 'XX%' THEN 'no class'
		WHEN SQLSTATE = 'ZZ000' AND is_valid AND is_equal THEN 'served'
		WHEN SQLSTATE = '0A000' AND NOT is_valid THEN 'refused'
		ELSE concat_ws(' ', class, is_valid, is_equal, SQLSTATE, SQLERRM) END;
END $$;
CREATE FUNCTION class(of regtype, compare text, image text, hash text, further text DEFAULT '', op text DEFAULT '=')
	RETURNS text LANGUAGE sql AS $$ SELECT format('CREATE OPERATOR CLASS tried FOR TYPE %s USING minlsh AS OPERATOR 1 %s,
	FUNCTION 1 %s, FUNCTION 4 %s, FUNCTION 7 %s%s, STORAGE "char"', of, op, compare, image, hash, further) $$;
CREATE TABLE outcomes AS SELECT s.type, h.function, o.outcome FROM samples s, hashes h, LATERAL
	outcome(class(s.type, 'btcharcmp("char", "char")', 'btequalimage(oid)', h.function::text), s.type, s.value) AS o;
-- gives:
SELECT DISTINCT outcome FROM outcomes WHERE outcome NOT IN ('served', 'refused', 'no class');
-- Types that nothing can hash, and the functions of each other. From 18 on, three have one of their own.
-- gives: aclitem hash_aclitem_extended(aclitem,bigint)
SELECT concat_ws(' ', type, function) FROM outcomes WHERE outcome = 'served' AND type = 'aclitem'::regtype;
-- gives: hashcharextended("char",bigint)
SELECT function FROM outcomes WHERE outcome = 'served' AND type = 'boolean'::regtype
	AND function::text !~ '^hash(bool|bytea|date)extended';
-- gives: hashint4extended(integer,bigint)
SELECT function FROM outcomes WHERE outcome = 'served' AND type = 'date'::regtype
	AND function::text !~ '^hash(bool|bytea|date)extended';
-- gives: hashvarlenaextended(internal,bigint)
SELECT function FROM outcomes WHERE outcome = 'served' AND type = 'bytea'::regtype
	AND function::text !~ '^hash(bool|bytea|date)extended';
-- gives: hashbpcharextended(character,bigint) hashtextextended(text,bigint) minlsh_key_hash_extended(minlsh_key,bigint)
SELECT function FROM outcomes WHERE outcome = 'served' AND type = 'minlsh_key'::regtype ORDER BY function::text;
-- gives: t t
SELECT count(*) > 800 FROM outcomes UNION ALL SELECT count(*) > 25 FROM outcomes WHERE outcome = 'served';
-- The other support functions, and operators.
-- gives:
SELECT o.outcome FROM hashes h, LATERAL (VALUES (h.function::text, 'btequalimage(oid)'),
	('btcharcmp("char", "char")', h.function::text)) AS f(compare, image),
	LATERAL outcome(class('int4', compare, image, 'hashint4extended(int4, int8)'), 'int4', '1') AS o
	WHERE o.outcome NOT IN ('refused', 'no class') 
		AND (o.outcome <> 'served' OR h.function NOT IN ('btcharcmp("char","char")', 'btequalimage(oid)'));
-- gives: refused refused refused refused refused no class served
SELECT o.outcome FROM (VALUES (', FUNCTION 2 btint4sortsupport(internal)', '='),
	(', FUNCTION 3 in_range(int4, int4, int4, bool, bool)', '='), (', FUNCTION 6 hashint4(int4)', '='),
	(', FUNCTION 8 passage_hashes(text, int4, text)', '='), (', FUNCTION 8 hashint4(int4)', '='),
	(', FUNCTION 9 hashint4(int4)', '='), ('', '<=')) AS f(further, op),
	outcome(class('int4', 'btcharcmp("char", "char")', 'btequalimage(oid)', 'hashint4extended(int4, int8)', further,
		op), 'int4', '1') AS o;
-- Operators of another type, without a hash for that, and operators that are no equality, are left to themselves.
CREATE TABLE later (v int, body text);
INSERT INTO later SELECT i % 5, 'some text' FROM generate_series(1, 10) i;
CREATE OPERATOR CLASS later FOR TYPE int4 USING minlsh AS OPERATOR 1 =, FUNCTION 1 btcharcmp("char", "char"),
	FUNCTION 4 btequalimage(oid), FUNCTION 7 hashint4extended(int4, int8), STORAGE "char";
CREATE INDEX ON later USING minlsh (v later, body);
ALTER OPERATOR FAMILY later USING minlsh ADD OPERATOR 1 = (int4, int8);
SET enable_seqscan = off;
-- gives: 2
SELECT count(*) FROM later WHERE v = 1::int8 AND body ~= 'some text';
ALTER OPERATOR FAMILY later USING minlsh ADD FUNCTION 7 (int8, int8) hashvarlenaextended(internal, int8);
-- gives: 2
SELECT count(*) FROM later WHERE v = 1::int8 AND body ~= 'some text';
ALTER OPERATOR FAMILY later USING minlsh DROP FUNCTION 7 (int8, int8);
ALTER OPERATOR FAMILY later USING minlsh ADD FUNCTION 7 (int8, int8) hashint8extended(int8, int8);
-- gives: 2
SELECT count(*) FROM later WHERE v = 1::int8 AND body ~= 'some text';
ALTER OPERATOR FAMILY later USING minlsh ADD OPERATOR 1 < (int4, int2), FUNCTION 7 (int2, int2)
	hashint2extended(int2, int8);
-- gives: 4
SELECT count(*) FROM later WHERE v < 2::int2 AND body ~= 'some text';
-- Ranges: nothing reads their values, whatever the class says of them.
CREATE TABLE ranges (v int4range, body text);
INSERT INTO ranges VALUES ('[1,5)', 'some text'), ('[5,9)', 'some text'), (NULL, 'some text'), ('empty', 'some text');
CREATE OPERATOR CLASS tid_of_ranges FOR TYPE anyrange USING minlsh AS OPERATOR 1 &&,
	FUNCTION 1 bttidcmp(tid, tid), FUNCTION 4 btequalimage(oid), STORAGE tid;
CREATE OPERATOR CLASS itself_of_ranges FOR TYPE anyrange USING minlsh AS OPERATOR 1 &&,
	FUNCTION 1 range_cmp(anyrange, anyrange), FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS passages_of_ranges FOR TYPE anyrange USING minlsh AS OPERATOR 1 &&, STORAGE "char",
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid), FUNCTION 8 passage_hashes(text, int4, text);
CREATE OPERATOR CLASS integers_of_ranges FOR TYPE int4range USING minlsh AS OPERATOR 1 && (anyrange, anyrange),
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid), STORAGE "char";
CREATE OPERATOR CLASS text_of_ranges FOR TYPE anyrange USING minlsh AS OPERATOR 1 &&, STORAGE "char",
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid), FUNCTION 7 hashtextextended(text, int8);
-- gives: f f f f f
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname LIKE '%\_of\_ranges';
-- refused: 0A000
CREATE INDEX ON ranges USING minlsh (v tid_of_ranges, body);
-- refused: 0A000
CREATE INDEX ON ranges USING minlsh (body, v itself_of_ranges);
-- refused: 0A000
CREATE INDEX ON ranges USING minlsh (v passages_of_ranges, body);
-- refused: 0A000
CREATE INDEX ON ranges USING minlsh (v integers_of_ranges, body);
-- refused: 0A000
CREATE INDEX ON ranges USING minlsh (v text_of_ranges, body);
CREATE OPERATOR CLASS ranges_compared FOR TYPE anyrange USING minlsh AS OPERATOR 1 =, STORAGE "char",
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS ranges_hashed FOR TYPE anyrange USING minlsh AS OPERATOR 1 =, STORAGE "char",
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid),
	FUNCTION 7 hash_range_extended(anyrange, int8);
CREATE OPERATOR CLASS ranges_hashed_and_overlapping FOR TYPE anyrange USING minlsh AS OPERATOR 1 &&, STORAGE "char",
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid),
	FUNCTION 7 hash_range_extended(anyrange, int8);
-- gives: t t t
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname LIKE 'ranges\_%';
CREATE INDEX i ON ranges USING minlsh (v ranges_compared, body);
-- gives: 1
SELECT count(*) FROM ranges WHERE v = '[1,4]' AND body ~= 'some text';
DROP INDEX i;
CREATE INDEX i ON ranges USING minlsh (v ranges_hashed, body);
-- gives: 1
SELECT count(*) FROM ranges WHERE v = '[1,4]' AND body ~= 'some text';
DROP INDEX i;
CREATE INDEX i ON ranges USING minlsh (v ranges_hashed_and_overlapping, body);
-- gives: 2
SELECT count(*) FROM ranges WHERE v && '[4,5]' AND body ~= 'some text';
DROP INDEX i;
CREATE INDEX i ON ranges USING minlsh (v, body);
INSERT INTO ranges VALUES ('[4,5]', 'some text');
-- A family of ranges that gets a hash: a session that knows the index goes on with what it has, others find damage.
ALTER OPERATOR FAMILY minlsh_range_ops USING minlsh ADD FUNCTION 7 (anyrange, anyrange)
	hash_range_extended(anyrange, int8);
-- tried
INSERT INTO ranges VALUES ('[4,5]', 'some text');
-- tried
SELECT count(*) FROM ranges WHERE v && '[4,5]' AND body ~= 'some text';
-- tried
SELECT count(*) FROM minlsh_check('i');
ALTER OPERATOR FAMILY minlsh_range_ops USING minlsh DROP FUNCTION 7 (anyrange, anyrange);
DELETE FROM ranges WHERE ctid > '(0,5)';
-- gives: 3
SELECT count(*) FROM ranges WHERE v && '[4,5]' AND body ~= 'some text';
-- A family of documents that gets what makes it one of scopes. A session that knows the index goes on with what it has.
CREATE TABLE texts (body text);
CREATE INDEX ON texts USING minlsh (body);
INSERT INTO texts VALUES ('some text');
ALTER OPERATOR FAMILY minlsh_text_ops USING minlsh ADD FUNCTION 7 (text, text) hashtextextended(text, int8);
-- tried
INSERT INTO texts VALUES ('some text');
-- tried
SELECT count(*) FROM texts WHERE body ~= 'some text';
ALTER OPERATOR FAMILY minlsh_text_ops USING minlsh DROP FUNCTION 7 (text, text);
DELETE FROM texts WHERE ctid <> '(0,1)';
-- gives: 1
SELECT count(*) FROM texts WHERE body ~= 'some text';
