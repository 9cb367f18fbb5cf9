//! `bytea`, and other values that are bytes, in and out.

use pgrx::pg_sys::{self, Datum};

/// Reads the bytes of a `bytea`, or of any other varlena, datum.
///
/// # Safety
/// `datum` must be a non-null varlena, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> &'a [u8] {
    // SAFETY: the caller promises a varlena; detoasting yields a valid one, in place or in the
    // current memory context.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        pgrx::varlena::varlena_to_byte_slice(varlena)
    }
}

/// A copy of all `parts` in the current memory context.
///
/// # Safety
/// `'a` must end before that context is reset.
pub unsafe fn in_memory<'a>(parts: &[&[u8]]) -> &'a [u8] {
    // SAFETY: a varlena that was just made, in plain form; the caller's promise.
    unsafe { read(concatenate(parts)) }
}

/// A `bytea` datum in the current memory context.
pub fn write(bytes: &[u8]) -> Datum {
    concatenate(&[bytes])
}

/// A varlena datum of all `parts`, in the current memory context.
pub fn concatenate(parts: &[&[u8]]) -> Datum {
    let size = pg_sys::VARHDRSZ + parts.iter().map(|part| part.len()).sum::<usize>();
    // SAFETY: the chunk holds header and bytes; palloc raises an error instead of returning null
    // or more than 1 GB, so the size fits.
    unsafe {
        let varlena = pg_sys::palloc(size).cast::<u8>();
        pgrx::varlena::set_varsize_4b(varlena.cast(), size as i32);
        let mut end = varlena.add(pg_sys::VARHDRSZ);
        for part in parts {
            std::ptr::copy_nonoverlapping(part.as_ptr(), end, part.len());
            end = end.add(part.len());
        }
        Datum::from(varlena)
    }
}
