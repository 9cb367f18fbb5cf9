//! The keys of many documents, stored as datums of one type.

use std::cell::RefCell;
use std::cmp::Ordering;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::{memory, sort_by};

use crate::error::Result;
use crate::pg::memory::Memory;
use crate::pg::reserve::check_interrupts;
use crate::pg::type_storage::TypeStorage;
use crate::pg::value_type::{Order, Output};

/// Keys by document number.
pub struct DocumentKeys {
    all: Vec<Datum>,
    /// The memory for keys that are passed by reference.
    memory: Memory,
    storage: TypeStorage,
    order: Order,
    texts: RefCell<KeyTexts>,
}

/// Keys converted to text on demand.
struct KeyTexts {
    /// The last few texts, which a caller may still hold.
    kept: [Option<Datum>; ROW],
    /// The entry of `kept` that is replaced next.
    next: usize,
    memory: Memory,
    output: Output,
}

/// Number of further calls during which a text stays valid: more than one result row needs.
const ROW: usize = 8;

impl DocumentKeys {
    /// An empty list of keys with this type and collation.
    pub fn new(type_oid: Oid, collation: Oid) -> Result<Self> {
        let order = Order::of(type_oid, collation)?;
        Ok(Self {
            all: Vec::new(),
            memory: Memory::scratch(c"minlsh keys"),
            storage: TypeStorage::of(type_oid),
            order,
            texts: RefCell::new(KeyTexts {
                kept: [None; ROW],
                next: 0,
                memory: Memory::scratch(c"minlsh keys as text"),
                output: Output::of(type_oid),
            }),
        })
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn bytes(&self) -> usize {
        self.memory.bytes() + self.all.capacity() * size_of::<Datum>()
    }

    /// Appends a copy of the next document's key.
    ///
    /// # Safety
    /// `key` is a non-null value of the keys' type.
    pub unsafe fn push(&mut self, key: Datum) -> Result<()> {
        let storage = self.storage;
        // SAFETY: the caller promises a value of the keys' type, for which `new` made `storage`.
        let copy = self.memory.run(|| unsafe { storage.copy(key) });
        memory::push(&mut self.all, copy).map_err(Into::into)
    }

    pub fn datum(&self, document: u32) -> Datum {
        self.all[document as usize]
    }

    /// Compares the keys of two documents.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        // SAFETY: `push` was given values of the keys' type, for which `new` made `order`.
        unsafe { self.order.compare(self.datum(a), self.datum(b)) }
    }

    /// Finds `key` in `sorted`, documents in the order of their keys.
    ///
    /// # Safety
    /// `key` is a non-null value of the keys' type.
    pub unsafe fn find(&self, sorted: &[u32], key: Datum) -> Option<u32> {
        // SAFETY: the caller and the callers of `push` promise values of the keys' type, for which `new` made `order`.
        let order = |document: &u32| unsafe { self.order.compare(self.datum(*document), key) };
        sorted.binary_search_by(order).ok().map(|place| sorted[place])
    }

    /// The key of a document as a `text` datum, valid during the next [`ROW`] calls.
    pub fn text(&self, document: u32) -> Datum {
        let mut texts = self.texts.borrow_mut();
        let KeyTexts { kept, next, memory, output } = &mut *texts;
        let (key, place) = (self.datum(document), &mut kept[*next]);
        *next = (*next + 1) % ROW;
        // SAFETY: `push` was given a value of the keys' type. The text that is freed was made here, and is no longer
        // valid.
        let text = memory.run(|| unsafe {
            if let Some(gone) = place.take() {
                pg_sys::pfree(gone.cast_mut_ptr());
            }
            output.text(key)
        });
        *place = Some(text);
        text
    }

    /// All documents in the order of their keys.
    pub fn sorted(&self) -> Result<Vec<u32>> {
        let mut documents = memory::collect(0..self.len() as u32)?;
        sort_by(&mut documents, |a, b| self.compare(*a, *b), &mut check_interrupts);
        Ok(documents)
    }
}
