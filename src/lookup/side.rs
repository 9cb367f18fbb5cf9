//! A side table, read as a relation: the caller's rights are checked first.
//!
//! 1. The document's bands, as many as the recall needs at the threshold asked for, are looked up.
//! 2. Candidates are filtered by the similarity that the signatures estimate.
//! 3. Unless `verify => 'signature'` was asked for, and wherever the caller may not see all rows,
//!    each of what remains is looked up in the table, as the caller, and its text decides.

use pgrx::pg_sys::{Datum, Oid};
use sketch::{ShingleSet, memory};

use crate::access::{self, Visibility};
use crate::error::{Result, engine, wrong_state};
use crate::lookup::stored_documents::Documents;
use crate::options::{Threshold, Verify};
use crate::pg::call::float8_datum;
use crate::pg::interrupts::check_interrupts;
use crate::pg::memory::Memory;
use crate::pg::names::{regclass_literal, relation_name};
use crate::pg::order::Order;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use crate::row_key::{self, Key};
use crate::side_table::sign::{self, sign_text};
use crate::side_table::{SideTable, StoredSketch};

/// A side table that the caller may read.
pub struct Side<'a> {
    side: &'a SideTable,
    visibility: Visibility,
    key: Key,
    documents: Documents<'a>,
}

/// What is looked for.
pub struct Probe {
    /// `None`: it is not a stored document.
    pub key: Option<Datum>,
    /// The signature, packed as the side table's are.
    pub signature: Vec<i32>,
    /// All of its bands.
    pub bands: Vec<i64>,
    /// Its shingles, where the texts are to decide.
    pub shingles: Option<ShingleSet>,
}

/// What is asked.
pub struct Question {
    /// The least similarity.
    pub threshold: Threshold,
    /// How candidates are told from near-duplicates.
    pub verify: Verify,
    /// How many are wanted; `None`: all.
    pub limit: Option<usize>,
}

impl<'a> Side<'a> {
    /// Checks the caller's rights.
    pub fn open(side: &'a SideTable) -> Result<Self> {
        let visibility = access::check(&side.table, &[side.key.number, side.body.number])?;
        let key = side.row_key()?;
        let documents = Documents::of_side_table(side, key);
        Ok(Self { side, visibility, key, documents })
    }

    /// The type of the keys.
    pub fn key_type(&self) -> Oid {
        self.key.base_type
    }

    /// What is stored of a document that the caller may see, if it has shingles.
    pub fn stored(&self, session: &Session, key: Datum, verify: Verify) -> Result<Option<Probe>> {
        let text = if verify == Verify::Exact || self.visibility == Visibility::Joined {
            match self.text(session, key)? {
                Some(text) => Some(text),
                // The caller cannot see the document: for them it does not exist.
                None => return Ok(None),
            }
        } else {
            None
        };
        let Some(stored) = self.side.get(key)? else { return Ok(None) };
        let shingles = text.map_or(Ok(None), |text| self.shingles(&text, verify))?;
        let StoredSketch { signature, bands } = stored;
        Ok(Some(Probe { key: Some(key), signature, bands, shingles }))
    }

    /// What would be stored of a text; `None` if it has no shingles.
    pub fn given(&self, text: &str, verify: Verify) -> Result<Option<Probe>> {
        let Some(StoredSketch { signature, bands }) = sign_text(&self.side.options, text)? else {
            return Ok(None);
        };
        Ok(Some(Probe { key: None, signature, bands, shingles: self.shingles(text, verify)? }))
    }

    /// What would be stored of a document of which the signature is known.
    pub fn of_signature(&self, signature: &[i32]) -> Result<Probe> {
        let StoredSketch { signature, bands } = sign::of_signature(&self.side.options, signature)?;
        Ok(Probe { key: None, signature, bands, shingles: None })
    }

    /// Puts the keys and similarities of what is found into `result`, the most similar first.
    pub fn answer(
        &self,
        session: &Session,
        question: &Question,
        probe: &Probe,
        result: &ResultRows,
    ) -> Result<()> {
        let shown = result.column_type(0);
        self.each(session, question, probe, &mut |key, similarity| {
            let key = row_key::shown(key, self.key.base_type, shown);
            result.push(&[Some(key), Some(float8_datum(similarity))]);
            Ok(())
        })
    }

    /// Calls `visit` with the key and the similarity of what is found, the most similar first.
    pub fn each(
        &self,
        session: &Session,
        question: &Question,
        probe: &Probe,
        visit: &mut dyn FnMut(Datum, f64) -> Result<()>,
    ) -> Result<()> {
        let keys = Memory::scratch(c"minlsh candidates");
        let mut found = self.candidates(question, probe, &keys)?;
        if question.verify == Verify::Exact || self.visibility == Visibility::Joined {
            found = self.verified(session, question, probe, found)?;
        }
        let order = Order::of(self.key.base_type, self.side.key.collation)?;
        found.sort_by(|(a, similar_a), (b, similar_b)| {
            // SAFETY: keys of the side table, which are of that type.
            similar_b.total_cmp(similar_a).then_with(|| unsafe { order.compare(*a, *b) })
        });
        let limit = question.limit.unwrap_or(usize::MAX);
        found.into_iter().take(limit).try_for_each(|(key, similarity)| visit(key, similarity))
    }

    /// The candidates that the signatures do not rule out, with their estimated similarities; their
    /// keys are copied into `keys`.
    fn candidates(
        &self,
        question: &Question,
        probe: &Probe,
        keys: &Memory,
    ) -> Result<Vec<(Datum, f64)>> {
        let settings = &self.side.options;
        let probes = settings.banding.probes(question.threshold.get(), settings.recall);
        let bands = &probe.bands[..probes.min(probe.bands.len())];
        // An exact check lets a margin pass, since the estimate of a pair at the threshold is as
        // often below it as above.
        let least = match question.verify {
            Verify::Signature => question.threshold.get(),
            Verify::Exact => {
                sketch::estimate_gate(question.threshold.get(), settings.config.num_perm())
            }
        };
        let passing = self.side.key.passing;
        let mut found = Vec::new();
        self.side.candidates(bands, &mut |key, signature, _| {
            check_interrupts();
            let estimate = settings.slot_bits.estimate_jaccard(&probe.signature, signature);
            let estimate = estimate.map_err(|cause| self.altered(&cause.to_string()))?;
            if estimate >= least {
                // SAFETY: a key of a side table, which is of that type.
                let key = keys.run(|| unsafe { passing.copy(key) });
                memory::push(&mut found, (key, estimate)).map_err(engine)?;
            }
            Ok(())
        })?;
        // A document is not its own near-duplicate.
        if let Some(own) = probe.key {
            let order = Order::of(self.key.base_type, self.side.key.collation)?;
            // SAFETY: keys of the side table, which are of that type, as the one asked for is.
            found.retain(|(key, _)| unsafe { order.compare(*key, own) }.is_ne());
        }
        Ok(found)
    }

    /// Those of the candidates that the caller sees and, if texts decide, that are similar enough.
    fn verified(
        &self,
        session: &Session,
        question: &Question,
        probe: &Probe,
        found: Vec<(Datum, f64)>,
    ) -> Result<Vec<(Datum, f64)>> {
        let mut scratch = Memory::scratch(c"minlsh candidate");
        let mut verified = Vec::new();
        for (key, estimate) in found {
            check_interrupts();
            let similarity = scratch.run_and_reset(|| {
                let Some(text) = self.text(session, key)? else { return Ok(None) };
                let Some(shingles) = &probe.shingles else { return Ok(Some(estimate)) };
                let others = self.shingles(&text, Verify::Exact)?.unwrap_or_default();
                Ok(shingles.jaccard_at_least(&others, question.threshold.get()))
            })?;
            if let Some(similarity) = similarity {
                memory::push(&mut verified, (key, similarity)).map_err(engine)?;
            }
        }
        Ok(verified)
    }

    /// The text of a document, `None` if the caller cannot see it.
    fn text(&self, session: &Session, key: Datum) -> Result<Option<String>> {
        self.documents.text(session, key)
    }

    /// The shingles of a text, where they are to decide.
    fn shingles(&self, text: &str, verify: Verify) -> Result<Option<ShingleSet>> {
        if verify == Verify::Signature {
            return Ok(None);
        }
        let config = &self.side.options.config;
        ShingleSet::from_text(config, text, &mut check_interrupts).map(Some).map_err(engine)
    }

    /// The error of a side table that has what it never writes.
    pub fn altered(&self, detail: &str) -> pgrx::pg_sys::panic::ErrorReport {
        let name = relation_name(self.side.storage);
        wrong_state(format!("side table \"{name}\" has been altered")).set_detail(detail).set_hint(
            format!(
                "Build it anew with SELECT minlsh_reindex({});",
                regclass_literal(self.side.storage)
            ),
        )
    }
}
