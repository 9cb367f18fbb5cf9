//! The audit of an index: what is found is what `near_duplicates()` gives.

use std::collections::HashMap;

use pgrx::pg_sys::Datum;
use sketch::memory;

use super::audit::{ENTRY, NearFinder, Similar};
use crate::error::Result;
use crate::lookup::near_duplicates::Asked;
use crate::pg::spi::Session;
use crate::row_key::KeyValue;

/// An index that is asked, and what it has found by its name as a text.
pub struct ByIndex<'a> {
    asked: Asked<'a>,
    found: HashMap<String, Vec<Similar>>,
    count: u32,
}

impl<'a> ByIndex<'a> {
    /// Nothing is found yet.
    pub fn new(asked: Asked<'a>) -> Self {
        Self { asked, found: HashMap::new(), count: 0 }
    }
}

impl NearFinder for ByIndex<'_> {
    fn begin(&mut self) {
        self.found.clear();
        self.count = 0;
    }

    fn take(&mut self, key: KeyValue, _value: Datum) -> Result<usize> {
        let (mut bytes, number) = (0, self.count);
        let mut visit = |name: &str, similarity: f64| {
            bytes += ENTRY + name.len();
            if !self.found.contains_key(name) {
                let name = memory::owned(name)?;
                memory::insert_at(&mut self.found, name, Vec::new())?;
            }
            if let Some(found) = self.found.get_mut(name) {
                memory::push(found, (number, similarity))?;
            }
            Ok(())
        };
        // The rows are read by a query that goes on behind this one, in another session.
        self.asked.each(&Session::open(), key, &mut visit)?;
        self.count += 1;
        Ok(bytes)
    }

    fn find(
        &mut self,
        name: &str,
        _value: Datum,
        _near: &[Similar],
        found: &mut Vec<Similar>,
    ) -> Result<()> {
        Ok(memory::extend(found, self.found.get(name).map_or(&[], Vec::as_slice))?)
    }
}
