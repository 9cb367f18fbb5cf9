-- Bands turn "similar" into "equal in at least one place".

SELECT band_hashes(minhash('hello', 8), 4, 2);

-- Equal rows make equal bands, one row that differs another band; slots beyond the last band do not count.
SELECT band_hashes(ARRAY[1, 2, 3, 4], 2, 2) = band_hashes(ARRAY[1, 2, 3, 4, 5], 2, 2) AS rest_left_out,
       (band_hashes(ARRAY[1, 2, 3, 4], 2, 2))[1] = (band_hashes(ARRAY[1, 2, 3, 5], 2, 2))[1] AS first_band,
       (band_hashes(ARRAY[1, 2, 3, 4], 2, 2))[2] = (band_hashes(ARRAY[1, 2, 3, 5], 2, 2))[2] AS second_band;

-- A band hash includes the number of the band: equal rows in two places do not meet.
SELECT cardinality(array(SELECT DISTINCT unnest(band_hashes(array_fill(1, ARRAY[8]), 4, 2)))) AS different;

-- The first bands do not depend on how many there are.
SELECT (band_hashes(minhash('hello', 16), 8, 2))[1:3] = band_hashes(minhash('hello', 16), 3, 2) AS prefix;
SELECT band_hashes(minhash(''), 4, 2) IS NULL AS "no shingle", band_hashes(ARRAY[1], 1, 1) IS NOT NULL AS least,
       cardinality(band_hashes(minhash('hello', 4096), 4096, 1)) AS greatest;

-- The S-curve, 1 - (1 - J^rows)^bands: the probability that a pair shares a band.
SELECT j, round(lsh_probability(j, 20, 5)::numeric, 4) AS found FROM unnest(ARRAY[0, 0.2, 0.4, 0.6, 0.8, 1]) AS j;
SELECT count(*) AS wrong FROM generate_series(1, 30) AS bands, generate_series(1, 10) AS rows,
	generate_series(0, 20) AS j
WHERE abs(lsh_probability(j / 20.0, bands, rows) - (1 - (1 - (j / 20.0::float8) ^ rows) ^ bands)) > 1e-12;
SELECT round(lsh_threshold(20, 5)::numeric, 4) AS rises_at, lsh_threshold(1, 1) AS at_one,
       abs(lsh_threshold(20, 5) - (1 / 20.0::float8) ^ (1 / 5.0::float8)) < 1e-12 AS as_defined;

-- Bands are chosen from the recall at the threshold, for the fewest false candidates.
SELECT t AS threshold, bands, rows, round(recall_at_threshold::numeric, 4) AS recall, probes
FROM unnest(ARRAY[0.9, 0.8, 0.7]) AS t, lsh_params(t);
SELECT bands, rows FROM lsh_params(0.8, num_perm => 256, recall => 0.999);

-- The recall is reached with the bands that are probed alone, one less would miss it, and no choice with one more row
-- would do.
WITH choices AS (
	SELECT t / 20.0::float8 AS t, k, r, p.*
	FROM generate_series(4, 20) AS t, unnest(ARRAY[32, 64, 128, 256]) AS k, unnest(ARRAY[0.5, 0.9, 0.99]) AS r,
		lsh_params(t / 20.0, k, r) AS p
)
SELECT count(*) AS choices,
       count(*) FILTER (WHERE bands * rows > k) AS too_long,
       count(*) FILTER (WHERE recall_at_threshold <> lsh_probability(t, bands, rows)) AS other_recall,
       count(*) FILTER (WHERE lsh_probability(t, probes, rows) < r - 1e-12) AS below_recall,
       count(*) FILTER (WHERE probes > 1 AND lsh_probability(t, probes - 1, rows) >= r + 1e-12) AS probes_too_many,
       count(*) FILTER (WHERE rows < k AND lsh_probability(t, k / (rows + 1), rows + 1) >= r + 1e-12)
           AS steeper_would_do
FROM choices;
SELECT * FROM lsh_params(1);
SELECT * FROM lsh_params(0.5, 1, 0.5);
SELECT * FROM lsh_params(NULL);

-- Errors.
SELECT band_hashes(minhash('hello', 8), 5, 2);
SELECT band_hashes(minhash('hello', 8), 0, 2);
SELECT band_hashes(minhash('hello', 8), 2, 0);
SELECT band_hashes(minhash('hello', 8), 2147483647, 2147483647);
SELECT band_hashes('{}', 1, 1);
SELECT band_hashes(ARRAY[1, NULL], 1, 2);
SELECT lsh_probability(1.5, 2, 2);
SELECT lsh_probability('NaN', 2, 2);
SELECT lsh_probability(0.5, 2, 4097);
SELECT lsh_threshold(0, 2);
SELECT lsh_threshold(2, -1);
SELECT * FROM lsh_params(0);
SELECT * FROM lsh_params('Infinity');
SELECT * FROM lsh_params(0.8, 0);
SELECT * FROM lsh_params(0.8, 4097);
SELECT * FROM lsh_params(0.8, recall => 1);
SELECT * FROM lsh_params(0.8, recall => 0);
SELECT * FROM lsh_params(0.01, 8);
\set VERBOSITY sqlstate
SELECT band_hashes(minhash('hello', 8), 5, 2);
SELECT band_hashes(ARRAY[1, NULL], 1, 2);
SELECT lsh_probability(1.5, 2, 2);
SELECT lsh_threshold(0, 2);
SELECT * FROM lsh_params(0);
SELECT * FROM lsh_params(0.01, 8);
