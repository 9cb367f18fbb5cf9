//! The first pass of a suggestion: the sample, the counts of all texts, and the ways to split them.

use sketch::{
    Config, DEFAULT_SHINGLE_SIZE, DEFAULT_THRESHOLD, SampledSets, ShingleSet, Sketcher, robust_from, saturated,
};

use crate::corpus::source::keyed_rows::{KeyedRows, LeastHashes, Sampling};
use crate::corpus::source::omitted::notice_omitted;
use crate::corpus::source::reader::Reader;
use crate::corpus::source::scopes::Scopes;
use crate::document::kind::Kind;
use crate::memory::of_suggestion;
use crate::options::Options;
use crate::pg::job::{Counter, Progress};
use crate::prelude::*;
use sketch::dedup::Scope;

/// Maximum size of a member's nearest document, as a multiple of its own.
pub const NEAREST: usize = 2;
/// Approximate bytes of a member, besides its document, its key and its kept hashes: signature and sizes of its set.
const MEMBER: usize = 1024;
/// A document that takes more than this part of memory is left out, to make room for others.
const PARTS: usize = 16;

/// Number of characters in a shingle for texts that are too short for the default.
const SHORT_SIZE: i32 = 3;

/// Number of shingles above which short shingles and single words show little about a text.
const LONG: usize = 1000;

/// Number of documents below which a sample shows little about the source.
pub const FEW: u64 = 100;

/// A document of the sample.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Taken {
    /// The compared bytes.
    pub bytes: Vec<u8>,
    pub scope: Option<Scope>,
    /// The values of the columns that may be its origin.
    pub origins: Vec<Option<Scope>>,
}

#[derive(Default)]
pub struct Sample {
    /// The documents with their keys, in the order of the keys' hashes.
    pub taken: Vec<(String, Taken)>,
    pub count: u64,
    pub documents: u64,
    /// Number of documents that are too long for their shingles.
    pub saturated: u64,
    /// A size of shingles that suffices for them.
    pub better_size: usize,
    /// Number of documents that were too large for the sample.
    pub large: u64,
}

impl Sample {
    /// Takes a sample of the documents that `reader` reads.
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
        let omitted = rows.each(|row| {
            sample.documents += 1;
            progress.set(Counter::Read, sample.documents);
            reader.read(row.document, &mut bytes)?;
            sample.look(reader, config, &bytes)?;
            let kept = reader.form().elements(bytes.len()).min(SampledSets::MOST) * SampledSets::BYTES;
            let cost = bytes.len() * (1 + NEAREST) + row.name.len() + kept + MEMBER;
            if cost > room / PARTS {
                sample.large += 1;
                return Ok(());
            }
            // Their columns follow the scopes.
            let columns = scopes.columns();
            let origin = |(place, values): (usize, &mut Scopes)| values.of(|_| row.scope(columns + place));
            taken.add(row.name, cost, || {
                Ok(Taken {
                    bytes: memory::copied(&bytes)?,
                    scope: scopes.of(|place| row.scope(place))?,
                    origins: origins.iter_mut().enumerate().map(origin).collect::<Result<_>>()?,
                })
            })
        })?;
        notice_omitted(&[omitted], "");
        sample.taken = taken.finish_distinct()?;
        sample.count = sample.taken.len() as u64;
        Ok(sample)
    }

    /// Checks if a text is too long for its shingles.
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

/// A way to split the texts of a sample, with the reason for it, and the resulting sets.
pub struct Choice {
    /// The options by which they are split and signed.
    pub config: Config,
    /// Number of shingles from which a text stays similar after one change.
    pub robust: usize,
    /// Number of documents with at least one shingle, but fewer than `robust`.
    pub short: u64,
    /// The similarity that 95 of 100 random pairs of different sets do not exceed.
    pub unrelated: f64,
    /// The reasons for the unit and for the size of shingles.
    pub why: (&'static str, String),
    /// The sets of the documents, and their signatures, which are empty for documents without shingles.
    pub sets: SampledSets,
    pub signatures: Vec<Vec<i32>>,
}

/// Options, with the reasons for the unit and the size of shingles.
type Way = (Config, &'static str, &'static str);

/// Lists the ways to split the texts of `sample`, to be tried until one shows where copies begin; only one if the
/// options are given, or if the texts are long. Also returns the shingle size of the way to take if none shows it.
pub fn ways(sample: &Sample, reader: Reader, config: Config, is_given: bool) -> Result<(Vec<Way>, usize)> {
    let with =
        |shingle_size: i32, unit: &str| Options { shingle_size, unit: unit.into(), ..Options::of(&config) }.config();
    let size = config.shingle_size();
    if is_given {
        let why = "as the call, the index or the documents have it";
        return Ok((vec![(config, why, why)], size));
    }
    // A single one cannot be confused with another.
    if sample.saturated > 1 {
        let unit = "the default; for long texts try 'word' as well";
        let config = with(sample.better_size as i32, "char")?;
        return Ok((vec![(config, unit, "the texts are too long for less")], size));
    }
    let mut lengths = Vec::new();
    for (_, Taken { bytes, .. }) in &sample.taken {
        let set = reader.set(&config, bytes)?;
        memory::push(&mut lengths, set.len())?;
    }
    let median = median(&mut lengths);
    let unit = "the default, for every language";
    if median > LONG {
        return Ok((vec![(config, unit, "")], size));
    }
    let is_short = median < robust_from(size, DEFAULT_THRESHOLD);
    let short = with(SHORT_SIZE, "char")?;
    let default_size = match is_short && !sample.taken.is_empty() {
        true => short.shingle_size(),
        false => size,
    };
    let words = (with(1, "word")?, "copies stand out by words only", "single words");
    let three = match default_size == short.shingle_size() {
        true => "",
        false => "copies stand out by 3 characters, and not by 5",
    };
    Ok((vec![(config, unit, ""), (short, unit, three), words], default_size))
}

impl Choice {
    /// Splits all of `sample`.
    pub fn cut(sample: &Sample, reader: Reader, (config, unit, size): Way) -> Result<Self> {
        let robust = robust_from(config.shingle_size(), DEFAULT_THRESHOLD);
        let (mut lengths, mut similarities, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sets, mut signatures) = (SampledSets::default(), Vec::new());
        let mut sketcher = Sketcher::new(config.clone());
        let mut last: Option<(ShingleSet, Option<Scope>)> = None;
        for (_, Taken { bytes, scope, .. }) in &sample.taken {
            check_interrupts();
            reader.hashes(&config, bytes, &mut hashes)?;
            sets.add(&hashes, &mut check_interrupts)?;
            let signature = sketcher.sketch_hashes(&hashes, &mut check_interrupts)?;
            memory::push(&mut signatures, memory::copied(signature.unwrap_or_default())?)?;
            let set = ShingleSet::from_hashes(memory::copied(&hashes)?, &mut check_interrupts);
            memory::push(&mut lengths, set.len())?;
            // Neighbors in the order of a hash are a random pair.
            if let Some((other, of)) = &last
                && of == scope
                && *other != set
                && let Some(similarity) = set.jaccard(other)
            {
                memory::push(&mut similarities, similarity)?;
            }
            last = Some((set, *scope));
        }
        sets.finish()?;
        if sample.count < FEW {
            similarities = pairs_of_few(sample, reader, &config, &mut sets)?;
        }
        similarities.sort_unstable_by(f64::total_cmp);
        let short = lengths.iter().filter(|length| (1..robust).contains(*length)).count();
        let median = median(&mut lengths);
        let size = match size {
            "" if median >= robust && config.shingle_size() == DEFAULT_SHINGLE_SIZE => {
                "the default suits these lengths".to_owned()
            }
            "" => format!("most texts are short: half have at most {median} shingles of this size"),
            why => why.to_owned(),
        };
        Ok(Self {
            config,
            robust,
            short: short as u64,
            unrelated: similarities.get(similarities.len() * 19 / 20).copied().unwrap_or(0.0),
            why: (unit, size),
            sets,
            signatures,
        })
    }
}

/// The similarities of all pairs of different sets in a small sample, where neighbors would give too few.
fn pairs_of_few(sample: &Sample, reader: Reader, config: &Config, sets: &mut SampledSets) -> Result<Vec<f64>> {
    let (mut similarities, mut hashes) = (Vec::new(), Vec::new());
    for (at, (_, document)) in sample.taken.iter().enumerate() {
        reader.hashes(config, &document.bytes, &mut hashes)?;
        let mut of_each = memory::filled(0.0, at)?;
        for similar in sets.compare(&hashes, 0.0, 0.0, &mut check_interrupts)? {
            if similar.member < at {
                of_each[similar.member] = similar.similarity;
            }
        }
        let others = sample.taken.iter().map(|(_, other)| other.scope == document.scope);
        for (similarity, _) in of_each.iter().zip(others).filter(|(_, is_same)| *is_same) {
            if !hashes.is_empty() && *similarity < 1.0 {
                memory::push(&mut similarities, *similarity)?;
            }
        }
    }
    Ok(similarities)
}

fn median(lengths: &mut [usize]) -> usize {
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}
