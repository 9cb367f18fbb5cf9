//! Searches by a side table, whose signatures rule out most documents before any is read.
//!
//! A side table is read as a relation, after a check of the caller's rights to the documents. The index on its
//! signatures returns the rows that share a band with the document, and signatures give estimates of the similarity.
//! Then a query compares these candidates by their keys. With `verify => 'signature'` the estimate is the result, and
//! no text is read.

use sketch::dedup::Verify;
use sketch::{estimate_gate, estimate_jaccard, sort_by};

use crate::document::image::{Content, Document};
use crate::document::value::Value;
use crate::options::Threshold;
use crate::pg::rights;
use crate::pg::value_type::Order;
use crate::prelude::*;
use crate::row_key::Key;
use crate::side_table::SideTable;
use crate::side_table::sign::sign_text;
use crate::side_table::storage::stored;

/// A document to search for.
pub enum SoughtDocument<'a> {
    /// The document of the row with this key.
    Row(TypedValue<'a>),
    /// A call's argument: a value of the indexed type or a document, and the values of the scope columns.
    Given { value: TypedValue<'a>, document: Option<Document<'a>>, scope: Vec<Parameter<'a>> },
}

/// Receives the key of a document and its similarity.
pub type VisitNear<'a> = dyn FnMut(TypedValue, f64) -> Result<()> + 'a;

/// Returns an array of the keys that a search is restricted to, or `None` if it has nothing to find.
pub type Narrow<'a> = dyn Fn() -> Result<Option<Parameter<'static>>> + 'a;

/// The queries of the documents in a search, which run as the caller.
pub trait DocumentQueries {
    /// Calls `visit` with the near-duplicates of a document, the most similar first. With `narrow` it searches only
    /// among these keys, and calls `narrow` after it has found that the caller sees the document.
    fn each(&self, sought: &SoughtDocument, narrow: Option<&Narrow>, visit: &mut VisitNear) -> Result<()>;

    /// True if the caller sees the document with key `key`.
    fn sees(&self, key: TypedValue) -> Result<bool>;
}

/// A side table that the caller may read, for searches with these options.
pub struct SideSearch<'a> {
    table: &'a SideTable,
    key: Key,
    /// True if candidates need not be looked up in the table.
    sees_all: bool,
    threshold: Threshold,
    verify: Verify,
    limit: Option<i64>,
}

/// The signature of a document to search for.
struct Probe<'a> {
    /// `None` for a document that is not stored.
    key: Option<TypedValue<'a>>,
    signature: Vec<i32>,
}

impl SideTable {
    /// The values that can be searched for, for a HINT, and true if values of type `given` are such.
    pub fn takes(&self, given: Oid, verify: Option<Verify>) -> Result<(&'static str, bool)> {
        let is_signature = given == pg_sys::INT4ARRAYOID;
        if is_signature && verify == Some(Verify::Exact) {
            return Err(invalid_parameter("verify cannot be \"exact\" for a signature, which has no text")
                .set_hint("Leave verify out, or pass the text."));
        }
        Ok(("a text, or the signature of one", is_signature || given == pg_sys::TEXTOID))
    }

    /// Prepares a search, after a check of the caller's rights. `key` is the key of the documents. If it is an error,
    /// because they have no key, that error comes only after the check.
    pub fn search(
        &self,
        key: Result<Key>,
        threshold: Threshold,
        verify: Verify,
        limit: Option<i64>,
    ) -> Result<SideSearch<'_>> {
        let sees_all = rights::check_sees_all(&self.table, &[self.key.number, self.body.number])?;
        Ok(SideSearch { table: self, key: key?, sees_all, threshold, verify, limit })
    }
}

impl SideSearch<'_> {
    /// Calls `visit` with the near-duplicates of a document, the most similar first.
    pub fn each(&self, sought: &SoughtDocument, queries: &dyn DocumentQueries, visit: &mut VisitNear) -> Result<()> {
        let (value, document) = match sought {
            SoughtDocument::Row(key) if self.verify == Verify::Exact => {
                return queries.each(sought, Some(&|| self.among(self.stored(*key)?.as_ref())), visit);
            }
            SoughtDocument::Row(key) => return self.each_estimated(self.stored(*key)?, queries, visit),
            SoughtDocument::Given { value, document, .. } => (value, document),
        };
        let value = match (document, value.signature()?) {
            (Some(document), _) => Some(document.value()?),
            (None, Some((signature, _))) => Some(signature),
            (None, None) => value.read()?.map(|(text, _)| text),
        };
        match value {
            Some(Value::Signature(slots)) => {
                self.check_length(slots.len())?;
                self.each_estimated(Some(Probe { key: None, signature: slots.into_owned() }), queries, visit)
            }
            Some(Value::Set(_)) | None => Ok(()),
            Some(Value::Text(text)) => {
                let signed = sign_text(&self.table.options, &lossless::decode(text)?)?;
                let Some(signed) = signed else { return Ok(()) };
                let probe = Some(Probe { key: None, signature: signed.signature });
                match self.verify {
                    Verify::Exact => queries.each(sought, Some(&|| self.among(probe.as_ref())), visit),
                    Verify::Signature => self.each_estimated(probe, queries, visit),
                }
            }
        }
    }

    /// Refuses a signature if its length is not the side table's.
    fn check_length(&self, slots: usize) -> Result<()> {
        let wanted = self.table.options.config.num_perm();
        if slots == wanted {
            return Ok(());
        }
        let name = relation_name(self.table.storage);
        Err(invalid_parameter(format!(
            "the signature must have {wanted} slots like those of side table \"{name}\", not {slots}"
        )))
    }

    /// Reads the stored signature of the document with key `key`; `None` if it has no shingles.
    fn stored<'k>(&self, key: TypedValue<'k>) -> Result<Option<Probe<'k>>> {
        let signature = |row: &Row| Ok(stored(row)?.map(|(_, signature, _)| memory::copied(signature)).transpose()?);
        let found = self.table.open()?.of_document(key, &Snapshot::statement(), signature)?;
        Ok(found.flatten().map(|signature| Probe { key: Some(key), signature }))
    }

    /// An array of the keys of candidates, without `probe` itself.
    fn among(&self, probe: Option<&Probe>) -> Result<Option<Parameter<'static>>> {
        let Some(probe) = probe else { return Ok(None) };
        let memory = Memory::scratch(c"minlsh candidates");
        // Half of the estimates for pairs at the threshold are below it, so an exact check leaves a margin.
        let least = estimate_gate(self.threshold.get(), self.table.options.config.num_perm());
        let found = self.candidates(probe, least, &memory)?;
        let keys = memory::collect(found.into_iter().map(|(key, _)| key))?;
        Ok(Some(self.key.array(&keys)))
    }

    /// The keys of the documents that share a band with `probe`, and estimates of their similarities from `least` up,
    /// without `probe` itself. The keys are allocated in `keys`.
    fn candidates<'m>(&self, probe: &Probe, least: f64, keys: &'m Memory) -> Result<Vec<(TypedValue<'m>, f64)>> {
        let mut found = Vec::new();
        let storage = self.table.open()?;
        let content = Content::of_slots(&probe.signature)?;
        // The threshold decides in how many bands the index searches.
        let document = Document { threshold: self.threshold, content }.write();
        let mut memory = Memory::scratch(c"minlsh candidate");
        let mut visit = |row: &Row| {
            let Some((key, signature, _)) = stored(row)? else { return Ok(()) };
            let estimate = estimate_jaccard(&probe.signature, signature);
            let estimate = estimate.map_err(|cause| self.altered(&cause.to_string()))?;
            if estimate >= least {
                memory::push(&mut found, (key.copied(keys), estimate))?;
            }
            Ok(())
        };
        let visit = |row: &Row| memory.run_and_reset(|| visit(row)).map(|()| Continue::Yes);
        let (index, snapshot) = (storage.signature_index(), Snapshot::statement());
        // SAFETY: the operator belongs to the index on the signatures: `integer[] ~= minlsh_document`.
        unsafe { index.each_match(&storage.rows.table, storage.operator, document, &snapshot, visit)? };
        // A document is not its own near-duplicate.
        if let Some(own) = probe.key {
            let order = Order::of(self.key.base_type, self.key.collation())?;
            found.retain(|(key, _)| order.compare(*key, own).is_ne());
        }
        Ok(found)
    }

    /// Calls `visit` with the candidates that the caller sees, in descending order of their estimates.
    fn each_estimated(&self, probe: Option<Probe>, queries: &dyn DocumentQueries, visit: &mut VisitNear) -> Result<()> {
        let Some(probe) = probe else { return Ok(()) };
        let sees = |key| Ok::<_, SqlError>(self.sees_all || queries.sees(key)?);
        if !probe.key.map_or(Ok(true), sees)? {
            return Ok(());
        }
        let keys = Memory::scratch(c"minlsh candidates");
        let mut found = self.candidates(&probe, self.threshold.get(), &keys)?;
        let order = Order::of(self.key.base_type, self.key.collation())?;
        let nearer = |(a, similar_a): &(TypedValue, f64), (b, similar_b): &(TypedValue, f64)| {
            similar_b.total_cmp(similar_a).then_with(|| order.compare(*a, *b))
        };
        sort_by(&mut found, nearer, &mut check_interrupts);
        let mut left = self.limit.unwrap_or(i64::MAX);
        let mut scratch = Memory::scratch(c"minlsh candidate");
        for (key, similarity) in found {
            check_interrupts();
            if left == 0 {
                break;
            }
            if scratch.run_and_reset(|| sees(key))? {
                left -= 1;
                visit(key, similarity)?;
            }
        }
        Ok(())
    }

    /// The error for a side table with values that minlsh never writes.
    fn altered(&self, detail: &str) -> SqlError {
        let storage = self.table.storage;
        let message = format!("side table \"{}\" has been altered", relation_name(storage));
        wrong_state(message)
            .set_detail(detail)
            .set_hint(format!("Build it again with SELECT minlsh_rebuild_side_table({});", regclass_literal(storage)))
    }
}
