//! Storage parameters: what a user writes WITH an index.
//!
//! PostgreSQL does not tell `amoptions` whether it reads the parameters of CREATE INDEX or of
//! ALTER INDEX SET. Entries made with other options are worthless, so those of the build are kept
//! ([`stored_options`](crate::index::stored_options)), and what ALTER INDEX sets waits for REINDEX, as
//! fillfactor does.

use std::ffi::{CStr, c_char};
use std::mem::offset_of;
use std::sync::OnceLock;

use pgrx::pg_sys::{self, Datum, Relation};
use pgrx::prelude::*;

use crate::document::kind::Kind;
use crate::error::{Result, invalid_parameter, raise};
use crate::index::layout::{self, Layout};
use crate::index::nbtree::BtOptions;
use crate::options::{IndexOptions, Options, Threshold};

/// `rd_options` of an index: first what nbtree reads, then ours. Strings are given by their offset
/// from the start, 0 for none.
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
    /// # Safety
    /// `self` must be what `build_reloptions` has made, with its strings behind it.
    unsafe fn text(&self, offset: i32, default: &str) -> String {
        if offset == 0 {
            return default.to_owned();
        }
        // SAFETY: the caller's promise; a string ends with a NUL.
        let value = unsafe {
            CStr::from_ptr(std::ptr::from_ref(self).cast::<c_char>().add(offset as usize))
        };
        value.to_string_lossy().into_owned()
    }

    /// `min_match` and the normalization of an index of passages, which takes no other options.
    ///
    /// # Safety
    /// As for [`Parameters::text`].
    unsafe fn of_passages(&self) -> Result<(i32, String)> {
        // SAFETY: the caller's promise.
        let (steps, options) = unsafe { (self.text(self.normalization, ""), self.options()?) };
        let default = IndexOptions::by_default()?;
        let config =
            default.config.clone().with_normalization(options.config.normalization().clone());
        if options != (IndexOptions { config: config?, ..default }) {
            return Err(invalid_parameter("an index of passages has no signatures")
                .set_hint("Use only min_match, normalization, fillfactor and deduplicate_items."));
        }
        Ok((self.min_match, steps))
    }

    /// # Safety
    /// As for [`Parameters::text`].
    unsafe fn options(&self) -> Result<IndexOptions> {
        let default = Options::default();
        // SAFETY: the caller's promise.
        let text = |offset, default: &str| unsafe { self.text(offset, default) };
        let options = Options {
            scheme: text(self.scheme, &default.scheme).into(),
            num_perm: self.num_perm,
            unit: as_written(text(self.unit, &default.unit)).into(),
            shingle_size: self.shingle_size,
            seed: parse_seed(&text(self.seed, "0"))?,
            normalization: text(self.normalization, &default.normalization).into(),
            stop_words: text(self.stop_words, &default.stop_words).into(),
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
        if validate
            && !parameters.is_null()
            && let Err(report) = (*parameters.cast::<Parameters>()).options()
        {
            raise(report);
        }
        parameters.cast()
    }
}

/// The options that an index would be built with now.
///
/// # Safety
/// `index` is an open index of this access method.
pub unsafe fn wanted(index: Relation) -> Result<IndexOptions> {
    // SAFETY: `amoptions` has made rd_options, or there are none.
    unsafe {
        let parameters = (*index).rd_options.cast::<Parameters>();
        if is_of_passages(index)? {
            let (min_match, steps) = match parameters.is_null() {
                true => (UNSPECIFIED, String::new()),
                false => (*parameters).of_passages()?,
            };
            let specified = min_match != UNSPECIFIED;
            let min_match =
                if specified { min_match.into() } else { sketch::DEFAULT_MIN_MATCH as i64 };
            let steps = if steps.is_empty() { "plain" } else { &steps };
            return IndexOptions::of_passages(min_match, steps);
        }
        if parameters.is_null() {
            return IndexOptions::by_default();
        }
        if (*parameters).min_match != UNSPECIFIED {
            return Err(invalid_parameter("min_match can only be set for an index of passages")
                .set_hint("Use the operator class minlsh_passage_ops, or leave min_match out."));
        }
        (*parameters).options()
    }
}

/// True if an index is of passages.
///
/// # Safety
/// As for [`wanted`].
unsafe fn is_of_passages(index: Relation) -> Result<bool> {
    // SAFETY: the caller's promise.
    unsafe { Ok(layout::kind(index, &Layout::of(index)?) == Kind::Passage) }
}

/// The fill factor of leaf pages, in percent.
///
/// # Safety
/// As for [`wanted`].
pub unsafe fn fillfactor(index: Relation) -> usize {
    // SAFETY: `amoptions` has made rd_options, or there are none.
    unsafe {
        let parameters = (*index).rd_options.cast::<Parameters>();
        if parameters.is_null() { 90 } else { (*parameters).btree.fillfactor as usize }
    }
}

/// True if entries of one key are kept together.
///
/// # Safety
/// As for [`wanted`].
pub unsafe fn deduplicates(index: Relation) -> bool {
    // SAFETY: `amoptions` has made rd_options, or there are none.
    unsafe {
        let parameters = (*index).rd_options.cast::<Parameters>();
        parameters.is_null() || (*parameters).btree.deduplicate_items
    }
}

/// True if an open relation is an index (with pages) of this access method.
///
/// # Safety
/// `relation` is open.
pub unsafe fn is_ours(relation: Relation) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        (*(*relation).rd_rel).relkind as u8 == pg_sys::RELKIND_INDEX && has_our_options(relation)
    }
}

/// True if an open relation is a partitioned index of this access method.
///
/// # Safety
/// `relation` is open.
pub unsafe fn is_partitioned(relation: Relation) -> bool {
    let kind = pg_sys::RELKIND_PARTITIONED_INDEX;
    // SAFETY: the caller's promise.
    unsafe { (*(*relation).rd_rel).relkind as u8 == kind && has_our_options(relation) }
}

/// True if an open relation is an index of this access method, be it partitioned or not.
///
/// # Safety
/// `relation` is open.
pub unsafe fn has_our_options(relation: Relation) -> bool {
    // SAFETY: the caller's promise; an index has its routine.
    unsafe {
        let routine = (*relation).rd_indam;
        let ours: pg_sys::amoptions_function = Some(amoptions);
        !routine.is_null() && (*routine).amoptions.map(|f| f as usize) == ours.map(|f| f as usize)
    }
}
