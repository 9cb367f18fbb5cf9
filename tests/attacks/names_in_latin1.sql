-- Names beyond ASCII in a database of LATIN1.
-- Must not: an error.
-- encoding: LATIN1

-- as owner:
CREATE TABLE app."Übung" (id int PRIMARY KEY, "größe" text);
INSERT INTO app."Übung" VALUES (1, 'ein schöner Text'), (2, 'ein schöner Text');
SELECT minlsh_create_side_table('app."Übung"', 'größe');
INSERT INTO app."Übung" VALUES (3, 'ein schöner Text');
UPDATE app."Übung" SET "größe" = 'anders' WHERE id = 2;
-- gives: 3
SELECT doc_id FROM near_duplicates(1, 0.9, 'app."Übung"');
-- gives: 3
SELECT doc_id FROM near_duplicates_of('ein schöner Text', 0.99, 'app."Übung"', 'exact') WHERE doc_id <> '1';
-- gives: 1
SELECT count(*) FROM near_duplicate_pairs('app."Übung"', 0.9);
SELECT minlsh_recall('app."Übung"');
-- gives: 0
SELECT count(*) FROM minlsh_check('app."Übung"');
SELECT minlsh_rebuild_side_table('app."Übung"');
SELECT minlsh_drop_side_table('app."Übung"');
