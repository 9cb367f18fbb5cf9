-- What of one text is in another.

-- A quoted sentence, in other case and with other white space; places are those of substr().
SELECT s.*, passage = substr(a, a_from, a_length) AS is_substr,
	normalize_text(passage) = normalize_text(substr(b, b_from, b_length)) AS is_the_same
FROM (VALUES (
	'As the license says: The software is provided "as is", without warranty of any kind, express or implied. So be it.',
	E'THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,\n  EXPRESS OR IMPLIED, INCLUDING ...'
)) AS texts(a, b), shared_passages(a, b) AS s;

-- Two texts with the same two sentences in another order: a row each.
SELECT a_from, b_from, passage FROM shared_passages(
	'The first sentence is about apples. And the second one, about pears.',
	'And the second one, about pears. The first sentence is about apples.', 20);

-- A passage ends where the texts differ: it has the first character of the white space there.
SELECT a_from, a_length, b_from, b_length, '[' || passage || ']' AS passage
FROM shared_passages(E'The quick brown fox \n  jumps', 'the quick brown fox  sleeps', 16);
SELECT a_from, a_length, b_from, b_length, '[' || passage || ']' AS passage
FROM shared_passages('The quick brown fox   ', 'So the quick brown fox   slept', 16);

-- Whatever the white space is: the passage is what the texts share, and the first character behind it.
SELECT count(*), bool_and(passage = shared || left(space, 1)) AS first_of_each
FROM (VALUES ('  '), (E'\n\n '), (E'\t\r\n'), (U&'\00A0 '), (U&'\3000\3000'), (U&'\2028 ')) AS s(space),
	(VALUES ('The quick brown fox')) AS t(shared),
	shared_passages(shared || space || 'jumps', shared || ' sleeps', 16);

-- Nothing in common that is long enough, and texts that are shorter than min_match.
SELECT * FROM shared_passages('one two three', 'three two one', 16);
SELECT a_from, a_length, b_from, b_length, passage FROM shared_passages('Short quote', 'a short  quote, found');
SELECT * FROM shared_passages('a text that is long enough', '');
SELECT * FROM shared_passages('', 'a text that is long enough');
SELECT * FROM shared_passages(NULL, 'a text');

-- The share of a passage that a text has. It is not symmetric.
SELECT passage_coverage('twenty characters on', 'before; twenty characters on; after', 16) AS contained,
	passage_coverage('before; twenty characters on; after', 'twenty characters on', 16) AS contains,
	passage_coverage('twenty characters on', 'something else altogether', 16) AS neither,
	passage_coverage('short', 'a short one') AS short, passage_coverage('short', 'shore') AS not_short,
	passage_coverage('', 'a text') AS of_nothing, passage_coverage('a text', '') AS in_nothing;
SELECT passage_coverage(body, body) AS itself
FROM (VALUES ('a'), (repeat('ab ', 100)), (repeat('x', 10000))) AS t(body);

-- Coverage counts what shared_passages() lists.
SELECT round(passage_coverage(a, b, 20)::numeric, 4) AS coverage,
	(SELECT sum(length(normalize_text(passage))) FROM shared_passages(a, b, 20)) AS covered, length(normalize_text(a))
FROM (VALUES ('The quick brown fox jumps over the lazy dog, and then sleeps in the warm afternoon sun.',
	'Yesterday the quick brown fox jumps over the lazy cat and then it sleeps in the warm afternoon sun, too'))
	AS t(a, b);

-- Characters that were normalised together are shown together: ligatures, letters with their marks, Hangul.
SELECT a_from, a_length, b_from, b_length, passage FROM shared_passages(
	U&'x\FB01nds the na\00EFve cafe\0301 stra\00DFe', 'finds the naïve café strasse y', 16);
SELECT a_from, a_length, passage FROM shared_passages(
	U&'\1112\1161\11AB\1100\1173\11AF \B9D0\C500\C744 \C870\AE08 \D569\B2C8\B2E4 \C8E0',
	U&'\D55C\AE00 \B9D0\C500\C744 \C870\AE08 \D569\B2C8\B2E4 \C8E0', 16);
SELECT passage_coverage('Les élèves français étaient là', 'LES ELEVES FRANCAIS ETAIENT LA', 16, 'aggressive');

-- Long texts: periodic ones, and one character over and over.
SELECT count(*), sum(a_length) FROM shared_passages(repeat('-', 300000), repeat('-', 200000));
SELECT passage_coverage(repeat('ab', 200000), repeat('ba', 100000));
SELECT passage_coverage(repeat(' ', 100000), ' '), passage_coverage(repeat(' .', 100000), repeat('. ', 100));

-- What is refused.
SELECT * FROM shared_passages('a', 'b', 15);
SELECT passage_coverage('a', 'b', 1001);
SELECT passage_coverage('a', 'b', normalization => 'plain min_length=3');
SELECT passage_coverage('a', 'b', normalization => 'tidy');
