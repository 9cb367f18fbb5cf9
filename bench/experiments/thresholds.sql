-- The processor time of every function that reads a text, just below and just above each power of two of its bytes,
-- where the code changes its ways: `psql -d DATABASE -f bench/experiments/thresholds.sql` needs a superuser, a database
-- with the extension and Linux, leaves nothing in the database, and prints each function at its highest step.
--
-- Sizes are 15/16 and 17/16 of 4 kB to 4 MB (experiment.largest is the exponent). A step is the time above over the
-- time below, by the byte, so 1.0 is no step. Each time is the least of three rounds. The texts have different words in
-- characters of one byte, and of three.
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL max_parallel_maintenance_workers = 0;
SET LOCAL jit = off;
SET LOCAL client_min_messages = warning;
SELECT set_config('experiment.largest', coalesce(current_setting('experiment.largest', true), '22'), true) AS largest;
CREATE TEMPORARY TABLE texts (letters text, power integer, side integer, a text, b text,
	PRIMARY KEY (letters, power, side));
ALTER TABLE texts ALTER a SET STORAGE external, ALTER b SET STORAGE external;
INSERT INTO texts SELECT letters, power, side, body, 'x' || body
FROM generate_series(12, current_setting('experiment.largest')::integer) AS power, (VALUES (15), (17)) AS s (side),
	LATERAL (SELECT string_agg(md5(i::text), ' ') AS words
		FROM generate_series(1, (1 << power) / 16 * side / 33) AS i) AS w,
	LATERAL (VALUES ('1 byte', words), ('3 bytes', translate(left(words, (1 << power) / 48 * side), '0123456789abcdef',
		'零一二三四五六七八九甲乙丙丁戊己'))) AS t (letters, body);
CREATE TEMPORARY TABLE docs (id integer PRIMARY KEY, body text);
ALTER TABLE docs ALTER body SET STORAGE external;
CREATE TEMPORARY TABLE indexed (LIKE docs INCLUDING ALL);
CREATE INDEX indexed_body ON indexed USING minlsh (body);
CREATE TEMPORARY TABLE times (name text, letters text, power integer, side integer, seconds double precision);
-- How long this session has been on the processor.
CREATE FUNCTION pg_temp.nanoseconds() RETURNS bigint LANGUAGE sql VOLATILE
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint;

DO $$
DECLARE
	-- Of the texts a and b of a row; those of a table come last.
	scalars text[] := ARRAY['normalize_text(a)', 'tokens(a)', 'shingles(a)', 'shingle_hashes(a)', 'minhash(a)',
		'minhash(a, 128, 3, ''word'')', 'jaccard(a, b)', 'containment(a, b)', 'minlsh_document(a)', 'minlsh_passage(a)',
		'b ~= minlsh_document(a)', 'b ~> minlsh_passage(a)', 'codes(a)', 'passage_hashes(a)', 'passage_coverage(a, b)',
		'passage_coverage(a, b, 16)', 'text_profile_signature(a)', 'minlsh_marked_diff(a, b)'];
	sets text[] := ARRAY['near_duplicates(1, index => ''indexed'')', 'nearest_documents(1, index => ''indexed'')',
		'minlsh_recall(''indexed'', 0.9)', 'near_duplicate_pairs(''docs'')', 'near_duplicate_clusters(''docs'')',
		'near_duplicate_plan(''docs'')', 'near_duplicate_bridges(''docs'')', 'near_duplicate_boilerplate(''docs'', ''*'')',
		'near_duplicates_between(''docs'', ''docs'')', 'minlsh_suggest(''docs'')', 'minlsh_label_pairs(''docs'')',
		'common_passages(''docs'', 2)', 'strip_passages(''docs'', 2)', 'repeated_passages(''docs'')',
		'contained_documents(''docs'')', 'passages_between(''docs'', ''docs'')'];
	text record;
	name text;
	start bigint;
	taken double precision;
	often integer;
BEGIN
	FOR text IN SELECT letters, power, side FROM texts ORDER BY letters, power, side LOOP
		TRUNCATE docs, indexed;
		INSERT INTO docs SELECT i, CASE i WHEN 1 THEN a ELSE b END FROM texts, generate_series(1, 2) AS i
			WHERE (letters, power, side) = (text.letters, text.power, text.side);
		INSERT INTO indexed TABLE docs;
		FOR round IN 1..3 LOOP
			FOREACH name IN ARRAY scalars || sets LOOP
				often := 1;
				BEGIN
					LOOP
						start := pg_temp.nanoseconds();
						IF name = ANY (scalars) THEN
							EXECUTE format('SELECT count(%s) FROM texts, generate_series(1, %s)
								WHERE (letters, power, side) = ($1, $2, $3)', name, often)
								USING text.letters, text.power, text.side;
						ELSE
							FOR again IN 1..often LOOP
								EXECUTE format('SELECT count(*) FROM %s', name);
							END LOOP;
						END IF;
						taken := pg_temp.nanoseconds() - start;
						-- The kernel counts in some milliseconds.
						EXIT WHEN taken > 50e6;
						often := often * 4;
					END LOOP;
					INSERT INTO times VALUES (name, text.letters, text.power, text.side, taken / often / 1e9);
				EXCEPTION WHEN configuration_limit_exceeded THEN
					-- A text that is refused has no time.
				END;
			END LOOP;
		END LOOP;
	END LOOP;
END
$$;

WITH least AS (
	SELECT name, letters, power, side, min(seconds) AS seconds FROM times GROUP BY name, letters, power, side
), steps AS (
	SELECT name, letters, power, a.seconds AS below, b.seconds AS above, b.seconds / a.seconds * 15 / 17 AS step
	FROM least AS a JOIN least AS b USING (name, letters, power) WHERE (a.side, b.side) = (15, 17)
), worst AS (
	SELECT DISTINCT ON (name, letters) *, (SELECT exp(avg(ln(step))) FROM steps AS s
		WHERE (s.name, s.letters) = (steps.name, steps.letters)) AS mean
	FROM steps ORDER BY name, letters, step DESC
)
SELECT name AS "function", letters, round(step::numeric, 2) AS "highest step",
	pg_size_pretty(1::bigint << power) AS "at",
	round(below::numeric * 1000, 2) AS "ms below", round(above::numeric * 1000, 2) AS "ms above",
	round(mean::numeric, 2) AS "mean of steps"
FROM worst ORDER BY step DESC, name, letters;
ROLLBACK;
