//! `contained_documents()`: the documents that other documents contain, completely or in part.
//!
//! 1. Each text is read once: its fingerprints are sorted, and the normalized text is stored.
//! 2. Fingerprints that several texts have are sorted by text, each with the number of the other texts.
//! 3. A contained text shares a fingerprint of every long enough stretch with its container
//!    ([`Bound`](sketch::passage::Bound)). The stretch whose fingerprints the fewest other texts have is looked up.
//!    Most texts have a unique stretch, and are contained in nothing.
//! 4. A merge by fingerprint joins each looked-up fingerprint with the texts that have it: these pairs are the
//!    candidates. If there are many such texts, the ones with the nearest keys are candidates.
//! 5. Sorted by contained text, candidates are read again and compared. The texts decide.

use sketch::pipeline::{Containers, GivenText, Lookups, TextBatch, asking, containing};

use crate::corpus::passages::PassageQuestion;
use crate::corpus::passages::texts::{TextPairs, Texts, each_key};
use crate::corpus::source::members::Members;
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::options::bucket_limit;
use crate::pg::job::JobPhase;
use crate::prelude::*;

set_function!(minlsh_contained_documents, contained_documents);

const DEFAULT_COVERAGE: f64 = 0.9;

/// The mark of a fingerprint that is looked up.
const ASKED: u64 = 1 << 63;

/// Cost of comparing two texts, in comparisons of signatures, which `minlsh.bucket_limit` counts.
const COST: usize = 10;

/// `contained_documents(source, coverage, ...) → (doc_id, container_id, coverage, containers)`
fn contained_documents(call: &Call, result: &ResultRows) -> Result<()> {
    let question = PassageQuestion { normalized: true, ..PassageQuestion::of(call, true)? };
    let coverage = question.coverage()?.unwrap_or(DEFAULT_COVERAGE);
    let session = Session::open();
    let (mut texts, fingerprints) = Texts::read(&session, &question)?;
    let candidates = candidates(&mut texts, coverage, fingerprints)?;
    compare(&mut texts, coverage, candidates, result)
}

struct Contained {
    document: u32,
    /// The longest container; if several are equally long, the first.
    container: u32,
    /// Number of its characters that the container has.
    covered: u32,
    length: u32,
    containers: i64,
}

impl Contained {
    fn list(self, keys: &Members, result: &ResultRows) -> Result<()> {
        result.add(|| {
            Ok([
                Some(keys.key(self.document)),
                Some(keys.key(self.container)),
                Some(float8_datum(f64::from(self.covered) / f64::from(self.length))),
                Some(Datum::from(self.containers)),
            ])
        })
    }
}

/// Pairs of a text with another that may contain it.
fn candidates(texts: &mut Texts, coverage: f64, fingerprints: Sorter) -> Result<TextPairs> {
    texts.progress.enter(JobPhase::Counting);
    let half = texts.share / 2;
    let (by_text, mut met) = by_text(fingerprints, half)?;
    let limit = (bucket_limit() / COST).max(1);
    report(ask(texts, coverage, by_text, &mut met, limit)?, limit);
    // Ordered by fingerprint: the texts that have it, then the texts that look it up.
    let mut candidates = TextPairs::new(half);
    let texts_of = &texts.kept.documents;
    each_key(met, |_, texts| {
        let (having, asking) = texts.split_at(texts.partition_point(|text| text & ASKED == 0));
        for asking in asking.iter().map(|text| text & !ASKED) {
            let salt = texts_of[asking as usize].salt;
            let at = having.partition_point(|other| *other < asking);
            let near = limit.saturating_add(1).min(having.len());
            let from = at.saturating_sub(limit / 2).min(having.len() - near);
            for &other in &having[from..from + near] {
                check_interrupts();
                if other != asking && texts_of[other as usize].salt == salt {
                    candidates.push(asking as u32, other as u32)?;
                }
            }
        }
        Ok(())
    })?;
    Ok(candidates)
}

/// Adds the fingerprints that each text looks up to `met`, among those that other texts have. Returns what is left out.
fn ask(texts: &mut Texts, coverage: f64, by_text: Sorter, met: &mut Sorter, limit: usize) -> Result<(u64, u64)> {
    let min_match = texts.cut.min_match;
    let make = || Ok(asking(min_match, coverage, limit));
    let mut left_out = (0, 0);
    texts.by_hands(2, &make, |feeder, kept, _| {
        let mut take = |batch: &TextBatch<Lookups>| {
            left_out.0 += batch.found.left_out.0;
            left_out.1 += batch.found.left_out.1;
            batch
                .found
                .entries
                .iter()
                .try_for_each(|&(key, number)| met.push(Entry { key, tid: ASKED | u64::from(number) }))
        };
        let (mut known, mut buffer): (Vec<(u64, u32)>, _) = (Vec::new(), Vec::new());
        let mut number = None;
        let mut give = |number: Option<u32>, known: &mut Vec<(u64, u32)>| -> Result<()> {
            let Some(number) = number else { return Ok(()) };
            known.sort_unstable();
            let salt = kept.documents[number as usize].salt;
            let text = kept.text(number, &mut buffer)?;
            let given = GivenText { number, salt, text, known };
            feeder.push(given, &mut take)?;
            known.clear();
            Ok(())
        };
        by_text.finish(|Entry { key, tid }| {
            let of = (key >> 32) as u32;
            if number.is_some_and(|number| number != of) {
                give(number, &mut known)?;
            }
            number = Some(of);
            memory::push(&mut known, (tid, key as u32)).map_err(Into::into)
        })?;
        give(number, &mut known)?;
        feeder.finish(&mut take)
    })?;
    Ok(left_out)
}

/// Compares candidates, and lists each contained document.
fn compare(texts: &mut Texts, coverage: f64, candidates: TextPairs, result: &ResultRows) -> Result<()> {
    let min_match = texts.cut.min_match;
    let lengths = memory::collect(texts.kept.documents.iter().map(|text| text.length))?;
    let mut found: Option<Contained> = None;
    let mut take = |keys: &Members, batch: &TextBatch<Containers>| {
        let Some(document) = batch.found.contained else { return Ok(()) };
        for &(container, covered) in &batch.found.containers {
            let length = lengths[document as usize];
            let one = Contained { document, container, covered, length, containers: 1 };
            match &mut found {
                Some(found) if found.document == document => {
                    found.containers += 1;
                    if lengths[container as usize] > lengths[found.container as usize] {
                        (found.container, found.covered) = (container, covered);
                    }
                }
                _ => {
                    if let Some(before) = found.replace(one) {
                        before.list(keys, result)?;
                    }
                }
            }
        }
        Ok(())
    };
    let make = || Ok(containing(min_match, coverage));
    texts.compare(candidates, &make, &mut take)?;
    found.map_or(Ok(()), |last| last.list(&texts.keys, result))
}

/// Sorts fingerprints that several texts have. The first result is by text, with the number of texts for each; the
/// second by fingerprint, for the merge.
fn by_text(fingerprints: Sorter, memory: usize) -> Result<(Sorter, Sorter)> {
    let (mut by_text, mut met) = (Sorter::new(memory), Sorter::new(memory));
    each_key(fingerprints, |key, texts| {
        let others = texts.len() as u64 - 1;
        for text in texts.iter().filter(|_| others > 0) {
            by_text.push(Entry { key: text << 32 | others, tid: key })?;
            met.push(Entry { key, tid: *text })?;
        }
        Ok(())
    })?;
    Ok((by_text, met))
}

/// Reports what a limit has left out.
fn report((documents, comparisons): (u64, u64), limit: usize) {
    if comparisons > 0 {
        warning(format!("{documents} documents were not compared with all that may contain them"))
            .set_detail(format!(
                "Each of them shares its rarest part with more than {limit} documents, a tenth of minlsh.bucket_limit, \
                 and was compared with {limit} of these. Up to {comparisons} comparisons were left out, so containers \
                 may be missing, and their number may be too low."
            ))
            .set_hint(
                "Raise minlsh.bucket_limit, or leave out what many documents share: pass the texts of \
                 strip_passages().",
            )
            .report();
    }
}
