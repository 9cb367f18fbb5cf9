-- TRUNCATE as test cleaners do it: the table with its side table, or the side table alone.
-- Must not: an error for both; silently empty answers for the side table alone.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
TRUNCATE app.docs, app.docs_minlsh;
-- gives: 0
SELECT count(*) FROM minlsh_check('app.docs');
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, 0.9, 'app.docs');
TRUNCATE app.docs;
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
-- refused
TRUNCATE app.docs_minlsh;
-- gives: 2
SELECT doc_id FROM near_duplicates(1, 0.9, 'app.docs');
DROP TABLE app.docs CASCADE;
-- gives: NULL
SELECT to_regclass('app.docs_minlsh');
