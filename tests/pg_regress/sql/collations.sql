-- Keys and scopes under a collation of their own. A server without ICU has no collation that takes letters for equal.
SELECT NOT EXISTS (SELECT FROM pg_collation WHERE collname = 'de-x-icu') AS lacks_icu \gset
\if :lacks_icu
	\quit
\endif
-- A key is unique under the collation of its index.
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE cased (id text COLLATE ignore_case NOT NULL, body text);
CREATE UNIQUE INDEX ON cased (id COLLATE "C");
INSERT INTO cased VALUES ('A', 'the same text for all'), ('a', 'the same text for all');
CREATE INDEX ON cased USING minlsh (body);
SELECT doc_id FROM near_duplicates('A', 0.9, 'cased');
SELECT doc_id FROM near_duplicates('a', 0.9, 'cased');
SELECT minlsh_track_clusters('cased_body_idx');
SELECT joined, clusters FROM minlsh_refresh_clusters('cased_clusters');
INSERT INTO cased VALUES ('B', 'the same text for all'), ('b', 'another text, of which there is no copy at all');
DELETE FROM cased WHERE id COLLATE "C" = 'a';
SELECT changed, joined, removed FROM minlsh_refresh_clusters('cased_clusters');
SELECT doc_id FROM cased_clusters ORDER BY doc_id;
SELECT * FROM minlsh_check('cased_clusters');

-- Scopes compare by the equality of their column, and NULL equals nothing.
CREATE TABLE scoped (id integer PRIMARY KEY, tenant text COLLATE ignore_case, body text);
INSERT INTO scoped VALUES (1, 'a', 'the same text for all'), (2, 'A', 'the same text for all'),
	(3, NULL, 'the same text for all'), (4, NULL, 'the same text for all');
SELECT doc_a, doc_b FROM near_duplicate_pairs('scoped', 0.9, body => 'body', scope => 'tenant');
CREATE INDEX scoped_minlsh ON scoped USING minlsh (tenant minlsh_text_scope_ops, body);
SELECT doc_a, doc_b FROM near_duplicate_pairs('scoped_minlsh');
SELECT doc_id FROM near_duplicates(1, 0.9, 'scoped');
SELECT doc_id FROM near_duplicates(3, 0.9, 'scoped');
SELECT copies, copies_found FROM minlsh_recall('scoped_minlsh') LIMIT 1;

DROP TABLE cased, scoped;
DROP COLLATION ignore_case;
