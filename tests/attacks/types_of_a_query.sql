-- Queries whose columns are of types that no column of a table has, or of another type each time they are read.
-- Attacker: an ordinary user. Must not: the server end, or memory be read as a value that it is not.

-- as attacker:
-- refused
SELECT near_duplicate_pairs($$SELECT textout('xabcdefgh'), 'some text ' || g FROM generate_series(1, 3) g$$, 0.9);
-- refused
SELECT near_duplicate_clusters($$SELECT boolout(true), 'some text ' || g FROM generate_series(1, 3) g$$, 0.9);
-- refused
SELECT near_duplicate_plan($$SELECT int4out(g), 'some text ' || g FROM generate_series(1, 3) g$$, 0.9);
-- refused
SELECT near_duplicates_between($$SELECT record_out(ROW(g)), 'some text' FROM generate_series(1, 3) g$$,
	$$SELECT record_out(ROW(g)), 'some text' FROM generate_series(1, 3) g$$, 0.9);
-- refused
SELECT near_duplicate_bridges($$SELECT byteaout('abc'), 'some text ' || g FROM generate_series(1, 3) g$$, 0.9);
-- refused
SELECT near_duplicate_pairs($$SELECT g, 'some text', textout('xabcdefgh') FROM generate_series(1, 3) g$$, 0.9,
	scope => 'textout');
-- refused
SELECT near_duplicate_pairs($$SELECT g, textout('xabcdefgh') FROM generate_series(1, 3) g$$, 0.9);
-- refused
SELECT near_duplicate_pairs($$SELECT 1, most_common_vals FROM pg_stats$$, 0.9);
-- refused
SELECT near_duplicate_pairs($$SELECT g, 'some text' FROM generate_series(1, 3) g$$, 0.9,
	apart => $$SELECT textout('xabcdefgh'), 1$$);

CREATE TABLE evil.docs (id text, body minlsh_document);
INSERT INTO evil.docs SELECT i, minlsh_document('one text') FROM generate_series(1, 3) i;
CREATE TEMPORARY TABLE docs (id bigint, body bigint);
INSERT INTO docs SELECT 4702111234474983745 + i, 4702111234474983745 + i FROM generate_series(1, 3) i;
-- Behind the first row the name means another table, and PostgreSQL analyses the query again for the next reading.
CREATE FUNCTION evil.turn() RETURNS boolean LANGUAGE sql VOLATILE
	AS $$ SELECT set_config('search_path', 'pg_temp, evil, public', false) <> '' $$;
SET search_path = evil, public, pg_temp;
-- tried
SELECT near_duplicate_pairs('SELECT id, body FROM docs WHERE evil.turn()', 0.9);
SET search_path = evil, public, pg_temp;
-- tried
SELECT minlsh_suggest('SELECT id, ''one text'' AS body FROM docs WHERE evil.turn()');
SET search_path = evil, public, pg_temp;
-- tried
SELECT near_duplicates_between('SELECT id, body FROM docs WHERE evil.turn()',
	'SELECT id, body FROM docs WHERE evil.turn()', 0.9);
