//! `common_passages()` and `strip_passages()`: what many documents have in common, and the documents
//! without it.

use std::sync::Arc;

use sketch::counted;
use sketch::passage::{CharacterOffsets, CommonRun, CommonRuns};
use sketch::pipeline::{CountOf, Test, stripping};

use crate::corpus::passages::PassageQuestion;
use crate::corpus::passages::texts::{Texts, TextsInOrder, frequent};
use crate::corpus::passages::windows::{WindowCounts, look};
use crate::pg::job::JobPhase;
use crate::prelude::*;

sql_function!(minlsh_common_passages, common_passages);
sql_function!(minlsh_strip_passages, strip_passages);

/// The texts of a source, the fingerprints and the windows that enough of them have, and how many have the fingerprint
/// that most have.
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
fn common_passages(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call);
    let question = PassageQuestion::of(call, true)?;
    let min_documents = question.documents("min_documents", 2)?;
    let (mut texts, frequent, counts, most) = counted_windows(&question)?;
    let of_window = counts.clone();
    let wanted: Test = Arc::new(move |window| of_window.get(window).is_some());
    let cut = texts.cut.clone();
    // Marks the windows that are listed: a passage is listed of the first document that has it.
    let mut taken = memory::filled(false, counts.len())?;
    let mut context = Memory::scratch(c"minlsh passages listed");
    let mut count = 0;
    look(&mut texts, JobPhase::Finding, &frequent, &wanted, &mut |keys, given, each| {
        let mut runs = CommonRuns::new(cut.min_match);
        let mut has_new = false;
        each(&mut |window| {
            let Some((documents, number)) = counts.get(window.hash) else { return Ok(()) };
            let place = window.place as usize;
            if taken[number as usize] {
                runs.mark(place)?;
            } else {
                has_new = true;
            }
            runs.push(place, documents).map_err(Into::into)
        })?;
        if !has_new {
            return Ok(());
        }
        let runs = runs.unlisted()?;
        if runs.is_empty() {
            return Ok(());
        }
        let mut rest = runs.iter().peekable();
        each(&mut |window| {
            let place = window.place as usize;
            let is_behind = |run: &&CommonRun| run.range.end < place + cut.min_match;
            while rest.next_if(is_behind).is_some() {}
            if rest.peek().is_some_and(|run| run.range.start <= place)
                && let Some((_, number)) = counts.get(window.hash)
            {
                taken[number as usize] = true;
            }
            Ok(())
        })?;
        count += runs.len();
        let characters = Texts::characters(&cut, given.text)?;
        let offsets = CharacterOffsets::of(given.text)?;
        for CommonRun { range, documents } in runs {
            check_interrupts();
            let range = characters.original(range);
            context.run_and_reset(|| {
                result.push(&[
                    Some(Datum::from(i64::from(documents))),
                    Some(Datum::from(range.len() as i32)),
                    Some(text::write(&given.text[offsets.bytes(&range)])),
                    Some(keys.key(given.number)),
                    Some(Datum::from(range.start as i32 + 1)),
                ]);
            });
        }
        Ok(())
    })?;
    if count == 0 {
        notice(format!("no passage is in {min_documents} documents or more"))
            .set_detail(format!(
                "No {} characters are in more than {}.",
                cut.min_match,
                counted(most.max(1), "document")
            ))
            .set_hint("Pass a lower min_documents or min_match.")
            .report(PgLogLevel::NOTICE);
    }
    Ok(None)
}

/// `strip_passages(source, min_documents, ...) → (doc_id, body, removed)`
fn strip_passages(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call);
    let question =
        PassageQuestion { short: "returned unchanged", ..PassageQuestion::of(call, true)? };
    let (mut texts, frequent, counts, _) = counted_windows(&question)?;
    let count: CountOf = Arc::new(move |window| counts.get(window).map(|counted| counted.0));
    let cut = texts.cut.clone();
    let make = || stripping(cut.clone(), frequent.clone(), count.clone());
    let mut context = Memory::scratch(c"minlsh texts stripped");
    texts.each_by_hands(JobPhase::Finding, true, 2, usize::MAX, &make, &mut |keys, texts| {
        let TextsInOrder::Found(batch) = texts else { return Ok(()) };
        for (number, body, removed) in batch.found.each() {
            check_interrupts();
            context.run_and_reset(|| {
                result.push(&[
                    Some(keys.key(number)),
                    Some(text::write(body)),
                    Some(Datum::from(removed as i32)),
                ]);
            });
        }
        Ok(())
    })?;
    Ok(None)
}
