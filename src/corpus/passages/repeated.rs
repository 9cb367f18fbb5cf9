//! `repeated_passages()`: the passages of each document that an earlier document has.

use crate::corpus::passages::PassageQuestion;
use crate::corpus::passages::texts::{Texts, frequent};
use crate::corpus::passages::windows::{self, WindowPlace};
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::pg::job::{Counter, JobPhase};
use crate::prelude::*;

set_function!(minlsh_repeated_passages, repeated_passages);

/// Number of characters that locate a run in stored texts, which may differ from normalized ones: its first and last
/// characters, and the first character of its source.
const MARKS: u64 = 3;

/// `repeated_passages(source, ...) → (doc_id, passage_from, passage_length, of_doc_id, of_from)`
fn repeated_passages(call: &Call, result: &ResultRows) -> Result<()> {
    let question = PassageQuestion::of(call, false)?;
    let session = Session::open();
    let (mut texts, sorter) = Texts::read(&session, &question)?;
    let (frequent, _) = frequent(sorter, texts.share, |documents| documents.len() > 1)?;
    let all = windows::sorted(&mut texts, &frequent)?;
    drop(frequent);
    let later = later(all, texts.share)?;
    let marks = marks(later, texts.share, texts.cut.min_match)?;
    texts.progress.enter(JobPhase::Finding);
    let stored = stored(marks, &mut texts)?;
    let mut first = None;
    let mut last = None;
    stored.finish(|Entry { key, tid }| {
        check_interrupts();
        let place = WindowPlace(tid);
        match key % MARKS {
            0 => first = Some(place),
            1 => last = Some(place),
            _ => {
                let (Some(at), Some(last)) = (first, last) else { return Ok(()) };
                let from = |place: WindowPlace| Some(Datum::from(place.character() as i32 + 1));
                result.add(|| {
                    Ok([
                        Some(texts.keys.key(at.document())),
                        from(at),
                        Some(Datum::from((last.character() - at.character()) as i32 + 1)),
                        Some(texts.keys.key(place.document())),
                        from(place),
                    ])
                })?;
            }
        }
        Ok(())
    })
}

/// From all windows, sorted by hash, selects the windows that an earlier document has, each with its first place.
fn later(windows: Sorter, memory: usize) -> Result<Sorter> {
    let mut later = Sorter::new(memory);
    let mut first: Option<Entry> = None;
    windows.finish(|entry| {
        match first {
            Some(first) if first.key == entry.key => {
                if WindowPlace(first.tid).document() < WindowPlace(entry.tid).document() {
                    later.push(Entry { key: entry.tid, tid: first.tid })?;
                }
            }
            _ => first = Some(entry),
        }
        Ok(())
    })?;
    Ok(later)
}

/// The [`MARKS`] of runs of such windows, each with the number of its run and its own number.
fn marks(later: Sorter, memory: usize, min_match: usize) -> Result<Sorter> {
    let mut marks = Sorter::new(memory);
    let mut number = 0;
    let mut end = |(at, of, windows): (u64, u64, u64)| {
        let last = at + windows + min_match as u64 - 2;
        for key in [at, last, of] {
            marks.push(Entry { key, tid: number })?;
            number += 1;
        }
        Ok(())
    };
    let mut run: Option<(u64, u64, u64)> = None;
    later.finish(|Entry { key, tid }| {
        if let Some((at, of, windows)) = &mut run
            && *at + *windows == key
            && *of + *windows == tid
        {
            *windows += 1;
            return Ok(());
        }
        run.replace((key, tid, 1)).map_or(Ok(()), &mut end)
    })?;
    run.map_or(Ok(()), end)?;
    Ok(marks)
}

/// The places of marks in stored texts, by the numbers of the marks.
fn stored(marks: Sorter, texts: &mut Texts) -> Result<Sorter> {
    let mut stored = Sorter::new(texts.share);
    let (mut buffer, mut read) = (Vec::new(), None);
    marks.finish(|Entry { key, tid }| {
        check_interrupts();
        let place = WindowPlace(key);
        let (number, character) = (place.document(), place.character());
        if read.as_ref().is_none_or(|(of, _)| *of != number) {
            // Frees the previous text, which may be as large.
            read = None;
            let characters = Texts::characters(&texts.cut, texts.kept.text(number, &mut buffer)?)?;
            read = Some((number, characters.without_text()));
            texts.progress.set(Counter::Compared, u64::from(number) + 1);
        }
        let Some((_, characters)) = &read else { return Ok(()) };
        let original = characters.original(character..character + 1);
        let is_last = tid % MARKS == 1;
        let own = if is_last { original.end - 1 } else { original.start };
        stored.push(Entry { key: tid, tid: WindowPlace::new(number, own).0 })
    })?;
    Ok(stored)
}
