-- minlsh_create_side_table() a second time.
-- Must not: an identical index beside the first, and calls that were clear become ambiguous.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
-- refused: 42710
SELECT minlsh_create_side_table('app.docs', 'body');
-- gives: app.docs_minlsh
SELECT minlsh_create_side_table('app.docs', 'body', if_not_exists => true);
-- gives: 2
SELECT doc_id FROM near_duplicates(1, 0.9, 'app.docs');
SELECT minlsh_drop_side_table('app.docs');
