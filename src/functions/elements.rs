//! The hash of an element of a set: of its bytes or its text form, so that it is the same on every
//! machine, and that values which look the same are the same.

use std::io::Write;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use sketch::ElementHash;

use crate::error::{Result, error, out_of_memory};
use crate::pg::names::type_label;
use crate::pg::{array, bytes, lossless};

/// Hashes elements of one type.
#[derive(Clone, Copy)]
pub(super) struct Hasher {
    form: Form,
    hash: ElementHash,
}

/// What of an element is hashed.
#[derive(Clone, Copy)]
enum Form {
    /// The text, as UTF-8.
    Text,
    /// The bytes.
    Bytes,
    /// Decimal digits and a sign; of a number that takes so many bits.
    Decimal(u32),
    /// The 36 characters of a uuid.
    Uuid,
}

/// The hashes of the elements of an array but its nulls, in its order and with its repeats.
///
/// # Safety
/// `set` must be a non-null array.
pub(crate) unsafe fn hashes(set: Datum) -> Result<Vec<u64>> {
    // SAFETY: the caller promises an array.
    let (set, element_type) = unsafe { array::detoast(set) };
    let hasher = Hasher::of(element_type, ElementHash::default())?;
    // SAFETY: an array of elements of that type, as it says itself.
    let elements = unsafe { array::each_element(set, element_type) };
    let mut hashes = Vec::new();
    hashes.try_reserve_exact(elements.len()).map_err(|_| out_of_memory())?;
    for (i, element) in elements.enumerate() {
        if i.is_multiple_of(4096) {
            super::checkpoint();
        }
        if let Some(element) = element {
            // SAFETY: an element of that type.
            hashes.push(unsafe { hasher.hash(element) }?);
        }
    }
    Ok(hashes)
}

impl Hasher {
    /// That for elements of a type, or of the type below a domain.
    pub(super) fn of(element_type: Oid, hash: ElementHash) -> Result<Self> {
        // SAFETY: a lookup in the system caches.
        let form = match unsafe { pg_sys::getBaseType(element_type) } {
            pg_sys::TEXTOID | pg_sys::VARCHAROID => Form::Text,
            pg_sys::BYTEAOID => Form::Bytes,
            pg_sys::INT2OID => Form::Decimal(i16::BITS),
            pg_sys::INT4OID => Form::Decimal(i32::BITS),
            pg_sys::INT8OID => Form::Decimal(i64::BITS),
            pg_sys::UUIDOID => Form::Uuid,
            _ => {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                    format!("elements of type {} cannot be hashed", type_label(element_type)),
                )
                .set_hint("Cast them to text."));
            }
        };
        Ok(Self { form, hash })
    }

    /// The hash of an element.
    ///
    /// # Safety
    /// `element` must be a non-null value of the type.
    pub(super) unsafe fn hash(self, element: Datum) -> Result<u64> {
        Ok(match self.form {
            // SAFETY: the caller promises a text.
            Form::Text => self.hash.hash(unsafe { lossless::read(element) }?.as_bytes()),
            // SAFETY: the caller promises a bytea.
            Form::Bytes => self.hash.hash(unsafe { bytes::read(element) }),
            Form::Decimal(bits) => {
                let unused = i64::BITS - bits;
                self.hash_decimal((element.value() as i64) << unused >> unused)
            }
            Form::Uuid => {
                // SAFETY: the caller promises a uuid, which is 16 bytes.
                let uuid = unsafe { &*element.cast_mut_ptr::<[u8; 16]>() };
                self.hash.hash(&hyphenated(uuid))
            }
        })
    }

    fn hash_decimal(self, number: i64) -> u64 {
        // 19 digits and a sign.
        let mut decimal = [0; 20];
        let mut rest = &mut decimal[..];
        let written = write!(rest, "{number}");
        debug_assert!(written.is_ok(), "every bigint fits");
        let unused = rest.len();
        self.hash.hash(&decimal[..decimal.len() - unused])
    }
}

/// A uuid as PostgreSQL writes it: 8-4-4-4-12 digits.
fn hyphenated(uuid: &[u8; 16]) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut written = [b'-'; 36];
    let mut place = 0;
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            place += 1;
        }
        written[place] = DIGITS[usize::from(byte >> 4)];
        written[place + 1] = DIGITS[usize::from(byte & 15)];
        place += 2;
    }
    written
}
