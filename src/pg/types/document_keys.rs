//! The keys of many documents, stored as datums of one type.

use std::cmp::Ordering;

use pgrx::pg_sys::{Datum, Oid};
use sketch::{memory, sort_by};

use crate::error::Result;
use crate::pg::memory::Memory;
use crate::pg::reserve::check_interrupts;
use crate::pg::type_storage::TypeStorage;
use crate::pg::typed_value::TypedValue;
use crate::pg::value_type::Order;

/// Keys by document number.
pub struct DocumentKeys {
    type_oid: Oid,
    all: Vec<Datum>,
    /// The memory for keys that are passed by reference.
    memory: Memory,
    storage: TypeStorage,
    order: Order,
}

impl DocumentKeys {
    /// An empty list of keys with this type and collation.
    pub fn new(type_oid: Oid, collation: Oid) -> Result<Self> {
        let order = Order::of(type_oid, collation)?;
        Ok(Self {
            type_oid,
            all: Vec::new(),
            memory: Memory::scratch(c"minlsh keys"),
            storage: TypeStorage::of(type_oid),
            order,
        })
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn bytes(&self) -> usize {
        self.memory.bytes() + self.all.capacity() * size_of::<Datum>()
    }

    /// Appends a copy of the next document's key, which must be [of](TypedValue::is_of) the keys' type.
    pub fn push(&mut self, key: TypedValue) -> Result<()> {
        let (storage, key) = (self.storage, key.of_type(self.type_oid));
        // SAFETY: `of_type` has checked that it has the type for which `new` made `storage`.
        let copy = self.memory.run(|| unsafe { storage.copy(key) });
        memory::push(&mut self.all, copy).map_err(Into::into)
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.all.clear();
        self.memory.run_and_reset(|| ());
    }

    /// The key of a document.
    pub fn key(&self, document: u32) -> TypedValue<'_> {
        // SAFETY: `push` copied a value of this type into `memory`, which only `clear` resets.
        unsafe { TypedValue::new(self.all[document as usize], self.type_oid) }
    }

    /// Compares the keys of two documents.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        self.order.compare(self.key(a), self.key(b))
    }

    /// Finds `key`, which must be [of](TypedValue::is_of) the keys' type, in `sorted`, documents in the order of their
    /// keys.
    pub fn find(&self, sorted: &[u32], key: TypedValue) -> Option<u32> {
        let order = |document: &u32| self.order.compare(self.key(*document), key);
        sorted.binary_search_by(order).ok().map(|place| sorted[place])
    }

    /// All documents in the order of their keys.
    pub fn sorted(&self) -> Result<Vec<u32>> {
        let mut documents = memory::collect(0..self.len() as u32)?;
        sort_by(&mut documents, |a, b| self.compare(*a, *b), &mut check_interrupts);
        Ok(documents)
    }
}
