-- Rows of a side table tampered with: arrays of no or two dimensions, with nulls, too short, too long, other bounds.
-- Attacker: the owner of an indexed table. Must not: memory be read beyond an array; the errors say what to do.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs SELECT i, 'one text' FROM generate_series(1, 12) i;
SELECT minlsh_create_side_table('evil.docs', 'body');
-- tried
UPDATE evil.docs_minlsh SET signature = '{}' WHERE doc_id = 1;
-- tried
UPDATE evil.docs_minlsh SET bands = '{}' WHERE doc_id = 2;
-- tried
UPDATE evil.docs_minlsh SET signature = '{{1,2},{3,4}}' WHERE doc_id = 3;
-- tried
UPDATE evil.docs_minlsh SET bands = ARRAY[bands, bands] WHERE doc_id = 4;
-- tried
UPDATE evil.docs_minlsh SET signature = array_fill(NULL::int, ARRAY[128]) WHERE doc_id = 5;
-- tried
UPDATE evil.docs_minlsh SET bands = ARRAY[NULL, NULL]::bigint[] WHERE doc_id = 6;
-- tried
UPDATE evil.docs_minlsh SET signature = signature || signature WHERE doc_id = 7;
-- tried
UPDATE evil.docs_minlsh SET bands = bands || bands || bands WHERE doc_id = 8;
-- tried
UPDATE evil.docs_minlsh SET bands = array_fill(7::bigint, ARRAY[1000000]) WHERE doc_id = 9;
-- tried
UPDATE evil.docs_minlsh SET signature = array_fill(7, ARRAY[10000000]) WHERE doc_id = 10;
-- tried
UPDATE evil.docs_minlsh SET signature = ('[-2147483000:-2147482999]={1,2}')::int[] WHERE doc_id = 11;
-- Of the right length, and of the right length with other bounds: the index takes them.
UPDATE evil.docs_minlsh SET signature = array_fill(7, ARRAY[128]) WHERE doc_id = 11;
UPDATE evil.docs_minlsh SET signature = array_fill(7, ARRAY[128], ARRAY[-2147483000]) WHERE doc_id = 7;
DELETE FROM evil.docs_minlsh WHERE doc_id = 12;
ALTER TABLE evil.docs_minlsh DISABLE TRIGGER USER;
INSERT INTO evil.docs_minlsh SELECT 99, signature, bands FROM evil.docs_minlsh WHERE doc_id = 8;
-- tried
SELECT count(*) FROM evil.docs d, near_duplicates(d.id, 0.9, 'evil.docs', 'signature');
-- tried
SELECT count(*) FROM near_duplicates(1, 0.9, 'evil.docs', 'signature');
-- tried
SELECT count(*) FROM near_duplicates(3, 0.9, 'evil.docs', 'exact');
-- tried
SELECT count(*) FROM near_duplicates(5, 0.9, 'evil.docs', 'signature');
-- tried
SELECT count(*) FROM near_duplicates(8, 0.9, 'evil.docs', 'signature');
-- tried
SELECT count(*) FROM near_duplicates(10, 0.9, 'evil.docs', 'signature');
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9, 'signature');
-- tried
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9, 'exact');
-- tried
SELECT count(*) FROM near_duplicate_clusters('evil.docs', 0.9, 'signature');
-- tried
SELECT minlsh_explain('evil.docs', 1, 3);
-- tried
SELECT minlsh_recall('evil.docs', verify => 'signature');
-- gives: t
SELECT count(*) >= 7 FROM minlsh_check('evil.docs');
UPDATE evil.docs SET body = 'another text' WHERE id IN (1, 3, 12);
DELETE FROM evil.docs WHERE id IN (2, 5, 10);
SELECT minlsh_rebuild_side_table('evil.docs');
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.docs');
