//! `minlsh_explain()`: why two documents are, or are not, found to be near-duplicates.

use pgrx::pg_sys::{self, Datum};
use sketch::Comparison;

use crate::error::{Result, engine};
use crate::pg::array;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::checkpoint;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use crate::pg::text;
use crate::query::documents::Documents;
use crate::query::find::{self, Target};
use crate::query::key;
use crate::query::options;
use crate::query::side::Side;
use crate::side_table::Stored;
use crate::side_table::sign::sign_text;

sql_function!(minlsh_explain, explain);

/// Shingles named of each kind.
const EXAMPLES: usize = 10;

/// `minlsh_explain(index, a, b, threshold) → one row`, none if the caller cannot see one of them.
fn explain(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let target = find::required(call, 0)?;
    let settings = target.settings();
    let threshold = options::threshold(call, 3, settings, &target.name())?;
    let of_key = target.key()?;
    let documents = Documents::of(&target, of_key, "minlsh_explain()")?;
    let read = |argument| key::argument(call, argument, of_key.base_type, &target.name());
    let (Some(a), Some(b)) = (read(1)?, read(2)?) else { return Ok(None) };
    let session = Session::open();
    let (Some(text_a), Some(text_b)) = (documents.text(&session, a)?, documents.text(&session, b)?)
    else {
        return Ok(None);
    };
    let (signed_a, signed_b) = (has(&target, a, &text_a)?, has(&target, b, &text_b)?);
    let (config, slot_bits) = (&settings.config, settings.slot_bits);
    let texts = Comparison::new(config, &text_a, &text_b, EXAMPLES, &mut checkpoint);
    let texts = texts.map_err(engine)?;
    let jaccard = texts.a.jaccard(&texts.b);
    let probed = settings.banding.first(settings.banding.probes(threshold, settings.recall));
    let (mut estimate, mut shared) = (None, Vec::new());
    if let (Some(a), Some(b)) = (&signed_a, &signed_b) {
        estimate = Some(slot_bits.estimate_jaccard(&a.signature, &b.signature).map_err(engine)?);
        let bands = a.bands.iter().zip(&b.bands).take(probed.bands());
        shared.extend((1..).zip(bands).filter(|(_, (a, b))| a == b).map(|(band, _)| band));
    }
    let error = jaccard
        .map(|jaccard| slot_bits.standard_error(config.num_perm() as i64, jaccard))
        .transpose()
        .map_err(engine)?;
    let count = |count: usize| Some(Datum::from(count as i64));
    let share = |share: Option<f64>| share.map(float8_datum);
    let some = |shingles: &[String]| {
        let mut texts: Vec<Datum> = shingles.iter().map(|shingle| text::write(shingle)).collect();
        // SAFETY: texts.
        Some(unsafe { array::from_elements(&mut texts, pg_sys::TEXTOID) })
    };
    result.push(&[
        share(jaccard),
        share(estimate),
        share(error),
        share(texts.a.containment(&texts.b)),
        share(texts.b.containment(&texts.a)),
        count(texts.a.len()),
        count(texts.b.len()),
        count(texts.a.intersection_len(&texts.b)),
        some(&texts.shared),
        some(&texts.only_a),
        some(&texts.only_b),
        Some(array::write_int4(&shared)),
        share(jaccard.map(|jaccard| probed.probability(jaccard))),
    ]);
    Ok(None)
}

/// What the index has of a document, `None` if it has no shingles: a side table's row, or what an
/// index made its entries of.
fn has(target: &Target, key: Datum, text: &str) -> Result<Option<Stored>> {
    match target {
        Target::Native(native) => sign_text(&native.settings, text),
        Target::Side(side) => {
            Side::open(side)?;
            side.get(key)
        }
    }
}
