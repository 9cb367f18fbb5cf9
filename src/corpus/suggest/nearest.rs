//! The second pass of a suggestion: the similarity of the source's documents to each document of the sample.
//!
//! The engine compares each document with all of the sample, and the nearest one is kept. If its similarity is an
//! estimate, it is compared exactly at the end, once for each document of the sample. Exact copies have the same
//! fingerprint: texts that are equal after normalization, and equal sets.

use std::cmp::Reverse;

use sketch::{Config, Histogram, SimilarMember, Suggested, WithinOrigin};

use super::sample::{Choice, NEAREST, Sample, Taken};
use crate::corpus::source::keyed_rows::KeyedRows;
use crate::corpus::source::reader::{Codes, Reader};
use crate::corpus::source::scopes::Scopes;
use crate::document::kind::Kind;
use crate::pg::job::{Counter, Progress};
use crate::prelude::*;
use sketch::dedup::Scope;

#[derive(Default)]
pub struct Neighbors {
    /// Number of documents in the source without shingles.
    pub empty: u64,
    /// Number of documents in the sample with an exact copy.
    pub copies: u64,
    /// The similarities of the sample to other documents, except for exact copies.
    pub similarities: Histogram,
    /// The same of the documents that share no number with their nearest one, though both have some.
    pub other_numbers: Histogram,
}

struct Member<'a> {
    key: &'a str,
    taken: &'a Taken,
    fingerprint: u128,
    has_copy: bool,
    nearest: Option<Nearest>,
}

struct Nearest {
    similarity: f64,
    key: String,
    /// The compared bytes, if the similarity is an estimate, and if there are not too many of them.
    bytes: Option<Vec<u8>>,
    /// False if both documents have numbers, and share none.
    agrees: bool,
}

impl Neighbors {
    /// Compares the sample, split by `choice`, with all rows of the source.
    pub fn search(
        rows: &KeyedRows,
        reader: Reader,
        choice: &mut Choice,
        (scopes, progress): (&mut Scopes, &Progress),
        sample: &Sample,
    ) -> Result<Self> {
        let Choice { config, sets, unrelated, .. } = choice;
        let least = Histogram::bin_start(*unrelated);
        let mut members = Vec::new();
        for (key, taken) in &sample.taken {
            let fingerprint = fingerprint(reader, config, &taken.bytes)?;
            let (has_copy, nearest) = (false, None);
            let member = Member { key, taken, fingerprint, has_copy, nearest };
            memory::push(&mut members, member)?;
        }
        let (mut found, mut compared) = (Self::default(), 0);
        let (mut bytes, mut hashes) = (Vec::new(), Vec::new());
        rows.each(|row| {
            compared += 1;
            progress.set(Counter::Compared, compared);
            reader.read(row.document, &mut bytes)?;
            reader.hashes(config, &bytes, &mut hashes)?;
            if hashes.is_empty() {
                found.empty += 1;
                return Ok(());
            }
            let Some(scope) = scopes.of(|place| row.scope(place))? else { return Ok(()) };
            let mut print = None;
            for &similar in sets.compare(&hashes, least, 0.0, &mut check_interrupts)? {
                let member = &mut members[similar.member];
                if member.key == row.name || member.taken.scope != Some(scope) {
                    continue;
                }
                if similar.similarity >= 1.0 {
                    let own = match print {
                        Some(print) => print,
                        None => *print.insert(fingerprint(reader, config, &bytes)?),
                    };
                    if own == member.fingerprint {
                        member.has_copy = true;
                        continue;
                    }
                }
                found.similarities.add_pair(similar.similarity);
                member.look_at(row.name, &bytes, similar, reader)?;
            }
            Ok(())
        })?;
        found.count(members, reader, config)
    }

    /// The threshold that the similarities suggest, with the reason.
    pub fn threshold(&self, choice: &Choice) -> (f64, Suggested) {
        self.similarities.threshold(choice.unrelated)
    }

    /// Counts the nearest document of each member, compared exactly.
    fn count(mut self, members: Vec<Member>, reader: Reader, config: &Config) -> Result<Self> {
        for Member { taken, has_copy, nearest, .. } in members {
            check_interrupts();
            self.copies += u64::from(has_copy);
            let Some(Nearest { similarity, bytes, agrees, .. }) = nearest else { continue };
            let exact = match bytes {
                Some(bytes) => reader.set(config, &taken.bytes)?.jaccard(&reader.set(config, &bytes)?),
                None => None,
            };
            let similarity = exact.unwrap_or(similarity);
            self.similarities.add_nearest(similarity);
            if !agrees {
                self.other_numbers.add_nearest(similarity);
            }
        }
        Ok(self)
    }
}

impl Member<'_> {
    /// Keeps a document if it is nearer than the nearest one before.
    fn look_at(&mut self, key: &str, bytes: &[u8], similar: SimilarMember, reader: Reader) -> Result<()> {
        // Of equal similarities the lowest key, so that the order of the rows does not matter.
        let best = self.nearest.as_ref().map(|best| (best.similarity, Reverse(best.key.as_str())));
        if best.is_none_or(|best| (similar.similarity, Reverse(key)) > best) {
            let is_kept = !similar.is_exact && bytes.len() <= NEAREST * self.taken.bytes.len();
            let agrees = Codes::of(reader, &self.taken.bytes, 1)?.agree(&Codes::of(reader, bytes, 1)?);
            let bytes = is_kept.then(|| memory::copied(bytes)).transpose()?;
            let key = memory::owned(key)?;
            self.nearest = Some(Nearest { similarity: similar.similarity, key, bytes, agrees });
        }
        Ok(())
    }
}

/// The similarity of random pairs within an origin, and the number of the column that explains it best, if one does.
/// `None` if there are too few documents.
pub fn common(sample: &Sample, choice: &Choice) -> Result<Option<(Option<usize>, WithinOrigin)>> {
    let within = |origin: &dyn Fn(&Taken) -> Option<Scope>| -> Result<_> {
        let members = sample.taken.iter().zip(&choice.signatures);
        let signed = members.filter(|(_, signature)| !signature.is_empty());
        let sampled = memory::collect(
            signed.filter_map(|((_, taken), signature)| Some((origin(taken)?.number(), &signature[..]))),
        )?;
        Ok(WithinOrigin::of(sampled, sample.documents)?)
    };
    let Some(mut most) = within(&|_| Some(Scope::ALL))? else { return Ok(None) };
    let columns = sample.taken.first().map_or(0, |(_, taken)| taken.origins.len());
    let mut explained = None;
    for column in 0..columns {
        if let Some(found) = within(&|taken| taken.origins[column])?
            && found.explains_more_than(&most)
        {
            (most, explained) = (found, Some(column));
        }
    }
    Ok(Some((explained, most)))
}

/// A value that is equal for texts that are equal after normalization, and for equal sets; for others only with
/// probability 2^-64.
fn fingerprint(reader: Reader, config: &Config, bytes: &[u8]) -> Result<u128> {
    if reader.kind == Kind::Text {
        return Ok(reader.form().fingerprint(config, bytes, &mut check_interrupts)?);
    }
    let set = reader.set(config, bytes)?;
    Ok((set.len() as u128) << 64 | u128::from(set.hash()))
}
