//! The scene of random calls: relations in every state, and nasty values for each type of argument.

/// Tables, indexes and other relations to name, in every state that one would rather not meet.
pub const SCENE: &str = "
    CREATE TABLE docs (id int PRIMARY KEY, body text, tenant int);
    INSERT INTO docs SELECT i, 'a text of which there are copies: ' || i / 3, i % 2 FROM generate_series(1, 60) i;
    INSERT INTO docs VALUES (100, NULL, 1), (101, '', 1), (102, repeat('long ', 20000), 2), (103, 'x', NULL);
    SELECT minlsh_create_side_table('docs', 'body');
    CREATE TABLE other (id uuid PRIMARY KEY, body text);
    INSERT INTO other SELECT md5(i::text)::uuid, 'a text of which there are copies: ' || i / 3
        FROM generate_series(1, 30) i;
    SELECT minlsh_create_side_table('other', 'body');
    CREATE TABLE empty (id bigint PRIMARY KEY, body text);
    SELECT minlsh_create_side_table('empty', 'body');
    CREATE TABLE parts (id int PRIMARY KEY, body text) PARTITION BY RANGE (id);
    CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10);
    INSERT INTO parts VALUES (1, 'a text of which there are copies: 1'), (2, 'a text of which there are copies: 1');
    SELECT minlsh_create_side_table('parts', 'body');
    CREATE VIEW seen AS SELECT * FROM docs;
    CREATE SEQUENCE numbers;
    CREATE TABLE bare (a int);
    CREATE TABLE sets (id int PRIMARY KEY, elements text[], numbers int[], signature int[]);
    INSERT INTO sets SELECT i, ARRAY['a', 'b', i::text], ARRAY[i, i + 1], minhash('text ' || i)
        FROM generate_series(1, 20) i;
    CREATE MATERIALIZED VIEW kept AS SELECT * FROM docs;
    ANALYZE docs";

/// Indexes of the access method, where the version has it.
pub const NATIVE: &str = "
    CREATE TABLE native (id int PRIMARY KEY, body text, tenant int);
    INSERT INTO native SELECT * FROM docs;
    CREATE INDEX native_body ON native USING minlsh (body);
    CREATE INDEX native_scope ON native USING minlsh (tenant, body) WITH (threshold = 0.5);
    CREATE INDEX native_set ON sets USING minlsh (elements);
    CREATE INDEX native_signature ON sets USING minlsh (signature minlsh_signature_ops)";

/// Values for an argument of a type, as SQL: two spaces or a new line stand between them.
pub fn values(type_name: &str) -> Vec<&'static str> {
    let all = match type_name {
        "text" | "name" | "cstring" => {
            r#"''  ' '  'a'  'a text of which there are copies: 1'  repeat('x', 100000)  E'\t\n\u00a0'  'ｆｕｌｌ ｗｉｄｔｈ'
            chr(1114111)  repeat(U&'\0301', 3000)  'İıſßẞ'  'char'  'word'  'anchored'  'fss'  'permutations'
            'datasketch_affine32'  'plain'  'none'  'aggressive stop_words'  'nonsense'  'exact'  'signature'
            'auto'  'single'  'complete'  'docs'  'other'  'native_body'  'pg_class'  'no such table'
            'SELECT id, body FROM docs'  'SELECT 1'  'SELECT id, body, tenant FROM docs; SELECT 1'
            'DELETE FROM docs RETURNING id, body'  'SELECT id, body FROM docs WHERE id = $1'  'SELECT NULL, NULL'
            'WITH t AS (SELECT 1 AS id, NULL::text AS body) SELECT * FROM t'  'id DESC'  'id; DROP TABLE docs'
            '1/0'  'docs"; --'  '\'  '$$'  '{1,2,3}'  'body'  'id'  'title, body'  'english'  '@'  '<'  'NaN'"#
        }
        "integer" | "smallint" | "bigint" => {
            "0  1  -1  2  5  16  32  64  100  128  4096  4097  32767  -32768  2147483647  '-2147483648'
            '9223372036854775807'  '-9223372036854775808'"
        }
        "double precision" | "real" | "numeric" => {
            "0  1  0.5  0.9  0.8  0.99  0.9999999999999999  1e-300  -0.5  1.0000001  2  1e300  'NaN'  'Infinity'
            '-Infinity'  '-0'"
        }
        "boolean" => "true  false",
        "integer[]" => {
            "'{}'  '{1}'  '{NULL}'  '{1,NULL,3}'  '{{1,2},{3,4}}'  '[5:6]={1,2}'  minhash('a text')
            minhash('another text', 64)  minhash('a text', 4096)  '{2147483647,-2147483648,0}'
            array_fill(1, ARRAY[100000])  array_fill(NULL::int, ARRAY[128])  array_fill(7, ARRAY[3,3,3])
            minhash_pack(minhash('a text'), 8)"
        }
        "bigint[]" => {
            "'{}'  '{NULL,NULL}'  '{{1},{2}}'  '{9223372036854775807,-9223372036854775808}'  '[0:1]={3,3}'
            shingle_hashes('a text of some length')  array_fill(0::bigint, ARRAY[100000])  '{1,2,3}'  '{0}'"
        }
        "text[]" | "anyarray" | "anycompatiblearray" => {
            r#"'{}'::text[]  ARRAY['a','b',NULL]  ARRAY[['a','b'],['c','d']]  '[7:8]={x,y}'::text[]  ARRAY['','',' ']
            array_fill('x'::text, ARRAY[50000])  array_fill(NULL::text, ARRAY[3])  ARRAY[repeat('y', 100000)]
            '{1,2,3}'::int[]  '{1,NULL}'::bigint[]  '{NaN,0,-0,NULL}'::float8[]  ARRAY['a','b']::name[]
            ARRAY['1 day','24 hours']::interval[]  ARRAY[ROW(1,'x')]::pair[]  '{1.0,1.00,NaN}'::numeric[]
            ARRAY['[1,2)','empty']::int4range[]  ARRAY['{"a": 1}','null']::jsonb[]  ARRAY['(1,2)']::point[]"#
        }
        "double precision[]" => {
            "'{}'  '{1,2}'  '{NULL}'  '{NaN,1}'  '{Infinity,-Infinity}'  '{-1,0}'  '{1e308,1e308,1e308}'
            '{1e-320,5}'  '{{1,2},{3,4}}'  array_fill(1::float8, ARRAY[50000])"
        }
        "bytea" => {
            r#"''  '\x00'  '\xffffffffffffffff'  '\x0000000000000001ffffffff00000000'  minhash_to_lean(minhash('x'))
            substr(minhash_to_lean(minhash('x')), 1, 100)  decode(repeat('7f', 100000), 'hex')
            '\x01000000000000000400000001000000020000000300000004000000'"#
        }
        "regclass" | "oid" => {
            "'docs'  'docs_minlsh'  'other'  'empty'  'parts'  'part'  'seen'  'numbers'  'pair'  'bare'  'kept'
            'docs_pkey'  'pg_class'  'pg_toast.pg_toast_1255'  0  4294967295  1  'sets'  to_regclass('native')::oid
            to_regclass('native_body')::oid  to_regclass('native_scope')::oid  to_regclass('native_set')::oid
            to_regclass('native_signature')::oid"
        }
        "\"char\"" => r#"'a'  ''  '\377'"#,
        "uuid" => "md5('1')::uuid  '00000000-0000-0000-0000-000000000000'",
        "minlsh_key" => "'1'  '-1.5'  ''  '2026-01-01'  repeat('9', 1000)",
        "date" => "'2026-01-01'  '-infinity'  '0044-03-15 BC'",
        "timestamp without time zone" | "timestamp with time zone" => "now()  'infinity'",
        "minlsh_document" => {
            r#"minlsh_document('a text of which there are copies: 1')  minlsh_document('', 0.9)  'x'
            minlsh_document('a text', 0.5, 3, 'word')  minlsh_document(ARRAY['a','b'], 0.5)  '{}'  ''
            minlsh_document('{}'::text[], 1.0)  minlsh_signature(minhash('x'), 0.9)  minlsh_signature('{}', 0.1)
            minlsh_document(repeat('long ', 30000))  '{"text": "x", "threshold": 1e9}'"#
        }
        "anyelement" | "anynonarray" | "any" | "\"any\"" | "anycompatible" | "record" => {
            r#"1  '1'::text  1::bigint  1::smallint  md5('1')::uuid  'a'::"char"  1.5  'NaN'::float8  now()  ROW(1, 2)
            ROW(1,'x')::pair  '{1,2}'::int[]  'docs'::regclass  'x'::name  '\x00'::bytea  true  '[1,2)'::int4range
            '{"a": 1}'::jsonb  '(1,1)'::point  'a'::varchar  'b'::char(3)"#
        }
        _ => "",
    };
    all.split(['\n']).flat_map(|line| line.split("  ")).map(str::trim).filter(|value| !value.is_empty()).collect()
}
