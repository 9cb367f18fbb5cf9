-- Names with dollars, quotes and backslashes, as columns, tables, keys.
-- Must not: an error, or names that run as SQL.

-- as owner:
CREATE TABLE app."t'$t$""\n" (a$table int PRIMARY KEY, "b'$b$""\" text);
INSERT INTO app."t'$t$""\n" VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app."t''$t$""\n"', 'b''$b$"\');
INSERT INTO app."t'$t$""\n" VALUES (3, 'one text');
-- gives: 2 3
SELECT doc_id FROM near_duplicates(1, 0.9, 'app."t''$t$""\n"') ORDER BY doc_id;
-- gives: 2 3
SELECT doc_id FROM near_duplicates(1, 0.9, 'app."t''$t$""\n"', 'exact') ORDER BY doc_id;
-- gives: 3
SELECT count(*) FROM near_duplicate_pairs('app."t''$t$""\n"', 0.9);
SELECT near_duplicate_plan('app."t''$t$""\n"', 0.9, 'a$table DESC');
SELECT minlsh_recall('app."t''$t$""\n"');
SELECT minlsh_explain('app."t''$t$""\n"', 1, 2);
-- gives: 0
SELECT count(*) FROM minlsh_check('app."t''$t$""\n"');
SELECT minlsh_rebuild_side_table('app."t''$t$""\n"');
SELECT minlsh_drop_side_table('app."t''$t$""\n"');
