-- CLOSE ALL, in a policy that runs while minlsh reads the table by a portal.
-- Attacker: the owner of an indexed table. Must not: the server use a portal that is gone.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text of many ' || i % 50 FROM generate_series(1, 3000) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE FUNCTION evil.close() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CLOSE ALL'; RETURN true; END $$;
CREATE POLICY p ON evil.docs USING (evil.close());
ALTER TABLE evil.docs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- tried
SELECT minlsh_recall('evil.docs', sample => 100);
-- tried
SELECT minlsh_recall('evil.docs', sample => 100, verify => 'exact');
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'exact');
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9, 'exact');
-- tried
SELECT count(*) FROM near_duplicate_clusters('evil.docs', 0.9, 'exact');
-- tried
SELECT count(*) FROM near_duplicate_plan('evil.docs', 0.9, verify => 'exact');
-- tried
SELECT count(*) FROM near_duplicates_between('evil.docs', 'evil.docs', 0.9);
-- tried
SELECT minlsh_check('evil.docs');
-- tried
SELECT minlsh_explain('evil.docs', 1, 51);
