-- Errors in the midst of every function that reads a source, with little memory, so that rows, fingerprints and hashes
-- are in temporary files by then: a key that repeats, a NULL key, a division by zero, a cancel, a function that fails.
-- Each twice in one session, and within blocks of PL/pgSQL that catch them.
-- Must not: a backend end, an internal error, or another answer afterwards.

-- as owner:
SET maintenance_work_mem = '1MB';
SET work_mem = '64kB';
-- refused: 22023
SELECT * FROM contained_documents($q$SELECT 'a', 'some text '||g FROM generate_series(1,2) g$q$);
-- refused: 22023
SELECT * FROM contained_documents($q$SELECT 'a', 'some text '||g FROM generate_series(1,2) g$q$);
CREATE FUNCTION app.fail(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	-- Rolled back within, as every error that is caught.
	BEGIN
		PERFORM 1 / (i % 2);
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	IF i = 900 THEN
		RAISE query_canceled;
	END IF;
	RETURN '';
END $$;
CREATE TABLE app.calls (call text, sources text);
INSERT INTO app.calls VALUES
	('near_duplicate_pairs(%1$L, 0.9)'),
	('near_duplicate_pairs(%1$L, 0.9, ''signature'')'),
	('near_duplicate_pairs(%1$L, 0.9, scope => ''scope'')'),
	('near_duplicate_clusters(%1$L, 0.9)'),
	('near_duplicate_clusters(%1$L, 0.9, linkage => ''complete'')'),
	('near_duplicate_bridges(%1$L, 0.9)'),
	('near_duplicate_plan(%1$L, 0.9)'),
	('near_duplicate_plan(%1$L, 0.9, keep => ''body'')'),
	('near_duplicates_between(%2$L, %1$L, 0.9)'),
	('near_duplicates_between(%1$L, %2$L, 0.9)'),
	('minlsh_suggest(%1$L, sample => 1200)'),
	('minlsh_recall(%1$L, 0.9, 1200)'),
	('common_passages(%1$L, 2)'),
	('strip_passages(%1$L, 2)'),
	('repeated_passages(%1$L)'),
	('contained_documents(%1$L)'),
	('passages_between(%2$L, %1$L)'),
	('passages_between(%1$L, %2$L)');
CREATE FUNCTION app.sound(scoped boolean) RETURNS text LANGUAGE sql
	RETURN 'SELECT i AS id, repeat(md5((i / 2)::text), 8) AS body' || CASE WHEN scoped THEN ', i % 3 AS scope' ELSE '' END
	|| ' FROM generate_series(1, 1200) i';
-- What a call gives, or the SQLSTATE of its error; an internal one is raised.
CREATE FUNCTION app.outcome(call text, source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE 'SELECT count(*) FROM ' || format(call, source, app.sound(false)) INTO found;
	RETURN found;
EXCEPTION WHEN OTHERS OR query_canceled THEN
	IF SQLSTATE LIKE 'XX%' THEN
		RAISE;
	END IF;
	RETURN SQLSTATE;
END $$;
CREATE TABLE app.before AS SELECT call, app.outcome(call, app.sound(call LIKE '%scope%')) FROM app.calls;
CREATE FUNCTION app.broken(scoped boolean, OUT source text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT replace(app.sound(scoped), parts[1], parts[2])
	FROM (VALUES (ARRAY['SELECT i AS id', 'SELECT i % 900 AS id']),
		(ARRAY['SELECT i AS id', 'SELECT i % 900 || '''' AS id']),
		(ARRAY['SELECT i AS id', 'SELECT nullif(i, 900) AS id']),
		(ARRAY['(i / 2)::text', '(i / (900 - i))::text']),
		(ARRAY['(i / 2)::text', '(i / 2) || app.fail(i)']),
		(ARRAY['(i / 2)::text', 'CASE i WHEN 900 THEN ''x''::int END || ''''']),
		(ARRAY['generate_series(1, 1200) i', '(SELECT 1 FROM pg_sleep(0)) s'])) broken (parts)
$$;
-- gives: 22004 22012 22023 22P02 42703 57014
SELECT DISTINCT app.outcome(call, source) AS code FROM app.calls, app.broken(call LIKE '%scope%') source
	WHERE call !~ 'suggest|recall' ORDER BY code;
-- gives: t
SELECT bool_and(app.outcome(call, app.sound(call LIKE '%scope%')) = outcome) FROM app.before;
-- gives: t
SELECT bool_and(app.outcome(call, source) IS NOT NULL)
	FROM generate_series(0, current_setting('attack.thorough')::boolean::int), app.calls,
	app.broken(call LIKE '%scope%') source;
-- gives: t
SELECT bool_and(app.outcome(call, app.sound(call LIKE '%scope%')) = outcome) FROM app.before;
-- Without a block, by an error of the source and by a timeout.
-- refused: 22012
SELECT * FROM repeated_passages('SELECT i, repeat(md5((i / (900 - i))::text), 8) FROM generate_series(1, 1200) i');
-- refused: 22012
SELECT * FROM near_duplicate_pairs('SELECT i, repeat(md5((i / (900 - i))::text), 8) FROM generate_series(1, 1200) i');
SET statement_timeout = '300ms';
-- refused within 3 s: 57014
SELECT * FROM repeated_passages(
	'SELECT i, repeat(md5(i::text), 8) FROM generate_series(1, 1200) i, pg_sleep(CASE WHEN i > 600 THEN 1 ELSE 0 END)');
-- refused within 3 s: 57014
SELECT * FROM near_duplicate_pairs(
	'SELECT i, repeat(md5(i::text), 8) FROM generate_series(1, 1200) i, pg_sleep(CASE WHEN i > 600 THEN 1 ELSE 0 END)');
RESET statement_timeout;
-- A cursor that is open across a subtransaction that is rolled back.
BEGIN;
DECLARE found CURSOR FOR SELECT doc_id FROM contained_documents('SELECT 1, repeat(md5(''x''), 8)');
SAVEPOINT one;
-- gives:
FETCH ALL FROM found;
-- refused: 22023
SELECT * FROM contained_documents($q$SELECT 'a', 'some text '||g FROM generate_series(1,2) g$q$);
ROLLBACK TO one;
-- gives:
FETCH ALL FROM found;
COMMIT;
-- The window function, and a partition whose options differ.
-- refused: 22012
SELECT near_duplicate_cluster(repeat(md5((i / (900 - i))::text), 8), 0.9) OVER () FROM generate_series(1, 1200) i;
-- refused: 22023
SELECT near_duplicate_cluster(repeat(md5(i::text), 8), 0.9,
	normalization => CASE WHEN i < 900 THEN 'plain' ELSE 'raw' END) OVER () FROM generate_series(1, 1200) i;
-- gives: 1200
SELECT count(near_duplicate_cluster) FROM (SELECT near_duplicate_cluster(repeat(md5(i::text), 8), 0.9,
	normalization => CASE WHEN i > 0 THEN 'pla' || 'in' END) OVER () FROM generate_series(1, 1200) i) AS clusters;
-- refused: 22023
SELECT near_duplicate_cluster(repeat(md5(i::text), 8), 0.9, verify) OVER ()
	FROM (SELECT i, CASE WHEN i < 900 THEN 'exact    ' ELSE 'signature' END AS verify FROM generate_series(1, 1200) i
	OFFSET 0) AS rows;
-- An audit whose sample takes all memory several times, and that fails while it reads the documents again.
CREATE TABLE app.audited (id int PRIMARY KEY, body text);
INSERT INTO app.audited SELECT i, string_agg(md5((i / 2 * 30 + j)::text), ' ')
	FROM generate_series(1, 600) i, generate_series(1, 30) j GROUP BY i;
CREATE INDEX ON app.audited USING minlsh (body);
CREATE FUNCTION app.may() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	-- A setting, as the documents are read in read-only mode.
	IF set_config('app.looks', (current_setting('app.looks')::int + 1)::text, false) = current_setting('app.last') THEN
		RAISE division_by_zero;
	END IF;
	RETURN true;
END $$;
ALTER TABLE app.audited ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.audited FORCE ROW LEVEL SECURITY;
CREATE POLICY may ON app.audited USING (app.may());
-- What an audit gives if a policy fails at the look of that number.
CREATE FUNCTION app.audit(last int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	PERFORM set_config('app.last', last::text, false), set_config('app.looks', '1', false);
	SELECT sampled INTO found FROM minlsh_recall('app.audited', sample => 600) LIMIT 1;
	RETURN found;
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLSTATE;
END $$;
-- gives: 600
SELECT app.audit(0);
-- gives: 22012
SELECT DISTINCT app.audit(last) FROM generate_series(300, 2400, 300) last;
-- gives: 600
SELECT app.audit(0);
