//! `repeated_passages()`: what of each document an earlier one has.

use pgrx::pg_sys::Datum;
use sketch::memory;

use crate::corpus::passages::question::Question;
use crate::corpus::passages::texts::{Frequent, Texts};
use crate::corpus::passages::windows;
use crate::corpus::progress::Phase;
use crate::error::{Result, engine};
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;

sql_function!(minlsh_repeated_passages, repeated_passages);

/// A place of a document, as one number in the order of documents and places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64);

impl Place {
    fn new(document: u32, character: usize) -> Self {
        Self(u64::from(document) << 32 | character as u64)
    }

    fn document(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn character(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Characters that an earlier document has; first as they are normalized, then as they are stored.
struct Run {
    at: Place,
    of: Place,
    length: u32,
}

/// `repeated_passages(source, ...) → (doc_id, passage_from, passage_length, of_doc_id, of_from)`
fn repeated_passages(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::of_repeated(call)?;
    let session = Session::open();
    let (mut texts, sorter) = Texts::read(&session, &question, None)?;
    let frequent = Frequent::of(sorter, 2, texts.share)?;
    let all = windows::sorted(&mut texts, &frequent, &|window| {
        Place::new(window.number, window.place as usize).0
    })?;
    let mut runs = runs(all, texts.share, texts.cut.min_match)?;
    let mut by_source = memory::collect(0..runs.len() as u32).map_err(engine)?;
    by_source.sort_unstable_by_key(|run| runs[*run as usize].of);
    let (mut next, mut next_of) = (0, 0);
    let cut = texts.cut.clone();
    texts.progress.enter(Phase::Finding);
    texts.each(&mut |text| {
        let is_here = |place: Option<Place>| place.is_some_and(|p| p.document() == text.number);
        let has_run = is_here(runs.get(next).map(|run| run.at));
        let is_source = is_here(by_source.get(next_of).map(|run| runs[*run as usize].of));
        if !has_run && !is_source {
            return Ok(());
        }
        let read = Texts::characters(&cut, text.text)?;
        while is_here(runs.get(next).map(|run| run.at)) {
            check_interrupts();
            let run = &mut runs[next];
            let start = run.at.character();
            let range = read.original(start..start + run.length as usize);
            (run.at, run.length) = (Place::new(text.number, range.start), range.len() as u32);
            next += 1;
        }
        while is_here(by_source.get(next_of).map(|run| runs[*run as usize].of)) {
            check_interrupts();
            let run = &mut runs[by_source[next_of] as usize];
            let start = run.of.character();
            run.of = Place::new(text.number, read.original(start..start + 1).start);
            next_of += 1;
        }
        Ok(())
    })?;
    for run in runs {
        check_interrupts();
        let from = |place: Place| Some(Datum::from(place.character() as i32 + 1));
        result.push(&[
            Some(texts.keys.key(run.at.document())),
            from(run.at),
            Some(Datum::from(run.length as i32)),
            Some(texts.keys.key(run.of.document())),
            from(run.of),
        ]);
    }
    Ok(None)
}

/// The runs of windows that an earlier document has, from all windows, sorted by their hashes.
fn runs(windows: Sorter, memory: usize, min_match: usize) -> Result<Vec<Run>> {
    let mut later = Sorter::new(memory);
    let mut first: Option<Entry> = None;
    windows.finish(|entry| {
        match first {
            Some(first) if first.key == entry.key => {
                let is_later = Place(first.tid).document() < Place(entry.tid).document();
                return match is_later {
                    true => later.push(Entry { key: entry.tid, tid: first.tid }),
                    false => Ok(()),
                };
            }
            _ => first = Some(entry),
        }
        Ok(())
    })?;
    let mut runs: Vec<Run> = Vec::new();
    later.finish(|Entry { key, tid }| {
        let (at, of) = (Place(key), Place(tid));
        if let Some(last) = runs.last_mut() {
            let windows = u64::from(last.length) - min_match as u64 + 1;
            if last.at.0 + windows == at.0 && last.of.0 + windows == of.0 {
                last.length += 1;
                return Ok(());
            }
        }
        memory::push(&mut runs, Run { at, of, length: min_match as u32 }).map_err(engine)
    })?;
    Ok(runs)
}
