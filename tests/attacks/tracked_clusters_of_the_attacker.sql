-- Tracked clusters of a table of the attacker's, refreshed, checked and dropped by a superuser: the index is on a
-- function of theirs, and there are triggers and policies on the tables that a refresh writes.
-- Attacker: the owner of the table. Must not: planted code run as the superuser.

-- as attacker:
CREATE FUNCTION evil.f(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('an expression'); RETURN $1; END $$;
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 5) i;
CREATE INDEX near ON evil.docs USING minlsh (evil.f(body));
SELECT minlsh_track_clusters('evil.near', name => 'c');
SELECT changed FROM minlsh_refresh_clusters('evil.c');
INSERT INTO evil.docs VALUES (6, 'one text');
CREATE FUNCTION evil.now() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN PERFORM trap.spring('a trigger on what is tracked'); RETURN COALESCE(NEW, OLD); END $$;
CREATE FUNCTION evil.policy() RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RETURN trap.spring('a policy on what is tracked'); END $$;
DO $$ DECLARE name text; BEGIN
	FOREACH name IN ARRAY '{c,c_list,c_log,c_queue,c_apart}'::text[] LOOP
		EXECUTE format('CREATE TRIGGER now BEFORE INSERT OR UPDATE OR DELETE ON evil.%I FOR EACH ROW
			EXECUTE FUNCTION evil.now()', name);
		EXECUTE format('ALTER TABLE evil.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY p ON evil.%I USING (evil.policy()) WITH CHECK (evil.policy())', name);
	END LOOP;
END $$;
-- as superuser:
-- tried
SELECT changed FROM minlsh_refresh_clusters('evil.c');
-- tried
SELECT changed FROM minlsh_refresh_clusters('evil.c', full => true);
-- tried
SELECT * FROM minlsh_check('evil.c');
-- tried
SELECT minlsh_untrack_clusters('evil.c');
