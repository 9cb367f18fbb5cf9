-- Indexes that cannot be checked, among all those that somebody checks.
-- Attacker: an ordinary user. Must not: `minlsh_check()` end in an error, so that a superuser learns of no index.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text);
INSERT INTO evil.docs VALUES (1, 'one text'), (2, 'one text');
CREATE INDEX passages ON evil.docs USING minlsh (body minlsh_passage_ops);
ALTER INDEX evil.passages SET (threshold = 0.9);
CREATE INDEX texts ON evil.docs USING minlsh (body);
ALTER INDEX evil.texts SET (min_match = 20);
-- refused: 0A000
CREATE INDEX CONCURRENTLY two_documents ON evil.docs USING minlsh (body, (body || 'x'));
CREATE TABLE evil.without (id int, body text, tenant int) PARTITION BY LIST (tenant);
CREATE INDEX without_near ON evil.without USING minlsh (body);
CREATE INDEX without_two ON evil.without USING minlsh (body, (body || 'x'));
CREATE TABLE evil.parts (id int, body text, tenant int) PARTITION BY LIST (tenant);
CREATE TABLE evil.part PARTITION OF evil.parts FOR VALUES IN (1);
CREATE INDEX parts_near ON ONLY evil.parts USING minlsh (body) WITH (min_match = 20);
CREATE INDEX part_near ON evil.part USING minlsh (body);
ALTER INDEX evil.parts_near ATTACH PARTITION evil.part_near;

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
CREATE INDEX docs_near ON app.docs USING minlsh (body);
ALTER INDEX app.docs_near SET (threshold = 0.7);

-- as superuser:
-- gives: 1
SELECT count(*) FROM minlsh_check() WHERE problem LIKE '%options were changed%';
-- gives: 2
SELECT count(*) FROM minlsh_check() WHERE problem LIKE '%REINDEX would fail: %';
-- gives: 1
SELECT count(*) FROM minlsh_check() WHERE problem LIKE '%two_documents%not valid%';
-- gives: 1
SELECT count(*) FROM minlsh_check() WHERE problem LIKE '%options differ%';
-- gives: 5
SELECT count(*) FROM minlsh_check();
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.without');
-- gives: 0
SELECT count(*) FROM minlsh_check('evil.without_near');
