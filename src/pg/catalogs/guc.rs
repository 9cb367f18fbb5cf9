//! Temporary changes of settings, as in CREATE INDEX.

use std::ffi::CStr;
use std::sync::OnceLock;

use pgrx::pg_sys;

/// A nest level for settings made by [`LocalSettings::set`]. Dropping it restores them, and all others changed since.
/// An ERROR restores them too.
pub struct LocalSettings {
    level: i32,
}

impl LocalSettings {
    pub fn open() -> Self {
        // SAFETY: opens a nest level, which `drop` or the transaction's abort closes.
        Self { level: unsafe { pg_sys::NewGUCNestLevel() } }
    }

    /// Sets what pg_dump sets, so that values written as text are read back exactly, whatever the caller's preferences
    /// are.
    pub fn write_exact_text(&self) {
        self.set(c"datestyle", c"ISO");
        self.set(c"intervalstyle", c"postgres");
        self.set(c"extra_float_digits", c"3");
    }

    /// Sets `name` to `value` until the level is closed.
    pub fn set(&self, name: &CStr, value: &CStr) {
        // SAFETY: both strings end with a NUL; GUC_ACTION_SAVE belongs to the open level.
        unsafe {
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
    }
}

impl Drop for LocalSettings {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: closes the level that `open` opened.
            unsafe { pg_sys::AtEOXact_GUC(false, self.level) }
        }
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

/// True if the transaction is SERIALIZABLE.
pub fn is_serializable() -> bool {
    // SAFETY: reads a global of this backend.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}
