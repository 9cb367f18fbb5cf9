-- Which index a query of ~= uses, if any: one that serves what it asks for.

CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT i, string_agg(md5((i / 2)::text || j), ' ' ORDER BY j)
FROM generate_series(1, 1000) AS i, generate_series(1, 5) AS j GROUP BY i;
CREATE INDEX strict ON docs USING minlsh (body) WITH (threshold = 0.95);
CREATE INDEX words ON docs USING minlsh (body) WITH (unit = 'word', shingle_size = 3);
CREATE INDEX usual ON docs USING minlsh (body);
ANALYZE docs;
-- The indexes of a plan, or none where the table is read.
CREATE FUNCTION used(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(DISTINCT name #>> '{}', ' ') FROM jsonb_path_query(plan, '$.**."Index Name"') AS name
		WHERE name #>> '{}' <> 'docs_pkey');
END $$;

-- What is known counts: the options and the threshold of a document, and those of a plain text.
SELECT used($$SELECT FROM docs WHERE body ~= 'some text'$$) AS plain,
       used($$SELECT FROM docs WHERE body ~= minlsh_document('some text', 0.9)$$) AS document,
       used($$SELECT FROM docs WHERE body ~= minlsh_document('some text', 0.96)$$) AS strict,
       used($$SELECT FROM docs WHERE body ~= minlsh_document('some text', 0.9, 3, 'word')$$) AS words,
       used($$SELECT FROM docs WHERE body ~= minlsh_document('some text', 0.9, 4)$$) AS options_of_none,
       used($$SELECT FROM docs WHERE body ~= minlsh_document('some text', 0.7)$$) AS threshold_of_none;
-- In a join, too, where the text is that of another row.
SELECT used($$SELECT FROM docs AS a JOIN docs AS b ON b.body ~= a.body$$) AS plain,
       used($$SELECT FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, 0.9)$$) AS document,
       used($$SELECT FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, 0.9, 3, 'word')$$) AS words,
       used($$SELECT FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, 0.9, 4)$$) AS none;

-- A plan for any parameters uses the index with the lowest threshold, unless what is known of them rules it out.
PREPARE plain(text) AS SELECT FROM docs WHERE body ~= $1;
PREPARE document(minlsh_document) AS SELECT FROM docs WHERE body ~= $1;
PREPARE threshold(text, float8) AS SELECT FROM docs WHERE body ~= minlsh_document($1, $2);
PREPARE words(text, float8) AS SELECT FROM docs WHERE body ~= minlsh_document($1, $2, 3, 'word');
PREPARE options(text, integer) AS SELECT FROM docs WHERE body ~= minlsh_document($1, 0.7, $2);
PREPARE many(text[]) AS SELECT FROM docs WHERE body ~= ANY ($1);
SET plan_cache_mode = force_generic_plan;
SELECT used($$EXECUTE plain('some text')$$) AS plain,
       used($$EXECUTE document(minlsh_document('some text', 0.96))$$) AS document,
       used($$EXECUTE threshold('some text', 0.96)$$) AS threshold,
       used($$EXECUTE words('some text', 0.9)$$) AS words,
       used($$EXECUTE options('some text', 5)$$) AS options,
       used($$EXECUTE many('{some text,another one}')$$) AS many;
-- Left to itself, PostgreSQL goes on planning for what it is given, since a plan for anything costs more.
RESET plan_cache_mode;
DO $$ BEGIN
	FOR i IN 1..6 LOOP EXECUTE 'EXECUTE document(minlsh_document(''some text'', 0.96))'; END LOOP;
END $$;
SELECT used($$EXECUTE document(minlsh_document('some text', 0.96))$$) AS strict,
       used($$EXECUTE document(minlsh_document('some text', 0.9, 3, 'word'))$$) AS words;

-- A plan is made again when minlsh.threshold changes.
SET plan_cache_mode = force_generic_plan;
SET minlsh.threshold = 0.7;
SELECT used($$EXECUTE plain('some text')$$) AS lower;
SET minlsh.threshold = 0.97;
SELECT used($$EXECUTE plain('some text')$$) AS higher;
RESET minlsh.threshold;
RESET plan_cache_mode;

-- Each element of an array is a search.
SELECT used($$SELECT FROM docs WHERE body ~= ANY (ARRAY['some text', 'another one'])$$) AS texts,
       used($$SELECT FROM docs WHERE body ~= ANY (ARRAY[minlsh_document('some text', 0.9),
              minlsh_document('another one', 0.9)])$$) AS documents,
       used($$SELECT FROM docs WHERE body ~= ANY (ARRAY[minlsh_document('some text', 0.9),
              minlsh_document('another one', 0.9, 3, 'word')])$$) AS different_options,
       used($$SELECT FROM docs WHERE body ~= ANY (ARRAY[minlsh_document('some text', 0.9),
              minlsh_document('another one', 0.5)])$$) AS low_threshold,
       used($$SELECT FROM docs WHERE body ~= ANY (ARRAY(SELECT body FROM docs WHERE id < 3))$$) AS of_a_query,
       used($$SELECT FROM docs AS a JOIN docs AS b ON b.body ~= ANY (ARRAY[a.body, 'some text'])$$) AS of_rows;
SELECT b.id FROM docs AS b WHERE body ~= ANY (ARRAY(SELECT body FROM docs WHERE id IN (10, 21))) ORDER BY b.id;
CREATE FUNCTION cost(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Total Cost}';
END $$;
SELECT cost($$SELECT FROM docs WHERE body ~= ANY (ARRAY['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])$$)
       > 3 * cost($$SELECT FROM docs WHERE body ~= ANY (ARRAY['a', 'b'])$$) AS dearer;

-- The planner calls no function but PostgreSQL's own way, with values that there are: a setting of an empty name is
-- none, and nobody asks for it.
CREATE TABLE names (name text);
SELECT used($$SELECT FROM names JOIN docs ON docs.body ~= current_setting(name)$$) AS text_of_a_function;
CREATE FUNCTION told(body text) RETURNS minlsh_document LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE NOTICE 'called with "%"', body;
	RETURN minlsh_document(body, 0.96);
END $$;
SELECT used($$SELECT FROM names JOIN docs ON docs.body ~= told(name)$$) AS document_of_a_function;

-- A value of another type that is cast to text, as citext is, counts as a text: below the threshold of all indexes
-- none is used, instead of one that would refuse to run.
SET client_min_messages = warning;
CREATE TYPE label;
CREATE FUNCTION label_in(cstring) RETURNS label LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION label_out(label) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE label (INPUT = label_in, OUTPUT = label_out, LIKE = text);
CREATE CAST (label AS text) WITHOUT FUNCTION AS IMPLICIT;
RESET client_min_messages;
CREATE TABLE labels (label label);
SELECT used($$SELECT FROM labels JOIN docs ON body ~= label::text$$) AS plain;
SET minlsh.threshold = 0.7;
SET enable_seqscan = off;
SELECT used($$SELECT FROM labels JOIN docs ON body ~= label::text$$) AS lower;
RESET enable_seqscan;
RESET minlsh.threshold;

DROP TABLE docs, names, labels;
DROP TYPE label CASCADE;
DROP FUNCTION used, cost, told;
DEALLOCATE ALL;
