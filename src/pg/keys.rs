//! The keys of many documents, kept as datums of one type.

use std::cmp::Ordering;

use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum};

use crate::error::Result;
use crate::pg::order::Order;
use crate::pg::relation::Column;
use crate::pg::text;

/// Keys by document number.
pub struct Keys {
    datums: Vec<Datum>,
    /// Where keys that are passed by reference live.
    memory: PgMemoryContexts,
    by_value: bool,
    length: i16,
    order: Order,
    output: pg_sys::FmgrInfo,
}

impl Keys {
    /// No keys yet, of the type of `column`.
    pub fn new(column: &Column) -> Result<Self> {
        let order = Order::of(column.type_oid, column.collation)?;
        let mut output = pg_sys::FmgrInfo::default();
        // SAFETY: the output function of an existing type.
        unsafe {
            let (mut function, mut is_varlena) = (pg_sys::Oid::INVALID, false);
            pg_sys::getTypeOutputInfo(column.type_oid, &mut function, &mut is_varlena);
            pg_sys::fmgr_info(function, &mut output);
        }
        Ok(Self {
            datums: Vec::new(),
            memory: PgMemoryContexts::new("minlsh keys"),
            by_value: column.by_value,
            length: column.length,
            order,
            output,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.datums.len()
    }

    /// Adds a copy of the next document's key.
    pub fn push(&mut self, key: Datum) {
        let copy = if self.by_value {
            key
        } else {
            let length = self.length;
            // SAFETY: a value of the type with that length: a varlena, or `length` bytes. (A
            // column cannot have a cstring type.)
            unsafe {
                self.memory.switch_to(|_| {
                    if length < 0 {
                        return Datum::from(pg_sys::pg_detoast_datum_copy(key.cast_mut_ptr()));
                    }
                    let copy = pg_sys::palloc(length as usize).cast::<u8>();
                    std::ptr::copy_nonoverlapping(key.cast_mut_ptr(), copy, length as usize);
                    Datum::from(copy)
                })
            }
        };
        self.datums.push(copy);
    }

    /// The key of a document.
    pub fn datum(&self, document: u32) -> Datum {
        self.datums[document as usize]
    }

    /// Orders two documents by their keys.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        self.order.compare(self.datum(a), self.datum(b))
    }

    /// A value of the key's type as a `text` datum.
    pub fn as_text(&mut self, key: Datum) -> Datum {
        // SAFETY: a value of the type whose output function this is; the result is a palloc'd
        // string in the database's encoding.
        unsafe {
            let string = pg_sys::OutputFunctionCall(&mut self.output, key);
            let result = Datum::from(pg_sys::cstring_to_text(string));
            pg_sys::pfree(string.cast());
            result
        }
    }

    /// Frees what `as_text` made.
    pub fn free(&self, text: Datum) {
        // SAFETY: a palloc'd text that nobody else holds.
        unsafe { pg_sys::pfree(text.cast_mut_ptr()) };
    }

    /// A value of the key's type as a string.
    pub fn as_string(&mut self, key: Datum) -> String {
        // SAFETY: as above.
        unsafe {
            let string = pg_sys::OutputFunctionCall(&mut self.output, key);
            let result = text::from_cstring(string);
            pg_sys::pfree(string.cast());
            result
        }
    }
}
