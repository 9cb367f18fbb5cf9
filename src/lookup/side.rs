//! The candidates of a side table, which is read as a relation: the caller's rights to the documents are checked first.
//!
//! The index of the signatures gives the rows that share a band with the document, and similarities are estimated from
//! the signatures. Then the search of any index compares the candidates by their keys. With `verify => 'signature'` the
//! estimate counts, which needs no text.

use std::cmp::Ordering;

use sketch::{estimate_gate, estimate_jaccard, sort_by};

use crate::indexed::Indexed;
use crate::options::{Threshold, Verify};
use crate::pg::names::{regclass_literal, relation_name};
use crate::pg::rights;
use crate::pg::value_type::Order;
use crate::prelude::*;
use crate::row_key::{Key, KeyValue};
use crate::side_table::SideTable;

/// A side table that the caller may read.
pub struct Side<'a> {
    index: &'a Indexed,
    table: &'a SideTable,
    key: Key,
    /// True if no candidate need be looked up in the table.
    sees_all: bool,
}

/// A document to look for.
pub struct Probe {
    /// `None`: it is not a stored document.
    pub key: Option<KeyValue>,
    pub signature: Vec<i32>,
}

/// A key, and the similarity that the signatures estimate.
pub type Candidate = (KeyValue, f64);

impl<'a> Side<'a> {
    /// The side table of an index, if it has one; checks the caller's rights.
    pub fn of(index: &'a Indexed) -> Result<Option<Self>> {
        let Some(table) = &index.side else { return Ok(None) };
        let sees_all =
            rights::check_sees_all(&table.table, &[table.key.number, table.body.number])?;
        Ok(Some(Self { index, table, key: index.key()?, sees_all }))
    }

    /// Reads what is stored of the document with that key; nothing if it has no shingles.
    pub fn stored(&self, key: KeyValue) -> Result<Option<Probe>> {
        let datum = self.key.datum(key);
        // SAFETY: of the type of the key, as `datum` checks, which is the column that the side table has the keys of.
        let signature = unsafe { self.table.signature(datum)? };
        Ok(signature.map(|signature| Probe { key: Some(key), signature }))
    }

    /// The documents that the signatures do not rule out, without the one that is asked about. Their keys are in
    /// `keys`.
    pub fn candidates(
        &self,
        probe: &Probe,
        threshold: Threshold,
        verify: Verify,
        keys: &Memory,
    ) -> Result<Vec<Candidate>> {
        // Before an exact check a margin passes: the estimate of a pair at the threshold is as often below it as above.
        let least = match verify {
            Verify::Signature => threshold.get(),
            Verify::Exact => estimate_gate(threshold.get(), self.index.options.config.num_perm()),
        };
        let (storage, key_type) = (self.table.key.storage, self.key.base_type);
        let mut found = Vec::new();
        self.table.candidates(&probe.signature, threshold, &mut |key, signature| {
            let estimate = estimate_jaccard(&probe.signature, signature);
            let estimate = estimate.map_err(|cause| self.altered(&cause.to_string()))?;
            if estimate >= least {
                // SAFETY: `Storage::open` has found that the side table has keys of that type, which is stored so.
                let key = unsafe { KeyValue::new(keys.run(|| storage.copy(key)), key_type) };
                memory::push(&mut found, (key, estimate))?;
            }
            Ok(())
        })?;
        // A document is not its own near-duplicate.
        if let Some(own) = probe.key {
            let order = self.order()?;
            found.retain(|(key, _)| order(*key, own).is_ne());
        }
        Ok(found)
    }

    /// Calls `visit` with the candidates that the caller sees, the most similar first, by their estimates.
    pub fn each_estimated(
        &self,
        session: &Session,
        probe: &Probe,
        threshold: Threshold,
        limit: Option<i64>,
        visit: &mut dyn FnMut(KeyValue, f64) -> Result<()>,
    ) -> Result<()> {
        if let Some(key) = probe.key
            && !self.is_seen(session, key)?
        {
            return Ok(());
        }
        let keys = Memory::scratch(c"minlsh candidates");
        let mut found = self.candidates(probe, threshold, Verify::Signature, &keys)?;
        let order = self.order()?;
        let nearer = |(a, similar_a): &(KeyValue, f64), (b, similar_b): &(KeyValue, f64)| {
            similar_b.total_cmp(similar_a).then_with(|| order(*a, *b))
        };
        sort_by(&mut found, nearer, &mut check_interrupts);
        let mut left = limit.unwrap_or(i64::MAX);
        let mut scratch = Memory::scratch(c"minlsh candidate");
        for (key, similarity) in found {
            check_interrupts();
            if left == 0 {
                break;
            }
            if scratch.run_and_reset(|| self.is_seen(session, key))? {
                left -= 1;
                visit(key, similarity)?;
            }
        }
        Ok(())
    }

    /// True if the caller sees the document with that key.
    fn is_seen(&self, session: &Session, key: KeyValue) -> Result<bool> {
        Ok(self.sees_all || self.index.stored_key(session, key)?.is_some())
    }

    fn order(&self) -> Result<impl Fn(KeyValue, KeyValue) -> Ordering> {
        let (key, order) = (self.key, Order::of(self.key.base_type, self.key.collation())?);
        // SAFETY: both are of the type whose order this is, as `datum` checks.
        Ok(move |a, b| unsafe { order.compare(key.datum(a), key.datum(b)) })
    }

    /// The error of a side table that has what it never writes.
    fn altered(&self, detail: &str) -> SqlError {
        let storage = self.table.storage;
        let message = format!("side table \"{}\" has been altered", relation_name(storage));
        wrong_state(message).set_detail(detail).set_hint(format!(
            "Build it again with SELECT minlsh_reindex({});",
            regclass_literal(storage)
        ))
    }
}
