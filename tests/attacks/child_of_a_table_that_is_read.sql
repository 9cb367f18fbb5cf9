-- A table comes to inherit from the source while the job is under way, whose rows are put aside by their places.
-- Attacker: the owner of the table. Must not: a place in the new child be taken for one in the table, which would give
-- a row twice, or the key of another row.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'the first text of the parent, which nobody has'), (2, 'one text that both have');
CREATE TABLE evil.child (id int PRIMARY KEY, body text);
INSERT INTO evil.child VALUES (101, 'one text of the child'), (102, 'one text that both have'), (103, 'a third row');
CREATE FUNCTION evil.wait() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	PERFORM pg_advisory_xact_lock_shared(1);
	RETURN true;
END $$;
CREATE VIEW evil.slow AS SELECT 7 AS id, 'one text that both have' AS body WHERE evil.wait();

-- as attacker, second session:
BEGIN;
SELECT pg_advisory_xact_lock(1);

-- as attacker, meanwhile:
-- gives: 2
SELECT doc_b FROM near_duplicates_between('TABLE evil.slow', 'evil.docs', 0.9);

-- as attacker, second session:
ALTER TABLE evil.child INHERIT evil.docs;
COMMIT;

-- as attacker:
-- gives: 2 102
SELECT doc_b FROM near_duplicates_between('TABLE evil.slow', 'evil.docs', 0.9) ORDER BY doc_b;
