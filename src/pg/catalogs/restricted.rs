//! Acting as another role, as PostgreSQL does when it builds an index: what runs meanwhile can
//! neither change the session nor queue something that would run as somebody else.

use pgrx::pg_sys::{self, Oid};

use crate::pg::guc::LocalSettings;

/// While it lives, the rights are those of another role, in a security-restricted operation with a
/// search path of its own. Drop brings the caller's rights and settings back, and so does an ERROR.
pub struct Restricted {
    role: Oid,
    context: i32,
    /// Dropped before the role comes back, as in core.
    settings: Option<LocalSettings>,
}

/// Acts as `role`.
pub fn restricted_to(role: Oid) -> Restricted {
    let (mut previous, mut context) = (Oid::INVALID, 0);
    // SAFETY: plain reads and writes of backend-local state; `Drop` undoes them.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut previous, &mut context);
        let context = context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
        pg_sys::SetUserIdAndSecContext(role, context);
    }
    let settings = LocalSettings::open();
    settings.set("search_path", "pg_catalog, pg_temp");
    Restricted { role: previous, context, settings: Some(settings) }
}

impl Drop for Restricted {
    fn drop(&mut self) {
        self.settings = None;
        // SAFETY: restores what `restricted_to` read.
        unsafe { pg_sys::SetUserIdAndSecContext(self.role, self.context) }
    }
}

/// The role whose rights apply now.
pub fn current_role() -> Oid {
    // SAFETY: reads backend-local state.
    unsafe { pg_sys::GetUserId() }
}
