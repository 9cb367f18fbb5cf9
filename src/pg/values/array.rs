//! One-dimensional arrays of `integer`, `bigint` and `text`, read in place and built in one copy.
//!
//! A signature is read for every candidate and built for every document. Converting each element would cost more than
//! the sketch itself.

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use sketch::memory;

use crate::error::{Result, error, null_not_allowed};
use crate::pg::bytes::allocatable;
use crate::pg::reserve::check_interrupts;
use crate::pg::text;

/// A type whose values lie in an array as they do in a slice.
///
/// # Safety
/// PostgreSQL passes the type `TYPE` by value, with the layout of `Self`.
pub unsafe trait ArrayElement {
    const TYPE: Oid;
}

// SAFETY: an `integer` is a signed number of 32 bits.
unsafe impl ArrayElement for i32 {
    const TYPE: Oid = pg_sys::INT4OID;
}

// SAFETY: a `bigint` is a signed number of 64 bits.
unsafe impl ArrayElement for i64 {
    const TYPE: Oid = pg_sys::INT8OID;
}

// SAFETY: a `double precision` is an IEEE 754 number of 64 bits.
unsafe impl ArrayElement for f64 {
    const TYPE: Oid = pg_sys::FLOAT8OID;
}

/// Reads an array without NULLs as a slice.
///
/// # Safety
/// `datum` is a non-null array with elements of this type, valid for `'a`.
pub unsafe fn read<'a, T: ArrayElement>(datum: Datum) -> Result<&'a [T]> {
    // SAFETY: the caller promises an array, whose header is complete once it is detoasted. Its data starts behind the
    // dimensions at MAXALIGN, and holds `len` elements, since there is no null bitmap.
    unsafe {
        let array = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        let len = match (*array).ndim {
            0 => return Ok(&[]),
            1 => *array.add(1).cast::<i32>() as usize,
            dimensions => {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR,
                    format!("array must have one dimension, not {dimensions}"),
                ));
            }
        };
        if (*array).dataoffset != 0 && pg_sys::array_contains_nulls(array) {
            return Err(null_not_allowed("array must not contain nulls"));
        }
        let offset = match (*array).dataoffset {
            0 => data_offset(),
            offset => offset as usize,
        };
        Ok(std::slice::from_raw_parts(array.cast::<u8>().add(offset).cast(), len))
    }
}

/// Makes an array, in the current memory context.
pub fn write<T: ArrayElement>(values: &[T]) -> Datum {
    // SAFETY: `ArrayElement` promises that a slice has the layout of an array's data.
    unsafe { assemble(values.len(), values, T::TYPE) }
}

/// # Safety
/// `data` is laid out like the data of an array of `count` elements of type `element`.
unsafe fn assemble<T>(count: usize, data: &[T], element: Oid) -> Datum {
    if count == 0 {
        // SAFETY: PostgreSQL makes the array; it takes any OID.
        return Datum::from(unsafe { pg_sys::construct_empty_array(element) });
    }
    let bytes = std::mem::size_of_val(data);
    let size = data_offset() + bytes;
    // SAFETY: the chunk holds the header, one dimension, one lower bound and the elements, and its size was checked.
    // `palloc` raises an ERROR instead of returning null.
    unsafe {
        let array = pg_sys::palloc0(allocatable(size)).cast::<pg_sys::ArrayType>();
        pgrx::varlena::set_varsize_4b(array.cast(), size as i32);
        (*array).ndim = 1;
        (*array).elemtype = element;
        let dimension = array.add(1).cast::<i32>();
        *dimension = count as i32;
        *dimension.add(1) = 1;
        let place = array.cast::<u8>().add(data_offset());
        std::ptr::copy_nonoverlapping(data.as_ptr().cast::<u8>(), place, bytes);
        Datum::from(array)
    }
}

/// Offset of the elements of a one-dimensional array without NULLs (`ARR_OVERHEAD_NONULLS(1)`).
const fn data_offset() -> usize {
    (std::mem::size_of::<pg_sys::ArrayType>() + 2 * std::mem::size_of::<i32>()).next_multiple_of(8)
}

/// Iterates over the elements of an array of any type, in place. Checks for interrupts.
///
/// # Safety
/// `datum` is a non-null array. It and the current memory context outlive the iterator.
pub unsafe fn each_element(datum: Datum) -> impl ExactSizeIterator<Item = Option<Datum>> {
    // SAFETY: the caller promises an array, whose header is complete once it is detoasted, with its dimensions behind
    // it. PostgreSQL's iterator lies in the current memory context.
    let (count, iterator) = unsafe {
        let array = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        let count = pg_sys::ArrayGetNItems((*array).ndim, array.add(1).cast());
        (count, pg_sys::array_create_iterator(array, 0, std::ptr::null_mut()))
    };
    (0..count).map(move |i| {
        // An array may have a hundred million elements; most have few.
        if i % 4096 == 4095 {
            check_interrupts();
        }
        let (mut value, mut is_null) = (Datum::from(0), false);
        // SAFETY: the iterator lives as long as its memory context, and has `count` elements.
        unsafe { pg_sys::array_iterate(iterator, &mut value, &mut is_null) };
        (!is_null).then_some(value)
    })
}

/// Detoasts an array. Returns it with the type of its elements.
///
/// # Safety
/// `datum` is a non-null array.
pub unsafe fn detoast(datum: Datum) -> (Datum, Oid) {
    // SAFETY: the caller promises an array, whose header is complete once it is detoasted.
    unsafe {
        let array = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        (Datum::from(array), (*array).elemtype)
    }
}

/// A `text[]` that grows by one text at a time, in one vector. PostgreSQL copies an error into the current memory
/// context, which must not be full of many small texts.
#[derive(Default)]
pub struct TextArray {
    count: usize,
    /// Texts as an array stores them: the length, the bytes, and zeros up to a whole word.
    words: Vec<u32>,
}

impl TextArray {
    pub fn push(&mut self, text: &str) -> sketch::Result<()> {
        let bytes = text::encode(text);
        let (start, size) = (self.words.len(), size_of::<u32>() + bytes.len());
        let count = start + size.div_ceil(size_of::<u32>());
        allocatable(data_offset() + count * size_of::<u32>());
        memory::resize(&mut self.words, count, 0)?;
        let words = &mut self.words[start..];
        // SAFETY: the vector has room for the length and the bytes; no text has 1 GB.
        unsafe {
            pgrx::varlena::set_varsize_4b(words.as_mut_ptr().cast(), size as i32);
            let place = words[1..].as_mut_ptr().cast::<u8>();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        self.count += 1;
        Ok(())
    }

    /// Makes the array, in the current memory context.
    pub fn write(self) -> Datum {
        // SAFETY: `push` has laid out `count` texts as an array stores them.
        unsafe { assemble(self.count, &self.words, pg_sys::TEXTOID) }
    }
}

/// Makes an array of values of type `element` and NULLs, in the current memory context.
///
/// # Safety
/// Each datum is a non-null value of type `element`.
pub unsafe fn from_elements(elements: impl Iterator<Item = Option<Datum>>, element: Oid) -> Datum {
    // SAFETY: the caller promises values of this type, which are copied.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        let array = pg_sys::initArrayResult(element, context, true);
        for datum in elements {
            let (value, is_null) = (datum.unwrap_or(Datum::from(0)), datum.is_none());
            pg_sys::accumArrayResult(array, value, is_null, element, context);
        }
        pg_sys::makeArrayResult(array, context)
    }
}
