//! Leader clustering: every member is similar to its leader, the document that represents it.

use std::collections::HashMap;

use ahash::RandomState;

use super::collection::{Corpus, LeftOut, picked};
use crate::{Result, memory};

/// Processes `documents` in order. A document that is similar to earlier leaders joins the first of them; any other
/// becomes a leader (Hartigan, *Clustering Algorithms*, 1975, chapter 3). Calls `assign` with (leader, member,
/// similarity) for each member that is not its own leader.
///
/// So no two leaders that share a band are similar, and no chain of links leads from a leader to an unrelated document.
/// Memory grows with the number of leaders.
pub fn leaders<C: Corpus>(
    corpus: &mut C,
    documents: &[u32],
    limit: usize,
    assign: &mut dyn FnMut(u32, u32, f64) -> Result<()>,
) -> Result<LeftOut> {
    let mut left_out = LeftOut::default();
    let mut known = Leaders::default();
    for &document in documents {
        corpus.check_interrupts();
        let bands = corpus.bands(document)?;
        let candidates = known.sharing(&bands)?;
        let within = &candidates[..candidates.len().min(limit)];
        let mut found = None;
        for candidate in within {
            let leader = known.documents[*candidate as usize];
            if let Some(similarity) = corpus.similarity(leader, document)? {
                found = Some((leader, similarity));
                break;
            }
        }
        let others = &candidates[within.len()..];
        if found.is_none() && !others.is_empty() {
            let leader = known.documents[others[picked(others.len())] as usize];
            let similarity = corpus.similarity(leader, document)?;
            left_out.add(others.len(), similarity.is_some());
            found = similarity.map(|similarity| (leader, similarity));
        }
        match found {
            Some((leader, similarity)) => assign(leader, document, similarity)?,
            None => known.add(document, &bands)?,
        }
    }
    Ok(left_out)
}

/// The leaders found so far, numbered in order, by band hash.
#[derive(Default)]
struct Leaders {
    documents: Vec<u32>,
    /// The last entry for a band and a hash.
    last: HashMap<(usize, u64), u32, RandomState>,
    /// A leader's number, and the previous entry for the same hash (its own index if there is none).
    entries: Vec<(u32, u32)>,
}

impl Leaders {
    fn add(&mut self, document: u32, bands: &[u64]) -> Result<()> {
        let number = self.documents.len() as u32;
        memory::push(&mut self.documents, document)?;
        for band in bands.iter().copied().enumerate() {
            let entry = self.entries.len() as u32;
            let before = memory::insert_at(&mut self.last, band, entry)?;
            memory::push(&mut self.entries, (number, before.unwrap_or(entry)))?;
        }
        Ok(())
    }

    /// The numbers of the leaders that share one of `bands`, ascending.
    fn sharing(&self, bands: &[u64]) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        let bands = bands.iter().copied().enumerate();
        for mut entry in bands.filter_map(|band| self.last.get(&band).copied()) {
            loop {
                let (number, before) = self.entries[entry as usize];
                memory::push(&mut found, number)?;
                if before == entry {
                    break;
                }
                entry = before;
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}
