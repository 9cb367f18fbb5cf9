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

-- Documents and passages have an equality and an order, by their bytes: the value, its threshold and its options.
CREATE TABLE several (id integer PRIMARY KEY, d minlsh_document, p minlsh_passage);
INSERT INTO several VALUES
	(1, minlsh_document('a text'), minlsh_passage('a text')),
	(2, minlsh_document('a text'), minlsh_passage('a text')),
	(3, minlsh_document('A text'), minlsh_passage('A text')),
	(4, minlsh_document('a text', 0.9), minlsh_passage('a text', 0.9)),
	(5, minlsh_document('a text', unit => 'word'), minlsh_passage('a text', min_match => 60)),
	(6, minlsh_document('{a text}'::text[]), NULL), (7, NULL, NULL);
SELECT count(DISTINCT d) AS documents, count(DISTINCT p) AS passages FROM several;
SELECT array_agg(id ORDER BY id) FROM several GROUP BY d ORDER BY 1;
SELECT count(*) FROM (SELECT d, p FROM several UNION SELECT d, p FROM several) AS both_times;
SELECT count(*) FROM (SELECT d FROM several EXCEPT SELECT d FROM several WHERE id < 3) AS others;
SELECT a.id, b.id FROM several AS a JOIN several AS b ON a.d = b.d AND a.id < b.id;
SELECT id FROM several WHERE d IS NOT DISTINCT FROM minlsh_document('a text')
	AND p = minlsh_passage('a text') ORDER BY id;
SELECT count(*) AS pairs, bool_and((a.d < b.d)::int + (a.d = b.d)::int + (a.d > b.d)::int = 1
		AND (a.d <= b.d) = NOT (a.d > b.d) AND (a.d >= b.d) = NOT (a.d < b.d) AND (a.d <> b.d) = NOT (a.d = b.d)
		AND sign(minlsh_document_cmp(a.d, b.d)) = (a.d > b.d)::int - (a.d < b.d)::int
		AND (a.d <> b.d OR minlsh_document_hash(a.d) = minlsh_document_hash(b.d))) AS total_order,
	bool_and((a.p < b.p)::int + (a.p = b.p)::int + (a.p > b.p)::int = 1
		AND (a.p <= b.p) = NOT (a.p > b.p) AND (a.p >= b.p) = NOT (a.p < b.p) AND (a.p <> b.p) = NOT (a.p = b.p)
		AND sign(minlsh_passage_cmp(a.p, b.p)) = (a.p > b.p)::int - (a.p < b.p)::int
		AND (a.p <> b.p OR minlsh_passage_hash(a.p) = minlsh_passage_hash(b.p))) AS of_passages
FROM several AS a, several AS b;
-- A value that is stored compressed, or out of line, is the same.
CREATE TABLE stored (d minlsh_document, p minlsh_passage);
INSERT INTO stored SELECT minlsh_document(t), minlsh_passage(t) FROM repeat('a long text ', 100000) AS t;
SELECT count(*) FROM stored WHERE d = minlsh_document(repeat('a long text ', 100000))
	AND p = minlsh_passage(repeat('a long text ', 100000));
DROP TABLE stored;
CREATE UNIQUE INDEX ON several (d, id);
CREATE INDEX ON several USING hash (p);
SET enable_seqscan = off;
SELECT id FROM several WHERE d = minlsh_document('a text') ORDER BY id;
SELECT id FROM several WHERE p = minlsh_passage('a text') ORDER BY id;
RESET enable_seqscan;
MERGE INTO several AS s USING (VALUES (4, minlsh_document('a text', 0.9)), (5, minlsh_document('new'))) AS n(id, d)
	ON s.id = n.id WHEN MATCHED AND s.d IS DISTINCT FROM n.d THEN UPDATE SET d = n.d;
SELECT id, d FROM several WHERE id IN (4, 5) ORDER BY id;
CREATE FUNCTION noticed() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN RAISE NOTICE '% changed', NEW.id; RETURN NEW; END $$;
CREATE TRIGGER noticed BEFORE UPDATE ON several FOR EACH ROW WHEN (OLD.d IS DISTINCT FROM NEW.d)
	EXECUTE FUNCTION noticed();
UPDATE several SET d = minlsh_document('a text') WHERE id < 4;
DROP TABLE several;
DROP FUNCTION noticed();
