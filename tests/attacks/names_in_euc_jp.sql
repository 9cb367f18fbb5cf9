-- Names beyond ASCII in a database of EUC_JP.
-- Must not: an error.
-- encoding: EUC_JP

-- as owner:
CREATE TABLE app."文書" (id int PRIMARY KEY, "本文" text);
INSERT INTO app."文書" VALUES (1, 'これは長い文章です'), (2, 'これは長い文章です');
SELECT minlsh_create_side_table('app."文書"', '本文');
INSERT INTO app."文書" VALUES (3, 'これは長い文章です');
UPDATE app."文書" SET "本文" = '別の文章になりました' WHERE id = 2;
-- gives: 3
SELECT doc_id FROM near_duplicates(1, 0.9, 'app."文書"');
-- gives: 1
SELECT count(*) FROM near_duplicate_pairs('app."文書"', 0.9);
-- gives: 0
SELECT count(*) FROM minlsh_check('app."文書"');
SELECT minlsh_recall('app."文書"');
SELECT minlsh_rebuild_side_table('app."文書"');
SELECT minlsh_drop_side_table('app."文書"');
