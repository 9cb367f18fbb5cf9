-- Names that are no UTF-8, in a database of SQL_ASCII, where every byte is allowed.
-- Attacker: the owner of a view whose name looks the same after replacing what cannot be read.
-- Must not: one name address another table.
-- encoding: SQL_ASCII

-- as attacker:
-- A name that is no UTF-8 cannot be sent to our client, by anybody.
SET client_min_messages = error;
CREATE FUNCTION evil.look(int) RETURNS int LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('a view'); RETURN $1; END $$;
DO $$ BEGIN
	EXECUTE E'CREATE TABLE evil."v\xff\xfe" (id int PRIMARY KEY, "b\xfd" text)';
	EXECUTE E'INSERT INTO evil."v\xff\xfe" VALUES (1, \'one text\'), (2, \'one text\')';
	EXECUTE E'CREATE VIEW evil."v\xef\xbf\xbd\xef\xbf\xbd" AS
		SELECT evil.look(id) AS id, "b\xfd" AS "b\xef\xbf\xbd", "b\xfd" FROM evil."v\xff\xfe"';
END $$;
DO $$ BEGIN EXECUTE E'SELECT minlsh_create_side_table(\'evil."v\xff\xfe"\', E\'b\xfd\')'; END $$;
-- as superuser:
SET client_min_messages = error;
DO $$ BEGIN EXECUTE E'INSERT INTO evil."v\xff\xfe" VALUES (3, \'one text\')'; END $$;
DO $$ BEGIN
	EXECUTE E'SELECT near_duplicates(1, 0.9, \'evil."v\xff\xfe"\')';
	EXECUTE E'SELECT near_duplicates(1, 0.9, \'evil."v\xff\xfe"\', \'exact\')';
	EXECUTE E'SELECT near_duplicate_pairs(\'evil."v\xff\xfe"\', 0.9)';
	EXECUTE E'SELECT near_duplicate_clusters(\'evil."v\xff\xfe"\', 0.9, \'exact\')';
	EXECUTE E'SELECT minlsh_check(\'evil."v\xff\xfe"\')';
	EXECUTE E'SELECT minlsh_recall(\'evil."v\xff\xfe"\')';
	EXECUTE E'SELECT minlsh_rebuild_side_table(\'evil."v\xff\xfe"\')';
	EXECUTE E'SELECT minlsh_drop_side_table(\'evil."v\xff\xfe"\')';
END $$;
