-- Columns of strange types as boilerplate, as pairs that are apart, as scopes and beside passages; functions in a
-- source that drop, alter or close what is being read, or refresh clusters.
-- Attacker: an ordinary user. Must not: an internal error, the server end, or anything be written by a function of a
-- source.

-- as attacker:
CREATE TYPE evil.mood AS ENUM ('sad', 'ok');
CREATE TYPE evil.pair AS (a int, b text);
CREATE DOMAIN evil.checked AS text CHECK (VALUE <> 'bad');
CREATE FUNCTION evil.source(other text) RETURNS text LANGUAGE sql RETURN
	'SELECT i AS id, ''a menu of the site '' || i / 2 AS body, ' || other || ' AS other FROM generate_series(1, 60) i';
-- refused: 42883
SELECT near_duplicate_pairs(evil.source('ROW(i % 2)'), 0.5, boilerplate => 'other');
-- refused: 42883
SELECT near_duplicate_pairs(evil.source('''(1,2)''::point'), 0.5, boilerplate => 'other');
-- refused: 42883
SELECT near_duplicate_pairs(evil.source('''{}''::json'), 0.5, boilerplate => 'other');
-- refused: 42804
SELECT near_duplicate_pairs(evil.source('textout(''x'')'), 0.5, boilerplate => 'other');
-- gives: 29 29 29 29 29
SELECT (SELECT count(*) FROM near_duplicate_pairs(evil.source(other), 0.5, boilerplate => 'other'))
	FROM unnest(ARRAY['ARRAY[i % 2]', '''sad''::evil.mood', '''x''::evil.checked', 'ROW(1, ''x'')::evil.pair',
	'(i % 2)::text::minlsh_key']) other;
-- gives: 1770
SELECT count(*) FROM near_duplicate_pairs(evil.source('NULL'), 0.5, boilerplate => 'other');
-- refused: 42883
SELECT near_duplicate_pairs(evil.source('CASE i WHEN 1 THEN ROW(1) ELSE ROW(''x''::text, 2) END'), 0.5,
	scope => 'other');
CREATE FUNCTION evil.apart(pairs text, key text DEFAULT 'i') RETURNS bigint LANGUAGE sql AS $$ SELECT count(*)
	FROM near_duplicate_pairs('SELECT ' || key || ' AS id, ''one text'' AS body FROM generate_series(1, 6) i', 0.5,
	apart => pairs) $$;
-- gives: 14
SELECT evil.apart('SELECT 1, ''2''');
-- gives: 15
SELECT evil.apart('SELECT NULL, 1');
-- gives: 14
SELECT evil.apart('SELECT ''(1,x)'', ''(2,x)''', 'ROW(i, ''x'')::evil.pair');
-- refused: 22P02
SELECT evil.apart('SELECT ROW(1), ROW(2)');
-- refused: 0A000
SELECT evil.apart('SELECT ''(1,x)'', ''(2,x)''', 'ROW(i, ''x'')');
-- refused: 42804
SELECT evil.apart('SELECT ROW(1, 2), ROW(1, ''x''::text, 3)', 'ROW(i, ''x''::text)');
-- refused: 22023
SELECT evil.apart('SELECT 1');
-- refused: 0A000
SELECT evil.apart('WITH gone AS (DELETE FROM pg_class RETURNING 1) SELECT 1, 2');
-- refused: 42804
SELECT near_duplicate_pairs($$SELECT CASE i WHEN 1 THEN ROW(1, 'x') ELSE ROW('x'::text, i) END, 'one text'
	FROM generate_series(1, 6) i$$);
-- refused: 42804
SELECT repeated_passages($$SELECT CASE i WHEN 1 THEN ROW(1, 'x') ELSE ROW('x'::text, i) END, repeat(md5('x'), 5)
	FROM generate_series(1, 6) i$$);
CREATE FUNCTION evil.between(body text) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*)
	FROM passages_between('SELECT i, repeat(''a long passage '', 5) || i FROM generate_series(1, 5) i',
	'SELECT ''sad''::evil.mood, ' || body) $$;
-- gives: 10 10 10
SELECT evil.between('repeat(''a long passage '', 5)::' || type)
	FROM unnest(ARRAY['evil.checked', 'char(200)', 'minlsh_key']) type;
-- refused: 22023
SELECT evil.between('ARRAY[repeat(''a long passage '', 5)]');
-- refused: 42804
SELECT evil.between('to_json(repeat(''a long passage '', 5))');

CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 5) i;
CREATE INDEX docs_near ON evil.docs USING minlsh (body);
SELECT minlsh_track_clusters('evil.docs_near');
CREATE FUNCTION evil.act() RETURNS text LANGUAGE plpgsql AS $$
	BEGIN EXECUTE current_setting('evil.act'); RETURN 'x'; END $$;
CREATE FUNCTION evil.acted(act text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
	PERFORM set_config('evil.act', act, false);
	PERFORM near_duplicate_pairs('SELECT id, body || evil.act() FROM evil.docs');
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
-- gives: 25006 25006 25006 25006 25006 25001 25001
SELECT evil.acted(act) FROM unnest(ARRAY['DROP TABLE evil.docs', 'ALTER TABLE evil.docs ALTER id TYPE text',
	'CREATE TEMPORARY TABLE t (a int)', 'TRUNCATE evil.docs_clusters',
	'SELECT minlsh_refresh_clusters(''evil.docs_clusters'')', 'SET transaction_read_only = off', 'DISCARD ALL']) act;
-- gives: done done done done
SELECT evil.acted(act) FROM unnest(ARRAY['CLOSE ALL', 'DEALLOCATE ALL', 'SET maintenance_work_mem = ''1MB''',
	'SELECT near_duplicate_pairs(''evil.docs_near'')']) act;
-- gives: 5
SELECT count(*) FROM evil.docs;
