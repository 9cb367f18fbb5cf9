-- An exclusion constraint by ~= on a table with policies: whom does the error tell what?
-- Attacker: who may INSERT, but sees own rows alone. Must not: the text of a hidden row be in the error.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name DEFAULT current_user,
	EXCLUDE USING minlsh (minlsh_document(body, 0.8) WITH ~=));
INSERT INTO app.docs VALUES (1, 'the SECRET words of somebody that nobody else shall ever read');
GRANT SELECT, INSERT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
-- as attacker:
-- refused: 23P01
INSERT INTO app.docs VALUES (2, 'the secret words of somebody that nobody else shall ever reap');
INSERT INTO app.docs VALUES (3, 'the secret words of somebody that nobody else shall ever reap') ON CONFLICT DO NOTHING;
-- gives: 0
SELECT count(*) FROM app.docs;
