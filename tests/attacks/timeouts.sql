-- Every long function under a timeout of 50 ms.
-- Must not: any of them go on.

-- as owner:
CREATE TABLE app.big AS SELECT string_agg(md5(i::text), ' ') AS body FROM generate_series(1, 100000) i;
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs SELECT i, repeat(md5((i / 4)::text), 20) FROM generate_series(1, 10000) i;
SELECT minlsh_create_side_table('app.docs', 'body');
SET statement_timeout = '50ms';
-- refused within 3 s: 57014
SELECT minhash(body || i, 4096, scheme => 'permutations') FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT shingles(body, 20) FROM app.big, generate_series(1, 100);
-- refused within 3 s: 57014
SELECT shingle_hashes(body || i, 3, 'word') FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT normalize_text(body || i, 'aggressive') FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT tokens(body || i) FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT codes(body || i) FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT jaccard(body, body || i) FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT containment(body, body || i) FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT text_profile_signature(body || i) FROM app.big, generate_series(1, 100) i;
-- refused within 3 s: 57014
SELECT minlsh_create_side_table('app.docs', 'body', num_perm => 4096, scheme => 'permutations', name => 'slow');
-- refused within 3 s: 57014
SELECT minlsh_rebuild_side_table('app.docs') FROM generate_series(1, 100);
-- refused within 3 s: 57014
SELECT minlsh_check('app.docs') FROM generate_series(1, 1000);
-- refused within 3 s: 57014
SELECT near_duplicate_pairs('app.docs', 0.9, 'exact') FROM generate_series(1, 1000);
-- refused within 3 s: 57014
SELECT near_duplicate_clusters('app.docs', 0.9) FROM generate_series(1, 1000);
-- refused within 3 s: 57014
SELECT near_duplicate_plan('app.docs', 0.9) FROM generate_series(1, 1000);
-- refused within 3 s: 57014
SELECT minlsh_recall('app.docs', sample => 10000) FROM generate_series(1, 100);
-- refused within 3 s: 57014
SELECT count(*) FROM generate_series(1, 100), app.docs d, near_duplicates(d.id, 0.9, 'app.docs');
-- refused within 3 s: 57014
UPDATE app.docs SET body = body || '.';
-- refused within 3 s: 57014
SELECT minhash_agg(md5(i::text), 4096) FROM generate_series(1, 3000000) i;
-- refused within 3 s: 57014
SELECT minhash_with(array_agg(i), array_agg(i) FILTER (WHERE i <= 4096), array_agg(i) FILTER (WHERE i <= 4096),
	2147483647)
	FROM generate_series(1, 1000000) i;
RESET statement_timeout;
-- gives: 0
SELECT count(*) FROM minlsh_check('app.docs');
