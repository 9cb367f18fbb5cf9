-- Temporary tables of another session and their indexes; and a table that is dropped meanwhile.
-- Attacker: whoever may name them. Must not: pages be read that live in another process' memory; an internal error.

-- as owner:
CREATE TEMP TABLE mine (id int PRIMARY KEY, body text);
INSERT INTO mine SELECT i, 'one text' FROM generate_series(1, 20) i;
-- refused: 0A000
SELECT minlsh_create_side_table('mine', 'body');
CREATE INDEX native ON mine USING minlsh (body);
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
-- as superuser:
DO $$
DECLARE
	relation regclass;
	call text;
BEGIN
	FOR relation IN SELECT oid FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'pg_temp_%' LOOP
		FOREACH call IN ARRAY ARRAY['near_duplicates(1, 0.9, %L)', 'near_duplicate_pairs(%L, 0.9)',
			'minlsh_check(%L)', 'minlsh_rebuild_side_table(%L)',
				'minlsh_recall(%L)', 'minlsh_drop_side_table(%L)', 'minlsh_create_side_table(%L, ''body'')'] LOOP
			BEGIN
				EXECUTE format('SELECT ' || call, relation);
				RAISE EXCEPTION 'not refused: % on %', call, relation;
			EXCEPTION WHEN OTHERS THEN
				IF SQLSTATE LIKE 'XX%' OR SQLERRM LIKE 'not refused%' THEN RAISE; END IF;
			END;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM minlsh_indexes;
-- as owner:
BEGIN;
DROP TABLE app.docs CASCADE;
-- as superuser, meanwhile:
-- refused: 42P01 42704 55000
SELECT near_duplicates(1, 0.9, 'app.docs');
-- as superuser, second session, meanwhile:
-- refused: 42P01 42704 55000
SELECT near_duplicate_pairs('app.docs', 0.9);
-- as owner:
COMMIT;
-- gives: 19
SELECT count(*) FROM near_duplicates(1, 0.9, 'mine');
