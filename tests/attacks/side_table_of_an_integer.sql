-- A trigger that ties a side table to an integer of its documents, in the place of their text: any owner of a table can
-- make one, whose name comes first.
-- Attacker: the owner of an indexed table. Must not: the integer be read as a text, which ends the backend.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, n int, body text);
INSERT INTO evil.docs VALUES (1, 77, 'one text'), (2, 78, 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
CREATE CONSTRAINT TRIGGER a AFTER INSERT OR UPDATE OF id, n OR DELETE ON evil.docs
	FOR EACH ROW WHEN ('evil.docs_minlsh'::regclass IS NOT NULL) EXECUTE FUNCTION minlsh_sync();
-- refused: 42804
SELECT near_duplicates(1, 0.9, 'evil.docs_minlsh');
-- refused: 42804
SELECT nearest_documents(1, 3, 'evil.docs_minlsh');
-- refused: 42804
SELECT near_duplicate_cluster_of(1, 0.9, 'evil.docs_minlsh');
-- refused: 42804
SELECT minlsh_explain('evil.docs_minlsh', 1, 2);
-- refused: 42804
SELECT minlsh_recall('evil.docs_minlsh');
-- tried
SELECT near_duplicate_pairs('evil.docs_minlsh', 0.9);
-- refused: 42804
SELECT minlsh_rebuild_side_table('evil.docs_minlsh');
-- gives: column "n" is of type integer, not text
SELECT problem FROM minlsh_check('evil.docs_minlsh');
-- refused: 42804
INSERT INTO evil.docs VALUES (3, 79, 'one text');
-- The sound one serves the table.
-- tried
SELECT near_duplicates(1, 0.9, 'evil.docs');
-- tried
SELECT minlsh_recall('evil.docs');
DROP TRIGGER a ON evil.docs;
-- gives: 2
SELECT doc_id FROM near_duplicates(1, 0.9, 'evil.docs');
