-- Functions that lock a table, called by somebody who may neither read nor change it, while its owner holds a lock.
-- Attacker: an ordinary user. Must not: wait for the lock (and have others wait behind), or learn anything.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
CREATE INDEX docs_near ON app.docs USING minlsh (body);
SELECT minlsh_create_side_table('app.docs', 'body');
SELECT minlsh_track_clusters('app.docs_near', name => 'c');
-- as owner, second session:
BEGIN;
LOCK TABLE app.docs IN ACCESS EXCLUSIVE MODE;
-- as attacker:
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'app.docs');
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'app.docs_near');
-- refused within 20 s: 42501
SELECT near_duplicates(NULL::int, index => 'app.docs_near');
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'app.docs_minlsh');
-- refused within 20 s: 42501
SELECT near_duplicate_pairs('app.docs', 0.9);
-- refused within 20 s: 42501
SELECT near_duplicate_pairs('app.docs_near', 0.9);
-- refused within 20 s: 42501
SELECT minlsh_options('app.docs_near');
-- refused within 20 s: 42501
SELECT minlsh_recall('app.docs');
-- refused within 20 s: 42501
SELECT minlsh_explain('app.docs_near', 1, 2);
-- refused within 20 s: 42501
SELECT minlsh_check('app.docs');
-- refused within 20 s: 42501
SELECT minlsh_check('app.docs_near');
-- refused within 20 s: 42501
SELECT minlsh_check('app.docs_minlsh');
-- refused within 20 s: 42501
SELECT minlsh_check('app.c');
-- refused within 20 s: 42501
SELECT minlsh_create_side_table('app.docs', 'body');
-- refused within 20 s: 42501
SELECT minlsh_rebuild_side_table('app.docs_minlsh');
-- refused within 20 s: 42501
SELECT minlsh_drop_side_table('app.docs_minlsh');
-- refused within 20 s: 42501
SELECT minlsh_track_clusters('app.docs_near');
-- refused within 20 s: 42501
SELECT minlsh_refresh_clusters('app.c');
-- refused within 20 s: 42501
SELECT minlsh_untrack_clusters('app.c');
