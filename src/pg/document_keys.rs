//! The keys of many documents, kept as datums of one type.

use std::cell::RefCell;
use std::cmp::Ordering;

use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};
use sketch::memory;

use crate::error::{Result, engine};
use crate::pg::order::Order;

/// Keys by document number.
pub struct Keys {
    datums: Vec<Datum>,
    /// Where keys that are passed by reference live.
    memory: PgMemoryContexts,
    by_value: bool,
    length: i16,
    order: Order,
    texts: RefCell<Texts>,
}

/// The keys as text, made when they are asked for.
struct Texts {
    /// By document number; zero for one that has not been asked for.
    datums: Vec<Datum>,
    memory: PgMemoryContexts,
    output: pg_sys::FmgrInfo,
}

impl Keys {
    /// No keys yet, of that type and collation.
    pub fn new(type_oid: Oid, collation: Oid) -> Result<Self> {
        let order = Order::of(type_oid, collation)?;
        let mut output = pg_sys::FmgrInfo::default();
        let (mut length, mut by_value) = (0, false);
        // SAFETY: the output function, length and passing of an existing type.
        unsafe {
            let (mut function, mut is_varlena) = (Oid::INVALID, false);
            pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut is_varlena);
            pg_sys::fmgr_info(function, &mut output);
            pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value);
        }
        Ok(Self {
            datums: Vec::new(),
            memory: PgMemoryContexts::new("minlsh keys"),
            by_value,
            length,
            order,
            texts: RefCell::new(Texts {
                datums: Vec::new(),
                memory: PgMemoryContexts::new("minlsh keys as text"),
                output,
            }),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.datums.len()
    }

    /// Adds a copy of the next document's key.
    pub fn push(&mut self, key: Datum) -> Result<()> {
        let (by_value, length) = (self.by_value, self.length);
        // SAFETY: a value of the type with that length and passing.
        let copy = unsafe { self.memory.switch_to(|_| copied(key, by_value, length)) };
        memory::push(&mut self.datums, copy).map_err(engine)
    }

    /// The key of a document.
    pub fn datum(&self, document: u32) -> Datum {
        self.datums[document as usize]
    }

    /// Orders two documents by their keys.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        self.order.compare(self.datum(a), self.datum(b))
    }

    /// The key of a document as a `text` datum, kept for the next time.
    pub fn text(&self, document: u32) -> Datum {
        let mut texts = self.texts.borrow_mut();
        let Texts { datums, memory, output } = &mut *texts;
        if datums.is_empty() {
            *datums = vec![Datum::from(0); self.len()];
        }
        let place = &mut datums[document as usize];
        if place.value() == 0 {
            let key = self.datum(document);
            // SAFETY: the output function of the key's type gives a palloc'd string in the
            // database's encoding; the text lives as long as the keys.
            *place = unsafe {
                memory.switch_to(|_| {
                    let string = pg_sys::OutputFunctionCall(output, key);
                    let text = Datum::from(pg_sys::cstring_to_text(string));
                    pg_sys::pfree(string.cast());
                    text
                })
            };
        }
        *place
    }

    /// All documents in the order of their keys.
    pub fn sorted(&self) -> Vec<u32> {
        let mut documents: Vec<u32> = (0..self.len() as u32).collect();
        documents.sort_unstable_by(|a, b| self.compare(*a, *b));
        documents
    }
}

/// A copy of a value, in the current memory context.
///
/// # Safety
/// A non-null value of a type of that length and passing, which is not that of a C string (no
/// column can have it).
pub unsafe fn copied(value: Datum, by_value: bool, length: i16) -> Datum {
    if by_value {
        return value;
    }
    // SAFETY: a varlena, or `length` bytes.
    unsafe {
        let Ok(length) = usize::try_from(length) else {
            return Datum::from(pg_sys::pg_detoast_datum_copy(value.cast_mut_ptr()));
        };
        let copy = pg_sys::palloc(length).cast::<u8>();
        std::ptr::copy_nonoverlapping(value.cast_mut_ptr(), copy, length);
        Datum::from(copy)
    }
}
