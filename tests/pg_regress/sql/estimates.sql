-- How many rows the planner expects of ~=. An index of the compared text knows.

CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT i, string_agg(md5(i::text || j), ' ' ORDER BY j)
FROM generate_series(1, 300) AS i, generate_series(1, 5) AS j GROUP BY i;
-- Most pages of this site say the same.
INSERT INTO docs SELECT 300 + i, 'This page does not exist. Go back to the start page, or search for what you need.'
FROM generate_series(1, 2700) AS i;
ANALYZE docs;
CREATE FUNCTION expected(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan #> '{0,Plan,Plan Rows}';
END $$;
CREATE FUNCTION used(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN coalesce(jsonb_path_query_first(plan, '$.**."Index Name"') #>> '{}', 'reads the table');
END $$;

-- Without an index a document is taken to have a few near-duplicates.
SELECT expected($$SELECT FROM docs WHERE body ~= 'This page does not exist. Go back to the start page, or search for '
       'what you need.'$$) AS frequent,
       expected($$SELECT FROM docs WHERE body ~= 'another text'$$) AS rare;

-- With an index its buckets are counted: those of the text that is looked for.
CREATE INDEX docs_near ON docs USING minlsh (body);
SELECT expected($$SELECT FROM docs WHERE body ~= 'This page does not exist. Go back to the start page, or search for '
       'what you need.'$$) AS frequent,
       expected($$SELECT FROM docs WHERE body ~= 'another text'$$) AS rare,
       expected($$SELECT FROM docs WHERE minlsh_document('another text', 0.9) ~= body$$) AS on_the_right,
       expected($$SELECT FROM docs WHERE body ~= ''$$) AS empty;
-- So the table is read for a text that most rows have, and the index for another one.
SELECT used($$SELECT FROM docs WHERE body ~= 'This page does not exist. Go back to the start page, or search for '
       'what you need.'$$) AS frequent,
       used($$SELECT FROM docs WHERE body ~= 'another text'$$) AS rare;

-- So is a text that is not known yet, in a join too.
PREPARE search(text) AS SELECT FROM docs WHERE body ~= $1;
SET plan_cache_mode = force_generic_plan;
SELECT expected($$EXECUTE search('another text')$$) AS of_any_text,
       expected($$SELECT FROM docs AS a JOIN docs AS b ON b.body ~= a.body$$) AS pairs;
-- And so are all where the index has a part of the rows, is of another text, or has scope columns.
DROP INDEX docs_near;
CREATE INDEX docs_some ON docs USING minlsh (body) WHERE id > 1500;
CREATE INDEX docs_upper ON docs USING minlsh (upper(body));
SELECT expected($$SELECT FROM docs WHERE id > 1500 AND body ~= 'This page does not exist. Go back to the start page, '
       'or search for what you need.'$$) AS of_the_part,
       expected($$SELECT FROM docs WHERE upper(body) ~= 'another text'$$) AS upper;
-- A predicate may have the operator in it.
DROP INDEX docs_some;
CREATE INDEX docs_some ON docs USING minlsh (body) WHERE body ~= minlsh_document('another text', 0.9);
SELECT expected($$SELECT FROM docs WHERE body ~= minlsh_document('another text', 0.9)$$) AS rare;
CREATE TABLE sites AS SELECT CASE WHEN id > 300 THEN 1 ELSE 2 END AS site, id, body FROM docs;
CREATE INDEX sites_near ON sites USING minlsh (site, body);
ANALYZE sites;
SELECT used($$SELECT FROM sites WHERE site = 1 AND body ~= 'This page does not exist. Go back to the start page, '
       'or search for what you need.'$$) AS of_a_site;

-- Where a policy hides rows nothing is counted: EXPLAIN would tell how many hidden rows are similar to a text.
CREATE ROLE estimates_reader;
CREATE INDEX docs_near ON docs USING minlsh (body);
INSERT INTO docs SELECT 5000 + i, 'A text that the reader does not see.' FROM generate_series(1, 50) AS i;
CREATE POLICY seen ON docs USING (id < 5000);
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON docs TO estimates_reader;
SELECT expected($$SELECT FROM docs WHERE body ~= 'A text that the reader does not see.'$$) AS to_the_owner;
SET ROLE estimates_reader;
SELECT expected($$SELECT FROM docs WHERE body ~= 'A text that the reader does not see.'$$)
     = expected($$SELECT FROM docs WHERE body ~= 'another text'$$) AS to_a_reader;
RESET ROLE;
DROP TABLE docs, sites;
DROP FUNCTION expected, used;
DROP ROLE estimates_reader;
