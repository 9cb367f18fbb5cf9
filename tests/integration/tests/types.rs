//! Every type of PostgreSQL, and what every output function gives, as key, document and scope of every function.
//!
//! Functions are read from the catalog by the types of their arguments, so a new one is covered by itself. Each call is
//! made twice in one session. Any error is right but an internal one (XX...) that the query does not raise by itself.

use std::collections::HashSet;
use std::time::Duration;

use minlsh_integration::types::{TYPES, Values, values};
use minlsh_integration::{Client, Database, Row, Run, Server, is_thorough, texts};

/// A table with an index, and with statistics, which have values of type `anyarray`.
const DOCS: &str = "
    CREATE TABLE docs (id int PRIMARY KEY, body text, tags text[]);
    INSERT INTO docs SELECT g, 'some text of the corpus', ARRAY['a', 'b'] FROM generate_series(1, 20) g;
    CREATE INDEX ON docs USING minlsh (body);
    ANALYZE docs";

/// A function of the extension, or an aggregate or window function.
struct Callee {
    name: String,
    kind: String,
    /// The names and types of its arguments, and the number of those that must be passed.
    arguments: Vec<(String, String)>,
    required: usize,
}

impl Callee {
    /// All of the extension.
    fn all(client: &mut Client) -> Vec<Self> {
        let sql = "SELECT p.oid::regproc::text, p.prokind::text,
                ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a(t, n) ORDER BY n),
                coalesce(p.proargnames, '{}'), (p.pronargs - p.pronargdefaults)::int
            FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minlsh'
            ORDER BY p.oid";
        let rows = client.query(sql, &[]).expect("the functions");
        let callee = |row: &Row| {
            let (types, names): (Vec<String>, Vec<String>) = (row.get(2), row.get(3));
            let names = names.into_iter().chain(std::iter::repeat(String::new()));
            Self {
                name: row.get(0),
                kind: row.get(1),
                arguments: names.zip(types).collect(),
                required: usize::try_from(row.get::<_, i32>(4)).unwrap_or(0),
            }
        };
        rows.iter().map(callee).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.arguments.iter().any(|(own, _)| own == name)
    }

    /// True for the name of an argument that takes a query.
    fn is_source(&self, (name, type_name): &(String, String)) -> bool {
        let named = name == "source" || (["a", "b"].contains(&name.as_str()) && self.has("scope"));
        named && type_name == "text"
    }

    /// The call with that query for each source; `further` are arguments, with the comma before them. `None` if it
    /// takes no query.
    fn of_query(&self, query: &str, further: &str) -> Option<String> {
        let is_job = self.arguments.iter().any(|argument| self.is_source(argument));
        let one = |(place, argument): (usize, &(String, String))| {
            let value = match argument.1.as_str() {
                _ if self.is_source(argument) => format!("$query${query}$query$"),
                _ if place >= self.required => return None,
                "double precision" => "0.9".to_owned(),
                "integer" => "10".to_owned(),
                other => format!("NULL::{other}"),
            };
            Some(format!("{} => {value}", argument.0))
        };
        let given: Vec<String> = self.arguments.iter().enumerate().filter_map(one).collect();
        is_job.then(|| format!("SELECT * FROM {}({}{further})", self.name, given.join(", ")))
    }

    /// The call with a value for each argument of any type. `None` if it has no such argument.
    fn of_value(&self, value: &str) -> Option<String> {
        let is_any = |name: &str| name.trim_matches('"').starts_with("any");
        if !self.arguments.iter().any(|(_, type_name)| is_any(type_name)) || self.has("source") {
            return None;
        }
        let one = |(place, (name, type_name)): (usize, &(String, String))| {
            Some(match type_name.as_str() {
                other if is_any(other) => value.to_owned(),
                "regclass" => format!("{name} => 'docs'"),
                _ if place >= self.required => return None,
                "integer" => "10".to_owned(),
                "minlsh_document" => "minlsh_document('x')".to_owned(),
                other => format!("NULL::{other}"),
            })
        };
        // What comes behind a named argument must be named.
        let mut given: Vec<String> = self.arguments.iter().enumerate().filter_map(one).collect();
        given.sort_by_key(|argument| argument.contains("=>"));
        let call = format!("{}({})", self.name, given.join(", "));
        Some(match self.kind.as_str() {
            "a" => format!("SELECT {call} FROM generate_series(1, 2)"),
            "w" => format!("SELECT {call} OVER () FROM generate_series(1, 2)"),
            _ => format!("SELECT * FROM {call}"),
        })
    }
}

/// Calls with the values of a type: the call, and a query that raises by itself what the values raise.
fn calls(callees: &[Callee], values: &Values) -> Vec<(String, String)> {
    let Values { a, b, .. } = values;
    const TEXT: &str = "'some text of the corpus'";
    let key = format!("VALUES ({a}, {TEXT}), ({b}, {TEXT}), ({a}, {TEXT})");
    let keys = format!("VALUES ({a}, {TEXT}), ({b}, {TEXT})");
    let document = format!("VALUES (1, {a}), (2, {b}), (3, {a})");
    let scope = format!("VALUES (1, {TEXT}, {a}), (2, {TEXT}, {b}), (3, {TEXT}, {a})");
    let mut calls = Vec::new();
    for callee in callees {
        let mut add = |query: &str, further: &str| {
            let call = callee.of_query(query, further);
            calls.extend(call.map(|call| (call, query.to_owned())));
        };
        add(&key, "");
        add(&keys, "");
        add(&document, "");
        if callee.has("scope") {
            add(&scope, ", scope => 'column3'");
        }
        calls.extend(callee.of_value(a).map(|call| (call, format!("SELECT {a}"))));
    }
    for operator in [format!("{a} ~= {b}"), format!("{a} ~= minlsh_document('x')")] {
        calls.push((format!("SELECT id FROM docs WHERE {operator}"), format!("SELECT {a}")));
    }
    calls
}

/// Calls that name a table which has a column of a type, and its indexes.
fn calls_of_table(values: &Values) -> Vec<(String, String)> {
    let Values { type_name, a, b } = values;
    let mut calls = vec![
        "DROP TABLE IF EXISTS of_type, keyed, removed".to_owned(),
        format!("CREATE TABLE of_type (id int PRIMARY KEY, body text, v {type_name})"),
        format!(
            "INSERT INTO of_type
             SELECT g, 'some text', CASE WHEN g < 3 THEN {a} ELSE {b} END FROM generate_series(1, 4) g"
        ),
        format!("CREATE TABLE keyed (id {type_name} PRIMARY KEY, body text)"),
        format!("INSERT INTO keyed SELECT {a}, 'some text'"),
        format!("INSERT INTO keyed SELECT {b}, 'some text'"),
        "CREATE INDEX keyed_native ON keyed USING minlsh (body)".to_owned(),
        "CREATE INDEX of_scope ON of_type USING minlsh (v, body)".to_owned(),
        "CREATE INDEX of_document ON of_type USING minlsh (v)".to_owned(),
        "CREATE INDEX of_signature ON of_type USING minlsh (v minlsh_signature_ops)".to_owned(),
    ];
    for job in ["near_duplicate_pairs", "near_duplicate_plan", "contained_documents"] {
        for arguments in [
            "'of_type', body => 'body', key_column => 'v'",
            "'of_type', body => 'v'",
            "'of_type', body => 'body', scope => 'v'",
            "'keyed', body => 'body'",
            "'of_scope'",
            "'of_document'",
            "'keyed_native'",
        ] {
            calls.push(format!("SELECT * FROM {job}({arguments})"));
        }
    }
    // A key is stored and read again as one of its type.
    calls.push("CREATE TEMP TABLE removed AS SELECT * FROM near_duplicate_plan('keyed_native')".to_owned());
    calls.push(format!("SELECT * FROM keyed WHERE id IN (SELECT doc_id::{type_name} FROM removed)"));
    let look_up = |calls: &mut Vec<String>| {
        for value in [a, b] {
            calls.push(format!("SELECT * FROM near_duplicates({value}, 0.9, 'keyed')"));
            calls.push(format!("SELECT * FROM near_duplicates(({value})::text, 0.9, 'keyed')"));
            calls.push(format!("SELECT * FROM nearest_documents({value}, index => 'keyed')"));
            calls.push(format!("SELECT * FROM near_duplicate_cluster_of({value}, 0.9, 'keyed')"));
            calls.push(format!("SELECT * FROM minlsh_explain('keyed', {value}, {value})"));
            calls.push(format!("SELECT * FROM near_duplicates_of({value}, 0.9, 'of_document')"));
        }
        for index in ["of_scope", "of_document", "of_signature"] {
            calls.push(format!("SELECT * FROM near_duplicates(1, 0.9, '{index}')"));
        }
    };
    look_up(&mut calls);
    for call in [
        "SELECT minlsh_track_clusters('keyed_native', name => 'tracked')",
        "SELECT minlsh_refresh_clusters('tracked')",
        "UPDATE keyed SET body = 'another text'",
        "SELECT minlsh_refresh_clusters('tracked')",
        "SELECT * FROM minlsh_check('tracked')",
        "SELECT minlsh_untrack_clusters('tracked')",
        "DROP INDEX IF EXISTS keyed_native, of_document, of_signature",
        "SELECT minlsh_create_side_table('keyed', 'body')",
        "SELECT minlsh_create_side_table('of_type', 'v')",
    ] {
        calls.push(call.to_owned());
    }
    look_up(&mut calls);
    calls.push("SELECT * FROM minlsh_check('keyed')".to_owned());
    calls.push("SELECT * FROM minlsh_check('of_type')".to_owned());
    calls.into_iter().map(|call| (call, format!("SELECT {a}"))).collect()
}

/// The SQLSTATE and the message of the error of a statement; an empty state if the session has ended.
fn error(client: &mut Client, sql: &str) -> Option<(String, String)> {
    let error = client.batch_execute(sql).err()?;
    Some(error.as_db_error().map_or_else(
        || (String::new(), format!("the session ended: {error}")),
        |error| (error.code().code().to_owned(), error.message().to_owned()),
    ))
}

/// Makes calls, each twice, and collects what must not be.
fn make(database: &Database, client: &mut Client, calls: &[(String, String)], wrong: &mut Vec<String>) {
    for (call, alone) in calls {
        for _ in 0..2 {
            let Some((state, message)) = error(client, call) else { continue };
            if state.is_empty() {
                // The server ends all sessions before it lets new ones in.
                std::thread::sleep(Duration::from_secs(1));
                database.server.wait_ready();
                *client = session(database);
            } else if !state.starts_with("XX") || error(client, alone).is_some_and(|own| own.0 == state) {
                continue;
            }
            wrong.push(format!("{state} {message}: {call}"));
            break;
        }
    }
}

fn session(database: &Database) -> Client {
    let mut client = database.connect();
    client.run("SET client_min_messages = error; SET statement_timeout = '60s'");
    client
}

#[test]
fn no_type_of_a_key_a_document_or_a_scope_ends_a_session_or_is_an_internal_error() {
    let server = Server::start();
    let database = server.create_database();
    let mut client = session(&database);
    client.run(TYPES);
    client.run(DOCS);
    let callees = Callee::all(&mut client);
    let jobs = callees.iter().filter(|callee| callee.of_query("", "").is_some()).count();
    let polymorphic = callees.iter().filter(|callee| callee.of_value("1").is_some()).count();
    let values = values(&mut client);
    println!("{} types, {jobs} jobs, {polymorphic} functions of any type", values.len());
    assert!(values.len() > 200 && jobs >= 12 && polymorphic >= 20, "the lists are too short");
    let (mut wrong, mut count, mut known) = (Vec::new(), 0, HashSet::new());
    // In `make test` each function has a twelfth of all values, and each value of all functions.
    let parts = if is_thorough() { 1 } else { 12 };
    for (part, values) in values.iter().enumerate() {
        let mut all: Vec<_> = calls(&callees, values).into_iter().skip(part % parts).step_by(parts).collect();
        // What output functions give is all of one type, and no column has that type.
        if known.insert(&values.type_name) {
            all.extend(calls_of_table(values));
        }
        count += all.len();
        make(&database, &mut client, &all, &mut wrong);
    }
    println!("{count} calls, each twice");
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(texts(&mut client, "SELECT 1"), ["1"]);
    assert!(!server.log().contains("terminated by signal"), "{}", server.log());
}
