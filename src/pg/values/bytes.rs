//! Reads and writes `bytea` and other values that are bytes.

use pgrx::pg_sys::{self, Datum};
use pgrx::varlena;
use sketch::stored::{Packing, StoredBytes};

use crate::error::{raise, too_large};

/// The compression method pglz.
const PGLZ: u32 = pg_sys::ToastCompressionId::TOAST_PGLZ_COMPRESSION_ID;

/// Size of a compressed value's header (`VARHDRSZ_COMPRESSED`).
const COMPRESSED_HEADER: usize = size_of::<pg_sys::varattrib_4b__bindgen_ty_2>();

/// `MaxAllocSize`: the largest chunk that `palloc` returns.
pub const MAX_ALLOC_SIZE: usize = 0x3fff_ffff;

/// Raises a user-facing error if `size` is too large for a value. PostgreSQL's own error is an internal one.
pub fn allocatable(size: usize) -> usize {
    if size > MAX_ALLOC_SIZE {
        raise(too_large(size));
    }
    size
}

/// Reads the bytes of a `bytea` or another varlena.
///
/// # Safety
/// `datum` is a non-null varlena, valid for `'a`.
pub unsafe fn read<'a>(datum: Datum) -> &'a [u8] {
    // SAFETY: the caller promises a varlena; detoasting returns a valid one, in place or in the current memory context.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        pgrx::varlena::varlena_to_byte_slice(varlena)
    }
}

/// Reads the bytes of a `bytea` or another varlena as they are stored: still compressed if pglz compressed them.
///
/// # Safety
/// `datum` is a non-null varlena, valid for `'a`.
pub unsafe fn stored<'a>(datum: Datum) -> StoredBytes<'a> {
    // SAFETY: the caller promises a varlena, and a fetched copy is one too, in the current memory context. A compressed
    // one has four bytes of length and four with the compression method before its data.
    unsafe {
        let mut value = datum.cast_mut_ptr::<pg_sys::varlena>();
        let is_elsewhere = varlena::varatt_is_1b_e(value)
            && u32::from(varlena::vartag_external(value)) == pg_sys::vartag_external::VARTAG_ONDISK;
        if is_elsewhere {
            value = pg_sys::detoast_external_attr(value);
        }
        // A value with a header of one byte may have fewer than the four bytes that hold a size.
        let compressed = varlena::varatt_is_4b_c(value).then(|| varlena::varsize_4b(value));
        if let Some(size @ COMPRESSED_HEADER..) = compressed {
            let info = (*value.cast::<pg_sys::varattrib_4b__bindgen_ty_2>()).va_tcinfo;
            let unpacked = info & pg_sys::VARLENA_EXTSIZE_MASK;
            let packing = Packing::lz(unpacked as usize);
            if let (PGLZ, Some(packing)) = (info >> pg_sys::VARLENA_EXTSIZE_BITS, packing) {
                let start = varlena::vardata_4b_c(value).cast();
                let bytes = std::slice::from_raw_parts(start, size - COMPRESSED_HEADER);
                return StoredBytes { bytes, packing };
            }
        }
        StoredBytes::plain(read(Datum::from(value)))
    }
}

/// Copies all `parts` into the current memory context.
///
/// # Safety
/// `'a` ends before that context is reset.
pub unsafe fn in_memory<'a>(parts: &[&[u8]]) -> &'a [u8] {
    // SAFETY: `concatenate` made a plain varlena in the current context, which lasts for `'a`, as # Safety asks.
    unsafe { read(concatenate(parts)) }
}

/// Makes a `bytea` datum in the current memory context.
pub fn write(bytes: &[u8]) -> Datum {
    concatenate(&[bytes])
}

/// Makes a varlena datum of all `parts`, in the current memory context.
pub fn concatenate(parts: &[&[u8]]) -> Datum {
    let size = pg_sys::VARHDRSZ + parts.iter().map(|part| part.len()).sum::<usize>();
    // SAFETY: the chunk holds the header and the bytes, and its size was checked. `palloc` raises an ERROR instead of
    // returning null.
    unsafe {
        let varlena = pg_sys::palloc(allocatable(size)).cast::<u8>();
        pgrx::varlena::set_varsize_4b(varlena.cast(), size as i32);
        let mut end = varlena.add(pg_sys::VARHDRSZ);
        for part in parts {
            std::ptr::copy_nonoverlapping(part.as_ptr(), end, part.len());
            end = end.add(part.len());
        }
        Datum::from(varlena)
    }
}
