-- Lookups by somebody who may not read the table, in a session that has looked there as somebody who may, and without
-- an index named, while the owner holds a lock.
-- Attacker: an ordinary user. Must not: wait for the lock, and have others wait behind.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1, 'one text'), (2, 'one text');
CREATE INDEX docs_near ON app.docs USING minlsh (body);
CREATE TABLE app.sided (id int PRIMARY KEY, body text);
INSERT INTO app.sided VALUES (1, 'one text'), (2, 'one text');
SELECT minlsh_create_side_table('app.sided', 'body');
-- as superuser:
-- gives: 2
SELECT doc_id FROM near_duplicates(1, index => 'app.docs');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, index => 'app.docs_near');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, index => 'app.sided');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, index => 'app.sided_minlsh', verify => 'signature');
-- gives: 1
SELECT count(*) FROM near_duplicate_pairs('app.docs_near', 0.9);
SET ROLE attacker;
SET search_path = app, public;
-- as attacker:
SET search_path = app, public;
-- as owner, second session:
BEGIN;
LOCK TABLE app.docs, app.sided, app.sided_minlsh IN ACCESS EXCLUSIVE MODE;
-- as superuser and attacker:
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'app.docs');
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'app.docs_near');
-- refused within 20 s: 42501
SELECT near_duplicates_of('one text', index => 'app.docs');
-- refused within 20 s: 42501
SELECT nearest_documents(1, index => 'app.docs_near');
-- refused within 20 s: 42501
SELECT near_duplicate_cluster_of(1, index => 'app.docs_near');
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'app.sided');
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'app.sided_minlsh', verify => 'signature');
-- refused within 20 s: 42501
SELECT near_duplicate_pairs('app.docs_near', 0.9);
-- refused within 20 s: 42704
SELECT near_duplicates(1);
-- refused within 20 s: 42704
SELECT near_duplicates_of('one text');
-- refused within 20 s: 42704
SELECT nearest_documents_of('one text');
-- as owner, second session:
ROLLBACK;
-- Whoever could read them a moment ago.
-- as owner:
GRANT SELECT ON app.docs, app.sided TO reader;
-- as reader:
SET search_path = app, public;
-- gives: 2
SELECT doc_id FROM near_duplicates(1, index => 'docs');
-- gives: 2
SELECT doc_id FROM near_duplicates(1, index => 'sided');
-- as owner, second session:
BEGIN;
REVOKE SELECT ON app.docs, app.sided FROM reader;
COMMIT;
BEGIN;
LOCK TABLE app.docs, app.sided, app.sided_minlsh IN ACCESS EXCLUSIVE MODE;
-- as reader:
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'docs');
-- refused within 20 s: 42501
SELECT near_duplicates(1, index => 'sided');
-- refused within 20 s: 42704
SELECT near_duplicates(1);
