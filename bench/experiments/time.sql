-- Experiment 2: the time of all exact similarities, of the signature matrix, of all estimates.
--
-- The least of experiment.rounds, in milliseconds. One process, no parallel plans.
SET search_path = experiment, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE TEMP TABLE documents (id integer PRIMARY KEY, terms text[], numbers integer[], matrix_column bit varying);
ALTER TABLE documents ALTER terms SET STORAGE EXTERNAL, ALTER numbers SET STORAGE PLAIN,
	ALTER matrix_column SET STORAGE PLAIN;
INSERT INTO documents SELECT id, terms, numbers FROM posts WHERE copy = 0;
ANALYZE documents;
CREATE TEMP TABLE signed (id integer PRIMARY KEY, signature integer[]);
ALTER TABLE signed ALTER signature SET STORAGE PLAIN;
CREATE TEMP TABLE coefficients (k integer, a bigint[], b bigint[], p bigint);
-- The course's p: the least prime that is not below the number of terms.
INSERT INTO coefficients
SELECT k, array_agg(1 + floor((p - 1) * chance(j, 0, 51))::bigint), array_agg(floor(p * chance(j, 1, 51))::bigint), p
FROM (SELECT min(p) AS p FROM (SELECT count(*) AS n FROM term_numbers) AS c, generate_series(n, n + 1000) AS p
      WHERE NOT EXISTS (SELECT FROM generate_series(2, floor(sqrt(p))::int) AS d WHERE p % d = 0)) AS prime,
	unnest(ARRAY[150, 350, 600]) AS k, generate_series(1, k) AS j
GROUP BY k, p;

CREATE TABLE times (what text, num_perm integer, milliseconds double precision);
DO $$
DECLARE
	tasks text[][] := ARRAY[
		['characteristic matrix', '0', 'UPDATE documents AS d
			SET matrix_column = rpad(m.c, (SELECT count(*) FROM term_numbers)::int, ''0'')::varbit
			FROM (SELECT id, string_agg(repeat(''0'', number - 1 - before) || ''1'', '''' ORDER BY number) AS c
				FROM (SELECT id, number, lag(number, 1, -1) OVER (PARTITION BY id ORDER BY number) AS before
					FROM documents, unnest(numbers) AS number) AS n GROUP BY id) AS m
			WHERE m.id = d.id'],
		['exact: jaccard()', '0', 'SELECT count(jaccard(x.numbers, y.numbers))
			FROM documents AS x JOIN documents AS y ON x.id < y.id'],
		['exact: bit strings', '0', 'SELECT count(bit_count(x.matrix_column & y.matrix_column)::float8
				/ bit_count(x.matrix_column | y.matrix_column))
			FROM documents AS x JOIN documents AS y ON x.id < y.id'],
		['matrix: permutations', 'K', 'INSERT INTO signed SELECT id, minhash(terms, K, ''permutations'') FROM documents'],
		['matrix: minhash_with', 'K', 'INSERT INTO signed SELECT id, minhash_with(numbers, a, b, p)
			FROM documents, coefficients WHERE k = K'],
		['matrix: fss', 'K', 'INSERT INTO signed SELECT id, minhash(terms, K) FROM documents'],
		['estimates', 'K', 'SELECT count(minhash_jaccard(x.signature, y.signature))
			FROM signed AS x JOIN signed AS y ON x.id < y.id']];
	task integer;
	k integer;
	start timestamptz;
	taken double precision;
BEGIN
	FOR round IN 1..current_setting('experiment.rounds')::integer LOOP
		FOREACH k IN ARRAY ARRAY[0, 150, 350, 600] LOOP
			FOR task IN 1..array_length(tasks, 1) LOOP
				CONTINUE WHEN (tasks[task][2] = 'K') <> (k > 0);
				IF tasks[task][1] LIKE 'matrix%' THEN TRUNCATE signed; END IF;
				start := clock_timestamp();
				EXECUTE replace(tasks[task][3], 'K', k::text);
				taken := extract(epoch FROM clock_timestamp() - start) * 1000;
				INSERT INTO times VALUES (tasks[task][1], k, taken);
			END LOOP;
		END LOOP;
	END LOOP;
END
$$;
