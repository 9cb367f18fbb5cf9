//! `bytea`, and other values that are bytes, in and out.

use pgrx::pg_sys::{self, Datum};
use pgrx::varlena;
use sketch::stored::{Packing, StoredBytes};

use crate::error::{raise, too_large};

/// The way of compression that is pglz.
const PGLZ: u32 = pg_sys::ToastCompressionId::TOAST_PGLZ_COMPRESSION_ID;

/// Bytes before the data of a compressed value (`VARHDRSZ_COMPRESSED`).
const COMPRESSED_HEADER: usize = size_of::<pg_sys::varattrib_4b__bindgen_ty_2>();

/// `MaxAllocSize`: the most that PostgreSQL gives for one value.
pub const MAX_ALLOC_SIZE: usize = 0x3fff_ffff;

/// Raises an error of its own if PostgreSQL would not give so many bytes for a value: its own is an internal one.
pub fn allocatable(size: usize) -> usize {
    if size > MAX_ALLOC_SIZE {
        raise(too_large(size));
    }
    size
}

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

/// Reads the bytes of a `bytea`, or of any other varlena, datum as they are stored: not unpacked if pglz
/// has compressed them.
///
/// # Safety
/// `datum` must be a non-null varlena, valid for `'a`.
pub unsafe fn stored<'a>(datum: Datum) -> StoredBytes<'a> {
    // SAFETY: the caller promises a varlena. What is fetched is one too, in the current memory context. A
    // compressed one has four bytes before the ways of its compression, and these before its data.
    unsafe {
        let mut value = datum.cast_mut_ptr::<pg_sys::varlena>();
        let is_elsewhere = varlena::varatt_is_1b_e(value)
            && u32::from(varlena::vartag_external(value)) == pg_sys::vartag_external::VARTAG_ONDISK;
        if is_elsewhere {
            value = pg_sys::detoast_external_attr(value);
        }
        // A value with a header of one byte may have no four bytes that a size could be read of.
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

/// A copy of all `parts` in the current memory context.
///
/// # Safety
/// `'a` must end before that context is reset.
pub unsafe fn in_memory<'a>(parts: &[&[u8]]) -> &'a [u8] {
    // SAFETY: `concatenate` has just made a varlena in plain form in the current context, which lasts for `'a`, as
    // # Safety asks.
    unsafe { read(concatenate(parts)) }
}

/// A `bytea` datum in the current memory context.
pub fn write(bytes: &[u8]) -> Datum {
    concatenate(&[bytes])
}

/// A varlena datum of all `parts`, in the current memory context.
pub fn concatenate(parts: &[&[u8]]) -> Datum {
    let size = pg_sys::VARHDRSZ + parts.iter().map(|part| part.len()).sum::<usize>();
    // SAFETY: the chunk holds header and bytes; palloc raises an error instead of returning null,
    // and the size is checked to fit.
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
