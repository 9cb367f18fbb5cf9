//! Rows of the system catalogs, found by OID in their caches.

use std::marker::PhantomData;
use std::ops::Deref;

use pgrx::pg_sys::{self, Datum, Oid};

/// The fixed columns of a catalog.
///
/// # Safety
/// `CACHE` must have rows that begin like this, by the OID alone.
pub unsafe trait Form {
    /// The cache by OID.
    const CACHE: u32;
}

// SAFETY: `pg_class` by its OID.
unsafe impl Form for pg_sys::FormData_pg_class {
    const CACHE: u32 = pg_sys::SysCacheIdentifier::RELOID;
}

// SAFETY: `pg_index` by the OID of the index.
unsafe impl Form for pg_sys::FormData_pg_index {
    const CACHE: u32 = pg_sys::SysCacheIdentifier::INDEXRELID;
}

// SAFETY: `pg_opclass` by its OID.
unsafe impl Form for pg_sys::FormData_pg_opclass {
    const CACHE: u32 = pg_sys::SysCacheIdentifier::CLAOID;
}

// SAFETY: `pg_collation` by its OID.
unsafe impl Form for pg_sys::FormData_pg_collation {
    const CACHE: u32 = pg_sys::SysCacheIdentifier::COLLOID;
}

// SAFETY: `pg_proc` by its OID.
unsafe impl Form for pg_sys::FormData_pg_proc {
    const CACHE: u32 = pg_sys::SysCacheIdentifier::PROCOID;
}

/// A row of a catalog, held while this lives.
pub struct CatalogRow<F: Form> {
    tuple: pg_sys::HeapTuple,
    form: PhantomData<F>,
}

impl<F: Form> CatalogRow<F> {
    /// The row of that OID, if there is one.
    pub fn find(oid: Oid) -> Option<Self> {
        // SAFETY: a lookup in a cache by OID; `Drop` gives the row back.
        let tuple = unsafe { pg_sys::SearchSysCache1(F::CACHE as i32, Datum::from(oid)) };
        // Lazily: one that is null must not come to be, since dropping it gives it back.
        (!tuple.is_null()).then(|| Self { tuple, form: PhantomData })
    }

    /// Column `number`, one that is not among the fixed ones; `None` for NULL. It is valid as long as
    /// the row is held.
    pub fn column(&self, number: u32) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: a row of that cache, which is held; the catalog has such a column.
        let value = unsafe {
            pg_sys::SysCacheGetAttr(F::CACHE as i32, self.tuple, number as i16, &mut is_null)
        };
        (!is_null).then_some(value)
    }

    /// Who wrote the row, and when.
    pub fn header(&self) -> &pg_sys::HeapTupleHeaderData {
        // SAFETY: a row that is held has its header.
        unsafe { &*(*self.tuple).t_data }
    }
}

impl<F: Form> Deref for CatalogRow<F> {
    type Target = F;

    fn deref(&self) -> &F {
        // SAFETY: a row that is held begins with its fixed columns, as `Form` promises.
        unsafe { &*pg_sys::GETSTRUCT(self.tuple).cast::<F>() }
    }
}

impl<F: Form> Drop for CatalogRow<F> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: found by `find`, given back once; after an ERROR the abort does it.
            unsafe { pg_sys::ReleaseSysCache(self.tuple) };
        }
    }
}
