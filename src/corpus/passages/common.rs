//! `common_passages()` and `strip_passages()`: what many documents have in common, and the documents
//! without it.

use std::ops::Range;

use pgrx::pg_sys::Datum;
use sketch::passage::{CharacterOffsets, Characters, WindowHashes};
use sketch::{Normalization, memory};

use crate::corpus::passages::texts::{Frequent, Question, Text, Texts};
use crate::corpus::passages::windows::Counts;
use crate::error::{Result, engine};
use crate::pg::call::{Call, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use crate::pg::text;

sql_function!(minlsh_common_passages, common_passages);
sql_function!(minlsh_strip_passages, strip_passages);

/// `common_passages(source, min_documents, ...) → (documents, passage_length, passage, doc_id, passage_from)`
fn common_passages(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let Some(question) = Question::of(call, None)? else { return Ok(None) };
    let session = Session::open();
    let (mut texts, frequent) = Texts::read(&session, &question)?;
    let mut counts = Counts::of(&mut texts, &frequent, question.min_documents)?;
    let mut looker = Looker::new(&texts, &frequent)?;
    texts.each(&mut |keys, text| {
        if text.is_copy {
            return Ok(());
        }
        let characters = looker.characters(text)?;
        // Each window is reported once, of the first document that has it.
        let runs = looker.runs(&characters, text.salt, &mut |window| counts.take(window))?;
        if runs.is_empty() {
            return Ok(());
        }
        let offsets = CharacterOffsets::of(&text.original).map_err(engine)?;
        for Run { range, documents } in runs {
            check_interrupts();
            let range = characters.original(range);
            let passage = text::write(&text.original[offsets.bytes(&range)]);
            result.push(&[
                Some(Datum::from(i64::from(documents))),
                Some(Datum::from(range.len() as i32)),
                Some(passage),
                Some(keys.key(text.number)),
                Some(Datum::from(range.start as i32 + 1)),
            ]);
        }
        Ok(())
    })?;
    Ok(None)
}

/// `strip_passages(source, min_documents, ...) → (doc_id, body, removed)`
fn strip_passages(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let Some(question) = Question::of(call, None)? else { return Ok(None) };
    let session = Session::open();
    let (mut texts, frequent) = Texts::read(&session, &question)?;
    let counts = Counts::of(&mut texts, &frequent, question.min_documents)?;
    let mut looker = Looker::new(&texts, &frequent)?;
    let mut body = String::new();
    texts.each(&mut |keys, text| {
        let characters = looker.characters(text)?;
        let runs = looker.runs(&characters, text.salt, &mut |window| counts.get(window))?;
        let offsets = CharacterOffsets::of(&text.original).map_err(engine)?;
        body.clear();
        let (mut end, mut removed) = (0, 0);
        for run in runs {
            check_interrupts();
            let range = characters.original(run.range);
            let bytes = offsets.bytes(&range);
            let Some(bytes) = whole_words(&text.original, bytes.start.max(end)..bytes.end) else {
                continue;
            };
            memory::push_str(&mut body, &text.original[end..bytes.start]).map_err(engine)?;
            memory::push_str(&mut body, " ").map_err(engine)?;
            removed += text.original[bytes.clone()].chars().count();
            end = bytes.end;
        }
        memory::push_str(&mut body, &text.original[end..]).map_err(engine)?;
        result.push(&[
            Some(keys.key(text.number)),
            Some(text::write(&body)),
            Some(Datum::from(removed as i32)),
        ]);
        Ok(())
    })?;
    Ok(None)
}

/// A range of a text cut back to where words begin and end: glued words would be new ones.
fn whole_words(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let Range { mut start, mut end } = range;
    if start >= end {
        return None;
    }
    if is_word(text[..start].chars().next_back()) {
        start += text[start..end].find(|c: char| !c.is_alphanumeric()).unwrap_or(end - start);
    }
    if is_word(text[end..].chars().next()) {
        let last = text[start..end].char_indices().rfind(|(_, c)| !c.is_alphanumeric());
        end = last.map_or(start, |(at, c)| start + at + c.len_utf8());
    }
    (start < end).then_some(start..end)
}

/// Finds what of a text is in enough documents.
struct Looker<'a> {
    hashes: WindowHashes,
    frequent: &'a Frequent,
    min_match: usize,
    normalization: Normalization,
}

/// Neighbouring characters of a text that are in enough documents.
struct Run {
    range: Range<usize>,
    /// The least number of documents that any window of it is in.
    documents: u32,
}

impl<'a> Looker<'a> {
    fn new(texts: &Texts, frequent: &'a Frequent) -> Result<Self> {
        let hashes = WindowHashes::new().map_err(engine)?;
        let (min_match, normalization) = (texts.min_match, texts.normalization());
        Ok(Self { hashes, frequent, min_match, normalization })
    }

    fn characters<'t>(&self, text: &'t Text) -> Result<Characters<'t>> {
        Texts::characters(&self.normalization, text)
    }

    /// The runs of windows of which `count` knows the documents. They end where the number becomes half
    /// or double of what it was: there another passage begins.
    fn runs(
        &mut self,
        text: &Characters,
        salt: u64,
        count: &mut dyn FnMut(u64) -> Option<u32>,
    ) -> Result<Vec<Run>> {
        let (min_match, frequent) = (self.min_match, self.frequent);
        let wanted = |entry: u64| frequent.has(entry ^ salt);
        let mut runs: Vec<Run> = Vec::new();
        let mut before = 0;
        let mut each = |place: usize, hash: u64| {
            let Some(documents) = count(hash ^ salt) else { return Ok(()) };
            let is_alike = documents < 2 * before && before < 2 * documents;
            before = documents;
            match runs.last_mut() {
                Some(last) if is_alike && last.range.end == place + min_match - 1 => {
                    last.range.end += 1;
                    last.documents = last.documents.min(documents);
                    Ok(())
                }
                _ => memory::push(&mut runs, Run { range: place..place + min_match, documents }),
            }
        };
        self.hashes
            .each(text, min_match, &wanted, &mut check_interrupts, &mut each)
            .map_err(engine)?;
        Ok(runs)
    }
}
