-- Experiment 1: how often is an estimate off by more than 0.04, 0.07, 0.09?
--
-- All pairs of originals; the mean over experiment.seeds independent families of hash
-- functions. Beside the counts: what the normal approximation expects of these very pairs.
SET search_path = experiment, public;

-- The share of a normal distribution that is more than z standard deviations from its mean
-- (erfc by a Chebyshev fit, relative error 1.2e-7; PostgreSQL has erfc() from version 16 on).
CREATE FUNCTION normal_tails(z double precision) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT t * exp(greatest(-700, -z * z / 2 - 1.26551223 + t * (1.00002368 + t * (0.37409196
		+ t * (0.09678418 + t * (-0.18628806
		+ t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))))))
	FROM (SELECT 1 / (1 + z / sqrt(8.0::double precision)) AS t) AS f $$;

-- Exact similarities by counting the rows of the characteristic matrix that a pair shares.
CREATE TABLE pairs AS
WITH rows AS (SELECT id, cardinality(numbers) AS size, unnest(numbers) AS number FROM posts WHERE copy = 0),
	shared AS (
		SELECT a.id AS a, b.id AS b, min(a.size) + min(b.size) AS sizes, count(*) AS shared
		FROM rows AS a JOIN rows AS b ON a.number = b.number AND a.id < b.id GROUP BY a.id, b.id
	)
SELECT a.id AS a, b.id AS b, coalesce(shared.shared::double precision / (sizes - shared.shared), 0) AS exact
FROM posts AS a JOIN posts AS b ON a.id < b.id LEFT JOIN shared ON (shared.a, shared.b) = (a.id, b.id)
WHERE a.copy = 0 AND b.copy = 0;
ANALYZE pairs;

CREATE TABLE accuracy (scheme text, num_perm integer, pairs bigint, over_04 double precision, over_07 double precision,
	over_09 double precision, rmse double precision);
-- PLAIN: a signature that is read for every pair must not be stored out of line.
CREATE TEMP TABLE signatures (id integer PRIMARY KEY, signature integer[]);
ALTER TABLE signatures ALTER signature SET STORAGE PLAIN;
DO $$
DECLARE
	k integer;
	chosen_scheme text;
	chosen_seed integer;
	seeds integer := current_setting('experiment.seeds');
BEGIN
	FOREACH k IN ARRAY ARRAY[400, 600, 800] LOOP
		FOREACH chosen_scheme IN ARRAY ARRAY['permutations', 'fss'] LOOP
			FOR chosen_seed IN 1..seeds LOOP
				TRUNCATE signatures;
				INSERT INTO signatures SELECT id, minhash(terms, k, chosen_scheme, chosen_seed) FROM posts WHERE copy = 0;
				ANALYZE signatures;
				INSERT INTO accuracy
				SELECT chosen_scheme, k, count(*), count(*) FILTER (WHERE error > 0.04), count(*) FILTER (WHERE error > 0.07),
					count(*) FILTER (WHERE error > 0.09), sqrt(avg(error * error))
				FROM (SELECT abs(minhash_jaccard(x.signature, y.signature) - exact) AS error
				      FROM pairs JOIN signatures AS x ON x.id = a JOIN signatures AS y ON y.id = b) AS errors;
			END LOOP;
		END LOOP;
		INSERT INTO accuracy
		SELECT 'normal approximation', k, count(*), sum(over_04), sum(over_07), sum(over_09), sqrt(avg(deviation ^ 2))
		FROM (SELECT deviation, CASE WHEN exact > 0 THEN normal_tails(0.04 / deviation) ELSE 0 END AS over_04,
				CASE WHEN exact > 0 THEN normal_tails(0.07 / deviation) ELSE 0 END AS over_07,
				CASE WHEN exact > 0 THEN normal_tails(0.09 / deviation) ELSE 0 END AS over_09
			FROM (SELECT exact, minhash_error(k, exact) AS deviation FROM pairs) AS d) AS expected;
	END LOOP;
END
$$;

-- For the plot: pairs of every similarity. Of the terms of a post a growing share is left out,
-- and as many of another post's are put in.
CREATE TABLE spread AS
SELECT post, jaccard(terms, mixed) AS exact,
	minhash_jaccard(minhash(terms, 200, 'permutations'), minhash(mixed, 200, 'permutations')) AS permutations,
	minhash_jaccard(minhash(terms, 200, 'fss'), minhash(mixed, 200, 'fss')) AS fss
FROM (SELECT post, terms, array(SELECT term FROM unnest(terms) AS term WHERE chance(hashtext(term), post, 41) < share)
		|| array(SELECT term FROM unnest((SELECT o.terms FROM posts AS o WHERE o.id = p.id - 10)) AS term
			WHERE chance(hashtext(term), post, 42) > share) AS mixed
	FROM posts AS p, LATERAL (SELECT sqrt(chance(post, 0, 43)) AS share) AS s
	WHERE copy = 0 AND post BETWEEN 2 AND 501) AS m;
