//! Acting as another role for a while, as PostgreSQL's own foreign-key triggers do.

use pgrx::pg_sys::{self, Oid};

/// While it lives, SQL runs with the rights of another role. The caller's come back on drop;
/// an ERROR restores them too (PostgreSQL does, when it aborts the transaction).
pub struct ActingAs {
    role: Oid,
    context: i32,
}

/// Acts as `role`: `SET ROLE` is blocked meanwhile, and an owner is not held back by
/// `FORCE ROW LEVEL SECURITY` on a table of theirs (an index covers all rows).
pub fn act_as(role: Oid) -> ActingAs {
    let (mut previous, mut context) = (Oid::INVALID, 0);
    // SAFETY: plain reads and writes of backend-local state; `Drop` undoes them.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut previous, &mut context);
        let flags = (pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_NOFORCE_RLS) as i32;
        pg_sys::SetUserIdAndSecContext(role, context | flags);
    }
    ActingAs { role: previous, context }
}

impl Drop for ActingAs {
    fn drop(&mut self) {
        // SAFETY: restores what `act_as` read.
        unsafe { pg_sys::SetUserIdAndSecContext(self.role, self.context) }
    }
}

/// Whether `role` is the current one, or was granted to it: not whether a superuser may act as it.
pub fn is_ours(role: Oid) -> bool {
    // SAFETY: a lookup in the system caches.
    unsafe { pg_sys::is_member_of_role_nosuper(current(), role) }
}

/// The role whose rights apply now.
pub fn current() -> Oid {
    // SAFETY: reads backend-local state.
    unsafe { pg_sys::GetUserId() }
}
