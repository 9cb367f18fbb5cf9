//! `minlsh_suggest()`: suitable options and a suitable threshold for a source, from a sample of its documents.
//!
//! 1. [`sample`] reads the source once: it takes the sample, and counts the texts that are too long for their shingles.
//!    It lists ways to split the texts.
//! 2. [`nearest`] reads the source again for each way, until one shows where copies begin. It compares all documents
//!    with the sample. The engine reads a threshold from the histogram of similarities.
//! 3. [`report`] returns the result as rows.
//!
//! Memory is `work_mem`, plus a few bytes for each value of a scope.

mod nearest;
pub mod report;
mod sample;

use sketch::{Scheme, Suggested};

use crate::corpus::jobs::criteria_of_sample;
use crate::corpus::source::Source;
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::keyed_rows::{KeyedRows, Sampling};
use crate::corpus::source::scopes::Scopes;
use crate::document::kind::Kind;
use crate::options::Options;
use crate::pg::catalog::relation_kind;
use crate::pg::job::{JobPhase, Progress};
use crate::pg::rights::may_read;
use crate::prelude::*;
use nearest::Neighbors;
use report::SuggestReport;
use sample::{Choice, Sample, ways};

set_function!(minlsh_suggest, suggest);

/// Maximum number of columns that are examined for the origin of a template.
const ORIGINS: usize = 16;
/// Number of slots of the signatures that find neighbors.
const NUM_PERM: i32 = 128;

/// `minlsh_suggest(source, body, sample, sample_seed, key_column, scope, shingle_size, ...)`
fn suggest(call: &Call, result: &ResultRows) -> Result<()> {
    let arguments = Arguments::of(call);
    let wanted = Sampling::of(&arguments)?;
    // Keys are compared as text.
    let _exact_text = LocalSettings::of_exact_text();
    let session = Session::open();
    let mut source = Source::read(&session, &arguments, "source", false)?;
    let criteria = criteria_of_sample(&session, &arguments, std::slice::from_ref(&source))?;
    let reader = criteria.reader;
    let scopes = &mut Scopes::new("scope", &source.scope_types())?;
    let origins = origins(&source);
    let values = origins.iter().map(|place| Scopes::new("boilerplate", &[source.column_type(*place)]));
    let mut values = values.collect::<Result<Vec<_>>>()?;
    source.scopes.extend(&origins);
    let rows = KeyedRows::of(&session, &source, scopes.columns())?;
    source.scopes.truncate(scopes.columns());
    let config = Options { num_perm: NUM_PERM, ..Options::of(&criteria.config) }.config()?;
    let config = config.with_scheme(Scheme::Fss);
    let progress = Progress::start(source.relation);
    let sample = Sample::take(&rows, reader, &config, (scopes, &mut values, &progress), wanted)?;
    let is_given = source.kind != Kind::Text || source.named.is_some() || arguments.has(&["shingle_size", "unit"]);
    let (ways, default_size) = ways(&sample, reader, config, is_given)?;
    progress.enter(JobPhase::Neighbors);
    let mut chosen: Option<(Choice, Neighbors)> = None;
    for way in ways {
        let mut choice = Choice::cut(&sample, reader, way)?;
        let found = Neighbors::search(&rows, reader, &mut choice, (&mut *scopes, &progress), &sample)?;
        choice.sets = Default::default();
        let shows_copies = found.threshold(&choice).1 == Suggested::Valley;
        let is_default = choice.config.shingle_size() == default_size;
        if chosen.is_none() || is_default || shows_copies {
            chosen = Some((choice, found));
        }
        if shows_copies {
            break;
        }
    }
    let Some((choice, found)) = chosen else { return Ok(()) };
    let common = nearest::common(&sample, &choice)?;
    let report = SuggestReport { result, sample: &sample, wanted, choice: &choice, found: &found, common };
    report.write(&source, &arguments, &origins);
    Ok(())
}

/// The positions of columns that may be a document's origin, in a table or a query: columns other than its key, its
/// document and its scopes, of types whose equality is PostgreSQL's own.
fn origins(source: &Source) -> Vec<usize> {
    // A view computes its columns, and a reader of documents may lack the right to read other columns.
    let is_stored = |table| matches!(relation_kind(table), b'r' | b'p' | b'm') && may_read(table, &[]);
    if source.named.is_some() || !source.relation.is_none_or(is_stored) {
        return Vec::new();
    }
    let is_used = |place: &usize| [source.key, source.body].contains(place) || source.scopes.contains(place);
    let is_origin = |place: &usize| {
        use pg_sys::{INT2OID, INT4OID, INT8OID, TEXTOID, UUIDOID, VARCHAROID};
        let types = [TEXTOID, VARCHAROID, INT2OID, INT4OID, INT8OID, UUIDOID];
        types.contains(&source.columns[*place].type_oid)
    };
    let places = (0..source.columns.len()).filter(|place| is_origin(place) && !is_used(place));
    places.take(ORIGINS).collect()
}
