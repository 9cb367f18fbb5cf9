-- Labels: pairs with their texts for a person to decide about, and decisions that are read from a table.
-- Attacker: a reader under a policy; who plants a table of decisions. Must not: a hidden text be shown or compared, or
-- planted code run with the rights of another caller.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text, who name);
INSERT INTO app.docs SELECT i, 'SECRET words of somebody else ' || i / 2, 'owner' FROM generate_series(1, 50) i;
INSERT INTO app.docs SELECT i, 'public words of everybody ' || i / 2, 'attacker' FROM generate_series(51, 70) i;
GRANT SELECT ON app.docs TO attacker;
ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.docs USING (who = current_user);
CREATE TABLE app.closed (id int PRIMARY KEY, body text, open int);
INSERT INTO app.closed SELECT id, body, id FROM app.docs;
CREATE TABLE app.decisions (doc_a int, doc_b int, same boolean);
INSERT INTO app.decisions SELECT i, i + 1, true FROM generate_series(1, 40) i;
GRANT SELECT (id, open) ON app.closed TO attacker;
-- as attacker:
-- Not a text of another's rows, and some of the own.
-- gives: t
SELECT count(*) > 5 AND min(doc_a) >= 51 FROM minlsh_label_pairs('app.docs', body => 'body');
SELECT * FROM minlsh_label_pairs('app.docs', body => 'body');
-- refused: 42501
SELECT minlsh_label_pairs('app.closed', body => 'body');
-- refused: 42501
SELECT minlsh_label_pairs('app.docs', body => 'body', decided => 'app.decisions');
-- refused: 42501
SELECT minlsh_label_pairs('app.docs', body => 'body', other => 'app.closed');
-- Answers about hidden rows count as answers about rows that do not exist: too few are left.
CREATE TABLE evil.decided (doc_a int, doc_b int, same boolean);
INSERT INTO evil.decided SELECT i, i + 1, i % 2 = 0 FROM generate_series(1, 45) i;
-- refused: 22023
SELECT * FROM minlsh_suggest_from_labels('app.docs', 'evil.decided', body => 'body');
-- refused
SELECT minlsh_label_pairs('app.docs', body => 'body', decided => 'DELETE FROM evil.decided RETURNING 1, 2, true');
-- refused
SELECT minlsh_label_pairs('app.docs', body => 'body', decided => 'SELECT 1, 2, true; COMMIT');
-- A table of decisions whose columns run code.
GRANT SELECT ON evil.decided TO PUBLIC;
CREATE FUNCTION evil.plant() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM trap.spring('plant');
	RETURN true;
END $$;
CREATE TABLE evil."bait'); SELECT trap.spring('name'); --" (doc_a int, doc_b int, same boolean);
INSERT INTO evil."bait'); SELECT trap.spring('name'); --"
	SELECT 50 + i, 51 + i, i % 2 = 0 FROM generate_series(1, 19) i;
GRANT SELECT ON evil."bait'); SELECT trap.spring('name'); --" TO PUBLIC;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
-- as superuser:
-- The statements that are printed are what they say, whatever the table of decisions is called.
DO $$
DECLARE
	statement text;
BEGIN
	FOR statement IN
		SELECT s.explanation FROM minlsh_suggest_from_labels('app.docs',
			'evil."bait''); SELECT trap.spring(''name''); --"', body => 'body') s WHERE s.item IN ('pairs', 'plan')
	LOOP
		EXECUTE statement;
	END LOOP;
END $$;
