//! Storage parameters: what a user writes WITH an index.
//!
//! PostgreSQL does not tell `amoptions` whether it reads the parameters of CREATE INDEX or of
//! ALTER INDEX SET. Entries made with other options are worthless, so those of the build are kept
//! ([`stored_options`](crate::index::stored_options)), and what ALTER INDEX sets waits for REINDEX, as
//! fillfactor does.

use std::ffi::{CStr, c_char};
use std::mem::offset_of;
use std::sync::OnceLock;

use crate::document::kind::Kind;
use crate::index::nbtree::BtOptions;
use crate::options::{IndexOptions, Options, Threshold};
use crate::prelude::*;

/// `rd_options` of an index: first what nbtree reads, then ours. Strings are given by their offset
/// from the start, 0 for none. `build_reloptions` alone makes these, with the strings behind them.
#[repr(C)]
struct Parameters {
    btree: BtOptions,
    threshold: f64,
    recall: f64,
    num_perm: i32,
    shingle_size: i32,
    min_match: i32,
    scheme: i32,
    seed: i32,
    unit: i32,
    normalization: i32,
    stop_words: i32,
    bag: bool,
}

impl Parameters {
    /// Those of an index of this access method; `None` if it has none, or is not such an index.
    fn of_index(index: &Open) -> Option<&Self> {
        // SAFETY: the relation cache has what `amoptions` has made of the parameters of such an index, or null, as long
        // as it is open.
        let made = || unsafe { (*index.raw()).rd_options.cast::<Self>().as_ref() };
        has_our_options(index).then(made).flatten()
    }

    fn text(&self, offset: i32, default: &str) -> String {
        if offset == 0 {
            return default.to_owned();
        }
        // SAFETY: parameters that `build_reloptions` has made, with their strings behind them, each of which ends with
        // a NUL.
        let value = unsafe {
            CStr::from_ptr(std::ptr::from_ref(self).cast::<c_char>().add(offset as usize))
        };
        value.to_string_lossy().into_owned()
    }

    /// `min_match` and the normalization of an index of passages, which takes no other options.
    fn of_passages(&self) -> Result<(i32, String)> {
        let (steps, options) = (self.text(self.normalization, ""), self.options()?);
        let default = IndexOptions::by_default()?;
        let config =
            default.config.clone().with_normalization(options.config.normalization().clone());
        if options != (IndexOptions { config: config?, ..default }) {
            return Err(invalid_parameter("an index of passages has no signatures")
                .set_hint("Use only min_match, normalization, fillfactor and deduplicate_items."));
        }
        Ok((self.min_match, steps))
    }

    fn options(&self) -> Result<IndexOptions> {
        let default = Options::default();
        let options = Options {
            scheme: self.text(self.scheme, &default.scheme).into(),
            num_perm: self.num_perm,
            unit: as_written(self.text(self.unit, &default.unit)).into(),
            shingle_size: self.shingle_size,
            seed: parse_seed(&self.text(self.seed, "0"))?,
            normalization: self.text(self.normalization, &default.normalization).into(),
            stop_words: self.text(self.stop_words, &default.stop_words).into(),
            bag: self.bag,
        };
        let config = options.config()?;
        IndexOptions::new(config, Threshold::new(self.threshold)?, self.recall)
    }
}

/// `WITH (unit = char)` without quotes, as SQLAlchemy writes it, is a type to SQL's grammar, and comes
/// by its full name.
fn as_written(unit: String) -> String {
    if unit == "pg_catalog.bpchar" { "char".to_owned() } else { unit }
}

fn parse_seed(seed: &str) -> Result<i64> {
    seed.trim().parse().map_err(|_| {
        invalid_parameter(format!("invalid value for option \"seed\": \"{seed}\""))
            .set_hint("Use a 64-bit integer, or 0 for the scheme's own seed.")
    })
}

/// A `min_match` that was not specified.
const UNSPECIFIED: i32 = 0;

static KIND: OnceLock<pg_sys::relopt_kind::Type> = OnceLock::new();

/// Makes the storage parameters known; called once, when the library is loaded.
pub fn define() {
    let lock = pg_sys::ShareUpdateExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: constants; PostgreSQL copies names and descriptions.
    unsafe {
        let kind = pg_sys::add_reloption_kind();
        let integer = |name: &CStr, description: &CStr, default, least, most| {
            pg_sys::add_int_reloption(
                kind,
                name.as_ptr(),
                description.as_ptr(),
                default,
                least,
                most,
                lock,
            );
        };
        let real = |name: &CStr, description: &CStr, default| {
            pg_sys::add_real_reloption(
                kind,
                name.as_ptr(),
                description.as_ptr(),
                default,
                0.0,
                1.0,
                lock,
            );
        };
        let flag = |name: &CStr, description: &CStr, default| {
            pg_sys::add_bool_reloption(kind, name.as_ptr(), description.as_ptr(), default, lock);
        };
        let string = |name: &CStr, description: &CStr| {
            let (name, description) = (name.as_ptr(), description.as_ptr());
            pg_sys::add_string_reloption(kind, name, description, std::ptr::null(), None, lock);
        };
        integer(
            c"fillfactor",
            c"Packs leaf pages only to this percentage when the index is built.",
            90,
            10,
            100,
        );
        flag(c"deduplicate_items", c"Stores the entries of one bucket together.", true);
        real(c"threshold", c"Lowest similarity that the index serves.", sketch::DEFAULT_THRESHOLD);
        real(
            c"recall",
            c"Minimum share of the pairs at the threshold that a search finds.",
            sketch::DEFAULT_RECALL,
        );
        integer(
            c"num_perm",
            c"Number of slots of a signature.",
            sketch::DEFAULT_NUM_PERM as i32,
            1,
            sketch::MAX_NUM_PERM as i32,
        );
        integer(
            c"shingle_size",
            c"Length of a shingle in units.",
            sketch::DEFAULT_SHINGLE_SIZE as i32,
            1,
            sketch::MAX_SHINGLE_SIZE as i32,
        );
        integer(
            c"min_match",
            c"Length of the shortest passage, in characters.",
            UNSPECIFIED,
            sketch::MIN_MIN_MATCH as i32,
            sketch::MAX_MIN_MATCH as i32,
        );
        string(c"scheme", c"Scheme that computes a signature from shingles.");
        string(c"seed", c"Selects another family of hash functions.");
        string(c"unit", c"Unit of shingles: char, word or anchored.");
        string(
            c"normalization",
            c"Steps that are applied to a text before it is cut into shingles.",
        );
        string(c"stop_words", c"Words that anchored shingles start with.");
        flag(c"bag", c"Counts each occurrence of a repeated shingle.", false);
        KIND.get_or_init(|| kind);
    }
}

/// `amoptions`: reads and validates storage parameters.
#[pg_guard]
pub unsafe extern "C-unwind" fn amoptions(reloptions: Datum, validate: bool) -> *mut pg_sys::bytea {
    answer(|| {
        use pg_sys::relopt_type::{
            RELOPT_TYPE_BOOL, RELOPT_TYPE_INT, RELOPT_TYPE_REAL, RELOPT_TYPE_STRING,
        };
        let element = |name: &'static CStr, opttype, offset: usize| {
            let mut element = pg_sys::relopt_parse_elt::default();
            (element.optname, element.opttype) = (name.as_ptr(), opttype);
            element.offset = offset as i32;
            element
        };
        let elements = [
            element(c"fillfactor", RELOPT_TYPE_INT, offset_of!(Parameters, btree.fillfactor)),
            element(
                c"deduplicate_items",
                RELOPT_TYPE_BOOL,
                offset_of!(Parameters, btree.deduplicate_items),
            ),
            element(c"threshold", RELOPT_TYPE_REAL, offset_of!(Parameters, threshold)),
            element(c"recall", RELOPT_TYPE_REAL, offset_of!(Parameters, recall)),
            element(c"num_perm", RELOPT_TYPE_INT, offset_of!(Parameters, num_perm)),
            element(c"shingle_size", RELOPT_TYPE_INT, offset_of!(Parameters, shingle_size)),
            element(c"min_match", RELOPT_TYPE_INT, offset_of!(Parameters, min_match)),
            element(c"scheme", RELOPT_TYPE_STRING, offset_of!(Parameters, scheme)),
            element(c"seed", RELOPT_TYPE_STRING, offset_of!(Parameters, seed)),
            element(c"unit", RELOPT_TYPE_STRING, offset_of!(Parameters, unit)),
            element(c"normalization", RELOPT_TYPE_STRING, offset_of!(Parameters, normalization)),
            element(c"stop_words", RELOPT_TYPE_STRING, offset_of!(Parameters, stop_words)),
            element(c"bag", RELOPT_TYPE_BOOL, offset_of!(Parameters, bag)),
        ];
        let kind = KIND.get().copied().unwrap_or(pg_sys::relopt_kind::RELOPT_KIND_LOCAL);
        // SAFETY: the elements describe `Parameters`, which begins with a varlena header.
        unsafe {
            let parameters = pg_sys::build_reloptions(
                reloptions,
                validate,
                kind,
                size_of::<Parameters>(),
                elements.as_ptr(),
                elements.len() as i32,
            );
            if validate && let Some(made) = parameters.cast::<Parameters>().as_ref() {
                made.options()?;
            }
            Ok(parameters.cast())
        }
    })
}

/// The options that an index of such documents would be built with now.
pub fn wanted(index: &Open, kind: Kind) -> Result<IndexOptions> {
    let stored = Parameters::of_index(index);
    if kind == Kind::Passage {
        let (min_match, steps) = match stored {
            None => (UNSPECIFIED, String::new()),
            Some(stored) => stored.of_passages()?,
        };
        let specified = min_match != UNSPECIFIED;
        let min_match = if specified { min_match.into() } else { sketch::DEFAULT_MIN_MATCH as i64 };
        let steps = if steps.is_empty() { "plain" } else { &steps };
        return IndexOptions::of_passages(min_match, steps);
    }
    let Some(stored) = stored else { return IndexOptions::by_default() };
    if stored.min_match != UNSPECIFIED {
        return Err(invalid_parameter("min_match can only be set for an index of passages")
            .set_hint("Use the operator class minlsh_passage_ops, or leave min_match out."));
    }
    stored.options()
}

/// The fill factor of leaf pages, in percent.
pub fn fillfactor(index: &Open) -> usize {
    Parameters::of_index(index).map_or(90, |stored| stored.btree.fillfactor as usize)
}

/// True if entries of one key are kept together.
pub fn deduplicates(index: &Open) -> bool {
    Parameters::of_index(index).is_none_or(|stored| stored.btree.deduplicate_items)
}

/// True if an open relation is an index of this access method, be it partitioned or not.
pub fn has_our_options(relation: &Open) -> bool {
    let ours: pg_sys::amoptions_function = Some(amoptions);
    // SAFETY: of an open relation, an index has its routine.
    let routine = unsafe { (*relation.raw()).rd_indam.as_ref() };
    routine.is_some_and(|routine| routine.amoptions.map(|f| f as usize) == ours.map(|f| f as usize))
}
