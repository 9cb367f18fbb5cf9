-- A key given as a domain over its type, with a CHECK function of the caller's.
-- Attacker: who may SELECT the table. Must not: the CHECK run as the table's owner.

-- as owner:
CREATE TABLE app.docs (id uuid PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (gen_random_uuid(), 'one text'), (gen_random_uuid(), 'one text');
CREATE TABLE app.days (id date PRIMARY KEY, body text);
INSERT INTO app.days VALUES ('2024-01-01', 'one text'), ('2024-01-02', 'one text');
GRANT SELECT ON app.docs, app.days TO attacker;
SELECT minlsh_create_side_table('app.docs', 'body');
SELECT minlsh_create_side_table('app.days', 'body');
-- as attacker:
CREATE FUNCTION evil.check(anyelement) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RETURN trap.spring('a domain'); END $$;
CREATE DOMAIN evil.uuid AS uuid CHECK (evil.check(VALUE));
CREATE DOMAIN evil.date AS date CHECK (evil.check(VALUE));
-- tried
SELECT near_duplicates((SELECT id FROM app.docs LIMIT 1)::evil.uuid, 0.8, 'app.docs');
-- tried
SELECT near_duplicates((SELECT id FROM app.docs LIMIT 1)::evil.uuid, 0.8, 'app.docs', 'exact');
-- tried
SELECT near_duplicates('2024-01-01'::evil.date, 0.8, 'app.days');
-- tried
SELECT nearest_documents('2024-01-01'::evil.date, 3, 'app.days');
-- tried
SELECT minlsh_explain('app.days', '2024-01-01'::evil.date, '2024-01-02'::evil.date);
