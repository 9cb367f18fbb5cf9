//! The rows of a suggestion, and the statements that they print.

use sketch::{Config, DEFAULT_THRESHOLD, Suggested, Unit, WithinOrigin};

use super::nearest::Neighbors;
use super::sample::{Choice, FEW, Sample};
use crate::corpus::source::Source;
use crate::corpus::source::arguments::{Arguments, label};
use crate::corpus::source::keyed_rows::Sampling;
use crate::document::kind::Kind;
use crate::options::differing;
use crate::pg::catalog::{base_type, is_stored_as, relation_kind};
use crate::pg::select::SelectColumn;
use crate::prelude::*;

/// Similarity from which random pairs share a template.
const TEMPLATE: f64 = 0.5;

/// The function that lists pairs.
const PAIRS: &str = "near_duplicate_pairs";

/// One of as many near copies with other numbers is worth a word.
const OFTEN: u64 = 20;

/// Length of the longest bar of the histogram, and of the lines in it.
const BAR: usize = 40;
const LINE: usize = 20;

pub struct SuggestReport<'a> {
    pub result: &'a ResultRows,
    pub sample: &'a Sample,
    pub wanted: Sampling,
    pub choice: &'a Choice,
    pub found: &'a Neighbors,
    /// The similarity of random pairs within an origin, and the number of the column that explains it, if one does.
    pub common: Option<(Option<usize>, WithinOrigin)>,
}

impl SuggestReport<'_> {
    /// Writes all rows. `origins` are the columns that may be a document's origin.
    pub fn write(&self, source: &Source, arguments: &Arguments, origins: &[usize]) {
        let choice = self.choice;
        let (threshold, why) = self.found.threshold(choice);
        let job = SuggestedJob::new(source, arguments, &choice.config);
        self.counts();
        if source.kind != Kind::Set {
            self.texts();
        }
        self.neighbors(threshold, why);
        let other_numbers = self.found.other_numbers.near(threshold);
        let near = self.found.similarities.near(threshold);
        let differ_often = other_numbers > 0 && other_numbers * OFTEN >= near;
        if differ_often {
            let why = "near copies that share no number with their nearest: different things, or mistyped dates?";
            self.counted("numbers", other_numbers, Some(near), why);
        }
        let template = match self.common {
            Some((Some(column), within)) => {
                let origin = label(&source.columns[origins[column]].name);
                Some((format!("pairs of one {origin}"), quoted(&origin), within.share))
            }
            Some((None, within)) if choice.unrelated >= TEMPLATE && self.sample.count >= FEW => {
                Some(("random pairs".to_owned(), "*".to_owned(), within.share))
            }
            _ => None,
        };
        if let Some((of, origin, share)) = &template {
            let why = format!("{of} that have a fifth of their text in common");
            self.row("template", Some(origin), None, Some(rounded(*share, 1000.0)), &why);
        }
        self.index(source, &job, threshold);
        self.advice("pairs", None, &job.of(PAIRS, threshold, ""));
        if let Some((_, origin, _)) = &template {
            let more = format!(", boilerplate => {}", literal(origin));
            self.advice("pairs", Some("without template"), &job.of(PAIRS, DEFAULT_THRESHOLD, &more));
        }
        if differ_often {
            let body = quoted(&label(&source.columns[source.body].name));
            let more = format!(", agree => {}", literal(&format!("codes({body}, 1)")));
            self.advice("pairs", Some("numbers agree"), &job.of(PAIRS, threshold, &more));
        }
        // A text has this many more characters than shingles.
        let Choice { config, robust, short, .. } = choice;
        let least = (robust + config.shingle_size() - 1).next_multiple_of(10);
        let are_few = (1..=self.sample.count / 2).contains(short);
        if let (true, Unit::Char, Some(long)) = (are_few, config.unit(), &job.long) {
            let source = literal(&format!("{long}{least}"));
            let pairs = job.call(PAIRS, &source, threshold, &job.scope);
            self.advice("pairs", Some("without short"), &pairs);
        }
        // Similar documents are not always the same: 40 answers show more than any histogram.
        let select = job.without_threshold("minlsh_label_pairs", "");
        self.advice("labels", Some("label some pairs"), &format!("SELECT * FROM {select};"));
    }

    fn counts(&self) {
        let all = self.sample.documents;
        self.counted("documents", all, None, "documents of the source that are not NULL");
        let is_all = self.sample.count as usize >= self.wanted.count || self.sample.count >= all - self.sample.large;
        let how = match (is_all, self.sample.count < FEW) {
            (true, false) => "compared with all documents; sample_seed takes others",
            (true, true) => "fewer than 100: they are few, and show little",
            (false, false) => "as many as fit in work_mem; raise it for a larger sample",
            (false, true) => "few, but all that fit in work_mem; raise it for a larger sample",
        };
        self.counted("sample", self.sample.count, Some(all), how);
        if self.sample.large > 0 {
            let why = "larger than a sixteenth of work_mem and not in the sample";
            self.counted("too large", self.sample.large, Some(all), why);
        }
        let why = "without shingles or elements: they match nothing";
        self.counted("empty", self.found.empty, Some(all), why);
    }

    /// Reports the properties of the texts, and the best way to split them.
    fn texts(&self) {
        let Choice { config, robust, why: (unit_why, size_why), .. } = self.choice;
        let unit = if config.unit() == Unit::Char { "character" } else { "word" };
        let short = format!("under {robust} shingles: one changed {unit} takes them below {DEFAULT_THRESHOLD}");
        self.counted("short", self.choice.short, Some(self.sample.count), &short);
        let long = "so long that unrelated texts share many shingles by chance";
        self.counted("saturated", self.sample.saturated, Some(self.sample.documents), long);
        self.advice("unit", Some(config.unit().as_str()), unit_why);
        self.advice("shingle_size", Some(&config.shingle_size().to_string()), size_why);
    }

    /// Reports the similarity of nearest neighbors: a histogram in descending order, with lines at the threshold and at
    /// the similarity of random pairs.
    fn neighbors(&self, threshold: f64, why: Suggested) {
        let Self { choice, found, .. } = self;
        let equal = "have a copy that is equal after normalization";
        self.counted("identical", found.copies, Some(self.sample.count), equal);
        let near = found.similarities.near(threshold);
        let reason = format!("have another document from {threshold} up that is not a copy");
        self.counted("near copies", near, Some(self.sample.count), &reason);
        let why = match why {
            Suggested::Valley => "the valley between copies and others",
            Suggested::Unclear => "the default: similarity alone does not show where copies begin, label some pairs",
            Suggested::Nothing => "the default: nothing in the sample is similar",
            Suggested::AboveRandom => "above random pairs: a lower one finds unrelated documents",
        };
        let common = "19 of 20 random pairs are no more similar";
        let random = choice.unrelated;
        let mut lines = vec![("random pairs", rounded(random, 100.0), ".", common), ("threshold", threshold, "-", why)];
        lines.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut draw = |above: f64| {
            while let Some((item, at, dash, why)) = lines.pop_if(|line| line.1 > above + 1e-9) {
                let line = format!("{} {why}", dash.repeat(LINE));
                self.advice(item, Some(&rounded(at, 1000.0).to_string()), &line);
            }
        };
        let bins = || found.similarities.bins(random);
        let most = bins().map(|(.., count)| count).max().unwrap_or(0).max(1);
        for (from, to, count) in bins() {
            draw(from);
            let bar = "#".repeat((count as usize * BAR).div_ceil(most as usize));
            let range = format!("{from:.2} to {to:.2}");
            self.row("nearest", Some(&range), Some(count), share(count, self.sample.count), &bar);
        }
        draw(-1.0);
    }

    /// Reports the index to use, or to create.
    fn index(&self, source: &Source, job: &SuggestedJob, threshold: f64) {
        let body = quoted(&label(&source.columns[source.body].name));
        match (&source.named, source.relation) {
            (Some(named), _) => {
                let own = named.options.threshold;
                let reason = match threshold < own.get() {
                    true => format!("it serves {own} and higher; create it again for {threshold}"),
                    false => "it serves this threshold".to_owned(),
                };
                self.advice("index", Some(&quoted(named.name())), &reason);
            }
            (None, Some(table)) if matches!(relation_kind(table), b'r' | b'p' | b'm') => {
                let option = |(name, value): &(&str, String)| format!(", {name} = {value}");
                let options: String = job.options.iter().map(option).collect();
                let scope = source.scopes.first().map_or(String::new(), |place| {
                    let SelectColumn { name, type_oid, .. } = &source.columns[*place];
                    // By its default operator class a text would be a second document.
                    let is_text = is_stored_as(base_type(*type_oid), pg_sys::TEXTOID);
                    let class = if is_text { " minlsh_text_scope_ops" } else { "" };
                    format!("{}{class}, ", quoted(&label(name)))
                });
                let columns = format!("{} USING minlsh ({scope}{body})", visible_name(table));
                let sql = format!("CREATE INDEX ON {columns} WITH (threshold = {threshold}{options});");
                self.advice("index", None, &sql);
            }
            _ => {}
        }
    }

    fn advice(&self, item: &str, value: Option<&str>, explanation: &str) {
        self.row(item, value, None, None, explanation);
    }

    /// A row with a count of documents, out of a total.
    fn counted(&self, item: &str, count: u64, of: Option<u64>, explanation: &str) {
        self.row(item, None, Some(count), of.and_then(|of| share(count, of)), explanation);
    }

    fn row(&self, item: &str, value: Option<&str>, count: Option<u64>, share: Option<f64>, explanation: &str) {
        let numbers = [count.map(|count| Datum::from(count as i64)), share.map(float8_datum)];
        write_row(self.result, item, value, numbers, explanation);
    }
}

/// Writes a row of a report: two numbers stand between the value and the explanation.
pub fn write_row(result: &ResultRows, item: &str, value: Option<&str>, numbers: [Option<Datum>; 2], why: &str) {
    let [first, second] = numbers;
    result.push(&[Some(text::write(item)), value.map(text::write), first, second, Some(text::write(why))]);
}

/// Rounds a number to a multiple of 1 / `parts`.
pub fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

fn share(count: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| rounded(count as f64 / of as f64, 1000.0))
}

/// The common parts of the printed statements: their source, and how it is read.
pub struct SuggestedJob {
    source: String,
    /// The source that it is compared with, if that is another one.
    other: Option<String>,
    /// The beginning of a query that reads only the long texts of a source; the minimum number of characters must
    /// follow. `None` for an index.
    pub long: Option<String>,
    /// Arguments that name the text and the key, and the argument that names the scope.
    columns: String,
    pub scope: String,
    /// Options for texts that are not the default.
    pub options: Vec<(&'static str, String)>,
    /// The threshold of an index, which serves no lower one.
    least: f64,
}

impl SuggestedJob {
    pub fn new(source: &Source, arguments: &Arguments, config: &Config) -> Self {
        let given = |name: &str| arguments.shown(name);
        let argument =
            |name: &str| given(name).map_or(String::new(), |value| format!(", {name} => {}", literal(&value)));
        let text = given("source").unwrap_or_default();
        let name = |place: usize| quoted(&label(&source.columns[place].name));
        let scope: String = source.scopes.iter().map(|place| format!(", {}", name(*place))).collect();
        let from = match source.relation {
            Some(table) => visible_name(table),
            None => format!("({}) AS docs", text.trim_end_matches([';', ' ', '\n'])),
        };
        let (key, body, named) = (name(source.key), name(source.body), source.named.as_ref());
        let long = format!("SELECT {key}, {body}{scope} FROM {from} WHERE length({body}) >= ");
        Self {
            source: literal(&text),
            other: given("other").map(|other| literal(&other)),
            long: (named.is_none() && source.kind == Kind::Text).then_some(long),
            columns: argument("body") + &argument("key_column"),
            scope: argument("scope"),
            options: if named.is_none() && source.kind == Kind::Text { differing(config) } else { Vec::new() },
            least: named.map_or(0.0, |named| named.options.threshold.get()),
        }
    }

    /// The statement that calls a function for the whole source from a threshold up, with further arguments.
    pub fn of(&self, function: &str, threshold: f64, more: &str) -> String {
        let Self { source, other, columns, scope, .. } = self;
        let other = other.as_ref().map_or(String::new(), |other| format!(", {other}"));
        let (options, threshold) = (self.options(), threshold.max(self.least));
        format!("SELECT * FROM {function}({source}{other}, {threshold}{columns}{scope}{more}{options});")
    }

    /// The statement that calls a function for another source, with the same options only.
    pub fn call(&self, function: &str, source: &str, threshold: f64, more: &str) -> String {
        let (options, threshold) = (self.options(), threshold.max(self.least));
        format!("SELECT * FROM {function}({source}, {threshold}{more}{options});")
    }

    /// The call of a function without a threshold.
    pub fn without_threshold(&self, function: &str, more: &str) -> String {
        let Self { source, other, columns, scope, .. } = self;
        let other = other.as_ref().map_or(String::new(), |other| format!(", other => {other}"));
        format!("{function}({source}{other}{columns}{scope}{more}{})", self.options())
    }

    fn options(&self) -> String {
        self.options.iter().map(|(name, value)| format!(", {name} => {value}")).collect()
    }
}
