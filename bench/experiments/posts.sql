-- A collection of short posts and near-copies of them, the same on every machine.
--
-- Made from nothing but this file: about 120 frequent English words, invented words from
-- syllables, and a hash function of PostgreSQL as the source of chance. It is part of minlsh
-- and under its licence (LICENSE).
--
-- experiment.posts: how many posts; experiment.copies: near-copies of each.
-- Words follow Zipf's law; every post has a topic with words of its own, and a log-normal
-- length. In a copy 0.6 to 3.5 % of the words are replaced, at least one.

CREATE SCHEMA experiment;
SET search_path = experiment, public;
SET client_min_messages = warning;

-- Uniform between 0 and 1, for three numbers.
CREATE FUNCTION chance(a bigint, b bigint, salt bigint) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ((hashint8extended(a, hashint8extended(b, 2000 + salt)) & 2147483647)::double precision + 0.5)
		/ 2147483648.0::double precision;

CREATE TABLE words AS
WITH common AS (
	SELECT string_to_array('the of and to in is you that it he was for on are as with his they at be this have from or '
		'one had by but not what all were we when your can said there use an each which she do how their if will up other '
		'about out many then them these so some her would make like him into time has look two more write go see number '
		'no way could people my than first water been call who its now find long down day did get come made may part '
		'over new sound take only little work know place year live me back give most very after thing our just name',
		' ') AS list
), syllables AS (
	SELECT string_to_array('b c d f g h l m n p r s t v w k tr pl ch sh', ' ') AS onset,
		string_to_array('a e i o u e a', ' ') AS vowel, string_to_array(', , , , n, r, s, l', ', ') AS coda
)
SELECT rank, coalesce(list[rank], (
		SELECT string_agg(onset[1 + floor(20 * chance(rank, s, 1))::int]
			|| vowel[1 + floor(7 * chance(rank, s, 2))::int]
			|| coda[1 + floor(8 * chance(rank, s, 3))::int], '' ORDER BY s)
		FROM generate_series(1, 2 + (rank > 700)::int) AS s)) AS word
FROM common, syllables, generate_series(1, 12000) AS rank;
ALTER TABLE words ADD PRIMARY KEY (rank);

-- Each post's words: half of them frequent ones, one in eight from the 200 of its topic, the others from all.
CREATE TABLE tokens AS
SELECT post, place, floor(CASE
		WHEN chance(post, place, 11) < 0.5 THEN exp(power(chance(post, place, 13), 0.7) * ln(201))
		WHEN chance(post, place, 11) < 0.625
			THEN 1000 + 200 * floor(20 * chance(post, 0, 12)) + exp(chance(post, place, 13) * ln(201))
		ELSE exp(chance(post, place, 13) * ln(12001)) END)::int AS rank
FROM generate_series(1, current_setting('experiment.posts')::int) AS post,
	LATERAL (SELECT sqrt(-2 * ln(chance(post, 0, 15))) * cos(2 * pi() * chance(post, 0, 16)) AS normal) AS n,
	LATERAL (SELECT greatest(30, round(exp(ln(170) + 0.45 * normal)))::int AS length) AS l,
	generate_series(1, length) AS place;

CREATE TABLE posts (id integer PRIMARY KEY, post integer NOT NULL, copy integer NOT NULL, body text NOT NULL);
INSERT INTO posts
WITH copied AS (
	SELECT t.*, copy, count(*) OVER w AS length,
		row_number() OVER (w ORDER BY chance(post * 100 + copy, place, 21)) AS turn
	FROM tokens AS t, generate_series(0, current_setting('experiment.copies')::int) AS copy
	WINDOW w AS (PARTITION BY post, copy)
), edited AS (
	SELECT post, copy, place, length, chance(post, place, 31) AS stop, CASE
			WHEN copy > 0 AND turn <= greatest(1, round(length * (0.006 + 0.029 * chance(post, copy, 22))))
			THEN floor(exp(chance(post * 100 + copy, place, 23) * ln(12001)))::int ELSE rank END AS rank
	FROM copied
)
SELECT post * 10 + copy, post, copy, string_agg(
		CASE WHEN place = 1 OR before < 0.08 THEN initcap(word) ELSE word END
		|| CASE WHEN place = length OR stop < 0.08 THEN '.' WHEN stop < 0.13 THEN ',' WHEN stop < 0.135 THEN ':'
			WHEN stop < 0.14 THEN ';' WHEN stop < 0.15 THEN '''s' ELSE '' END
		|| CASE WHEN place = length THEN '' WHEN place % 12 = 0 THEN E'\n' ELSE ' ' END, '' ORDER BY place)
FROM (SELECT *, lag(stop) OVER (PARTITION BY post, copy ORDER BY place) AS before FROM edited) AS e
	JOIN words USING (rank)
GROUP BY post, copy;

-- What the course project calls a document: its set of terms, here by number too.
ALTER TABLE posts ADD terms text[], ADD numbers integer[];
UPDATE posts SET terms = shingles(body, 1, 'word', 'classic');
CREATE TABLE term_numbers AS
	SELECT (row_number() OVER (ORDER BY term) - 1)::int AS number, term
	FROM (SELECT DISTINCT unnest(terms) AS term FROM posts) AS t;
UPDATE posts AS p SET numbers = n.numbers
FROM (SELECT id, array_agg(number ORDER BY number) AS numbers
      FROM posts, unnest(terms) AS term JOIN term_numbers USING (term) GROUP BY id) AS n
WHERE n.id = p.id;
VACUUM (FULL, ANALYZE) posts;
