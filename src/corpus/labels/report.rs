//! The rows of a suggestion from labels.

use sketch::Config;
use sketch::labels::{Advice, Estimate, Fit, Plateaus};

use super::candidates::Candidates;
use super::decided::Labeled;
use crate::corpus::source::Source;
use crate::corpus::source::arguments::{Arguments, is_query, label, relation_named};
use crate::corpus::suggest::report::{SuggestedJob, rounded, write_row};
use crate::prelude::*;

/// Default minimum similarity of pairs.
pub const LOWEST: f64 = 0.1;
/// Width above which an interval justifies more answers.
const WIDE: f64 = 0.1;
/// Minimum number of answers to request if a precision was not shown.
const NEXT: u64 = 20;

pub struct LabelReport<'a> {
    pub result: &'a ResultRows,
    pub arguments: &'a Arguments,
    pub lowest: f64,
    pub found: &'a Candidates,
    pub labeled: &'a Labeled,
    pub wanted: Option<f64>,
}

impl LabelReport<'_> {
    /// Writes all rows.
    pub fn write(&self, sources: &[Source], config: &Config) -> Result<()> {
        let source = &sources[0];
        let Self { arguments, lowest, found, labeled, wanted, .. } = self;
        let job = SuggestedJob::new(source, arguments, config);
        self.labels();
        self.pairs();
        let [same, different] = labeled.counts();
        if same == 0 || different == 0 {
            let (none, where_else, lowest) = match same {
                0 => ("same", "more similar", lowest.midpoint(1.0)),
                _ => ("different", "less similar", lowest / 2.0),
            };
            let why = format!("no pair was answered \"{none}\"");
            self.row("threshold", None, None, &why);
            let more = format!(", lowest => {}", rounded(lowest, 100.0));
            return self.next(&job, &more, &format!("this asks for {where_else} pairs"));
        }
        let (advice, must_agree) = match wanted {
            None => found.judged(labeled, sources).map(|judged| (judged.advice, judged.is_ruled))?,
            Some(precision) => {
                let fit = Fit::new(labeled.labels.iter().copied(), &found.counts, Plateaus::Flat)?;
                match fit.reaching(*precision) {
                    Some(advice) => (advice, false),
                    None => return self.not_shown(&fit, *precision, &job),
                }
            }
        };
        let Advice { threshold, found: number, f1, precision, recall } = advice;
        let why = match wanted {
            None => "the best balance of precision and recall (F1)".to_owned(),
            Some(precision) => {
                format!("the lowest with a precision of {precision} or more, with a probability of 0.9")
            }
        };
        self.row("threshold", Some(&rounded(threshold, 1000.0).to_string()), None, &why);
        if must_agree {
            let why = "two documents with codes (numbers, models) must have one in common: F1 is higher then";
            self.row("codes", Some("must agree"), None, why);
        }
        let why = format!("expected share of the {number:.0} pairs found that are the same");
        self.estimate("precision", precision, &why);
        let why = format!("expected share found of the pairs that are the same and at least {lowest} similar");
        self.estimate("recall", recall, &why);
        let why = "the harmonic mean of precision and recall";
        self.row("F1", Some(&rounded(f1, 1000.0).to_string()), None, why);
        let width = |estimate: Estimate| estimate.high - estimate.low;
        if width(precision).max(width(recall)) > WIDE {
            let why = "more answers make the intervals narrower: this asks where they matter";
            self.next(&job, &self.lowest(), why)?;
        }
        let functions: &[(&str, &str)] = match arguments.has(&["other"]) {
            true => &[("pairs", "near_duplicates_between")],
            false => &[("pairs", "near_duplicate_pairs"), ("plan", "near_duplicate_plan")],
        };
        let body = quoted(&label(&source.columns[source.body].name));
        let agree = must_agree.then(|| format!(", agree => {}", literal(&format!("codes({body})"))));
        let agree = agree.unwrap_or_default();
        for (item, function) in functions {
            self.row(item, None, None, &job.of(function, rounded(threshold, 1000.0), &agree));
        }
        Ok(())
    }

    fn labels(&self) {
        let Labeled { labels, open, missing, large, .. } = self.labeled;
        let [same, different] = self.labeled.counts();
        let mut why = format!("{same} same, {different} different");
        let left_out = [
            (open, "without an answer"),
            (missing, "of documents that the source does not have"),
            (large, "too large for work_mem"),
        ];
        for (count, of) in left_out.into_iter().filter(|(count, _)| **count > 0) {
            why.push_str(&format!("; {count} {of}"));
        }
        self.row("labels", Some(&labels.len().to_string()), None, &why);
    }

    fn pairs(&self) {
        let Self { lowest, found, .. } = self;
        let Candidates { counts, documents, sample, larger, split, large, .. } = found;
        let why = if sample < documents {
            format!(
                "estimated pairs from {lowest} up, by {sample} of {documents} documents; from {split} up by {larger}"
            )
        } else {
            format!("pairs from {lowest} up, of {documents} documents")
        };
        self.row("candidates", Some(&format!("{:.0}", counts.total())), None, &why);
        if *large > 0 {
            let why = "larger than a 32nd of work_mem and not in the sample";
            self.row("too large", Some(&large.to_string()), None, why);
        }
    }

    /// Reports that no threshold is known to reach a precision.
    fn not_shown(&self, fit: &Fit, precision: f64, job: &SuggestedJob) -> Result<()> {
        let why = format!("these answers do not show a precision of {precision} at any threshold");
        self.row("threshold", None, None, &why);
        let (count, why) = match fit.answers_until(precision)? {
            Some(count) => {
                let why = format!(
                    "at least {count} more answers, all \"same\" and about the most similar pairs, would show it"
                );
                (count.max(NEXT), why)
            }
            None => (NEXT, "too many of the most similar pairs are different".to_owned()),
        };
        let threshold = fit.best().threshold.max(self.lowest);
        let more = format!(", lowest => {}, pairs => {count}", rounded(threshold, 1000.0));
        self.next(job, &more, &why)
    }

    /// The argument `lowest` of a statement, unless it is the default.
    fn lowest(&self) -> String {
        match self.lowest {
            LOWEST => String::new(),
            lowest => format!(", lowest => {lowest}"),
        }
    }

    /// Reports that more pairs should be labelled, with the statement for it and further arguments.
    fn next(&self, job: &SuggestedJob, more: &str, why: &str) -> Result<()> {
        let decided = self.arguments.shown("decided").unwrap_or_default();
        let more = format!(", decided => {}{more}", literal(&decided));
        let select = job.without_threshold("minlsh_label_pairs", &more);
        self.row("next", None, None, why);
        let statement = match self.arguments.raw("decided") {
            Some(datum) if !is_query(decided.as_bytes()) => {
                // Not in the original form, which allows more than a statement does.
                let table = visible_name(relation_named(datum, "decided")?);
                format!("INSERT INTO {table} SELECT *, NULL FROM {select};")
            }
            _ => format!("SELECT * FROM {select};"),
        };
        self.row("next", None, None, &statement);
        Ok(())
    }

    fn estimate(&self, item: &str, Estimate { mean, low, high }: Estimate, why: &str) {
        let value = rounded(mean, 1000.0).to_string();
        self.row(item, Some(&value), Some([low, high]), why);
    }

    fn row(&self, item: &str, value: Option<&str>, interval: Option<[f64; 2]>, why: &str) {
        let end = |place: usize| interval.map(|ends| float8_datum(rounded(ends[place], 1000.0)));
        write_row(self.result, item, value, [end(0), end(1)], why);
    }
}
