//! Settings: what a user may `SET`.

use std::ffi::c_void;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};

use crate::options::Threshold;
use crate::prelude::*;

/// A bucket of documents that share a band but are not similar would cost the square of its
/// size. With 1000, the 743,779 documents of one template cost minutes instead of days, and a
/// corpus without such templates never gets there.
const DEFAULT_BUCKET_LIMIT: i32 = 1000;

/// Kilobytes of a queue of tracked clusters, about 10 million rows.
const DEFAULT_QUEUE_WARNING: i32 = 512 << 10;

/// The range of `minlsh.threshold`; below it `~=` would find what nobody calls near-duplicate.
const LEAST_THRESHOLD: f64 = 0.01;

static THRESHOLD: GucSetting<f64> = GucSetting::<f64>::new(sketch::DEFAULT_THRESHOLD);
static BUCKET_LIMIT: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_BUCKET_LIMIT);
static QUEUE_WARNING: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_QUEUE_WARNING);

/// Makes the settings known; called once, when the library is loaded.
pub fn define() {
    GucRegistry::define_int_guc(
        c"minlsh.bucket_limit",
        c"Maximum number of failed comparisons per document within a bucket.",
        c"Whole-corpus functions compare documents that share a band. Beyond this limit, comparisons are \
         left out, and a warning reports their number.",
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
    // SAFETY: the hook is guarded: a panic in it becomes an ERROR.
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
    // SAFETY: a NUL-terminated prefix, which is copied. Nobody else can make up a setting that begins with it.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"minlsh".as_ptr()) };
}

/// Has all plans made again when `minlsh.threshold` changes, because a plan depends on whether an index serves it.
/// `session_replication_role` does the same.
#[pg_guard]
unsafe extern "C-unwind" fn threshold_changes(threshold: f64, _extra: *mut c_void) {
    if threshold != THRESHOLD.get() {
        // SAFETY: it marks plans as out of date, and reads no catalog.
        unsafe { pg_sys::ResetPlanCache() };
    }
}

/// `minlsh.bucket_limit`
pub fn bucket_limit() -> usize {
    usize::try_from(BUCKET_LIMIT.get()).unwrap_or(1)
}

/// `minlsh.queue_warning` in bytes, if there is to be a warning.
pub fn queue_warning() -> Option<u64> {
    u64::try_from(QUEUE_WARNING.get()).ok().filter(|limit| *limit > 0).map(|limit| limit << 10)
}

/// `minlsh.threshold`
pub fn threshold() -> Threshold {
    Threshold::clamped(THRESHOLD.get())
}
