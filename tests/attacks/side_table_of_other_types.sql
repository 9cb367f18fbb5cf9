-- A side table swapped for one with other column types: under a kept plan by a second session, from within
-- a policy of the table amid a query, and before a write.
-- Attacker: the owner of an indexed table. Must not: memory be read as what it is not.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 20) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs');
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
-- as attacker, second session:
BEGIN;
ALTER TABLE evil.docs_minlsh RENAME TO kept;
CREATE TABLE evil.docs_minlsh (doc_id bigint, signature bigint, bands text);
INSERT INTO evil.docs_minlsh SELECT i, 4702111234474983745, 'AAAA' FROM generate_series(1, 20) i;
COMMIT;
-- as attacker:
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs');
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
-- as attacker, second session:
BEGIN;
DROP TABLE evil.docs_minlsh;
ALTER TABLE evil.kept RENAME TO docs_minlsh;
ALTER TABLE evil.docs_minlsh DROP COLUMN signature, ADD COLUMN signature bigint DEFAULT 4702111234474983745;
COMMIT;
-- as attacker:
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs');
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9);
-- tried
SELECT count(*) FROM near_duplicate_clusters('evil.docs', 0.9);
-- tried
SELECT minlsh_explain('evil.docs', 1, 2);
-- tried
SELECT minlsh_recall('evil.docs');
-- tried
SELECT minlsh_check('evil.docs');
-- tried
UPDATE evil.docs SET body = 'another text' WHERE id = 1;
-- tried
DELETE FROM evil.docs WHERE id = 2;
-- tried
SELECT minlsh_rebuild_side_table('evil.docs');
