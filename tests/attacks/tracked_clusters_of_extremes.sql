-- What is stored of tracked clusters, changed by their owner into numbers that nobody counts to, and into rows that
-- contradict each other.
-- Attacker: the owner of the tables. Must not: a number overflow, a loop not end, or a backend die, whoever refreshes.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, repeat(md5((i / 4)::text), 3) FROM generate_series(1, 40) i;
CREATE INDEX near ON evil.docs USING minlsh (body);
SELECT minlsh_track_clusters('evil.near', name => 'c');
SELECT clusters FROM minlsh_refresh_clusters('evil.c');
-- Does the change, looks at what comes of it, and takes it back.
CREATE FUNCTION evil.attempt(change text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE change;
	INSERT INTO evil.docs VALUES (100, repeat(md5('1'), 3)), (101, repeat(md5('100'), 3)), (102, repeat(md5('100'), 3));
	DELETE FROM evil.docs WHERE id IN (1, 9, 10);
	UPDATE evil.docs SET body = repeat(md5('3'), 3) WHERE id = 20;
	PERFORM queued FROM public.minlsh_indexes WHERE relation = 'evil.docs'::regclass;
	PERFORM public.minlsh_check('evil.c');
	PERFORM public.minlsh_refresh_clusters('evil.c');
	PERFORM public.minlsh_check('evil.c');
	PERFORM public.minlsh_refresh_clusters('evil.c', full => true);
	RAISE EXCEPTION 'undone';
EXCEPTION WHEN OTHERS THEN
	IF SQLSTATE LIKE 'XX%' THEN
		RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = change || ': ' || SQLERRM;
	END IF;
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- It does work if nothing is changed.
-- gives: P0001 undone
SELECT evil.attempt('SELECT 1');
SELECT evil.attempt(format('UPDATE evil.c_queue SET state = jsonb_set(state::jsonb, ''{%s}'', %L)::text
		WHERE state IS NOT NULL', field, number))
	FROM unnest(ARRAY['version', 'threshold', 'next_id', 'last_seq', 'refreshes', 'clusters', 'whole', 'stamp', 'index'])
		AS field,
		unnest(ARRAY['-9223372036854775808', '9223372036854775807', '4611686018427387902', '-1', '0', '1e308', '-1e308',
			'5e-324', 'null', '"x"', '[]', '99999999999999999999']) AS number;
SELECT evil.attempt(change) FROM unnest(ARRAY[
	'UPDATE evil.c_queue SET state = NULL', 'UPDATE evil.c_queue SET state = ''''',
	'UPDATE evil.c_queue SET state = repeat(''['', 100000)', 'DELETE FROM evil.c_queue',
	'INSERT INTO evil.c_queue SELECT NULL, state FROM evil.c_queue WHERE state IS NOT NULL',
	'INSERT INTO evil.c_queue (doc_id) SELECT g % 50 FROM generate_series(1, 5000) g',
	'INSERT INTO evil.c_apart SELECT g, g % 7 FROM generate_series(1, 3000) g',
	'UPDATE evil.c_list SET least_similar = ''NaN''', 'DROP TABLE evil.c_apart',
	'UPDATE evil.c SET cluster_id = 9223372036854775807', 'UPDATE evil.c SET cluster_id = -9223372036854775808',
	'UPDATE evil.c SET cluster_id = 0', 'UPDATE evil.c SET cluster_id = 1', 'UPDATE evil.c SET cluster_id = doc_id',
	'UPDATE evil.c SET fingerprint = NULL', 'UPDATE evil.c SET fingerprint = repeat(''0'', 32)::uuid',
	'UPDATE evil.c SET fingerprint = repeat(''f'', 32)::uuid', 'UPDATE evil.c SET fingerprint = gen_random_uuid()',
	'UPDATE evil.c SET fingerprint = (SELECT fingerprint FROM evil.c LIMIT 1)', 'DELETE FROM evil.c',
	'INSERT INTO evil.c SELECT g, 9223372036854775807, NULL FROM generate_series(1000, 3000) g',
	'UPDATE evil.c_list SET size = 9223372036854775807', 'UPDATE evil.c_list SET size = -9223372036854775808',
	'UPDATE evil.c_list SET size = 0', 'UPDATE evil.c_list SET size = -1', 'UPDATE evil.c_list SET size = 1',
	'UPDATE evil.c_list SET cluster_id = -cluster_id', 'DELETE FROM evil.c_list',
	'UPDATE evil.c_list SET cluster_id = 9223372036854775807 - cluster_id',
	'UPDATE evil.c_list SET changed = -9223372036854775808, since = ''-infinity''',
	'UPDATE evil.c_log SET seq = seq + 9223372036854775000', 'UPDATE evil.c_log SET seq = -seq',
	'UPDATE evil.c_log SET seq = 9223372036854775807 WHERE seq = 1', 'DELETE FROM evil.c_log',
	'UPDATE evil.c_log SET event = ''merge'', other_id = cluster_id', 'UPDATE evil.c_log SET event = ''''',
	'UPDATE evil.c_log SET event = ''merge'', other_id = cluster_id % 5 + 1',
	'UPDATE evil.c_log SET cluster_id = -9223372036854775808, doc_id = 1', 'UPDATE evil.c_log SET event = ''dissolve''',
	'ALTER TABLE evil.c ALTER COLUMN fingerprint TYPE bytea USING NULL',
	'ALTER TABLE evil.c ALTER COLUMN fingerprint TYPE bytea USING decode(repeat(''ff'', 100000), ''hex'')',
	'ALTER TABLE evil.c DROP COLUMN fingerprint', 'ALTER TABLE evil.c_list ADD COLUMN more int',
	'ALTER TABLE evil.c_log ALTER COLUMN doc_id TYPE text', 'DROP TABLE evil.c_log',
	'ALTER TABLE evil.c DROP CONSTRAINT c_pkey', 'ALTER INDEX evil.near SET (threshold = 0.5)',
	'ALTER TABLE evil.docs DROP CONSTRAINT docs_pkey', 'DROP INDEX evil.near']) AS change;
-- gives: P0001 undone
SELECT evil.attempt('SELECT 1');
