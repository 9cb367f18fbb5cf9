-- Each object of the extension, renamed or moved to another schema, amid calls of all kinds.
-- Attacker: a superuser by mistake, since the objects belong to one. Must not: the backend end, or an error be
-- internal: what calls an object by its name may fail, with the error of a missing object.

-- as superuser:
CREATE SCHEMA moved;
CREATE TABLE docs (id int PRIMARY KEY, lang text, body text, doc minlsh_document);
INSERT INTO docs SELECT i, 'en', 'some text ' || i / 2, minlsh_document('some text ' || i / 2)
	FROM generate_series(1, 10) i;
CREATE INDEX near ON docs USING minlsh (body);
CREATE INDEX of_lang ON docs USING minlsh (lang minlsh_text_scope_ops, body);
CREATE INDEX of_documents ON docs USING minlsh (doc);
CREATE INDEX of_expression ON docs USING minlsh (minlsh_document(body, 0.9));
CREATE INDEX of_passages ON docs USING minlsh (body minlsh_passage_ops);
CREATE TABLE held (id int PRIMARY KEY, body text);
INSERT INTO held SELECT id, body FROM docs;
SELECT minlsh_create_side_table('held', 'body');
SELECT minlsh_track_clusters('near');
CREATE TABLE calls (call text);
INSERT INTO calls SELECT 'SELECT * FROM ' || call FROM unnest(string_to_array($$
	near_duplicates(1, 0.9, 'near'); near_duplicates(1, 0.9, 'held'); near_duplicates(1, 0.9, 'of_documents');
	near_duplicates_of('some text 1', 0.9, 'near'); near_duplicates_of('some text 1', 0.9, 'held');
	near_duplicates_of(minlsh_document('some text 1', 0.9), index => 'of_documents');
	nearest_documents(1, 3, 'near'); nearest_documents_of('some text 1', 3, 'of_documents');
	near_duplicate_cluster_of(1, 0.9, 'near'); minlsh_explain('near', 1, 2); minlsh_recall('of_expression');
	near_duplicate_pairs('near'); near_duplicate_pairs('docs', body => 'doc'); near_duplicate_clusters('of_lang');
	near_duplicate_plan('SELECT id, body FROM docs', 0.9); near_duplicate_pairs('SELECT id, doc FROM docs');
	minlsh_check(); minlsh_indexes; minlsh_suggest('docs', body => 'body'); minlsh_recall('held');
	(SELECT near_duplicate_cluster(doc) OVER () FROM docs) AS x; common_passages('docs', 2, body => 'body');
	docs WHERE body ~= minlsh_document('some text 1', 0.9); docs WHERE body ~> minlsh_passage('some text');
	docs WHERE doc ~= 'some text 1'; minlsh_refresh_clusters('docs_clusters', true); minlsh_versions();
	minlsh_untrack_clusters('docs_clusters'); minlsh_create_side_table('docs', 'body');
	minlsh_rebuild_side_table('held_minlsh'); minlsh_drop_side_table('held_minlsh');
	minlsh_track_clusters('near', 0.9, name => 'other')$$, ';')) AS call;
INSERT INTO calls VALUES ('INSERT INTO docs VALUES (20, ''en'', ''some text 20'', NULL)'),
	('UPDATE held SET body = ''x'''),
	('TRUNCATE held'), ('REINDEX TABLE docs'), ('VACUUM docs'), ('CREATE INDEX ON held USING minlsh (body)'),
	('SELECT doc::text::minlsh_document FROM docs');
CREATE FUNCTION outcome(change text, call text) RETURNS text LANGUAGE plpgsql SET client_min_messages = error AS $$
BEGIN
	EXECUTE call;
	RAISE SQLSTATE 'ZZ000';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE LIKE 'XX%' THEN change || ', ' || call || ': ' || SQLERRM END;
END $$;
-- The internal errors of all calls after a change, and an error of the change itself. All is rolled back.
CREATE FUNCTION outcomes(change text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE outcomes text[];
BEGIN
	EXECUTE change;
	outcomes := ARRAY(SELECT o FROM calls, outcome(change, call) AS o WHERE o IS NOT NULL);
	RAISE SQLSTATE 'ZZ000';
EXCEPTION
	WHEN SQLSTATE 'ZZ000' THEN RETURN outcomes;
	WHEN OTHERS THEN RETURN ARRAY[change || ': ' || SQLERRM];
END $$;
CREATE TABLE changes AS
	SELECT format('ALTER %s %s %s', o.type, o.identity, c.change) AS change
	FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minlsh'
		CROSS JOIN pg_identify_object(d.classid, d.objid, d.objsubid) AS o
		CROSS JOIN (VALUES ('RENAME TO renamed'), ('SET SCHEMA moved')) AS c(change)
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND o.type NOT IN ('cast', 'access method') AND (o.type <> 'operator' OR c.change LIKE 'SET%')
		-- From 19 on, types of arrays and of rows are members, too.
		AND NOT EXISTS (SELECT FROM pg_type t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid
			AND (t.typrelid <> 0 OR t.typelem <> 0));
-- gives: t
SELECT count(*) > 400 FROM changes;
-- gives:
SELECT o FROM changes, unnest(outcomes(change)) AS o WHERE current_setting('attack.thorough')::boolean
	OR hashtext(change) & 31 = 0 OR change LIKE 'ALTER type%';
