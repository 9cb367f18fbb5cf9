//! Values of one type, kept as datums.

use pgrx::pg_sys::{Datum, Oid};
use sketch::memory;

use crate::error::Result;
use crate::pg::memory::Memory;
use crate::pg::type_storage::TypeStorage;

/// Copies of values, by number.
pub struct Datums {
    all: Vec<Datum>,
    /// The memory of values that are passed by reference.
    memory: Memory,
    storage: TypeStorage,
}

impl Datums {
    /// No values yet, of that type.
    pub fn new(type_oid: Oid) -> Self {
        let (memory, storage) = (Memory::scratch(c"minlsh values"), TypeStorage::of(type_oid));
        Self { all: Vec::new(), memory, storage }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of bytes that they take.
    pub fn bytes(&self) -> usize {
        self.memory.bytes() + self.all.capacity() * size_of::<Datum>()
    }

    /// Adds a copy of the next value.
    ///
    /// # Safety
    /// `value` must be a non-null value of the type of the others.
    pub unsafe fn push(&mut self, value: Datum) -> Result<()> {
        let storage = self.storage;
        // SAFETY: the caller promises a value of the type that `storage` was read of in `new`.
        let copy = self.memory.run(|| unsafe { storage.copy(value) });
        memory::push(&mut self.all, copy).map_err(Into::into)
    }

    /// The value of that number.
    pub fn get(&self, number: u32) -> Datum {
        self.all[number as usize]
    }
}
