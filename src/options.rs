//! The options that users choose: how a document is split, signed, banded and compared. Function arguments, storage
//! parameters, block 1 of an index and documents become these types, which validate them. Settings are options that a
//! user may `SET`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::ffi::c_void;
use std::fmt;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use serde::{Deserialize, Serialize};
use sketch::dedup::Verify;
use sketch::passage::{valid_min_match, valid_normalization};
use sketch::{
    Banding, Config, DEFAULT_NUM_PERM, DEFAULT_RECALL, DEFAULT_SHINGLE_SIZE, DEFAULT_THRESHOLD, Normalization, Scheme,
    Sketcher, StopWords, UNICODE_VERSIONS, Unit,
};

use crate::prelude::*;

/// A minimum Jaccard similarity, greater than 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Threshold(f64);

impl Threshold {
    /// Checks a threshold.
    ///
    /// # Errors
    /// [`sketch::Error::Threshold`] for a number out of range, or NaN.
    pub fn new(threshold: f64) -> Result<Self, sketch::Error> {
        let is_one = threshold > 0.0 && threshold <= 1.0;
        if is_one { Ok(Self(threshold)) } else { Err(sketch::Error::Threshold(threshold)) }
    }

    /// The valid threshold nearest to a number.
    pub fn clamped(number: f64) -> Self {
        Self(if number > f64::MIN_POSITIVE { number.min(1.0) } else { f64::MIN_POSITIVE })
    }

    /// The threshold as a number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The greater of two thresholds.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl Default for Threshold {
    fn default() -> Self {
        Self(DEFAULT_THRESHOLD)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Parses the name of a way to verify candidates.
pub fn verify_named(name: &str) -> Result<Verify> {
    match name {
        "signature" => Ok(Verify::Signature),
        "exact" => Ok(Verify::Exact),
        other => Err(invalid_parameter(format!("unknown value for verify: \"{}\"", shortened(other)))
            .set_hint("Pass \"exact\" or \"signature\".")),
    }
}

/// Refuses a count below 1 in argument `name`; `hint` says what it counts.
pub fn at_least_one(name: &str, count: i32, hint: &str) -> Result<usize> {
    let positive = usize::try_from(count).ok().filter(|count| *count > 0);
    positive.ok_or_else(|| invalid_parameter(format!("{name} must be at least 1, not {count}")).set_hint(hint))
}

/// The options by which an index splits, signs and bands its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Everything a signature depends on.
    pub config: Config,
    /// The bands of each document in the index.
    pub banding: Banding,
    /// The lowest similarity that the index can search for.
    pub threshold: Threshold,
    /// Minimum share of the pairs at a threshold that a query finds.
    pub recall: f64,
    /// Minimum length of passages; `None` unless it is an index of passages, which replace bands.
    pub min_match: Option<usize>,
    /// The versions that built it, if this version of the library would make other entries.
    pub outdated: Option<Versions>,
}

/// The versions that entries depend on.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Versions {
    /// The format of keys, tuples and stored options.
    pub format: u32,
    /// The version of the algorithm for signatures.
    pub algorithm: i32,
    /// The versions of Unicode's tables for normalizing and splitting texts.
    pub unicode: Cow<'static, str>,
}

impl Versions {
    /// The versions of this library.
    pub const CURRENT: Self = Self { format: 1, algorithm: Config::VERSION, unicode: Cow::Borrowed(UNICODE_VERSIONS) };

    /// Describes what differs from this library.
    pub fn difference(&self) -> String {
        let Self { format, algorithm, unicode } = self;
        let current = Self::CURRENT;
        let mut all = Vec::new();
        if *format != current.format {
            all.push(format!("built with format {format}, now {}", current.format));
        }
        if *algorithm != current.algorithm {
            all.push(format!("built with algorithm {algorithm}, now {}", current.algorithm));
        }
        if *unicode != current.unicode {
            all.push(format!("built with Unicode: {unicode}; now {}", current.unicode));
        }
        all.join(", ")
    }
}

impl IndexOptions {
    /// True if this version of the library would make the same entries.
    pub fn is_current(&self) -> bool {
        self.outdated.is_none()
    }

    /// The options of a new index.
    ///
    /// # Errors
    /// SQLSTATE 22023 for a recall that no banding reaches.
    pub fn new(config: Config, threshold: Threshold, recall: f64) -> Result<Self> {
        let num_perm = config.num_perm() as i64;
        // No query uses a threshold below the index's, so none looks up more bands than that needs. The other bands
        // would take a fifth of the build and of every write.
        let banding = Banding::for_recall(threshold.get(), num_perm, recall)?.trimmed(threshold.get(), recall);
        Ok(Self { config, banding, threshold, recall, min_match: None, outdated: None })
    }

    /// The options of an index with all defaults.
    pub fn by_default() -> Result<Self> {
        Self::new(Options::default().config()?, Threshold::default(), DEFAULT_RECALL)
    }

    /// The options of an index of passages.
    ///
    /// # Errors
    /// SQLSTATE 22023 for a `min_match` out of range, or a normalization that drops words.
    pub fn of_passages(min_match: i64, steps: &str) -> Result<Self> {
        let steps = if steps == "auto" { "plain" } else { steps };
        let normalization = valid_normalization(steps)?;
        let min_match = valid_min_match(min_match)?;
        let mut options = Self::by_default()?;
        options.config = options.config.with_normalization(normalization)?;
        options.min_match = Some(min_match);
        Ok(options)
    }
}

/// Options as text, which are parsed to a configuration. Indexes store them in this order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Options<'a> {
    /// The scheme that makes signatures of shingles.
    pub scheme: Cow<'a, str>,
    /// Slots of a signature.
    pub num_perm: i32,
    /// 0 stands for the scheme's own seed.
    pub seed: i64,
    /// The unit of shingles: characters or words.
    pub unit: Cow<'a, str>,
    /// Its length in units.
    pub shingle_size: i32,
    /// A preset, steps, or `auto`, which is the preset `plain`.
    pub normalization: Cow<'a, str>,
    /// `english`, or words separated by white space.
    pub stop_words: Cow<'a, str>,
    /// True if repeats of a shingle count.
    pub bag: bool,
}

thread_local! {
    /// Parsing a configuration costs more than signing a short text.
    static READ: Recent<(Options<'static>, Config)> = const { Recent::new() };
    static SKETCHERS: Recent<Sketcher> = const { Recent::new() };
}

impl<'a> Options<'a> {
    /// Reads the options of shingling: arguments `shingle_size` and `unit`, and from `text` on normalization,
    /// stop_words and bag.
    pub fn shingling(call: &'a Call, shingle_size: usize, unit: usize, text: usize) -> Result<Self> {
        Ok(Self {
            shingle_size: call.int4(shingle_size).given()?,
            unit: call.text(unit).given()?.into(),
            normalization: call.text(text).given()?.into(),
            stop_words: call.text(text + 1).given()?.into(),
            bag: call.bool(text + 2).given()?,
            ..Self::default()
        })
    }

    /// The options that parse to `config`.
    pub fn of(config: &Config) -> Self {
        Self {
            scheme: config.scheme().as_str().into(),
            num_perm: config.num_perm() as i32,
            unit: config.unit().as_str().into(),
            shingle_size: config.shingle_size() as i32,
            seed: config.seed(),
            normalization: config.normalization().to_string().into(),
            stop_words: config.stop_words().to_string().into(),
            bag: config.bag(),
        }
    }

    /// The configuration, which is cached.
    pub fn config(&self) -> Result<Config> {
        let read = || -> Result<_> {
            let config = self.read()?;
            Ok((self.owned()?, config))
        };
        READ.with(|kept| kept.with(|(options, _)| options == self, read, |read| read.1.clone()))
    }

    /// Parses the configuration.
    pub fn read(&self) -> Result<Config, sketch::Error> {
        let (num_perm, size) = (self.num_perm.into(), self.shingle_size.into());
        let scheme: Scheme = self.scheme.parse()?;
        let seed = if self.seed == 0 { scheme.default_seed() } else { self.seed };
        let config = Config::new(&self.scheme, num_perm, &self.unit, size, seed)?;
        let normalization = match &*self.normalization {
            "auto" => Normalization::plain(),
            steps => steps.parse()?,
        };
        let config = config.with_stop_words(StopWords::named(&self.stop_words)?)?;
        config.with_bag(self.bag).with_normalization(normalization)
    }

    fn owned(&self) -> Result<Options<'static>> {
        let owned = |text: &str| memory::owned(text).map(Cow::Owned);
        Ok(Options {
            scheme: owned(&self.scheme)?,
            unit: owned(&self.unit)?,
            normalization: owned(&self.normalization)?,
            stop_words: owned(&self.stop_words)?,
            ..*self
        })
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            scheme: Cow::Borrowed(Scheme::default().as_str()),
            num_perm: DEFAULT_NUM_PERM as i32,
            unit: Cow::Borrowed(Unit::default().as_str()),
            shingle_size: DEFAULT_SHINGLE_SIZE as i32,
            seed: 0,
            normalization: Cow::Borrowed("auto"),
            stop_words: Cow::Borrowed("english"),
            bag: false,
        }
    }
}

/// The options by which a configuration splits texts, as in the WITH clause of an index.
pub fn shingling(config: &Config) -> String {
    shown_shingling(config).map(|(name, value)| format!("{name} = {value}")).join(", ")
}

/// The names of these options, with their values as SQL.
fn shown_shingling(config: &Config) -> [(&'static str, String); 5] {
    [
        ("unit", literal(config.unit().as_str())),
        ("shingle_size", config.shingle_size().to_string()),
        ("normalization", literal(&config.normalization().to_string())),
        ("stop_words", literal(&config.stop_words().to_string())),
        ("bag", config.bag().to_string()),
    ]
}

/// The options for splitting texts that are not defaults, with their values as SQL.
pub fn differing(config: &Config) -> Vec<(&'static str, String)> {
    let default = Options::default().config().map(|default| shown_shingling(&default)).unwrap_or_default();
    let pairs = shown_shingling(config).into_iter().zip(default);
    pairs.filter(|(own, other)| own.1 != other.1).map(|(own, _)| own).collect()
}

/// The options for splitting texts that are not defaults, as further arguments.
pub fn further_arguments(config: &Config) -> String {
    differing(config).iter().map(|(name, value)| format!(", {name} => {value}")).collect()
}

/// True if both split texts into the same shingles.
pub fn same_shingling(a: &Config, b: &Config) -> bool {
    a.unit() == b.unit()
        && a.shingle_size() == b.shingle_size()
        && a.normalization() == b.normalization()
        && a.stop_words() == b.stop_words()
        && a.bag() == b.bag()
}

/// Runs `work` with a sketcher for `config`, which is cached.
pub fn with_sketcher<T>(config: &Config, work: impl FnOnce(&mut Sketcher) -> T) -> T {
    let made = || Ok::<_, Infallible>(Sketcher::new(config.clone()));
    let Ok(result) = SKETCHERS.with(|kept| kept.with(|sketcher| sketcher.config() == config, made, work));
    result
}

/// Size of the cache. A query or a trigger uses one value, or two or three if a table has several indexes.
const KEPT: usize = 4;

/// A cache of recently used values, the most recent at the end. A linear search of so small a list is faster than
/// hashing.
pub struct Recent<T>(RefCell<Vec<T>>);

impl<T> Recent<T> {
    pub const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// Calls `work` with a cached value or a new one, which replaces the least recently used one. The value is out of
    /// the cache meanwhile, so a cancelled call drops it, and leaves no partial result.
    pub fn with<R, E>(
        &self,
        wanted: impl Fn(&T) -> bool,
        new: impl FnOnce() -> Result<T, E>,
        work: impl FnOnce(&mut T) -> R,
    ) -> Result<R, E> {
        let place = self.0.borrow().iter().rposition(wanted);
        let kept = place.map(|place| self.0.borrow_mut().remove(place));
        let mut value = kept.map_or_else(new, Ok)?;
        let result = work(&mut value);
        let mut all = self.0.borrow_mut();
        if all.len() == KEPT {
            all.remove(0);
        }
        all.push(value);
        Ok(result)
    }
}

/// Comparing a bucket of documents that share a band but are not similar would take time quadratic in its size. With
/// 1000, the 743,779 documents of one template take minutes instead of days. A corpus without such templates never
/// reaches the limit.
const DEFAULT_BUCKET_LIMIT: i32 = 1000;

/// Kilobytes in a queue of tracked clusters, about 10 million rows.
const DEFAULT_QUEUE_WARNING: i32 = 512 << 10;

/// Minimum of `minlsh.threshold`; `~=` would find unrelated documents below it.
const LEAST_THRESHOLD: f64 = 0.01;

static THRESHOLD: GucSetting<f64> = GucSetting::<f64>::new(DEFAULT_THRESHOLD);
static BUCKET_LIMIT: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_BUCKET_LIMIT);
static QUEUE_WARNING: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_QUEUE_WARNING);

/// Defines the settings when the library is loaded.
pub fn define_settings() {
    GucRegistry::define_int_guc(
        c"minlsh.bucket_limit",
        c"Maximum number of failed comparisons per document within a bucket.",
        c"Whole-corpus functions compare documents that share a band. Beyond this limit, comparisons are left out, and \
          a warning reports their number.",
        &BUCKET_LIMIT,
        1,
        i32::MAX,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"minlsh.queue_warning",
        c"Size of a queue of tracked clusters from which on a statement that writes to it raises a warning.",
        c"A queue grows until minlsh_refresh_clusters() empties it. 0 turns the warning off.",
        &QUEUE_WARNING,
        0,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    // SAFETY: the hook is guarded, so that a panic in it becomes an ERROR.
    unsafe {
        GucRegistry::define_float_guc_with_hooks(
            c"minlsh.threshold",
            c"Lowest similarity at which two texts or two arrays match by ~=.",
            c"A minlsh_document on either side has its own threshold, and this setting does not apply.",
            &THRESHOLD,
            LEAST_THRESHOLD,
            1.0,
            GucContext::Userset,
            GucFlags::EXPLAIN,
            None,
            Some(threshold_changes),
            None,
        );
    }
    // SAFETY: the prefix ends with a NUL, and is copied. It keeps others from defining settings with this prefix.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"minlsh".as_ptr()) };
}

/// Invalidates all plans when `minlsh.threshold` changes, because a plan depends on whether an index serves it.
/// PostgreSQL does the same for `session_replication_role`.
#[pg_guard]
unsafe extern "C-unwind" fn threshold_changes(threshold: f64, _extra: *mut c_void) {
    if threshold != THRESHOLD.get() {
        // SAFETY: it marks plans as invalid, and reads no catalog.
        unsafe { pg_sys::ResetPlanCache() };
    }
}

/// `minlsh.bucket_limit`
pub fn bucket_limit() -> usize {
    usize::try_from(BUCKET_LIMIT.get()).unwrap_or(1)
}

/// `minlsh.queue_warning` in bytes; `None` if it is off.
pub fn queue_warning() -> Option<u64> {
    u64::try_from(QUEUE_WARNING.get()).ok().filter(|limit| *limit > 0).map(|limit| limit << 10)
}

/// `minlsh.threshold`
pub fn threshold_setting() -> Threshold {
    Threshold::clamped(THRESHOLD.get())
}
