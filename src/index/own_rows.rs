//! Outlines of the documents that this transaction has inserted under an exclusion constraint.
//!
//! Such a constraint compares each new row with every row that shares a bucket with it, and with ON CONFLICT twice.
//! Of texts that are made from one template, these are thousands, of which none is similar enough; to fetch and
//! to compare one takes some ten microseconds. So the rows that the transaction itself has inserted leave an
//! [`Outlines`] of their elements here, which rules out most of them in a tenth of a microsecond, and never one
//! that is similar.
//!
//! A row is known by its address, so that must stay its own as long as it is known. VACUUM frees the addresses of
//! dead rows, at any time. No row that a transaction in progress has inserted is dead, but for two:
//! one of a subtransaction that was rolled back, after which all is forgotten; and one of INSERT ... ON CONFLICT that
//! met a conflict after all and was taken back. So a row counts only once its insertion is seen to be complete.

use std::cell::Cell;

use ahash::AHashMap;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use sketch::corpus::Outlines;
use sketch::memory;

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::error::{Result, out_of_memory};
use crate::index::minlsh_index::MinlshIndex;
use crate::index::pages::LockedPage;
use crate::memory::of_own_rows;
use crate::options::{IndexOptions, same_shingling};
use crate::pg::open::Open;
use crate::pg::versions;

/// An index, its file, and a row by its address.
type Key = (Oid, u32, u64);

/// The outline of the document that is searched for, or was inserted last.
const LAST: usize = 0;
/// Bytes of a row beside its outline.
const OVERHEAD: usize = 3 * size_of::<(Key, usize)>();
/// Bytes for the hashes of a document, if memory is less.
const LONGEST: usize = 32 << 20;

/// The rows that this transaction has inserted.
struct OwnRows {
    outlines: Outlines,
    /// The number of outlines beside [`LAST`].
    count: usize,
    /// The document that [`LAST`] is of, as bytes.
    last: Vec<u8>,
    /// The places of outlines by row.
    rows: AHashMap<Key, usize>,
    /// Rows of which the insertion was not complete yet, with their tables.
    pending: Vec<(Oid, Key, usize)>,
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

/// Forgets all of it at the end of this transaction, and when a subtransaction is rolled back.
fn watch() {
    if !IS_WATCHING.replace(true) {
        // SAFETY: the functions stay where they are as long as the backend lives.
        unsafe {
            pg_sys::RegisterXactCallback(Some(at_end), std::ptr::null_mut());
            pg_sys::RegisterSubXactCallback(Some(at_end_of_part), std::ptr::null_mut());
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_end(
    _event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    forget();
}

#[pg_guard]
unsafe extern "C-unwind" fn at_end_of_part(
    event: pg_sys::SubXactEvent::Type,
    _own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut std::ffi::c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        forget();
    }
}

/// Notes a row of a table that is being inserted into an index of documents under a constraint, by the bytes of its
/// document: a row without one is forgotten.
pub fn note(index: &MinlshIndex, heap: &Open, row: u64, image: Option<&[u8]>) -> Result<()> {
    // SAFETY: an open relation has its methods, or null. Of other access methods it is not known how rows come and go.
    if !unsafe { std::ptr::eq((*heap.raw()).rd_tableam, pg_sys::GetHeapamTableAmRoutine()) } {
        return Ok(());
    }
    let key = key_of(index, row);
    with_own_rows(|own| {
        if let Some(own) = own {
            own.settle(heap);
            own.rows.remove(&key);
            own.pending.retain(|(_, pending, _)| *pending != key);
        }
        let Some(image) = image else { return Ok(()) };
        let Some(own) = prepare(own, image, &Document::from_bytes(image)?)? else { return Ok(()) };
        let place = own.outlines.add()?;
        own.count += 1;
        own.outlines.copy(LAST, place);
        // Room for all of which the insertion will be complete.
        own.rows.try_reserve(own.pending.len() + 1).map_err(|_| out_of_memory())?;
        memory::push(&mut own.pending, (heap.oid(), key, place)).map_err(Into::into)
    })
}

/// Removes from the rows that the scan of a constraint has found those that cannot be what it looks for: a document, by
/// its bytes.
pub fn rule_out(index: &MinlshIndex, heap: &Open, image: &[u8], rows: &mut Vec<u64>) -> Result<()> {
    with_own_rows(|own| {
        if let Some(own) = own {
            own.settle(heap);
        }
        let document = Document::from_bytes(image)?;
        if own.as_ref().is_none_or(|own| own.rows.is_empty())
            || !comparable(&document, &*index.options()?)?
        {
            return Ok(());
        }
        let Some(own) = prepare(own, image, &document)? else { return Ok(()) };
        let threshold = document.threshold.get();
        let (oid, file, _) = key_of(index, 0);
        rows.retain(|row| {
            let place = own.rows.get(&(oid, file, *row));
            place.is_none_or(|place| own.outlines.may_reach(LAST, *place, threshold))
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

/// Draws the outline of a document, unless it is the last one; `None` if it is not a set. What is known of rows is
/// forgotten when memory is used up.
fn prepare<'a>(
    own: &'a mut Option<OwnRows>,
    image: &[u8],
    document: &Document,
) -> Result<Option<&'a mut OwnRows>> {
    // The hashes of a long document would take more memory than all outlines.
    if image.len() > of_own_rows().max(LONGEST) / size_of::<u64>() {
        return Ok(None);
    }
    own.take_if(|own| own.is_full());
    if own.as_ref().is_none_or(|own| own.last != image) {
        let mut hashes = Vec::new();
        if !document.elements(&mut hashes)? || hashes.len() >= u32::MAX as usize {
            return Ok(None);
        }
        if own.is_none() {
            watch();
            let mut outlines = Outlines::for_sets_of(hashes.len());
            outlines.add()?;
            let (rows, last, pending) = (AHashMap::default(), Vec::new(), Vec::new());
            *own = Some(OwnRows { outlines, count: 0, last, rows, pending });
        }
        if let Some(own) = own {
            own.last.clear();
            own.last.try_reserve_exact(image.len()).map_err(|_| out_of_memory())?;
            own.outlines.draw_hashes(LAST, &hashes);
            own.last.extend_from_slice(image);
        }
    }
    Ok(own.as_mut())
}

impl OwnRows {
    fn is_full(&self) -> bool {
        self.count * (self.outlines.bytes_of_one() + OVERHEAD) > of_own_rows()
    }

    /// Has the rows of a table count of which the insertion is complete, and forgets those that were taken back.
    fn settle(&mut self, heap: &Open) {
        let Self { rows, pending, .. } = self;
        pending.retain(|&(table, key, place)| {
            if heap.oid() != table {
                return true;
            }
            match insertion(heap, key.2) {
                Insertion::UnderWay => return true,
                Insertion::TakenBack => {}
                Insertion::Complete => {
                    rows.insert(key, place);
                }
            }
            false
        });
    }
}

/// The fate of a row that this transaction has inserted.
enum Insertion {
    UnderWay,
    Complete,
    TakenBack,
}

/// `SpecTokenOffsetNumber`: stands in the place of a row's successor as long as it may be taken back.
const TOKEN_OFFSET: u16 = 0xfffe;

/// Looks at a row of a heap.
fn insertion(heap: &Open, row: u64) -> Insertion {
    // Whoever maintains or reads an index has no page of its table locked.
    let page = LockedPage::of(heap, (row >> 16) as pg_sys::BlockNumber);
    let tuple = page.item(row as u16);
    let tuple = tuple.filter(|tuple| tuple.len() >= size_of::<pg_sys::HeapTupleHeaderData>());
    let Some(tuple) = tuple else { return Insertion::TakenBack };
    // SAFETY: the item has the bytes of a header, of which the page is locked; any bits make one.
    unsafe {
        let tuple = tuple.as_ptr().cast::<pg_sys::HeapTupleHeaderData>().read_unaligned();
        if !pg_sys::TransactionIdIsCurrentTransactionId(tuple.t_choice.t_heap.t_xmin) {
            return Insertion::TakenBack;
        }
        let under_way = tuple.t_ctid.ip_posid == TOKEN_OFFSET;
        if under_way { Insertion::UnderWay } else { Insertion::Complete }
    }
}
