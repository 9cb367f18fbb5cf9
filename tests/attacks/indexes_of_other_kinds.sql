-- Relations that are no minlsh index, given where one is expected: by name and by number.
-- Attacker: an ordinary user. Must not: an internal error.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
CREATE INDEX hash ON evil.docs USING hash (body);
CREATE VIEW evil.v AS TABLE evil.docs;
CREATE TEMP TABLE t (id int PRIMARY KEY, body text);
CREATE SEQUENCE evil.s;
DO $$
DECLARE
	relation text;
	call text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['evil.docs', 'evil.docs_pkey', 'evil.hash', 'evil.v', 'pg_temp.t', 'evil.s',
		'pg_class', 'pg_class_oid_index',
			'pg_toast.pg_toast_1255', 'pg_toast.pg_toast_1255_index', 'information_schema.tables', '0', '4294967295',
				'1', 'pg_stat_activity'] LOOP
		FOREACH call IN ARRAY ARRAY['near_duplicates(1, 0.9, %L)', 'near_duplicates(''x''::text, 0.9, %L)',
			'near_duplicates_of(''x'', 0.9, %L)',
				'nearest_documents(1, 3, %L)', 'near_duplicate_pairs(%L, 0.9)', 'near_duplicate_clusters(%L, 0.9)',
					'near_duplicate_plan(%L, 0.9)',
				'near_duplicates_between(%1$L, %1$L, 0.9)', 'minlsh_recall(%L)', 'minlsh_explain(%L, 1, 2)',
					'minlsh_check(%L)', 'minlsh_rebuild_side_table(%L)',
				'minlsh_drop_side_table(%L)', 'minlsh_create_side_table(%L, ''body'')', 'minlsh_create_side_table(%L, ''xmin'')',
					'minlsh_create_side_table(%L, ''no column'')'] LOOP
			BEGIN
				EXECUTE format('SELECT ' || call, relation);
				EXECUTE format('SELECT minlsh_drop_side_table(%L)', relation);
			EXCEPTION WHEN OTHERS THEN
				IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF;
			END;
		END LOOP;
	END LOOP;
END $$;
