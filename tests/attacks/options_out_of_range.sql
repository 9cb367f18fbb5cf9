-- Options of an index that make no sense, or would take all memory.
-- Attacker: an ordinary user. Must not: anything but 22023 (or a syntax error), or a crash at ANALYZE or use.

-- as attacker:
CREATE TABLE evil.docs (id int PRIMARY KEY, body text, n int);
INSERT INTO evil.docs VALUES (1, 'one text'), (2, 'one text');
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (threshold = 0);
-- refused: 22023 22P02
CREATE INDEX ON evil.docs USING minlsh (body) WITH (threshold = 'NaN');
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (threshold = 1.5);
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (recall = 1);
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (num_perm = 1000000000);
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (num_perm = -1);
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (scheme = 'nonsense');
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (unit = '''; SELECT 1');
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (shingle_size = 0);
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (normalization = '"}');
-- refused: 22023
CREATE INDEX ON evil.docs USING minlsh (body) WITH (nonsense = 1);
-- refused
CREATE INDEX ON evil.docs USING minlsh (n);
-- refused
CREATE INDEX ON evil.docs USING minlsh (body, body);
-- refused
CREATE UNIQUE INDEX ON evil.docs USING minlsh (body);
-- refused
CREATE INDEX ON evil.docs USING minlsh (body DESC);
-- refused
CREATE INDEX ON evil.docs USING minlsh (body) INCLUDE (n);
DO $$ BEGIN EXECUTE format('CREATE INDEX long ON evil.docs USING minlsh (body) WITH (stop_words = %L, unit = word)',
	repeat('wörd "\ ', 20000));
EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; END $$;
DO $$ BEGIN EXECUTE format('CREATE INDEX odd ON evil.docs USING minlsh (body)
		WITH (stop_words = %L, unit = word, normalization = %L)',
	E'the "a" it''s \\ \t{}', 'plain stop_words');
EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; END $$;
-- refused
SELECT minlsh_create_side_table('evil.docs', 'body', num_perm => 1000000000);
-- refused
SELECT minlsh_create_side_table('evil.docs', 'body', threshold => 'NaN');
INSERT INTO evil.docs VALUES (3, 'one text');
-- gives: 3
SELECT count(*) FROM evil.docs WHERE body ~= 'one text';
VACUUM ANALYZE evil.docs;
