-- Operator classes of the access method whose functions take values of other types than the class is for.
-- Attacker: a superuser by mistake, since nobody else makes operator classes. Must not: a function read a number as the
-- address of a text.

-- as superuser:
CREATE TABLE docs (id int PRIMARY KEY, v int, body text);
INSERT INTO docs SELECT i, i, 'some text' FROM generate_series(1, 5) i;
CREATE OPERATOR CLASS hashed_as_text FOR TYPE int4 USING minlsh AS STORAGE "char",
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid), FUNCTION 7 hashtextextended(text, int8);
CREATE OPERATOR CLASS compared_as_text FOR TYPE int4 USING minlsh AS STORAGE "char",
	FUNCTION 1 bttextcmp(text, text), FUNCTION 4 btequalimage(oid), FUNCTION 7 hashint4extended(int4, int8);
CREATE OPERATOR CLASS stored_as_text FOR TYPE int4 USING minlsh AS STORAGE text,
	FUNCTION 1 btcharcmp("char", "char"), FUNCTION 4 btequalimage(oid), FUNCTION 7 hashint4extended(int4, int8);
-- gives: f f f
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname LIKE '%_as_text';
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (v hashed_as_text, body);
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (body, v hashed_as_text);
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (v compared_as_text, body);
-- refused: 0A000
CREATE INDEX ON docs USING minlsh (v stored_as_text, body);
CREATE UNLOGGED TABLE unlogged (LIKE docs);
-- refused: 0A000
CREATE INDEX ON unlogged USING minlsh (v hashed_as_text, body);
-- Our own hash some types as others.
CREATE TABLE many (d date, b bool, y bytea, c "char", z timestamptz, i int2, body text);
INSERT INTO many VALUES (now(), true, 'x', 'x', now(), 1, 'some text');
CREATE INDEX ON many USING minlsh (d, b, y, c, z, i, body);
-- gives: 0
SELECT count(*) FROM minlsh_check();
