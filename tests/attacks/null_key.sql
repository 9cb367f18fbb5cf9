-- The key constraint is dropped, and rows without a key are written: an innocent owner can do that.
-- Must not: NULL be taken for a value, a backend end, or the lost constraint go unnoticed.

-- as owner:
CREATE TABLE app.n (id uuid PRIMARY KEY, body text);
INSERT INTO app.n SELECT gen_random_uuid(), 'one text' FROM generate_series(1, 3);
SELECT minlsh_create_side_table('app.n', 'body');
-- What the index stands on does not go unasked.
-- refused: 2BP01
ALTER TABLE app.n DROP CONSTRAINT n_pkey;
-- refused
ALTER TABLE app.n ALTER id DROP NOT NULL;
-- tried
INSERT INTO app.n VALUES (NULL, 'one text');
ALTER TABLE app.n DROP CONSTRAINT n_pkey CASCADE;
ALTER TABLE app.n ALTER id DROP NOT NULL;
-- tried
INSERT INTO app.n VALUES (NULL, 'one text');
-- tried
INSERT INTO app.n SELECT id, 'another text' FROM app.n;
-- tried
UPDATE app.n SET id = NULL;
-- tried
UPDATE app.n SET body = NULL;
-- tried
DELETE FROM app.n WHERE id IS NULL;
-- tried
SELECT near_duplicate_pairs('app.n', 0.9);
-- refused
SELECT near_duplicates_of('one text', 0.9, 'app.n_minlsh');
-- refused
SELECT minlsh_check('app.n');
