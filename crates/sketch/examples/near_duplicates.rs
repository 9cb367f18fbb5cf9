//! Finds the near-duplicates among texts in JSON Lines, and writes them as JSON Lines.
//!
//! ```sh
//! cargo run --release -p minlsh-sketch --example near_duplicates -- pairs --threshold 0.8 texts.jsonl
//! ```
//!
//! Each line of the input is an object with an `id`, which is a string or a number, and a `text`. `--id` and `--text`
//! name other fields. Without a file, it reads standard input. `--recall` is the share of the pairs at the threshold
//! that it finds, 0.99 by default. The first argument says what it writes:
//!
//! | argument | a line of the output |
//! |---|---|
//! | `pairs` | `{"a":1,"b":2,"similarity":0.93}`: two texts of at least the threshold |
//! | `clusters` | `{"ids":[1,2,5]}`: texts that a chain of pairs connects |
//! | `plan` | `{"kept":1,"removed":2,"similarity":0.93}`: without the removed texts no near-duplicates remain |

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};

use minlsh_sketch::{Config, DEFAULT_RECALL, DEFAULT_THRESHOLD, Dedup};
use serde_json::{Map, Value, json};

const USAGE: &str = "usage: near_duplicates pairs|clusters|plan [--threshold NUMBER] [--recall NUMBER] [--id FIELD] \
                     [--text FIELD] [FILE]";

/// The arguments of the program.
pub struct Options {
    wanted: String,
    threshold: f64,
    recall: f64,
    id: String,
    text: String,
    file: Option<String>,
}

impl Options {
    /// Reads the arguments that follow the program's name.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let wanted =
            arguments.next().filter(|wanted| ["pairs", "clusters", "plan"].contains(&&**wanted)).ok_or(USAGE)?;
        let (threshold, recall) = (DEFAULT_THRESHOLD, DEFAULT_RECALL);
        let mut options = Self { wanted, threshold, recall, id: "id".into(), text: "text".into(), file: None };
        while let Some(argument) = arguments.next() {
            if !argument.starts_with("--") && options.file.is_none() {
                options.file = Some(argument);
                continue;
            }
            let value = arguments.next().ok_or(USAGE)?;
            match &*argument {
                "--threshold" => options.threshold = value.parse()?,
                "--recall" => options.recall = value.parse()?,
                "--id" => options.id = value,
                "--text" => options.text = value,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }

    /// Reads id and text of a line.
    fn record(&self, line: &str) -> Result<(Value, String), Box<dyn Error>> {
        let mut fields: Map<String, Value> = serde_json::from_str(line).map_err(|why| {
            // It has seen this line alone, so the number that it gives is 1.
            let position = format!(" at line {} column {}", why.line(), why.column());
            why.to_string().replace(&position, &format!(" at column {}", why.column()))
        })?;
        match (fields.remove(&self.id), fields.remove(&self.text)) {
            (Some(id @ (Value::String(_) | Value::Number(_))), Some(Value::String(text))) => Ok((id, text)),
            (Some(Value::String(_) | Value::Number(_)), _) => Err(format!("no string \"{}\"", self.text).into()),
            _ => Err(format!("no string or number \"{}\"", self.id).into()),
        }
    }

    /// Reads all texts, and writes what is wanted of them. A line that cannot be read is an error with its number.
    pub fn run(&self, input: impl BufRead, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
        let mut dedup = Dedup::new(Config::default(), self.threshold)?.with_recall(self.recall)?;
        for (number, line) in (1..).zip(input.lines()) {
            let record = line.map_err(Into::into).and_then(|line| self.record(&line));
            let (id, text) = record.map_err(|why| format!("line {number}: {why}"))?;
            dedup.add(id, &text)?;
        }
        let lines: Vec<Value> = match &*self.wanted {
            "pairs" => {
                let pairs = dedup.pairs()?.into_iter();
                pairs.map(|pair| json!({"a": pair.a, "b": pair.b, "similarity": pair.similarity})).collect()
            }
            "clusters" => dedup.clusters()?.into_iter().map(|ids| json!({ "ids": ids })).collect(),
            _ => {
                let plan = dedup.plan()?.into_iter();
                plan.map(|of| json!({"removed": of.removed, "kept": of.kept, "similarity": of.similarity})).collect()
            }
        };
        lines.iter().try_for_each(|line| writeln!(output, "{line}"))?;
        Ok(output.flush()?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    let mut output = BufWriter::new(std::io::stdout().lock());
    match &options.file {
        Some(file) => options.run(BufReader::new(File::open(file)?), &mut output),
        None => options.run(std::io::stdin().lock(), &mut output),
    }
}
