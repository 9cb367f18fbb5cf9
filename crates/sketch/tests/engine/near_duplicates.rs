//! The program over JSON Lines, with real texts, against a comparison of all of them.

#[allow(dead_code, reason = "its main is called by no test")]
#[path = "../../examples/near_duplicates.rs"]
mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use minlsh_sketch::corpus::Components;
use minlsh_sketch::{Config, ShingleSet};
use program::Options;
use serde_json::{Value, json};

/// Runs the program.
fn run(arguments: &str, input: &str) -> Result<Vec<Value>, String> {
    let options = Options::parse(arguments.split_whitespace().map(String::from)).map_err(|why| why.to_string())?;
    let mut output = Vec::new();
    options.run(input.as_bytes(), &mut output).map_err(|why| why.to_string())?;
    Ok(String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Windows of this crate's own sources, each of 40 lines and 5 lines behind the one before.
fn windows() -> Vec<String> {
    let mut found = Vec::new();
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let source = above.map(|folder| folder.join("src")).find(|source| source.join("exact").is_dir()).unwrap();
    for folder in ["exact", "signature", "text"] {
        let files = std::fs::read_dir(source.join(folder)).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).filter(|file| file.is_file()).collect();
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            found.extend(lines.windows(40).step_by(5).map(|window| window.join("\n")));
        }
    }
    found.truncate(600);
    found
}

#[test]
fn pairs_clusters_and_plan_of_real_texts_are_right() {
    let texts = windows();
    assert!(texts.len() > 300);
    let set = |text: &String| ShingleSet::from_text(&Config::default(), text, &mut || ()).unwrap();
    let sets: Vec<ShingleSet> = texts.iter().map(set).collect();
    let mut expected = BTreeMap::new();
    for b in 0..sets.len() {
        for a in 0..b {
            expected.extend(sets[a].jaccard_at_least(&sets[b], 0.7).map(|similarity| ((a, b), similarity)));
        }
    }
    assert!(expected.len() > 300, "{}", expected.len());

    let line = |(id, text): (usize, &String)| json!({"id": id, "text": text}).to_string() + "\n";
    let input: String = texts.iter().enumerate().map(line).collect();
    let run = |wanted: &str| run(&format!("{wanted} --threshold 0.7 --recall 0.9999"), &input).unwrap();
    let id = |value: &Value| value.as_u64().unwrap() as usize;
    let mut found = BTreeMap::new();
    for line in run("pairs") {
        found.insert((id(&line["a"]), id(&line["b"])), line["similarity"].as_f64().unwrap());
    }
    // Of pairs at the threshold one in 10,000 may be missed.
    assert!(found.iter().all(|(pair, similarity)| expected.get(pair) == Some(similarity)));
    assert!(found.len() + 1 >= expected.len(), "{} of {}", found.len(), expected.len());

    let mut components = Components::new(texts.len() as u32).unwrap();
    found.keys().for_each(|(a, b)| components.union(*a as u32, *b as u32));
    let mut clusters: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    (0..texts.len()).for_each(|text| clusters.entry(components.find(text as u32)).or_default().push(text));
    clusters.retain(|_, members| members.len() > 1);
    let members = |line: Value| line["ids"].as_array().unwrap().iter().map(id).collect::<Vec<_>>();
    assert!(run("clusters").into_iter().map(members).eq(clusters.into_values()));

    let plan = run("plan");
    let removed: BTreeSet<usize> = plan.iter().map(|line| id(&line["removed"])).collect();
    for line in &plan {
        let (kept, gone) = (id(&line["kept"]), id(&line["removed"]));
        assert_eq!(line["similarity"].as_f64().as_ref(), found.get(&(kept, gone)));
        assert!(!removed.contains(&kept));
    }
    assert!(found.keys().all(|(a, b)| removed.contains(a) || removed.contains(b)));
}

#[test]
fn fields_have_the_names_that_are_given() {
    let input = r#"{"key": "x", "body": "a text that is there twice", "id": 7}
        {"body": "a text that is there twice", "key": 12.5}
"#;
    let expected = json!({"a": "x", "b": 12.5, "similarity": 1.0});
    assert_eq!(run("pairs --id key --text body", input), Ok(vec![expected]));
    assert_eq!(run("clusters --text body --id key", input), Ok(vec![json!({"ids": ["x", 12.5]})]));
}

#[test]
fn a_bad_line_is_an_error_with_its_number() {
    let good = "{\"id\": 1, \"text\": \"a text\"}\n";
    for (bad, why) in [
        ("{\"id\": 1", "EOF while parsing"),
        ("", "EOF while parsing"),
        ("[1, \"a text\"]", "invalid type: sequence"),
        ("{\"text\": \"a text\"}", "no string or number \"id\""),
        ("{\"id\": [1], \"text\": \"a text\"}", "no string or number \"id\""),
        ("{\"id\": 2}", "no string \"text\""),
        ("{\"id\": 2, \"text\": 3}", "no string \"text\""),
    ] {
        let found = run("pairs", &format!("{good}{good}{bad}\n{good}")).unwrap_err();
        assert!(found.starts_with(&format!("line 3: {why}")), "{bad}: {found}");
    }
    let found = run("plan", "{\"id\": 1, \"text\": \"\u{fffd}\"}\n{\"id\"").unwrap_err();
    assert!(found.starts_with("line 2: "), "{found}");
}

#[test]
fn wrong_arguments_are_refused() {
    for arguments in ["", "trees", "pairs --threshold", "pairs --limit 3", "pairs a b"] {
        assert!(run(arguments, "").unwrap_err().starts_with("usage: "), "{arguments}");
    }
    assert!(run("pairs --threshold 2", "").unwrap_err().starts_with("threshold must be"));
    assert_eq!(run("pairs --threshold 0.9", ""), Ok(vec![]));
}
