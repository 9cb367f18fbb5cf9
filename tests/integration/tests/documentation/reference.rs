//! The reference lists what the catalog has: each function with its arguments in order, each operator, type, operator
//! class, view, setting and procedure, and nothing else. It leaves out triggers, functions that refuse mistaken calls,
//! and functions `minlsh_...` to which an operator, a type, a view or the like refers.
//!
//! Blocks of the language `signatures` hold the entries, one that begins in the first column and goes on in indented
//! lines. `name: a, b` names arguments that several functions share; `key integer | bigint` stands for a function of
//! each type, whose result has that type where the entry says `anyelement`. `{a | b}` stands for an entry with each.

use std::collections::BTreeSet;
use std::path::Path;

use minlsh_integration::{Run, database};

/// Every object of the extension that users may name, in the form of the reference. Nothing else in the database may
/// refer to these objects.
const CATALOG: &str = r"
WITH member AS (
    SELECT d.classid, d.objid FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
    WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'minlsh'),
internal AS (
    SELECT p.oid FROM pg_proc AS p WHERE p.prorettype = 'trigger'::regtype
        OR obj_description(p.oid, 'pg_proc') LIKE 'refuses %'
        OR p.proname LIKE 'minlsh\_%' AND EXISTS (
            SELECT FROM pg_depend AS d WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid)),
argument AS (
    SELECT p.oid, n, mode, concat_ws(' ', nullif(p.proargnames[n], ''), format_type(type, NULL)) AS declared,
        CASE WHEN mode = 'i' THEN regexp_replace(
            pg_get_function_arg_default(p.oid, (sum((mode = 'i')::int) OVER (PARTITION BY p.oid ORDER BY n))::int),
            '::[^:]*$', '') END AS default_value
    FROM member AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid,
        unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes) WITH ORDINALITY AS a (type, given, n),
        LATERAL (SELECT coalesce(given, 'i') AS mode) AS known)
SELECT CASE p.prokind WHEN 'a' THEN 'aggregate ' WHEN 'w' THEN 'window ' WHEN 'p' THEN 'procedure ' ELSE '' END
    || p.proname || '(' || coalesce((SELECT string_agg(declared || coalesce(' = ' || default_value, ''), ', ' ORDER BY n)
        FROM argument AS a WHERE a.oid = p.oid AND mode = 'i'), '') || ')'
    || CASE WHEN p.prokind = 'p' THEN '' ELSE ' → ' || CASE WHEN p.proretset THEN 'setof ' ELSE '' END
        || coalesce((SELECT '(' || string_agg(declared, ', ' ORDER BY n) || ')'
            FROM argument AS a WHERE a.oid = p.oid AND mode IN ('o', 't')), format_type(p.prorettype, NULL)) END
FROM member AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
WHERE p.oid NOT IN (SELECT oid FROM internal)
UNION ALL
SELECT format('operator %s %s %s → %s', format_type(o.oprleft, NULL), o.oprname, format_type(o.oprright, NULL),
    format_type(o.oprresult, NULL))
FROM member AS m JOIN pg_operator AS o ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid
UNION ALL
SELECT 'type ' || format_type(t.oid, NULL)
FROM member AS m JOIN pg_type AS t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
WHERE t.typtype = 'b' AND t.typcategory <> 'A'
UNION ALL
SELECT format('operator class %s for %s', c.opcname, format_type(c.opcintype, NULL))
    || CASE WHEN c.opcdefault THEN ', default' ELSE '' END
FROM member AS m JOIN pg_opclass AS c ON m.classid = 'pg_opclass'::regclass AND m.objid = c.oid
UNION ALL
SELECT format('%s %s (%s)', CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END, c.relname,
    (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute AS a
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
FROM member AS m JOIN pg_class AS c ON m.classid = 'pg_class'::regclass AND m.objid = c.oid
UNION ALL
SELECT 'access method ' || a.amname
FROM member AS m JOIN pg_am AS a ON m.classid = 'pg_am'::regclass AND m.objid = a.oid
UNION ALL
SELECT format('setting %s %s = %s', name, vartype, boot_val)
    || coalesce(format(' (%s to %s)', min_val, max_val), format(' (%s)', array_to_string(enumvals, ', ')), '')
FROM pg_settings WHERE name LIKE 'minlsh.%'
";

/// The entries of all pages of the reference, and the named lists of arguments.
fn written(root: &Path) -> (Vec<String>, Vec<(String, String)>) {
    let mut entries: Vec<String> = Vec::new();
    let folder = std::fs::read_dir(root.join("docs/reference")).expect("docs/reference");
    let mut pages: Vec<_> = folder.map(|page| page.expect("page").path()).collect();
    pages.sort();
    for page in pages {
        let text = std::fs::read_to_string(page).expect("UTF-8");
        let mut inside = false;
        for line in text.lines() {
            match (line.starts_with("```"), inside) {
                (true, _) => inside = line == "```signatures",
                (false, true) if line.starts_with(' ') => {
                    let entry = entries.last_mut().expect("an entry begins in the first column");
                    entry.push(' ');
                    entry.push_str(line.trim());
                }
                (false, true) => entries.push(line.trim().to_owned()),
                (false, false) => {}
            }
        }
    }
    let lists = entries.iter().filter_map(|entry| entry.split_once(": "));
    let lists = lists.map(|(name, list)| (name.to_owned(), list.to_owned())).collect();
    entries.retain(|entry| !entry.contains(": "));
    (entries, lists)
}

/// The entries that `{a | b}` in an entry stands for.
fn alternatives(entry: &str) -> Vec<String> {
    let parts = entry.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (choice, after))) = parts else { return vec![entry.to_owned()] };
    let each = choice.split(" | ").flat_map(|one| alternatives(&format!("{before}{one}{after}")));
    each.collect()
}

/// The functions that an entry stands for; another entry stands for itself.
fn expanded(entry: &str, lists: &[(String, String)]) -> Vec<String> {
    let Some((name, arguments, result)) = function(entry) else { return vec![entry.to_owned()] };
    let with_lists = |text: &str| -> String {
        let parts = text.split(", ").map(|part| {
            let list = lists.iter().find(|(name, _)| name == part);
            list.map_or(part, |(_, list)| list)
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let arguments = with_lists(arguments);
    let columns = result.split_once('(').and_then(|(before, rest)| Some((before, rest.strip_suffix(')')?)));
    let result = columns.map_or(result.to_owned(), |(before, list)| format!("{before}({})", with_lists(list)));
    // The one argument that has several types, if there is one.
    let Some(choice) = arguments.split(", ").find(|argument| argument.contains(" | ")) else {
        return vec![format!("{name}({arguments}){result}")];
    };
    let (declared, default) = choice.split_once(" = ").map_or((choice, None), |(left, right)| (left, Some(right)));
    let (key, types) = declared.split_once(' ').expect("a name and types");
    let each = types.split(" | ").map(|of| {
        let default = default.map_or(String::new(), |default| format!(" = {default}"));
        let arguments = arguments.replace(choice, &format!("{key} {of}{default}"));
        format!("{name}({arguments}){}", result.replace("anyelement", of))
    });
    each.collect()
}

/// Name, arguments and the rest of an entry that is a function.
fn function(entry: &str) -> Option<(&str, &str, &str)> {
    const OTHERS: [&str; 6] = ["operator ", "type ", "view ", "table ", "access method ", "setting "];
    if OTHERS.iter().any(|other| entry.starts_with(other)) {
        return None;
    }
    let (name, rest) = entry.split_once('(')?;
    let (arguments, result) = rest.split_once(')')?;
    Some((name, arguments, result))
}

#[test]
fn the_reference_lists_what_the_catalog_has() {
    let mut client = database().connect();
    client.run("SELECT minlsh_version()");
    let rows = client.query(CATALOG, &[]).expect("catalog");
    let has: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(has.len() > 100, "{has:?}");

    let (entries, lists) = written(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let each = entries.iter().flat_map(|entry| alternatives(entry));
    let all = each.flat_map(|entry| expanded(&entry, &lists));
    let written: BTreeSet<String> = all.map(|entry| entry.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let missing: Vec<&String> = has.difference(&written).collect();
    let unknown: Vec<&String> = written.difference(&has).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not in docs/reference:\n{missing:#?}\nnot in the catalog:\n{unknown:#?}"
    );
}
