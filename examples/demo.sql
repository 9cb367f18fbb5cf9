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
\echo '   The texts of the SPDX licence list, loaded like any other table.'
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

\echo '== 2. An index, as for any column'
\echo '   CREATE INDEX ON licenses USING minlsh (body);'
\echo

CREATE INDEX ON licenses USING minlsh (body);

\echo '   Which licence is this, as somebody remembers it? ... WHERE body ~= minlsh_document(''...'', 0.8)'
\echo

\set first 'permission to use, copy, modify and distribute this software for any purpose and without fee '
\set remembered :first 'is hereby granted. the author disclaims all warranties with regard to this software.'
SELECT id, round(jaccard(body, minlsh_document(:'remembered'))::numeric, 3) AS similarity, name
FROM licenses WHERE body ~= minlsh_document(:'remembered', 0.8);

EXPLAIN (COSTS OFF) SELECT id FROM licenses WHERE body ~= 'some text';

\echo '== 3. Which licences read like the Apache licence?'
\echo '   near_duplicates(id, threshold) searches the index and returns the most similar first.'
\echo

SELECT n.doc_id, round(n.similarity::numeric, 3) AS similarity, left(l.name, 48) AS name
FROM near_duplicates('Apache-2.0', 0.8) n JOIN licenses l ON l.id = n.doc_id;

\echo '== 4. ... and where do two of them differ?'
\echo '   Plain SQL cuts both texts into clauses and keeps those that only one of them has.'
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
SELECT doc_id, round(similarity::numeric, 3) AS similarity FROM near_duplicates('MS-PL', 0.9);
SELECT * FROM side_by_side('MS-PL', 'MS-LPL');
\echo '   The one on the right is only for Windows. These are MIT and JSON:'
\echo
SELECT * FROM side_by_side('MIT', 'JSON');

\echo '== 5. The whole corpus, without an index: pass a table or a query'
\echo '   near_duplicate_pairs(''SELECT id, body FROM licenses'', 0.9)'
\echo

CREATE TEMP TABLE pairs AS SELECT * FROM near_duplicate_pairs('SELECT id, body FROM licenses', 0.9);
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

\echo '   Families: near_duplicate_clusters(''licenses'', 0.9). least_similar is the lowest similarity of two members.'
\echo
SELECT cluster_id AS family, size, round(least_similar::numeric, 2) AS least_similar,
       left(string_agg(doc_id, ' ' ORDER BY doc_id), 60) AS members
FROM near_duplicate_clusters('licenses', 0.9, body => 'body')
GROUP BY cluster_id, size, least_similar ORDER BY size DESC, cluster_id LIMIT 6;

\echo '   What to remove so that no near-duplicates remain, keeping the shortest name:'
\echo
SELECT count(*) AS to_remove, count(DISTINCT kept_id) AS kept_instead
FROM near_duplicate_plan('licenses', 0.9, body => 'body', keep => 'length(id), id');

\echo '== 6. A window function: the cluster of each row, named by its first row'
\echo '   near_duplicate_cluster(body, 0.9) OVER (ORDER BY id)'
\echo
SELECT id, cluster, cluster = number AS keep
FROM (SELECT id, row_number() OVER w AS number, near_duplicate_cluster(body, 0.9) OVER w AS cluster
      FROM licenses WHERE id LIKE 'OLDAP-1%' OR id LIKE 'PHP%' WINDOW w AS (ORDER BY id)) AS rows
ORDER BY number;

\echo '== 7. A new document is found in the transaction that writes it'
\echo '   A company takes the Boost licence and changes the name and a phrase.'
\echo

BEGIN;
INSERT INTO licenses
SELECT 'Acme-1.0', 'Acme Software License', replace(replace(body, 'Boost', 'Acme'), 'free of charge', 'at no cost')
FROM licenses WHERE id = 'BSL-1.0';
SELECT doc_id, round(similarity::numeric, 3) AS similarity FROM near_duplicates('Acme-1.0', 0.8);
SELECT * FROM side_by_side('Acme-1.0', 'BSL-1.0');
ROLLBACK;

\echo '   The rollback also removes the index entry:'
\echo
SELECT count(*) AS near_copies_of_boost FROM near_duplicates('BSL-1.0', 0.8);

\echo '== 8. A constraint: no two near-duplicates in one table'
\echo '   EXCLUDE USING minlsh (minlsh_document(body, 0.9) WITH ~=), and INSERT ... ON CONFLICT DO NOTHING'
\echo

CREATE TEMP TABLE distinct_texts (id text, body text, EXCLUDE USING minlsh (minlsh_document(body, 0.9) WITH ~=));
INSERT INTO distinct_texts SELECT id, body FROM licenses ORDER BY id ON CONFLICT DO NOTHING;
SELECT (SELECT count(*) FROM licenses) AS licences, count(*) AS distinct_texts FROM distinct_texts;

\echo '== 9. Tracked clusters: ids that stay, and a log'
\echo '   minlsh_track_clusters(), minlsh_refresh_clusters(): a merge, and a split'
\echo

CREATE TABLE notes (id integer PRIMARY KEY, body text);
CREATE INDEX notes_near ON notes USING minlsh (body) WITH (threshold = 0.7);
-- Two versions of a text, two of another part of it, and later one that lies between.
CREATE FUNCTION part(first integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(word, ' ' ORDER BY place)
    FROM licenses, string_to_table(body, ' ') WITH ORDINALITY AS w (word, place)
    WHERE id = 'BSL-1.0' AND place BETWEEN first AND first + 80 $$;
INSERT INTO notes SELECT id, part(1) || repeat('!', id) FROM generate_series(1, 2) AS id;
INSERT INTO notes SELECT id, part(23) || repeat('!', id) FROM generate_series(3, 4) AS id;
SELECT minlsh_track_clusters('notes_near');
SELECT clusters FROM minlsh_refresh_clusters('notes_clusters');
INSERT INTO notes VALUES (5, part(12));
SELECT clusters FROM minlsh_refresh_clusters('notes_clusters');
DELETE FROM notes WHERE id = 5;
SELECT clusters FROM minlsh_refresh_clusters('notes_clusters');
SELECT refresh, event, cluster_id, other_id, doc_id, size FROM notes_clusters_log WHERE refresh > 1 ORDER BY seq;
