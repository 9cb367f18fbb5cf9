-- A document is a text, a set or a signature together with all that says what it is similar to.

SELECT minlsh_document('some text');
SELECT minlsh_document('some text', 0.9, 3, 'word');
SELECT minlsh_document('some text', normalization => 'whitespace, casefold', stop_words => 'the a the', bag => true);
SELECT minlsh_document(ARRAY['milk', 'bread', NULL, 'milk'], 0.5);
SELECT minlsh_document('{}'::text[]) AS empty_set, minlsh_document('') AS empty_text;
SELECT minlsh_signature(minhash('some text', 8), 0.7);

-- A NULL argument makes no document.
SELECT minlsh_document(NULL::text) IS NULL AS body, minlsh_document('a text', NULL) IS NULL AS threshold,
       minlsh_document(NULL::text[]) IS NULL AS elements, minlsh_signature(NULL) IS NULL AS signature;

-- It is read back as it was: what a dump needs. The form is JSON, so that it can be taken apart.
SET default_toast_compression = pglz;
CREATE TABLE documents (id integer PRIMARY KEY, document minlsh_document);
INSERT INTO documents VALUES
	(1, minlsh_document('plain')),
	(2, minlsh_document(E'quotes " and '' and \\, a tab \t, two\r\nlines, \x01 and \x1f, ümläut, 漢字, 😀',
		0.123456789012345678)),
	(3, minlsh_document('with options', 1, 64, 'anchored', 'nfc casefold diacritics', 'the "quoted" \word', true)),
	(4, minlsh_document('')),
	(5, minlsh_document(ARRAY[1, 2, 3], 1e-9)),
	(6, minlsh_document('{}'::uuid[])),
	(7, minlsh_signature(ARRAY[0, -1, 2147483647, -2147483648])),
	(8, minlsh_document(repeat('a long text is stored compressed or out of line. ', 1000) || md5('x'))),
	(9, NULL);
SELECT id, pg_column_size(document) AS bytes, left(document::text, 150) AS form FROM documents ORDER BY id;
SELECT count(*) AS documents, count(*) FILTER (WHERE document::text::minlsh_document::text = document::text) AS same,
       count(*) FILTER (WHERE minlsh_document_send(document::text::minlsh_document) = minlsh_document_send(document))
       AS same_bytes
FROM documents WHERE document IS NOT NULL;
SELECT id, document::text::jsonb ->> 'threshold' AS threshold, jsonb_object_keys(document::text::jsonb) AS member
FROM documents WHERE id IN (1, 3, 5, 7) ORDER BY 1, 3;
SELECT document::text::jsonb ->> 'text' =
       E'quotes " and '' and \\, a tab \t, two\r\nlines, \x01 and \x1f, ümläut, 漢字, 😀' AS same_text
FROM documents WHERE id = 2;

-- What is left out is as by default.
SELECT '{"threshold":0.9 , "text" : "some text" } '::minlsh_document;
SELECT '{"threshold": 1, "stop_words": "english", "bag": false, "unit": "word", "text": ""}'::minlsh_document;
SELECT '{"threshold": 8e-1, "set": [3, -1, 3, 1]}'::minlsh_document, '{"threshold": 0.8, "set": []}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "\u0041\u00fc\u6f22\ud83d\ude00\/\b\f"}'::minlsh_document;

-- What does not begin like that is a text. So minlsh_document('...'), which PostgreSQL takes for a cast, means the
-- same as with a text of known type; columns are texts whatever they hold.
SELECT 'some text'::minlsh_document::text = minlsh_document('some text'::text)::text AS text,
       ''::minlsh_document::text = minlsh_document(''::text)::text AS empty,
       minlsh_document('{"a": 1}')::text = minlsh_document('{"a": 1}'::text)::text AS json;
PREPARE named AS SELECT minlsh_document($1)::text = minlsh_document($2::text)::text AS parameter;
EXECUTE named ('some text', 'some text');
DEALLOCATE named;
SELECT minlsh_document('{"threshold": 0.5, "set": [1]}') AS literal,
       minlsh_document('{"threshold": 0.5, "set": [1]}'::text) AS text;
SELECT minlsh_document('{"threshold": 0.5, "set": [1]}'::varchar) AS "varchar",
       minlsh_document('some text'::char(12)) AS "char";

-- What begins like that, and does not go on like that, is refused.
SELECT '{"threshold": 0.8, "text": "a", "set": [1]}'::minlsh_document;
SELECT '{"threshold": 0.8, "unit": "char", "set": [1]}'::minlsh_document;
SELECT '{"threshold": 0.8}'::minlsh_document;
SELECT '{"threshold":'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "a"'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "a"} and more'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "a}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "a\'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "\x"}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "\u00"}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "\u+123"}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "\u0000"}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "\ud83d"}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "\ud83d\u0041"}'::minlsh_document;
SELECT E'{"threshold": 0.8, "text": "two\nlines"}'::minlsh_document;
SELECT '{"threshold": 0.8, "title": "a"}'::minlsh_document;
SELECT '{"threshold": 0.8, "threshold": 0.8, "text": "a"}'::minlsh_document;
SELECT '{"threshold": 0.8, "text": "a", "bag": 1}'::minlsh_document;
SELECT '{"threshold": 0.8, "set": [1, ]}'::minlsh_document;
SELECT '{"threshold": 0.8, "set": [9223372036854775808]}'::minlsh_document;
SELECT '{"threshold": 0.8, "signature": [1.5]}'::minlsh_document;

-- Arguments outside of their range.
SELECT minlsh_document('a', 0);
SELECT minlsh_document('a', 1.1);
SELECT minlsh_document('a', 'NaN');
SELECT minlsh_document(ARRAY[1], -1);
SELECT minlsh_signature(ARRAY[1], 'Infinity');
SELECT minlsh_document('a', unit => 'line');
SELECT minlsh_document('a', shingle_size => 65);
SELECT minlsh_document('a', normalization => 'lowercase');
SELECT '{"threshold": 2, "text": "a"}'::minlsh_document;
SELECT '{"threshold": 0.8, "shingle_size": 0, "text": "a"}'::minlsh_document;
SELECT minlsh_signature('{}');
SELECT minlsh_signature(ARRAY[1, NULL]);
SELECT minlsh_signature(array_fill(0, ARRAY[4097]));
SELECT minlsh_document(ARRAY[1.5, 2.5]);
SELECT minlsh_document(ARRAY[now()]);

DROP TABLE documents;
