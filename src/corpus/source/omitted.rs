//! Rows of a source that take no part in a job, counted by reason, and reported in one NOTICE.

use sketch::counted;

use crate::corpus::source::Source;
use crate::corpus::source::rows::SourceRow;
use crate::document::kind::Kind;
use crate::prelude::*;

/// The reason why a row takes no part.
#[derive(Clone, Copy)]
pub enum Reason {
    NullDocument,
    NullKey,
    /// A NULL in a scope column, which equals nothing.
    NullScope,
    /// Nothing to compare: a text without shingles, or a set without elements.
    Empty,
    /// A text shorter than `min_match`, which has no passage.
    Short,
}

/// Number of reasons.
const REASONS: usize = Reason::Short as usize + 1;

/// Counts of rows of a source that take no part.
#[derive(Clone)]
pub struct Omitted {
    argument: &'static str,
    kind: Kind,
    /// Number of scope columns.
    scopes: usize,
    counts: [u64; REASONS],
}

impl Omitted {
    /// No rows yet of `source`, whose first `scopes` grouping columns are scopes.
    pub fn of(source: &Source, scopes: usize) -> Self {
        Self { argument: source.argument, kind: source.kind, scopes, counts: [0; REASONS] }
    }

    /// Returns the document of `row`. If it or a scope is NULL, counts the row and returns `None`.
    pub fn document<'a>(&mut self, row: &SourceRow<'a>) -> Option<TypedValue<'a>> {
        let document = row.document();
        let reason = match document {
            None => Reason::NullDocument,
            Some(_) if (0..self.scopes).any(|scope| row.scope(scope).is_none()) => Reason::NullScope,
            Some(_) => return document,
        };
        self.add(reason, 1);
        None
    }

    /// Counts `rows` rows.
    pub fn add(&mut self, reason: Reason, rows: usize) {
        self.counts[reason as usize] += rows as u64;
    }

    /// Describes the rows for each reason. `source` names the source, and `short` says what happens to short texts.
    fn lines(&self, source: &str, short: &str) -> Vec<String> {
        let (what, without) = match self.kind {
            Kind::Text | Kind::Passage => ("text", "a text without shingles"),
            Kind::Set => ("set", "a set without elements"),
            Kind::Signature => ("signature", "a signature without slots"),
            Kind::Document => ("document", "a document without shingles"),
        };
        let reasons = [
            format!("a NULL {what}"),
            "a NULL key".to_owned(),
            "a NULL scope".to_owned(),
            without.to_owned(),
            format!("a text shorter than min_match{short}"),
        ];
        let counted_of = |(count, reason): (u64, String)| {
            let rows = counted(count as usize, "row");
            let verb = if count == 1 { "has" } else { "have" };
            (count > 0).then(|| format!("{rows}{source} {verb} {reason}."))
        };
        self.counts.into_iter().zip(reasons).filter_map(counted_of).collect()
    }
}

/// Reports the rows of all sources that take no part; `short` says what happens to texts shorter than `min_match`.
pub fn notice_omitted(sources: &[Omitted], short: &str) {
    let count: u64 = sources.iter().flat_map(|omitted| omitted.counts).sum();
    if count == 0 {
        return;
    }
    let name = |omitted: &Omitted| match sources {
        [_] => String::new(),
        _ => format!(" of {}", omitted.argument),
    };
    let lines = sources.iter().flat_map(|omitted| omitted.lines(&name(omitted), short));
    let (rows, verb) = (counted(count as usize, "row"), if count == 1 { "takes" } else { "take" });
    let mut report = notice(format!("{rows} {verb} no part")).set_detail(lines.collect::<Vec<_>>().join("\n"));
    if sources.iter().any(|omitted| omitted.counts[Reason::NullScope as usize] > 0) {
        report = report.set_hint(
            "Use coalesce() around the scope column in a query to compare rows with a NULL scope with each other.",
        );
    }
    report.report();
}
