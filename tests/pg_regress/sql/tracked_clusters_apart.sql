-- What people decided stays decided: pairs of rows that are not copies, in a table that each refresh reads.
\set VERBOSITY terse
CREATE FUNCTION words(first integer, last integer, without integer[] DEFAULT '{}') RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(md5(i::text), ' ' ORDER BY i) FROM generate_series(first, last) i WHERE i <> ALL (without) $$;
-- A chain: 1 and 2 are similar, 2 and 3 are, and 1 and 3 are not. Two copies, and two hundred texts of their own.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, words(1, 40)), (2, words(4, 43)), (3, words(7, 46)), (11, words(101, 140)),
    (12, words(101, 140));
INSERT INTO docs SELECT i, words(1000 * i, 1000 * i + 9) FROM generate_series(1000, 1199) i;
CREATE INDEX docs_near ON docs USING minlsh (body) WITH (threshold = 0.8);
SELECT minlsh_track_clusters('docs_near');
SELECT joined, clusters FROM minlsh_refresh_clusters('docs_clusters');

-- least_similar shows the chain: it is the similarity of the row that has least in common with the first one.
CREATE VIEW state AS
    SELECT cluster_id, array_agg(doc_id ORDER BY doc_id) AS members, round(least_similar::numeric, 3) AS least_similar
    FROM docs_clusters JOIN docs_clusters_list USING (cluster_id) GROUP BY cluster_id, least_similar;
SELECT * FROM state ORDER BY 1;
SELECT doc_id, cluster_id, round(similarity::numeric, 3) AS similarity
FROM near_duplicate_clusters('docs_near') ORDER BY 1;
CREATE VIEW wrong AS
    SELECT l.cluster_id FROM docs_clusters_list l FULL JOIN (
        SELECT c.cluster_id, min(s.similarity) AS least FROM docs_clusters c
            JOIN near_duplicate_clusters('docs_near') s ON s.doc_id = c.doc_id GROUP BY 1) m USING (cluster_id)
    WHERE l.least_similar IS DISTINCT FROM m.least;
SELECT * FROM wrong;

-- Somebody looks at 2 and 3, and decides that they are not copies, nor are the two that are equal.
INSERT INTO docs_clusters_apart VALUES (3, 2), (11, 12);
SELECT * FROM minlsh_check('docs_clusters');
SELECT changed, removed, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM state ORDER BY 1;
SELECT * FROM minlsh_check('docs_clusters');
-- The next refreshes know it, and look at changes alone. A pair counts as not similar; a third row may still be similar
-- to both of them, and then all three belong together.
INSERT INTO docs VALUES (4, words(7, 46, '{46}'));
SELECT changed, joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM state ORDER BY 1;
INSERT INTO docs VALUES (13, words(101, 140));
SELECT changed, joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM state ORDER BY 1;
SELECT * FROM minlsh_check('docs_clusters');
-- What is equal to a row of a pair does not stand for it.
DELETE FROM docs WHERE id = 13;
SELECT changed, removed, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
UPDATE docs SET body = words(101, 140, '{101}') WHERE id = 12;
SELECT changed, joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
INSERT INTO docs VALUES (14, words(101, 140)), (15, words(101, 140));
INSERT INTO docs_clusters_apart VALUES (12, 14);
SELECT changed, joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM state ORDER BY 1;
DELETE FROM docs WHERE id = 15;
SELECT changed, removed, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM state ORDER BY 1;
SELECT * FROM minlsh_check('docs_clusters');
-- A decision is taken back.
DELETE FROM docs_clusters_apart;
SELECT changed, joined, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters');
SELECT * FROM state ORDER BY 1;
SELECT * FROM wrong;
SELECT * FROM minlsh_check('docs_clusters');
-- The check looks at least_similar, too, and a full refresh repairs it.
UPDATE docs_clusters_list SET least_similar = 0.5 WHERE cluster_id = 1;
SELECT * FROM minlsh_check('docs_clusters');
SELECT joined, removed, moved, was_full FROM minlsh_refresh_clusters('docs_clusters', "full" => true);
SELECT * FROM minlsh_check('docs_clusters');
-- What a trigger of the owner leaves out is not written, and not counted.
CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RETURN CASE WHEN coalesce(NEW.doc_id, OLD.doc_id) NOT IN (17, 22, 23) THEN coalesce(NEW, OLD) END; END $$;
CREATE TRIGGER leaves_out BEFORE INSERT OR UPDATE OR DELETE ON docs_clusters FOR EACH ROW EXECUTE FUNCTION leave_out();
INSERT INTO docs VALUES (16, words(101, 140)), (17, words(101, 140)), (22, words(201, 240)), (23, words(201, 240));
SELECT changed, joined, removed, clusters FROM minlsh_refresh_clusters('docs_clusters');
SELECT cluster_id, size, array_agg(doc_id ORDER BY doc_id) AS members
FROM docs_clusters_list JOIN docs_clusters USING (cluster_id) GROUP BY cluster_id ORDER BY cluster_id;
SELECT * FROM minlsh_check('docs_clusters');
SELECT joined, removed, moved, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters', "full" => true);
DROP TRIGGER leaves_out ON docs_clusters;
DROP FUNCTION leave_out;
SELECT joined, removed, moved, clusters, was_full FROM minlsh_refresh_clusters('docs_clusters', "full" => true);
SELECT * FROM minlsh_check('docs_clusters');
DELETE FROM docs WHERE id IN (16, 17, 22, 23);
SELECT removed, clusters FROM minlsh_refresh_clusters('docs_clusters');
-- Keys that no row has do not matter. The table goes with the others.
INSERT INTO docs_clusters_apart VALUES (1, 77), (77, 78), (1, 1);
SELECT joined, removed, was_full FROM minlsh_refresh_clusters('docs_clusters');
DROP VIEW state, wrong;
SELECT minlsh_untrack_clusters('docs_clusters');
SELECT relname FROM pg_class WHERE relname LIKE 'docs_clusters%';
DROP TABLE docs;
DROP FUNCTION words;
