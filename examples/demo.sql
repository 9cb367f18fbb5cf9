-- Which open-source licences are nearly the same text? A tour of minlsh on 727
-- real documents. `make demo` runs it on a private server; by hand, in a database
-- of your own and from the top of the repository:
--
--     psql -X -v licenses=examples/licenses/licenses.csv -f examples/demo.sql

\set QUIET on
\set ON_ERROR_STOP on
\if :{?licenses} \else \set licenses examples/licenses/licenses.csv \endif
\pset border 0
\pset footer off
\pset pager off
\pset null ''
SET client_min_messages = warning;

\echo '== 1. A table of documents'
\echo '   The texts of the SPDX licence list, loaded as any table would be.'
\echo

CREATE EXTENSION IF NOT EXISTS minlsh;
DROP TABLE IF EXISTS licenses CASCADE;
CREATE TABLE licenses (id text PRIMARY KEY, name text NOT NULL, body text NOT NULL);

-- \copy takes no variables in its arguments, but a variable may hold a \copy.
\set load '\\copy licenses FROM ' :'licenses' ' WITH (FORMAT csv, HEADER)'
:load

SELECT count(*) AS documents, pg_size_pretty(sum(octet_length(body))) AS text,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY octet_length(body)) AS median_bytes
FROM licenses;

\echo '== 2. One call indexes them'
\echo '   SELECT minlsh_create_index(''licenses'', ''body'');'
\echo

SELECT minlsh_create_index('licenses', 'body') AS index;

\echo '== 3. Which licences read like the Apache licence?'
\echo '   near_duplicates(id, threshold): most similar first.'
\echo

SELECT n.doc_id, round(n.similarity::numeric, 2) AS similarity, left(l.name, 48) AS name
FROM near_duplicates('Apache-2.0', 0.8) n JOIN licenses l ON l.id = n.doc_id;

\echo '== 4. ... and where do two of them differ?'
\echo '   Plain SQL from here: cut both texts into clauses, keep those that only one has.'
\echo

CREATE OR REPLACE FUNCTION clauses(body text) RETURNS TABLE (n bigint, clause text)
LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT n, clause
    FROM regexp_split_to_table(regexp_replace(body, '\s+', ' ', 'g'), '(?<=[.:;]) ')
         WITH ORDINALITY AS t(clause, n)
    WHERE length(clause) > 12   -- no bare numbers
$$;

CREATE OR REPLACE FUNCTION side_by_side(left_id text, right_id text)
RETURNS TABLE ("only on the left" text, "only on the right" text)
LANGUAGE sql STABLE AS $$
    WITH l AS (SELECT c.* FROM licenses, clauses(body) c WHERE id = left_id),
         r AS (SELECT c.* FROM licenses, clauses(body) c WHERE id = right_id)
    SELECT left(x.clause, 60), left(y.clause, 60)
    FROM (SELECT clause, row_number() OVER (ORDER BY n) FROM l
          WHERE clause NOT IN (SELECT clause FROM r)) x
    FULL JOIN
         (SELECT clause, row_number() OVER (ORDER BY n) FROM r
          WHERE clause NOT IN (SELECT clause FROM l)) y USING (row_number)
    ORDER BY row_number
$$;

\echo '   Microsoft''s Public License and its "limited" sister:'
\echo
SELECT n.* FROM near_duplicates('MS-PL', 0.9) n;
SELECT * FROM side_by_side('MS-PL', 'MS-LPL');
\echo '   The one on the right is for Windows alone. And MIT beside JSON:'
\echo
SELECT * FROM side_by_side('MIT', 'JSON');

\echo '== 5. The similarities above are estimates from 128 numbers per document'
\echo '   verify => ''exact'' counts them out from the stored texts. (A gap: on that'
\echo '   count the document falls short of 0.8.)'
\echo

SELECT coalesce(s.doc_id, e.doc_id) AS doc_id,
       round(s.similarity::numeric, 4) AS estimate, round(e.similarity::numeric, 4) AS exact
FROM near_duplicates('BSD-3-Clause', 0.8) s
FULL JOIN near_duplicates('BSD-3-Clause', 0.8, verify => 'exact') e USING (doc_id)
ORDER BY e.similarity DESC NULLS LAST, doc_id;

\echo '== 6. The whole corpus: one LATERAL join'
\echo '   SELECT ... FROM licenses d, near_duplicates(d.id, 0.9, verify => ''exact'') n'
\echo

CREATE TEMP TABLE pairs AS
SELECT d.id AS doc_a, n.doc_id AS doc_b, n.similarity
FROM licenses d, near_duplicates(d.id, 0.9, verify => 'exact') n
WHERE d.id < n.doc_id;

SELECT count(*) AS pairs, count(*) FILTER (WHERE similarity = 1) AS identical FROM pairs;

\echo '   The closest pairs that are not the same text:'
\echo
SELECT doc_a, doc_b, round(similarity::numeric, 3) AS similarity
FROM pairs WHERE similarity < 1
ORDER BY similarity DESC, doc_a, doc_b LIMIT 8;

\echo '   One text under many names:'
\echo
SELECT doc_a AS text, count(*) + 1 AS names
FROM pairs
WHERE similarity = 1 AND doc_a NOT IN (SELECT doc_b FROM pairs WHERE similarity = 1)
GROUP BY doc_a ORDER BY names DESC, text LIMIT 5;

\echo '   Families, in one call: near_duplicate_clusters(''licenses'', 0.9, verify => ''exact'')'
\echo
SELECT cluster_id AS family, size, left(string_agg(doc_id, ' ' ORDER BY doc_id), 70) AS members
FROM near_duplicate_clusters('licenses', 0.9, verify => 'exact')
GROUP BY cluster_id, size ORDER BY size DESC, cluster_id LIMIT 6;

\echo '== 7. A new document is found in the transaction that writes it'
\echo '   A company takes the Boost licence and changes the name and a phrase.'
\echo

BEGIN;
INSERT INTO licenses
SELECT 'Acme-1.0', 'Acme Software License', replace(replace(body, 'Boost', 'Acme'), 'free of charge', 'at no cost')
FROM licenses WHERE id = 'BSL-1.0';
SELECT * FROM near_duplicates('Acme-1.0', 0.8);
SELECT * FROM side_by_side('Acme-1.0', 'BSL-1.0');
ROLLBACK;

\echo '   Rolled back, and the index with it:'
\echo
SELECT count(*) AS near_copies_of_boost FROM near_duplicates('BSL-1.0', 0.8);

\echo '== 8. A text that is not stored: near_duplicates_of(text)'
\echo '   Which licence is this, pasted from somebody''s README?'
\echo

SELECT * FROM near_duplicates_of($readme$
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

The Software shall be used for Good, not Evil.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
$readme$, 0.9);
