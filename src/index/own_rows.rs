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
use pgrx::pg_sys::{self, Oid, Relation};
use pgrx::prelude::*;
use sketch::corpus::Outlines;
use sketch::memory;

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::error::{Result, out_of_memory};
use crate::index::keys::Keys;
use crate::index::pages::LockedPage;
use crate::index::stored_options;
use crate::memory::of_own_rows;
use crate::options::{IndexOptions, same_shingling};
use crate::pg::bytes;
use crate::pg::versions;

/// An index and its file.
type Index = (Oid, u32);
/// A row by its address.
type Key = (Index, u64);

/// The outline of the document that is searched for, or was inserted last.
const LAST: usize = 0;
/// Bytes of a row beside its outline.
const OVERHEAD: usize = 3 * size_of::<(Key, usize)>();
/// Bytes for the hashes of a document, if memory is less.
const LONGEST: usize = 32 << 20;
/// Hashes for which room is kept.
const LONG: usize = 1 << 16;
/// The maximum number of insertions under way: one for each index of a table, in fact.
const MOST_PENDING: usize = 16;

/// The rows that this transaction has inserted.
struct OwnRows {
    outlines: Outlines,
    /// The document that [`LAST`] is of, as bytes.
    last: Vec<u8>,
    /// The hashes of its elements, while it is drawn.
    elements: Vec<u64>,
    /// The places of outlines by row.
    rows: AHashMap<Index, AHashMap<u64, usize>>,
    /// The places of the rows that a search has found, while they are compared.
    found: Vec<usize>,
    /// The rows by their outlines, without [`LAST`]; the oldest gives way to the newest when memory is used up.
    keys: Vec<Option<Key>>,
    oldest: usize,
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
fn with_own_rows<T>(work: impl FnOnce(&mut Option<OwnRows>) -> T) -> T {
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

/// Notes a row that is being inserted into an index: a row without a document is forgotten.
///
/// # Safety
/// The arguments are those of `aminsert`; `document` is the row's value if `keys` are of documents.
pub unsafe fn note(
    keys: &Keys,
    index: Relation,
    heap: Relation,
    info: *const pg_sys::IndexInfo,
    row: u64,
    document: Option<pg_sys::Datum>,
) -> Result<()> {
    // SAFETY: the caller's promise. Of other access methods it is not known how their rows come and go.
    let (constrained, table, key) = unsafe {
        let of_heap = std::ptr::eq((*heap).rd_tableam, pg_sys::GetHeapamTableAmRoutine());
        let constrained = !(*info).ii_ExclusionOps.is_null() && of_heap;
        let key = (((*index).rd_id, versions::file_number(index)), row);
        (constrained, (*heap).rd_id, key)
    };
    if keys.kind() != Kind::Document || !constrained {
        return Ok(());
    }
    with_own_rows(|own| {
        if let Some(own) = own {
            own.settle(heap);
            own.remove(key);
        }
        let Some(value) = document else { return Ok(()) };
        // SAFETY: the caller's promise: the value of a column of documents, alive during the call.
        let (image, document) = unsafe { (bytes::read(value), Document::read(value)?) };
        let Some(own) = prepare(own, image, &document)? else { return Ok(()) };
        let place = own.room(key.0)?;
        own.outlines.copy(LAST, place);
        if own.pending.len() == MOST_PENDING {
            own.pending.remove(0);
        }
        own.pending.push((table, key, place));
        Ok(())
    })
}

/// Removes from the rows that the scan of a constraint has found, which ascend, those that cannot be what it looks for.
/// Any other scan keeps its rows.
///
/// # Safety
/// `scan` is a scan of an index of which `keys` are, and was rescanned.
pub unsafe fn rule_out(
    keys: &Keys,
    scan: pg_sys::IndexScanDesc,
    rows: &mut Vec<u64>,
) -> Result<()> {
    // SAFETY: the caller's scan was rescanned, so its index is open; the snapshot is null or valid. Only constraints
    // have such a one.
    let is_of_constraint = unsafe { (*scan).xs_snapshot.as_ref() }
        .is_some_and(|it| it.snapshot_type == pg_sys::SnapshotType::SNAPSHOT_DIRTY);
    if !is_of_constraint {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let (image, index, heap) =
        unsafe { (document(keys, scan), (*scan).indexRelation, (*scan).heapRelation) };
    let Some(image) = image else { return Ok(()) };
    with_own_rows(|own| {
        if let Some(own) = own {
            own.settle(heap);
        }
        if own.as_ref().is_none_or(|own| own.rows.is_empty()) {
            return Ok(());
        }
        let document = Document::from_bytes(image)?;
        // SAFETY: the caller's promise.
        let options = unsafe { stored_options::built_of(index)? };
        if !comparable(&document, &options)? {
            return Ok(());
        }
        let threshold = document.threshold.get();
        let Some(own) = prepare(own, image, &document)? else { return Ok(()) };
        // SAFETY: the caller's promise.
        let index = unsafe { ((*index).rd_id, versions::file_number(index)) };
        own.rule_out(index, threshold, rows)
    })
}

/// The document that a constraint looks for, as bytes, if rows may be ruled out by it.
///
/// # Safety
/// As for [`rule_out`]. What is returned lives as long as the memory context and the scan keys.
unsafe fn document<'a>(keys: &Keys, scan: pg_sys::IndexScanDesc) -> Option<&'a [u8]> {
    // SAFETY: the caller's scan was rescanned with its keys. A key without a type is of the column's own; if one is
    // NULL, nothing is found.
    unsafe {
        let count = (*scan).numberOfKeys as usize;
        if keys.kind() != Kind::Document || (*scan).heapRelation.is_null() || count == 0 {
            return None;
        }
        let of_document = |key: &&pg_sys::ScanKeyData| {
            key.sk_attno as usize == keys.layout().document() + 1 && key.sk_subtype == Oid::INVALID
        };
        let keys = std::slice::from_raw_parts((*scan).keyData, count);
        if keys.iter().any(|key| key.sk_flags & pg_sys::SK_ISNULL as i32 != 0) {
            return None;
        }
        keys.iter().find(of_document).map(|key| bytes::read(key.sk_argument))
    }
}

/// True if a comparison with the rows of an index is one of sets, and no error.
fn comparable(document: &Document, options: &IndexOptions) -> Result<bool> {
    let same = |config| same_shingling(&config, &options.config);
    Ok(document.kind() != Kind::Signature && document.config()?.is_none_or(same))
}

/// Draws the outline of a document, unless it is the last one; `None` if it is not a set.
fn prepare<'a>(
    own: &'a mut Option<OwnRows>,
    image: &[u8],
    document: &Document,
) -> Result<Option<&'a mut OwnRows>> {
    // The hashes of a long document would take more memory than all outlines.
    if image.len() > of_own_rows().max(LONGEST) / size_of::<u64>() {
        return Ok(None);
    }
    if own.as_ref().is_none_or(|own| own.last != image) {
        let mut hashes =
            own.as_mut().map(|own| std::mem::take(&mut own.elements)).unwrap_or_default();
        if !document.elements(&mut hashes)? || hashes.len() >= u32::MAX as usize {
            return Ok(None);
        }
        if own.is_none() {
            watch();
            *own = Some(OwnRows::for_sets_of(hashes.len())?);
        }
        if let Some(own) = own {
            own.last.clear();
            own.last.try_reserve_exact(image.len()).map_err(|_| out_of_memory())?;
            own.outlines.draw_hashes(LAST, &hashes);
            own.last.extend_from_slice(image);
            // One long document is no reason to keep so much room.
            hashes.shrink_to(LONG);
            own.elements = hashes;
        }
    }
    Ok(own.as_mut())
}

impl OwnRows {
    fn for_sets_of(elements: usize) -> Result<Self> {
        let mut outlines = Outlines::for_sets_of(elements);
        outlines.add()?;
        Ok(Self {
            outlines,
            last: Vec::new(),
            elements: Vec::new(),
            rows: AHashMap::default(),
            found: Vec::new(),
            keys: Vec::new(),
            oldest: 0,
            pending: Vec::new(),
        })
    }

    /// Removes from `rows` those of an index that cannot be similar to the document in hand.
    fn rule_out(&mut self, index: Index, threshold: f64, rows: &mut Vec<u64>) -> Result<()> {
        let Self { outlines, rows: own, found, keys, .. } = self;
        let Some(own) = own.get(&index) else { return Ok(()) };
        found.clear();
        memory::reserve(found, rows.len())?;
        rows.retain(|row| {
            let place = own.get(row);
            found.extend(place);
            place.is_none()
        });
        found.retain(|place| outlines.may_reach(LAST, *place, threshold));
        let rows_of = found.iter().filter_map(|place| keys[place - 1]).map(|(_, row)| row);
        // There is room: these were among them.
        rows.extend(rows_of);
        rows.sort_unstable();
        Ok(())
    }

    /// Forgets a row.
    fn remove(&mut self, key: Key) {
        self.leave(key);
        self.pending.retain(|(_, pending, _)| *pending != key);
    }

    /// Takes a row from those whose outlines are known.
    fn leave(&mut self, (index, row): Key) {
        if let Some(rows) = self.rows.get_mut(&index) {
            rows.remove(&row);
        }
    }

    /// The place of one more outline, which nobody has, for a row of an index.
    fn room(&mut self, index: Index) -> Result<usize> {
        let most = of_own_rows() / (self.outlines.bytes_of_one() + OVERHEAD);
        let rows = self.rows.entry(index).or_default();
        rows.try_reserve(MOST_PENDING).map_err(|_| out_of_memory())?;
        if self.keys.len() < most.max(MOST_PENDING) {
            self.keys.try_reserve(1).map_err(|_| out_of_memory())?;
            let place = self.outlines.add()?;
            self.keys.push(None);
            return Ok(place);
        }
        let number = self.oldest;
        self.oldest = (number + 1) % self.keys.len();
        if let Some(key) = self.keys[number].take() {
            self.leave(key);
        }
        let place = number + 1;
        self.pending.retain(|(.., of_pending)| *of_pending != place);
        Ok(place)
    }

    /// Has the rows of a table count of which the insertion is complete, and forgets those that were taken back.
    fn settle(&mut self, heap: Relation) {
        let Self { rows, keys, pending, .. } = self;
        pending.retain(|&(table, key, place)| {
            let (index, row) = key;
            // SAFETY: the table is open.
            if unsafe { (*heap).rd_id } != table {
                return true;
            }
            // SAFETY: the row was inserted into this table, of which it was seen that it is a heap.
            match unsafe { insertion(heap, row) } {
                Insertion::UnderWay => true,
                Insertion::TakenBack => false,
                Insertion::Complete => {
                    rows.entry(index).or_default().insert(row, place);
                    keys[place - 1] = Some(key);
                    false
                }
            }
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
///
/// # Safety
/// `heap` is open, a heap, and has the page of that row.
unsafe fn insertion(heap: Relation, row: u64) -> Insertion {
    // SAFETY: the caller's promise; whoever maintains or reads an index has no page of its table locked.
    let page = unsafe { LockedPage::of(heap, (row >> 16) as pg_sys::BlockNumber) };
    let tuple = page.item(row as u16).map(<[u8]>::as_ptr);
    let Some(tuple) = tuple.map(|tuple| tuple.cast::<pg_sys::HeapTupleHeaderData>()) else {
        return Insertion::TakenBack;
    };
    // SAFETY: an item of a heap is a tuple, of which the page is locked.
    unsafe {
        if !pg_sys::TransactionIdIsCurrentTransactionId((*tuple).t_choice.t_heap.t_xmin) {
            return Insertion::TakenBack;
        }
        let under_way = (*tuple).t_ctid.ip_posid == TOKEN_OFFSET;
        if under_way { Insertion::UnderWay } else { Insertion::Complete }
    }
}
