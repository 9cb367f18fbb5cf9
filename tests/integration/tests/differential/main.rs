//! One question has one answer: random tables, asked in every way that there is, beside a naive oracle.
//!
//! `make differential CASES=20000`. A case is a seed: it makes a table with random columns, keys, scopes, rows and
//! indexes ([`scene`]), asks random questions of it ([`questions`]), and compares the answers with the
//! engine's naive path ([`oracle`]). The same rows are right, and errors that are documented for that very case
//! ([`errors`]). `SEED=... CASES=1` repeats a case.

mod boilerplate;
mod documents;
mod errors;
mod oracle;
mod passages;
mod questions;
mod scene;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use minlsh_integration::{Client, Random, Run, Server, is_thorough, number, seed};
use postgres::SimpleQueryMessage;

use questions::{Asker, Expected, Facts, Question};
use scene::Scene;

const SESSIONS: u64 = 2;
/// Questions of each table.
const QUESTIONS: usize = 12;
/// Differences of one label that are shown.
const SHOWN: usize = 3;

const SETTINGS: [&str; 4] =
    ["synchronous_commit = off", "full_page_writes = off", "jit = off", "max_parallel_workers_per_gather = 0"];

/// The rows of a statement, or its SQLSTATE and message.
type Answer = Result<Vec<String>, (String, String)>;

/// The rows of the last statement that gave any, as text.
fn ask(client: &mut Client, sql: &str) -> Answer {
    match client.simple_query(sql) {
        Ok(messages) => Ok(messages.iter().filter_map(row).collect()),
        Err(error) => match error.as_db_error() {
            Some(error) => Err((error.code().code().to_owned(), error.message().to_owned())),
            None => Err(("lost".into(), error.to_string())),
        },
    }
}

fn row(message: &SimpleQueryMessage) -> Option<String> {
    let SimpleQueryMessage::Row(row) = message else { return None };
    let columns: Vec<_> = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL")).collect();
    Some(columns.join(" | "))
}

/// A case under way.
struct Case<'a> {
    seed: u64,
    client: &'a mut Client,
    random: Random,
    /// The script that was executed, to show.
    script: String,
}

impl Case<'_> {
    fn execute(&mut self, sql: &str) -> Result<(), (String, String)> {
        writeln!(self.script, "{sql};").expect("memory");
        ask(self.client, sql).map(|_| ())
    }

    /// Makes the scene; indexes that are refused for a documented reason are not there.
    fn build(&mut self, mut scene: Scene) -> Result<Scene, String> {
        let told = |sql: &str, (state, message)| format!("{state} {message}: {sql}");
        let start = "DROP SCHEMA IF EXISTS c CASCADE; CREATE SCHEMA c; SET search_path = c, public";
        self.execute(start).map_err(|cause| told(start, cause))?;
        // At which of the gaps between the statements each index is made.
        let when: Vec<usize> = scene.indexes.iter().map(|_| self.random.below(3)).collect();
        let side = self.random.below(3);
        let mut gap = 0;
        let mut absent = Vec::new();
        for statement in scene.statements.clone() {
            if let Some(sql) = statement {
                self.execute(&sql).map_err(|cause| told(&sql, cause))?;
                continue;
            }
            let indexes = scene.indexes.iter().enumerate().filter(|(at, _)| when[*at] == gap);
            let indexes = indexes.map(|(at, index)| (Some(at), &index.sql, &index.scopes));
            let passages = scene.passages.iter().filter(|index| index.gap == gap);
            let passages = passages.map(|index| (None, &index.sql, &index.scopes));
            for (at, sql, scopes) in indexes.chain(passages) {
                let Err(cause) = self.execute(sql) else { continue };
                if !is_refused_rightly(&scene, scopes, &cause.0) {
                    return Err(told(sql, cause));
                }
                absent.extend(at);
            }
            if let Some(sql) = scene.side_sql().filter(|_| gap == side) {
                self.execute(&sql).map_err(|cause| told(&sql, cause))?;
            }
            gap += 1;
        }
        for sql in scene.last.clone() {
            self.execute(&sql).map_err(|cause| told(&sql, cause))?;
        }
        absent.sort_unstable();
        absent.iter().rev().for_each(|at| drop(scene.indexes.remove(*at)));
        Ok(scene)
    }

    fn facts(&mut self, scene: &Scene) -> Result<Facts, String> {
        let told = |(state, message): (String, String)| format!("facts: {state} {message}");
        let mut facts = Facts::default();
        let literals: Vec<_> =
            scene.rows.iter().map(|row| format!("(({})::{})::text", row.key, scene.key_type)).collect();
        let row = ask(self.client, &format!("SELECT unnest(ARRAY[{}])", literals.join(", ")));
        facts.keys = row.map_err(told)?;
        let (key, table, keys) = (&scene.key, &scene.table, &facts.keys);
        // A name alone would mean the text in the result.
        let sql = format!("SELECT t.{key}::text FROM {table} AS t ORDER BY t.{key}");
        let order = ask(self.client, &sql).map_err(told)?;
        let place = |key: &String| order.iter().position(|other| other == key);
        let rank: Option<Vec<usize>> = keys.iter().map(place).collect();
        facts.rank = rank
            .filter(|_| order.len() == keys.len())
            .ok_or_else(|| format!("the table has {order:?}, not {keys:?}"))?;
        Ok(facts)
    }

    fn answer(&mut self, question: &Question) -> (String, Answer) {
        let level = if question.serializable { " ISOLATION LEVEL SERIALIZABLE" } else { "" };
        let mut sql = format!("BEGIN{level};\n");
        for setting in &question.settings {
            writeln!(sql, "SET LOCAL {setting};").expect("memory");
        }
        let mut before = sql.clone();
        for statement in &question.before {
            writeln!(before, "{statement};").expect("memory");
        }
        let shown = format!("{before}{};\nROLLBACK", question.sql);
        let answer = match ask(self.client, &before) {
            Ok(_) => ask(self.client, &question.sql),
            Err(cause) => Err(cause),
        };
        let _ = self.client.simple_query("ROLLBACK; DEALLOCATE ALL");
        (shown, answer)
    }
}

/// An index whose scope has an equality of its own type, which the operator class has not, may be refused.
fn is_refused_rightly(scene: &Scene, scopes: &[usize], state: &str) -> bool {
    let citext = |at: &usize| scene.scopes[*at].type_name == "citext";
    scopes.iter().any(citext) && ["42804", "0A000"].contains(&state)
}

fn sorted(rows: &[String]) -> Vec<String> {
    let mut rows = rows.to_vec();
    rows.sort();
    rows
}

/// The fault of an answer.
fn difference(question: &Question, answer: &Answer) -> Option<String> {
    let rows = match answer {
        Err((state, message)) => {
            let documented = question.refusals.iter().any(|refusal| refusal.states().contains(&state.as_str()));
            return (!documented).then(|| format!("unexpected error {state}: {message}"));
        }
        Ok(rows) => sorted(rows),
    };
    match &question.expected {
        Expected::Refused => Some(format!("should be refused ({:?}), gave {rows:?}", question.refusals)),
        Expected::OneOf(lists) => {
            let lists: Vec<_> = lists.iter().map(|list| sorted(list)).collect();
            if lists.contains(&rows) {
                return None;
            }
            Some(apart(lists.first().map_or(&[][..], Vec::as_slice), &rows))
        }
        Expected::Between(least, most) => {
            let (least, most) = (sorted(least), sorted(most));
            let missing: Vec<_> = least.iter().filter(|row| !rows.contains(row)).collect();
            let wrong: Vec<_> = rows.iter().filter(|row| !most.contains(row)).collect();
            let twice = rows.windows(2).any(|two| two[0] == two[1]);
            (!missing.is_empty() || !wrong.is_empty() || twice)
                .then(|| format!("missing {missing:?}\n  wrong {wrong:?}\n  twice: {twice}"))
        }
        Expected::Plan(truths) => {
            let documents: Vec<String> = rows.iter().map(|row| first(row)).collect();
            let fits = |truth: &&(Vec<String>, Vec<String>)| {
                sorted(&truth.0) == sorted(&documents) && rows.iter().all(|row| truth.1.contains(row))
            };
            if truths.iter().any(|truth| fits(&truth)) {
                return None;
            }
            let (removed, may) = &truths[0];
            Some(format!("removed should be {removed:?}\n  by {may:?}\n  gave {rows:?}"))
        }
        Expected::Using(words) => {
            let plan = rows.join("\n");
            let fits = words.iter().any(|word| format!("{plan} \n").replace('\n', " ").contains(word));
            (!fits).then(|| format!("the plan should use one of {words:?}:\n{plan}"))
        }
    }
}

fn first(row: &str) -> String {
    row.split(" | ").next().unwrap_or_default().to_owned()
}

fn apart(expected: &[String], rows: &[String]) -> String {
    let missing: Vec<_> = expected.iter().filter(|row| !rows.contains(row)).collect();
    let wrong: Vec<_> = rows.iter().filter(|row| !expected.contains(row)).collect();
    let (count, right) = (rows.len(), expected.len());
    format!("missing {missing:?}\n  wrong {wrong:?}\n  ({count} rows, not {right})")
}

/// Differences by label.
#[derive(Default)]
struct Differences {
    of: BTreeMap<String, (u64, Vec<String>)>,
    errors: BTreeMap<String, u64>,
    questions: u64,
}

impl Differences {
    fn add(&mut self, label: &str, told: impl FnOnce() -> String) {
        let entry = self.of.entry(label.to_owned()).or_default();
        entry.0 += 1;
        if entry.1.len() < SHOWN {
            entry.1.push(told());
        }
    }
}

/// Runs the case of a seed.
fn run(client: &mut Client, seed: u64, has_citext: bool, differences: &Mutex<Differences>) {
    let mut random = Random::new(seed);
    let scene = Scene::random(&mut random);
    if scene.needs_citext() && !has_citext {
        return;
    }
    let mut case = Case { seed, client, random, script: String::new() };
    let built = case.build(scene).and_then(|scene| case.facts(&scene).map(|facts| (scene, facts)));
    let (scene, facts) = match built {
        Ok(built) => built,
        Err(cause) => {
            let told = || format!("SEED={seed}: {cause}\n{}", case.script);
            differences.lock().expect("unharmed").add("making the table", told);
            return;
        }
    };
    for _ in 0..QUESTIONS {
        let mut random = Random::new(case.random.seed());
        let mut asker = Asker { scene: &scene, facts: &facts, random: &mut random };
        let Some(question) = asker.question() else { continue };
        let (sql, answer) = case.answer(&question);
        let mut differences = differences.lock().expect("unharmed");
        differences.questions += 1;
        if let Err((state, _)) = &answer {
            *differences.errors.entry(state.clone()).or_default() += 1;
        }
        if let Some(wrong) = difference(&question, &answer) {
            let label = match &answer {
                Err((state, _)) => format!("{}: error {state}", question.label),
                Ok(_) => question.label.clone(),
            };
            differences.add(&label, || format!("SEED={} {label}\n{}\n{sql};\n  {wrong}\n", case.seed, case.script));
        }
    }
}

#[test]
fn one_question_has_one_answer() {
    let cases = number("MINLSH_DIFFERENTIAL_CASES").unwrap_or(if is_thorough() { 300 } else { 150 });
    let seed = seed("MINLSH_DIFFERENTIAL_SEED");
    println!("{cases} cases from SEED={seed} on");
    let server = Server::start_with(&SETTINGS);
    let next = AtomicU64::new(0);
    let differences = Mutex::new(Differences::default());
    std::thread::scope(|scope| {
        for _ in 0..SESSIONS.min(cases) {
            scope.spawn(|| {
                let database = server.create_database();
                let mut client = database.connect();
                client.run(scene::COMMON);
                let has_citext = client.batch_execute("CREATE EXTENSION citext").is_ok();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases {
                        break;
                    }
                    if client.is_closed() {
                        client = database.connect();
                    }
                    run(&mut client, seed.wrapping_add(number), has_citext, &differences);
                    if number % 1000 == 999 {
                        println!("{} cases", number + 1);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().expect("unharmed");
    println!("{} questions; documented errors and others: {:?}", differences.questions, differences.errors);
    let mut told = String::new();
    for (label, (count, shown)) in &differences.of {
        writeln!(told, "== {count} x {label}").expect("memory");
        shown.iter().for_each(|one| writeln!(told, "{one}").expect("memory"));
    }
    let total: u64 = differences.of.values().map(|(count, _)| count).sum();
    let log = server.log();
    let ended = log.lines().find(|line| line.contains("terminated by signal"));
    assert_eq!(ended, None, "SEED={seed}");
    assert!(total == 0, "{total} differences\n{told}");
}
