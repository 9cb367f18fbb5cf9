//! Temporary changes of settings, as in CREATE INDEX.

use std::ffi::CStr;
use std::sync::OnceLock;

use pgrx::pg_sys;

use crate::pg::memory::unless_raised;

/// A nest level of settings. Dropping it restores them, and all others changed since. An ERROR restores them too.
pub struct LocalSettings {
    level: i32,
}

impl LocalSettings {
    /// Opens a level in which each of these settings has its value.
    pub fn of(settings: &[(&CStr, &CStr)]) -> Self {
        // SAFETY: opens a nest level, which `drop` or the transaction's abort closes; GUC_ACTION_SAVE belongs to it.
        // All strings end with a NUL.
        unsafe {
            let level = pg_sys::NewGUCNestLevel();
            for (name, value) in settings {
                pg_sys::set_config_option(
                    name.as_ptr(),
                    value.as_ptr(),
                    pg_sys::GucContext::PGC_USERSET,
                    pg_sys::GucSource::PGC_S_SESSION,
                    pg_sys::GucAction::GUC_ACTION_SAVE,
                    true,
                    0,
                    false,
                );
            }
            Self { level }
        }
    }

    /// Opens a level with what pg_dump sets, so that values written as text are read back exactly, whatever the
    /// caller's preferences are.
    pub fn of_exact_text() -> Self {
        Self::of(&[(c"datestyle", c"ISO"), (c"intervalstyle", c"postgres"), (c"extra_float_digits", c"3")])
    }
}

impl Drop for LocalSettings {
    fn drop(&mut self) {
        // SAFETY: closes the level that `of` opened.
        unless_raised(|| unsafe { pg_sys::AtEOXact_GUC(false, self.level) });
    }
}

/// Reads `effective_cache_size`: pages that the planner assumes are cached.
pub fn cache_pages() -> u64 {
    // SAFETY: reads a setting of this backend.
    u64::try_from(unsafe { pg_sys::effective_cache_size }).unwrap_or(0)
}

/// Reads `debug_assertions`: true on a server that was compiled with `--enable-cassert`.
pub fn has_assertions() -> bool {
    static ASSERTIONS: OnceLock<bool> = OnceLock::new();
    // SAFETY: both strings end with a NUL; every server has this setting, whose value is shown as text.
    *ASSERTIONS.get_or_init(|| unsafe {
        let shown = pg_sys::GetConfigOption(c"debug_assertions".as_ptr(), true, false);
        !shown.is_null() && CStr::from_ptr(shown) == c"on"
    })
}

/// True if the size of temporary files is limited.
pub fn is_temp_file_limited() -> bool {
    // SAFETY: reads a setting of this backend, which is -1 without a limit.
    unsafe { pg_sys::temp_file_limit >= 0 }
}

/// True if the transaction is SERIALIZABLE.
pub fn is_serializable() -> bool {
    // SAFETY: reads a global of this backend.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}
