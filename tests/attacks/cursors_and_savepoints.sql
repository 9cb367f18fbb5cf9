-- Cursors that are read in a savepoint and go on after its end, that outlive their transaction or the extension, and
-- prepared statements of an extension that is dropped and created again.
-- Attacker: anybody. Must not: memory used that went with the savepoint, or a plan of what is gone.

-- as superuser:
CREATE TABLE docs (id int PRIMARY KEY, grp int, body text);
INSERT INTO docs SELECT i, i % 3, repeat(md5((i / 4)::text) || ' ', 5) || i % 4 FROM generate_series(1, 200) i;
CREATE INDEX docs_near ON docs USING minlsh (body);
ANALYZE docs;
SET enable_seqscan = off;

-- Each is read before, in and after the savepoint, which ends by ROLLBACK TO.
CREATE FUNCTION read(query text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE
	reader refcursor;
	row record;
	found text := '';
	plain text;
BEGIN
	OPEN reader FOR EXECUTE query;
	FOR i IN 1..8 LOOP
		BEGIN
			FETCH reader INTO row;
			found := found || row::text;
			FETCH reader INTO row;
			found := found || row::text;
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
		END;
		FETCH reader INTO row;
		found := found || row::text;
	END LOOP;
	EXECUTE 'SELECT string_agg(row::text, '''') FROM (' || query || ' LIMIT 24) AS row' INTO plain;
	RETURN CASE found WHEN plain THEN 'same' ELSE found END;
END $$;
-- gives: same
SELECT read('SELECT a.id, b.id FROM docs a JOIN docs b ON a.body ~= b.body ORDER BY a.id, b.id');
-- gives: same
SELECT read('SELECT a.id, b.id FROM docs a CROSS JOIN LATERAL (SELECT * FROM docs WHERE body ~= a.body ORDER BY id) b');
-- gives: same
SELECT read($$SELECT a.id, n.doc_id FROM docs a CROSS JOIN LATERAL near_duplicates(a.id, 0.9, 'docs_near') n$$);
-- gives: same
SELECT read($$SELECT id, near_duplicates(id, 0.9, 'docs_near') AS n FROM docs$$);
-- gives: same
SELECT read('SELECT id, near_duplicate_cluster(body, 0.9) OVER (PARTITION BY grp ORDER BY id) AS c FROM docs');
-- gives: same
SELECT read($$SELECT * FROM near_duplicate_pairs('docs', 0.9)$$);
-- gives: same
SELECT read('SELECT i, (SELECT minhash_agg(i + j) FROM generate_series(1, 9) j)::text AS s
             FROM generate_series(1, 99) i');

BEGIN;
DECLARE held CURSOR WITH HOLD FOR
	SELECT id, (SELECT count(*) FROM near_duplicates(id, 0.9, 'docs_near')), near_duplicate_cluster(body, 0.9) OVER ()
	FROM docs;
SAVEPOINT here;
FETCH 2 FROM held;
ROLLBACK TO here;
COMMIT;
FETCH 3 FROM held;
PREPARE lookup AS SELECT count(*) FROM near_duplicates(1, 0.9, 'docs_near');
PREPARE operator AS SELECT count(*) FROM docs WHERE body ~= (SELECT body FROM docs WHERE id = 1);
EXECUTE lookup;
EXECUTE operator;
DROP EXTENSION minlsh CASCADE;
FETCH 3 FROM held;
-- refused: 42883
EXECUTE lookup;
-- refused: 42883
EXECUTE operator;
CREATE EXTENSION minlsh;
-- refused: 42P01
EXECUTE lookup;
CREATE INDEX docs_near ON docs USING minlsh (body);
-- gives: 2
EXECUTE lookup;
-- gives: 3
EXECUTE operator;
CLOSE held;
