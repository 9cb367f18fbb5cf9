//! The options of an index: storage parameters as the user writes them, and as they were when it
//! was built.
//!
//! PostgreSQL does not tell `amoptions` whether it reads the parameters of CREATE INDEX or of
//! ALTER INDEX SET. Entries made with other options are worthless, so those of the build are kept
//! in the index itself, in block 1: an inner page that no downlink leads to, which VACUUM passes by and
//! WAL carries. What ALTER INDEX sets waits for REINDEX, as fillfactor does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::mem::offset_of;
use std::rc::Rc;
use std::sync::OnceLock;

use pgrx::pg_sys::{self, Datum, Oid, Relation};
use pgrx::prelude::*;
use serde::{Deserialize, Serialize};
use sketch::{Banding, Config, SlotBits, UNICODE_VERSIONS};

use crate::am::nbtree::{BtOptions, HIGH_KEY};
use crate::am::{layout, pages};
use crate::error::{Result, engine, error, invalid_parameter, raise, wrong_state};
use crate::functions::Options;

/// The block that has the options of the build.
pub const OPTIONS_BLOCK: pg_sys::BlockNumber = 1;
/// The form of what stands there, and of keys and tuples.
const FORMAT: u32 = 1;
/// How many indexes' options a session remembers.
const REMEMBERED: usize = 64;

/// How an index cuts, signs and bands its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Everything a signature depends on.
    pub config: Config,
    /// The bands of each document that are in the index.
    pub banding: Banding,
    /// The least similarity the index can be asked for.
    pub threshold: f64,
    /// The share of pairs at a threshold that a query finds, at least.
    pub recall: f64,
    /// How much of each slot of a signature a side table stores.
    pub slot_bits: SlotBits,
    /// Whether this version of the library would make the same entries.
    pub current: bool,
}

impl Settings {
    /// Settings for a new index.
    ///
    /// # Errors
    /// SQLSTATE 22023 for a recall that cannot be had, or slots that cannot be packed.
    pub fn new(config: Config, threshold: f64, recall: f64, slot_bits: i64) -> Result<Self> {
        let num_perm = config.num_perm() as i64;
        // No query asks for less than the index's threshold, so none looks up more bands than that
        // needs: the others would be a fifth of the build and of every write, for nothing.
        let banding = Banding::for_recall(threshold, num_perm, recall)
            .map_err(engine)?
            .trimmed(threshold, recall);
        let slot_bits = SlotBits::new(slot_bits, num_perm).map_err(engine)?;
        Ok(Self { config, banding, threshold, recall, slot_bits, current: true })
    }
}

/// What block 1 holds, as JSON.
#[derive(Serialize, Deserialize)]
struct Built {
    format: u32,
    algorithm: i32,
    unicode: String,
    threshold: f64,
    recall: f64,
    bands: usize,
    rows: usize,
    slot_bits: usize,
    scheme: String,
    num_perm: usize,
    seed: i64,
    unit: String,
    shingle_size: usize,
    normalization: String,
    stop_words: String,
    bag: bool,
}

impl Built {
    fn of(settings: &Settings) -> Self {
        let config = &settings.config;
        Self {
            format: FORMAT,
            algorithm: Config::VERSION,
            unicode: UNICODE_VERSIONS.to_owned(),
            threshold: settings.threshold,
            recall: settings.recall,
            bands: settings.banding.bands(),
            rows: settings.banding.rows(),
            slot_bits: settings.slot_bits.bits() as usize,
            scheme: config.scheme().as_str().to_owned(),
            num_perm: config.num_perm(),
            seed: config.seed(),
            unit: config.unit().as_str().to_owned(),
            shingle_size: config.shingle_size(),
            normalization: config.normalization().to_string(),
            stop_words: config.stop_words().to_string(),
            bag: config.bag(),
        }
    }

    fn settings(&self) -> std::result::Result<Settings, sketch::Error> {
        let options = Options {
            scheme: self.scheme.as_str().into(),
            num_perm: self.num_perm as i32,
            unit: self.unit.as_str().into(),
            shingle_size: self.shingle_size as i32,
            seed: self.seed,
            normalization: self.normalization.as_str().into(),
            stop_words: self.stop_words.as_str().into(),
            bag: self.bag,
        };
        let config = options.read()?;
        let same_unicode = self.unicode == UNICODE_VERSIONS || !config.depends_on_unicode();
        Ok(Settings {
            banding: Banding::new(self.bands as i64, self.rows as i64)?,
            threshold: self.threshold,
            recall: self.recall,
            slot_bits: SlotBits::new(self.slot_bits as i64, self.num_perm as i64)?,
            current: self.format == FORMAT && self.algorithm == Config::VERSION && same_unicode,
            config,
        })
    }
}

/// `rd_options` of an index: first what nbtree reads, then ours. Strings are given by their offset
/// from the start, 0 for none.
#[repr(C)]
struct Parameters {
    btree: BtOptions,
    threshold: f64,
    recall: f64,
    num_perm: i32,
    shingle_size: i32,
    slot_bits: i32,
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

    /// # Safety
    /// As for [`Parameters::text`].
    unsafe fn settings(&self) -> Result<Settings> {
        let default = Options::default();
        // SAFETY: the caller's promise.
        let text = |offset, default: &str| unsafe { self.text(offset, default) };
        let options = Options {
            scheme: text(self.scheme, &default.scheme).into(),
            num_perm: self.num_perm,
            unit: text(self.unit, &default.unit).into(),
            shingle_size: self.shingle_size,
            seed: parse_seed(&text(self.seed, "0"))?,
            normalization: text(self.normalization, &default.normalization).into(),
            stop_words: text(self.stop_words, &default.stop_words).into(),
            bag: self.bag,
        };
        let config = options.config()?;
        Settings::new(config, self.threshold, self.recall, self.slot_bits.into())
    }
}

fn parse_seed(seed: &str) -> Result<i64> {
    seed.trim().parse().map_err(|_| {
        invalid_parameter(format!("invalid value for option \"seed\": \"{seed}\""))
            .set_hint("It is an integer of 64 bits; 0 is the scheme's own.")
    })
}

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
        integer(c"fillfactor", c"Packs leaf pages only to this percentage at build.", 90, 10, 100);
        flag(c"deduplicate_items", c"Keeps many entries of one bucket together.", true);
        real(c"threshold", c"The least similarity the index serves.", sketch::DEFAULT_THRESHOLD);
        real(
            c"recall",
            c"Share of the pairs at the threshold to be found.",
            sketch::DEFAULT_RECALL,
        );
        integer(
            c"num_perm",
            c"Slots of a signature.",
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
        integer(c"slot_bits", c"Bits of each slot that a side table stores.", 32, 8, 32);
        string(c"scheme", c"How shingles become a signature.");
        string(c"seed", c"Selects another family of hash functions.");
        string(c"unit", c"What a shingle is a window of.");
        string(c"normalization", c"What is done to a text before it is cut.");
        string(c"stop_words", c"Words that anchored shingles start with.");
        flag(c"bag", c"Whether a repeat of a shingle counts.", false);
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
        element(c"slot_bits", RELOPT_TYPE_INT, offset_of!(Parameters, slot_bits)),
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
            && let Err(report) = (*parameters.cast::<Parameters>()).settings()
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
pub unsafe fn wanted(index: Relation) -> Result<Settings> {
    // SAFETY: `amoptions` has made rd_options, or there are none.
    unsafe {
        let parameters = (*index).rd_options.cast::<Parameters>();
        if parameters.is_null() {
            let config = Options::default().config()?;
            return Settings::new(config, sketch::DEFAULT_THRESHOLD, sketch::DEFAULT_RECALL, 32);
        }
        (*parameters).settings()
    }
}

/// How full leaf pages are made, in percent.
///
/// # Safety
/// As for [`wanted`].
pub unsafe fn fillfactor(index: Relation) -> usize {
    // SAFETY: as above.
    unsafe {
        let parameters = (*index).rd_options.cast::<Parameters>();
        if parameters.is_null() { 90 } else { (*parameters).btree.fillfactor as usize }
    }
}

thread_local! {
    /// By index and file: a rebuilt index has another file.
    static READ: RefCell<HashMap<(Oid, u32), Rc<Settings>>> = RefCell::default();
}

/// Writes the options of a build into block 1 of a fork that has just its metapage.
///
/// # Safety
/// `index` is an open index that nobody else reads.
pub unsafe fn store(
    index: Relation,
    fork: pg_sys::ForkNumber::Type,
    settings: &Settings,
) -> Result<()> {
    let json = to_json(settings)?;
    if json.len() > pages::MAX_ITEM {
        return Err(error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("the options of the index take {} bytes", json.len()),
        )
        .set_detail(format!("At most {} bytes fit into its page.", pages::MAX_ITEM))
        .set_hint("Give fewer stop words."));
    }
    READ.with_borrow_mut(HashMap::clear);
    // SAFETY: the caller's promise.
    unsafe { pages::write_single_item(index, fork, OPTIONS_BLOCK, json.as_bytes()) };
    Ok(())
}

/// The options with which an open index was built.
///
/// # Safety
/// `index` is an open index of this access method.
pub unsafe fn built_of(index: Relation) -> Result<Rc<Settings>> {
    // SAFETY: an open relation has its OID and file.
    let key = unsafe { ((*index).rd_id, file_number(index)) };
    if let Some(settings) = READ.with_borrow(|read| read.get(&key).cloned()) {
        return Ok(settings);
    }
    // SAFETY: the caller's promise.
    let item = unsafe { pages::read_item(index, OPTIONS_BLOCK, HIGH_KEY) };
    let settings = item
        .and_then(|item| serde_json::from_slice::<Built>(&item).ok())
        .and_then(|built| built.settings().ok())
        .map(Rc::new)
        // SAFETY: as above.
        .ok_or_else(|| unreadable(&unsafe { layout::name(index) }))?;
    READ.with_borrow_mut(|read| {
        if read.len() >= REMEMBERED {
            read.clear();
        }
        read.insert(key, settings.clone());
    });
    Ok(settings)
}

/// The options with which the index (of this access method, locked by the caller) was built; of a
/// partitioned index, which has no pages, those that its next partition gets.
pub fn built(index: Oid) -> Result<Rc<Settings>> {
    // SAFETY: opened and closed here; the kind is checked.
    unsafe {
        let relation = pg_sys::relation_open(index, pg_sys::NoLock as i32);
        let result = if is_ours(relation) {
            built_of(relation)
        } else if is_partitioned(relation) {
            wanted(relation).map(Rc::new)
        } else {
            Err(error(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a minlsh index", layout::name(relation)),
            ))
        };
        pg_sys::relation_close(relation, pg_sys::NoLock as i32);
        result
    }
}

/// Whether an open relation is an index (with pages) of this access method.
///
/// # Safety
/// `relation` is open.
pub unsafe fn is_ours(relation: Relation) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        (*(*relation).rd_rel).relkind as u8 == pg_sys::RELKIND_INDEX && has_our_options(relation)
    }
}

/// Whether an open relation is a partitioned index of this access method.
///
/// # Safety
/// `relation` is open.
unsafe fn is_partitioned(relation: Relation) -> bool {
    let kind = pg_sys::RELKIND_PARTITIONED_INDEX;
    // SAFETY: the caller's promise.
    unsafe { (*(*relation).rd_rel).relkind as u8 == kind && has_our_options(relation) }
}

/// # Safety
/// `relation` is open.
unsafe fn has_our_options(relation: Relation) -> bool {
    // SAFETY: the caller's promise; an index has its routine.
    unsafe {
        let routine = (*relation).rd_indam;
        let ours: pg_sys::amoptions_function = Some(amoptions);
        !routine.is_null() && (*routine).amoptions.map(|f| f as usize) == ours.map(|f| f as usize)
    }
}

/// The options of an index as JSON, in the order in which they are stored.
pub fn to_json(settings: &Settings) -> Result<String> {
    serde_json::to_string(&Built::of(settings))
        .map_err(|cause| error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("options: {cause}")))
}

fn unreadable(index: &str) -> pg_sys::panic::ErrorReport {
    wrong_state(format!("the options of minlsh index \"{index}\" cannot be read"))
        .set_detail("It is damaged, or was built by a later version.")
        .set_hint("REINDEX it.")
}

/// # Safety
/// `relation` is open.
unsafe fn file_number(relation: Relation) -> u32 {
    // SAFETY: the caller's promise.
    #[cfg(feature = "pg15")]
    unsafe {
        (*relation).rd_node.relNode.to_u32()
    }
    // SAFETY: the caller's promise.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        u32::from((*relation).rd_locator.relNumber)
    }
}
