//! `passages_between()`: the passages that documents of two sources share.
//!
//! 1. The second source is read, then the first. Only windows whose fingerprints are in both can be shared.
//! 2. These windows are sorted by their hashes. They make pairs, except windows in too many documents of the second
//!    source, which are noted.
//! 3. The texts of each pair are compared character by character, and the noted windows are left out.

use sketch::passage::CharacterOffsets;
use sketch::pipeline::sharing;

use crate::corpus::passages::PassageQuestion;
use crate::corpus::passages::texts::{TextPairs, Texts, frequent};
use crate::corpus::passages::windows::{self, WindowPlace};
use crate::index::layout::Entry;
use crate::index::sort::Sorter;
use crate::prelude::*;

set_function!(minlsh_passages_between, passages_between);

/// Number of recent pairs to remember: adjacent windows are in the same pairs.
const RECENT: usize = 1 << 16;

/// `passages_between(a, b, min_match, [key], coverage, max_documents, ...)
/// → (a_id, b_id, a_from, a_length, b_from, b_length, passage)`
fn passages_between(call: &Call, result: &ResultRows) -> Result<()> {
    let question = PassageQuestion { sources: &["b", "a"], ..PassageQuestion::of(call, false)? };
    let coverage = question.coverage()?;
    let max_documents = question.documents("max_documents", 1)?;
    let session = Session::open();
    let (mut texts, sorter) = Texts::read(&session, &question)?;
    // Documents of `a` are numbered after the documents of `b`.
    let first = u64::from(texts.keys.second());
    let is_in_both = |documents: &[u64]| documents[0] < first && documents.last().is_some_and(|last| *last >= first);
    let (shared, _) = frequent(sorter, texts.share, is_in_both)?;
    let windows = windows::sorted(&mut texts, &shared)?;
    drop(shared);
    let pairs = pairs(windows, &texts, max_documents as usize)?;
    let cut = texts.cut.clone();
    let make = || Ok(sharing(cut.clone(), coverage));
    let left_out = texts.compare(pairs, &make, &mut |keys, batch| {
        let passages = &batch.found.passages;
        let Some(a) = batch.texts().next().filter(|_| !passages.is_empty()) else { return Ok(()) };
        let offsets = CharacterOffsets::of(a.text)?;
        let number = |number: usize| Some(Datum::from(number as i32));
        for shared in passages {
            result.add(|| {
                Ok([
                    Some(keys.key(a.number)),
                    Some(keys.key(shared.number)),
                    number(shared.a.start + 1),
                    number(shared.a.len()),
                    number(shared.b.start + 1),
                    number(shared.b.len()),
                    Some(text::write(&a.text[offsets.bytes(&shared.a)])),
                ])
            })?;
        }
        Ok(())
    })?;
    if left_out > 0 {
        pgrx::notice!(
            "passages that more than {max_documents} documents of b have are left out: {left_out} in documents of a"
        );
    }
    Ok(())
}

/// The pairs of documents that share windows, with notes on the windows that too many documents have.
fn pairs(windows: Sorter, texts: &Texts, max_documents: usize) -> Result<TextPairs> {
    let (first, documents) = (texts.keys.second(), &texts.kept.documents);
    let mut pairs = TextPairs::new(texts.share);
    let mut recent = memory::filled(u64::MAX, RECENT)?;
    let (mut of, mut having) = (None, Vec::new());
    windows.finish(|Entry { key, tid }| {
        let (number, character) = (WindowPlace(tid).document(), WindowPlace(tid).character());
        if of.replace(key) != Some(key) {
            having.clear();
        }
        if number < first {
            if having.len() <= max_documents && having.last() != Some(&number) {
                memory::push(&mut having, number)?;
            }
            return Ok(());
        }
        if having.len() > max_documents {
            return pairs.note(number, character as u64);
        }
        for &other in &having {
            check_interrupts();
            let pair = WindowPlace::new(number, other as usize).0;
            // The golden ratio spreads consecutive numbers.
            let slot = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (usize::BITS - RECENT.ilog2());
            let is_new = std::mem::replace(&mut recent[slot], pair) != pair;
            if is_new && documents[number as usize].salt == documents[other as usize].salt {
                pairs.push(number, other)?;
            }
        }
        Ok(())
    })?;
    Ok(pairs)
}
