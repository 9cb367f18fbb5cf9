//! The rows of a suggestion.

use pgrx::pg_sys::{self, Datum};
use sketch::{Config, DEFAULT_THRESHOLD, Histogram, Suggested, Unit};

use super::choice::{Choice, Why};
use super::nearest::Neighbors;
use super::sample::{Sample, SampleSize};
use crate::corpus::arguments::{Arguments, label, raw_text};
use crate::corpus::source::Source;
use crate::document::kind::Kind;
use crate::error::Result;
use crate::options::Options;
use crate::pg::call::float8_datum;
use crate::pg::catalog::{base_type, is_stored_as, relation_kind};
use crate::pg::names::{literal, quoted, visible_name};
use crate::pg::result_rows::ResultRows;
use crate::pg::text;

/// Of fewer documents, random pairs say nothing about a template.
const FEW: u64 = 100;

/// The longest bar of the histogram.
const BAR: u64 = 40;

/// The rows, as they are made.
pub struct Report<'a> {
    result: &'a ResultRows,
    documents: u64,
    sampled: u64,
    saturated: u64,
    large: u64,
    wanted: SampleSize,
}

impl<'a> Report<'a> {
    /// A report on `sample`.
    pub fn new(sample: &Sample, wanted: SampleSize, result: &'a ResultRows) -> Self {
        Self {
            result,
            documents: sample.documents,
            sampled: sample.taken.len() as u64,
            saturated: sample.saturated,
            large: sample.large,
            wanted,
        }
    }

    /// Writes all rows.
    pub fn write(
        &self,
        source: &Source,
        arguments: &Arguments,
        choice: &Choice,
        found: &Neighbors,
    ) -> Result<()> {
        self.sample(found);
        if source.kind != Kind::Set {
            self.texts(choice);
        }
        // Random pairs of few documents are those that are alike.
        let unrelated = if self.sampled < FEW { 0.0 } else { choice.cut.unrelated };
        let (threshold, why) = found.nearest.threshold(unrelated);
        self.neighbors(choice, found, threshold);
        let why = match why {
            Suggested::Valley => "the valley of the histogram",
            Suggested::Gap => "nothing lies below: lower thresholds find the same",
            Suggested::Steady => {
                "the default, as the histogram has no valley: read pairs of each step"
            }
            Suggested::Nothing => "the default: nothing in the sample is similar",
            Suggested::AboveRandom => "above random pairs: a lower one finds unrelated documents",
        };
        self.advice("threshold", Some(&threshold.to_string()), why);
        if source.kind != Kind::Signature && unrelated >= Histogram::LEAST {
            let why = "random pairs are this similar, by a template or too short shingles: pass boilerplate => the \
                       column that says where a document comes from, or '*' if all come from one place";
            self.advice("template", Some(&hundredths(unrelated)), why);
        }
        self.statements(source, arguments, &choice.config, threshold)
    }

    /// Reports what was looked at.
    fn sample(&self, found: &Neighbors) {
        let all = self.documents;
        self.counted("documents", all, None, "documents of the source that are not NULL");
        let is_all = self.sampled as usize >= self.wanted.count || self.sampled >= all - self.large;
        let how = match is_all {
            true => "compared with all documents; sample_seed takes others",
            false => "as many as fit in work_mem; raise it for a larger sample",
        };
        self.counted("sample", self.sampled, Some(all), how);
        if self.large > 0 {
            let why = "larger than a sixteenth of work_mem and not in the sample";
            self.counted("too large", self.large, Some(all), why);
        }
        self.counted(
            "empty",
            found.empty,
            Some(all),
            "without shingles or elements: they match nothing",
        );
    }

    /// Reports what the texts are like, and how they are best cut.
    fn texts(&self, choice: &Choice) {
        let Choice { config, robust, cut, why } = choice;
        let is_char = config.unit() == Unit::Char;
        let unit = if is_char { "character" } else { "word" };
        let short = format!(
            "under {robust} shingles: one changed {unit} takes them below {DEFAULT_THRESHOLD}"
        );
        self.counted("too short", cut.short, Some(self.sampled), &short);
        let long = "so long that unrelated texts share many shingles by chance";
        self.counted("saturated", self.saturated, Some(self.documents), long);
        let given = "as the call, the index or the documents have it";
        let (unit, size) = match why {
            Why::Given => (given, given.to_owned()),
            Why::Usual => {
                ("the default, for every language", "the default suits these lengths".to_owned())
            }
            Why::Short => (
                "the default; for titles try 'word' as well",
                format!(
                    "most texts are short: half have at most {} shingles of this size",
                    cut.median
                ),
            ),
            Why::Long => (
                "the default; for long texts try 'word' as well",
                "the texts are too long for less".into(),
            ),
        };
        self.advice("unit", Some(config.unit().as_str()), unit);
        self.advice("shingle_size", Some(&config.shingle_size().to_string()), &size);
    }

    /// Reports how similar the nearest neighbors are.
    fn neighbors(&self, choice: &Choice, found: &Neighbors, threshold: f64) {
        let common = "19 of 20 random pairs are no more similar";
        self.advice("random pairs", Some(&hundredths(choice.cut.unrelated)), common);
        self.counted(
            "identical",
            found.copies,
            Some(self.sampled),
            "have a copy that is equal after normalization",
        );
        let near = found.nearest.from(threshold);
        let reason = format!("have another document from {threshold} up that is not a copy");
        self.counted("near copies", near, Some(self.sampled), &reason);
        let most = found.nearest.bins().map(|(.., count)| count).max().unwrap_or(0).max(1);
        for (from, to, count) in found.nearest.bins() {
            let bar = "#".repeat((count * BAR).div_ceil(most) as usize);
            let range = format!("{from:.2} to {to:.2}");
            self.row("nearest", Some(&range), Some(count), self.share(count, self.sampled), &bar);
        }
    }

    /// Reports the statements to run.
    fn statements(
        &self,
        source: &Source,
        arguments: &Arguments,
        config: &Config,
        threshold: f64,
    ) -> Result<()> {
        let options = differing(source, config)?;
        let body = quoted(&label(&source.columns[source.body].name));
        match (&source.named, source.relation) {
            (Some(named), _) if threshold < named.options.threshold.get() => {
                let own = named.options.threshold;
                let reason = format!("it serves {own} and higher; create it again for {threshold}");
                self.advice("index", Some(&quoted(&named.name)), &reason);
            }
            (Some(named), _) => {
                self.advice("index", Some(&quoted(&named.name)), "it serves this threshold")
            }
            (None, Some(table)) if matches!(relation_kind(table), b'r' | b'p' | b'm') => {
                let with =
                    std::iter::once(("threshold", threshold.to_string())).chain(options.clone());
                let with: Vec<String> =
                    with.map(|(name, value)| format!("{name} = {value}")).collect();
                let scope = source.scopes.first();
                let scope = scope.map(|place| {
                    let name = quoted(&label(&source.columns[*place].name));
                    // By its default class a text would be a second document.
                    let is_text = source
                        .scope_types()
                        .first()
                        .is_some_and(|(scope, _)| is_stored_as(base_type(*scope), pg_sys::TEXTOID));
                    if is_text { format!("{name} minlsh_text_scope_ops") } else { name }
                });
                let columns: Vec<String> = scope.into_iter().chain([body]).collect();
                let (columns, with) = (columns.join(", "), with.join(", "));
                let table = visible_name(table);
                let sql =
                    format!("CREATE INDEX ON {table} USING minlsh ({columns}) WITH ({with});");
                self.advice("index", None, &sql);
            }
            _ => {}
        }
        let mut call = match arguments.raw(0) {
            Some(source) => literal(&label(&raw_text(source))),
            None => String::new(),
        };
        // An index serves no lower threshold than its own.
        let least = source.named.as_ref().map_or(0.0, |named| named.options.threshold.get());
        call.push_str(&format!(", {}", threshold.max(least)));
        let names = [("body", 1), ("key_column", 2), ("scope", 3)];
        for (name, place) in names {
            if let Some(value) = arguments.raw(place) {
                call.push_str(&format!(", {name} => {}", literal(&label(&raw_text(value)))));
            }
        }
        if source.named.is_none() {
            options.iter().for_each(|(name, value)| call.push_str(&format!(", {name} => {value}")));
        }
        let sql = format!("SELECT * FROM near_duplicate_pairs({call});");
        self.advice("pairs", None, &sql);
        Ok(())
    }

    /// A row that advises something.
    fn advice(&self, item: &str, value: Option<&str>, explanation: &str) {
        self.row(item, value, None, None, explanation);
    }

    /// A row that counts documents, of so many.
    fn counted(&self, item: &str, count: u64, of: Option<u64>, explanation: &str) {
        self.row(item, None, Some(count), of.and_then(|of| self.share(count, of)), explanation);
    }

    fn share(&self, count: u64, of: u64) -> Option<f64> {
        (of > 0).then(|| (count as f64 / of as f64 * 1000.0).round() / 1000.0)
    }

    fn row(
        &self,
        item: &str,
        value: Option<&str>,
        count: Option<u64>,
        share: Option<f64>,
        explanation: &str,
    ) {
        self.result.push(&[
            Some(text::write(item)),
            value.map(text::write),
            count.map(|count| Datum::from(count as i64)),
            share.map(float8_datum),
            Some(text::write(explanation)),
        ]);
    }
}

/// A similarity with two digits.
fn hundredths(similarity: f64) -> String {
    ((similarity * 100.0).round() / 100.0).to_string()
}

/// The options of texts that are not the default, as SQL.
fn differing(source: &Source, config: &Config) -> Result<Vec<(&'static str, String)>> {
    let default = Options::default().config()?;
    let has_own = source.kind != Kind::Text;
    let (of, default) = (Options::of(config), Options::of(&default));
    let options = [
        ("shingle_size", of.shingle_size.to_string(), default.shingle_size.to_string()),
        ("unit", literal(&of.unit), literal(&default.unit)),
        ("normalization", literal(&of.normalization), literal(&default.normalization)),
        ("stop_words", literal(&of.stop_words), literal(&default.stop_words)),
        ("bag", of.bag.to_string(), default.bag.to_string()),
    ];
    let differs = options.into_iter().filter(|(_, value, default)| !has_own && value != default);
    Ok(differs.map(|(name, value, _)| (name, value)).collect())
}
