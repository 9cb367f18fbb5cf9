//! `common_passages()` and `strip_passages()`: the passages that many documents share, and the documents without them.

use std::ops::Range;
use std::sync::Arc;

use sketch::counted;
use sketch::passage::{CharacterOffsets, Characters, CommonRun, CommonRuns};
use sketch::pipeline::{GivenText, Test, stripping};
use sketch::spool::Spool;

use crate::corpus::passages::PassageQuestion;
use crate::corpus::passages::texts::{Texts, TextsInOrder, frequent};
use crate::corpus::passages::windows::{WindowCounts, look};
use crate::corpus::source::members::Members;
use crate::pg::job::JobPhase;
use crate::pg::temp_file::TempFile;
use crate::prelude::*;

set_function!(minlsh_common_passages, common_passages);
set_function!(minlsh_strip_passages, strip_passages);

/// The texts of a source, the fingerprints and windows that enough of them have, and the number of documents with the
/// most frequent fingerprint.
fn counted_windows(question: &PassageQuestion) -> Result<(Texts, Test, Arc<WindowCounts>, usize)> {
    let min_documents = question.documents("min_documents", 2)?;
    let session = Session::open();
    let (mut texts, sorter) = Texts::read(&session, question)?;
    let is_enough = |documents: &[u64]| documents.len() >= min_documents as usize;
    let (frequent, most) = frequent(sorter, texts.share, is_enough)?;
    let counts = WindowCounts::of(&mut texts, &frequent, min_documents)?;
    Ok((texts, frequent, counts, most))
}

/// `common_passages(source, min_documents, ...) → (documents, passage_length, passage, doc_id, passage_from)`
fn common_passages(call: &Call, result: &ResultRows) -> Result<()> {
    let mut listing = Listing { result, count: 0 };
    let question = PassageQuestion::of(call, true)?;
    let min_documents = question.documents("min_documents", 2)?;
    let (mut texts, frequent, counts, most) = counted_windows(&question)?;
    let of_window = counts.clone();
    let wanted: Test = Arc::new(move |window| of_window.get(window).is_some());
    let cut = texts.cut.clone();
    let mut runs = CommonRuns::new(cut.min_match, counts.len())?;
    let mut open = OpenPassages { passages: Vec::new(), texts: Spool::new(texts.share, TempFile::new_file()) };
    look(&mut texts, JobPhase::Finding, &frequent, &wanted, &mut |keys, given, each| {
        each(&mut |window| {
            let Some((documents, number)) = counts.get(window.hash) else { return Ok(()) };
            runs.push(window.place as usize, number, documents).map_err(Into::into)
        })?;
        let found = runs.unlisted()?;
        if found.is_empty() {
            return Ok(());
        }
        let characters = Texts::characters(&cut, given.text)?;
        let offsets = CharacterOffsets::of(characters.text())?;
        for run in found.iter().filter(|run| !run.is_first) {
            open.push(run, &characters.text()[offsets.bytes(&run.range)])?;
        }
        let first = found.into_iter().filter(|run| run.is_first);
        listing.list(keys, given, &characters, first.map(|run| (run.range, run.documents)))
    })?;
    if !open.passages.is_empty() {
        open.list(&mut texts, &frequent, &counts, &mut listing)?;
    }
    if listing.count == 0 {
        notice(format!("no passage is in {min_documents} documents or more"))
            .set_detail(format!(
                "No {} characters are in more than {}.",
                cut.min_match,
                counted(most.max(1), "document")
            ))
            .set_hint("Pass a lower min_documents or min_match.")
            .report();
    }
    Ok(())
}

/// Builds the rows of `common_passages()`.
struct Listing<'a> {
    result: &'a ResultRows,
    count: usize,
}

impl Listing<'_> {
    /// Lists passages of a text. They come as normalized characters, each with its number of documents.
    fn list(
        &mut self,
        keys: &Members,
        given: GivenText,
        characters: &Characters,
        passages: impl Iterator<Item = (Range<usize>, u32)>,
    ) -> Result<()> {
        let offsets = CharacterOffsets::of(given.text)?;
        for (range, documents) in passages {
            let range = characters.original(range);
            self.count += 1;
            self.result.add(|| {
                Ok([
                    Some(Datum::from(i64::from(documents))),
                    Some(Datum::from(range.len() as i32)),
                    Some(text::write(&given.text[offsets.bytes(&range)])),
                    Some(keys.key(given.number)),
                    Some(Datum::from(range.start as i32 + 1)),
                ])
            })?;
        }
        Ok(())
    }
}

/// Passages that an earlier document may have, and that other passages there hardly cover.
struct OpenPassages {
    passages: Vec<OpenPassage>,
    texts: Spool<u8>,
}

struct OpenPassage {
    /// Number of the passage's rarest window.
    rarest: u32,
    documents: u32,
    /// Position of its normalized text in the spool, and its length in bytes.
    place: u64,
    bytes: u32,
    /// The last document with its rarest window.
    seen_in: Option<u32>,
    is_listed: bool,
}

impl OpenPassages {
    fn push(&mut self, run: &CommonRun, text: &str) -> Result<()> {
        let &CommonRun { rarest, documents, .. } = run;
        let place = self.texts.append(text.as_bytes())?;
        let bytes = text.len() as u32;
        let open = OpenPassage { rarest, documents, place, bytes, seen_in: None, is_listed: false };
        memory::push(&mut self.passages, open).map_err(Into::into)
    }

    /// Lists each of them with the first document that has it.
    fn list(
        mut self,
        texts: &mut Texts,
        frequent: &Test,
        counts: &Arc<WindowCounts>,
        listing: &mut Listing,
    ) -> Result<()> {
        let Self { passages, texts: stored } = &mut self;
        passages.sort_by_key(|open| open.rarest);
        let mut is_rarest = memory::filled(false, counts.len())?;
        passages.iter().for_each(|open| is_rarest[open.rarest as usize] = true);
        let of_window = counts.clone();
        let number = move |window| of_window.get(window).map(|counted| counted.1 as usize);
        let wanted: Test = Arc::new(move |window| number(window).is_some_and(|at| is_rarest[at]));
        let cut = texts.cut.clone();
        let mut buffer = Vec::new();
        look(texts, JobPhase::Finding, frequent, &wanted, &mut |keys, given, each| {
            let (mut here, document) = (Vec::new(), Some(given.number));
            each(&mut |window| {
                let Some((_, number)) = counts.get(window.hash) else { return Ok(()) };
                let first = passages.partition_point(|open| open.rarest < number);
                let with_it = passages[first..].iter_mut().take_while(|open| open.rarest == number);
                for (at, open) in (first..).zip(with_it) {
                    if !open.is_listed && open.seen_in.replace(given.number) != document {
                        memory::push(&mut here, at)?;
                    }
                }
                Ok(())
            })?;
            if here.is_empty() {
                return Ok(());
            }
            let characters = Texts::characters(&cut, given.text)?;
            let mut found = Vec::new();
            for at in here {
                check_interrupts();
                let open = &mut passages[at];
                stored.copy(open.place, open.bytes as usize, &mut buffer)?;
                let text = std::str::from_utf8(&buffer).unwrap_or_default();
                if let Some(bytes) = characters.text().find(text) {
                    let from = characters.text()[..bytes].chars().count();
                    let range = from..from + text.chars().count();
                    memory::push(&mut found, (range, open.documents))?;
                    open.is_listed = true;
                }
            }
            found.sort_unstable_by_key(|(range, _)| range.start);
            listing.list(keys, given, &characters, found.into_iter())
        })
    }
}

/// `strip_passages(source, min_documents, ...) → (doc_id, body, removed)`
fn strip_passages(call: &Call, result: &ResultRows) -> Result<()> {
    let question = PassageQuestion { short: ", which is returned unchanged", ..PassageQuestion::of(call, true)? };
    let (mut texts, frequent, counts, _) = counted_windows(&question)?;
    let unwanted: Test = Arc::new(move |window| counts.get(window).is_some());
    let cut = texts.cut.clone();
    let make = || stripping(cut.clone(), frequent.clone(), unwanted.clone());
    texts.each_by_hands(JobPhase::Finding, true, 2, usize::MAX, &make, &mut |keys, texts| {
        let TextsInOrder::Found(batch) = texts else { return Ok(()) };
        for (number, body, removed) in batch.found.each() {
            let removed = Datum::from(removed as i32);
            result.add(|| Ok([Some(keys.key(number)), Some(text::write(body)), Some(removed)]))?;
        }
        Ok(())
    })
}
