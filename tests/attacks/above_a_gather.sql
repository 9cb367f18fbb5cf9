-- near_duplicates() above a parallel plan, in a session that has not loaded the index yet.
-- Must not: an internal error.

-- as owner:
CREATE TABLE app.docs (id int PRIMARY KEY, body text);
INSERT INTO app.docs SELECT i, 'one text ' || i % 100 FROM generate_series(1, 1000) i;
SELECT minlsh_create_side_table('app.docs', 'body');
ANALYZE app.docs;
-- as owner, second session:
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
-- gives: 9000
SELECT count(*) FROM app.docs d, near_duplicates(d.id, 0.99, 'app.docs');
-- gives: 900
SELECT count(*) FROM app.docs d, near_duplicates(d.id, 0.99, 'app.docs') WHERE d.id <= 100;
-- gives: 4500
SELECT count(*) FROM near_duplicate_pairs('app.docs', 0.99);
