//! The types of a database, and values of them.

use postgres::{Client, Row};

/// The types of users, one of each kind.
pub const TYPES: &str = "
    CREATE TYPE mood AS ENUM ('a', 'b');
    CREATE TYPE pair AS (a int, b text);
    CREATE TYPE unordered AS (a int, b json);
    CREATE TYPE nothing AS ();
    CREATE TYPE floats AS RANGE (subtype = float8);
    CREATE DOMAIN word AS text;
    CREATE DOMAIN short_word AS word CHECK (length(VALUE) < 100);
    CREATE DOMAIN number AS int CHECK (VALUE > 0);
    CREATE DOMAIN integers AS int[];
    CREATE DOMAIN words AS word[];
    CREATE DOMAIN couple AS pair;
    CREATE DOMAIN document AS minlsh_document;
    CREATE TABLE columnless ();
    CREATE FUNCTION written(type text, literal text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE written text;
        BEGIN
            EXECUTE format('SELECT (%L::%s)::text', literal, type) INTO written;
            RETURN written;
        EXCEPTION WHEN OTHERS THEN RETURN NULL;
        END $$";

/// Literals, two or more for most types.
const LITERALS: &str = "\
    1|2|a|b|{}|{1}|{NULL}|()|(1,2)|(3,4)|[1,2)|[3,4)|{[1,2)}|true|false|2000-01-01|2000-01-02\
    |[2000-01-01,2000-01-02)|{[2000-01-01,2000-01-02)}|12:00|13:00|1 day|[1]|{\"a\": 1}\
    |{\"text\": \"some text of the corpus\"}|{\"elements\": [\"a\"]}|127.0.0.1|::1|08:00:2b:01:02:03\
    |08:00:2b:01:02:03:04:05|11111111-2222-3333-4444-555555555555|(0,0),(1,1)|(0,0),(2,1)|<(0,0),1>|{1,2,3}\
    |0/0|1:1:|$.a|pg_class|docs|pg_catalog|public|simple|english|C|+(integer,integer)|lower(text)|<a/>";

/// The values of a type, as SQL.
pub struct Values {
    /// The name of the type, as casts take it.
    pub type_name: String,
    /// A value, NULL if there is no other.
    pub a: String,
    /// Another value, if there is one.
    pub b: String,
}

impl Values {
    fn new(type_name: &str, given: &[String]) -> Self {
        let a = given.first().map_or_else(|| format!("NULL::{type_name}"), Clone::clone);
        let b = given.get(1).unwrap_or(&a).clone();
        Self { type_name: type_name.to_owned(), a, b }
    }
}

/// The values of all types, including [`TYPES`] and the statistics of a table `docs`, and what the output functions of
/// types make of them.
///
/// # Panics
/// If the catalogs cannot be read.
pub fn values(client: &mut Client) -> Vec<Values> {
    let sql = "SELECT format_type(t.oid, NULL),
            ARRAY(SELECT format('%L::%s', min(l), format_type(t.oid, NULL))
                FROM unnest($1::text[] || ('(' || repeat(',', (SELECT relnatts - 1 FROM pg_class c
                    WHERE c.oid = t.typrelid AND relnatts > 0)) || ')')) AS l
                GROUP BY written(format_type(t.oid, NULL), l)
                HAVING written(format_type(t.oid, NULL), l) IS NOT NULL ORDER BY min(l) LIMIT 2)
        FROM pg_type t
        -- Of the rows of catalogs and views one is enough.
        WHERE NOT EXISTS (SELECT FROM pg_class c JOIN pg_type e ON e.typrelid = c.oid
            WHERE e.oid IN (t.oid, t.typelem) AND c.relname <> 'pg_am'
                AND c.relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace))
        ORDER BY t.oid";
    let rows = client.query(sql, &[&LITERALS.split('|').collect::<Vec<_>>()]).expect("the types");
    let typed = |row: &Row| Values::new(row.get(0), &row.get::<_, Vec<String>>(1));
    let mut values: Vec<Values> = rows.iter().map(typed).collect();
    let outputs = "SELECT DISTINCT ON (t.typoutput) t.typoutput::regproc::text, format_type(t.oid, NULL)
        FROM pg_type t ORDER BY t.typoutput, t.oid";
    let mut output = Vec::new();
    for row in client.query(outputs, &[]).expect("the output functions") {
        let (function, type_name): (String, String) = (row.get(0), row.get(1));
        if let Some(of) = values.iter().find(|values| values.type_name == type_name) {
            let given = [&of.a, &of.b].map(|value| format!("{function}({value})"));
            output.push(Values::new("cstring", &given));
        }
    }
    values.extend(output);
    let statistics = "(SELECT most_common_vals FROM pg_stats WHERE tablename = 'docs' AND attname = 'body')";
    for (type_name, given) in [
        ("anyarray", &[statistics][..]),
        ("unknown", &["unknownin('a')"]),
        ("void", &["pg_notify('a', 'b')"]),
        ("record", &["ROW(1, 'a')", "ROW(2, 'a')"]),
        ("record", &["ROW(1, 'a')", "ROW('a'::text, 1)"]),
        ("record", &["ROW(1, '{}'::json)", "ROW(2, '{}'::json)"]),
        ("record", &["ROW()", "ROW()"]),
        ("record", &["(SELECT c FROM columnless c)", "ROW()"]),
        ("record[]", &["ARRAY[ROW(1, 'a')]", "ARRAY[ROW(2, 'a'), NULL]"]),
        ("pg_node_tree", &["(SELECT conbin FROM pg_constraint WHERE conbin IS NOT NULL LIMIT 1)"]),
    ] {
        let given: Vec<String> = given.iter().map(|&value| value.to_owned()).collect();
        values.push(Values::new(type_name, &given));
    }
    values
}
