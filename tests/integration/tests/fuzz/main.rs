//! A random caller of every SQL function and operator of the extension.
//!
//! What there is to call is read from the catalog; for each type of argument there is a list of nasty
//! values. Half of the calls have values of random types, and queries whose columns are of random types. Any error is
//! right but an internal one (XX...) that these values do not raise by themselves, and so is any answer: what must not
//! happen is that the server restarts, that a call does not heed its timeout, or that `internal`
//! can be passed. `make fuzz SECONDS=60`; `SEED=...` repeats a run: the calls of one session depend on
//! nothing else.

mod scene;

use std::time::{Duration, Instant};

use minlsh_integration::types::{TYPES, Values, values as typed_values};
use minlsh_integration::{Client, Random, Run, Server, Stopwatch, backend, number, seed, texts};

use scene::{NATIVE, SCENE, values};

const SESSIONS: u64 = 2;
/// A call that goes on so long after its timeout hangs.
const GRACE: Duration = Duration::from_secs(20);

/// A function or operator, with the types and the names of its arguments.
#[derive(Clone, Debug)]
struct Callee {
    name: String,
    kind: char,
    arguments: Vec<String>,
    names: Vec<String>,
    /// The number of those that must be passed.
    required: usize,
}

/// Everything of the extension that can be called.
fn callees(client: &mut Client) -> Vec<Callee> {
    let rows = client
        .query(
            "SELECT quote_ident(p.proname), p.prokind::text,
                ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a(t, n) ORDER BY n),
                coalesce(p.proargnames, '{}'), (p.pronargs - p.pronargdefaults)::int
             FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                 AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                 JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minlsh'
             UNION ALL
             SELECT o.oprname, 'o', ARRAY[format_type(o.oprleft, NULL), format_type(o.oprright, NULL)], '{}', 2
             FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid
                 AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                 JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minlsh'
             ORDER BY 1, 2, 3",
            &[],
        )
        .expect("the catalog");
    rows.iter()
        .map(|row| Callee {
            name: row.get(0),
            kind: row.get::<_, String>(1).chars().next().unwrap_or('f'),
            arguments: row.get(2),
            names: row.get(3),
            required: usize::try_from(row.get::<_, i32>(4)).unwrap_or(0),
        })
        .collect()
}

/// One argument: mostly a nasty value, sometimes NULL, sometimes of another type.
fn argument(random: &mut Random, type_name: &str) -> String {
    let list = values(type_name);
    if list.is_empty() || random.below(12) == 0 {
        let fits = list.is_empty() || type_name.starts_with("any") || type_name == "\"any\"";
        return if fits { "NULL".into() } else { format!("NULL::{type_name}") };
    }
    let value = random.pick(&list);
    match type_name {
        "any" | "\"any\"" | "record" | "cstring" => value.into(),
        name if name.starts_with("any") => value.into(),
        name => format!("({value})::{name}"),
    }
}

fn statement(random: &mut Random, callee: &Callee) -> String {
    let mut given = callee.arguments.len();
    // Arguments with defaults may be left out; if there are none, the call is refused.
    if callee.kind == 'f' && random.below(3) == 0 && given > 1 {
        given -= random.below(given);
    }
    let arguments: Vec<_> = callee.arguments[..given].iter().map(|name| argument(random, name)).collect();
    let name = &callee.name;
    match callee.kind {
        'o' => format!("SELECT {} OPERATOR({name}) {}", arguments[0], arguments[1]),
        'p' => format!("CALL {name}({})", arguments.join(", ")),
        'a' => format!("SELECT {name}({}) FROM generate_series(1, 3)", arguments.join(", ")),
        _ => format!("SELECT * FROM {name}({}) LIMIT 1000", arguments.join(", ")),
    }
}

impl Callee {
    /// True for an argument that takes a query.
    fn is_source(&self, place: usize) -> bool {
        let name = self.names.get(place).map(String::as_str);
        let has_scope = self.names.iter().any(|name| name == "scope");
        self.arguments[place] == "text"
            && (name == Some("source") || (has_scope && [Some("a"), Some("b")].contains(&name)))
    }
}

/// Values of a random type.
fn typed<'a>(random: &mut Random, all: &'a [Values]) -> &'a Values {
    let one = &all[random.below(all.len())];
    // C strings are many, since every type has an output function, and all are refused alike.
    if one.type_name == "cstring" { &all[random.below(all.len())] } else { one }
}

/// A query of a key, a document and a scope, some of them of random types. Gives the type of the keys too.
fn query<'a>(random: &mut Random, all: &'a [Values]) -> (String, &'a str) {
    let of: Vec<&Values> = (0..3).map(|_| typed(random, all)).collect();
    let is_typed: Vec<bool> = (0..3).map(|_| random.below(2) == 0).collect();
    let rows: Vec<String> = (0..=random.below(4))
        .map(|row| {
            let mut cell = |column: usize, other: String| match (is_typed[column], random.below(8)) {
                (true, 0) => format!("NULL::{}", of[column].type_name),
                (true, chance) => if chance % 2 == 0 { &of[column].a } else { &of[column].b }.clone(),
                (false, _) => other,
            };
            let (key, scope) = (cell(0, row.to_string()), cell(2, "1".to_owned()));
            format!("({key}, {}, {scope})", cell(1, "'a text of which there are copies'".to_owned()))
        })
        .collect();
    let key_type = if is_typed[0] { &of[0].type_name } else { "integer" };
    (format!("SELECT * FROM (VALUES {}) AS v(k, body, s)", rows.join(", ")), key_type)
}

/// A statement that calls it with values of random types, and what raises by itself what these values raise.
fn typed_statement(random: &mut Random, callee: &Callee, all: &[Values]) -> (String, Vec<String>) {
    let (source, key_type) = query(random, all);
    let mut alone = vec![format!("SELECT 1 FROM ({source}) AS q")];
    let is_job = (0..callee.arguments.len()).any(|place| callee.is_source(place));
    let mut given = Vec::new();
    for (place, type_name) in callee.arguments.iter().enumerate() {
        let name = callee.names.get(place).filter(|name| !name.is_empty());
        let is_option = place >= callee.required && name.is_some();
        let value = match (type_name.as_str(), name.map_or("", String::as_str)) {
            _ if callee.is_source(place) => format!("$query${source}$query$"),
            ("text", "body") if is_job => "'body'".to_owned(),
            ("text", "scope") if is_job && random.below(2) == 0 => "'s'".to_owned(),
            ("text", "key") if is_job => continue,
            ("anyelement", "key") if is_job && random.below(4) > 0 => format!("NULL::{key_type}"),
            ("double precision", _) if is_job && !is_option => "0.9".to_owned(),
            ("integer", _) if is_job && !is_option => "20".to_owned(),
            (name, _) if name.trim_matches('"').starts_with("any") => {
                let Values { a, b, .. } = typed(random, all);
                let value = if random.below(2) == 0 { a } else { b };
                alone.push(format!("SELECT {value}"));
                value.clone()
            }
            _ if is_option && random.below(if is_job { 30 } else { 6 }) > 0 => continue,
            (type_name, _) => argument(random, type_name),
        };
        given.push(match name {
            Some(name) if callee.kind == 'f' => format!("{name} => {value}"),
            _ => value,
        });
    }
    let name = &callee.name;
    let call = match callee.kind {
        'o' => format!("SELECT {} OPERATOR({name}) {}", given[0], given[1]),
        'p' => format!("CALL {name}({})", given.join(", ")),
        'a' => format!("SELECT {name}({}) FROM generate_series(1, 3)", given.join(", ")),
        'w' => format!("SELECT {name}({}) OVER () FROM generate_series(1, 3)", given.join(", ")),
        _ => format!("SELECT * FROM {name}({}) LIMIT 1000", given.join(", ")),
    };
    (call, alone)
}

/// Runs one session. Returns its counts, or the call after which something was wrong.
fn session(server: &Server, database: &str, seed: u64, until: Instant) -> Result<(u64, u64), String> {
    let mut random = Random::new(seed);
    let mut client = server.connect(database);
    let all = callees(&mut client);
    assert!(all.len() > 30, "only {} functions", all.len());
    let types = typed_values(&mut client);
    client.run("SET statement_timeout = '2s'; SET work_mem = '4MB'; SET maintenance_work_mem = '8MB'");
    let pid = backend(&mut client);
    let (mut calls, mut answered) = (0, 0);
    while Instant::now() < until {
        let callee = &all[random.below(all.len())];
        let (sql, alone) = if random.below(2) == 0 {
            typed_statement(&mut random, callee, &types)
        } else {
            (statement(&mut random, callee), Vec::new())
        };
        // What a call changes is undone, so that each meets the same scene.
        client.batch_execute("BEGIN").map_err(|cause| format!("before {sql}: {cause}"))?;
        let start = Stopwatch::start(pid);
        let result = client.batch_execute(&sql);
        calls += 1;
        let told = |what: &str| Err(format!("{what}: {sql}"));
        if start.elapsed() > GRACE {
            return told("heeded no timeout");
        }
        match result {
            Ok(()) if callee.arguments.iter().any(|name| name == "internal") => {
                // A strict function given NULL is not called at all.
                if !sql.contains("NULL") {
                    return told("took internal");
                }
            }
            Ok(()) => answered += 1,
            Err(error) => match error.as_db_error() {
                None => return told(&format!("the session ended ({error})")),
                Some(error)
                    if error.code().code().starts_with("XX")
                        && !raises_itself(&mut client, &alone, error.code().code()) =>
                {
                    return told(&format!("{}: {}", error.code().code(), error.message()));
                }
                Some(_) => {}
            },
        }
        client.batch_execute("ROLLBACK").map_err(|cause| format!("after {sql}: {cause}"))?;
    }
    Ok((calls, answered))
}

/// True if one of some statements raises that error by itself.
fn raises_itself(client: &mut Client, alone: &[String], code: &str) -> bool {
    alone.iter().any(|sql| {
        let begin = client.batch_execute("ROLLBACK; BEGIN");
        let error = begin.and_then(|()| client.batch_execute(sql)).err();
        error.is_some_and(|error| error.code().is_some_and(|own| own.code() == code))
    })
}

#[test]
fn no_call_of_any_function_ends_a_session_or_is_an_internal_error() {
    let seconds = number("MINLSH_FUZZ_SECONDS").unwrap_or(5);
    let seed = seed("MINLSH_FUZZ_SEED");
    println!("random calls for {seconds} s with SEED={seed}");
    let server = Server::start_with(&["log_error_verbosity = verbose", "deadlock_timeout = 100ms"]);
    let until = Instant::now() + Duration::from_secs(seconds);
    let databases: Vec<_> = (0..SESSIONS).map(|_| server.create_database()).collect();
    for database in &databases {
        let mut client = database.connect();
        client.run(TYPES);
        client.run(SCENE);
        if texts(&mut client, "SELECT 1 FROM pg_am WHERE amname = 'minlsh'").len() == 1 {
            client.run(NATIVE);
        }
    }
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let sessions: Vec<_> = databases
            .iter()
            .zip(0..)
            .map(|(database, number)| {
                let (server, name) = (&server, database.name.as_str());
                scope.spawn(move || session(server, name, seed.wrapping_add(number), until))
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("a session")).collect()
    });
    let calls: u64 = outcomes.iter().flatten().map(|(calls, _)| calls).sum();
    let answered: u64 = outcomes.iter().flatten().map(|(_, answered)| answered).sum();
    let failures: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    println!("{calls} calls, {answered} answered without an error");
    assert_eq!(failures, Vec::<String>::new(), "SEED={seed}");
    let log = server.log();
    let ended = log.lines().find(|line| line.contains("terminated by signal"));
    assert_eq!(ended, None, "SEED={seed}");
}
