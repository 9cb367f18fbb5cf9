//! The default btree order of a type whose values are known only as datums.

use std::cmp::Ordering;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::error::{Result, error};
use crate::pg::names::type_label;

/// Compares values of one type under one collation.
pub struct Order {
    compare: *mut pg_sys::FmgrInfo,
    collation: Oid,
    quick: Option<Quick>,
}

/// Numbers that are compared without a call.
#[derive(Clone, Copy)]
enum Quick {
    Int4,
    Int8,
}

impl Order {
    /// The order of `type_oid`, which must have a default btree operator class.
    pub fn of(type_oid: Oid, collation: Oid) -> Result<Self> {
        // SAFETY: the type cache keeps its entry, and the FmgrInfo in it, for the session.
        let compare = unsafe {
            let flags = pg_sys::TYPECACHE_CMP_PROC_FINFO as i32;
            &raw mut (*pg_sys::lookup_type_cache(type_oid, flags)).cmp_proc_finfo
        };
        // SAFETY: the entry is kept for the session.
        if unsafe { (*compare).fn_oid } == Oid::INVALID {
            return Err(error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
                format!(
                    "could not identify a comparison function for type {}",
                    type_label(type_oid)
                ),
            )
            .set_hint("Use a type with a default btree operator class."));
        }
        // SAFETY: the entry is kept for the session.
        let quick = match unsafe { (*compare).fn_oid.to_u32() } {
            pg_sys::F_BTINT4CMP => Some(Quick::Int4),
            pg_sys::F_BTINT8CMP => Some(Quick::Int8),
            _ => None,
        };
        Ok(Self { compare, collation, quick })
    }

    /// Compares two values.
    ///
    /// # Safety
    /// Both must be non-null values of the type whose order this is.
    pub unsafe fn compare(&self, a: Datum, b: Datum) -> Ordering {
        match self.quick {
            Some(Quick::Int4) => (a.value() as i32).cmp(&(b.value() as i32)),
            Some(Quick::Int8) => (a.value() as i64).cmp(&(b.value() as i64)),
            None => {
                // SAFETY: the caller promises values of the type for which `of` has found this comparison.
                let result =
                    unsafe { pg_sys::FunctionCall2Coll(self.compare, self.collation, a, b) };
                (result.value() as i32).cmp(&0)
            }
        }
    }
}
