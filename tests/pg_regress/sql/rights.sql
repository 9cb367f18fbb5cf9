-- Who may ask, and what they see: whoever may SELECT key and body of a table may ask its index or side table, and sees
-- no row that the table hides. No code runs with rights other than the caller's.

SET client_min_messages = warning;
CREATE ROLE regress_minlsh_reader;
CREATE ROLE regress_minlsh_columns;
CREATE ROLE regress_minlsh_stranger;
CREATE SCHEMA shop;
CREATE TABLE shop.docs (id integer PRIMARY KEY, body text, owner name);
INSERT INTO shop.docs SELECT i, 'one text for everybody',
	CASE WHEN i % 2 = 0 THEN 'regress_minlsh_reader' ELSE 'nobody' END
FROM generate_series(1, 10) AS i;
CREATE INDEX ON shop.docs USING minlsh (body);
SELECT minlsh_create_side_table('shop.docs', 'body');
GRANT USAGE ON SCHEMA shop TO regress_minlsh_reader, regress_minlsh_columns;
GRANT SELECT ON shop.docs TO regress_minlsh_reader;
GRANT SELECT (id, body) ON shop.docs TO regress_minlsh_columns;
-- What an index and a side table say, or why not.
CREATE FUNCTION ask(question text) RETURNS TABLE (index text, answer text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH index IN ARRAY ARRAY['shop.docs_body_idx', 'shop.docs_minlsh'] LOOP
		BEGIN
			EXECUTE format('SELECT string_agg(n::text, '' '' ORDER BY n::text) FROM ' || question || ' AS n',
			index) INTO answer;
		EXCEPTION WHEN OTHERS THEN answer := sqlstate || ': ' || sqlerrm;
		END;
		RETURN NEXT;
	END LOOP;
END $$;

-- A reader asks; so does one who may read key and text alone.
SET ROLE regress_minlsh_reader;
SELECT * FROM ask('(SELECT count(*) FROM near_duplicates(2, index => %L))');
SET ROLE regress_minlsh_columns;
SELECT * FROM ask('(SELECT count(*) FROM near_duplicates(2, index => %L))');
SELECT * FROM ask('(SELECT count(*) FROM near_duplicates_of(''one text for everybody'', index => %L))');
SELECT * FROM ask('(SELECT shared FROM minlsh_explain(%L, 2, 4))');
SELECT * FROM ask('(SELECT sampled, copies FROM minlsh_recall(%L) LIMIT 1)');
RESET ROLE;

-- Neither does without the text, the key, the schema.
REVOKE SELECT (body) ON shop.docs FROM regress_minlsh_columns;
SET ROLE regress_minlsh_columns;
SELECT * FROM ask('(SELECT count(*) FROM near_duplicates(2, index => %L))');
SELECT * FROM ask('(SELECT count(*) FROM near_duplicates(NULL::integer, index => %L))');
RESET ROLE;
REVOKE SELECT (id) ON shop.docs FROM regress_minlsh_columns;
GRANT SELECT (body, owner) ON shop.docs TO regress_minlsh_columns;
SET ROLE regress_minlsh_columns;
SELECT * FROM ask('(SELECT count(*) FROM near_duplicates_of(''one text for everybody'', index => %L))');
SELECT * FROM ask('(SELECT count(*) FROM minlsh_explain(%L, 2, 4))');
RESET ROLE;
GRANT SELECT ON shop.docs TO regress_minlsh_stranger;
SET ROLE regress_minlsh_stranger;
SELECT near_duplicates(2, index => 'shop.docs_minlsh');
SELECT near_duplicates(2);
-- The view tells of an index what pg_indexes does, and options to those who may read its table.
SELECT index, relation, kind, threshold, options FROM minlsh_indexes ORDER BY index::text;
RESET ROLE;
SELECT index, relation, kind, threshold, options ->> 'unit' AS unit FROM minlsh_indexes ORDER BY index::text;

-- Which index a call asks that names none: of a table on the search path, or else of one's own.
SELECT near_duplicates(2);
SET ROLE regress_minlsh_reader;
SELECT near_duplicates(2);
RESET ROLE;
CREATE TABLE mine (id integer PRIMARY KEY, body text);
CREATE INDEX ON mine USING minlsh (body);
INSERT INTO mine VALUES (1, 'one text'), (2, 'one text');
SELECT * FROM near_duplicates(2);
SET search_path = shop, public;
SELECT near_duplicates(2);
RESET search_path;
-- Nobody stands in the way of others.
GRANT CREATE ON SCHEMA shop TO regress_minlsh_stranger;
GRANT USAGE ON SCHEMA shop TO regress_minlsh_stranger;
SET ROLE regress_minlsh_stranger;
CREATE TABLE shop.theirs (id integer PRIMARY KEY, body text);
CREATE INDEX ON shop.theirs USING minlsh (body);
GRANT SELECT ON shop.theirs TO PUBLIC;
SELECT count(*) FROM near_duplicates(1);
RESET ROLE;
SELECT * FROM near_duplicates(2);
DROP TABLE mine;
SELECT near_duplicates(2);
DROP TABLE shop.theirs;

-- Row-level security holds: what a reader cannot see is neither found nor asked about.
ALTER TABLE shop.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON shop.docs USING (owner = current_user);
SET ROLE regress_minlsh_reader;
SELECT * FROM ask('(SELECT doc_id FROM near_duplicates(2, index => %L))');
SELECT * FROM ask('(SELECT doc_id FROM near_duplicates(5, index => %L))');
SELECT * FROM ask('(SELECT doc_id FROM near_duplicates_of(''one text for everybody'', index => %L))');
SELECT * FROM ask('(SELECT doc_id FROM nearest_documents(2, 2, index => %L))');
SELECT * FROM ask('(SELECT count(*) FROM minlsh_explain(%L, 2, 5))');
SELECT * FROM ask('(SELECT sampled, documents, copies, copies_found FROM minlsh_recall(%L) LIMIT 1)');
SELECT doc_id FROM near_duplicates(2, index => 'shop.docs_minlsh', verify => 'signature') ORDER BY doc_id;
SET row_security = off;
SELECT * FROM ask('(SELECT doc_id FROM near_duplicates(2, index => %L))');
RESET row_security;

-- Also in prepared statements and kept plans, whoever runs them.
PREPARE ask AS SELECT i.name, count(*)
FROM (VALUES ('shop.docs_body_idx'), ('shop.docs_minlsh')) AS i(name), near_duplicates(2,
	index => i.name::regclass) GROUP BY 1 ORDER BY 1;
EXECUTE ask;
RESET ROLE;
EXECUTE ask;
SET ROLE regress_minlsh_reader;
EXECUTE ask;
RESET ROLE;
DEALLOCATE ask;

-- A policy that ends the session's portals, or swaps a table for a view amid a lookup, harms nobody but its author.
CREATE FUNCTION shop.close_all() RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN EXECUTE 'CLOSE ALL'; RETURN true; END $$;
CREATE POLICY closing ON shop.docs USING (shop.close_all());
SET ROLE regress_minlsh_reader;
SELECT index, left(answer, 6) AS sqlstate FROM ask('(SELECT sampled FROM minlsh_recall(%L) LIMIT 1)');
RESET ROLE;
DROP POLICY closing ON shop.docs;
ALTER TABLE shop.docs DISABLE ROW LEVEL SECURITY;

-- An index that would run somebody else's function with the caller's rights is refused.
CREATE FUNCTION shop.folded(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT lower($1) $$;
CREATE INDEX docs_folded ON shop.docs USING minlsh (shop.folded(body)) WHERE shop.folded(body) <> '';
SELECT count(*) FROM near_duplicates(2, index => 'shop.docs_folded');
ALTER FUNCTION shop.folded OWNER TO regress_minlsh_stranger;
SELECT count(*) FROM near_duplicates(2, index => 'shop.docs_folded');
SELECT count(*) FROM near_duplicate_pairs('shop.docs_folded');
-- Not so for a role whose rights the owner of the function has, once it has them.
SET ROLE regress_minlsh_reader;
SELECT count(*) FROM near_duplicate_pairs('shop.docs_folded');
RESET ROLE;
GRANT regress_minlsh_reader TO regress_minlsh_stranger;
SET ROLE regress_minlsh_reader;
SELECT count(*) FROM near_duplicates(2, index => 'shop.docs_folded');
SELECT count(*) FROM near_duplicate_pairs('shop.docs_folded');
RESET ROLE;
REVOKE regress_minlsh_reader FROM regress_minlsh_stranger;
-- A query that names the function itself runs it.
SELECT count(*) FROM near_duplicate_pairs($$SELECT id, shop.folded(body) FROM shop.docs$$, 0.9);
DROP INDEX shop.docs_folded;
DROP FUNCTION shop.folded;

-- An owner may let others ask through a function of theirs; a view does not: its functions run as the caller.
REVOKE ALL ON shop.docs FROM regress_minlsh_stranger;
CREATE FUNCTION shop.copies(key integer) RETURNS SETOF bigint LANGUAGE SQL STABLE SECURITY DEFINER
	SET search_path = shop, public, pg_temp
	AS $$ SELECT doc_id FROM near_duplicates(key, 0.9, 'shop.docs_body_idx') $$;
CREATE VIEW shop.copies AS SELECT d.id, n.doc_id
FROM shop.docs AS d, near_duplicates(d.id, 0.9, 'shop.docs_body_idx') AS n;
GRANT SELECT ON shop.copies TO regress_minlsh_stranger;
SET ROLE regress_minlsh_stranger;
SELECT count(*) FROM shop.copies(2);
SELECT count(*) FROM shop.copies;
RESET ROLE;
DROP VIEW shop.copies;
DROP FUNCTION shop.copies;

-- Nothing on a search path takes part: not what looks like an operator or a function of ours, or of PostgreSQL's.
CREATE SCHEMA trap;
CREATE FUNCTION trap.spring(integer, integer) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
CREATE FUNCTION trap.spring(varchar, minlsh_document) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
CREATE FUNCTION public.jaccard(varchar, minlsh_document) RETURNS double precision LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
CREATE OPERATOR trap.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = trap.spring);
CREATE OPERATOR public.~= (LEFTARG = varchar, RIGHTARG = minlsh_document, FUNCTION = trap.spring);
CREATE FUNCTION trap.lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
CREATE TABLE bait (id integer PRIMARY KEY, body varchar);
CREATE INDEX bait_body_idx ON bait USING minlsh (body);
CREATE INDEX bait_lower_idx ON bait USING minlsh (lower(body)) WHERE id = id;
INSERT INTO bait VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('bait', 'body');
SET search_path = trap, pg_catalog, public;
SELECT doc_id FROM near_duplicates(1, index => 'bait_body_idx');
SELECT doc_id FROM near_duplicates(1, index => 'bait_lower_idx');
SELECT doc_id FROM near_duplicates(1, index => 'bait_minlsh');
SELECT copies FROM minlsh_recall('bait_lower_idx') WHERE copies IS NOT NULL;
RESET search_path;
DROP TABLE bait;
DROP OPERATOR public.~= (varchar, minlsh_document);
DROP FUNCTION public.jaccard(varchar, minlsh_document);

-- A view put in the place of a table is not asked.
CREATE TABLE victim (id integer PRIMARY KEY, body text);
CREATE INDEX victim_body_idx ON victim USING minlsh (body);
INSERT INTO victim VALUES (1, 'one text'), (2, 'one text');
SELECT doc_id FROM near_duplicates(1, index => 'victim_body_idx');
ALTER TABLE victim RENAME TO hidden;
CREATE VIEW victim AS SELECT id, body FROM hidden WHERE trap.spring(1, 1);
SELECT doc_id FROM near_duplicates(1, index => 'victim_body_idx');
DROP VIEW victim;
DROP TABLE hidden;

-- Whoever looks at the view of all indexes holds no lock on their tables afterwards.
BEGIN;
SET LOCAL ROLE regress_minlsh_stranger;
SELECT count(*) > 0 AS listed FROM minlsh_indexes;
RESET ROLE;
SELECT relation::regclass, mode FROM pg_locks
WHERE pid = pg_backend_pid() AND relation IN ('shop.docs'::regclass, 'shop.docs_minlsh'::regclass);
ROLLBACK;

DROP FUNCTION ask;
DROP SCHEMA shop, trap CASCADE;
DROP ROLE regress_minlsh_reader, regress_minlsh_columns, regress_minlsh_stranger;
