-- Suggestions for a source: what a sample of it is like, and statements that people copy.
-- Attacker: a reader under a policy; who names a table. Must not: a hidden row count, or a name be more than a name.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, 'SECRET words of somebody else ' || i / 2, 'owner' FROM generate_series(1, 50) i;
INSERT INTO app.docs SELECT i, 'public words of everybody ' || i / 2, 'attacker' FROM generate_series(51, 53) i;
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
CREATE TABLE app.closed (id int PRIMARY KEY, body text, open int);
INSERT INTO app.closed SELECT id, body, id FROM app.docs;
CREATE INDEX near ON app.closed USING minlsh (body);
GRANT SELECT (id, open) ON app.closed TO attacker;
-- as attacker:
-- gives: 3
SELECT documents FROM minlsh_suggest('app.docs', body => 'body') WHERE item = 'documents';
-- refused: 42501
SELECT minlsh_suggest('app.closed', body => 'body');
-- refused: 42501
SELECT minlsh_suggest('app.near');
-- refused
SELECT minlsh_suggest('DELETE FROM app.docs RETURNING id, body');
-- refused
SELECT minlsh_suggest('SELECT id, body FROM app.docs; COMMIT');
-- refused
SELECT minlsh_suggest('app.docs', body => 'body) FROM app.closed; --');
CREATE TABLE evil."docs""; SELECT trap.spring('name'); --" (id int PRIMARY KEY, "body""); SELECT 1" text,
	"a' || trap.spring('x') || '" text);
INSERT INTO evil."docs""; SELECT trap.spring('name'); --"
	SELECT i, 'some words in a row, number ' || i / 2, 'x' FROM generate_series(1, 30) i;
-- as superuser:
SET search_path = evil, public;
DO $$
DECLARE
	statement text;
BEGIN
	FOR statement IN
		SELECT s.explanation FROM minlsh_suggest('evil."docs""; SELECT trap.spring(''name''); --"',
			body => '"body""); SELECT 1"', scope => '"a'' || trap.spring(''x'') || ''"') s
			WHERE s.item = 'pairs' OR s.item = 'index'
	LOOP
		EXECUTE statement;
	END LOOP;
END $$;
