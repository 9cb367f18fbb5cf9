//! Outlines of documents that this transaction has inserted under an exclusion constraint.
//!
//! Such a constraint compares a new row with every row that shares a bucket, and with ON CONFLICT it does so twice. For
//! texts from one template there are thousands of such rows, but none is similar enough. Fetching and comparing one
//! takes some ten microseconds. So the rows that the transaction itself has inserted leave a [`SetOutline`] of their
//! elements here. It rules out most of them in a tenth of a microsecond, and never rules out a similar one.
//!
//! A row is identified by its address, and VACUUM may give the address of a dead row to another row at any time. A row
//! of a transaction in progress is not dead, with two exceptions. After the rollback of a subtransaction all rows are
//! forgotten. And INSERT ... ON CONFLICT may take back a row that met a conflict after all. So before a row is ruled
//! out for the first time, its insertion is checked to be complete.

use std::cell::Cell;

use ahash::AHashMap;
use sketch::corpus::SetOutline;

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::index::layout::LockedPage;
use crate::index::minlsh_index::MinlshIndex;
use crate::memory::of_own_rows;
use crate::options::same_shingling;
use crate::prelude::*;

/// An index, its file, and the address of a row.
type IndexedRow = (Oid, Oid, u64);

/// Maximum number of words in an outline: 4 kB for a row.
const MOST_WORDS: usize = 512;
/// Bytes of a row besides the words of its outline.
const OVERHEAD: usize = 3 * size_of::<(IndexedRow, OwnRow)>();
/// Maximum bytes of a document for which it is kept what the last search has ruled out.
const LONGEST_KEPT: usize = 256 << 10;
/// Bytes for the hashes of a document, unless the limit of memory is lower.
const LONGEST: usize = 32 << 20;

/// A row, represented by the outline of its document.
struct OwnRow {
    outline: SetOutline,
    /// True once its insertion was found to be complete.
    is_complete: Cell<bool>,
}

/// The rows that this transaction has inserted.
#[derive(Default)]
struct OwnRows {
    rows: AHashMap<IndexedRow, OwnRow>,
    /// Total size of all rows ever added.
    bytes: usize,
    last: RuledOut,
}

/// The rows that the last search has ruled out, in order. With ON CONFLICT the second search of a row is for the same
/// document.
#[derive(Default)]
struct RuledOut {
    /// The index and its file, and the document.
    index: Option<(Oid, Oid)>,
    image: Vec<u8>,
    rows: Vec<u64>,
}

thread_local! {
    static OWN_ROWS: Cell<Option<OwnRows>> = const { Cell::new(None) };
}

/// Takes the rows out for `work`, and puts them back. After an ERROR in it there are none. A FATAL error ends the
/// transaction and calls [`forget`] during `work`. It finds no rows, and must not fail: otherwise the transaction's
/// locks would never be released.
fn with_own_rows(work: impl FnOnce(&mut Option<OwnRows>) -> Result<()>) -> Result<()> {
    let mut own = OWN_ROWS.take();
    let result = work(&mut own);
    OWN_ROWS.set(own);
    result
}

/// Forgets all rows.
pub fn forget() {
    OWN_ROWS.take();
}

/// Notes a row that is inserted into an index of documents under a constraint. `image` is its document; without one the
/// row is forgotten.
pub fn note(index: &MinlshIndex, heap: &Open, row: u64, image: Option<&[u8]>) -> Result<()> {
    // Only for heap tables it is known how rows are removed.
    if heap.class().relam != pg_sys::HEAP_TABLE_AM_OID {
        return Ok(());
    }
    let key = key_of(index, row);
    with_own_rows(|kept| {
        // Forgets all rows when the memory is used up.
        kept.take_if(|own| own.bytes > of_own_rows());
        if let Some(own) = kept {
            own.rows.remove(&key);
            // The address may have been another row's, which was taken back.
            if let Ok(place) = own.last.rows.binary_search(&row) {
                own.last.rows.remove(place);
            }
        }
        let Some(image) = image else { return Ok(()) };
        let Some(hashes) = elements(image, &Document::from_bytes(image)?)? else { return Ok(()) };
        let own = kept.get_or_insert_default();
        own.bytes += words_for(&hashes) * size_of::<u64>() + OVERHEAD;
        let row = OwnRow { outline: outline(&hashes)?, is_complete: Cell::new(false) };
        memory::insert_at(&mut own.rows, key, row)?;
        Ok(())
    })
}

/// Removes from `rows`, in order, the rows that cannot be similar to a document. `rows` are what the scan of a
/// constraint has found; `image` is the document.
pub fn rule_out(index: &MinlshIndex, heap: &Open, image: &[u8], rows: &mut Vec<u64>) -> Result<()> {
    with_own_rows(|own| {
        let Some(own) = own else { return Ok(()) };
        let (oid, file, _) = key_of(index, 0);
        let same_search = |last: &RuledOut| last.index == Some((oid, file)) && last.image == image;
        let last = Some(std::mem::take(&mut own.last)).filter(same_search).unwrap_or_default();
        let mut known = last.rows.iter().peekable();
        rows.retain(|row| {
            while known.next_if(|known| *known < row).is_some() {}
            known.peek() != Some(&row)
        });
        let document = Document::from_bytes(image)?;
        let options = index.options()?;
        let same = |config| same_shingling(&config, &options.config);
        // Otherwise rows are not compared as sets, or the comparison is an error.
        if rows.is_empty() || document.kind() == Kind::Signature || !document.config()?.is_none_or(same) {
            return Ok(());
        }
        let Some(hashes) = elements(image, &document)? else { return Ok(()) };
        let sought = outline(&hashes)?;
        let threshold = document.threshold.get();
        let mut page: Option<(u64, LockedPage)> = None;
        let mut ruled_out = memory::with_capacity(rows.len())?;
        rows.retain(|row| {
            let Some(known) = own.rows.get(&(oid, file, *row)) else { return true };
            if known.outline.may_reach(&sought, threshold) {
                return true;
            }
            if !known.is_complete.get() {
                let block = row >> 16;
                page.take_if(|(of, _)| *of != block);
                // Code that maintains or reads an index holds no lock on a page of its table.
                let (_, page) = page.get_or_insert_with(|| (block, LockedPage::of(heap, block as pg_sys::BlockNumber)));
                // SAFETY: reads the state of this backend.
                let is_current = |writer| unsafe { pg_sys::TransactionIdIsCurrentTransactionId(writer) };
                known.is_complete.set(page.inserter(*row as u16).is_some_and(is_current));
            }
            if known.is_complete.get() {
                ruled_out.push(*row);
            }
            !known.is_complete.get()
        });
        if image.len() <= LONGEST_KEPT {
            own.last = RuledOut { index: Some((oid, file)), image: memory::copied(image)?, rows: ruled_out };
        }
        Ok(())
    })
}

fn key_of(index: &MinlshIndex, row: u64) -> IndexedRow {
    let index = index.open();
    (index.oid(), index.class().relfilenode, row)
}

/// Hashes of the elements of a document. `None` if it is not a set, or if the hashes take more memory than all outlines
/// may.
fn elements(image: &[u8], document: &Document) -> Result<Option<Vec<u64>>> {
    let mut hashes = Vec::new();
    let is_set = image.len() <= of_own_rows().max(LONGEST) / size_of::<u64>()
        && document.elements(&mut hashes)?
        && hashes.len() < u32::MAX as usize;
    Ok(is_set.then_some(hashes))
}

fn outline(hashes: &[u64]) -> Result<SetOutline> {
    SetOutline::about(hashes, words_for(hashes)).map_err(Into::into)
}

/// Number of words for an outline that shows most of the difference between two sets.
fn words_for(hashes: &[u64]) -> usize {
    const BITS_OF_ELEMENT: usize = 2;
    let words = (BITS_OF_ELEMENT * hashes.len()).div_ceil(u64::BITS as usize);
    words.clamp(8, MOST_WORDS).next_power_of_two()
}
