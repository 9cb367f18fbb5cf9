-- How a text becomes a set: units, normalization, stop words, bags. The same options everywhere.
SET client_min_messages = warning;

-- What is compared can be looked at: the text after normalization, its tokens, its shingles.
SELECT normalize_text(E'  Straße\t Ｆｏｏ,  it''s ①: 42!');
SELECT tokens(E'  Straße\t Ｆｏｏ,  it''s ①: 42!');
SELECT shingles(E'  Straße\t Ｆｏｏ,  it''s ①: 42!', 2, 'word');

-- Codes: what two names of different things often differ in.
SELECT codes('Sony PS-LX350H, 42" (psLX350h)'), codes('GTK 3.0 or GTK 4', 1), codes('型号HF-10的产品'),
	codes(''), codes(NULL);
SELECT codes('a1', 0);

-- Case, line breaks, runs of white space and Unicode form do not count unless told otherwise.
SELECT jaccard('Hello World', 'hello  world') AS char,
	jaccard('Hello World', 'hello  world', normalization => 'none') < 1 AS char_as_written,
	jaccard('Hello World', 'hello  world', 1, 'word') AS word,
	jaccard('Hello World', 'hello  world', 1, 'word', normalization => 'none') AS word_as_written,
	jaccard('Hello World', 'hello  world', normalization => 'plain') AS char_plain;

-- So copies that differ in these alone are found by an index without any options.
CREATE TABLE copies (id int PRIMARY KEY, body text);
INSERT INTO copies SELECT 1, string_agg(md5(i::text), E' \n') FROM generate_series(1, 40) AS i;
INSERT INTO copies SELECT i, CASE i WHEN 2 THEN replace(body, E'\n', E'\r\n') WHEN 3
	THEN regexp_replace(body, '\s+', ' ', 'g')
	WHEN 4 THEN upper(body) END FROM copies, generate_series(2, 4) AS i;
CREATE INDEX ON copies USING minlsh (body) WITH (threshold = 1);
CREATE INDEX written ON copies USING minlsh (body) WITH (threshold = 1, normalization = none);
SELECT count(*) FROM near_duplicates(1, 1, 'copies_body_idx');
SELECT count(*) FROM near_duplicates(1, 1, 'written');
DROP TABLE copies;

-- Each step by itself. They are done in a fixed order, whatever the order in which they are written.
SELECT step, normalize_text(E'Ｃafé  No. １２, “Ünïted”: ﬁn’s!', step)
FROM unnest('{none,nfc,nfkc,casefold,diacritics,punctuation,punctuation_space,punctuation_basic,digits,invisible,
	letters,numbers,html,whitespace,min_length=4,stop_words=no.}'::text[]) WITH ORDINALITY AS s(step, i) ORDER BY i;
-- The normal form is applied again after case folding, which changes these 26 characters; none is beyond U+FFFF.
SELECT count(*), string_agg(format('U+%s', upper(lpad(to_hex(i), 4, '0'))), ' ' ORDER BY i) AS changed,
	bool_and(normalize_text(chr(i)) = normalize(folded, NFKC)) AS formed_again
FROM generate_series(1, 65535) AS i, normalize_text(CASE WHEN i NOT BETWEEN 55296 AND 57343 THEN chr(i) ELSE '' END,
	'nfkc') AS formed, normalize_text(formed, 'casefold') AS folded
WHERE folded <> normalize(folded, NFKC);
SELECT normalize_text('A B', 'whitespace casefold') = normalize_text('A B', 'casefold, whitespace') AS same;

-- Presets. "classic" is that of a much-taught course: lower case, no . , : ; ', no word of one or two letters, no
-- "the".
SELECT preset, normalize_text('The Café’s 3 Dogs, on the (old) road: it''s a dog''s life.', preset)
FROM unnest('{none,plain,aggressive,classic}'::text[]) AS p(preset);
SELECT tokens('The Café’s 3 Dogs, on the (old) road: it''s a dog''s life.', normalization => 'classic');

-- Words, as Unicode Standard Annex 29 cuts them: Chinese and Thai, which are written without spaces, one character at
-- a time, Japanese kana in runs, Korean and Arabic at their spaces. Emoji are no words.
SELECT script, tokens(body) FROM (VALUES ('Chinese', '我爱北京天安门。'), ('Japanese', '東京タワーに行きました'), ('Korean', '서울에 갔습니다'),
	('Thai', 'ฉันรักไทย'), ('Arabic', 'أحب القاهرة، كثيرا'), ('emoji', 'yes 👍🏽 no 👨‍👩‍👧'),
		('Latin', 'can''t pay 3.14 e.g. snake_case')) AS t(script, body);
-- A mark belongs to what stands before it: a space with a vowel mark behind it is a word.
SELECT tokens(U&'\0915 \093E \0916'), tokens(U&'\0915 \0301 \0916') AS no_vowel;
SELECT count(*) AS vowel_marks, bool_and(tokens('a ' || chr(i) || ' b') = ARRAY['a', ' ' || chr(i), 'b']) AS are_words
FROM unnest(ARRAY[2366, 2494, 3006, 3262, 3633, 3661, 4140, 6070]) AS i;
SELECT tokens('日本', 'char'), tokens('日本語', 'word'), shingles('我爱北京', 2, 'word');

-- Stop-word-anchored shingles (Mining of Massive Datasets, 3.2.4): a stop word and the next two tokens.
SELECT shingles('A spokesperson for the Sudzo Corporation revealed today that studies have shown it is good for people '
	'to buy Sudzo products.', 3, 'anchored');
SELECT shingles('Der Hund und die Katze', 2, 'anchored', stop_words => 'der die das und');
SELECT shingles('no anchor', 3, 'anchored', stop_words => 'der die das');
SELECT tokens('the cat and the dog', normalization => 'plain stop_words'),
	tokens('le chat et le chien', normalization => 'plain stop_words', stop_words => 'le la les et');

-- Set or bag: in a bag the second occurrence of a shingle is an element of its own, so similarities are weighted.
SELECT shingles('to be or not to be', 1, 'word'), shingles('to be or not to be', 1, 'word', bag => true);
SELECT jaccard('a a a b', 'a b b', 1, 'word') AS set, jaccard('a a a b', 'a b b', 1, 'word', bag => true) AS bag,
	containment('a a a b', 'a b b', 1, 'word', bag => true);
SELECT minhash_jaccard(minhash('a a a b', 4096, 1, 'word', bag => true),
	minhash('a b b', 4096, 1, 'word', bag => true)) BETWEEN 0.37 AND 0.43 AS estimate;

-- A text whose tokens are all dropped has no shingle, as an empty one.
SELECT minhash('a to of', unit => 'word', normalization => 'min_length=3'),
	shingles('?!', normalization => 'punctuation'), tokens('The THE', normalization => 'classic');
SELECT minhash(U&'\200B\200D') IS NOT NULL AS zero_width_is_text, normalize_text(U&'\0301') = U&'\0301' AS lone_mark;

-- What shows nothing by itself is kept by all steps but "invisible", which "aggressive" does, too.
SELECT jaccard(U&'so\00ADft hy\200Bphens \2067here\2069', 'soft hyphens here', normalization => 'invisible')
	AS invisible,
	jaccard(U&'so\00ADft', 'soft', normalization => 'aggressive') AS aggressive,
	jaccard(U&'so\00ADft', 'soft') < 1 AS plain;

-- "letters": copies that are typed without marks are equal, also where Unicode does not take a letter apart.
SELECT lang, jaccard(body, typed, normalization => 'aggressive') AS aggressive,
	jaccard(body, typed, normalization => 'plain letters diacritics invisible') AS letters,
	jaccard(body, typed) < 0.8 AS plain
FROM (VALUES ('Vietnamese', 'Đường phố Đà Nẵng ở bên bờ sông Hàn', 'Duong pho Da Nang o ben bo song Han'),
	('Polish', 'Zażółć gęślą jaźń, Łódź i Śląsk', 'Zazolc gesla jazn, Lodz i Slask'),
	('Danish', 'Rødgrød med fløde på Ærø og Ålborg', 'Rodgrod med flode pa Aero og Alborg'),
	('Croatian', 'Đurđevac, čvarci i žganci, đak i građanin', 'Durdevac, cvarci i zganci, dak i gradanin'),
	('Turkish', 'IĞDIR İstanbul ılık çay', 'Igdir Istanbul ilik cay'),
	('Arabic', 'ذهبَ أحمدُ إلى المدرسةِ آملًا، والفتى مـعه', 'ذهب احمد الي المدرسه املا، والفتي معه'),
	('Persian', 'می‌خواهم کتاب‌های قدیمی را', 'ميخواهم كتابهاي قديمي را')) AS of (lang, body, typed);
-- "numbers": log lines of one kind are equal, others are not.
SELECT normalize_text('2026-11-28 07:15:02.123 worker12 took 99 ms for 0x7ffe12ab at 3e8a9c, café1 fade ٣٤', 'numbers');
SELECT jaccard('07:15 worker12 took 99 ms', '23:01 worker7 took 1204 ms', normalization => 'plain numbers') AS same,
	jaccard('07:15 worker12 took 99 ms', '07:15 worker12 lost 99 rows', normalization => 'plain numbers') < 0.6
		AS other;
-- "html": a page and its text are equal. Places of passages are those in the page.
SELECT jaccard('<p>The <b>committee</b>&nbsp;approved', 'The committee approved', normalization => 'html plain')
	AS html, jaccard('<p>The <b>committee</b>&nbsp;approved', 'The committee approved') < 0.6 AS plain;
SELECT normalize_text('<!DOCTYPE html><style>p{}</style><!-- no <p> -->a<br/>b<script>if (a<b) "</p>"</script >c '
	'&lt;d&gt; &amp;amp; '
	'&#233; 2 < 3 <a href="x>y">e</a> <never closed', 'html whitespace');
SELECT * FROM shared_passages('<p>The <b>committee</b> approved the bridge</p>', 'the committee approved the bridge',
	16, 'html plain');
SELECT unnest(tokens('<p>The&#32;U<sub>2</sub></p>', normalization => 'html plain'));
CREATE TABLE pages (id int PRIMARY KEY, body text);
INSERT INTO pages VALUES (1, '<p>One <i>page</i> of &quot;hypertext&quot;'), (2, 'One page of "hypertext"'),
	(3, 'another text');
CREATE INDEX ON pages USING minlsh (body) WITH (normalization = 'plain, html');
SELECT * FROM near_duplicates(1, 1, 'pages_body_idx');
SELECT minlsh_options('pages_body_idx')->>'normalization' AS steps;
SELECT * FROM near_duplicate_pairs('pages', 0.9, normalization => 'html plain');
SELECT id FROM pages WHERE body ~= minlsh_document('one page of "hypertext"', 1, normalization => 'html plain')
ORDER BY id;
DROP TABLE pages;
SELECT minlsh_marked_diff('<b>a', 'a', 'html');

-- What contradicts itself or does not exist is refused.
SELECT normalize_text('x', 'nfc nfkc');
SELECT normalize_text('x', 'casefold casefold');
SELECT normalize_text('x', 'punctuation punctuation_space');
SELECT normalize_text('x', 'lower');
SELECT normalize_text('x', 'min_length=0');
SELECT minhash('x', unit => 'anchored', normalization => 'stop_words');
SELECT tokens('x', 'line');
