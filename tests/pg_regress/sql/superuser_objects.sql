-- What only a superuser can declare: operator classes and aggregates that use what minlsh has for its own.

-- An operator class for documents reads values as texts, arrays or documents. One for another type is not used.
CREATE OPERATOR FAMILY number_ops USING minlsh;
CREATE OPERATOR CLASS number_ops FOR TYPE integer USING minlsh FAMILY number_ops AS
	OPERATOR 1 =, FUNCTION 1 bttidcmp(tid, tid), FUNCTION 4 btequalimage(oid), STORAGE tid;
CREATE OPERATOR FAMILY flag_ops USING minlsh;
CREATE OPERATOR CLASS flag_ops FOR TYPE boolean USING minlsh FAMILY flag_ops AS
	OPERATOR 1 =, FUNCTION 1 bttidcmp(tid, tid), FUNCTION 4 btequalimage(oid), STORAGE tid;
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname IN ('number_ops', 'flag_ops') ORDER BY 1;
CREATE TABLE numbers (n integer, flag boolean);
INSERT INTO numbers VALUES (1, true), (2, false);
CREATE INDEX ON numbers USING minlsh (n number_ops);
CREATE INDEX ON numbers USING minlsh (flag flag_ops);
DROP TABLE numbers;
DROP OPERATOR FAMILY number_ops USING minlsh;
DROP OPERATOR FAMILY flag_ops USING minlsh;
-- Those of minlsh are sound.
SELECT bool_and(amvalidate(c.oid)) AS sound FROM pg_opclass AS c JOIN pg_am AS m ON m.oid = c.opcmethod
WHERE m.amname = 'minlsh';

-- A search by an operator that somebody has added to a family is left to that operator, whatever type it takes.
CREATE FUNCTION has_length(text, integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS 'BEGIN RETURN length($1) = $2; END';
CREATE OPERATOR =# (LEFTARG = text, RIGHTARG = integer, FUNCTION = has_length, RESTRICT = minlsh_similar_sel);
ALTER OPERATOR FAMILY minlsh_text_ops USING minlsh ADD OPERATOR 1 =# (text, integer);
ALTER OPERATOR FAMILY minlsh_passage_ops USING minlsh ADD OPERATOR 1 =# (text, integer);
CREATE TABLE lengths (body text);
INSERT INTO lengths VALUES ('one'), ('two'), ('three');
CREATE INDEX ON lengths USING minlsh (body);
SET enable_seqscan = off;
SELECT count(*) FROM lengths WHERE body =# 3;
DROP INDEX lengths_body_idx;
CREATE INDEX ON lengths USING minlsh (body minlsh_passage_ops);
SELECT count(*) FROM lengths WHERE body =# 3;
RESET enable_seqscan;
DROP TABLE lengths;
ALTER OPERATOR FAMILY minlsh_text_ops USING minlsh DROP OPERATOR 1 (text, integer);
ALTER OPERATOR FAMILY minlsh_passage_ops USING minlsh DROP OPERATOR 1 (text, integer);
DROP OPERATOR =# (text, integer);
DROP FUNCTION has_length(text, integer);

-- An aggregate that mixes states of minlsh with those of others is refused when it runs.
CREATE AGGREGATE mixed_final(text, text) (SFUNC = string_agg_transfn, STYPE = internal,
	FINALFUNC = minlsh_set_signature);
SELECT mixed_final('a', ',');
CREATE AGGREGATE mixed_combine(numeric) (SFUNC = numeric_avg_accum, STYPE = internal,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = numeric_avg_serialize, DESERIALFUNC = numeric_avg_deserialize,
	FINALFUNC = minlsh_set_signature, PARALLEL = SAFE);
SELECT mixed_combine(i) FROM generate_series(1, 3) AS i;
DROP AGGREGATE mixed_final(text, text);
DROP AGGREGATE mixed_combine(numeric);
