//! Scopes: values of a column within which alone documents are compared, numbered.

use std::collections::HashMap;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use sketch::{ElementHash, memory};

use crate::error::{Result, engine, error};
use crate::pg::memory::Memory;
use crate::pg::names::type_label;
use crate::pg::passing::Passing;

/// The values met so far. NULL is a value here, as it is to PARTITION BY.
pub struct Scopes {
    equality: Option<Equality>,
    /// The value added last for a hash.
    last: HashMap<u64, u32>,
    /// Values by number, and the value before each of the same hash.
    values: Vec<(Datum, Option<u32>)>,
    context: Memory,
}

/// What makes two values of a type equal: its default hash operator class.
struct Equality {
    equal: *mut pg_sys::FmgrInfo,
    hash: *mut pg_sys::FmgrInfo,
    collation: Oid,
    passing: Passing,
}

/// The number of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope(u32);

impl Scope {
    /// All documents, where no scope was asked for.
    pub const ALL: Self = Self(u32::MAX);
    /// That of the documents whose value is NULL.
    const NULL: Self = Self(u32::MAX - 1);

    /// A band hash as it is within this scope.
    pub fn salt(self) -> u64 {
        if self == Self::ALL { 0 } else { ElementHash::Xxh3.hash(&self.0.to_ne_bytes()) }
    }
}

impl Scopes {
    /// None yet, of the values of a column of that type and collation, if there is one.
    pub fn new(column: Option<(Oid, Oid)>) -> Result<Self> {
        let equality = column.map(|(type_oid, collation)| Equality::of(type_oid, collation));
        Ok(Self {
            equality: equality.transpose()?,
            last: HashMap::new(),
            values: Vec::new(),
            context: Memory::child(c"minlsh scopes"),
        })
    }

    /// The scope of a value.
    pub fn of(&mut self, value: Option<Datum>) -> Result<Scope> {
        let Some(equality) = &self.equality else { return Ok(Scope::ALL) };
        let Some(value) = value else { return Ok(Scope::NULL) };
        let hash = equality.hash(value);
        let last = self.last.get(&hash).copied();
        let mut candidate = last;
        while let Some(number) = candidate {
            let (known, before) = self.values[number as usize];
            if equality.equal(known, value) {
                return Ok(Scope(number));
            }
            candidate = before;
        }
        let number = self.values.len() as u32;
        let copy = self.context.run(|| equality.copy(value));
        memory::push(&mut self.values, (copy, last)).map_err(engine)?;
        memory::insert_at(&mut self.last, hash, number).map_err(engine)?;
        Ok(Scope(number))
    }
}

impl Equality {
    fn of(type_oid: Oid, collation: Oid) -> Result<Self> {
        let flags = pg_sys::TYPECACHE_EQ_OPR_FINFO | pg_sys::TYPECACHE_HASH_EXTENDED_PROC_FINFO;
        // SAFETY: the type cache keeps its entry, and the FmgrInfo in it, for the session.
        let entry = unsafe { &mut *pg_sys::lookup_type_cache(type_oid, flags as i32) };
        if entry.eq_opr_finfo.fn_oid == Oid::INVALID
            || entry.hash_extended_proc_finfo.fn_oid == Oid::INVALID
        {
            return Err(error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
                format!("scope: values of type {} cannot be hashed", type_label(type_oid)),
            )
            .set_hint("Cast the column to text in a query."));
        }
        Ok(Self {
            equal: &raw mut entry.eq_opr_finfo,
            hash: &raw mut entry.hash_extended_proc_finfo,
            collation,
            passing: Passing { by_value: entry.typbyval, length: entry.typlen },
        })
    }

    fn hash(&self, value: Datum) -> u64 {
        let seed = Datum::from(0_i64);
        // SAFETY: a value of the type whose hash function this is.
        let hash = unsafe { pg_sys::FunctionCall2Coll(self.hash, self.collation, value, seed) };
        hash.value() as u64
    }

    fn equal(&self, a: Datum, b: Datum) -> bool {
        // SAFETY: two values of the type whose equality operator this is.
        unsafe { pg_sys::FunctionCall2Coll(self.equal, self.collation, a, b) }.value() as u8 != 0
    }

    fn copy(&self, value: Datum) -> Datum {
        // SAFETY: a value of the type.
        unsafe { self.passing.copy(value) }
    }
}
