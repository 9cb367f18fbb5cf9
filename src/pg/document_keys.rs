//! The keys of many documents, kept as datums of one type.

use std::cell::RefCell;
use std::cmp::Ordering;

use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::{Datum, Oid};
use sketch::memory;

use crate::error::{Result, engine};
use crate::pg::order::Order;
use crate::pg::output::Output;
use crate::pg::passing::Passing;

/// Keys by document number.
pub struct DocumentKeys {
    datums: Vec<Datum>,
    /// Where keys that are passed by reference live.
    memory: PgMemoryContexts,
    passing: Passing,
    order: Order,
    texts: RefCell<KeyTexts>,
}

/// The keys as text, made when they are asked for.
struct KeyTexts {
    /// By document number; zero for one that has not been asked for.
    datums: Vec<Datum>,
    memory: PgMemoryContexts,
    output: Output,
}

impl DocumentKeys {
    /// No keys yet, of that type and collation.
    pub fn new(type_oid: Oid, collation: Oid) -> Result<Self> {
        let order = Order::of(type_oid, collation)?;
        Ok(Self {
            datums: Vec::new(),
            memory: PgMemoryContexts::new("minlsh keys"),
            passing: Passing::of(type_oid),
            order,
            texts: RefCell::new(KeyTexts {
                datums: Vec::new(),
                memory: PgMemoryContexts::new("minlsh keys as text"),
                output: Output::of(type_oid),
            }),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.datums.len()
    }

    /// Adds a copy of the next document's key.
    ///
    /// # Safety
    /// `key` must be a non-null value of the type of the keys.
    pub unsafe fn push(&mut self, key: Datum) -> Result<()> {
        let passing = self.passing;
        // SAFETY: the caller's promise.
        let copy = unsafe { self.memory.switch_to(|_| passing.copy(key)) };
        memory::push(&mut self.datums, copy).map_err(engine)
    }

    /// The key of a document.
    pub fn datum(&self, document: u32) -> Datum {
        self.datums[document as usize]
    }

    /// Orders two documents by their keys.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        // SAFETY: keys of the type of which this is the order.
        unsafe { self.order.compare(self.datum(a), self.datum(b)) }
    }

    /// The key of a document as a `text` datum, kept for the next time.
    pub fn text(&self, document: u32) -> Datum {
        let mut texts = self.texts.borrow_mut();
        let KeyTexts { datums, memory, output } = &mut *texts;
        if datums.is_empty() {
            *datums = vec![Datum::from(0); self.len()];
        }
        let place = &mut datums[document as usize];
        if place.value() == 0 {
            let key = self.datum(document);
            // SAFETY: a key of that type; the text lives as long as the keys.
            *place = unsafe { memory.switch_to(|_| output.text(key)) };
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
