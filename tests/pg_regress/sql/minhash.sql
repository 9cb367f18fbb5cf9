-- A signature is a short array that estimates the similarity of sets.

SELECT minhash('the quick brown fox jumps over the lazy dog', 16);
SELECT minhash('the quick brown fox jumps over the lazy dog', 16, scheme => 'permutations');
SELECT cardinality(minhash('128 slots by default'));

-- Known answers: stored signatures stay comparable, in every version and on every machine.
CREATE TEMP TABLE known (scheme text, shingle_size integer, body text, signature integer[]);
INSERT INTO known VALUES
	('fss', 5, 'a', '{809620442,1925641562,2005468958,1976656675,1960030841,2117992777,1147143493,1903134929,2011292760,
	576619759,1909426451,1997584485,1654837311,368365620,32072929,2033840468}'),
	('permutations', 5, 'a', '{938717213,745493921,2022732262,1561735729,1295722399,-471853924,-261799412,385387793,
	2115913101,1682640112,486052159,1896580690,2132180066,-1373272805,641910025,-1818290869}'),
	('fss', 9, 'a', '{809620442,1925641562,2005468958,1976656675,1960030841,2117992777,1147143493,1903134929,2011292760,
	576619759,1909426451,1997584485,1654837311,368365620,32072929,2033840468}'),
	('permutations', 9, 'a', '{938717213,745493921,2022732262,1561735729,1295722399,-471853924,-261799412,385387793,
	2115913101,1682640112,486052159,1896580690,2132180066,-1373272805,641910025,-1818290869}'),
	('fss', 5, 'abc', '{1959379505,1999121000,1934706670,1951992147,775958626,1991840526,1631890032,143848341,855778456,
	1336486512,1425256824,1937730767,2045903279,2055720971,2144827552,1978268698}'),
	('permutations', 5, 'abc',
		'{1285301022,1921164930,890535657,1167103290,-2091734734,1804677351,1123917079,800965598,1321147286,-699222959,
		-1240417446,938921209,-1625285895,-1468202830,-42497534,1587528102}'),
	('fss', 9, 'abc', '{1959379505,1999121000,1934706670,1951992147,775958626,1991840526,1631890032,143848341,855778456,
	1336486512,1425256824,1937730767,2045903279,2055720971,2144827552,1978268698}'),
	('permutations', 9, 'abc',
		'{1285301022,1921164930,890535657,1167103290,-2091734734,1804677351,1123917079,800965598,1321147286,-699222959,
		-1240417446,938921209,-1625285895,-1468202830,-42497534,1587528102}'),
	('fss', 5, 'the quick brown fox jumps over the lazy dog',
		'{31696454,98093281,92105569,422053317,56740060,141690876,72554759,23847857,97708740,137911300,54873939,263108583,
		15972811,296051865,481248529,75794616}'),
	('permutations', 5, 'the quick brown fox jumps over the lazy dog',
		'{35804126,12611133,48155370,87931675,910305,79804711,63759843,192436698,112034130,62773742,11229548,41045590,
		115273100,68474993,114226307,60731342}'),
	('fss', 9, 'the quick brown fox jumps over the lazy dog',
		'{38750435,113406909,375720275,43235310,122362818,305569960,122857180,71431540,166660862,218347476,23266996,
		87000997,71026862,458435928,14587634,56602302}'),
	('permutations', 9, 'the quick brown fox jumps over the lazy dog',
		'{196610875,131851595,9789889,419069222,7507390,117009050,124291364,98742462,64524828,99203553,149498180,249353429,
		68020923,113752612,414420315,171020953}'),
	('fss', 5, 'naïve café — 漢字かな交じり文 😀 done',
		'{335538272,320568026,52544438,82154777,303130887,264080221,126470877,546872384,63469999,50768106,67409536,62890916,
		14557468,265547534,154672717,90326715}'),
	('permutations', 5, 'naïve café — 漢字かな交じり文 😀 done',
		'{220115698,62839166,30752357,499770327,10749752,36076257,49820956,159329332,62514874,395498016,272807234,212765582,
		58709980,225868768,380559033,67045821}'),
	('fss', 9, 'naïve café — 漢字かな交じり文 😀 done',
		'{19839011,38857318,473597504,21210340,245500914,11437269,460470649,2674739,29531070,834191753,47497352,102504154,
		324594589,758144035,88718532,49190061}'),
	('permutations', 9, 'naïve café — 漢字かな交じり文 😀 done',
		'{91397147,143896339,543942126,274411857,560724645,215937042,356545828,380104152,737656015,160644553,115066629,
		608135164,22385614,162266793,672997929,224349536}'),
	('fss', 5, repeat('a', 40),
		'{1000094162,1917790842,377656910,1754418581,1954177375,1925467156,2026286439,1974722425,2115220026,1975508279,
		1897012023,1459858583,1949059814,2026324226,65994883,719503719}'),
	('permutations', 5, repeat('a', 40),
		'{-42970678,619882414,-1253442835,-1592174266,1202066934,742703435,-1939155333,1530787738,-516217950,1543361405,
		287421310,1733749549,1120185965,-1938550746,1128233806,2062990538}'),
	('fss', 9, repeat('a', 40),
		'{363755604,2070504699,1280662775,2128157608,1951172440,706680646,1905047453,1996299184,2065801678,1529540160,
		1976647157,1994528886,1928159138,1815714631,227470636,2079585194}'),
	('permutations', 9, repeat('a', 40),
		'{291973842,-1231663178,490219013,-309216626,1153987982,-1971540317,415988179,1876015874,-1306911510,389721989,
		1561583446,1847691109,785775141,-1877916706,-1066869738,-1086375262}');
SELECT scheme, shingle_size, body, minhash(body, 16, shingle_size, scheme => scheme) AS computed, signature AS known
FROM known WHERE minhash(body, 16, shingle_size, scheme => scheme) IS DISTINCT FROM signature;
DROP TABLE known;
SELECT minhash(body, 4, 2, 'word') AS words, minhash(body, 4, 1, 'word') AS single_words,
       minhash(body, 4, 5, seed => 42) AS seeded, minhash(body, 4, 3, 'word', 'permutations', -1) AS seeded_words
FROM (VALUES ('Don''t panic: naïve cafés charge 3.14 € for 漢字, e.g. twice.')) AS v (body) \gx

-- Options by name.
SELECT minhash('one two three four', num_perm => 4, shingle_size => 2, unit => 'word');
SELECT minhash(body => 'text') = minhash('text', 128, 5, 'char', 'fss', 0) AS defaults,
       minhash(elements => ARRAY['text']) = minhash(ARRAY['text'], 128, 'fss', 0) AS defaults_of_sets;

-- Every option makes other signatures, which cannot be compared with the first.
SELECT minhash('one two three four', 4, seed => 7) <> minhash('one two three four', 4) AS a_seed,
       minhash('one two three four', 4, scheme => 'permutations') <> minhash('one two three four', 4) AS a_scheme,
       minhash('one two three four', 4, 3) <> minhash('one two three four', 4) AS a_size,
       minhash('one two three four', 4, 5, 'word') <> minhash('one two three four', 4) AS a_unit;
SELECT count(DISTINCT minhash('text', 8, seed => seed)) AS different
FROM unnest(ARRAY[0, 1, -1, 9223372036854775807, -9223372036854775808]) AS seed;

-- A text without shingles has no signature, and is nobody's duplicate.
SELECT minhash('') IS NULL AS empty, minhash(' .,', unit => 'word') IS NULL AS separators,
       minhash(NULL::text) IS NULL AS "null", minhash('x') IS NULL AS one_character;
SELECT minhash('text', NULL) IS NULL AS num_perm, minhash('text', scheme => NULL) IS NULL AS scheme,
	minhash('text', seed => NULL) IS NULL AS seed;

-- Sets that are ready made: order, repeats and nulls do not matter.
SELECT minhash(ARRAY['bread', 'milk', 'beer'], 4);
SELECT minhash(ARRAY['beer', NULL, 'milk', 'bread', 'milk'], 4);
SELECT minhash(ARRAY[['beer', 'milk'], ['bread', NULL]], 4) = minhash(ARRAY['bread', 'milk', 'beer'], 4) AS dimensions,
       minhash('[0:1]={bread,milk}'::text[], 4) = minhash(ARRAY['bread', 'milk']::varchar[], 4) AS bounds;
SELECT minhash('{}'::text[]) IS NULL AS empty, minhash(ARRAY[NULL]::text[]) IS NULL AS nulls,
       minhash(ARRAY['']) IS NULL AS empty_element, minhash(NULL::text[]) IS NULL AS "null";
SELECT minhash(array_agg(i::text), 64) = minhash(array_agg(i::text ORDER BY -i), 64) AS same
FROM generate_series(1, 20000) AS i;

-- A text's signature is that of its shingles.
SELECT minhash('abcdabd', 8, 2) = minhash(shingles('abcdabd', 2), 8) AS characters,
       minhash(repeat('abcdabd ', 9), 8, 2, 'char', 'permutations', 3)
           = minhash(shingles(repeat('abcdabd ', 9), 2), 8, 'permutations', 3) AS options,
       minhash('the fox', 8, 1, 'word') = minhash(ARRAY['fox', 'the'], 8) AS single_words;

-- The textbook's permutations do not depend on how many there are: the first slots agree. The
-- signature of a union is the least of both in each slot, as unsigned numbers.
SELECT (minhash('any text', 64, scheme => 'permutations'))[1:16]
     = minhash('any text', 16, scheme => 'permutations') AS prefix;
SELECT count(*) AS different
FROM unnest(minhash(ARRAY['a', 'b'], 64, 'permutations'), minhash(ARRAY['c'], 64, 'permutations'),
            minhash(ARRAY['a', 'b', 'c'], 64, 'permutations')) AS u (ab, c, abc)
WHERE abc <> CASE WHEN ab::bit(32) < c::bit(32) THEN ab ELSE c END;

-- From one slot to 4096.
SELECT cardinality(minhash('text', 1)) AS least, cardinality(minhash('text', 4096)) AS greatest,
       cardinality(minhash('text', 4096, scheme => 'permutations')) AS permutations;

-- IMMUTABLE in truth: generated columns and expression indexes.
CREATE TABLE minhash_docs (
	id integer PRIMARY KEY,
	body text,
	signature integer[] GENERATED ALWAYS AS (minhash(body, 16)) STORED
);
CREATE INDEX minhash_docs_bands ON minhash_docs USING gin (band_hashes(minhash(body, 16), 8, 2));
INSERT INTO minhash_docs VALUES (1, 'a text'), (2, NULL), (3, ''), (4, 'a text');
UPDATE minhash_docs SET body = 'another text' WHERE id = 1;
SELECT id, signature = minhash(body, 16) AS same FROM minhash_docs ORDER BY id;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM minhash_docs WHERE band_hashes(minhash(body, 16), 8, 2) && ARRAY[1, 2]::bigint[];
SELECT id FROM minhash_docs WHERE band_hashes(minhash(body, 16), 8, 2) && band_hashes(minhash('a text', 16), 8, 2)
ORDER BY id;
RESET enable_seqscan;

-- PARALLEL SAFE in truth: workers compute the same signatures.
INSERT INTO minhash_docs SELECT i, 'document ' || i FROM generate_series(10, 5000) AS i;
CREATE TEMP TABLE serial AS SELECT id, minhash(body, 64) AS signature FROM minhash_docs;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TEMP TABLE parallel AS SELECT id, minhash(body, 64) AS signature FROM minhash_docs;
EXPLAIN (COSTS OFF) SELECT count(minhash(body, 64)) FROM minhash_docs;
SELECT count(minhash(body, 64)) FROM minhash_docs;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT count(*) AS different FROM serial AS s FULL JOIN parallel AS p USING (id)
WHERE p.signature IS DISTINCT FROM s.signature;
DROP TABLE minhash_docs, serial, parallel;

-- Signatures of many configurations in one session do not disturb each other.
SELECT count(DISTINCT a) AS a, count(DISTINCT b) AS b FROM (
	SELECT minhash(t, 16, seed => 5) AS a, minhash(i::text, 1 + i::integer % 7, 1 + i::integer % 5, seed => i % 9),
		minhash(t, 24, 2, 'word') AS b
	FROM unnest(array_fill('one text of several words'::text, ARRAY[200])) WITH ORDINALITY AS u (t, i)
) AS interleaved;

-- Options outside their range are refused.
SELECT minhash('text', 0);
SELECT minhash('text', 4097);
SELECT minhash('text', shingle_size => 0);
SELECT minhash('text', scheme => 'sha1');
SELECT minhash('text', unit => 'paragraph');
SELECT minhash(ARRAY['a'], 0);
SELECT minhash(ARRAY['a'], scheme => 'FSS');
SELECT minhash(ARRAY[1.5, 2]);
\set VERBOSITY sqlstate
SELECT minhash('text', 0);
SELECT minhash('text', scheme => 'sha1');
SELECT minhash(ARRAY['a'], 4097);
