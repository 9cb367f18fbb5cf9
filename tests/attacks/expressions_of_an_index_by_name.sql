-- Expressions and predicates of the attacker's indexes, and casts of the attacker's keys, when a superuser or a reader
-- names the index. A plain SELECT evaluates none of them.
-- Attacker: the owner of the table. Must not: the function run as whoever asks.

-- as attacker:
CREATE FUNCTION evil.f(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('an expression'); RETURN $1; END $$;
CREATE FUNCTION evil.g(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT evil.f($1) $$;
CREATE FUNCTION evil.same(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN RETURN trap.spring('an operator'); END $$;
CREATE OPERATOR evil.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.same);
CREATE FUNCTION evil.holds(text) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RETURN trap.spring('a check of a domain'); END $$;
CREATE DOMAIN evil.checked AS text CHECK (evil.holds(VALUE));
CREATE TABLE evil.docs (id int PRIMARY KEY, body text, tenant text);
INSERT INTO evil.docs SELECT i, 'one text for all of them', 'a' FROM generate_series(1, 20) i;
CREATE INDEX by_function ON evil.docs USING minlsh (evil.f(body));
CREATE INDEX by_sql ON evil.docs USING minlsh (evil.g(body));
CREATE INDEX by_predicate ON evil.docs USING minlsh (body) WHERE evil.f(tenant) = 'a';
CREATE INDEX by_operator ON evil.docs USING minlsh (body) WHERE tenant OPERATOR(evil.===) 'a';
CREATE INDEX by_scope ON evil.docs USING minlsh (body, evil.f(tenant) minlsh_text_scope_ops);
CREATE INDEX by_domain ON evil.docs USING minlsh ((lower(body)::evil.checked::text));
CREATE TABLE evil.parts (id int, body text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE evil.part PARTITION OF evil.parts FOR VALUES FROM (0) TO (100);
INSERT INTO evil.parts SELECT i, 'one text for all of them' FROM generate_series(1, 20) i;
CREATE INDEX by_part ON evil.parts USING minlsh (evil.f(body));
CREATE TABLE evil.one (id int PRIMARY KEY, body text);
INSERT INTO evil.one SELECT i, 'one text for all of them' FROM generate_series(1, 20) i;
CREATE INDEX only_one ON evil.one USING minlsh (evil.f(body));
GRANT SELECT ON ALL TABLES IN SCHEMA evil TO PUBLIC;
-- Casts: the text of an expression may come to mean another cast than the index was built with.
CREATE TYPE evil.level AS ENUM ('low', 'high');
CREATE FUNCTION evil.number(evil.level) RETURNS bigint LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('a cast of a key'); RETURN 1; END $$;
CREATE CAST (evil.level AS bigint) WITH FUNCTION evil.number(evil.level);
CREATE TABLE evil.levels (id evil.level PRIMARY KEY, body text);
INSERT INTO evil.levels VALUES ('low', 'one text for all of them'), ('high', 'one text for all of them');
CREATE INDEX levels_body ON evil.levels USING minlsh (body);
CREATE TYPE evil.pair AS (a text, b text);
CREATE FUNCTION evil.pair_text(evil.pair) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('a cast of an expression'); RETURN 'one text'; END $$;
CREATE TABLE evil.pairs (id int PRIMARY KEY, body evil.pair);
INSERT INTO evil.pairs SELECT i, ('one text for all', 'of them')::evil.pair FROM generate_series(1, 20) i;
CREATE CAST (evil.pair AS text) WITH FUNCTION evil.pair_text(evil.pair);
CREATE INDEX by_cast ON evil.pairs USING minlsh ((body::text));
-- A key of which reading runs the check of a domain.
CREATE TYPE evil.named AS (name evil.checked);
CREATE TABLE evil.keyed (id evil.named PRIMARY KEY, body text);
INSERT INTO evil.keyed VALUES (ROW('a'), 'one text'), (ROW('b'), 'one text');
CREATE INDEX keyed_body ON evil.keyed USING minlsh (body);
GRANT SELECT ON ALL TABLES IN SCHEMA evil TO PUBLIC;

-- as superuser and reader:
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_function');
-- refused: 42501
SELECT near_duplicates_of('one text', index => 'evil.by_function');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_function');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_function');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_function');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_function');
-- refused: 42501
SELECT minlsh_explain('evil.by_function', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_function');
-- refused: 42501
SELECT near_duplicates_between('evil.by_function', 'evil.by_function');
-- refused: 42501
SELECT near_duplicates_between('SELECT 1, ''one text''', 'evil.by_function');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_function');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_function');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_function', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_function');
-- refused: 42501
SELECT common_passages('evil.by_function', 2);
-- refused: 42501
SELECT strip_passages('evil.by_function', 2);
-- refused: 42501
SELECT repeated_passages('evil.by_function');
-- refused: 42501
SELECT contained_documents('evil.by_function');
-- refused: 42501
SELECT nearest_documents_of('one text', index => 'evil.by_function');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_sql');
-- refused: 42501
SELECT near_duplicates_of('one text', index => 'evil.by_sql');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_sql');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_sql');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_sql');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_sql');
-- refused: 42501
SELECT minlsh_explain('evil.by_sql', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_sql');
-- refused: 42501
SELECT near_duplicates_between('evil.by_sql', 'evil.by_sql');
-- refused: 42501
SELECT near_duplicates_between('SELECT 1, ''one text''', 'evil.by_sql');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_sql');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_sql');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_sql', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_sql');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_predicate');
-- refused: 42501
SELECT near_duplicates_of('one text', index => 'evil.by_predicate');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_predicate');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_predicate');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_predicate');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_predicate');
-- refused: 42501
SELECT minlsh_explain('evil.by_predicate', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_predicate');
-- refused: 42501
SELECT near_duplicates_between('evil.by_predicate', 'evil.by_predicate');
-- refused: 42501
SELECT near_duplicates_between('SELECT 1, ''one text''', 'evil.by_predicate');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_predicate');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_predicate');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_predicate', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_predicate');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_operator');
-- refused: 42501
SELECT near_duplicates_of('one text', index => 'evil.by_operator');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_operator');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_operator');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_operator');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_operator');
-- refused: 42501
SELECT minlsh_explain('evil.by_operator', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_operator');
-- refused: 42501
SELECT near_duplicates_between('evil.by_operator', 'evil.by_operator');
-- refused: 42501
SELECT near_duplicates_between('SELECT 1, ''one text''', 'evil.by_operator');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_operator');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_operator');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_operator', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_operator');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_scope');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_scope');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_scope');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_scope');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_scope');
-- refused: 42501
SELECT minlsh_explain('evil.by_scope', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_scope');
-- refused: 42501
SELECT near_duplicates_between('evil.by_scope', 'evil.by_scope');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_scope');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_scope');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_scope', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_scope');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_domain');
-- refused: 42501
SELECT near_duplicates_of('one text', index => 'evil.by_domain');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_domain');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_domain');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_domain');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_domain');
-- refused: 42501
SELECT minlsh_explain('evil.by_domain', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_domain');
-- refused: 42501
SELECT near_duplicates_between('evil.by_domain', 'evil.by_domain');
-- refused: 42501
SELECT near_duplicates_between('SELECT 1, ''one text''', 'evil.by_domain');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_domain');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_domain');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_domain', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_domain');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_part');
-- refused: 42501
SELECT near_duplicates_of('one text', index => 'evil.by_part');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_part');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_part');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_part');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_part');
-- refused: 42501
SELECT minlsh_explain('evil.by_part', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_part');
-- refused: 42501
SELECT near_duplicates_between('evil.by_part', 'evil.by_part');
-- refused: 42501
SELECT near_duplicates_between('SELECT 1, ''one text''', 'evil.by_part');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_part');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_part');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_part', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_part');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.by_cast');
-- refused: 42501
SELECT near_duplicates_of('one text', index => 'evil.by_cast');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_cast');
-- refused: 42501
SELECT near_duplicate_clusters('evil.by_cast');
-- refused: 42501
SELECT nearest_documents(3, index => 'evil.by_cast');
-- refused: 42501
SELECT near_duplicate_cluster_of(3, index => 'evil.by_cast');
-- refused: 42501
SELECT minlsh_explain('evil.by_cast', 1, 2);
-- refused: 42501
SELECT minlsh_recall('evil.by_cast');
-- refused: 42501
SELECT near_duplicates_between('evil.by_cast', 'evil.by_cast');
-- refused: 42501
SELECT near_duplicates_between('SELECT 1, ''one text''', 'evil.by_cast');
-- refused: 42501
SELECT near_duplicate_bridges('evil.by_cast');
-- refused: 42501
SELECT near_duplicate_plan('evil.by_cast');
-- refused: 42501
SELECT near_duplicate_pairs('evil.by_cast', 0.9);
-- refused: 42501
SELECT minlsh_suggest('evil.by_cast');
-- refused: 42501
SELECT near_duplicates(3, index => 'evil.one');
-- refused: 42501
SELECT minlsh_recall('evil.one');
-- gives: 1
SELECT count(*) FROM near_duplicate_pairs('evil.levels_body', 0.9);
-- gives: 1
SELECT count(*) FROM near_duplicate_pairs('evil.levels', 0.9);
-- refused: 42501
SELECT near_duplicates('(a)', index => 'evil.keyed_body');
-- tried
SELECT near_duplicate_cluster_of('(a)', index => 'evil.keyed_body');
-- tried
SELECT minlsh_recall('evil.keyed_body');
-- gives: 190
SELECT count(*) FROM near_duplicate_pairs('evil.docs', 0.9, body => 'body');
-- as superuser:
SELECT * FROM minlsh_check('evil.by_function');
SELECT * FROM minlsh_check('evil.by_part');

-- as attacker:
-- gives: 19
SELECT count(*) FROM near_duplicates(3, index => 'evil.by_function');
-- gives: 190
SELECT count(*) FROM near_duplicate_pairs('evil.by_predicate');
-- gives: 190
SELECT count(*) FROM near_duplicate_pairs('evil.by_cast');
-- The cast becomes another one, and the index does not know it.
CREATE TABLE evil.again (id int PRIMARY KEY, body evil.level, b text);
INSERT INTO evil.again SELECT i, 'low', 'one text for all of them' FROM generate_series(1, 20) i;
CREATE FUNCTION evil.harmless(evil.level) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'one text' $$;
CREATE FUNCTION evil.harmful(evil.level) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM trap.spring('another cast'); RETURN 'one text'; END $$;
GRANT ALL ON SCHEMA evil TO PUBLIC;
-- as superuser:
ALTER FUNCTION evil.harmless(evil.level) OWNER TO CURRENT_USER;
-- as attacker:
CREATE CAST (evil.level AS text) WITH FUNCTION evil.harmless(evil.level);
CREATE INDEX by_another ON evil.again USING minlsh ((body::text));
-- as superuser:
-- gives: 190
SELECT count(*) FROM near_duplicate_pairs('evil.by_another');
-- as attacker:
DROP CAST (evil.level AS text);
CREATE CAST (evil.level AS text) WITH FUNCTION evil.harmful(evil.level);
-- as superuser:
-- refused: 42501
SELECT count(*) FROM near_duplicate_pairs('evil.by_another');
-- refused: 42501
SELECT count(*) FROM near_duplicates(3, index => 'evil.by_another');
