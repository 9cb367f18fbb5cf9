//! The arguments of a job of passages.

use pgrx::pg_sys::Datum;
use sketch::passage::{valid_coverage, valid_min_match, valid_normalization};
use sketch::pipeline::PassageCut;
use sketch::{DEFAULT_MIN_MATCH, counted};

use crate::corpus::source::arguments::{Arguments, Positions};
use crate::error::{Result, invalid_parameter};
use crate::pg::call::Call;

/// Behind the number of the job, as in all whole-corpus functions: body, key_column and scope, then its options,
/// which are its own.
const POSITIONS: Positions = Positions { threshold: 1, verify: usize::MAX, options: 5 };

/// The same, where there are two sources.
const POSITIONS_BETWEEN: Positions = Positions { threshold: 2, verify: usize::MAX, options: 8 };

const DEFAULT_MAX_DOCUMENTS: u32 = 100;
const DEFAULT_MIN_DOCUMENTS: u32 = 100;
const DEFAULT_COVERAGE: f64 = 0.9;

/// The question to a job. An argument that is NULL is the default.
pub struct PassageQuestion {
    /// The arguments that say which documents it reads.
    pub arguments: Arguments,
    /// The arguments that are sources, in the order in which they are read, and their names.
    pub sources: &'static [(usize, &'static str)],
    /// The definition of a passage.
    pub cut: PassageCut,
    /// True if equal texts count once.
    pub collapses: bool,
    /// The treatment of texts that are too short for a passage.
    short: Short,
}

/// The treatment of texts that are too short for a passage.
#[derive(Clone, Copy)]
enum Short {
    LeftOut,
    Unchanged,
}

impl PassageQuestion {
    /// Reads `(source, min_documents, body, key_column, scope, min_match, normalization)`: what many
    /// documents have in common, and how many are many.
    pub fn of_common(call: &Call) -> Result<(Self, u32)> {
        let arguments = Arguments::of(call, POSITIONS);
        let least = documents(arguments.raw(1), "min_documents", 2, DEFAULT_MIN_DOCUMENTS)?;
        Ok((Self::new(arguments, 5, 6, true)?, least))
    }

    /// Reads `(source, min_match, body, key_column, scope, normalization)`: what earlier documents have.
    pub fn of_repeated(call: &Call) -> Result<Self> {
        Self::new(Arguments::of(call, POSITIONS), 1, 5, false)
    }

    /// Reads `(source, coverage, body, key_column, scope, min_match, normalization)`: what is inside of
    /// what, and how much of it must be.
    pub fn of_contained(call: &Call) -> Result<(Self, f64)> {
        let arguments = Arguments::of(call, POSITIONS);
        let coverage = arguments.raw(1).map(|datum| f64::from_bits(datum.value() as u64));
        let coverage = valid_coverage(coverage.unwrap_or(DEFAULT_COVERAGE))?;
        Ok((Self::new(arguments, 5, 6, true)?, coverage))
    }

    /// Reads `(a, b, min_match, coverage, max_documents, body, key_column, scope, normalization)`: what
    /// documents of two sources have in common, how much of one that must be, and in how many of the other it may be.
    /// The second source is read first.
    pub fn of_two(call: &Call) -> Result<(Self, Option<f64>, u32)> {
        let arguments = Arguments::of(call, POSITIONS_BETWEEN);
        let coverage = arguments.raw(3).map(|datum| f64::from_bits(datum.value() as u64));
        let coverage = coverage.map(valid_coverage).transpose()?;
        let most = documents(arguments.raw(4), "max_documents", 1, DEFAULT_MAX_DOCUMENTS)?;
        let question = Self::new(arguments, 2, 8, false)?;
        Ok((Self { sources: &[(1, "b"), (0, "a")], ..question }, coverage, most))
    }

    /// The same, of a job that gives out texts that are too short.
    pub fn keeping_short(self) -> Self {
        Self { short: Short::Unchanged, ..self }
    }

    fn new(
        arguments: Arguments,
        min_match: usize,
        normalization: usize,
        collapses: bool,
    ) -> Result<Self> {
        let asked = |datum: Datum| i64::from(datum.value() as i32);
        let min_match = arguments.raw(min_match).map_or(DEFAULT_MIN_MATCH as i64, asked);
        let normalization = arguments.text(normalization)?.unwrap_or("plain");
        let cut = PassageCut {
            min_match: valid_min_match(min_match)?,
            normalization: valid_normalization(normalization)?,
        };
        let sources = &[(0, "source")];
        Ok(Self { arguments, sources, cut, collapses, short: Short::LeftOut })
    }

    /// Says what became of so many texts that are too short for a passage.
    pub fn notice_short(&self, count: usize) {
        if count == 0 {
            return;
        }
        let texts = counted(count, "text");
        let verb = if count == 1 { "is" } else { "are" };
        let fate = match self.short {
            Short::LeftOut => "left out",
            Short::Unchanged => "returned unchanged",
        };
        pgrx::notice!("{texts} shorter than min_match {verb} {fate}");
    }
}

/// A number of documents that boilerplate is told by.
fn documents(given: Option<Datum>, name: &str, least: i32, default: u32) -> Result<u32> {
    match given.map(|datum| datum.value() as i32) {
        None => Ok(default),
        Some(given) if given >= least => Ok(given as u32),
        Some(other) => {
            Err(invalid_parameter(format!("{name} must be at least {least}, not {other}"))
                .set_hint(
                    "Use the number of documents that make a passage boilerplate, such as 100.",
                ))
        }
    }
}
