//! The first reading of a suggestion: the sample, what all texts are counted by, and how they are best cut.

use sketch::{Config, DEFAULT_THRESHOLD, ShingleSet, Unit, robust_from, saturated};

use crate::corpus::reading::columns::{Scope, Scopes, twice_there};
use crate::corpus::reading::keyed_rows::{KeyedRows, LeastHashes, Sampling};
use crate::corpus::source::reader::Reader;
use crate::document::kind::Kind;
use crate::error::shortened;
use crate::memory::of_suggestion;
use crate::options::Options;
use crate::pg::job::{Counter, Progress};
use crate::prelude::*;

/// The bytes that the nearest document of a member may take, as a multiple of its own.
pub const NEAREST: usize = 2;
/// About what a member takes beside its document and its key: its signature and bands.
const MEMBER: usize = 2048;
/// A document that takes a greater part of the memory is left out, so that there is room for others.
const PARTS: usize = 16;

/// Characters of a shingle for texts that are too short for the default.
const SHORT_SIZE: i32 = 3;

/// A document of the sample.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Taken {
    /// The bytes by which it is compared.
    pub bytes: Vec<u8>,
    pub scope: Option<Scope>,
    /// The values of the columns that may say where it comes from.
    pub origins: Vec<Option<Scope>>,
}

#[derive(Default)]
pub struct Sample {
    /// The documents and their keys, in the order of the hashes of these.
    pub taken: Vec<(String, Taken)>,
    pub count: u64,
    pub documents: u64,
    /// The number of documents that are too long for their shingles.
    pub saturated: u64,
    /// The size of shingles that would do for them.
    pub better_size: usize,
    /// The number of documents that were too large to be in the sample.
    pub large: u64,
}

impl Sample {
    /// Takes a sample of documents, which `reader` reads.
    pub fn take(
        rows: &KeyedRows,
        reader: Reader,
        config: &Config,
        (scopes, origins, progress): (&mut Scopes, &mut [Scopes], &Progress),
        wanted: Sampling,
    ) -> Result<Self> {
        let mut sample = Self::default();
        let (mut bytes, room) = (Vec::new(), of_suggestion());
        let mut taken = LeastHashes::new(wanted, room);
        rows.each(|row| {
            sample.documents += 1;
            progress.set(Counter::Read, sample.documents);
            bytes.clear();
            // SAFETY: a value of the source's column of documents, by whose type the reader was made.
            unsafe { reader.document(row.document) }.append(&mut bytes)?;
            sample.look(reader, config, &bytes)?;
            let cost = bytes.len() * (1 + NEAREST) + row.name.len() + MEMBER;
            if cost > room / PARTS {
                sample.large += 1;
                return Ok(());
            }
            // Their columns are behind those of the scopes.
            let columns = scopes.columns();
            let origin =
                |(place, values): (usize, &mut Scopes)| values.of(|_| row.scope(columns + place));
            taken.add(row.name, cost, || {
                Ok(Taken {
                    bytes: memory::copied(&bytes)?,
                    scope: scopes.of(|place| row.scope(place))?,
                    origins: origins.iter_mut().enumerate().map(origin).collect::<Result<_>>()?,
                })
            })
        })?;
        sample.taken = memory::collect(taken.finish())?;
        sample.count = sample.taken.len() as u64;
        let Some(pair) = sample.taken.windows(2).find(|pair| pair[0].0 == pair[1].0) else {
            return Ok(sample);
        };
        Err(twice_there("source", &shortened(&pair[0].0)))
    }

    /// Looks whether a text is too long for its shingles.
    fn look(&mut self, reader: Reader, config: &Config, bytes: &[u8]) -> Result<()> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
        if reader.kind == Kind::Text
            && let Some(size) = saturated(config, text, &mut check_interrupts)?
        {
            self.saturated += 1;
            self.better_size = self.better_size.max(size);
        }
        Ok(())
    }
}

/// A choice of how the texts are cut, and its reason.
pub struct Choice {
    /// The options by which they are cut and signed.
    pub config: Config,
    /// The shingles from which on one change leaves a text similar.
    pub robust: usize,
    /// The median of the numbers of shingles that the documents have.
    median: usize,
    /// The number of documents that have one shingle or more, but fewer than `robust`.
    pub short: u64,
    /// The similarity that 95 of 100 pairs of them, picked at random, do not exceed.
    pub unrelated: f64,
    /// The reasons for the unit, and for the size of shingles.
    pub why: (&'static str, String),
}

impl Choice {
    /// Cuts all of `sample` by `config`.
    fn cut(
        sample: &Sample,
        reader: Reader,
        config: Config,
        why: (&'static str, &str),
    ) -> Result<Self> {
        let robust = robust_from(config.shingle_size(), DEFAULT_THRESHOLD);
        let (mut lengths, mut similarities) = (Vec::new(), Vec::new());
        let mut last: Option<(ShingleSet, Option<Scope>)> = None;
        for (_, Taken { bytes, scope, .. }) in &sample.taken {
            check_interrupts();
            let set = reader.set(&config, bytes, &mut check_interrupts)?;
            memory::push(&mut lengths, set.len())?;
            // Neighbours in the order of a hash are any two documents.
            if let Some((other, of)) = &last
                && of == scope
                && let Some(similarity) = set.jaccard(other)
            {
                memory::push(&mut similarities, similarity)?;
            }
            last = Some((set, *scope));
        }
        lengths.sort_unstable();
        similarities.sort_unstable_by(f64::total_cmp);
        let short = lengths.iter().filter(|length| (1..robust).contains(*length)).count();
        Ok(Self {
            config,
            robust,
            median: lengths.get(lengths.len() / 2).copied().unwrap_or(0),
            short: short as u64,
            unrelated: similarities.get(similarities.len() * 19 / 20).copied().unwrap_or(0.0),
            why: (why.0, why.1.to_owned()),
        })
    }

    /// Chooses how the texts of `sample` are cut, unless that is given.
    pub fn of(sample: &Sample, reader: Reader, config: Config, is_given: bool) -> Result<Self> {
        let cut = |config, unit, size: &str| Self::cut(sample, reader, config, (unit, size));
        let with_size = |config: &Config, shingle_size: i32| {
            let options = Options { shingle_size, unit: "char".into(), ..Options::of(config) };
            options.config()
        };
        if is_given {
            let why = "as the call, the index or the documents have it";
            return cut(config, why, why);
        }
        // One alone has no other to be confused with.
        if sample.saturated > 1 {
            let config = with_size(&config, sample.better_size as i32)?;
            let unit = "the default; for long texts try 'word' as well";
            return cut(config, unit, "the texts are too long for less");
        }
        let usual =
            cut(config, "the default, for every language", "the default suits these lengths")?;
        let is_short = usual.config.unit() == Unit::Char && usual.median < usual.robust;
        if !is_short || sample.taken.is_empty() {
            return Ok(usual);
        }
        let unit = "the default; for titles try 'word' as well";
        let short = cut(with_size(&usual.config, SHORT_SIZE)?, unit, "")?;
        let half = short.median;
        let size = format!("most texts are short: half have at most {half} shingles of this size");
        Ok(Self { why: (unit, size), ..short })
    }
}
