-- A row that policies hide, told by a function that is not leakproof but says so.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'SECRET');
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY none ON app.docs USING (pg_catalog.length(body) = 0);
-- as attacker:
CREATE FUNCTION evil.tell(text) RETURNS boolean COST 0.0001 LANGUAGE plpgsql
	AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$;
-- as superuser:
ALTER FUNCTION evil.tell LEAKPROOF;
-- as attacker:
SELECT * FROM app.docs WHERE evil.tell(body);
