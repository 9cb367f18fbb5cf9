-- Triggers of the extension that name in their condition what is not a table of the extension: a view, a sequence, an
-- index, a partitioned table, a table of the catalog, the documents themselves.
-- Attacker: the owner of a table. Must not: it be read or written as what it is not, by anybody who looks or writes.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 5) i;
CREATE INDEX near ON evil.docs USING minlsh (body);
CREATE VIEW evil.v AS SELECT 1 AS doc_id, ''::text AS state, now() AS since;
CREATE MATERIALIZED VIEW evil.m AS SELECT * FROM evil.v;
CREATE TABLE evil.parts (doc_id int, state text, since timestamptz) PARTITION BY LIST (doc_id);
CREATE TABLE evil.rows (doc_id int, state text, since timestamptz);
CREATE TABLE evil.heir () INHERITS (evil.rows);
CREATE TABLE evil.bands (doc_id int PRIMARY KEY, signature int[], bands bigint[]);
CREATE TABLE evil.generated (doc_id int, state text, since timestamptz GENERATED ALWAYS AS ('-infinity') STORED);
CREATE TABLE evil.nothing ();
CREATE SEQUENCE evil.s;
CREATE TYPE evil.t AS (doc_id int, state text, since timestamptz);
CREATE TABLE evil.names (name text);
INSERT INTO evil.names VALUES ('evil.v'), ('evil.m'), ('evil.parts'), ('evil.rows'), ('evil.heir'), ('evil.bands'),
	('evil.generated'), ('evil.nothing'), ('evil.s'), ('evil.t'), ('evil.near'), ('evil.docs'), ('evil.docs_pkey'),
	('pg_catalog.pg_class'), ('pg_catalog.pg_index'), ('trap.springs');
-- Does it, and goes on unless the error is an internal one.
CREATE FUNCTION evil.attempt(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	IF SQLSTATE LIKE 'XX%' THEN
		RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = statement || ': ' || SQLERRM;
	END IF;
END $$;
CREATE FUNCTION evil.all_of(name text, statements text[]) RETURNS void LANGUAGE sql
	AS $$ SELECT evil.attempt(format(statement, name)) FROM unnest(statements) AS statement $$;
CREATE TABLE evil.statements (place int, statement text);
INSERT INTO evil.statements VALUES
	(1, 'INSERT INTO evil.docs VALUES (6, ''one text''), (7, ''another'')'),
	(2, 'UPDATE evil.docs SET id = id + 10'), (3, 'UPDATE evil.docs SET body = ''x'' WHERE id > 12'),
	(4, 'DELETE FROM evil.docs WHERE id > 14'), (5, 'SELECT near_duplicates(11, 0.9, ''evil.docs'')'),
	(6, 'SELECT near_duplicates(11, 0.9, ''%1$s'')'), (7, 'SELECT * FROM minlsh_indexes'),
	(8, 'SELECT minlsh_check(''evil.docs'')'), (9, 'SELECT minlsh_check(''%1$s'')'),
	(10, 'SELECT minlsh_options(''%1$s'')'), (11, 'SELECT minlsh_refresh_clusters(''%1$s'')'),
	(12, 'SELECT minlsh_refresh_clusters(''%1$s'', full => true)'), (13, 'SELECT minlsh_rebuild_side_table(''%1$s'')'),
	(14, 'SELECT minlsh_rebuild_side_table(''evil.docs'')'), (15, 'TRUNCATE evil.docs');
CREATE FUNCTION evil.with_trigger(function text, columns text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT n.name FROM evil.names n LOOP
		BEGIN
			EXECUTE format('CREATE TRIGGER t AFTER INSERT OR UPDATE OF %s OR DELETE ON evil.docs
				FOR EACH ROW WHEN (%L::regclass IS NOT NULL) EXECUTE FUNCTION public.%I()', columns, name, function);
			PERFORM evil.all_of(name, array_agg(s.statement ORDER BY s.place)) FROM evil.statements s;
			RAISE EXCEPTION 'undone';
		EXCEPTION WHEN OTHERS THEN
			IF SQLSTATE LIKE 'XX%' THEN
				RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = name || ': ' || SQLERRM;
			END IF;
		END;
	END LOOP;
END $$;
SELECT evil.with_trigger('minlsh_sync', 'id, body');
SELECT evil.with_trigger('minlsh_sync', 'body');
SELECT evil.with_trigger('minlsh_capture', 'id, body');
SELECT evil.with_trigger('minlsh_capture', 'body, id');
-- Rows are as they were, and nothing was written beside them.
-- gives: 5
SELECT count(*) FROM evil.docs;
-- gives: 0
SELECT count(*) FROM evil.rows;
-- What drops, for what is named.
SELECT evil.attempt(format('SELECT minlsh_drop_side_table(%L)', name)) FROM evil.names;
SELECT evil.attempt(format('SELECT minlsh_untrack_clusters(%L)', name)) FROM evil.names;
-- gives: 5
SELECT count(*) FROM evil.docs;
CREATE TRIGGER t AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.docs
	FOR EACH ROW WHEN ('evil.rows'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_capture();
CREATE TRIGGER u AFTER INSERT OR UPDATE OF id, body OR DELETE ON evil.docs
	FOR EACH ROW WHEN ('evil.v'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
-- as superuser:
-- tried
SELECT * FROM minlsh_indexes;
-- tried
SELECT minlsh_check('evil.docs');
-- tried
INSERT INTO evil.docs VALUES (20, 'one text');
-- tried
SELECT minlsh_drop_side_table('evil.v');
-- tried
SELECT minlsh_untrack_clusters('evil.rows');
