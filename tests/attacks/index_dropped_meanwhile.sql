-- An index that is dropped while others, who have named it, wait for its table.
-- Must not: an internal error, or a deadlock with DROP INDEX.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
CREATE INDEX near ON app.docs USING minlsh (body);
-- as owner, second session:
BEGIN;
LOCK TABLE app.docs;
-- as owner, third session, meanwhile:
-- refused: 42P01 42704
SELECT minlsh_check('app.near');
-- as owner, fourth session, meanwhile:
-- refused: 42P01 42704 42809
SELECT near_duplicates(1, index => 'app.near');
-- as owner, fifth session, meanwhile:
-- refused: 42P01 42704
SELECT near_duplicate_pairs('app.near');
-- as owner, sixth session, meanwhile:
-- refused: 42P01 42704
SELECT minlsh_options('app.near');
-- as owner, seventh session, meanwhile:
-- refused: 42P01 42704 42809
SELECT minlsh_track_clusters('app.near');
-- as owner, second session:
DROP INDEX app.near;
COMMIT;
-- as owner, third session:
SELECT 1;
-- as owner, fourth session:
SELECT 1;
-- as owner, fifth session:
SELECT 1;
-- as owner, sixth session:
SELECT 1;
-- as owner, seventh session:
SELECT 1;
