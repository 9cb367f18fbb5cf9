-- An index that anybody creates on a table of their own.
-- Must not: break the short call of somebody who has one index and no rights on the other.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
GRANT SELECT ON app.docs TO reader;
-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'one text'), (3, 'one text');
SELECT minlsh_create_side_table('evil.docs', 'body');
GRANT SELECT ON evil.docs TO PUBLIC;
-- as owner:
SET search_path = app, public;
-- gives: 2
SELECT doc_id FROM near_duplicates(1);
-- as reader:
SET search_path = app, public;
-- gives: 2
SELECT doc_id FROM near_duplicates(1);
