//! The audit of an index: what is found is what `near_duplicates()` gives.

use std::collections::HashMap;

use pgrx::pg_sys::Oid;
use sketch::memory;

use super::tally::{Bands, Tally};
use super::truth::Truth;
use super::{ENTRY, Sampling};
use crate::corpus::scopes::{Scope, Scopes};
use crate::error::Result;
use crate::lookup::indexed::Indexed;
use crate::lookup::near_duplicates::Asked;
use crate::lookup::operand::{Measured, Operand};
use crate::lookup::stored_documents::{StoredDocument, StoredDocuments};
use crate::memory::of_sample;
use crate::options::{Threshold, Verify};
use crate::pg::spi::Session;

/// Audits an index.
pub fn audit(
    session: &Session,
    target: &Indexed,
    threshold: Threshold,
    verify: Option<Verify>,
    wanted: Sampling,
) -> Result<Bands> {
    let documents = StoredDocuments::of(target)?;
    let mut audit = Audit {
        target,
        value_type: documents.value_type(),
        scopes: Scopes::new(&documents.scope_types())?,
        documents: &documents,
        session,
        asked: &Asked::new(target, threshold, verify)?,
        bands: Bands::above(threshold.get(), verify.unwrap_or(Verify::Exact)),
        part: Part::default(),
    };
    audit.run(wanted)?;
    Ok(audit.bands)
}

/// The part of the sample at hand, which fits maintenance_work_mem.
#[derive(Default)]
struct Part {
    truth: Truth,
    members: Vec<Member>,
    bytes: usize,
}

/// A document of the sample, and what was found for it.
struct Member {
    name: String,
    scope: Option<Scope>,
    /// The least similarity that it asks for itself.
    least: f64,
    /// Keys as texts, with the similarities that were given.
    found: HashMap<String, f64>,
    tally: Tally,
}

struct Audit<'a> {
    target: &'a Indexed,
    documents: &'a StoredDocuments<'a>,
    scopes: Scopes,
    value_type: Oid,
    session: &'a Session,
    asked: &'a Asked<'a>,
    bands: Bands,
    part: Part,
}

impl Audit<'_> {
    fn run(&mut self, wanted: Sampling) -> Result<()> {
        let room = of_sample();
        let (documents, session) = (self.documents, self.session);
        documents.sample(session, wanted.seed, wanted.count, &mut |stored| {
            let mut found = HashMap::new();
            let mut bytes = ENTRY + stored.name.len();
            let mut visit = |name: &str, similarity: f64| {
                bytes += ENTRY + name.len();
                memory::insert_at(&mut found, memory::owned(name)?, similarity)?;
                Ok(())
            };
            // SAFETY: the sample has the keys of the documents of the index that is asked; each lives during its visit.
            unsafe { self.asked.each(session, stored.key, &mut visit)? };
            let (measured, least) = self.measured(stored)?;
            let member = Member {
                name: memory::owned(stored.name)?,
                scope: self.scopes.of(|place| stored.scopes[place])?,
                least,
                found,
                tally: Tally::default(),
            };
            self.part.truth.push(measured)?;
            memory::push(&mut self.part.members, member)?;
            self.part.bytes += bytes;
            if self.part.truth.bytes() + self.part.bytes >= room {
                self.compare_with_all()?;
            }
            Ok(())
        })?;
        self.compare_with_all()
    }

    /// The form in which a document is compared, and the least similarity that it asks for itself.
    fn measured<'s>(&self, stored: &'s StoredDocument) -> Result<(Measured<'s>, f64)> {
        let values = self.documents.values();
        // SAFETY: a value of the index, which lives as long as what was read of its row.
        let operand = unsafe { Operand::read(values, stored.value, self.value_type)? };
        let least = operand.least;
        Ok((operand.measured(&self.target.options.config)?, least))
    }

    /// Compares the part of the sample at hand with all documents, and forgets it.
    fn compare_with_all(&mut self) -> Result<()> {
        let Part { mut truth, mut members, .. } = std::mem::take(&mut self.part);
        let (mut read, bands) = (0, &self.bands);
        let mut scopes = std::mem::replace(&mut self.scopes, Scopes::new(&[])?);
        self.documents.each(self.session, &mut |stored| {
            read += 1;
            let (measured, least) = self.measured(stored)?;
            let Some(scope) = scopes.of(|place| stored.scopes[place])? else { return Ok(()) };
            truth.similar_to(&measured, bands.least().max(least), &mut |number, similarity| {
                let member = &mut members[number as usize];
                let is_other = member.name != stored.name && member.scope == Some(scope);
                if is_other && similarity >= member.least {
                    let given = member.found.remove(stored.name);
                    member.tally.pair(bands, similarity, given);
                }
            });
            Ok(())
        })?;
        self.bands.population = read;
        self.scopes = scopes;
        for mut member in members {
            // What is left of what was found is not similar enough.
            for similarity in member.found.into_values() {
                member.tally.wrong(&self.bands, similarity);
            }
            self.bands.add(member.tally)?;
        }
        Ok(())
    }
}
