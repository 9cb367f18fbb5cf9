-- Bands turn "similar" into "equal in at least one place".

SELECT band_hashes(minhash('hello', 8), 4, 2);

-- A band hash includes the number of the band: equal rows in two places do not meet.
SELECT cardinality(array(SELECT DISTINCT unnest(band_hashes(array_fill(1, ARRAY[8]), 4, 2)))) AS different;

-- The S-curve: the probability that a pair shares a band.
SELECT j, round(lsh_probability(j, 20, 5)::numeric, 4) AS found FROM unnest(ARRAY[0, 0.2, 0.4, 0.6, 0.8, 1]) AS j;
SELECT round(lsh_threshold(20, 5)::numeric, 4) AS rises_at;

-- Bands are chosen from the recall at the threshold, for the fewest false candidates.
SELECT t AS threshold, bands, rows, round(recall_at_threshold::numeric, 4) AS recall, probes
FROM unnest(ARRAY[0.9, 0.8, 0.7]) AS t, lsh_params(t);
SELECT bands, rows FROM lsh_params(0.8, num_perm => 256, recall => 0.999);

-- Errors.
SELECT band_hashes(minhash('hello', 8), 5, 2);
SELECT lsh_probability(1.5, 2, 2);
SELECT lsh_threshold(0, 2);
SELECT * FROM lsh_params(0);
SELECT * FROM lsh_params(0.8, recall => 1);
SELECT * FROM lsh_params(0.01, 8);
