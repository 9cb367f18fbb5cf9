//! Many rows at once, as COPY writes them; and a table's contents thrown away, as TRUNCATE does.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;
use crate::pg::open::Open;
use crate::pg::open_index::OpenIndex;
use crate::pg::relation::Lock;
use crate::pg::row::Row;
use crate::pg::versions::{self, Entries};

/// Rows that are written together: they share pages and WAL records. More gain nothing.
const BATCH: usize = 64;

/// An index that gets entries.
struct Target<'a> {
    index: &'a OpenIndex,
    info: *mut pg_sys::IndexInfo,
    late: Option<Late>,
}

/// Entries that an index gets in the end, in their order: pages are filled one after the other, where entries that come
/// here and there leave a third of each empty. All have one value, which is passed by value.
struct Late {
    column: i16,
    entries: Vec<(i64, pg_sys::ItemPointerData)>,
}

/// Writes rows to a table, in batches.
pub struct Bulk<'a> {
    table: &'a Open,
    indexes: Vec<Target<'a>>,
    /// The number of late entries of an index that are kept.
    most_late: usize,
    rows: Vec<Row>,
    used: usize,
    /// The state of bulk insertion; null if rows go wherever there is room.
    place: pg_sys::BulkInsertState,
    /// Memory for the descriptions of indexes, and for one batch.
    lasting: Memory,
    batch: Memory,
}

impl<'a> Bulk<'a> {
    /// Begins to write to the end of `table`, which has no index that is kept meanwhile.
    pub fn at_end(table: &'a Open) -> Self {
        let mut bulk = Self::new(table, &[], 0);
        // SAFETY: freed by `finish`, or with its memory; a pin that it holds is given back by then, or by an abort.
        bulk.place = bulk.lasting.run(|| unsafe { pg_sys::GetBulkInsertState() });
        bulk
    }

    /// Begins to write to `table`, which has these indexes. Entries of up to `memory` bytes of each are inserted in
    /// their order.
    pub fn new(table: &'a Open, indexes: &'a [OpenIndex], memory: usize) -> Self {
        let (lasting, batch) = (Memory::scratch(c"minlsh rows"), Memory::scratch(c"minlsh batch"));
        let targets = indexes.iter().map(|index| {
            let late = late_column(table, index).map(|column| Late { column, entries: Vec::new() });
            Target { index, info: lasting.run(|| index.info()), late }
        });
        let (indexes, rows, place) = (targets.collect(), Vec::new(), std::ptr::null_mut());
        let most_late = memory / size_of::<(i64, pg_sys::ItemPointerData)>();
        Self { table, indexes, most_late, rows, used: 0, place, lasting, batch }
    }

    /// Adds a row: one value for each column, copied; `None` for NULL.
    ///
    /// # Safety
    /// The values are of the columns' types. The indexes are those of the table, and plain.
    pub unsafe fn push(&mut self, values: &[Option<Datum>]) {
        if self.used == self.rows.len() {
            self.rows.push(Row::empty(self.table));
        }
        let row = &self.rows[self.used];
        // SAFETY: the caller's promise; the values are copied at once.
        unsafe { row.fill(values) };
        row.keep();
        self.used += 1;
        if self.used == BATCH {
            self.flush();
        }
    }

    /// Writes what is left.
    pub fn finish(mut self) {
        self.flush();
        // SAFETY: made by `new`, used and freed once; what was written is there for the next command.
        unsafe {
            for Target { index, info, late } in &mut self.indexes {
                if let Some(late) = late {
                    late.insert(&mut self.batch, self.table, index, *info);
                }
                index.inserted(*info);
            }
            if !self.place.is_null() {
                pg_sys::FreeBulkInsertState(self.place);
            }
            pg_sys::CommandCounterIncrement();
        }
    }

    fn flush(&mut self) {
        let rows = &self.rows[..self.used];
        let mut slots: Vec<_> = rows.iter().map(Row::raw).collect();
        self.used = 0;
        if slots.is_empty() {
            return;
        }
        let (table, indexes, place) = (self.table, &mut self.indexes, self.place);
        let options = versions::insert_options(!place.is_null());
        let most_late = self.most_late;
        self.batch.run_and_reset(|| {
            let (slots, count) = (slots.as_mut_ptr(), slots.len() as i32);
            // SAFETY: an open table under lock, and `count` rows of its kind; then they have their
            // places. The indexes are the table's by the promise of `push`.
            unsafe {
                let raw = table.raw();
                let Some(insert) = (*(*raw).rd_tableam).multi_insert else { return };
                let command = pg_sys::GetCurrentCommandId(true);
                pg_guard_ffi_boundary(|| insert(raw, slots, count, command, options, place));
                for Target { index, info, late } in &mut *indexes {
                    for row in rows {
                        if !late.as_mut().is_some_and(|late| late.keep(row, most_late)) {
                            index.insert_by(*info, table, row, Entries::All);
                        }
                    }
                }
            }
        });
        for Target { index, info, late } in &mut self.indexes {
            if let Some(late) = late.as_mut().filter(|late| late.entries.len() >= most_late) {
                // SAFETY: entries of rows that are in the table, of an index of it by the promise of `push`.
                unsafe { late.insert(&mut self.batch, table, index, *info) };
            }
        }
    }
}

/// The only column of an index that tells no rows apart, if its values are passed by value.
fn late_column(table: &Open, index: &OpenIndex) -> Option<i16> {
    let form = index.form();
    let column = index.only_column().filter(|_| !form.indisunique && form.indnatts == 1)?;
    let by_value = table.attributes().any(|own| own.attnum == column && own.attbyval);
    by_value.then_some(column)
}

impl Late {
    /// Keeps the entry of a row that is in the table; false if there is no room for it, or its value is NULL.
    fn keep(&mut self, row: &Row, most: usize) -> bool {
        let Some(value) = row.value(self.column) else { return false };
        if self.entries.len() >= most || self.entries.try_reserve(1).is_err() {
            return false;
        }
        // SAFETY: a row that was inserted has its place.
        self.entries.push((value.value() as i64, unsafe { (*row.raw()).tts_tid }));
        true
    }

    /// Inserts the entries that are kept.
    ///
    /// # Safety
    /// They are those of rows of `table`, of which `index` is one, described by `info`.
    unsafe fn insert(
        &mut self,
        memory: &mut Memory,
        table: &Open,
        index: &OpenIndex,
        info: *mut pg_sys::IndexInfo,
    ) {
        self.entries.sort_unstable_by_key(|(value, place)| {
            (*value, place.ip_blkid.bi_hi, place.ip_blkid.bi_lo, place.ip_posid)
        });
        for some in self.entries.chunks(BATCH) {
            check_interrupts();
            memory.run_and_reset(|| {
                for &(value, place) in some {
                    // SAFETY: the caller's promise; a value of the only column.
                    unsafe { index.insert_value(info, table, Datum::from(value), place) };
                }
            });
        }
        self.entries.clear();
    }
}

/// Throws away the contents of a table and its indexes, as TRUNCATE does. The caller holds ACCESS EXCLUSIVE. A rollback
/// brings all back.
pub fn empty(table: &Open) {
    // SAFETY: an open table under ACCESS EXCLUSIVE lock, and its TOAST table likewise.
    unsafe {
        pg_sys::CheckTableNotInUse(table.raw(), c"TRUNCATE".as_ptr());
        versions::set_new_file(table.raw());
        if let Some(toast) = Open::relation(table.class().reltoastrelid, Lock::Exclusive) {
            versions::set_new_file(toast.raw());
        }
        rebuild_indexes(table.oid());
        pg_sys::pgstat_count_truncate(table.raw());
    }
}

/// Builds the indexes of a table again, as its owner, like REINDEX TABLE.
pub fn rebuild_indexes(table: Oid) {
    let flags = pg_sys::REINDEX_REL_PROCESS_TOAST as i32;
    // SAFETY: a table that the caller has locked.
    unsafe {
        versions::reindex_relation(table, flags);
        pg_sys::CommandCounterIncrement();
    }
}
