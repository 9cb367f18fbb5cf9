-- What differs between two texts, word by word and in order.
SELECT * FROM minlsh_diff('Wages are paid on the first of each month.',
	'wages are paid on the LAST day of each  month.');
-- The same as one text: [-only in the first-], {+only in the second+}.
SELECT minlsh_marked_diff('Wages are paid on the first of each month.',
	'wages are paid on the LAST day of each  month.');

-- Words are compared after normalisation: case, Unicode form and white space do not count unless you say so.
SELECT minlsh_marked_diff('The Straße', 'the  STRASSE'), minlsh_marked_diff('The Straße', 'the  STRASSE', 'none');
SELECT minlsh_marked_diff('Is it 3 o''clock?', 'It is 4 o''clock!', 'aggressive');
-- Texts without spaces are cut as Unicode cuts words.
SELECT minlsh_marked_diff('我爱北京', '我爱上海');

-- White space belongs to the word before it.
SELECT found_in, '[' || passage || ']' AS passage FROM minlsh_diff('one   two three ', 'one two  four');

-- Nothing in common, nothing different, nothing at all.
SELECT minlsh_marked_diff('one', 'two'), minlsh_marked_diff('same', 'same'), minlsh_marked_diff('', 'new'),
       minlsh_marked_diff('', ''), minlsh_marked_diff(NULL, 'x') IS NULL AS is_null;
SELECT count(*) FROM minlsh_diff('', '');

-- The parts of the first text, and of both, are the first text.
SELECT string_agg(passage, '' ORDER BY n) FILTER (WHERE found_in <> 'b') = body AS whole
FROM (VALUES ('a b c d e f  g h'), (E'line\nline two\n three'), ('x')) AS texts (body),
     ROWS FROM (minlsh_diff(body, 'b c X f g Y three')) WITH ORDINALITY AS parts (found_in, passage, n)
GROUP BY body ORDER BY body;

-- A text of more than 1,048,576 words is too long.
SELECT minlsh_diff(repeat('word ', 1048577), 'word');
SELECT minlsh_diff('a', 'b', 'no such step');
