//! Outlines of the documents that this transaction has inserted under an exclusion constraint.
//!
//! Such a constraint compares each new row with every row that shares a bucket with it, and with ON CONFLICT twice.
//! Of texts that are made from one template, these are thousands, of which none is similar enough; to fetch and
//! to compare one takes some ten microseconds. So the rows that the transaction itself has inserted leave an
//! [`Outlines`] of their elements here, which rules out most of them in a tenth of a microsecond, and never one
//! that is similar.
//!
//! A row is known by its address, and VACUUM may give that of a dead row to another one at any time. So a row is looked
//! at before it is ruled out: it must be one that a part of this transaction has inserted that was not rolled back. No
//! such row is dead, but for one of INSERT ... ON CONFLICT that met a conflict after all and was taken back: so its
//! insertion must be complete.

use std::cell::Cell;

use ahash::AHashMap;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use sketch::corpus::Outlines;
use sketch::memory;

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::error::Result;
use crate::index::minlsh_index::MinlshIndex;
use crate::index::pages::LockedPage;
use crate::memory::of_own_rows;
use crate::options::{IndexOptions, same_shingling};
use crate::pg::open::Open;
use crate::pg::versions;

/// An index, its file, and a row by its address.
type Key = (Oid, u32, u64);

/// The outline of the document that is searched for.
const SOUGHT: usize = 0;
/// Bytes of a row beside its outline.
const OVERHEAD: usize = 3 * size_of::<(Key, usize)>();
/// Bytes for the hashes of a document, if memory is less.
const LONGEST: usize = 32 << 20;

/// The rows that this transaction has inserted.
struct OwnRows {
    outlines: Outlines,
    count: usize,
    /// The places of outlines by row.
    rows: AHashMap<Key, usize>,
}

thread_local! {
    static OWN_ROWS: Cell<Option<OwnRows>> = const { Cell::new(None) };
    static IS_WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Takes the rows for `work`, and puts them back. An ERROR amid it leaves none. A FATAL error ends the transaction, and
/// calls [`at_end`], from amid the work; it finds none, and must not fail then: what this transaction has locked would
/// be locked for ever.
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

/// Forgets all of it at the end of this transaction.
fn watch() {
    if !IS_WATCHING.replace(true) {
        // SAFETY: the function stays where it is as long as the backend lives.
        unsafe { pg_sys::RegisterXactCallback(Some(at_end), std::ptr::null_mut()) };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_end(
    _event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    forget();
}

/// Notes a row of a table that is being inserted into an index of documents under a constraint, by the bytes of its
/// document: a row without one is forgotten.
pub fn note(index: &MinlshIndex, heap: &Open, row: u64, image: Option<&[u8]>) -> Result<()> {
    // SAFETY: an open relation has its methods, or null. Of other access methods it is not known how rows come and go.
    if !unsafe { std::ptr::eq((*heap.raw()).rd_tableam, pg_sys::GetHeapamTableAmRoutine()) } {
        return Ok(());
    }
    let key = key_of(index, row);
    with_own_rows(|kept| {
        kept.take_if(|own| own.is_full());
        if let Some(own) = kept {
            own.rows.remove(&key);
        }
        let Some(image) = image else { return Ok(()) };
        let Some(hashes) = elements(image, &Document::from_bytes(image)?)? else { return Ok(()) };
        let own = match kept {
            Some(own) => own,
            None => kept.insert(OwnRows::for_sets_of(hashes.len())?),
        };
        let place = own.outlines.add()?;
        own.count += 1;
        own.outlines.draw_hashes(place, &hashes);
        memory::insert_at(&mut own.rows, key, place)?;
        Ok(())
    })
}

/// Removes from the rows that the scan of a constraint has found, in order, those that cannot be what it looks for: a
/// document, by its bytes.
pub fn rule_out(index: &MinlshIndex, heap: &Open, image: &[u8], rows: &mut Vec<u64>) -> Result<()> {
    with_own_rows(|own| {
        let Some(own) = own else { return Ok(()) };
        let document = Document::from_bytes(image)?;
        if !comparable(&document, &*index.options()?)? {
            return Ok(());
        }
        let Some(hashes) = elements(image, &document)? else { return Ok(()) };
        own.outlines.draw_hashes(SOUGHT, &hashes);
        let threshold = document.threshold.get();
        let (oid, file, _) = key_of(index, 0);
        let mut page: Option<(u64, LockedPage)> = None;
        rows.retain(|row| {
            let place = own.rows.get(&(oid, file, *row));
            if place.is_none_or(|place| own.outlines.may_reach(SOUGHT, *place, threshold)) {
                return true;
            }
            let block = row >> 16;
            page.take_if(|(of, _)| *of != block);
            // Whoever maintains or reads an index has no page of its table locked.
            let (_, page) = page
                .get_or_insert_with(|| (block, LockedPage::of(heap, block as pg_sys::BlockNumber)));
            !is_own(page, *row as u16)
        });
        Ok(())
    })
}

fn key_of(index: &MinlshIndex, row: u64) -> Key {
    let index = index.open();
    (index.oid(), versions::file_number(index.entry()), row)
}

/// True if a comparison with the rows of an index is one of sets, and no error.
fn comparable(document: &Document, options: &IndexOptions) -> Result<bool> {
    let same = |config| same_shingling(&config, &options.config);
    Ok(document.kind() != Kind::Signature && document.config()?.is_none_or(same))
}

/// The hashes of the elements of a document; `None` if it is not a set, or too long: they would take more memory than
/// all outlines.
fn elements(image: &[u8], document: &Document) -> Result<Option<Vec<u64>>> {
    let mut hashes = Vec::new();
    let is_set = image.len() <= of_own_rows().max(LONGEST) / size_of::<u64>()
        && document.elements(&mut hashes)?
        && hashes.len() < u32::MAX as usize;
    Ok(is_set.then_some(hashes))
}

impl OwnRows {
    /// None yet, of documents with about so many elements.
    fn for_sets_of(elements: usize) -> Result<Self> {
        watch();
        let mut outlines = Outlines::for_sets_of(elements);
        outlines.add()?;
        Ok(Self { outlines, count: 1, rows: AHashMap::default() })
    }

    /// True if memory is used up. Then all rows are forgotten.
    fn is_full(&self) -> bool {
        self.count * (self.outlines.bytes_of_one() + OVERHEAD) > of_own_rows()
    }
}

/// True if a row of a heap was inserted by this transaction, and will not be taken back by the statement that did it.
fn is_own(page: &LockedPage, offset: u16) -> bool {
    /// `SpecTokenOffsetNumber`: stands in the place of a row's successor as long as it may be taken back.
    const TOKEN_OFFSET: u16 = 0xfffe;
    let tuple = page.item(offset);
    let tuple = tuple.filter(|tuple| tuple.len() >= size_of::<pg_sys::HeapTupleHeaderData>());
    tuple.is_some_and(|tuple| {
        // SAFETY: the item has the bytes of a header, of which the page is locked; any bits make one.
        unsafe {
            let tuple = tuple.as_ptr().cast::<pg_sys::HeapTupleHeaderData>().read_unaligned();
            tuple.t_ctid.ip_posid != TOKEN_OFFSET
                && pg_sys::TransactionIdIsCurrentTransactionId(tuple.t_choice.t_heap.t_xmin)
        }
    })
}
