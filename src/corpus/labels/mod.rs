//! `minlsh_label_pairs()`: pairs of documents for a person's decision. `minlsh_suggest_from_labels()`: the threshold
//! that follows from the decisions.
//!
//! 1. [`decided`] reads the existing decisions.
//! 2. [`candidates`] takes a sample of the source, and compares it with all documents. This gives pairs of every
//!    similarity, and their number in the source.
//! 3. The engine selects the pairs to ask about, or fits a curve to the answers. [`report`] returns the result as rows.
//!
//! Memory is `work_mem`, plus a few bytes for each value of a scope.

mod candidates;
mod decided;
mod report;

use sketch::Scheme;
use sketch::labels::{Judgement, spread};

use crate::corpus::jobs::criteria_of_sample;
use crate::corpus::source::Source;
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::keyed_rows::{KeyedRows, Sampling};
use crate::document::kind::Kind;
use crate::options::Options;
use crate::pg::job::Progress;
use crate::pg::value_type::Output;
use crate::prelude::*;
use ahash::AHashMap;
use candidates::{Candidate, Search};
use decided::{Decided, LabelDocuments, Labeled};
use report::{LOWEST, LabelReport};

set_function!(minlsh_label_pairs, label_pairs);
set_function!(minlsh_suggest_from_labels, suggest_from_labels);

/// Maximum number of pairs in a list.
const MOST_PAIRS: i32 = 10_000;
/// Pairs below this similarity are unrelated documents, and far too many.
const LEAST_LOWEST: f64 = 0.02;
const MOST_LOWEST: f64 = 0.95;

/// The sources, how they are read, and the existing decisions.
struct LabelQuestion<'a> {
    session: &'a Session,
    sources: Vec<Source>,
    search: Search,
    decided: Option<Decided>,
}

impl<'a> LabelQuestion<'a> {
    fn new(session: &'a Session, arguments: &Arguments) -> Result<Self> {
        let wanted = Sampling::of(arguments)?;
        let lowest = arguments.float8("lowest").unwrap_or(LOWEST);
        if !(LEAST_LOWEST..=MOST_LOWEST).contains(&lowest) {
            let message = format!("lowest must be between {LEAST_LOWEST} and {MOST_LOWEST}, not {lowest}");
            return Err(
                invalid_parameter(message).set_hint("Pass the similarity from which on pairs are worth a look.")
            );
        }
        let mut sources = vec![Source::read(session, arguments, "source", false)?];
        if arguments.has(&["other"]) {
            sources.push(Source::read(session, arguments, "other", false)?);
        }
        let criteria = criteria_of_sample(session, arguments, &sources)?;
        let config = criteria.config.with_scheme(Scheme::Fss);
        let decided = Decided::read(session, arguments, &sources)?;
        let search = Search { reader: criteria.reader, config, wanted, lowest };
        Ok(Self { session, sources, search, decided })
    }

    /// Compares the sample with all documents, and reads those with decisions.
    fn search(&self) -> Result<(candidates::Candidates, Labeled)> {
        let progress = Progress::start(self.sources[0].relation);
        let mut documents = LabelDocuments::new(self.decided.as_ref(), self.sources.len())?;
        let found = self.search.run(self.session, &self.sources, &mut documents, &progress)?;
        let decided = self.decided.as_ref();
        let labeled = documents.labels(decided, self.search.reader, &self.search.config)?;
        Ok((found, labeled))
    }
}

/// `minlsh_label_pairs(source, body, decided, pairs, lowest, other, ...) →
/// (doc_a, doc_b, similarity, text_a, text_b, difference)`
fn label_pairs(call: &Call, result: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    let pairs = arguments.int4("pairs").unwrap_or(20);
    if !(1..=MOST_PAIRS).contains(&pairs) {
        let message = format!("pairs must be between 1 and {MOST_PAIRS}, not {pairs}");
        return Err(invalid_parameter(message).set_hint("Pass the number of pairs to label."));
    }
    // Keys are compared as text.
    let _exact_text = LocalSettings::of_exact_text();
    let session = Session::open();
    let question = LabelQuestion::new(&session, &arguments)?;
    let (mut found, labeled) = question.search()?;
    if let Some(decided) = &question.decided {
        found.pairs.retain(|pair| !decided.has(&pair.keys));
    }
    let (count, seed) = (pairs as usize, question.search.wanted.seed as u64);
    let similarities = |pairs: &[Candidate]| memory::collect(pairs.iter().map(|pair| pair.similarity));
    let chosen = if labeled.labels.is_empty() {
        spread(&similarities(&found.pairs)?, question.search.lowest, count, seed)?
    } else {
        let Judgement { fit, is_ruled, .. } = found.judged(&labeled, &question.sources)?;
        if is_ruled && found.pairs.iter().filter(|pair| pair.agrees).count() >= count {
            found.pairs.retain(|pair| pair.agrees);
        }
        // Another round asks about other pairs.
        let seed = seed.wrapping_add(labeled.labels.len() as u64);
        fit.next(&similarities(&found.pairs)?, count, seed)?
    };
    if chosen.is_empty() {
        let message = format!("no pair that is not decided is {} similar or more", question.search.lowest);
        let hint = "Pass a lower value of lowest, or a larger sample.";
        notice(message).set_hint(hint).report();
        return Ok(());
    }
    // In descending order of similarity.
    let chosen = chosen.iter().rev().map(|place| &found.pairs[*place]);
    write_pairs(&question, &memory::collect(chosen)?, result)
}

/// Writes pairs with their texts, for which the sources are read again.
fn write_pairs(question: &LabelQuestion, pairs: &[&Candidate], result: &ResultRows) -> Result<()> {
    let sources = &question.sources;
    let second = sources.len() - 1;
    let mut texts: Vec<AHashMap<&str, Option<String>>> = memory::collect(sources.iter().map(|_| AHashMap::new()))?;
    for pair in pairs {
        memory::insert_at(&mut texts[0], pair.keys[0].as_str(), None)?;
        memory::insert_at(&mut texts[second], pair.keys[1].as_str(), None)?;
    }
    for (source, texts) in sources.iter().zip(&mut texts) {
        let (type_oid, _) = source.column_type(source.body);
        let output = Output::of(type_oid);
        KeyedRows::of(question.session, source, source.scopes.len())?.each(|row| {
            if let Some(text) = texts.get_mut(row.name) {
                *text = Some(output.with_text(row.document, |shown| Ok(memory::owned(shown)?))?);
            }
            Ok(())
        })?;
    }
    for Candidate { keys: [a, b], similarity, .. } in pairs {
        let text = |part: usize, key: &str| texts[part].get(key).and_then(Option::as_ref);
        // A volatile query may not return a document again.
        let (Some(text_a), Some(text_b)) = (text(0, a), text(second, b)) else { continue };
        result.push(&[
            Some(text::write(a)),
            Some(text::write(b)),
            Some(float8_datum(*similarity)),
            Some(text::write(text_a)),
            Some(text::write(text_b)),
            difference(sources[0].kind, text_a, text_b)?,
        ]);
    }
    Ok(())
}

/// The difference of two texts, as from `minlsh_marked_diff()`; NULL if they are not texts, or too long.
fn difference(kind: Kind, a: &str, b: &str) -> Result<Option<Datum>> {
    if kind != Kind::Text {
        return Ok(None);
    }
    match crate::functions::texts::marked(Options::default().config()?.normalization(), a, b) {
        Ok(marked) => Ok(Some(text::write(&marked))),
        Err(sketch::Error::DiffWords) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// `minlsh_suggest_from_labels(source, decided, body, wanted_precision, lowest, other, ...) →
/// (item, value, low, high, explanation)`
fn suggest_from_labels(call: &Call, result: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    if !arguments.has(&["decided"]) {
        return Err(null_not_allowed("decided must not be NULL").set_hint(decided::DECIDED));
    }
    let wanted = arguments.float8("wanted_precision");
    if let Some(precision) = wanted
        && !(0.5..1.0).contains(&precision)
    {
        let message = format!("wanted_precision must be at least 0.5 and less than 1, not {precision}");
        return Err(
            invalid_parameter(message).set_hint("Pass the share of the pairs found that must be right, such as 0.95.")
        );
    }
    let _exact_text = LocalSettings::of_exact_text();
    let session = Session::open();
    let question = LabelQuestion::new(&session, &arguments)?;
    let (found, labeled) = question.search()?;
    labeled.check()?;
    let report = LabelReport {
        result,
        arguments: &arguments,
        lowest: question.search.lowest,
        found: &found,
        labeled: &labeled,
        wanted,
    };
    report.write(&question.sources, &question.search.config)
}
