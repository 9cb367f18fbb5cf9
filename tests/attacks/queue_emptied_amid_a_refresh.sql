-- Rows of the queue of tracked clusters that its owner deletes while a refresh reads them.
-- Attacker: the owner. Must not: the refresh end in an internal error, or write anything.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
CREATE INDEX near ON app.docs USING minlsh (body);
SELECT minlsh_track_clusters('app.near', name => 'c');
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');

-- as owner, second session:
BEGIN;
DELETE FROM app.c_queue WHERE doc_id = 1;
-- as owner, meanwhile:
-- refused: 40001
SELECT minlsh_refresh_clusters('app.c');
-- as owner, second session:
COMMIT;

-- as owner, second session:
BEGIN;
UPDATE app.c_queue SET since = now() WHERE doc_id = 2;
-- as owner, meanwhile:
-- refused: 40001
SELECT minlsh_refresh_clusters('app.c');
-- as owner, second session:
COMMIT;

-- as owner:
-- gives: 2
SELECT joined FROM minlsh_refresh_clusters('app.c');
-- gives: 0
SELECT count(*) FROM minlsh_check('app.c');
