//! Scopes: values of a column within which alone documents are compared, numbered.

use std::collections::HashMap;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use sketch::{ElementHash, memory};

use crate::error::{Result, engine, error};
use crate::pg::memory::Memory;
use crate::pg::names::type_label;
use crate::pg::passing::Passing;

/// The values met so far, of one or several columns.
pub struct Scopes {
    columns: Vec<Column>,
    /// Scopes of several columns, by the numbers of their values.
    rows: HashMap<Vec<u32>, u32>,
    context: Memory,
}

/// The values met so far in one column.
struct Column {
    equality: Equality,
    /// The value added last for a hash.
    last: HashMap<u64, u32>,
    /// Values by number, and the value before each of the same hash.
    values: Vec<(Datum, Option<u32>)>,
}

/// The equality of a type: its default hash operator class.
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

    /// A band hash as it is within this scope.
    pub fn salt(self) -> u64 {
        if self == Self::ALL { 0 } else { ElementHash::Xxh3.hash(&self.0.to_ne_bytes()) }
    }
}

impl Scopes {
    /// None yet, of the values of columns of those types and collations.
    pub fn new(columns: &[(Oid, Oid)]) -> Result<Self> {
        let column = |&(type_oid, collation): &(Oid, Oid)| -> Result<Column> {
            let equality = Equality::of(type_oid, collation)?;
            Ok(Column { equality, last: HashMap::new(), values: Vec::new() })
        };
        Ok(Self {
            columns: columns.iter().map(column).collect::<Result<_>>()?,
            rows: HashMap::new(),
            context: Memory::scratch(c"minlsh scopes"),
        })
    }

    /// The scope of a row, by its value of each column; `None` if one is NULL, which equals nothing.
    pub fn of(&mut self, value: impl Fn(usize) -> Option<Datum>) -> Result<Option<Scope>> {
        let mut numbers = Vec::new();
        for (place, column) in self.columns.iter_mut().enumerate() {
            let Some(value) = value(place) else { return Ok(None) };
            memory::push(&mut numbers, column.number(value, &self.context)?).map_err(engine)?;
        }
        Ok(Some(match numbers[..] {
            [] => Scope::ALL,
            [number] => Scope(number),
            _ => {
                let next = self.rows.len() as u32;
                if let Some(known) = self.rows.get(&numbers) {
                    return Ok(Some(Scope(*known)));
                }
                memory::insert_at(&mut self.rows, numbers, next).map_err(engine)?;
                Scope(next)
            }
        }))
    }
}

impl Column {
    /// The number of a value.
    fn number(&mut self, value: Datum, context: &Memory) -> Result<u32> {
        let hash = self.equality.hash(value);
        let last = self.last.get(&hash).copied();
        let mut candidate = last;
        while let Some(number) = candidate {
            let (known, before) = self.values[number as usize];
            if self.equality.equal(known, value) {
                return Ok(number);
            }
            candidate = before;
        }
        let number = self.values.len() as u32;
        let copy = context.run(|| self.equality.copy(value));
        memory::push(&mut self.values, (copy, last)).map_err(engine)?;
        memory::insert_at(&mut self.last, hash, number).map_err(engine)?;
        Ok(number)
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
