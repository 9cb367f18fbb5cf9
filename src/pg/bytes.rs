//! `bytea` in and out.

use pgrx::pg_sys::{self, Datum};

/// Reads a `bytea` datum.
///
/// # Safety
/// `datum` must be a non-null `bytea`, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> &'a [u8] {
    // SAFETY: the caller promises a varlena; detoasting yields a valid one, in place or in the
    // current memory context.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        pgrx::varlena::varlena_to_byte_slice(varlena)
    }
}

/// A `bytea` datum in the current memory context.
pub fn write(bytes: &[u8]) -> Datum {
    let size = pg_sys::VARHDRSZ + bytes.len();
    // SAFETY: the chunk holds header and bytes; palloc raises an error instead of returning null
    // or more than 1 GB, so the size fits.
    unsafe {
        let varlena = pg_sys::palloc(size).cast::<u8>();
        pgrx::varlena::set_varsize_4b(varlena.cast(), size as i32);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), varlena.add(pg_sys::VARHDRSZ), bytes.len());
        Datum::from(varlena)
    }
}
