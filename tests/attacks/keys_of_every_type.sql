-- Side tables, indexes and tracked clusters of a table whose key has any of the types that a primary key can have, with
-- the most curious values of it.
-- Attacker: the owner. Must not: a crash or an internal error, nor another answer than for a key of integers.

-- as attacker:
CREATE TYPE evil.mood AS ENUM ('sad', '', 'he''s "ok"');
CREATE TYPE evil.pair AS (a int, b text);
CREATE TYPE evil.span AS RANGE (subtype = text);
CREATE DOMAIN evil.short AS varchar(40) CHECK (length(VALUE) < 40);
CREATE FUNCTION evil.text_of(n int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN (SELECT string_agg(md5((n * 100 + i)::text), ' ') FROM generate_series(1, 8) i);
-- Does a step; an error that is no error of PostgreSQL's own code is an answer too.
CREATE FUNCTION evil.answer(statement text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE found text; BEGIN
	EXECUTE statement INTO found;
	RETURN found;
EXCEPTION WHEN OTHERS THEN
	IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF;
	RETURN SQLSTATE;
END $$;
-- The numbers of rows, clusters and changes of a table whose rows 1 and 2, and 3 to 5, are equal: 0, 2 and 1 rows.
CREATE FUNCTION evil.try(key text, val text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE said text := ''; step text; way text; BEGIN
	FOREACH way IN ARRAY ARRAY['CREATE INDEX docs_minlsh ON evil.docs USING minlsh (body)',
		'SELECT minlsh_create_side_table(''evil.docs'', ''body'')'] LOOP
		DROP TABLE IF EXISTS evil.docs CASCADE;
		EXECUTE format('CREATE TABLE evil.docs (id %s PRIMARY KEY, body text)', key);
		EXECUTE way;
		FOR i IN 1 .. cardinality(val) LOOP
			EXECUTE format('INSERT INTO evil.docs VALUES (%L, evil.text_of(%s))', val[i], CASE WHEN i < 3 THEN 1 ELSE 2 END);
		END LOOP;
		FOREACH step IN ARRAY ARRAY[
			format('SELECT count(*) FROM near_duplicates(%L, 0.8, ''evil.docs'')', val[1]),
			format('SELECT count(*) FROM near_duplicates(%L::%s, 0.8, ''evil.docs'')', val[3], key),
			'SELECT count(*) FROM near_duplicate_pairs(''evil.docs'', 0.8)',
			'SELECT count(DISTINCT cluster_id) FROM near_duplicate_clusters(''evil.docs'', 0.8)',
			'SELECT count(*) FROM near_duplicate_plan(''evil.docs'', 0.8)',
			format('SELECT count(*) FROM near_duplicate_cluster_of(%L, 0.8, ''evil.docs'')', val[3]),
			format('SELECT round(jaccard::numeric, 1) FROM minlsh_explain(''evil.docs'', %L, %L)', val[1], val[2]),
			'SELECT count(*) FROM minlsh_check(''evil.docs'')',
			'SELECT minlsh_track_clusters(''evil.docs_minlsh'', name => ''c'')::text',
			'SELECT clusters FROM minlsh_refresh_clusters(''evil.c'')',
			format('UPDATE evil.docs SET body = evil.text_of(1) WHERE id::text = %L::%s::text RETURNING 1', val[4], key),
			format('DELETE FROM evil.docs WHERE id::text = %L::%s::text RETURNING 1', val[5], key),
			'SELECT clusters FROM minlsh_refresh_clusters(''evil.c'')',
			'SELECT count(*) FROM minlsh_check(''evil.c'')',
			'SELECT string_agg(size::text, '','' ORDER BY size) FROM evil.c_list',
			'SELECT minlsh_untrack_clusters(''evil.c'')'] LOOP
			said := said || ' ' || COALESCE(evil.answer(step), '-');
		END LOOP;
	END LOOP;
	RETURN said;
END $$;
CREATE TABLE evil.said AS SELECT key, evil.try(key, val) AS said FROM (VALUES
	('int', ARRAY['1', '-2147483648', '2147483647', '0', '-1']), ('smallint', ARRAY['1', '-32768', '32767', '0', '-1']),
	('bigint', ARRAY['1', '-9223372036854775808', '9223372036854775807', '0', '-1']),
	('text', ARRAY['', ' ', '''', '"a\b$', E'a\nb']), ('varchar', ARRAY['', ' ', 'NULL', '{}', '()']),
	('char(3)', ARRAY['', 'a  ', 'abc', 'é', '''']), ('name', ARRAY['', 'a', '"', '''', '\']),
	('"char"', ARRAY['a', '', '\', '''', '"']), ('evil.short', ARRAY['', 'a', '''', '"', '\']),
	('uuid', ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
		'00000000-0000-0000-0000-000000000001', '10000000-0000-0000-0000-000000000000',
		'00000000-0000-0000-0000-000000000002']),
	('numeric', ARRAY['NaN', 'Infinity', '-Infinity', '1e-900', '0.00']),
	('real', ARRAY['NaN', 'Infinity', '-0', '1e-44', '1']),
	('float8', ARRAY['NaN', '-Infinity', '-0', '5e-324', '0.1']), ('date', ARRAY['infinity', '-infinity', '4713-01-01 BC',
		'5874897-12-31', '2000-01-01']),
	('timestamp', ARRAY['infinity', '-infinity', '4713-01-01 BC', '294276-12-31', '2000-01-01']),
	('timestamptz', ARRAY['infinity', '-infinity', '4713-01-01 BC', '294276-12-30', '2000-01-01']),
	('time', ARRAY['24:00', '00:00', '12:00:00.000001', '1:00', '2:00']),
	('timetz', ARRAY['24:00-15:59', '00:00+15:59', '12:00Z', '1:00Z', '2:00Z']),
	('interval', ARRAY['1 month', '29 days', '-1 month', '178000000 years', '0']),
	('boolean', ARRAY['t', 'f']), ('bytea', ARRAY['', '\x00', '\xff', '\x5c', '\x27']),
	('evil.mood', ARRAY['sad', '', 'he''s "ok"']), ('evil.pair', ARRAY['(,)', '(1,)', '(,"")', '(1,"a""b")', '(2,")(")']),
	('evil.span', ARRAY['empty', '(,)', '[a,b)', '["",)', '("","a"]']),
	('int4range', ARRAY['empty', '(,)', '[1,2)', '(,1)', '[3,)']), ('nummultirange', ARRAY['{}', '{(,)}', '{[1,2),[3,4)}',
		'{(,0)}', '{[9,)}']),
	('inet', ARRAY['::', '0.0.0.0/0', '127.0.0.1', '::1/128', '10.0.0.0/8']),
	('cidr', ARRAY['::/0', '0.0.0.0/0', '10.0.0.0/8', '::1/128', '127.0.0.1/32']),
	('macaddr', ARRAY['00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '01:00:00:00:00:00', '00:00:00:00:00:01',
		'02:00:00:00:00:00']),
	('money', ARRAY['0', '-92233720368547758.08', '92233720368547758.07', '0.01', '-0.01']),
	('bit(3)', ARRAY['000', '001', '010', '100', '111']), ('varbit', ARRAY['', '0', '00', '1', '10']),
	('oid', ARRAY['0', '4294967295', '1', '2', '3']),
	('tid', ARRAY['(0,0)', '(4294967295,65535)', '(0,1)', '(1,0)', '(2,2)']),
	('xid8', ARRAY['0', '18446744073709551615', '1', '2', '3']),
	('pg_lsn', ARRAY['0/0', 'FFFFFFFF/FFFFFFFF', '0/1', '1/0', '2/2']),
	('jsonb', ARRAY['null', '{}', '[]', '"\", "', '{"a": ["b"]}']), ('tsvector', ARRAY['', 'a', '''a b'':1', 'c:1A', 'd']),
	('text[]', ARRAY['{}', '{NULL}', '{""}', '{{a,b}}', '[0:0]={a}']), ('evil.pair[]', ARRAY['{}', '{NULL}', '{"(,)"}',
		'{"(1,a)"}', '{"(1,\"\")"}'])) AS types (key, val);
-- Arrays and rows cannot be tracked; two types have too few values.
-- gives: boolean evil.mood evil.pair evil.pair[] text[]
SELECT key FROM evil.said WHERE said <> (SELECT said FROM evil.said WHERE key = 'int') ORDER BY key COLLATE "C";
-- gives: 1 2 4 2 3 3 1.0 0 evil.c 2 1 1 1 0 3
SELECT btrim(split_part(said, '  ', 1)) FROM evil.said WHERE key = 'int';
